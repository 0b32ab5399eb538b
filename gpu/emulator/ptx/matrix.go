package ptx

import (
	"math"
	"unsafe"
)

// Instructions on matrices: ldmatrix and mma.

// buildLdmatrix makes ldmatrix, which loads 8×8 matrices of 16-bit elements from rows in shared memory.
func buildLdmatrix(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	if !f.take("sync") || !f.take("aligned") || !f.take("m8n8") {
		f.fail("this form is not supported")
	}
	n := map[string]int{"x1": 1, "x2": 2, "x4": 4}[f.one("x1", "x2", "x4")]
	transposed := f.take("trans")
	f.space(o)
	if o.space == generic {
		o.space = sharedSpace
	}
	if t := f.dtype(); n == 0 || t.name != "b16" || o.space != sharedSpace {
		f.fail("this form is not supported")
	}
	f.addressOperand(o, f.args[1])
	registers := f.vector(0, n, dtypes["b32"], true)
	o.kind = gathers
	o.run = func(w *warp, o *op) {
		var rows [32]*[8]uint16
		for l := range 8 * n {
			address := w.addressOf(o, l)
			if address-sharedWindow < windowBytes {
				address -= sharedWindow
			}
			p := w.reach(o, l, sharedSpace, address, 16, false)
			if p == nil {
				return
			}
			rows[l] = (*[8]uint16)(p)
		}
		for i, r := range registers {
			for l := range 32 {
				q := l % 4 * 2
				if transposed {
					w.narrow[r.slot][l] = uint32(rows[8*i+q][l/4]) | uint32(rows[8*i+q+1][l/4])<<16
				} else {
					w.narrow[r.slot][l] = uint32(rows[8*i+l/4][q]) | uint32(rows[8*i+l/4][q+1])<<16
				}
			}
		}
	}
}

// buildMMA makes mma.sync of 16×8 tiles: D = A·B + C with A of 16×k and B of k×8. Products are exact and summed in
// float64 in the order of k; the result is rounded once.
func buildMMA(f *assembly, _ *instruction, o *op) {
	f.arguments(4)
	if !f.take("sync") || !f.take("aligned") || !f.take("row") || !f.take("col") {
		f.fail("this form is not supported")
	}
	depth := map[string]int{"m16n8k4": 4, "m16n8k8": 8, "m16n8k16": 16}[f.one("m16n8k4", "m16n8k8", "m16n8k16")]
	d, a, b, c := f.dtype(), f.dtype(), f.dtype(), f.dtype()
	halves := a.size == 2
	if a != b || c != d || depth == 0 || halves && depth == 4 || !halves && (a.name != "tf32" || depth == 16) ||
		d.name != "f32" && (d.name != "f16" || a.name != "f16") {
		f.fail("this form is not supported")
	}
	u, perWord := dtypes["b32"], 1
	if halves {
		perWord = 2
	}
	words := 2
	if d.size == 4 {
		words = 4
	}
	tile := mma{a: a, d: d, depth: depth, A: f.vector(1, depth/4*2/perWord, u, false),
		B: f.vector(2, depth/4/perWord, u, false),
		C: f.vector(3, words, u, false), D: f.vector(0, words, u, true)}
	o.kind = gathers
	o.run = tile.run
}

// mma is a product of tiles.
type mma struct {
	a, d       dtype // of the factors and of the result
	depth      int
	A, B, C, D []register
}

// open returns the factors of a register: two halves, or one tf32, whose lower 13 bits are ignored.
func (t *mma) open(v uint32) (float32, float32) {
	switch {
	case t.a.name == "f16":
		return fromHalf(uint16(v)), fromHalf(uint16(v >> 16))
	case t.a.name == "bf16":
		return math.Float32frombits(v << 16), math.Float32frombits(v & 0xffff0000)
	}
	return math.Float32frombits(v &^ 0x1fff), 0
}

func (t *mma) run(w *warp, _ *op) {
	var a [16][16]float32 // row, k
	var b [8][16]float32  // column, k
	pair := 16 / t.a.size
	// Register i of A holds row g + 8·(i mod 2) from k = pair·(i/2) on, two neighbours if they are halves.
	for i, r := range t.A {
		v := &w.narrow[r.slot]
		for l := range 32 {
			row, k := l/4+8*(i%2), pair*(i/2)
			x, y := t.open(v[l])
			if t.a.size == 2 {
				k += l % 4 * 2
				a[row][k], a[row][k+1] = x, y
			} else {
				a[row][k+l%4] = x
			}
		}
	}
	for i, r := range t.B {
		v := &w.narrow[r.slot]
		for l := range 32 {
			k := pair * i
			x, y := t.open(v[l])
			if t.a.size == 2 {
				k += l % 4 * 2
				b[l/4][k], b[l/4][k+1] = x, y
			} else {
				b[l/4][k+l%4] = x
			}
		}
	}
	var sums [16][8]float64
	for row := range sums {
		for column := range sums[row] {
			x, y := &a[row], &b[column]
			s := 0.0
			for k := 0; k < t.depth; k++ {
				s += float64(x[k]) * float64(y[k])
			}
			sums[row][column] = s
		}
	}
	half := dtypes["f16"]
	for l := range 32 {
		g, q := l/4, l%4*2
		if t.d.size == 4 {
			for i := range 4 {
				s := &sums[g+8*(i/2)][q+i%2]
				*s = float64(*(*float32)(unsafe.Pointer(&w.narrow[t.C[i].slot][l]))) + *s
			}
			continue
		}
		for i := range 2 {
			v := w.narrow[t.C[i].slot][l]
			sums[g+8*i][q] += float64(fromHalf(uint16(v)))
			sums[g+8*i][q+1] += float64(fromHalf(uint16(v >> 16)))
		}
	}
	for l := range 32 {
		g, q := l/4, l%4*2
		if t.d.size == 4 {
			for i, r := range t.D {
				w.narrow[r.slot][l] = math.Float32bits(float32(sums[g+8*(i/2)][q+i%2]))
			}
			continue
		}
		for i, r := range t.D {
			low, high := half.encode(sums[g+8*i][q], toNearest), half.encode(sums[g+8*i][q+1], toNearest)
			w.narrow[r.slot][l] = uint32(low | high<<16)
		}
	}
}
