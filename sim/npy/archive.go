package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Entry is an array in an archive.
type Entry struct{ file *zip.File }

// OpenArchive lists the arrays of an NPZ file packed by any zip tool.
func OpenArchive(f io.ReaderAt, size int64) ([]Entry, error) {
	archive, err := zip.NewReader(f, size)
	if err != nil {
		return nil, fmt.Errorf("damaged NPZ: %w", err)
	}
	var entries []Entry
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, extension) {
			entries = append(entries, Entry{file})
		}
	}
	return entries, nil
}

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
