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

// openPairs makes a backend that multiplies pairs of bfloat16 in plain Go.
func openPairs(t testing.TB, threads int) *cpu.Backend {
	b := open(t, threads)
	if b.Set().String() == "go" {
		t.Skip("plain Go's convolutions are not products with patches")
	}
	b.UsePlainPairs()
	return b
}

func TestConformanceThroughPairs(t *testing.T) {
	nntest.Run(t, func(t *testing.T, threads int) nn.Backend { return openPairs(t, threads) })
}

// Pairs add in another order, and so round otherwise, which shows that they were used; more than
// rounding shows that they were used wrongly. One to four threads give the same bits, and the
// processor's own products, where it has them, the same numbers.
func TestPairsMultiplyConvolutions(t *testing.T) {
	compare := comparison(t)
	for _, c := range []struct{ n, small, large, h, w int }{
		{1, 32, 2, 4, 4}, {2, 64, 6, 8, 4}, {1, 16, 5, 8, 8}, {2, 64, 4, 4, 8}, {1, 32, 34, 16, 16}, {1, 8, 4, 2, 40},
		{1, 24, 3, 6, 22}, {1, 8, 2, 64, 64},
		{1, 64, 16, 4, 4}, {2, 66, 8, 8, 4}, {1, 32, 16, 8, 8}, {2, 64, 8, 4, 8}, {1, 34, 24, 16, 16}, {1, 64, 8, 4, 40}, {1, 32, 8, 64, 64},
	} {
		small, large := tensor.Shape{c.n, c.small, c.h, c.w}, tensor.Shape{c.n, c.large, 2 * c.h, 2 * c.w}
		x, g, w := operand(nn.Exact, small...), operand(nn.Exact, large...), operand(nn.Exact, c.small, c.large, 4, 4)
		for _, o := range []struct {
			op  nn.Op
			in  []nntest.Array
			out tensor.Shape
		}{
			{nn.ConvTranspose2D{Stride: 2, Pad: 1}, []nntest.Array{x, w, random(tensor.Float32, c.large)}, large},
			{nn.ConvTranspose2D{Stride: 2, Pad: 1, ReLU: true}, []nntest.Array{x, w}, large},
			{nn.ConvTranspose2DGradInput{Stride: 2, Pad: 1}, []nntest.Array{g, w}, small},
			{nn.ConvTranspose2DGradWeight{Stride: 2, Pad: 1}, []nntest.Array{x, g}, w.Shape},
			{nn.Conv2D{Stride: 2, Pad: 1, ReLU: true}, []nntest.Array{g, w, random(tensor.Float32, c.small)}, small},
		} {
			_, forward := o.op.(nn.ConvTranspose2D)
			other := forward && c.large%8 != 0 || o.out[1] == c.small && c.small%8 != 0 // of channels in vectors
			t.Run(fmt.Sprintf("%+v/%T", c, o.op), func(t *testing.T) { compare(t, o.op, o.in, o.out, !other) })
		}
	}
}

// Convolutions of stride 1 with several or one output channel, and an even or odd number of input channels.
func TestPairsMultiplyDirectConvolutions(t *testing.T) {
	compare := comparison(t)
	for _, c := range []struct{ n, in, out, h, w int }{
		{2, 6, 8, 6, 8}, {1, 5, 16, 4, 8}, {1, 64, 16, 20, 21}, {3, 3, 24, 33, 16}, {1, 1, 8, 17, 64}, {1, 130, 8, 48, 48},
		{2, 16, 1, 21, 18}, {1, 34, 1, 64, 32},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			x, w := operand(nn.Exact, c.n, c.in, c.h, c.w), operand(nn.Exact, c.out, c.in, 3, 3)
			out := tensor.Shape{c.n, c.out, c.h, c.w}
			compare(t, nn.Conv2D{Stride: 1, Pad: 1, ReLU: true}, []nntest.Array{x, w, random(tensor.Float32, c.out)}, out, c.in > 1)
			compare(t, nn.Conv2D{Stride: 1, Pad: 1}, []nntest.Array{x, w}, out, c.in > 1)
		})
	}
}

