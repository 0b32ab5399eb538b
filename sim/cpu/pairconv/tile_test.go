package pairconv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/matrix"
	"prismtop/sim/tensor"
)

// tileShapes are convolutions that products of tiles compute: PRISM's decoder's, of several images, of few channels, of
// pixels that fill no product.
var tileShapes = []Shape{
	{N: 1, Small: 64, Large: 32, Height: 4, Width: 4},
	{N: 2, Small: 32, Large: 64, Height: 8, Width: 8},
	{N: 1, Small: 32, Large: 16, Height: 16, Width: 16},
	{N: 1, Small: 16, Large: 8, Height: 16, Width: 64},
	{N: 3, Small: 16, Large: 6, Height: 8, Width: 24},
	{N: 1, Small: 96, Large: 32, Height: 6, Width: 16},
}

// random returns n values of bfloat16 around 0.
func random(rng *rand.Rand, n int) []uint16 {
	x := make([]uint16, n)
	for i := range x {
		x[i] = tensor.F32ToBF16(rng.Float32() - 0.5)
	}
	return x
}

// reference computes both directions as the sums of the documentation.
func reference(s Shape, small, large, w []uint16) (toSmall, toLarge []float64) {
	toSmall, toLarge = make([]float64, len(small)), make([]float64, len(large))
	value := func(x uint16) float64 { return float64(tensor.BF16ToF32(x)) }
	for i := range small {
		image, channel, row, column := i/(s.Small*s.Height*s.Width), i/(s.Height*s.Width)%s.Small, i/s.Width%s.Height, i%s.Width
		for k := range s.Large * taps {
			y, x := 2*row-1+k/4%4, 2*column-1+k%4
			if y < 0 || y >= 2*s.Height || x < 0 || x >= 2*s.Width {
				continue
			}
			at, v := ((image*s.Large+k/taps)*2*s.Height+y)*2*s.Width+x, value(w[channel*s.Large*taps+k])
			toSmall[i] += value(large[at]) * v
			toLarge[at] += value(small[i]) * v
		}
	}
	return toSmall, toLarge
}

// rounded checks that values are those of the reference, rounded to bfloat16 after a sum of float32.
func rounded(t *testing.T, what string, got []uint16, want []float64) {
	t.Helper()
	size := 0.0
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i, v := range want {
		if off := math.Abs(float64(tensor.BF16ToF32(got[i])) - v); !(off <= math.Abs(v)/256+4e-6*size) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, tensor.BF16ToF32(got[i]), v)
		}
	}
}

// scattered and gathered run all tasks of a convolution, from the last to the first, in scratch that held something else.
func scattered(s Shape, tiles matrix.Tiles, threads int, small, w []uint16) []uint16 {
	c := NewTileScatter(s, vec.Available()[0], vec.PlainPairs, tiles, threads)
	c.Small, c.Weights, c.Large = small, w, make([]uint16, 4*len(small)/s.Small*s.Large)
	for task := c.Tasks() - 1; task >= 0; task-- {
		c.Run(spoilt(c.Scratch()), task, task+1)
	}
	return c.Large
}

func gathered(s Shape, tiles matrix.Tiles, threads int, large, w []uint16) []uint16 {
	c := NewTileGather(s, vec.Available()[0], tiles, threads)
	c.Large, c.Weights, c.Small = large, w, make([]uint16, len(large)/4/s.Large*s.Small)
	for task := c.Tasks() - 1; task >= 0; task-- {
		c.Run(spoilt(c.Scratch()), task, task+1)
	}
	return c.Small
}

// spoilt is memory full of NaN.
func spoilt(n int) []float32 {
	return slices.Repeat([]float32{float32(math.NaN())}, n)
}

func TestTilesMultiplyTransposedConvolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, s := range tileShapes {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			if !TileScatterFits(s) || !TileGatherFits(s) {
				t.Fatal("does not fit")
			}
			small, large := random(rng, s.N*s.Small*s.Height*s.Width), random(rng, 4*s.N*s.Large*s.Height*s.Width)
			w := random(rng, s.Small*s.Large*taps)
			toSmall, toLarge := reference(s, small, large, w)
			up, down := scattered(s, matrix.PlainTiles, 1, small, w), gathered(s, matrix.PlainTiles, 1, large, w)
			rounded(t, "scatter", up, toLarge)
			rounded(t, "gather", down, toSmall)
			for threads := 2; threads <= 5; threads++ {
				if !slices.Equal(scattered(s, matrix.PlainTiles, threads, small, w), up) ||
					!slices.Equal(gathered(s, matrix.PlainTiles, threads, large, w), down) {
					t.Errorf("%d threads give other bits", threads)
				}
			}
			if tiles, err := matrix.DetectTiles(); err == nil {
				rounded(t, "scatter on AMX", scattered(s, tiles, 2, small, w), toLarge)
				rounded(t, "gather on AMX", gathered(s, tiles, 2, large, w), toSmall)
			}
		})
	}
}

