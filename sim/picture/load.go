package picture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/sim/npy"
	"prismtop/sim/tiff"
)

// Loading a file: its format by content, and the bounds of what is decoded.

// Bounds on pictures: the largest picture that decodes within a gigabyte or two,
// and the largest side, which bounds a row.
const (
	maxPixels = 100_000_000
	maxSide   = 65_535
)

// formatNames lists what Load reads, for messages.
const formatNames = "PNG, JPEG, GIF, TIFF, BMP, WebP, NPY or NPZ"

// Load reads a picture file by PRISM's loading rule (spec/prism.md §8): colour
// to luma (0.2989, 0.587, 0.114), resized to the object's window (bilinear, a
// triangle filter widened by the reduction), optionally inverted, padded with
// zeros to the field, the minimum subtracted, divided by the maximum, and the
// square root taken.
//
// Formats are recognised by content: PNG, JPEG, GIF (first frame), TIFF (first
// page), BMP, WebP, and NPY and NPZ arrays of two dimensions, taken as
// intensities. "file.npz:name" names an array; without a name the first
// two-dimensional one is taken and noted. Variants that the decoders do not read
// are rejected by name (docs/pictures.md). Sample values are used as stored,
// without gamma and profiles. Transparent pixels count as black. Pictures are
// turned according to their Exif or TIFF orientation, which is noted. A picture
// that is not square is padded to a square, centred, which is noted. PRISM rounds
// to 8 bits after the luma and again after resizing; Load keeps full precision,
// which differs by less than 1/255 of full intensity.
//
// Errors are one line that names the file and the remedy.
//
// If ctx ends first, its error is returned at once; a decoder that cannot be
// interrupted continues in the background until it finishes.
func Load(ctx context.Context, path string, o Options) (*Object, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("picture %s: %w", path, err)
	}
	obj, err := await.Result(ctx, func() (*Object, error) {
		file, array := splitArray(path)
		return loadFile(ctx, file, array, o)
	})
	if err != nil {
		return nil, fmt.Errorf("picture %s: %w", path, err)
	}
	obj.Name = filepath.Base(path)
	return obj, nil
}

// splitArray splits "file.npz:name", unless a file of that full name exists.
func splitArray(path string) (file, array string) {
	i := strings.LastIndex(path, ".npz:")
	if i < 0 {
		return path, ""
	}
	if _, err := os.Stat(path); err == nil {
		return path, ""
	}
	return path[:i+len(".npz")], path[i+len(".npz:"):]
}

func loadFile(ctx context.Context, path, array string, o Options) (*Object, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, notes, err := open(ctx, inputfile.ReaderAt{Context: ctx, Source: f}, size, array)
	if err != nil {
		return nil, err
	}
	p, err := resizeToWindow(ctx, src, o.ObjectSize)
	if err != nil {
		return nil, err
	}
	obj, err := place(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if src.w != src.h {
		notes = append(notes, fmt.Sprintf("the picture is %d x %d pixels: padded to a square", src.w, src.h))
	}
	obj.Notes = append(notes, obj.Notes...)
	return obj, nil
}

// openRegular opens a non-empty file.
func openRegular(path string) (*os.File, int64, error) {
	f, info, err := inputfile.Open(path)
	var kind *inputfile.KindError
	switch {
	case errors.As(err, &kind):
		return nil, 0, fmt.Errorf("%w: must be a picture file, %s", err, formatNames)
	case err != nil:
		return nil, 0, bare(err)
	case info.Size() == 0:
		f.Close()
		return nil, 0, errors.New("is empty; give a picture file, " + formatNames)
	}
	return f, info.Size(), nil
}

// bare strips the operation and the path, which the caller adds.
func bare(err error) error {
	var path *os.PathError
	var link *os.LinkError
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return syscall.ENAMETOOLONG
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// source is a decoded picture whose rows are converted to intensities one at a
// time.
type source struct {
	w, h  int
	white float64 // full intensity; NaN if unknown
	// row writes the w intensities of row y.
	row func(y int, to []float64) error
}

// open recognises the format by its first bytes and decodes the file.
func open(ctx context.Context, f io.ReaderAt, size int64, array string) (source, []string, error) {
	head := make([]byte, 16)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return source{}, nil, bare(err)
	}
	head = head[:n]
	switch {
	case npy.IsArchive(head):
		return openNPZ(f, size, array)
	case array != "":
		return source{}, nil, errors.New("names an array, but the file is not an NPZ archive")
	case npy.IsArray(head):
		src, err := readNPY(io.NewSectionReader(f, 0, size), size)
		return src, nil, err
	case tiff.Is(head):
		return openTIFF(ctx, f, size)
	}
	for _, format := range formats {
		if format.recognises(head) {
			return format.open(io.NewSectionReader(f, 0, size))
		}
	}
	for _, format := range otherFormats {
		if format.recognises(head) {
			return source{}, nil, unsupported(format.name, "")
		}
	}
	return source{}, nil, errors.New("not a picture: must be " + formatNames)
}

// sidesError is of a picture without pixels or with too many.
type sidesError struct {
	w, h int
	must string
}

func (e *sidesError) Error() string { return fmt.Sprintf("%d x %d pixels: must %s", e.w, e.h, e.must) }

// checkSides rejects empty and oversized pictures before anything is decoded.
func checkSides(w, h int) error {
	switch {
	case w < 1 || h < 1:
		return &sidesError{w, h, "have at least one"}
	case w > maxSide || h > maxSide || w > maxPixels/h:
		return &sidesError{w, h, fmt.Sprintf("be at most %d megapixels and %d to a side", maxPixels/1_000_000, maxSide)}
	}
	return nil
}
