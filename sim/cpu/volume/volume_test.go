package volume

import (
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
)

// The division of a correlation into tasks changes no bit, and products of whole planes
// are those of rows to rounding.
func TestResultsDoNotDependOnTheDivision(t *testing.T) {
	for _, stride := range []int{1, 2} {
		g := Geometry{N: 2, Small: Grid{Axes{6, 5, 7}, 17}, Large: Grid{Axes{6, 5, 7}, 6},
			Kernel: Axes{3, 3, 3}, Stride: Axes{stride, stride, stride}, Pad: Axes{1, 1, 1}}
		for a, side := range g.Large.Sides {
			g.Small.Sides[a] = (side-1)/stride + 1
		}
		small, large := values(g.N*g.Small.floats()), values(g.N*g.Large.floats())
		w := values(17 * 6 * 27)
		correlations := map[string]func(y []float32) *Correlation{
			"gather": func(y []float32) *Correlation {
				return g.Gather(vec.Available()[0], Floats(y), []Part{{Floats(large), 0, 6}}, w, nil)
			},
			"scatter": func(y []float32) *Correlation {
				return g.Scatter(vec.Available()[0], Floats(y), Floats(small), 0, 6, w)
			},
		}
		for name, correlation := range correlations {
			run := func(planes, lines int) []float32 {
				y := make([]float32, max(len(small), len(large)))
				c := correlation(y)
				if planes > 0 {
					c.planes, c.lines = planes, lines
					c.size()
				}
				c.SetMatrices(make([]float32, c.MatrixFloats()))
				c.Arrange(0, c.Rows())
				scratch := make([]float32, c.Scratch())
				for task := range c.Tasks() {
					c.Compute(scratch, task)
				}
				return y
			}
			want := run(0, 0)
			for _, division := range [][2]int{{1, 1}, {2, 3}, {6, 5}, {4, 2}} {
				if got := run(division[0], division[1]); !slices.Equal(got, want) {
					t.Errorf("%s with stride %d: %d planes and %d rows at a time give other bits", name, stride, division[0], division[1])
				}
			}
			if slices.Max(want) <= 0 {
				t.Errorf("%s computes nothing", name)
			}
		}
	}
	g := Geometry{N: 2, Small: Grid{Axes{8, 5, 7}, 16}, Large: Grid{Axes{8, 5, 7}, 3}, Kernel: Axes{3, 3, 3}, Stride: Axes{1, 1, 1}, Pad: Axes{1, 1, 1}}
	run := func(chunk int, joined bool) []float32 {
		gw := make([]float32, 16*3*27)
		c := g.WeightGradient(vec.Available()[0], gw, nil, Floats(values(2*g.Small.floats())), []Part{{Floats(values(2 * g.Large.floats())), 0, 3}})
		c.chunk, c.joined = chunk, joined
		c.SetSums(make([]float32, c.SumFloats()), nil)
		scratch := make([]float32, c.Scratch())
		for task := range c.Tasks() {
			c.Compute(scratch, task, func() bool { return false })
		}
		c.Collect(0, c.Rows())
		return gw
	}
	want := run(1, false)
	for _, joined := range []bool{false, true} {
		for i, v := range run(2, joined) {
			if d := v - want[i]; d > 1e-3 || d < -1e-3 { // sums of some 500 products below 1
				t.Fatalf("gw[%d] is %g, row by row %g (joined: %v)", i, v, want[i], joined)
			}
		}
	}
}
