package ptx

import (
	"math"
	"math/bits"
)

// Moves, and conversions between types.

// buildMove makes mov, also of vectors: mov.b64 {a, b}, c joins and splits registers.
func buildMove(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	t := f.dtype()
	d, s := f.args[0], f.args[1]
	switch {
	case s.kind == specialOperand && isTimer(s.name):
		o.d, o.save = f.write(d, t), t.bank()
		o.run = func(w *warp, o *op) {
			now := w.block.launch.clock()
			for l := range 32 {
				w.set(o.save, o.d, l, now)
			}
		}
	case d.kind == vectorOperand:
		f.buildSplit(t, o)
	case s.kind == vectorOperand:
		f.buildJoin(t, o)
	case t.class == boolean:
		o.kind, o.d, o.a = masks, f.write(d, t), f.read(s, t)
		o.run = func(w *warp, o *op) { w.setBits(o.d, w.predicates[o.a]) }
	default:
		o.d, o.a, o.save = f.write(d, t), f.read(s, t), t.bank()
		if o.run = copyLanes[uint32]; t.size == 8 {
			o.run = copyLanes[uint64]
		}
	}
}

// part returns the type of one of n parts of a type.
func (f *assembly) part(t dtype, n int) dtype {
	for _, e := range []string{"b8", "b16", "b32"} {
		if dtypes[e].size*n == t.size {
			return dtypes[e]
		}
	}
	f.fail("%d parts of .%s", n, t.name)
	return dtype{}
}

// buildSplit makes mov {a, b}, c.
func (f *assembly) buildSplit(t dtype, o *op) {
	list := f.args[0].list
	e := f.part(t, len(list))
	for _, x := range list {
		r := register{e.bank(), -1}
		if x.kind != sinkOperand {
			r.slot = f.write(x, e)
		}
		o.list = append(o.list, r)
	}
	from := t.bank()
	o.kind, o.a = masks, f.source(1, t)
	o.run = func(w *warp, o *op) {
		for l := range 32 {
			if w.active>>l&1 == 0 {
				continue
			}
			v := w.get(from, o.a, l)
			for i, r := range o.list {
				if r.slot >= 0 {
					w.set(r.bank, r.slot, l, e.cut(v>>(8*e.size*i)))
				}
			}
		}
	}
}

// buildJoin makes mov c, {a, b}.
func (f *assembly) buildJoin(t dtype, o *op) {
	n := len(f.args[1].list)
	e := f.part(t, n)
	o.list = f.vector(1, n, e, false)
	o.d, o.save = f.destination(0, t), t.bank()
	o.run = func(w *warp, o *op) {
		for l := range 32 {
			var v uint64
			for i, r := range o.list {
				v |= e.cut(w.get(r.bank, r.slot, l)) << (8 * e.size * i)
			}
			w.set(o.save, o.d, l, v)
		}
	}
}

// fastConversions holds the runners of the most frequent conversions.
var fastConversions = map[string]runner{
	"s64.s32": castLanes[int32, int64], "u64.u32": castLanes[uint32, uint64], "u32.u64": castLanes[uint64, uint32],
	"s64.u32": castLanes[uint32, uint64], "s32.s64": castLanes[int64, int32], "s32.u64": castLanes[uint64, uint32],
	"u32.s64": castLanes[int64, int32], "u64.s32": castLanes[int32, int64],
	"u16.u32": low16Lanes, "u32.u16": low16Lanes, "s32.s16": sign16Lanes, "u16.u16": low16Lanes,
	"f32.f16": halfToFloatLanes, "rn.f16.f32": floatToHalfLanes, "rn.bf16.f32": floatToBrainLanes,
}

func halfToFloatLanes(w *warp, o *op) {
	d, a := lanesOf[float32](w, o.d), lanesOf[uint32](w, o.a)
	for l := range d {
		d[l] = fromHalf(uint16(a[l]))
	}
}

func floatToHalfLanes(w *warp, o *op) {
	d, a := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a)
	for l := range d {
		d[l] = uint32(toHalf(a[l]))
	}
}

func floatToBrainLanes(w *warp, o *op) {
	d, a := lanesOf[uint32](w, o.d), lanesOf[uint32](w, o.a)
	for l := range d {
		d[l] = uint32(toBrain(a[l]))
	}
}

// toHalf rounds the bits of a float of 32 bits to 16 bits, to the nearest with ties to even.
func toHalf(b uint32) uint16 {
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return 0x7fff
	case b >= 0x477ff000: // rounds beyond 65504
		return sign | 0x7c00
	case b >= 0x38800000: // normal
		return sign | uint16((b-0x38000000+0xfff+b>>13&1)>>13)
	}
	// The sum with 0.5 has a unit of 2^-24, the least half, so the addition rounds.
	return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
}

