package ptx

import (
	"math/bits"
)

// Bitwise logic, shifts, bit fields and permutations.

// buildLogic makes and, or, xor and not on bits and predicates.
func buildLogic(f *assembly, in *instruction, o *op) {
	name := in.opcode[0]
	t := f.dtype()
	n := 2
	if name == "not" || name == "cnot" {
		n = 1
	}
	f.arguments(n + 1)
	if t.class != untyped && t.class != boolean {
		f.fail("the instruction is not supported")
	}
	o.d, o.a, o.save = f.destination(0, t), f.source(1, t), t.bank()
	if n == 2 {
		o.b = f.source(2, t)
	}
	if t.class == boolean {
		o.kind = masks
	}
	switch {
	case name == "cnot" && t.size > 0:
		o.run = lift(t, []dtype{t}, func(a, _, _ uint64) uint64 {
			if a == 0 {
				return 1
			}
			return 0
		})
	case t.class == boolean:
		o.run = map[string]runner{
			"and": func(w *warp, o *op) { w.setBits(o.d, w.predicates[o.a]&w.predicates[o.b]) },
			"or":  func(w *warp, o *op) { w.setBits(o.d, w.predicates[o.a]|w.predicates[o.b]) },
			"xor": func(w *warp, o *op) { w.setBits(o.d, w.predicates[o.a]^w.predicates[o.b]) },
			"not": func(w *warp, o *op) { w.setBits(o.d, ^w.predicates[o.a]) },
		}[name]
	case t.size == 8:
		o.run = map[string]runner{"and": andLanes[uint64], "or": orLanes[uint64], "xor": xorLanes[uint64],
			"not": notLanes[uint64]}[name]
	case t.size == 2 && name == "not":
		o.run = lift(t, []dtype{t}, func(a, _, _ uint64) uint64 { return ^a })
	default:
		o.run = map[string]runner{"and": andLanes[uint32], "or": orLanes[uint32], "xor": xorLanes[uint32],
			"not": notLanes[uint32]}[name]
	}
}

// buildShift makes shl and shr, whose counts have 32 bits and stop at the width.
func buildShift(f *assembly, in *instruction, o *op) {
	f.arguments(3)
	t := f.dtype()
	count := dtypes["u32"]
	o.d, o.a, o.b, o.save = f.destination(0, t), f.source(1, t), f.source(2, count), t.bank()
	left := in.opcode[0] == "shl"
	switch {
	case t.size == 2:
		o.run = lift(t, []dtype{t, count}, func(a, n, _ uint64) uint64 {
			switch {
			case left:
				return a << n
			case t.class == signed:
				return uint64(int64(a) >> n)
			}
			return a >> n
		})
	case left && t.size == 4:
		o.run = shlLanes[uint32]
	case left:
		o.run = shlLanes[uint64]
	case t.class == signed && t.size == 4:
		o.run = shrLanes[int32]
	case t.class == signed:
		o.run = shrLanes[int64]
	case t.size == 4:
		o.run = shrLanes[uint32]
	default:
		o.run = shrLanes[uint64]
	}
}

// buildFunnel makes shf, which shifts a pair of 32-bit registers.
func buildFunnel(f *assembly, _ *instruction, o *op) {
	f.arguments(5 - 1)
	direction, mode := f.one("l", "r"), f.one("wrap", "clamp")
	t := f.dtype()
	if t.size != 4 || direction == "" || mode == "" {
		f.fail("this form is not supported")
	}
	o.d, o.a, o.b, o.c = f.destination(0, t), f.source(1, t), f.source(2, t), f.source(3, t)
	u := dtypes["u32"]
	o.run = lift(u, []dtype{u, u, u}, func(low, high, n uint64) uint64 {
		if mode == "wrap" {
			n &= 31
		} else {
			n = min(n, 32)
		}
		if direction == "l" {
			return (high<<32 | low) << n >> 32
		}
		return (high<<32 | low) >> n
	})
}

