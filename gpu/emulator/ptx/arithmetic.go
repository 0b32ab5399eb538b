package ptx

import (
	"math"
	"math/bits"
)

// Arithmetic on integers and floating-point numbers.

// fastArithmetic holds the runners of the most frequent instructions by name and type.
var fastArithmetic = map[string]runner{
	"add.s32": addLanes[uint32], "add.u32": addLanes[uint32], "add.s64": addLanes[uint64], "add.u64": addLanes[uint64],
	"sub.s32": subLanes[uint32], "sub.u32": subLanes[uint32], "sub.s64": subLanes[uint64], "sub.u64": subLanes[uint64],
	"mul.lo.s32": mulLanes[uint32], "mul.lo.u32": mulLanes[uint32], "mul.lo.s64": mulLanes[uint64],
	"mul.lo.u64": mulLanes[uint64], "mad.lo.s32": madLanes[uint32], "mad.lo.u32": madLanes[uint32],
	"mad.lo.s64": madLanes[uint64], "mad.lo.u64": madLanes[uint64],
	"mul.wide.s32": mulWideLanes[int32, int64], "mul.wide.u32": mulWideLanes[uint32, uint64],
	"mad.wide.s32": madWideLanes[int32, int64], "mad.wide.u32": madWideLanes[uint32, uint64],
	"div.u32": quotientLanes, "rem.u32": remainderLanes, "min.s32": minLanes[int32], "min.u32": minLanes[uint32],
	"max.s32": maxLanes[int32], "max.u32": maxLanes[uint32], "abs.f32": abs32Lanes,
	"neg.s32": negLanes[int32], "neg.s64": negLanes[int64],
	"add.f32": addLanes[float32], "sub.f32": subLanes[float32], "mul.f32": mulLanes[float32],
	"div.f32": divLanes[float32], "neg.f32": negLanes[float32], "fma.f32": fma32Lanes,
	"add.f64": addLanes[float64], "sub.f64": subLanes[float64], "mul.f64": mulLanes[float64],
	"div.f64": divLanes[float64], "neg.f64": negLanes[float64],
}

// operands holds the number of sources of an arithmetic instruction.
var operands = map[string]int{
	"add": 2, "sub": 2, "mul": 2, "mad": 3, "fma": 3, "div": 2, "rem": 2, "abs": 1, "neg": 1, "min": 2, "max": 2,
	"sqrt": 1, "rsqrt": 1, "rcp": 1, "ex2": 1, "lg2": 1, "sin": 1, "cos": 1, "tanh": 1, "copysign": 2,
}

// buildArithmetic makes the ops that compute a number from up to three numbers of its type.
func buildArithmetic(f *assembly, in *instruction, o *op) {
	name := in.opcode[0]
	n := operands[name]
	f.arguments(n + 1)
	half := f.one("lo", "hi", "wide")
	t := f.dtype()
	d := t
	c := t
	if half == "wide" {
		w := "b64"
		if t.size == 2 {
			w = "b32"
		}
		d, c = dtypes[w], dtypes[w]
	}
	o.d, o.a = f.destination(0, d), f.source(1, t)
	if n > 1 {
		o.b = f.source(2, t)
	}
	if n > 2 {
		o.c = f.source(3, c)
	}
	o.save = d.bank()
	if t.class == signed || t.class == unsigned {
		key := name
		if half != "" {
			key += "." + half
		}
		if o.run = fastArithmetic[key+"."+t.name]; o.run == nil {
			g := integerFunction(key, t)
			if g == nil {
				f.fail("the instruction is not supported")
			}
			o.run = lift(d, []dtype{t, t, c}[:n], g)
		}
		return
	}
	if half != "" || t.class == untyped {
		f.fail("the instruction is not supported")
	}
	f.buildFloat(name, t, o)
}

// integerFunction returns an operation on whole numbers that were extended to 64 bits.
func integerFunction(name string, t dtype) func(a, b, c uint64) uint64 {
	isSigned := t.class == signed
	width := 8 * t.size
	high := func(a, b uint64) uint64 {
		if width < 64 {
			return uint64(int64(a*b) >> width)
		}
		h, _ := bits.Mul64(a, b)
		if isSigned {
			if int64(a) < 0 {
				h -= b
			}
			if int64(b) < 0 {
				h -= a
			}
		}
		return h
	}
	switch name {
	case "add":
		return func(a, b, _ uint64) uint64 { return a + b }
	case "sub":
		return func(a, b, _ uint64) uint64 { return a - b }
	case "mul.lo", "mul.wide":
		return func(a, b, _ uint64) uint64 { return a * b }
	case "mul.hi":
		return func(a, b, _ uint64) uint64 { return high(a, b) }
	case "mad.lo", "mad.wide":
		return func(a, b, c uint64) uint64 { return a*b + c }
	case "mad.hi":
		return func(a, b, c uint64) uint64 { return high(a, b) + c }
	case "div", "rem":
		return divide(name == "rem", isSigned)
	case "abs":
		return func(a, _, _ uint64) uint64 {
			if int64(a) < 0 {
				return -a
			}
			return a
		}
	case "neg":
		return func(a, _, _ uint64) uint64 { return -a }
	case "min", "max":
		smaller := name == "min"
		return func(a, b, _ uint64) uint64 {
			less := a < b
			if isSigned {
				less = int64(a) < int64(b)
			}
			if less == smaller {
				return a
			}
			return b
		}
	}
	return nil
}

