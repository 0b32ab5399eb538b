package elements

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/plain"
)

// Scale computes y[i] = w·x[i].
func Scale(s vec.Set, y, x []float32, w float32) {
	n := len(y)
	if s == vec.Go || n == 0 {
		scale(y, x, w)
		return
	}
	x = x[:n]
	if s == vec.AVX512 {
		scaleAVX512(&y[0], &x[0], n, w)
	} else {
		scaleAVX2(&y[0], &x[0], n, w)
	}
}

// Add computes y[i] = a[i] + b[i].
func Add(s vec.Set, y, a, b []float32) {
	n := len(y)
	if s == vec.Go || n == 0 {
		add(y, a, b)
		return
	}
	a, b = a[:n], b[:n]
	if s == vec.AVX512 {
		addAVX512(&y[0], &a[0], &b[0], n)
	} else {
		addAVX2(&y[0], &a[0], &b[0], n)
	}
}

// Axpy computes y[i] += w·x[i].
func Axpy(s vec.Set, y, x []float32, w float32) {
	n := len(y)
	if s == vec.Go || n == 0 {
		plain.Axpy(y, x, w)
		return
	}
	x = x[:n]
	if s == vec.AVX512 {
		axpyAVX512(&y[0], &x[0], n, w)
	} else {
		axpyAVX2(&y[0], &x[0], n, w)
	}
}

// ReLU computes y[i] = max(x[i], 0); a NaN stays one.
func ReLU(s vec.Set, y, x []float32) {
	n := len(y)
	if s == vec.Go || n == 0 {
		relu(y, x)
		return
	}
	x = x[:n]
	if s == vec.AVX512 {
		reluAVX512(&y[0], &x[0], n)
	} else {
		reluAVX2(&y[0], &x[0], n)
	}
}

// ReLUGrad computes gx[i] = gy[i] where y[i] > 0, else 0.
func ReLUGrad(s vec.Set, gx, y, gy []float32) {
	n := len(gx)
	if s == vec.Go || n == 0 {
		reluGrad(gx, y, gy)
		return
	}
	y, gy = y[:n], gy[:n]
	if s == vec.AVX512 {
		reluGradAVX512(&gx[0], &y[0], &gy[0], n)
	} else {
		reluGradAVX2(&gx[0], &y[0], &gy[0], n)
	}
}

// Mask computes y[i] = z[i]·m[i].
func Mask(s vec.Set, y, z []complex64, m []float32) {
	n := len(y)
	whole := n &^ 7 // sixteen floats
	if s == vec.Go || whole == 0 {
		mask(y, z, m)
		return
	}
	z, m = z[:n], m[:n]
	if s == vec.AVX512 {
		maskAVX512(&y[0], &z[0], &m[0], whole/8)
	} else {
		maskAVX2(&y[0], &z[0], &m[0], whole/4)
	}
	mask(y[whole:], z[whole:], m[whole:])
}
