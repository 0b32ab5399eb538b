package npy

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"prismtop/profiles/inputfile"
)

// Entry is an array in an archive.
type Entry struct{ file *zip.File }

// OpenArchive lists the arrays of an NPZ file packed by any zip tool.
func OpenArchive(f io.ReaderAt, size int64) ([]Entry, error) {
	members, err := OpenZip(f, size)
	if err != nil {
		return nil, fmt.Errorf("damaged NPZ: %w", err)
	}
	var entries []Entry
	for _, m := range members {
		if strings.HasSuffix(m.File.Name, extension) {
			entries = append(entries, Entry{m.File})
		}
	}
	return entries, nil
}

// Member is any file in a zip archive, also one that is no array.
type Member struct{ *zip.File }

// OpenZip lists the files of a zip archive.
func OpenZip(f io.ReaderAt, size int64) ([]Member, error) {
	archive, err := zip.NewReader(f, size)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(archive.File))
	for i, file := range archive.File {
		members[i] = Member{file}
	}
	return members, nil
}

// CommentOf returns the comment of a zip archive, which Writer.Comment sets; "" if the file is none.
func CommentOf(f io.ReaderAt, size int64) string {
	archive, err := zip.NewReader(f, size)
	if err != nil {
		return ""
	}
	return archive.Comment
}

// Stored reports whether the file is in the archive as it is.
func (m Member) Stored() bool { return m.Method == zip.Store }

// Name returns the array's name.
func (e Entry) Name() string { return strings.TrimSuffix(e.file.Name, extension) }

// Header reads the array's header.
func (e Entry) Header() (Header, error) {
	r, err := e.file.Open()
	if err != nil {
		return Header{}, err
	}
	defer r.Close()
	header, _, err := ReadHeader(r)
	return header, err
}

// Read passes the unpacked array to read, with the size that the archive claims,
// which may be false. It fails unless read consumes the whole array and the
// checksum is correct.
func (e Entry) Read(read func(r io.Reader, size int64) error) error {
	r, err := e.file.Open()
	if err != nil {
		return fmt.Errorf("damaged NPZ: %w", err)
	}
	defer r.Close()
	claimed := int64(math.MaxInt64)
	if e.file.UncompressedSize64 < math.MaxInt64 {
		claimed = int64(e.file.UncompressedSize64)
	}
	if err := read(r, claimed); err != nil {
		return err
	}
	// Reading to the end makes the archive compare the checksum.
	if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF {
		if err == nil {
			err = errors.New("more data than the shape holds")
		}
		return fmt.Errorf("damaged NPZ: %w", err)
	}
	return nil
}

// Stored reports whether the array is not compressed, so that it is no larger than its file.
func (e Entry) Stored() bool { return e.file.Method == zip.Store }

// Load reads the array: accept, called with the header before the data are read, may refuse
// it. The data are returned as they are in the file, Header.Bytes of them. No claim of the file
// about its size is trusted.
func (e Entry) Load(ctx context.Context, accept func(Header) error) (h Header, data []byte, err error) {
	err = e.Read(func(r io.Reader, size int64) error {
		r = inputfile.Reader{Context: ctx, Source: r}
		var head int64
		if h, head, err = ReadHeader(r); err != nil {
			return err
		}
		if err := accept(h); err != nil {
			return err
		}
		count, known := h.Bytes()
		switch {
		case !known:
			return fmt.Errorf("elements of type %s, or a shape (%s), that are not supported", h.Type,
				JoinShape(h.Shape))
		case count != size-head:
			return fmt.Errorf("damaged NPZ: %d bytes of data, must be %d for the shape (%s)", size-head, count,
				JoinShape(h.Shape))
		}
		var all bytes.Buffer
		n, err := io.CopyN(&all, r, count)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("damaged NPZ: %d bytes of data, must be %d: %w", n, count, err)
		}
		data = all.Bytes()
		return err
	})
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return h, data, err
}

// Bytes returns the size of the array's data; known is false for an unknown type of elements
// and for a shape whose size no memory can hold.
func (h Header) Bytes() (n int64, known bool) {
	e, known := ElementOf(h.Type)
	if !known {
		return 0, false
	}
	n = int64(e.Size)
	if e.Complex {
		n *= 2
	}
	for _, axis := range h.Shape {
		if axis < 0 || axis > 0 && n > math.MaxInt64/2/axis {
			return 0, false
		}
		n *= axis
	}
	return n, true
}
