package ptx

import "unsafe"

// Runners of frequent instructions, for all lanes of a warp at once.

// A runner executes an op for all lanes of a warp.
type runner = func(w *warp, o *op)

// number is a type of the host that a register can hold.
type lane interface {
	uint32 | int32 | float32 | uint64 | int64 | float64
}

// lanesOf returns a register as numbers of a type, whose size chooses the bank.
func lanesOf[T lane](w *warp, slot int32) *[32]T {
	var zero T
	if unsafe.Sizeof(zero) == 8 {
		return (*[32]T)(unsafe.Pointer(&w.wide[slot]))
	}
	return (*[32]T)(unsafe.Pointer(&w.narrow[slot]))
}

// get returns the value of a register in a lane; of a predicate 0 or 1.
func (w *warp) get(b bank, slot int32, l int) uint64 {
	switch b {
	case narrow:
		return uint64(w.narrow[slot][l])
	case wide:
		return w.wide[slot][l]
	}
	return uint64(w.predicates[slot] >> l & 1)
}

// set changes the value of a register in a lane.
func (w *warp) set(b bank, slot int32, l int, v uint64) {
	switch b {
	case narrow:
		w.narrow[slot][l] = uint32(v)
	case wide:
		w.wide[slot][l] = v
	default:
		w.predicates[slot] = w.predicates[slot]&^(1<<l) | uint32(v&1)<<l
	}
}

// setBits gives a predicate the bits of the active lanes.
func (w *warp) setBits(slot int32, bits uint32) {
	p := &w.predicates[slot]
	*p = *p&^w.active | bits&w.active
}

// lift makes a runner from a function of up to three values. Sources are extended to 64 bits as their types say, the
// result is cut to its type.
func lift(d dtype, sources []dtype, f func(a, b, c uint64) uint64) runner {
	var t [3]dtype
	copy(t[:], sources)
	n := len(sources)
	banks := [3]bank{t[0].bank(), t[1].bank(), t[2].bank()}
	allNarrow := d.bank() == narrow
	for i := range n {
		allNarrow = allNarrow && banks[i] == narrow
	}
	if !allNarrow {
		return func(w *warp, o *op) {
			slots := [3]int32{o.a, o.b, o.c}
			for l := range 32 {
				var x [3]uint64
				for i := range n {
					x[i] = t[i].extend(w.get(banks[i], slots[i], l))
				}
				w.set(d.bank(), o.d, l, d.cut(f(x[0], x[1], x[2])))
			}
		}
	}
	var shift [3]int // a 64-bit shift left and right extends a value
	for i := range n {
		shift[i] = 64 - 8*t[i].size
	}
	mask := uint32(d.cut(^uint64(0)))
	extend := func(i int, v uint32) uint64 {
		x := uint64(v) << shift[i]
		if t[i].class == signed {
			return uint64(int64(x) >> shift[i])
		}
		return x >> shift[i]
	}
	switch n {
	case 1:
		return func(w *warp, o *op) {
			d, a := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a)
			for l := range d {
				d[l] = uint32(f(extend(0, a[l]), 0, 0)) & mask
			}
		}
	case 2:
		return func(w *warp, o *op) {
			d, a, b := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a), lanesOf[uint32](w, o.b)
			for l := range d {
				d[l] = uint32(f(extend(0, a[l]), extend(1, b[l]), 0)) & mask
			}
		}
	}
	return func(w *warp, o *op) {
		d, a, b, c := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a), lanesOf[uint32](w, o.b), lanesOf[uint32](w, o.c)
		for l := range d {
			d[l] = uint32(f(extend(0, a[l]), extend(1, b[l]), extend(2, c[l]))) & mask
		}
	}
}

func addLanes[T lane](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] + b[i]
	}
}

func subLanes[T lane](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] - b[i]
	}
}

func mulLanes[T lane](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] * b[i]
	}
}

// madLanes is for whole numbers: a float would be rounded once or twice as the compiler likes.
func madLanes[T uint32 | uint64](w *warp, o *op) {
	d, a, b, c := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b), lanesOf[T](w, o.c)
	for i := range d {
		d[i] = a[i]*b[i] + c[i]
	}
}

func divLanes[T float32 | float64](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] / b[i]
	}
}

// quotientLanes divides whole numbers without a sign; division by zero gives all ones, as hardware does.
func quotientLanes(w *warp, o *op) {
	d, a, b := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a), lanesOf[uint32](w, o.b)
	for i := range d {
		if b[i] == 0 {
			d[i] = ^uint32(0)
		} else {
			d[i] = a[i] / b[i]
		}
	}
}

func remainderLanes(w *warp, o *op) {
	d, a, b := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a), lanesOf[uint32](w, o.b)
	for i := range d {
		if b[i] == 0 {
			d[i] = a[i]
		} else {
			d[i] = a[i] % b[i]
		}
	}
}

