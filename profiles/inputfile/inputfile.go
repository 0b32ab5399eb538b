// Package inputfile reads files from a user or an earlier session, up to a maximum size
// and without blocking. A pipe without a writer, an endless device or an unresponsive
// file system results in an error and does not hang the program.
package inputfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"prismtop/profiles/await"
	"prismtop/profiles/unit"
)

// KindError reports a path that leads to something unreadable.
type KindError struct{ Mode fs.FileMode }

func (e *KindError) Error() string {
	switch {
	case e.Mode.IsDir():
		return "is a folder"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "is a pipe"
	case e.Mode&fs.ModeSocket != 0:
		return "is a socket"
	case e.Mode&fs.ModeDevice != 0:
		return "is a device"
	}
	return "is not a regular file"
}

// SizeError reports a file that is too large.
type SizeError struct{ Limit int64 }

func (e *SizeError) Error() string {
	return "is larger than " + unit.Limit(e.Limit)
}

// ErrNoWriter reports that nothing was written to a pipe.
var ErrNoWriter = errors.New("is a pipe that nothing writes to")

// Open opens a regular file; anything else is a *KindError before a byte is read.
// Errors have no path: the caller adds it. Close the file after use.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, &KindError{info.Mode()}
	}
	return f, info, nil
}

// open does not wait for the other end of a pipe.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, bare(err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, bare(err)
	}
	return f, info, nil
}

// Read reads a regular file of at most limit bytes. The error is a *KindError, a
// *SizeError, that of ctx if it ends first, or the system's without the path.
func Read(ctx context.Context, path string, limit int64) ([]byte, error) {
	return await.Result(ctx, func() ([]byte, error) {
		f, info, err := Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readAll(ctx, f, info, limit)
	})
}

// ReadNamed is Read for a path given explicitly by a user, which may also be a pipe, as
// made by the shell for <(…), or a terminal. It waits for their end, or that of ctx.
func ReadNamed(ctx context.Context, path string, limit int64) ([]byte, error) {
	return await.Result(ctx, func() ([]byte, error) {
		f, info, err := open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if mode := info.Mode(); !mode.IsRegular() && mode&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
			return nil, &KindError{mode}
		}
		// If the system supports it, this interrupts a blocked read; otherwise await.Result
		// abandons it.
		defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
		text, err := readAll(ctx, f, info, limit)
		if err == nil && len(text) == 0 && info.Mode()&fs.ModeNamedPipe != 0 {
			err = ErrNoWriter
		}
		return text, err
	})
}

// readAll reads to the end of a file, whose reported size may be wrong.
func readAll(ctx context.Context, f *os.File, info fs.FileInfo, limit int64) ([]byte, error) {
	if info.Mode().IsRegular() && info.Size() > limit {
		return nil, &SizeError{limit}
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(io.LimitReader(Reader{ctx, f}, limit+1)); err != nil {
		return nil, bare(err)
	}
	if int64(text.Len()) > limit {
		return nil, &SizeError{limit}
	}
	return text.Bytes(), nil
}

// Reader reads from a source until its context ends.
type Reader struct {
	Context context.Context
	Source  io.Reader
}

// Read reads, or returns the context's error.
func (r Reader) Read(p []byte) (int, error) {
	if err := r.Context.Err(); err != nil {
		return 0, err
	}
	return r.Source.Read(p)
}

// ReaderAt reads from anywhere in a source until its context ends.
type ReaderAt struct {
	Context context.Context
	Source  io.ReaderAt
}

// ReadAt reads, or returns the context's error.
func (r ReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if err := r.Context.Err(); err != nil {
		return 0, err
	}
	return r.Source.ReadAt(p, at)
}

// Byte order marks. UTF-32's in little-endian order begins with UTF-16's.
const (
	utf8Mark            = "\xef\xbb\xbf"
	utf16Little         = "\xff\xfe"
	utf16Big            = "\xfe\xff"
	utf32Little         = "\xff\xfe\x00\x00"
	utf32Big            = "\x00\x00\xfe\xff"
	wrongEncodingFormat = "is in %s: must be in UTF-8"
)

// Text returns a text file's content without the byte order mark that some editors
// put in front of UTF-8. A mark of another encoding is an error.
func Text(content []byte) ([]byte, error) {
	for _, other := range []struct{ mark, name string }{
		{utf32Little, "UTF-32"}, {utf32Big, "UTF-32"}, {utf16Little, "UTF-16"}, {utf16Big, "UTF-16"},
	} {
		if bytes.HasPrefix(content, []byte(other.mark)) {
			return nil, fmt.Errorf(wrongEncodingFormat, other.name)
		}
	}
	return bytes.TrimPrefix(content, []byte(utf8Mark)), nil
}

// bare strips the operation and the path, which the caller adds.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
