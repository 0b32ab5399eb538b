package fft

import (
	"math"
	"math/bits"

	"gonum.org/v1/gonum/dsp/fourier"

	"prismtop/sim/cpu/vec"
)

// lanes is the number of rows or columns that a block transforms together. A
// block of 512 complex64 values by 8 lanes is 32 KiB, a first-level cache; one
// row of a block is one cache line.
const lanes = vec.Lanes

// axis is the transform along one axis of n elements. It holds what all blocks
// share; see workspace for what a block needs for itself.
type axis struct {
	n int

	// twiddles holds, for each radix-4 pass of size m = n, n/4, … and each
	// j = 1 … m/4−1, the factors w^j, w^2j, w^3j with w = exp(−2πi/m), as six
	// float32. It is nil for lengths that are not a power of two.
	twiddles []float32
	last     int // radix of the final pass, which needs no twiddles: 1, 2, 4 or 8

	// Row i of a block is element load[i] of the source; after the passes it is
	// element store[i] of the result, which unload inverts. The centred tables
	// include the shifts; loading is a rotation.
	load, store, unload                      []int32
	centredLoad, centredStore, centredUnload []int32
}

func newAxis(n int) *axis {
	a := &axis{n: n}
	if n&(n-1) == 0 {
		a.last = lastRadix(n)
		count := 0
		for m := n; m > a.last; m /= 4 {
			count += 6 * (m/4 - 1)
		}
		a.twiddles = make([]float32, count)
	}
	for _, table := range []*[]int32{&a.load, &a.store, &a.unload, &a.centredLoad, &a.centredStore, &a.centredUnload} {
		*table = make([]int32, n)
	}
	a.rebuild()
	return a
}

// lastRadix is what remains of a power of two after radix-4 passes: 8 for odd
// powers, 4 for even ones, and n itself below that.
func lastRadix(n int) int {
	switch {
	case n <= 4:
		return n
	case bits.TrailingZeros(uint(n))%2 == 1:
		return 8
	default:
		return 4
	}
}

func (a *axis) pow2() bool { return a.twiddles != nil }

// rebuild computes the twiddles and index tables again, in place.
func (a *axis) rebuild() {
	t := 0
	if a.pow2() {
		for m := a.n; m > a.last; m /= 4 {
			for j := 1; j < m/4; j++ {
				for power := 1; power <= 3; power++ {
					sin, cos := math.Sincos(-2 * math.Pi * float64(j*power) / float64(m))
					a.twiddles[t], a.twiddles[t+1] = float32(cos), float32(sin)
					t += 2
				}
			}
		}
	}
	half := a.n / 2
	for i := range a.n {
		out := i
		if a.pow2() {
			out = a.frequency(i)
		}
		a.load[i], a.store[i] = int32(i), int32(out)
		a.centredLoad[i] = int32((i + half) % a.n)
		a.centredStore[i] = int32((out + half) % a.n)
		a.unload[a.store[i]], a.centredUnload[a.centredStore[i]] = int32(i), int32(i)
	}
}

// frequency is the index of the coefficient that the passes leave in row i: its
// mixed-radix digits reversed.
func (a *axis) frequency(i int) int {
	k, weight, m := 0, 1, a.n
	for m > a.last {
		m /= 4
		k += i / m * weight
		i %= m
		weight *= 4
	}
	return k + i*weight
}

func (a *axis) tables(centred bool) (load, store, unload []int32) {
	if centred {
		return a.centredLoad, a.centredStore, a.centredUnload
	}
	return a.load, a.store, a.unload
}

func (a *axis) bytes() int64 { return 4 * int64(len(a.twiddles)+6*a.n) }

// transform runs the forward transform of every lane of a block of a.n rows.
func (a *axis) transform(ws *workspace) {
	block := ws.block[:a.n*lanes]
	if a.pow2() {
		transformPow2(ws.set, block, a.n, a.last, a.twiddles)
		return
	}
	ws.transformAny(block, a.n)
}

// workspace is what one block in flight needs.
type workspace struct {
	set      vec.Set
	block    []complex64
	sequence []complex128
	any      [2]*fourier.CmplxFFT // per axis length that is not a power of two
}

func newWorkspace(row, column *axis) *workspace {
	n := max(row.n, column.n)
	ws := &workspace{block: make([]complex64, n*lanes)}
	for i, a := range []*axis{row, column} {
		if a.pow2() || (i == 1 && row.n == column.n) {
			continue
		}
		ws.any[i] = fourier.NewCmplxFFT(a.n)
		if len(ws.sequence) < n {
			ws.sequence = make([]complex128, n)
		}
	}
	return ws
}

func (ws *workspace) rebuild() {
	for _, t := range ws.any {
		if t != nil {
			t.Reset(t.Len())
		}
	}
}

// transformAny transforms each lane by gonum's transform of length n.
func (ws *workspace) transformAny(block []complex64, n int) {
	t := ws.any[0]
	if t == nil || t.Len() != n {
		t = ws.any[1]
	}
	sequence := ws.sequence[:n]
	for l := range lanes {
		for i := range sequence {
			sequence[i] = complex128(block[i*lanes+l])
		}
		t.Coefficients(sequence, sequence)
		for i, v := range sequence {
			block[i*lanes+l] = complex64(v)
		}
	}
}

func (ws *workspace) bytes() int64 {
	n := 8*int64(len(ws.block)) + 16*int64(len(ws.sequence))
	for _, t := range ws.any {
		if t != nil {
			n += 6 * 8 * int64(t.Len()) // gonum's tables and scratch: 6n float64
		}
	}
	return n
}