// directly runs all tasks of a direct convolution, in scratch that held something else.
func directly(d Direct, tiles matrix.Tiles, threads int, x []uint16, w, bias []float32, relu bool) []uint16 {
	c := NewTileDirect(d, vec.Available()[0], tiles, threads)
	size := len(x) / d.In * d.Out
	if d.Pool {
		size /= 4
	}
	c.X, c.Y, c.Packed, c.Bias, c.ReLU = x, make([]uint16, size), spoilt(c.PackedFloats()), bias, relu
	c.Pack(w, 0, d.Out)
	for task := c.Tasks() - 1; task >= 0; task-- {
		c.Run(spoilt(c.Scratch()), task, task+1)
	}
	return c.Y
}

// pooled returns the largest of each block of 2×2 pixels of rows of width w.
func pooled(x []float64, w int) []float64 {
	y := make([]float64, len(x)/4)
	for i := range y {
		at := i/(w/2)*2*w + i%(w/2)*2
		y[i] = max(x[at], x[at+1], x[at+w], x[at+w+1])
	}
	return y
}

func TestTilesMultiplyDirectConvolutions(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for _, d := range []Direct{
		{N: 1, In: 32, Out: 64, Height: 16, Width: 16, Side: 3}, {N: 2, In: 64, Out: 16, Height: 9, Width: 20, Side: 3},
		{N: 1, In: 16, Out: 32, Height: 5, Width: 7, Side: 5}, {N: 3, In: 96, Out: 32, Height: 8, Width: 8, Side: 1},
		{N: 2, In: 64, Out: 32, Height: 6, Width: 10, Side: 3, Pool: true}, {N: 1, In: 32, Out: 16, Height: 24, Width: 2, Side: 7},
	} {
		x, w, bias := random(rng, d.N*d.In*d.Height*d.Width), make([]float32, d.Out*d.In*d.taps()), make([]float32, d.Out)
		for i := range w {
			w[i] = tensor.BF16ToF32(tensor.F32ToBF16(rng.Float32() - 0.5))
		}
		for i := range bias {
			bias[i] = rng.Float32() - 0.5
		}
		for _, relu := range []bool{false, true} {
			want := make([]float64, len(x)/d.In*d.Out)
			for i := range want {
				image, o, row, column := i/(d.Out*d.Height*d.Width), i/(d.Height*d.Width)%d.Out, i/d.Width%d.Height, i%d.Width
				want[i] = float64(bias[o])
				for k := range d.In * d.taps() {
					y, z := row-d.Side/2+k/d.Side%d.Side, column-d.Side/2+k%d.Side
					if y >= 0 && y < d.Height && z >= 0 && z < d.Width {
						want[i] += float64(tensor.BF16ToF32(x[((image*d.In+k/d.taps())*d.Height+y)*d.Width+z])) * float64(w[o*d.In*d.taps()+k])
					}
				}
				if relu {
					want[i] = max(want[i], 0)
				}
			}
			if d.Pool {
				want = pooled(want, d.Width)
			}
			t.Run(fmt.Sprintf("%+v/%v", d, relu), func(t *testing.T) {
				if !TileDirectFits(d) {
					t.Fatal("does not fit")
				}
				got := directly(d, matrix.PlainTiles, 1, x, w, bias, relu)
				rounded(t, "plain Go", got, want)
				for threads := 2; threads <= 5; threads++ {
					if !slices.Equal(directly(d, matrix.PlainTiles, threads, x, w, bias, relu), got) {
						t.Errorf("%d threads give other bits", threads)
					}
				}
				if tiles, err := matrix.DetectTiles(); err == nil {
					rounded(t, "AMX", directly(d, tiles, 2, x, w, bias, relu), want)
				}
			})
		}
	}
}

// Shapes that tiles would leave mostly empty are left to pairs.
func TestTilesLeaveOtherConvolutions(t *testing.T) {
	for _, s := range []Shape{
		{N: 1, Small: 8, Large: 8, Height: 8, Width: 8}, {N: 1, Small: 24, Large: 8, Height: 8, Width: 8}, {N: 1, Small: 32, Large: 24, Height: 8, Width: 8},
	} {
		if TileScatterFits(s) {
			t.Errorf("%+v: a scatter fits", s)
		}
	}
	for _, s := range []Shape{
		{N: 1, Small: 24, Large: 8, Height: 8, Width: 8}, {N: 1, Small: 32, Large: 7, Height: 8, Width: 8}, {N: 1, Small: 16, Large: 8, Height: 6, Width: 6},
	} {
		if TileGatherFits(s) {
			t.Errorf("%+v: a gather fits", s)
		}
	}
}
