package volume

import (
	"math"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/tensor"
)

// Products of tiles are those of rows of voxels, up to the order of their sums and the rounding of the result, and the
// division into tasks changes no bit.
func TestTilesComputeTheCorrelation(t *testing.T) {
	set := vec.Available()[0]
	for _, c := range []struct {
		sides, kernel Axes
		in            []int
		out           int
	}{
		{Axes{6, 9, 7}, Axes{3, 3, 3}, []int{16, 16}, 16},
		{Axes{4, 5, 8}, Axes{3, 3, 3}, []int{32}, 48},
		{Axes{1, 20, 33}, Axes{1, 3, 3}, []int{48}, 32},
		{Axes{3, 4, 5}, Axes{1, 1, 1}, []int{16}, 64},
	} {
		g := Geometry{N: 2, Small: Grid{c.sides, c.out}, Large: Grid{c.sides, 0}, Kernel: c.kernel, Stride: Axes{1, 1, 1}}
		var parts, exact []Part
		for a := range g.Pad {
			g.Pad[a] = c.kernel[a] / 2
		}
		for _, n := range c.in {
			x := rounded(values(g.N * c.sides.Product() * n))
			parts = append(parts, Part{x, g.Large.Channels, n})
			exact = append(exact, Part{Floats(widened(x)), g.Large.Channels, n})
			g.Large.Channels += n
		}
		w := widened(rounded(values(c.out * g.Large.Channels * c.kernel.Product())))
		small := rounded(values(g.N * g.Small.floats()))
		first, channels := parts[len(parts)-1].First, parts[len(parts)-1].Channels
		for name, correlation := range map[string]func(y Values, exactly bool) *Correlation{
			"gather": func(y Values, exactly bool) *Correlation {
				if exactly {
					return g.Gather(set, y, exact, w, nil)
				}
				return g.Gather(set, y, parts, w, nil)
			},
			"scatter": func(y Values, exactly bool) *Correlation {
				if exactly {
					return g.Scatter(set, y, Floats(widened(small)), first, channels, w)
				}
				return g.Scatter(set, y, small, first, channels, w)
			},
		} {
			want := make([]float32, g.N*c.sides.Product()*max(c.out, channels))
			forward(correlation(Floats(want), true), 0)()
			run := func(tiles matrix.Tiles, planes, lines int) []uint16 {
				y := Values{H: make([]uint16, len(want)), Type: tensor.BFloat16}
				of := correlation(y, false)
				of.SetMatrices(make([]float32, of.MatrixFloats()))
				of.Arrange(0, of.Rows())
				p := of.Tiles(tiles)
				if p == nil {
					t.Fatalf("%s of %v: not one of tiles", name, c)
				}
				if planes > 0 {
					p.planes, p.lines = planes, lines
					p.lay()
				}
				p.SetPacked(make([]uint16, p.PackedHalves()))
				p.Pack(0, p.Blocks())
				scratch := make([]float32, p.Scratch())
				for i := range scratch {
					scratch[i] = float32(math.NaN())
				}
				for task := range p.Tasks() {
					p.Compute(scratch, task)
				}
				return y.H
			}
			got := run(matrix.PlainTiles, 0, 0)
			for i, v := range widened(Values{H: got, Type: tensor.BFloat16}) {
				if d := math.Abs(float64(v - want[i])); !(d <= 0x1p-8*math.Abs(float64(want[i]))+1e-4) { // half a unit, and sums of up to 864 products
					t.Fatalf("%s of %v: y[%d] is %g, want %g", name, c, i, v, want[i])
				}
			}
			for _, division := range [][2]int{{1, 1}, {2, 3}, {6, 5}} {
				if !slices.Equal(run(matrix.PlainTiles, division[0], division[1]), got) {
					t.Errorf("%s of %v: %d planes and %d rows at a time give other bits", name, c, division[0], division[1])
				}
			}
			if tiles, _ := matrix.DetectTiles(); tiles == matrix.AMX && !slices.Equal(run(tiles, 0, 0), got) {
				t.Errorf("%s of %v: AMX gives other bits", name, c)
			}
		}
	}
}

