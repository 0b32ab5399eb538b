package imaging

import (
	"math"
	"math/bits"
	"math/cmplx"
	"time"

	"prismtop/profiles"
)

// This file computes the spectrum of the residual, the Fourier transform of the difference from the truth.

// The scale of the spectrum in dB, relative to the truth's frequency zero: an error of 20 dB PSNR that is
// noise lies near −50 dB.
const (
	darkestResidual   = -90
	brightestResidual = -20
)

// residualPeriod is the minimum time between two spectra: that of a large picture takes a tenth of a second.
const residualPeriod = time.Second

// spectrum is the spectrum of the difference between two pictures, zero frequency in the centre, with
// the border of the measured part of k-space.
type spectrum struct {
	of      [2]*profiles.Picture
	covered int // samples behind the border
	at      time.Time
	side    int // a power of two
	decibel []float32
	pixels  []float32 // decibel with the border
	union   coverage
}

// update computes the spectrum of shown − truth if it is due. Values are in dB.
func (r *spectrum) update(s *profiles.Snapshot, shown, truth *profiles.Picture, now time.Time) {
	done, current, _ := measuredSamples(s)
	covered := max(done, current+1)
	still := s.State != profiles.Running
	of := [2]*profiles.Picture{shown, truth}
	if r.pixels != nil && (r.of == of && r.covered == covered || !still && now.Sub(r.at) < residualPeriod) {
		return
	}
	if r.of != of {
		r.transform(shown, truth)
	}
	r.of, r.covered, r.at = of, covered, now
	r.mark(s, covered)
}

// residualSide returns the side of the spectrum for a picture: the power of two that holds it.
func residualSide(shown *profiles.Picture) int {
	return 1 << bits.Len(uint(max(shown.Width, shown.Height, 2)-1))
}

// transform computes the levels of shown − truth, padded with zeros to a square with a power of two as its side.
func (r *spectrum) transform(shown, truth *profiles.Picture) {
	n := residualSide(shown)
	field := make([]complex128, n*n)
	total := 0.0
	for y := range shown.Height {
		for x := range shown.Width {
			i := y*shown.Width + x
			t := float64(truth.Pixels[i])
			total += t
			if d := float64(shown.Pixels[i]) - t; !math.IsNaN(d) && !math.IsInf(d, 0) {
				field[y*n+x] = complex(d, 0)
			}
		}
	}
	transform2D(field, n)
	r.side = n
	r.decibel = make([]float32, n*n)
	for i, v := range field {
		y, x := (i/n+n/2)%n, (i%n+n/2)%n
		r.decibel[y*n+x] = float32(20 * math.Log10(max(cmplx.Abs(v), 1e-12)/max(math.Abs(total), 1e-12)))
	}
}

// mark draws the border of the part of k-space under the first samples as dashes, as far as the run has apertures.
func (r *spectrum) mark(s *profiles.Snapshot, covered int) {
	r.pixels = append(r.pixels[:0], r.decibel...)
	k := s.Run.KSpace()
	if len(k.Centres) == 0 || k.Size <= 0 {
		return
	}
	r.union.count(s, float64(k.Size), covered)
	inside := func(x, y int) bool {
		x, y = min(max(x, 0), r.side-1), min(max(y, 0), r.side-1)
		return r.union.counts[y*gridSide/r.side*gridSide+x*gridSide/r.side] > 0
	}
	for y := range r.side {
		for x := range r.side {
			edge := inside(x, y) && !(inside(x-1, y) && inside(x+1, y) && inside(x, y-1) && inside(x, y+1))
			if edge && (x+y)/3%2 == 0 {
				r.pixels[y*r.side+x] = brightestResidual
			}
		}
	}
}

// transform2D replaces a square field by its Fourier transform, unnormalised. n is a power of two.
func transform2D(field []complex128, n int) {
	roots := make([]complex128, n/2)
	for k := range roots {
		roots[k] = cmplx.Rect(1, -2*math.Pi*float64(k)/float64(n))
	}
	line := make([]complex128, n)
	for y := range n {
		transform(field[y*n:(y+1)*n], roots)
	}
	for x := range n {
		for y := range n {
			line[y] = field[y*n+x]
		}
		transform(line, roots)
		for y := range n {
			field[y*n+x] = line[y]
		}
	}
}

// transform is the fast Fourier transform of a line in place, by Cooley and Tukey's radix 2; roots are the
// first half of exp(−2πik/n).
func transform(line []complex128, roots []complex128) {
	n := len(line)
	shift := 64 - bits.TrailingZeros(uint(n))
	for i := range n {
		if j := int(bits.Reverse64(uint64(i)) >> shift); j > i {
			line[i], line[j] = line[j], line[i]
		}
	}
	for half := 1; half < n; half *= 2 {
		for start := 0; start < n; start += 2 * half {
			for k := range half {
				a, b := line[start+k], line[start+k+half]*roots[k*(n/(2*half))]
				line[start+k], line[start+k+half] = a+b, a-b
			}
		}
	}
}