// buildLop3 makes lop3, any function of three bits.
func buildLop3(f *assembly, _ *instruction, o *op) {
	f.arguments(5)
	t := f.dtype()
	table := f.args[4]
	if t.size != 4 || table.kind != integerOperand || table.value > 255 {
		f.fail("lop3 needs .b32 and a table of 8 bits")
	}
	o.d, o.a, o.b, o.c, o.value = f.destination(0, t), f.source(1, t), f.source(2, t), f.source(3, t), table.value
	o.run = func(w *warp, o *op) {
		d, a, b, c := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a), lanesOf[uint32](w, o.b), lanesOf[uint32](w, o.c)
		for l := range d {
			var r uint32
			x, y, z := a[l], b[l], c[l]
			for i := range 8 {
				if o.value>>i&1 == 0 {
					continue
				}
				m := ^uint32(0)
				for j, v := range [3]uint32{z, y, x} {
					if i>>j&1 != 0 {
						m &= v
					} else {
						m &= ^v
					}
				}
				r |= m
			}
			d[l] = r
		}
	}
}

// buildBits makes the instructions on fields of bits.
func buildBits(f *assembly, in *instruction, o *op) {
	name := in.opcode[0]
	shift := f.take("shiftamt")
	u := dtypes["u32"]
	mode := ""
	if name == "prmt" {
		if mode = f.one("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"); mode != "" {
			f.fail("the mode is not supported")
		}
	}
	t := f.dtype()
	d := t
	var sources []dtype
	var g func(a, b, c uint64) uint64
	width := 8 * t.size
	switch name {
	case "brev":
		sources = []dtype{t}
		g = func(a, _, _ uint64) uint64 { return bits.Reverse64(a) >> (64 - width) }
	case "clz":
		sources, d = []dtype{t}, u
		g = func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a) - (64 - width)) }
	case "popc":
		sources, d = []dtype{t}, u
		g = func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }
	case "bfind":
		sources, d = []dtype{t}, u
		g = func(a, _, _ uint64) uint64 {
			if t.class == signed && int64(a) < 0 {
				a = ^a
			}
			n := bits.Len64(a) - 1
			if n < 0 {
				return 0xffffffff
			}
			if shift {
				return uint64(width - 1 - n)
			}
			return uint64(n)
		}
	case "bfe":
		sources = []dtype{t, u, u}
		g = func(a, at, n uint64) uint64 { return extract(a, at&255, n&255, width, t.class == signed) }
	case "prmt":
		sources = []dtype{t, t, u}
		g = permute
	case "bfi":
		f.arguments(5)
		f.buildInsert(t, o)
		return
	}
	if t.size < 4 || len(f.args) != len(sources)+1 {
		f.fail("this form is not supported")
	}
	o.d, o.save = f.destination(0, d), d.bank()
	for i, s := range sources {
		*[]*int32{&o.a, &o.b, &o.c}[i] = f.source(i+1, s)
	}
	o.run = lift(d, sources, g)
}

// extract returns n bits of a from a position on, extended with their sign if asked. Bits
// beyond the width are 0, or the sign.
func extract(a, at, n uint64, width int, isSigned bool) uint64 {
	if n == 0 {
		return 0
	}
	end := uint64(width)
	if isSigned { // a has its sign extended to 64 bits
		shift := 64 - min(at+n, end)
		if at >= end {
			at = end - 1
			shift = 64 - end
		}
		return uint64(int64(a<<shift) >> (shift + at))
	}
	if at >= end {
		return 0
	}
	return a << (64 - min(at+n, end)) >> (64 - min(at+n, end)) >> at
}

// permute chooses four bytes of the eight of a and b by the nibbles of c; the top bit of a nibble spreads the sign.
func permute(a, b, c uint64) uint64 {
	all := a | b<<32
	var r uint64
	for i := range 4 {
		n := c >> (4 * i) & 15
		x := all >> (8 * (n & 7)) & 255
		if n&8 != 0 {
			x = -(x >> 7) & 255
		}
		r |= x << (8 * i)
	}
	return r
}

// buildInsert makes bfi, which has four sources.
func (f *assembly) buildInsert(t dtype, o *op) {
	u := dtypes["u32"]
	o.d, o.a, o.b, o.c, o.save = f.destination(0, t), f.source(1, t), f.source(2, t), f.source(3, u), t.bank()
	o.list = []register{{narrow, f.source(4, u)}}
	b := t.bank()
	o.run = func(w *warp, o *op) {
		for l := range 32 {
			at, n := w.narrow[o.c][l]&255, w.narrow[o.list[0].slot][l]&255
			field := (uint64(1)<<n - 1) << at
			w.set(b, o.d, l, t.cut(w.get(b, o.b, l)&^field|w.get(b, o.a, l)<<at&field))
		}
	}
}
