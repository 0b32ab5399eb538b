package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// The formats that libraries decode, their errors in one line, and the intensity of colours.

// format is an image format decoded by a library.
type format struct {
	name    string
	magic   []string // first bytes; '?' stands for any
	config  func(io.Reader) (image.Config, error)
	decode  func(io.Reader) (image.Image, error)
	inspect func(*io.SectionReader) (inspection, error)
}

// inspection holds properties of a picture that the decoding library ignores.
// Only unsupported variants are errors of inspecting; damage is reported by the
// library.
type inspection struct {
	orientation orientation
	notes       []string
	correct     func(image.Image) image.Image // corrects the library's decoding; nil if not needed
}

var formats = []format{
	{"PNG", []string{"\x89PNG\r\n\x1a\n"}, pngConfig, png.Decode, inspectPNG},
	{"JPEG", []string{"\xff\xd8\xff"}, jpeg.DecodeConfig, jpeg.Decode, inspectJPEG},
	{"GIF", []string{"GIF87a", "GIF89a"}, gif.DecodeConfig, gif.Decode, inspectGIF},
	{"BMP", []string{"BM????\x00\x00\x00\x00"}, bmp.DecodeConfig, bmp.Decode, inspectBMP},
	{"WebP", []string{"RIFF????WEBPVP8"}, webp.DecodeConfig, webp.Decode, inspectWebP},
}

// otherFormats are recognised so that they can be rejected by name.
var otherFormats = []format{
	{name: "JPEG 2000", magic: []string{"\x00\x00\x00\x0cjP  \r\n\x87\n", "\xff\x4f\xff\x51"}},
	{name: "JPEG XL", magic: []string{"\x00\x00\x00\x0cJXL \r\n\x87\n", "\xff\x0a"}},
	{name: "HEIF", magic: []string{"????ftyphe", "????ftypmif1"}},
	{name: "AVIF", magic: []string{"????ftypavi"}},
	{name: "Photoshop", magic: []string{"8BPS"}},
	{name: "OpenEXR", magic: []string{"\x76\x2f\x31\x01"}},
	{name: "FITS", magic: []string{"SIMPLE  ="}},
	{name: "HDF5", magic: []string{"\x89HDF\r\n\x1a\n"}},
	{name: "Netpbm", magic: []string{"P1\n", "P2\n", "P3\n", "P4\n", "P5\n", "P6\n", "P7\n", "Pf\n", "PF\n"}},
}

// unsupportedError is of an intact file that is not read.
type unsupportedError struct{ what string }

func (e *unsupportedError) Error() string {
	return "unsupported " + e.what + ": must be saved as PNG, such as 16-bit greyscale, or as NPY"
}

// unsupported is the error for a variant of a format, or for the format if what is empty.
func unsupported(format, what string) error {
	if what != "" {
		format += ", " + what
	}
	return &unsupportedError{format}
}

func (f format) recognises(head []byte) bool {
	for _, magic := range f.magic {
		if len(head) < len(magic) {
			continue
		}
		same := true
		for i := range len(magic) {
			same = same && (magic[i] == '?' || magic[i] == head[i])
		}
		if same {
			return true
		}
	}
	return false
}

// open decodes the picture after checking its sides in the header.
func (f format) open(r *io.SectionReader) (source, []string, error) {
	in, err := f.inspect(io.NewSectionReader(r, 0, r.Size()))
	if err != nil {
		return source{}, nil, err
	}
	var config image.Config
	err = guarded(func() (err error) {
		config, err = f.config(bufio.NewReader(r))
		return err
	})
	if err != nil {
		return source{}, nil, damaged(f.name, err)
	}
	if err := checkSides(config.Width, config.Height); err != nil {
		return source{}, nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return source{}, nil, bare(err)
	}
	var img image.Image
	err = guarded(func() (err error) {
		img, err = f.decode(bufio.NewReader(r))
		return err
	})
	if err != nil {
		return source{}, nil, damaged(f.name, err)
	}
	if in.correct != nil {
		img = in.correct(img)
	}
	size := img.Bounds().Size()
	if err := checkSides(size.X, size.Y); err != nil {
		return source{}, nil, err
	}
	notes := in.notes
	if note := in.orientation.note(); note != "" {
		notes = append(notes, note)
	}
	return in.orientation.upright(size.X, size.Y, luma(img)), notes, nil
}

// damaged explains a decoder's error in one line.
func damaged(format string, err error) error {
	if what, ok := unsupportedFeature(err); ok {
		return unsupported(format, what)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("truncated %s: the file ends too early", format)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.TrimPrefix(text, strings.ToLower(format)+": ")
	return fmt.Errorf("truncated or damaged %s: %s", format, text)
}

// unsupportedFeature returns the feature that a decoder reports as unsupported, if
// that is its error.
func unsupportedFeature(err error) (what string, ok bool) {
	var inPNG png.UnsupportedError
	var inJPEG jpeg.UnsupportedError
	switch {
	case errors.As(err, &inPNG):
		return string(inPNG), true
	case errors.As(err, &inJPEG):
		return string(inJPEG), true
	}
	return "", errors.Is(err, bmp.ErrUnsupported)
}

// guarded turns a decoder's panic on a hostile file into an error.
func guarded(decode func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the decoder failed: %v", fault)
		}
	}()
	return decode()
}

// pngConfig reads the sides of a PNG from its header, which image/png does not
// report if they are zero or very large.
func pngConfig(r io.Reader) (image.Config, error) {
	head := make([]byte, 24)
	if _, err := io.ReadFull(r, head); err != nil {
		return image.Config{}, err
	}
	if string(head[12:16]) != "IHDR" {
		return image.Config{}, errors.New("no header")
	}
	w, h := binary.BigEndian.Uint32(head[16:]), binary.BigEndian.Uint32(head[20:])
	if err := checkSides(int(w), int(h)); err != nil {
		return image.Config{Width: int(w), Height: int(h)}, nil
	}
	return png.DecodeConfig(io.MultiReader(bytes.NewReader(head), r))
}

// Luma weights of spec/prism.md §8.
const lumaRed, lumaGreen, lumaBlue = 0.2989, 0.587, 0.114

// luma returns the intensity of a pixel, from 0 to 1; x and y count from the top
// left. Grey pictures are used unchanged. Transparent pixels count as black.
func luma(img image.Image) func(x, y int) float64 {
	b := img.Bounds()
	switch img := img.(type) {
	case *image.Gray:
		return func(x, y int) float64 { return float64(img.Pix[y*img.Stride+x]) / 255 }
	case *image.Gray16:
		return func(x, y int) float64 {
			return float64(binary.BigEndian.Uint16(img.Pix[y*img.Stride+2*x:])) / 65535
		}
	case image.RGBA64Image:
		return func(x, y int) float64 { return lumaOf(img.RGBA64At(b.Min.X+x, b.Min.Y+y)) }
	}
	return func(x, y int) float64 {
		r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
		return lumaOf(color.RGBA64{R: uint16(r), G: uint16(g), B: uint16(bl)})
	}
}

func lumaOf(c color.RGBA64) float64 {
	return (lumaRed*float64(c.R) + lumaGreen*float64(c.G) + lumaBlue*float64(c.B)) / 65535
}
