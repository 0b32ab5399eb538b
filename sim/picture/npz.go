package picture

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"prismtop/sim/npy"
)

// maxArrays bounds the number of arrays of an NPZ that are examined.
const maxArrays = 1000

// openNPZ reads an array of a zip archive: the named one, or the first
// two-dimensional one, which is noted if there are several.
func openNPZ(f io.ReaderAt, size int64, name string) (source, []string, error) {
	arrays, err := npy.OpenArchive(f, size)
	if err != nil {
		return source{}, nil, err
	}
	if len(arrays) > maxArrays {
		return source{}, nil, fmt.Errorf("%d arrays: must be at most %d", len(arrays), maxArrays)
	}
	entry, err := choose(arrays, name)
	if err != nil {
		return source{}, nil, err
	}
	// Sizes claimed by the archive are checked by readNPY against the shape.
	var src source
	err = entry.Read(func(r io.Reader, size int64) (err error) {
		src, err = readNPY(r, size)
		return err
	})
	if err != nil {
		return source{}, nil, fmt.Errorf("array %s: %w", strconv.Quote(entry.Name()), err)
	}
	if name == "" && len(arrays) > 1 {
		return src, []string{fmt.Sprintf("%d arrays: taking %s, the first of two dimensions", len(arrays),
			strconv.Quote(entry.Name()))}, nil
	}
	return src, nil, nil
}

// choose finds the named array, or the first two-dimensional one.
func choose(arrays []npy.Entry, name string) (npy.Entry, error) {
	var names []string
	for _, entry := range arrays {
		if name != "" && entry.Name() == name {
			return entry, nil
		}
		if name == "" && len(arrays) == 1 {
			return entry, nil
		}
		if header, err := entry.Header(); err == nil && len(header.Shape) == 2 {
			if name == "" {
				return entry, nil
			}
			if len(names) < 8 {
				names = append(names, strconv.Quote(entry.Name()))
			}
		}
	}
	switch {
	case len(arrays) == 0:
		return npy.Entry{}, errors.New("a zip archive without arrays: must be an NPZ")
	case name == "":
		return npy.Entry{}, fmt.Errorf("none of the %d arrays has two dimensions", len(arrays))
	case len(names) == 0:
		return npy.Entry{}, fmt.Errorf("no array %s", strconv.Quote(name))
	}
	return npy.Entry{}, fmt.Errorf("no array %s: must be one of %s", strconv.Quote(name), strings.Join(names, ", "))
}