func TestOtherCorrelationsHaveNoTiles(t *testing.T) {
	sides := Axes{4, 4, 4}
	x := func(n int) Values { return rounded(values(64 * n)) }
	g := Geometry{N: 1, Small: Grid{sides, 16}, Large: Grid{sides, 16}, Kernel: Axes{3, 3, 3}, Stride: Axes{1, 1, 1}, Pad: Axes{1, 1, 1}}
	set, w := vec.Available()[0], values(16*16*27)
	strided := g
	strided.Stride = Axes{2, 2, 2}
	for name, c := range map[string]*Correlation{
		"with a bias":      g.Gather(set, x(16), []Part{{x(16), 0, 16}}, w, values(16)),
		"of float32":       g.Gather(set, x(16), []Part{{Floats(values(64 * 16)), 0, 16}}, w, nil),
		"to float32":       g.Gather(set, Floats(values(64*16)), []Part{{x(16), 0, 16}}, w, nil),
		"with a stride":    strided.Scatter(set, x(16), x(2), 0, 16, w),
		"of few channels":  g.Gather(set, x(16), []Part{{x(8), 0, 8}, {x(8), 8, 8}}, w, nil),
		"without its tile": g.Gather(set, x(16), []Part{{x(16), 0, 16}}, w, nil),
	} {
		tiles := matrix.PlainTiles
		if name == "without its tile" {
			tiles = matrix.NoTiles
		}
		if c.Tiles(tiles) != nil {
			t.Errorf("a correlation %s is one of tiles", name)
		}
	}
}

// rounded returns values in bfloat16, widened those as float32.
func rounded(x []float32) Values {
	v := Values{H: make([]uint16, len(x)), Type: tensor.BFloat16}
	tensor.Narrow(v.Type, v.H, x)
	return v
}

func widened(v Values) []float32 {
	x := make([]float32, len(v.H))
	tensor.Widen(v.Type, x, v.H)
	return x
}

// Gradients of weights by products of tiles are those of rows of voxels, up to the order of their sums.
func TestTilesComputeTheGradientOfWeights(t *testing.T) {
	set := vec.Available()[0]
	for _, c := range []struct {
		sides, kernel Axes
		in            []int
		out           int
	}{
		{Axes{6, 9, 8}, Axes{3, 3, 3}, []int{16, 16}, 16},
		{Axes{4, 5, 6}, Axes{3, 3, 3}, []int{16}, 48},
		{Axes{1, 20, 34}, Axes{1, 3, 3}, []int{48}, 32},
		{Axes{3, 4, 4}, Axes{1, 1, 1}, []int{32}, 64},
	} {
		g := Geometry{N: 3, Small: Grid{c.sides, c.out}, Large: Grid{c.sides, 0}, Kernel: c.kernel, Stride: Axes{1, 1, 1}}
		var parts, exact []Part
		for a := range g.Pad {
			g.Pad[a] = c.kernel[a] / 2
		}
		for _, n := range c.in {
			x := rounded(values(g.N * c.sides.Product() * n))
			parts = append(parts, Part{x, g.Large.Channels, n})
			exact = append(exact, Part{Floats(widened(x)), g.Large.Channels, n})
			g.Large.Channels += n
		}
		small := rounded(values(g.N * g.Small.floats()))
		run := func(small Values, parts []Part, tiles matrix.Tiles, planes int) []float32 {
			gw := make([]float32, c.out*g.Large.Channels*c.kernel.Product())
			of := g.WeightGradient(set, gw, nil, small, parts)
			if of.Tiles(tiles); of.Tiled() != (tiles != matrix.NoTiles) {
				t.Fatalf("%v: by tiles: %v", c, of.Tiled())
			}
			if planes > 0 {
				of.product.planes = planes
			}
			of.SetSums(make([]float32, of.SumFloats()), nil)
			scratch := make([]float32, of.Scratch())
			for i := range scratch {
				scratch[i] = float32(math.NaN())
			}
			for task := range of.Tasks() {
				of.Compute(scratch, task, func() bool { return false })
			}
			of.Collect(0, of.Rows())
			return gw
		}
		want, got := run(Floats(widened(small)), exact, matrix.NoTiles, 0), run(small, parts, matrix.PlainTiles, 0)
		for i, v := range got {
			if d := math.Abs(float64(v - want[i])); !(d <= 2e-3) { // sums of up to 2,040 products below 1
				t.Fatalf("%v: gw[%d] is %g, want %g", c, i, v, want[i])
			}
		}
		if !slices.Equal(run(small, parts, matrix.PlainTiles, 1), got) {
			t.Errorf("%v: a plane at a time gives other bits", c)
		}
		if tiles, _ := matrix.DetectTiles(); tiles == matrix.AMX && !slices.Equal(run(small, parts, tiles, 0), got) {
			t.Errorf("%v: AMX gives other bits", c)
		}
	}
}