// Convolutions of stride 1 and both of their gradients between a few channels, even or odd in number.
func TestPairsMultiplyConvolutionsOfFewChannels(t *testing.T) {
	compare := comparison(t)
	for _, c := range []struct{ n, in, out, h, w, k, pad int }{
		{1, 8, 4, 128, 128, 3, 1}, {1, 4, 2, 128, 128, 3, 1}, {1, 2, 1, 128, 128, 3, 0}, {2, 3, 7, 33, 24, 3, 1},
		{1, 2, 5, 9, 18, 5, 2}, {3, 12, 11, 17, 34, 1, 0}, {1, 8, 16, 12, 8, 3, 1}, {2, 5, 3, 20, 22, 3, 0}, {1, 2, 300, 40, 16, 3, 1},
		{2, 4, 5, 9, 16, 2, 1}, {1, 7, 5, 12, 20, 5, 0},
	} {
		x, w := operand(nn.Exact, c.n, c.in, c.h, c.w), operand(nn.Exact, c.out, c.in, c.k, c.k)
		h, width := c.h+2*c.pad-c.k+1, c.w+2*c.pad-c.k+1
		gy := operand(nn.Exact, c.n, c.out, h, width)
		bias := random(tensor.Float32, c.out)
		for _, o := range []struct {
			op  nn.Op
			in  []nntest.Array
			out tensor.Shape
		}{
			{nn.Conv2D{Stride: 1, Pad: c.pad}, []nntest.Array{x, w}, gy.Shape},
			{nn.Conv2D{Stride: 1, Pad: c.pad, ReLU: true}, []nntest.Array{x, w, bias}, gy.Shape},
			{nn.Conv2DGradInput{Stride: 1, Pad: c.pad}, []nntest.Array{gy, w}, x.Shape},
			{nn.ConvTranspose2D{Stride: 1, Pad: c.pad, ReLU: true}, []nntest.Array{gy, w, random(tensor.Float32, c.in)}, x.Shape},
			{nn.Conv2DGradWeight{Stride: 1, Pad: c.pad}, []nntest.Array{x, gy}, w.Shape},
			{nn.ConvTranspose2DGradWeight{Stride: 1, Pad: c.pad}, []nntest.Array{gy, x}, w.Shape},
		} {
			t.Run(fmt.Sprintf("%+v/%T", c, o.op), func(t *testing.T) { compare(t, o.op, o.in, o.out, o.in[0].Shape[1] > 1) })
		}
	}
}

// comparison returns a function that compares an operator's results by pairs with those of float32. They
// differ if pairs are used, and are the same but for their rounding if they are bfloat16.
func comparison(t *testing.T) func(t *testing.T, op nn.Op, in []nntest.Array, out tensor.Shape, used bool) {
	plain := open(t, 2)
	plain.UseNoTiles()
	plain.UseNoPairs()
	pairs := map[int]*cpu.Backend{1: openPairs(t, 1), 2: openPairs(t, 2), 3: openPairs(t, 3), 4: openPairs(t, 4)}
	native := nativePairs(t)
	return func(t *testing.T, op nn.Op, in []nntest.Array, out tensor.Shape, used bool) {
		t.Helper()
		want := applied(t, plain, op, nn.Exact, in, out)
		got := applied(t, pairs[1], op, nn.Exact, in, out)
		check(t, "plain Go's pairs", got, want)
		if used && slices.Equal(got, want) {
			t.Error("pairs were not used")
		}
		if rounded := appliedAs(t, pairs[1], op, nn.Exact, in, nntest.Result{Shape: out, DType: tensor.BFloat16}); !slices.Equal(rounded, roundedTo16(got)) {
			t.Error("results in bfloat16 are not the rounded ones")
		}
		for _, threads := range several() {
			if !slices.Equal(applied(t, pairs[threads], op, nn.Exact, in, out), got) {
				t.Errorf("%d threads give other bits", threads)
			}
		}
		if native != nil {
			check(t, "the processor's pairs", applied(t, native, op, nn.Exact, in, out), want)
		}
	}
}

