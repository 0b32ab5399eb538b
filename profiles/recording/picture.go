package recording

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math"

	"prismtop/profiles"
)

// Pictures are stored with at most longestSide pixels on a side, means of larger ones, in 1024
// levels from their smallest value to their largest: the high 8 bits of each pixel less those of its
// left neighbour, then the low 2 bits of four pixels in a byte, all deflated.
const (
	longestSide = 128
	levels      = 1024
	lowBits     = 2
)

// stored is a picture in the file.
type stored struct {
	width, height int
	low, high     float32
	data          []byte
}

// smaller returns a picture with at most longestSide pixels on a side: itself, or means of squares
// of its pixels.
func smaller(p *profiles.Picture) *profiles.Picture {
	side := (max(p.Width, p.Height) + longestSide - 1) / longestSide
	if side <= 1 {
		return p
	}
	w, h := (p.Width+side-1)/side, (p.Height+side-1)/side
	out := &profiles.Picture{ID: p.ID, Iteration: p.Iteration, Width: w, Height: h, Pixels: make([]float32, w*h)}
	for y := range h {
		for x := range w {
			sum, n := 0.0, 0
			for v := y * side; v < min((y+1)*side, p.Height); v++ {
				for u := x * side; u < min((x+1)*side, p.Width); u++ {
					sum += float64(p.Pixels[v*p.Width+u])
					n++
				}
			}
			out.Pixels[y*w+x] = float32(sum / float64(n))
		}
	}
	return out
}

// putPicture encodes a picture. A pixel that is not finite takes the nearest level.
func putPicture(p *profiles.Picture) (stored, error) {
	p = smaller(p)
	s := stored{width: p.Width, height: p.Height, low: float32(math.Inf(1)), high: float32(math.Inf(-1))}
	for _, v := range p.Pixels {
		if d := float64(v); !math.IsNaN(d) && !math.IsInf(d, 0) {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	if s.low > s.high {
		s.low, s.high = 0, 0
	}
	n := len(p.Pixels)
	planes := make([]byte, n+(n+3)/4)
	left := byte(0)
	scale := 0.0
	if s.high > s.low {
		scale = (levels - 1) / (float64(s.high) - float64(s.low))
	}
	for i, v := range p.Pixels {
		level := 0
		if d := math.Round((float64(v) - float64(s.low)) * scale); d > 0 { // not for NaN
			level = int(min(d, levels-1))
		}
		if i%p.Width == 0 {
			left = 0
		}
		top := byte(level >> lowBits)
		planes[i], left = top-left, top
		planes[n+i/4] |= byte(level&(1<<lowBits-1)) << (lowBits * (i % 4))
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(planes)
	}
	if err == nil {
		err = w.Close()
	}
	s.data = b.Bytes()
	return s, err
}

// picture decodes a stored picture.
func (s *stored) picture() (*profiles.Picture, error) {
	if s.width < 1 || s.height < 1 || s.width > longestSide || s.height > longestSide {
		return nil, fmt.Errorf("a picture of %d by %d pixels: must be from 1 to %d", s.width, s.height, longestSide)
	}
	n := s.width * s.height
	planes := make([]byte, n+(n+3)/4)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(s.data)), planes); err != nil {
		return nil, errors.Join(errors.New("a picture ends too early"), err)
	}
	p := &profiles.Picture{Width: s.width, Height: s.height, Pixels: make([]float32, n)}
	step := (float64(s.high) - float64(s.low)) / (levels - 1)
	left := byte(0)
	for i := range p.Pixels {
		if i%s.width == 0 {
			left = 0
		}
		left += planes[i]
		level := int(left)<<lowBits | int(planes[n+i/4]>>(lowBits*(i%4)))&(1<<lowBits-1)
		p.Pixels[i] = float32(float64(s.low) + float64(level)*step)
	}
	return p, nil
}
