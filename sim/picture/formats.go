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
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// format is an image format that is decoded by a library.
type format struct {
	name   string
	magic  []string // first bytes; '?' stands for any
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var formats = []format{
	{"PNG", []string{"\x89PNG\r\n\x1a\n"}, pngConfig, png.Decode},
	{"JPEG", []string{"\xff\xd8\xff"}, jpeg.DecodeConfig, jpeg.Decode},
	{"GIF", []string{"GIF87a", "GIF89a"}, gif.DecodeConfig, gif.Decode},
	{"TIFF", []string{"II*\x00", "MM\x00*"}, tiff.DecodeConfig, tiff.Decode},
	{"BMP", []string{"BM????\x00\x00\x00\x00"}, bmp.DecodeConfig, bmp.Decode},
	{"WebP", []string{"RIFF????WEBPVP8"}, webp.DecodeConfig, webp.Decode},
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
func (f format) open(r *io.SectionReader) (source, error) {
	var config image.Config
	err := guarded(func() (err error) {
		config, err = f.config(bufio.NewReader(r))
		return err
	})
	if err != nil {
		return source{}, f.damaged(err)
	}
	if err := checkSides(config.Width, config.Height); err != nil {
		return source{}, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return source{}, bare(err)
	}
	var img image.Image
	err = guarded(func() (err error) {
		img, err = f.decode(bufio.NewReader(r))
		return err
	})
	if err != nil {
		return source{}, f.damaged(err)
	}
	size := img.Bounds().Size()
	if err := checkSides(size.X, size.Y); err != nil {
		return source{}, err
	}
	return source{w: size.X, h: size.Y, white: 1, row: luma(img)}, nil
}

// damaged explains a decoder's refusal in one line.
func (f format) damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("truncated %s: the file ends too early", f.name)
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.TrimPrefix(text, strings.ToLower(f.name)+": ")
	return fmt.Errorf("truncated or damaged %s: %s", f.name, text)
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

// pngConfig reads the sides of a PNG from its header, which image/png refuses
// to tell when they are zero or very large.
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

// luma returns rows of intensities from 0 to 1. Grey pictures are taken as they
// are.
func luma(img image.Image) func(int, []float64) error {
	b := img.Bounds()
	switch img := img.(type) {
	case *image.Gray:
		return func(y int, to []float64) error {
			for x, v := range img.Pix[y*img.Stride:][:len(to)] {
				to[x] = float64(v) / 255
			}
			return nil
		}
	case *image.Gray16:
		return func(y int, to []float64) error {
			row := img.Pix[y*img.Stride:]
			for x := range to {
				to[x] = float64(binary.BigEndian.Uint16(row[2*x:])) / 65535
			}
			return nil
		}
	case image.RGBA64Image:
		return func(y int, to []float64) error {
			for x := range to {
				to[x] = lumaOf(img.RGBA64At(b.Min.X+x, b.Min.Y+y))
			}
			return nil
		}
	}
	return func(y int, to []float64) error {
		for x := range to {
			r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
			to[x] = lumaOf(color.RGBA64{R: uint16(r), G: uint16(g), B: uint16(bl)})
		}
		return nil
	}
}

func lumaOf(c color.RGBA64) float64 {
	return (lumaRed*float64(c.R) + lumaGreen*float64(c.G) + lumaBlue*float64(c.B)) / 65535
}
