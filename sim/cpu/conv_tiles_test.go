package cpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// openTiles makes a backend whose convolutions go to tiles in plain Go, however
// small; nil where the kernels cannot (plain Go has no patches).
func openTiles(t testing.TB, threads int) *cpu.Backend {
	b := open(t, threads)
	if b.Set().String() == "go" {
		t.Skip("plain Go's convolutions are not products with patches, which tiles multiply")
	}
	b.UsePlainTiles(0)
	return b
}

func TestConformanceThroughTiles(t *testing.T) {
	nntest.Run(t, func(t *testing.T, threads int) nn.Backend { return openTiles(t, threads) })
}

// applied is the result of a convolution.
func applied(t *testing.T, be *cpu.Backend, op nn.Op, products nn.Products, in []nntest.Array, out tensor.Shape) []float32 {
	t.Helper()
	return appliedAs(t, be, op, products, in, nntest.Result{Shape: out})
}

func appliedAs(t *testing.T, be *cpu.Backend, op nn.Op, products nn.Products, in []nntest.Array, out nntest.Result) []float32 {
	t.Helper()
	s, err := nntest.NewProductStep(be, op, products, in, []nntest.Result{out})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err = s.Run(); err != nil { // scratch holds data of the first run
		t.Fatal(err)
	}
	y, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	return y[0]
}

// operand is an array as a convolution with such products has it.
func operand(products nn.Products, shape ...int) nntest.Array {
	d := tensor.BFloat16
	if products == nn.BF16x3 {
		d = tensor.Float32
	}
	a := random(d, shape...)
	for i := range a.Values {
		v := a.Values[i] - 0.5
		if d == tensor.BFloat16 {
			v = tensor.BF16ToF32(tensor.F32ToBF16(v))
		}
		a.Values[i] = v
	}
	return a
}

// Tiles add in another order, and so round otherwise, which shows that they were
// used; more than rounding shows that they were used wrongly. One to four threads
// give the same bits.
func TestTilesMultiplyConvolutions(t *testing.T) {
	plain := open(t, 2)
	plain.UseNoTiles()
	plain.UseNoPairs()
	tiles := map[int]*cpu.Backend{1: openTiles(t, 1), 2: openTiles(t, 2), 3: openTiles(t, 3), 4: openTiles(t, 4)}
	for _, c := range []struct{ n, small, large, h, w int }{
		{1, 32, 2, 4, 8}, {2, 64, 6, 8, 12}, {1, 32, 2, 32, 3}, {1, 32, 34, 16, 8}, {1, 32, 4, 2, 272},
	} {
		small, large := tensor.Shape{c.n, c.small, c.h, c.w}, tensor.Shape{c.n, c.large, 2 * c.h, 2 * c.w}
		x, g, w := operand(nn.BF16x3, small...), operand(nn.BF16x3, large...), operand(nn.BF16x3, c.small, c.large, 4, 4)
		bias := random(tensor.Float32, c.large)
		for _, o := range []struct {
			op  nn.Op
			in  []nntest.Array
			out tensor.Shape
		}{
			{nn.ConvTranspose2D{Stride: 2, Pad: 1}, []nntest.Array{x, w, bias}, large},
			{nn.ConvTranspose2DGradInput{Stride: 2, Pad: 1}, []nntest.Array{g, w}, small},
			{nn.ConvTranspose2DGradWeight{Stride: 2, Pad: 1}, []nntest.Array{x, g}, w.Shape},
			{nn.Conv2D{Stride: 2, Pad: 1}, []nntest.Array{g, w, random(tensor.Float32, c.small)}, small},
		} {
			t.Run(fmt.Sprintf("%+v/%T", c, o.op), func(t *testing.T) { sameByTiles(t, plain, tiles, o.op, nn.BF16x3, o.in, o.out) })
		}
	}
	// Weight gradients of bfloat16: of whole and short segments, one and several bands.
	for _, c := range []struct{ n, small, large, h, w int }{
		{1, 64, 32, 4, 4}, {2, 32, 64, 8, 8}, {1, 32, 16, 16, 16}, {1, 16, 8, 32, 64}, {2, 48, 12, 6, 24}, {1, 256, 64, 36, 16},
	} {
		x, g := operand(nn.Exact, c.n, c.small, c.h, c.w), operand(nn.Exact, c.n, c.large, 2*c.h, 2*c.w)
		t.Run(fmt.Sprintf("%+v/weights", c), func(t *testing.T) {
			sameByTiles(t, plain, tiles, nn.ConvTranspose2DGradWeight{Stride: 2, Pad: 1}, nn.Exact, []nntest.Array{x, g}, tensor.Shape{c.small, c.large, 4, 4})
		})
	}
}

// several are the numbers of threads whose results are compared with those on one.
func several() []int {
	if nntest.Exhaustive() {
		return []int{2, 3, 4}
	}
	return []int{3}
}

// sameByTiles checks that tiles give other bits than a backend without them, of the same numbers, and the same bits on
// any number of threads.
func sameByTiles(t *testing.T, plain *cpu.Backend, tiles map[int]*cpu.Backend, op nn.Op, products nn.Products, in []nntest.Array, out tensor.Shape) {
	t.Helper()
	want, got := applied(t, plain, op, products, in, out), applied(t, tiles[1], op, products, in, out)
	var off, size float64
	for i, v := range want {
		off = max(off, math.Abs(float64(got[i])-float64(v)))
		size = max(size, math.Abs(float64(v)))
	}
	if !(off <= 4e-6*size) || off == 0 {
		t.Errorf("off by %.2g of %.2g", off, size)
	}
	for _, threads := range several() {
		if !slices.Equal(applied(t, tiles[threads], op, products, in, out), got) {
			t.Errorf("%d threads give other bits", threads)
		}
	}
}

// An update with a gradient that is not kept has the bits of one with the gradient that
// tiles give, whichever way it divides the work.
func TestUpdatesAtOnceAreThoseOfTilesGradients(t *testing.T) {
	be := openTiles(t, 2)
	for _, products := range []nn.Products{nn.Exact, nn.BF16x3} {
		x, g := operand(products, 1, 32, 8, 8), operand(products, 1, 4, 16, 16)
		weights := tensor.Shape{32, 4, 4, 4}
		zeros := nntest.Array{Shape: weights, Values: make([]float32, weights.Elements())}
		state := []nntest.Array{value(1e-3), value(1), random(tensor.Float32, weights...), zeros, zeros}
		adam := nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
		update := func(op nn.Op, operands ...nntest.Array) [][]float32 {
			n := len(operands) + 2
			s, err := nntest.NewProductStep(be, op, products, append(operands, state...),
				[]nntest.Result{{InPlace: true, Input: n}, {InPlace: true, Input: n + 1}, {InPlace: true, Input: n + 2}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			after, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			return after
		}
		gradient := applied(t, be, nn.ConvTranspose2DGradWeight{Stride: 2, Pad: 1}, products, []nntest.Array{x, g}, weights)
		want := update(adam, nntest.Array{Shape: weights, Values: gradient})
		got := update(nn.ConvAdam{Stride: 2, Pad: 1, Transposed: true, Update: adam}, x, g)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%v: array %d differs", products, i)
			}
		}
	}
}
