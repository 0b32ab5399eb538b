package elements

import "prismtop/sim/cpu/vec"

// eight is the number of elements that the kernels of functions compute at a time.
const eight = 8

// Sigmoid computes y[i] = 1/(1 + e^−x[i]).
func Sigmoid(s vec.Set, y, x []float32) {
	if s != vec.AVX512 {
		sigmoid(y, x)
		return
	}
	eights(sigmoidFunction, y, x)
}

// Swish computes y[i] = x[i]/(1 + e^−x[i]).
func Swish(s vec.Set, y, x []float32) {
	if s != vec.AVX512 {
		swish(y, x)
		return
	}
	eights(swishFunction, y, x)
}

// Tanh computes y[i] = tanh x[i].
func Tanh(s vec.Set, y, x []float32) {
	if s != vec.AVX512 {
		tanh(y, x)
		return
	}
	eights(tanhFunction, y, x)
}

// function is one that a kernel computes eight elements at a time.
type function uint8

const (
	sigmoidFunction function = iota
	swishFunction
	tanhFunction
)

// groups computes groups of eight elements.
func (f function) groups(y, x *float32, n int) {
	switch f {
	case sigmoidFunction:
		sigmoidAVX512(y, x, n)
	case swishFunction:
		swishAVX512(y, x, n)
	case tanhFunction:
		tanhAVX512(y, x, n)
	}
}

// eights computes a function of all elements, the rest of the last eight in a copy.
func eights(f function, y, x []float32) {
	n := len(y)
	x = x[:n]
	if n >= eight {
		f.groups(&y[0], &x[0], n/eight)
	}
	if rest := n % eight; rest > 0 {
		var part [eight]float32
		copy(part[:], x[n-rest:])
		f.groups(&part[0], &part[0], 1)
		copy(y[n-rest:], part[:])
	}
}

// turns bounds the angles that the kernel of Polar computes.
const turns = 1 << 20

// Polar computes z[i] = a[i]·(cos phase[i] + i·sin phase[i]).
func Polar(s vec.Set, z []complex64, a, phase []float32) {
	n := len(z)
	a, phase = a[:n], phase[:n]
	if s != vec.AVX512 {
		polar(z, a, phase)
		return
	}
	large := uint32(0)
	if n >= eight {
		large = polarAVX512(&z[0], &a[0], &phase[0], n/eight)
	}
	if rest := n % eight; rest > 0 {
		var to [eight]complex64
		var parts [2][eight]float32
		copy(parts[0][:], a[n-rest:])
		copy(parts[1][:], phase[n-rest:])
		large |= polarAVX512(&to[0], &parts[0][0], &parts[1][0], 1)
		copy(z[n-rest:], to[:])
	}
	if large == 0 {
		return
	}
	for i, v := range phase {
		if !(-turns <= v && v <= turns) {
			polar(z[i:i+1], a[i:], phase[i:])
		}
	}
}
