package square

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
)

// shapes are numbers of images, input and output channels, and the sides of the sums' planes:
// several bands, bands of different heights, overlapping columns, halves of images.
var shapes = [][5]int{
	{1, 3, 8, 2, 16}, {2, 8, 16, 16, 16}, {3, 5, 8, 9, 33}, {1, 2, 16, 66, 64}, {2, 16, 8, 8, 8}, {1, 4, 24, 4, 8}, {1, 130, 8, 40, 32},
}

func TestConvolutionIsItsSum(t *testing.T) {
	for i, s := range shapes {
		n, in, out, h, w := s[0], s[1], s[2], s[3], s[4]
		for _, o := range []Options{{}, {ReLU: true}, {Pool: true}, {ReLU: true, Pool: true}, {Up: true}, {ReLU: true, Up: true}} {
			if o.Up {
				h, w = 2*s[3], 2*s[4]
			}
			if !Fits(vec.AVX512, in, out, h, w, o) {
				continue
			}
			for _, mirrored := range []bool{false, true} {
				t.Run(fmt.Sprintf("%dx%dx%dx%d to %d/%+v/%v", n, in, h, w, out, o, mirrored), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(1, uint64(i)))
					x, k, bias := random(rng, n*in*h*w), random(rng, out*in*taps), random(rng, out)
					if o.Up {
						x = random(rng, n*in*h*w/4)
					}
					from := Weights{Out: in * taps, In: taps, Mirrored: mirrored}
					want := expected(n, in, out, h, w, o, x, k, bias, from)
					for _, set := range vec.Available() {
						if set == vec.AVX2 {
							continue // computes as plain Go does
						}
						var first []float32
						for threads := 1; threads <= 3; threads++ {
							c := New(n, in, out, h, w, o, set, threads)
							packed, scratch, y := make([]float32, c.WeightFloats()), random(rng, c.Scratch()), make([]float32, len(want))
							c.Pack(packed, k, from, 0, c.Groups())
							c.Run(scratch, y, x, packed, bias, 0, c.Tasks())
							for at, v := range want {
								if d := math.Abs(float64(y[at]) - v); !(d <= 1e-7*float64(in*taps+4)) {
									t.Fatalf("%v, %d threads: y[%d] = %v, want %v", set, threads, at, y[at], v)
								}
							}
							if first == nil {
								first = y
							}
							if !slices.Equal(first, y) {
								t.Fatalf("%v: results on %d threads differ from those on one", set, threads)
							}
						}
					}
				})
			}
		}
	}
}

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

// expected is the convolution in float64.
func expected(n, in, out, h, w int, o Options, x, k, bias []float32, from Weights) []float64 {
	pixel := func(image, channel, row, column int) float64 {
		if row < 0 || row >= h || column < 0 || column >= w {
			return 0
		}
		plane := image*in + channel
		if o.Up {
			return float64(x[(plane*h/2+row/2)*w/2+column/2])
		}
		return float64(x[(plane*h+row)*w+column])
	}
	y := make([]float64, 0, n*out*h*w)
	for at := range n * out * h * w {
		image, channel, row, column := at/(out*h*w), at/(h*w)%out, at/w%h, at%w
		v := float64(bias[channel])
		for c := range in {
			for t := range taps {
				tap := t
				if from.Mirrored {
					tap = taps - 1 - t
				}
				v += float64(k[channel*from.Out+c*from.In+tap]) * pixel(image, c, row+t/side-1, column+t%side-1)
			}
		}
		if o.ReLU {
			v = max(v, 0)
		}
		y = append(y, v)
	}
	if !o.Pool {
		return y
	}
	pooled := make([]float64, len(y)/4)
	for i := range pooled {
		corner := i/(w/2)*2*w + 2*(i%(w/2))
		pooled[i] = max(y[corner], y[corner+1], y[corner+w], y[corner+w+1])
	}
	return pooled
}
