package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"io"
	"io/fs"
	"math"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/sim/npy"
)

// SavePair writes h×w pixels, row by row, to base.png (EncodePNG16) and bit for bit to base.npy, an array of
// float32: both or neither, atomically. An error leaves existing files unchanged. It returns their paths. Pixels that
// are not finite go to base.npy alone: its path is returned with a NotFiniteError. If ctx ends before the first file is
// begun, its error is returned and nothing is written.
func SavePair(ctx context.Context, base string, pixels []float32, w, h int) ([]string, error) {
	return saveFiles(ctx, base, pixels, w, h, func(extensions []string, data [][]byte) ([]string, error) {
		paths := appended(base, extensions)
		return paths, atomicfile.WriteTogether(paths, data, 0o666)
	})
}

// SaveNewPair is SavePair, but replaces no files: if one of the names is taken,
// both go to base-2, base-3, and so on.
func SaveNewPair(ctx context.Context, base string, pixels []float32, w, h int) ([]string, error) {
	return saveFiles(ctx, base, pixels, w, h, func(extensions []string, data [][]byte) ([]string, error) {
		return atomicfile.WriteNew(func(n int) []string {
			if n == 1 {
				return appended(base, extensions)
			}
			return appended(fmt.Sprintf("%s-%d", base, n), extensions)
		}, data, 0o666)
	})
}

// saveFiles encodes pixels for the files that can hold them and writes these.
func saveFiles(ctx context.Context, base string, pixels []float32, w, h int,
	write func(extensions []string, data [][]byte) ([]string, error)) ([]string, error) {
	extensions := []string{".png", ".npy"}
	grey, err := EncodePNG16(ctx, pixels, w, h)
	var unfit *NotFiniteError
	if err != nil && !errors.As(err, &unfit) {
		return nil, fmt.Errorf("saving %s: %w", base, err)
	}
	array, err := encodeNPY(ctx, pixels, w, h)
	if err != nil {
		return nil, fmt.Errorf("saving %s: %w", base, err)
	}
	data := [][]byte{grey, array}
	if unfit != nil {
		extensions, data = extensions[1:], data[1:]
	}
	paths, err := write(extensions, data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("saving %s: %w", failedPath(err, base), bare(err))
	case unfit != nil:
		return paths, fmt.Errorf("saving %s.png: %w", strings.TrimSuffix(paths[0], ".npy"), unfit)
	}
	return paths, nil
}

// appended returns base with each of the extensions.
func appended(base string, extensions []string) []string {
	paths := make([]string, len(extensions))
	for i, extension := range extensions {
		paths[i] = base + extension
	}
	return paths
}

// NotFiniteError is a pixel that no PNG can hold: NaN or an infinity.
type NotFiniteError struct {
	Row, Column int
	Value       float64
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("the value at [%d, %d] is %g: a PNG cannot hold it, NPY can", e.Row, e.Column, e.Value)
}

// failedPath returns the file that an error refers to, or base.
func failedPath(err error, base string) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Path
	}
	return base
}

func checkPixels(pixels []float32, w, h int) error {
	if w < 1 || h < 1 || len(pixels) != w*h {
		return fmt.Errorf("%d values for %d x %d pixels", len(pixels), w, h)
	}
	return nil
}

// EncodePNG16 returns a 16-bit grey PNG of h×w pixels, row by row. The least value becomes 0 and the greatest 65535;
// both are stored in the text chunk "prismtop" as "min=… max=…", so that value = min + (max − min)·grey/65535. The
// errors are a NotFiniteError, one of the size, and that of ctx if it ends first.
func EncodePNG16(ctx context.Context, pixels []float32, w, h int) ([]byte, error) {
	if err := checkPixels(pixels, w, h); err != nil {
		return nil, err
	}
	low, high := math.Inf(1), math.Inf(-1)
	for i, v := range pixels {
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, &NotFiniteError{i / w, i % w, f}
		}
		low, high = math.Min(low, f), math.Max(high, f)
	}
	grey := image.NewGray16(image.Rect(0, 0, w, h))
	for y := 0; y < h && high > low; y++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for x, v := range pixels[y*w:][:w] {
			level := math.Round((float64(v) - low) / (high - low) * 65535)
			binary.BigEndian.PutUint16(grey.Pix[2*(y*w+x):], uint16(level))
		}
	}
	var out bytes.Buffer
	if err := png.Encode(writer{ctx, &out}, grey); err != nil {
		return nil, err
	}
	return withText(out.Bytes(), keyword, fmt.Sprintf("min=%v max=%v", low, high)), nil
}

// keyword is that of the text chunk, and Mark tells a picture of prismtop by it.
const (
	keyword = "prismtop"
	Mark    = "tEXt" + keyword + "\x00min="
)

// writer forwards writes to another until its context ends.
type writer struct {
	ctx context.Context
	to  io.Writer
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(p)
}

// withText inserts a tEXt chunk after the header of a PNG, which is 8 bytes of
// signature and 25 of IHDR.
func withText(file []byte, keyword, text string) []byte {
	const headerEnd = 33
	body := []byte("tEXt" + keyword + "\x00" + text)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4))
	chunk = append(chunk, body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(body))
	return bytes.Join([][]byte{file[:headerEnd], chunk, file[headerEnd:]}, nil)
}

func encodeNPY(ctx context.Context, pixels []float32, w, h int) ([]byte, error) {
	if err := checkPixels(pixels, w, h); err != nil {
		return nil, err
	}
	return npy.Encode(ctx, pixels, h, w)
}
