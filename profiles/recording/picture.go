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

// Pictures are stored with at most longestSide pixels on a side, means of larger ones, in 256 levels
// from their smallest value to their largest: each pixel less what its neighbours to the left and above
// predict, deflated.
const (
	longestSide = 128
	levels      = 256
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
	scale := 0.0
	if s.high > s.low {
		scale = (levels - 1) / (float64(s.high) - float64(s.low))
	}
	all, parts := make([]byte, len(p.Pixels)), make([]byte, len(p.Pixels))
	for i, v := range p.Pixels {
		if d := math.Round((float64(v) - float64(s.low)) * scale); d > 0 { // not for NaN
			all[i] = byte(min(d, levels-1))
		}
		parts[i] = all[i] - predicted(all, i, p.Width)
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(parts)
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
	all := make([]byte, n)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(s.data)), all); err != nil {
		return nil, errors.Join(errors.New("a picture ends too early"), err)
	}
	p := &profiles.Picture{Width: s.width, Height: s.height, Pixels: make([]float32, n)}
	step := (float64(s.high) - float64(s.low)) / (levels - 1)
	for i := range all {
		all[i] += predicted(all, i, s.width)
		p.Pixels[i] = float32(float64(s.low) + float64(all[i])*step)
	}
	return p, nil
}

// predicted returns the level that the neighbours before a pixel suggest: along an edge that of one
// of them, elsewhere on the plane through them (the predictor of LOCO-I).
func predicted(all []byte, i, width int) byte {
	switch {
	case i == 0:
		return 0
	case i < width:
		return all[i-1]
	case i%width == 0:
		return all[i-width]
	}
	left, above, corner := int(all[i-1]), int(all[i-width]), int(all[i-width-1])
	switch {
	case corner >= max(left, above):
		return byte(min(left, above))
	case corner <= min(left, above):
		return byte(max(left, above))
	}
	return byte(left + above - corner)
}