// toBrain rounds the bits of a float of 32 bits to bfloat16, to the nearest with ties to even.
func toBrain(b uint32) uint16 {
	if b&0x7fffffff > 0x7f800000 {
		return 0x7fff
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// buildConvert makes cvt.
func buildConvert(f *assembly, in *instruction, o *op) {
	name := ""
	for _, w := range in.opcode[1:] {
		name += "." + w
	}
	mode, hasMode := toNearest, false
	if r := f.one("rn", "rz", "rm", "rp", "rna"); r != "" {
		mode, hasMode = roundings[r], true
	}
	toWhole := f.one("rni", "rzi", "rmi", "rpi")
	flush, sat, relu := f.take("ftz"), f.take("sat"), f.take("relu")
	d := f.dtype()
	s := f.dtype()
	if d.class == packed {
		f.buildConvertPair(d, s, mode, relu, o)
		return
	}
	f.arguments(2)
	// Narrow registers hold any type of up to 32 bits, so a conversion from or to 8 bits uses them whole.
	o.d, o.a, o.save = f.destination(0, d), f.source(1, s), d.bank()
	if name != "" {
		if o.run = fastConversions[name[1:]]; o.run != nil {
			return
		}
	}
	sourceFloat, targetFloat := s.class == float || s.class == brain, d.class == float || d.class == brain
	if d.class == packed || s.class == packed || d.size == 0 || s.size == 0 {
		f.fail("the conversion is not supported")
	}
	finish := func(x float64) float64 {
		if sat {
			x = saturate(x)
		}
		if relu && !(x > 0) && !math.IsNaN(x) {
			x = 0
		}
		if flush && d.name == "f32" {
			x = flush32(x)
		}
		return x
	}
	open := func(v uint64) float64 {
		x := s.decode(v)
		if flush && s.name == "f32" {
			x = flush32(x)
		}
		return x
	}
	plain := dtype{s.name, s.size, untyped}
	var g func(v, _, _ uint64) uint64
	switch {
	case sourceFloat && targetFloat:
		if toWhole != "" {
			r := integral[toWhole]
			g = func(v, _, _ uint64) uint64 { return d.encode(finish(whole(open(v), r)), toNearest) }
			break
		}
		if d.size < s.size && !hasMode {
			f.fail("the conversion needs a rounding")
		}
		g = func(v, _, _ uint64) uint64 { return d.encode(finish(open(v)), mode) }
	case sourceFloat:
		r, ok := integral[toWhole]
		if !ok {
			f.fail("the conversion needs a rounding")
		}
		g = func(v, _, _ uint64) uint64 { return d.clamp(whole(open(v), r)) }
	case targetFloat:
		plain = s
		g = func(v, _, _ uint64) uint64 { return d.encode(finish(fromWhole(v, s.class == signed, d, mode)), mode) }
	default:
		plain = s
		g = convertWhole(s, d, sat)
		o.run = convertLanes(d, plain, func(v, _, _ uint64) uint64 { return d.widen(g(v, 0, 0)) })
		return
	}
	o.run = convertLanes(d, plain, g)
}

// widen extends a whole number of 8 bits to the register that holds it, with its sign if it has one.
func (t dtype) widen(v uint64) uint64 {
	if t.size == 1 {
		return t.extend(t.cut(v))
	}
	return v
}

// convertLanes is lift for one source; 8-bit types fill their registers.
func convertLanes(d, s dtype, f func(a, b, c uint64) uint64) runner {
	if d.size == 1 {
		d = dtypes["b32"]
	}
	return lift(d, []dtype{s}, f)
}

// clamp limits a whole value to a type of whole numbers; a NaN gives 0.
func (t dtype) clamp(x float64) uint64 {
	width := 8 * t.size
	if math.IsNaN(x) {
		return 0
	}
	if t.class == signed {
		limit := math.Ldexp(1, width-1)
		switch {
		case x >= limit:
			return 1<<(width-1) - 1
		case x < -limit:
			return t.cut(-(1 << (width - 1)))
		}
		return t.cut(uint64(int64(x)))
	}
	switch {
	case x >= math.Ldexp(1, width):
		return t.cut(^uint64(0))
	case x <= 0:
		return 0
	}
	return uint64(x)
}

// fromWhole converts a whole number such that rounding the result to a float type is right.
func fromWhole(v uint64, isSigned bool, d dtype, mode rounding) float64 {
	negative := isSigned && int64(v) < 0
	if negative {
		v = -v
	}
	var x float64
	if n := bits.Len64(v); n > 53 && d.size < 8 { // round to odd
		lost := n - 53
		top := v >> lost
		if v&(1<<lost-1) != 0 {
			top |= 1
		}
		x = math.Ldexp(float64(top), lost)
	} else {
		x = float64(v)
		if mode != toNearest && n > 53 {
			top := v >> (n - 53)
			x = math.Ldexp(float64(top), n-53)
			if v&(1<<(n-53)-1) != 0 && (mode == up && !negative || mode == down && negative) {
				x = math.Ldexp(float64(top+1), n-53)
			}
		}
	}
	if negative {
		return -x
	}
	return x
}

// convertWhole converts between whole numbers: it cuts, or limits with sat.
func convertWhole(s, d dtype, sat bool) func(a, b, c uint64) uint64 {
	if !sat {
		return func(v, _, _ uint64) uint64 { return d.cut(v) }
	}
	width := 8 * d.size
	return func(v, _, _ uint64) uint64 {
		negative := s.class == signed && int64(v) < 0
		switch {
		case d.class == unsigned && negative:
			return 0
		case d.class == unsigned && width < 64 && v >= 1<<width:
			return d.cut(^uint64(0))
		case d.class == signed && negative && int64(v) < -1<<(width-1):
			return d.cut(-(1 << (width - 1)))
		case d.class == signed && !negative && v >= 1<<(width-1):
			return 1<<(width-1) - 1
		}
		return d.cut(v)
	}
}

// buildConvertPair makes cvt.rn.f16x2.f32 d, a, b: a becomes the upper half.
func (f *assembly) buildConvertPair(d, s dtype, mode rounding, relu bool, o *op) {
	f.arguments(3)
	if s.name != "f32" {
		f.fail("the conversion is not supported")
	}
	o.d, o.a, o.b = f.destination(0, d), f.source(1, s), f.source(2, s)
	e := dtypes[d.name[:len(d.name)-2]]
	half := func(v uint64) uint64 {
		x := s.decode(v)
		if relu && !(x > 0) && !math.IsNaN(x) {
			x = 0
		}
		return e.encode(x, mode)
	}
	u := dtypes["b32"]
	o.run = lift(u, []dtype{u, u}, func(a, b, _ uint64) uint64 { return half(a)<<16 | half(b) })
}