// divide returns division or remainder. Division by zero gives all ones and the remainder
// the dividend, as hardware does.
func divide(remainder, isSigned bool) func(a, b, c uint64) uint64 {
	return func(a, b, _ uint64) uint64 {
		switch {
		case b == 0 && remainder:
			return a
		case b == 0:
			return ^uint64(0)
		case isSigned && remainder:
			return uint64(int64(a) % int64(b))
		case isSigned:
			return uint64(int64(a) / int64(b))
		case remainder:
			return a % b
		}
		return a / b
	}
}

// buildFloat makes the ops on floats, one or two to a register.
func (f *assembly) buildFloat(name string, t dtype, o *op) {
	mode := toNearest
	rounded := false
	if r := f.one("rn", "rz", "rm", "rp"); r != "" {
		mode, rounded = roundings[r], true
	}
	approximate := f.take("approx", "full")
	flush, sat, nan, relu := f.take("ftz"), f.take("sat"), f.take("NaN"), f.take("relu")
	n := operands[name]
	if run := fastArithmetic[name+"."+t.name]; run != nil && mode == toNearest && !flush && !sat && !nan && !relu {
		o.run = run
		return
	}
	g := floatFunction(name, t.size == 8, nan)
	if g == nil || mode != toNearest && (t.size == 8 || name == "div" || name == "sqrt" || name == "rcp") {
		f.fail("the instruction is not supported")
	}
	if (name == "ex2" || name == "lg2" || name == "sin" || name == "cos" || name == "tanh" || name == "rsqrt") &&
		(!approximate || rounded) {
		f.fail("the function is only supported as .approx")
	}
	flush = flush && t.size == 4 && t.class == float
	element := t
	if t.class == packed {
		element = dtypes[t.name[:len(t.name)-2]]
	}
	one := func(a, b, c uint64) uint64 {
		x, y, z := element.decode(a), element.decode(b), element.decode(c)
		if flush {
			x, y, z = flush32(x), flush32(y), flush32(z)
		}
		r := g(x, y, z)
		if sat {
			r = saturate(r)
		}
		if relu && !(r > 0) && !math.IsNaN(r) {
			r = 0
		}
		v := element.encode(r, mode)
		if flush {
			v = element.encode(flush32(element.decode(v)), mode)
		}
		return v
	}
	if t.class == packed {
		low := one
		one = func(a, b, c uint64) uint64 {
			return low(a&0xffff, b&0xffff, c&0xffff) | low(a>>16, b>>16, c>>16)<<16
		}
	}
	plain := dtype{t.name, t.size, untyped}
	o.run = lift(plain, []dtype{plain, plain, plain}[:n], one)
}

// floatFunction returns an operation whose result is exact, or rounded such that rounding it to a shorter type is
// right. double says that the type is float64 itself.
func floatFunction(name string, double, nan bool) func(a, b, c float64) float64 {
	add := sumOdd
	if double {
		add = func(a, b float64) float64 { return a + b }
	}
	switch name {
	case "add":
		return func(a, b, _ float64) float64 { return add(a, b) }
	case "sub":
		return func(a, b, _ float64) float64 { return add(a, -b) }
	case "mul":
		return func(a, b, _ float64) float64 { return a * b }
	case "fma", "mad":
		if double {
			return math.FMA
		}
		return func(a, b, c float64) float64 { return sumOdd(float64(a*b), c) }
	case "div":
		return func(a, b, _ float64) float64 { return a / b }
	case "abs":
		return func(a, _, _ float64) float64 { return math.Abs(a) }
	case "neg":
		return func(a, _, _ float64) float64 { return -a }
	case "min":
		return func(a, b, _ float64) float64 { return minimum(a, b, nan) }
	case "max":
		return func(a, b, _ float64) float64 { return maximum(a, b, nan) }
	case "copysign":
		return func(a, b, _ float64) float64 { return math.Copysign(b, a) }
	case "sqrt":
		return func(a, _, _ float64) float64 { return math.Sqrt(a) }
	case "rsqrt":
		return func(a, _, _ float64) float64 { return 1 / math.Sqrt(a) }
	case "rcp":
		return func(a, _, _ float64) float64 { return 1 / a }
	case "ex2":
		return func(a, _, _ float64) float64 { return math.Exp2(a) }
	case "lg2":
		return func(a, _, _ float64) float64 { return math.Log2(a) }
	case "sin":
		return func(a, _, _ float64) float64 { return math.Sin(a) }
	case "cos":
		return func(a, _, _ float64) float64 { return math.Cos(a) }
	case "tanh":
		return func(a, _, _ float64) float64 { return math.Tanh(a) }
	}
	return nil
}

// buildTest makes testp, which classifies floats.
func buildTest(f *assembly, _ *instruction, o *op) {
	f.arguments(2)
	property := f.one("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := f.dtype()
	if t.class != float {
		f.fail("the type is not supported")
	}
	least := math.Ldexp(1, -126)
	if t.size == 8 {
		least = math.Ldexp(1, -1022)
	}
	test := func(x float64) bool {
		switch property {
		case "finite":
			return !math.IsNaN(x) && !math.IsInf(x, 0)
		case "infinite":
			return math.IsInf(x, 0)
		case "number":
			return !math.IsNaN(x)
		case "notanumber":
			return math.IsNaN(x)
		case "normal":
			return math.Abs(x) >= least && !math.IsInf(x, 0)
		}
		return x != 0 && math.Abs(x) < least
	}
	if property == "" {
		f.fail("the property is not supported")
	}
	o.kind, o.d, o.a = masks, f.destination(0, dtypes["pred"]), f.source(1, t)
	from := t.bank()
	o.run = func(w *warp, o *op) {
		var set uint32
		for l := range 32 {
			if test(t.decode(w.get(from, o.a, l))) {
				set |= 1 << l
			}
		}
		w.setBits(o.d, set)
	}
}
