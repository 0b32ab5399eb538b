package fft

import (
	"fmt"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

func BenchmarkForward(b *testing.B) {
	for _, n := range []int{64, 256, 500, 512, 1024, 2048} {
		p, _ := NewPlan(n, n)
		x := randomPlane(n*n, 9)
		y := make([]complex64, n*n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p.Forward(y, x, nil)
			}
		})
		b.Run(fmt.Sprint(n, " in place"), func(b *testing.B) {
			copy(y, x)
			for b.Loop() {
				p.CentredForward(y, y, Bounds{}, nil) // which keeps the values' size
			}
		})
	}
}

// BenchmarkCentredForwardReal transforms an object that fills a quarter of the
// rows, as the decoder's output does.
func BenchmarkCentredForwardReal(b *testing.B) {
	const n = 512
	p, _ := NewPlan(n, n)
	x, y := make([]float32, n*n), make([]complex64, n*n)
	for i := 192; i < 320; i++ {
		for j := 192; j < 320; j++ {
			x[i*n+j] = 1
		}
	}
	for b.Loop() {
		p.CentredForwardReal(y, x, Bounds{}, nil)
	}
}

func BenchmarkCentredInverseReal(b *testing.B) {
	const n = 512
	p, _ := NewPlan(n, n)
	x, y := randomPlane(n*n, 9), make([]float32, n*n)
	for b.Loop() {
		p.CentredInverseReal(y, x, Bounds{}, nil)
	}
}

func BenchmarkRebuild(b *testing.B) {
	p, _ := NewPlan(512, 512)
	for b.Loop() {
		p.Rebuild()
	}
}

// BenchmarkGonum is the same transform of 512×512 by gonum alone, rows and then
// columns in complex128.
func BenchmarkGonum(b *testing.B) {
	const n = 512
	t := fourier.NewCmplxFFT(n)
	plane, column := make([]complex128, n*n), make([]complex128, n)
	for i, v := range randomPlane(n*n, 9) {
		plane[i] = complex128(v)
	}
	for b.Loop() {
		for i := range n {
			t.Coefficients(plane[i*n:][:n], plane[i*n:][:n])
		}
		for j := range n {
			for i := range n {
				column[i] = plane[i*n+j]
			}
			t.Coefficients(column, column)
			for i := range n {
				plane[i*n+j] = column[i] / n
			}
		}
	}
}
