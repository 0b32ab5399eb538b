package ptx

// Comparisons, predicates made of them, and selections.

// comparison is a comparison of numbers.
type comparison uint8

const (
	equal comparison = iota
	notEqual
	less
	lessEqual
	greater
	greaterEqual
	ordered   // neither is a NaN
	unordered // one is a NaN
)

// relation is a comparison with its treatment of NaN and sign.
type relation struct {
	comparison comparison
	orNaN      bool // holds if an operand is a NaN
	plain      bool // of whole numbers without a sign
}

var relations = map[string]relation{
	"eq": {comparison: equal}, "ne": {comparison: notEqual}, "lt": {comparison: less}, "le": {comparison: lessEqual},
	"gt": {comparison: greater}, "ge": {comparison: greaterEqual},
	"lo": {comparison: less, plain: true}, "ls": {comparison: lessEqual, plain: true},
	"hi": {comparison: greater, plain: true}, "hs": {comparison: greaterEqual, plain: true},
	"equ": {comparison: equal, orNaN: true}, "neu": {comparison: notEqual, orNaN: true},
	"ltu": {comparison: less, orNaN: true}, "leu": {comparison: lessEqual, orNaN: true},
	"gtu": {comparison: greater, orNaN: true}, "geu": {comparison: greaterEqual, orNaN: true},
	"num": {comparison: ordered}, "nan": {comparison: unordered},
}

// compare reads the comparison of setp or set from the opcode and returns a function that evaluates it in all lanes.
func (f *assembly) compare() (relation, string) {
	for i, w := range f.words {
		if r, ok := relations[w]; ok {
			f.words = append(f.words[:i:i], f.words[i+1:]...)
			return r, w
		}
	}
	f.fail("the instruction has no comparison")
	return relation{}, ""
}

// evaluator returns a function that compares registers a and b of a type in all lanes.
func (f *assembly) evaluator(r relation, t dtype) func(w *warp, o *op) uint32 {
	isFloat := t.class == float || t.class == brain
	if !isFloat && (r.orNaN || r.comparison >= ordered) || isFloat && r.plain || t.class == packed ||
		t.class == boolean {
		f.fail("the comparison does not fit .%s", t.name)
	}
	isSigned := t.class == signed && !r.plain
	switch {
	case t.name == "f32":
		return compareFloats[float32](r)
	case t.name == "f64":
		return compareFloats[float64](r)
	case isFloat: // of 16 bits
		return func(w *warp, o *op) uint32 {
			var a, b [32]float64
			for l := range 32 {
				a[l], b[l] = t.decode(uint64(w.narrow[o.a][l])), t.decode(uint64(w.narrow[o.b][l]))
			}
			return relate(r, &a, &b)
		}
	case t.size == 2 && isSigned:
		return func(w *warp, o *op) uint32 {
			var a, b [32]int32
			for l := range 32 {
				a[l], b[l] = int32(int16(w.narrow[o.a][l])), int32(int16(w.narrow[o.b][l]))
			}
			return compareLanes(r.comparison, &a, &b)
		}
	case t.size == 2:
		return func(w *warp, o *op) uint32 {
			var a, b [32]uint32
			for l := range 32 {
				a[l], b[l] = w.narrow[o.a][l]&0xffff, w.narrow[o.b][l]&0xffff
			}
			return compareLanes(r.comparison, &a, &b)
		}
	case t.size == 8 && isSigned:
		return compareWhole[int64](r.comparison)
	case t.size == 8:
		return compareWhole[uint64](r.comparison)
	case isSigned:
		return compareWhole[int32](r.comparison)
	}
	return compareWhole[uint32](r.comparison)
}

func compareWhole[T lane](c comparison) func(w *warp, o *op) uint32 {
	return func(w *warp, o *op) uint32 { return compareLanes(c, lanesOf[T](w, o.a), lanesOf[T](w, o.b)) }
}

func compareFloats[T float32 | float64](r relation) func(w *warp, o *op) uint32 {
	return func(w *warp, o *op) uint32 { return relate(r, lanesOf[T](w, o.a), lanesOf[T](w, o.b)) }
}

// relate compares floats.
func relate[T float32 | float64](r relation, a, b *[32]T) uint32 {
	switch {
	case r.comparison == ordered:
		return ^nanLanes(a, b)
	case r.comparison == unordered:
		return nanLanes(a, b)
	case r.orNaN:
		return compareLanes(r.comparison, a, b) | nanLanes(a, b)
	case r.comparison == notEqual:
		return compareLanes(r.comparison, a, b) &^ nanLanes(a, b)
	}
	return compareLanes(r.comparison, a, b)
}

