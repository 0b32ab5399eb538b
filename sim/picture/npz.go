package picture

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxArrays bounds how many arrays of an NPZ are looked at.
const maxArrays = 1000

func isNPZ(head []byte) bool {
	return strings.HasPrefix(string(head), "PK\x03\x04") || strings.HasPrefix(string(head), "PK\x05\x06")
}

// openNPZ reads an array of a zip archive: the named one, or the first of two
// dimensions, which is noted when there are several.
func openNPZ(f io.ReaderAt, size int64, name string) (source, []string, error) {
	archive, err := zip.NewReader(f, size)
	if err != nil {
		return source{}, nil, fmt.Errorf("damaged NPZ: %w", err)
	}
	var arrays []*zip.File
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, ".npy") {
			arrays = append(arrays, entry)
		}
	}
	if len(arrays) > maxArrays {
		return source{}, nil, fmt.Errorf("%d arrays: must be at most %d", len(arrays), maxArrays)
	}
	entry, err := choose(arrays, name)
	if err != nil {
		return source{}, nil, err
	}
	src, err := readEntry(entry)
	if err != nil {
		return source{}, nil, fmt.Errorf("array %s: %w", strconv.Quote(arrayName(entry)), err)
	}
	if name == "" && len(arrays) > 1 {
		return src, []string{fmt.Sprintf("%d arrays: taking %s, the first of two dimensions", len(arrays), strconv.Quote(arrayName(entry)))}, nil
	}
	return src, nil, nil
}

func arrayName(entry *zip.File) string { return strings.TrimSuffix(entry.Name, ".npy") }

// choose finds the named array, or the first of two dimensions.
func choose(arrays []*zip.File, name string) (*zip.File, error) {
	var names []string
	for _, entry := range arrays {
		if name != "" && arrayName(entry) == name {
			return entry, nil
		}
		if name == "" && len(arrays) == 1 {
			return entry, nil
		}
		if header, err := entryHeader(entry); err == nil && len(header.shape) == 2 {
			if name == "" {
				return entry, nil
			}
			if len(names) < 8 {
				names = append(names, strconv.Quote(arrayName(entry)))
			}
		}
	}
	switch {
	case len(arrays) == 0:
		return nil, errors.New("a zip archive without arrays: must be an NPZ")
	case name == "":
		return nil, fmt.Errorf("none of the %d arrays has two dimensions", len(arrays))
	case len(names) == 0:
		return nil, fmt.Errorf("no array %s", strconv.Quote(name))
	}
	return nil, fmt.Errorf("no array %s: must be one of %s", strconv.Quote(name), strings.Join(names, ", "))
}

func entryHeader(entry *zip.File) (npyHeader, error) {
	r, err := entry.Open()
	if err != nil {
		return npyHeader{}, err
	}
	defer r.Close()
	header, _, err := readNPYHeader(r)
	return header, err
}

// readEntry decompresses an array. What the archive claims about sizes is
// checked by readNPY against the shape, and memory grows with what comes out.
func readEntry(entry *zip.File) (source, error) {
	r, err := entry.Open()
	if err != nil {
		return source{}, fmt.Errorf("damaged NPZ: %w", err)
	}
	defer r.Close()
	claimed := int64(math.MaxInt64)
	if entry.UncompressedSize64 < math.MaxInt64 {
		claimed = int64(entry.UncompressedSize64)
	}
	src, err := readNPY(r, claimed)
	if err != nil {
		return source{}, err
	}
	// Reading on to the end makes the archive compare the checksum.
	if _, err := io.ReadFull(r, make([]byte, 1)); err != io.EOF {
		if err == nil {
			err = errors.New("more data than the shape holds")
		}
		return source{}, fmt.Errorf("damaged NPZ: %w", err)
	}
	return src, nil
}