// roundedTo16 rounds values to bfloat16.
func roundedTo16(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = tensor.BF16ToF32(tensor.F32ToBF16(v))
	}
	return y
}

// nativePairs makes a backend with the processor's products of pairs, or returns nil.
func nativePairs(t *testing.T) *cpu.Backend {
	if cpu.CheckKernels("avx512-bf16") != nil {
		return nil
	}
	b, err := cpu.New(cpu.Options{Threads: 2, Kernels: "avx512-bf16"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// check compares results within the rounding of their sums.
func check(t *testing.T, what string, got, want []float32) {
	t.Helper()
	var off, size float64
	for i, v := range want {
		off = max(off, math.Abs(float64(got[i])-float64(v)))
		size = max(size, math.Abs(float64(v)))
	}
	if !(off <= 4e-6*size) {
		t.Errorf("%s: off by %.2g of %.2g", what, off, size)
	}
}

// Weights that a plan does not change are transformed for Winograd's algorithm, whose results are those of float32 but for
// the rounding to bfloat16, with the same bits for any number of threads.
func TestPairsMultiplyByWinograd(t *testing.T) {
	plain := open(t, 2)
	plain.UseNoTiles()
	plain.UseNoPairs()
	for _, c := range []struct{ n, in, out, h, w int }{{2, 16, 24, 4, 16}, {1, 18, 16, 10, 32}, {1, 32, 16, 6, 64}, {3, 64, 16, 16, 16}, {3, 16, 16, 8, 8}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			m := nn.NewModel(nn.ModelOptions{Seed: 3})
			g := nn.NewGraph(m)
			shape := tensor.Shape{c.n, c.in, c.h, c.w}
			x := g.Input("x", shape)
			weight := g.Parameter("w", tensor.Shape{c.out, c.in, 3, 3}, nn.FanInUniform(9*c.in))
			g.Output("y", g.Activation(g.Conv2D(x, weight, g.Parameter("b", tensor.Shape{c.out}, nn.FanInUniform(4)), 1, 1), nn.ReLU))
			plan, err := nn.Compile(t.Context(), g, nn.Value{}, nn.Options{AMP: tensor.BFloat16})
			if err != nil {
				t.Fatal(err)
			}
			input := operand(nn.Exact, shape...).Values
			want := output(t, plain, m, plan, input)
			got := output(t, openPairs(t, 1), m, plan, input)
			near(t, "plain Go", got, want)
			if slices.Equal(got, want) {
				t.Error("the algorithm was not used")
			}
			for _, threads := range several() {
				if !slices.Equal(output(t, openPairs(t, threads), m, plan, input), got) {
					t.Errorf("%d threads give other bits", threads)
				}
			}
			if native := nativePairs(t); native != nil {
				near(t, "the processor", output(t, native, m, plan, input), want)
			}
		})
	}
}

// output runs a plan twice and returns its output y.
func output(t *testing.T, be *cpu.Backend, m *nn.Model, plan *nn.Plan, x []float32) []float32 {
	t.Helper()
	variables, err := m.InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := be.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	exe, err := be.Load(t.Context(), plan, state)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	in, _ := plan.Input("x")
	out, _ := plan.Output("y")
	y := make([]float32, plan.Buffers[out].Shape.Elements())
	for range 2 {
		exe.Write(in, x)
		if err := exe.Run(t.Context(), nn.SegmentForward); err != nil {
			t.Fatal(err)
		}
		exe.Read(out, y)
	}
	return y
}

// near compares results within some roundings to bfloat16 of the largest.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	off, size := 0.0, 0.0
	for i, v := range want {
		off, size = max(off, math.Abs(float64(got[i]-v))), max(size, math.Abs(float64(v)))
	}
	if !(off <= 0x1p-7*size) || size == 0 {
		t.Errorf("%s: off by %.2g of %.2g", what, off, size)
	}
}