// combine reads the operation that joins a comparison with a predicate, "" for none.
func (f *assembly) combine() string { return f.one("and", "or", "xor") }

// buildCompare makes setp, which writes one or two predicates.
func buildCompare(f *assembly, _ *instruction, o *op) {
	r, _ := f.compare()
	join := f.combine()
	flush := f.take("ftz")
	t := f.dtype()
	n := 3
	if join != "" {
		n = 4
	}
	f.arguments(n)
	p := dtypes["pred"]
	first, second := f.args[0], operand{kind: sinkOperand}
	if first.kind == pairOperand {
		first, second = first.list[0], first.list[1]
	}
	o.kind, o.d, o.a, o.b = masks, f.write(first, p), f.source(1, t), f.source(2, t)
	other, hasOther := int32(0), second.kind != sinkOperand
	if hasOther {
		other = f.write(second, p)
	}
	var invert uint32
	if join != "" {
		with := f.args[3]
		if with.negate {
			invert, with.negate = ^uint32(0), false
		}
		o.c = f.read(with, p)
	}
	test := f.evaluator(r, t)
	if flush && t.name == "f32" {
		test = compareFlushed(r)
	}
	if join == "" && !hasOther {
		o.run = func(w *warp, o *op) { w.setBits(o.d, test(w, o)) }
		return
	}
	o.run = func(w *warp, o *op) {
		yes, with := test(w, o), ^uint32(0)
		no := ^yes
		switch with = w.predicates[o.c] ^ invert; join {
		case "and":
			yes, no = yes&with, no&with
		case "or":
			yes, no = yes|with, no|with
		case "xor":
			yes, no = yes^with, no^with
		}
		w.setBits(o.d, yes)
		if hasOther {
			w.setBits(other, no)
		}
	}
}

// compareFlushed compares floats of 32 bits whose subnormal values count as zero.
func compareFlushed(r relation) func(w *warp, o *op) uint32 {
	return func(w *warp, o *op) uint32 {
		var a, b [32]float64
		x, y := lanesOf[float32](w, o.a), lanesOf[float32](w, o.b)
		for l := range 32 {
			a[l], b[l] = flush32(float64(x[l])), flush32(float64(y[l]))
		}
		return relate(r, &a, &b)
	}
}

// buildSet makes set, which writes all ones or 1.0 where the comparison holds.
func buildSet(f *assembly, _ *instruction, o *op) {
	r, _ := f.compare()
	join := f.combine()
	f.take("ftz")
	d := f.dtype()
	t := f.dtype()
	if join != "" || d.size != 4 {
		f.fail("this form is not supported")
	}
	f.arguments(3)
	o.d, o.a, o.b = f.destination(0, d), f.source(1, t), f.source(2, t)
	yes := ^uint32(0)
	if d.class == float {
		yes = 0x3f800000
	}
	test := f.evaluator(r, t)
	o.run = func(w *warp, o *op) {
		set := test(w, o)
		d := lanesOf[uint32](w, o.d)
		for l := range d {
			d[l] = yes & -(set >> l & 1)
		}
	}
}

// buildSelect makes selp.
func buildSelect(f *assembly, _ *instruction, o *op) {
	f.arguments(4)
	t := f.dtype()
	o.d, o.a, o.b, o.c, o.save = f.destination(0, t), f.source(1, t), f.source(2, t),
		f.source(3, dtypes["pred"]), t.bank()
	switch t.bank() {
	case wide:
		o.run = selectLanes[uint64]
	case narrow:
		o.run = selectLanes[uint32]
	default:
		f.fail("the type is not supported")
	}
}

// buildSlct makes slct, which chooses by the sign of a number.
func buildSlct(f *assembly, _ *instruction, o *op) {
	f.arguments(4)
	f.take("ftz")
	t := f.dtype()
	c := f.dtype()
	if c.size != 4 {
		f.fail("the type is not supported")
	}
	o.d, o.a, o.b, o.c, o.save = f.destination(0, t), f.source(1, t), f.source(2, t), f.source(3, c), t.bank()
	isFloat := c.class == float
	u := dtypes["u32"]
	o.run = lift(t, []dtype{t, t, u}, func(a, b, x uint64) uint64 {
		if isFloat && dtypes["f32"].decode(x) >= 0 || !isFloat && int32(x) >= 0 {
			return a
		}
		return b
	})
}