func minLanes[T uint32 | int32](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = min(a[i], b[i])
	}
}

func maxLanes[T uint32 | int32](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = max(a[i], b[i])
	}
}

// low16Lanes keeps the lower 16 bits.
func low16Lanes(w *warp, o *op) {
	d, a := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a)
	for i := range d {
		d[i] = a[i] & 0xffff
	}
}

// sign16Lanes extends numbers of 16 bits with their sign.
func sign16Lanes(w *warp, o *op) {
	d, a := lanesOf[int32](w, o.d), lanesOf[int32](w, o.a)
	for i := range d {
		d[i] = int32(int16(a[i]))
	}
}

func abs32Lanes(w *warp, o *op) {
	d, a := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a)
	for i := range d {
		d[i] = a[i] &^ (1 << 31)
	}
}

func negLanes[T lane](w *warp, o *op) {
	d, a := lanesOf[T](w, o.d), lanesOf[T](w, o.a)
	for i := range d {
		d[i] = -a[i]
	}
}

// fma32Lanes computes a·b + c with one rounding.
func fma32Lanes(w *warp, o *op) {
	d, a, b, c := lanesOf[float32](w, o.d), lanesOf[float32](w, o.a), lanesOf[float32](w, o.b), lanesOf[float32](w, o.c)
	for i := range d {
		d[i] = fma32(a[i], b[i], c[i])
	}
}

// mulWideLanes multiplies 32-bit numbers to 64 bits.
func mulWideLanes[T uint32 | int32, U uint64 | int64](w *warp, o *op) {
	d, a, b := lanesOf[U](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = U(a[i]) * U(b[i])
	}
}

// madWideLanes multiplies 32-bit numbers to 64 bits and adds.
func madWideLanes[T uint32 | int32, U uint64 | int64](w *warp, o *op) {
	d, a, b, c := lanesOf[U](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b), lanesOf[U](w, o.c)
	for i := range d {
		d[i] = U(a[i])*U(b[i]) + c[i]
	}
}

// castLanes converts whole numbers as Go does, which extends or cuts.
func castLanes[T, U uint32 | int32 | uint64 | int64](w *warp, o *op) {
	d, a := lanesOf[U](w, o.d), lanesOf[T](w, o.a)
	for i := range d {
		d[i] = U(a[i])
	}
}

func copyLanes[T uint32 | uint64](w *warp, o *op) { *lanesOf[T](w, o.d) = *lanesOf[T](w, o.a) }

func andLanes[T uint32 | uint64](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func orLanes[T uint32 | uint64](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xorLanes[T uint32 | uint64](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b)
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func notLanes[T uint32 | uint64](w *warp, o *op) {
	d, a := lanesOf[T](w, o.d), lanesOf[T](w, o.a)
	for i := range d {
		d[i] = ^a[i]
	}
}

// shlLanes shifts left by 32-bit counts; counts beyond the width give 0, as Go's do.
func shlLanes[T uint32 | uint64](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[uint32](w, o.b)
	for i := range d {
		d[i] = a[i] << b[i]
	}
}

func shrLanes[T uint32 | int32 | uint64 | int64](w *warp, o *op) {
	d, a, b := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[uint32](w, o.b)
	for i := range d {
		d[i] = a[i] >> b[i]
	}
}

func selectLanes[T uint32 | uint64](w *warp, o *op) {
	d, a, b, p := lanesOf[T](w, o.d), lanesOf[T](w, o.a), lanesOf[T](w, o.b), w.predicates[o.c]
	for i := range d {
		if p>>i&1 != 0 {
			d[i] = a[i]
		} else {
			d[i] = b[i]
		}
	}
}

// compareLanes returns a bit for each lane in which a comparison of a and b holds. A comparison with a NaN does not
// hold, except ne.
func compareLanes[T lane](c comparison, a, b *[32]T) (bits uint32) {
	switch c {
	case equal, notEqual:
		for i := range a {
			if a[i] == b[i] {
				bits |= 1 << i
			}
		}
		if c == notEqual {
			bits = ^bits
		}
	case less:
		for i := range a {
			if a[i] < b[i] {
				bits |= 1 << i
			}
		}
	case lessEqual:
		for i := range a {
			if a[i] <= b[i] {
				bits |= 1 << i
			}
		}
	case greater:
		for i := range a {
			if a[i] > b[i] {
				bits |= 1 << i
			}
		}
	case greaterEqual:
		for i := range a {
			if a[i] >= b[i] {
				bits |= 1 << i
			}
		}
	}
	return bits
}

// nanLanes returns a bit for each lane in which a or b is a NaN.
func nanLanes[T lane](a, b *[32]T) (bits uint32) {
	for i := range a {
		if a[i] != a[i] || b[i] != b[i] {
			bits |= 1 << i
		}
	}
	return bits
}
