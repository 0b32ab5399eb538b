package volume

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu/vec"
)

// The rounding error of tiles of 2×2 outputs is about that of sums in float32, which is why
// they are the default; that of 4×4 is some ten times as large. The errors are the root of
// their mean square.
func TestWinogradsErrorIsBounded(t *testing.T) {
	const in, out = 16, 16
	sides := Axes{8, 16, 16}
	g := Geometry{N: 1, Small: Grid{sides, out}, Large: Grid{sides, in}, Kernel: Axes{3, 3, 3}, Stride: Axes{1, 1, 1}, Pad: Axes{1, 1, 1}}
	rng := rand.New(rand.NewPCG(1, 2))
	normal := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	x, w, gy := normal(g.Large.floats()), normal(in*out*27), normal(g.Small.floats())
	want, wantW := make([]float64, len(gy)), make([]float64, len(w))
	for m := range sides.Product() {
		for k := range 27 {
			z, y, c := m/256-1+k/9, m/16%16-1+k/3%3, m%16-1+k%3
			if z < 0 || z >= 8 || y < 0 || y >= 16 || c < 0 || c >= 16 {
				continue
			}
			for s := range out {
				for l := range in {
					v := float64(x[((z*16+y)*16+c)*in+l])
					want[m*out+s] += v * float64(w[(s*in+l)*27+k])
					wantW[(s*in+l)*27+k] += v * float64(gy[m*out+s])
				}
			}
		}
	}
	rms := func(got []float32, want []float64) float64 {
		sum := 0.0
		for i, v := range got {
			sum += math.Pow(float64(v)-want[i], 2)
		}
		return math.Sqrt(sum / float64(len(got)))
	}
	for _, set := range vec.Available() {
		if set == vec.Go && testing.Short() {
			continue // seconds under the race detector
		}
		outputs := func(side int) float64 {
			result := make([]float32, len(gy))
			forward(g.Gather(set, Floats(result), []Part{{X: Floats(x), Channels: in}}, w, nil), side)()
			return rms(result, want)
		}
		weights := func(side int) float64 {
			gw := make([]float32, len(w))
			c := g.WeightGradient(set, gw, nil, Floats(gy), []Part{{X: Floats(x), Channels: in}})
			if side > 0 {
				if c.Winograd(side); !c.Tiled() {
					t.Fatal("the gradient is not one of tiles")
				}
			}
			c.SetSums(make([]float32, c.SumFloats()), nil)
			scratch := make([]float32, c.Scratch())
			for task := range c.Tasks() {
				c.Compute(scratch, task, func() bool { return false })
			}
			c.Collect(0, c.Rows())
			return rms(gw, wantW)
		}
		for what, of := range map[string]func(side int) float64{"outputs": outputs, "gradients of weights": weights} {
			direct, two, four := of(0), of(2), of(4)
			t.Logf("%v: error of %s %.2g, with tiles of 2×2 %.2f times that, of 4×4 %.2f times", set, what, direct, two/direct, four/direct)
			if two > 2.5*direct || four > 20*direct {
				t.Errorf("%v: error of %s %.2g, with tiles of 2×2 %.2g, of 4×4 %.2g", set, what, direct, two, four)
			}
		}
	}
}
