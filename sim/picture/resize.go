package picture

import (
	"context"
	"math"
)

// resizeToWindow scales a picture so that its longer side equals the window's:
// first each row as it is decoded, then the columns. It never holds the whole
// picture in floating point.
func resizeToWindow(ctx context.Context, src source, window int) (intensity, error) {
	w, h := window, window
	if src.w < src.h {
		w = shorter(src.w, src.h, window)
	} else {
		h = shorter(src.h, src.w, window)
	}
	p := intensity{w: w, h: h, pixels: make([]float64, w*h), white: src.white}
	across, down := triangle(src.w, w), triangle(src.h, h)
	row, narrow := make([]float64, src.w), make([]float64, w)
	first := 0 // the first output row to which further rows contribute
	for y := range src.h {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		if err := src.row(y, row); err != nil {
			return p, err
		}
		for x, t := range across {
			sum := 0.0
			for k, weight := range t.weights {
				sum += weight * row[t.first+k]
			}
			narrow[x] = sum
		}
		for first < h && y >= down[first].first+len(down[first].weights) {
			first++
		}
		for out := first; out < h && down[out].first <= y; out++ {
			if k := y - down[out].first; k < len(down[out].weights) {
				addScaled(p.pixels[out*w:][:w], down[out].weights[k], narrow)
			}
		}
	}
	return p, nil
}

// shorter returns the shorter side that preserves the aspect ratio, at least one
// pixel.
func shorter(side, longer, window int) int {
	return max(1, int(math.Round(float64(window)*float64(side)/float64(longer))))
}

func addScaled(to []float64, scale float64, from []float64) {
	for i, v := range from {
		to[i] += scale * v
	}
}

// taps are the source pixels that contribute to one output pixel.
type taps struct {
	first   int
	weights []float64
}

// triangle returns the taps of bilinear resizing with antialiasing, as in PIL and
// torchvision (spec/prism.md §8): a triangle around the output pixel's centre
// that extends one source pixel to each side, or the reduction factor if larger,
// with weights summing to 1.
func triangle(from, to int) []taps {
	scale := float64(from) / float64(to)
	support := math.Max(1, scale)
	all := make([]taps, to)
	for i := range all {
		centre := (float64(i) + 0.5) * scale
		first := max(0, int(centre-support+0.5))
		last := min(from, int(centre+support+0.5))
		weights := make([]float64, last-first)
		sum := 0.0
		for k := range weights {
			weights[k] = math.Max(0, 1-math.Abs((float64(first+k)-centre+0.5)/support))
			sum += weights[k]
		}
		for k := range weights {
			weights[k] /= sum
		}
		all[i] = taps{first, weights}
	}
	return all
}
