package winograd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
)

// sidesOf are the sides of a stage's input and result.
func sidesOf(stage Stage, side int) (in, out int) {
	m := matrices[side][stage]
	return len(m[0]), len(m)
}

func TestWinogradStagesArePlainGos(t *testing.T) {
	for _, s := range vec.Available() {
		for side := range matrices {
			for stage := range stages {
				for _, n := range []int{1, 3} {
					t.Run(fmt.Sprintf("%v/F(%d)/%d/%d", s, side, stage, n), func(t *testing.T) {
						rng := rand.New(rand.NewPCG(uint64(side), uint64(stage)))
						in, out := sidesOf(stage, side)
						strides := func(k int) (row, pixel, step, size int) {
							pixel = Lanes + rng.IntN(9)
							row = k*pixel + rng.IntN(7)
							step = k*row + rng.IntN(5)
							return row, pixel, step, (k-1)*(row+pixel) + (n-1)*step + Lanes
						}
						xRow, xPixel, xStep, size := strides(in)
						x := vectest.Guarded(t, rng, size)
						yRow, yPixel, yStep, size := strides(out)
						y := vectest.Guarded(t, rng, size)
						want := slices.Clone(y)
						transformStage(stage, side, want, yRow, yPixel, yStep, x, xRow, xPixel, xStep, n)
						Transform(s, stage, side, y, yRow, yPixel, yStep, x, xRow, xPixel, xStep, n, make([]float32, Scratch))
						vectest.Same(t, "result", y, want, 1000)
					})
				}
			}
		}
	}
}

// Transformed tiles and kernels multiply to a convolution and to its kernel's gradient. F(4×4)
// loses more digits.
func TestWinogradStagesConvolve(t *testing.T) {
	for side := range matrices {
		rng := rand.New(rand.NewPCG(5, uint64(side)))
		reach := side + 2
		random := func(n int) []float32 {
			v := make([]float32, n*n*Lanes)
			for i := range v {
				v[i] = 2*rng.Float32() - 1
			}
			return v
		}
		apply := func(stage Stage, x []float32) []float32 {
			in, out := sidesOf(stage, side)
			y := make([]float32, out*out*Lanes)
			transformStage(stage, side, y, out*Lanes, Lanes, 0, x, in*Lanes, Lanes, 0, 1)
			return y
		}
		multiplied := func(a, b []float32) []float32 {
			c := make([]float32, len(a))
			for i := range c {
				c[i] = a[i] * b[i]
			}
			return c
		}
		d, g, y := random(reach), random(3), random(side)
		tile := apply(Tile, d)
		check := func(what string, got []float32, n, terms int, other []float32) {
			for i := range n * n * Lanes {
				c, at := i%Lanes, i/Lanes
				want := 0.0
				for k := range terms * terms {
					want += float64(other[k*Lanes+c]) * float64(d[((at/n+k/terms)*reach+at%n+k%terms)*Lanes+c])
				}
				if math.Abs(float64(got[i])-want) > 1e-5 {
					t.Fatalf("F(%d): %s %d is %v, want %v", side, what, i, got[i], want)
				}
			}
		}
		check("output", apply(Products, multiplied(tile, apply(Kernel, g))), side, 3, g)
		check("gradient", apply(Gradient, multiplied(tile, apply(Upstream, y))), 3, side, y)
	}
}
