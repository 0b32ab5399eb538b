package ptx

import "math/bits"

// Branches, exits, traps, exchanges within a warp, votes and barriers.

// buildBranch makes bra.
func buildBranch(f *assembly, in *instruction, o *op) {
	f.arguments(1)
	f.take("uni")
	target := f.args[0]
	x, ok := symbol{}, false
	if target.kind == symbolOperand {
		x, ok = in.scope.find(target.name)
	}
	if !ok || x.kind != atLabel {
		f.fail("unknown label %s", target.name)
	}
	o.kind, o.target = jumps, int32(x.value)
}

func buildExit(f *assembly, _ *instruction, o *op) {
	f.arguments(0)
	f.take("uni")
	o.kind = exits
}

func buildTrap(f *assembly, _ *instruction, o *op) {
	f.arguments(0)
	o.kind = masks
	o.run = func(w *warp, o *op) {
		w.fail(Trap, o, bits.TrailingZeros32(w.active), "the kernel gave up")
	}
}

// allLanes are the lanes that .aligned instructions need.
const allLanes = ^uint32(0)

// member returns the lanes named by the member mask of a gathering op; they must agree on it.
func (w *warp) memberMask(o *op, slot int32) uint32 {
	first := bits.TrailingZeros32(w.active)
	m := w.narrow[slot][first]
	for l := range w.lanes() {
		if w.narrow[slot][l] != m {
			w.fail(Divergence, o, l, "the member mask is %#x, in lane %d %#x", w.narrow[slot][l], first, m)
		}
		if m>>l&1 == 0 {
			w.fail(Divergence, o, l, "the member mask %#x does not hold the lane", m)
		}
	}
	return m &^ w.absent
}

// buildShuffle makes shfl.sync.
func buildShuffle(f *assembly, _ *instruction, o *op) {
	f.arguments(5)
	if !f.take("sync") {
		f.fail("only .sync is supported")
	}
	mode := f.one("up", "down", "bfly", "idx")
	t := f.dtype()
	if t.size != 4 || mode == "" {
		f.fail("this form is not supported")
	}
	u := dtypes["b32"]
	d, p := f.args[0], operand{kind: sinkOperand}
	if d.kind == pairOperand {
		d, p = d.list[0], d.list[1]
	}
	o.kind, o.d, o.a, o.b, o.c = gathers, f.write(d, u), f.source(1, u), f.source(2, u), f.source(3, u)
	mask := f.source(4, u)
	valid := int32(-1)
	if p.kind != sinkOperand {
		valid = f.write(p, dtypes["pred"])
	}
	o.list = []register{{narrow, mask}}
	o.run = func(w *warp, o *op) {
		source := w.narrow[o.a]
		target := w.narrow[o.d]
		var inRange uint32
		for l := range w.lanes() {
			b, c := int(w.narrow[o.b][l]&31), int(w.narrow[o.c][l])
			clamp, segment := c&31, c>>8&31
			lowest := l & segment
			highest := lowest | clamp&^segment
			from, ok := 0, false
			switch mode {
			case "up":
				from = l - b
				ok = from >= highest
			case "down":
				from = l + b
				ok = from <= highest
			case "bfly":
				from = l ^ b
				ok = from <= highest
			default:
				from = lowest | b&^segment
				ok = from <= highest
			}
			if !ok {
				from = l
			} else {
				inRange |= 1 << l
			}
			if w.active>>from&1 == 0 {
				w.fail(Divergence, o, l, "reads lane %d, which does not take part", from)
				return
			}
			target[l] = source[from]
		}
		w.narrow[o.d] = target
		if valid >= 0 {
			w.setBits(valid, inRange)
		}
	}
}

// buildVote makes vote.sync.
func buildVote(f *assembly, _ *instruction, o *op) {
	f.arguments(3)
	if !f.take("sync") {
		f.fail("only .sync is supported")
	}
	mode := f.one("all", "any", "uni", "ballot")
	t := f.dtype()
	d := t
	if mode == "" || (mode == "ballot") != (t.name == "b32") {
		f.fail("this form is not supported")
	}
	p := f.args[1]
	var invert uint32
	if p.negate {
		invert, p.negate = ^uint32(0), false
	}
	o.kind, o.d, o.a = gathers, f.destination(0, d), f.read(p, dtypes["pred"])
	o.list = []register{{narrow, f.source(2, dtypes["b32"])}}
	o.run = func(w *warp, o *op) {
		v := (w.predicates[o.a] ^ invert) & w.active
		var r bool
		switch mode {
		case "ballot":
			for l := range w.lanes() {
				w.narrow[o.d][l] = v
			}
			return
		case "all":
			r = v == w.active
		case "any":
			r = v != 0
		default:
			r = v == 0 || v == w.active
		}
		if r {
			w.setBits(o.d, ^uint32(0))
		} else {
			w.setBits(o.d, 0)
		}
	}
}

// buildActiveMask makes activemask: the lanes that run together now.
func buildActiveMask(f *assembly, _ *instruction, o *op) {
	f.arguments(1)
	t := f.dtype()
	o.kind, o.d = masks, f.destination(0, t)
	if t.size != 4 {
		f.fail("the type is not supported")
	}
	o.run = func(w *warp, o *op) {
		for l := range w.lanes() {
			w.narrow[o.d][l] = w.active
		}
	}
}

// barriers is the number of barriers of a block.
const barriers = 16

// buildBarrier makes the barriers of a block and of a warp.
func buildBarrier(f *assembly, in *instruction, o *op) {
	u := dtypes["b32"]
	if f.take("warp") {
		f.arguments(1)
		if !f.take("sync") {
			f.fail("only .sync is supported")
		}
		o.kind = gathers
		o.list = []register{{narrow, f.source(0, u)}}
		o.run = func(w *warp, _ *op) { w.epoch++ }
		return
	}
	f.take("cta")
	f.take("aligned")
	if !f.take("sync") || len(f.args) < 1 || len(f.args) > 2 {
		f.fail("this form is not supported")
	}
	if f.args[0].kind != integerOperand || f.args[0].value >= barriers {
		f.fail("the number of the barrier must be a constant below %d", barriers)
	}
	o.kind, o.value, o.size = gathers, f.args[0].value, blockBarrier
	count := int32(-1)
	if len(f.args) == 2 {
		count = f.source(1, u)
	}
	id := int(o.value)
	o.run = func(w *warp, o *op) {
		w.arrived |= w.active
		for l := range w.lanes() {
			w.barrier[l] = uint8(id)
			if count >= 0 {
				w.block.expected[id] = int(w.narrow[count][l])
			}
		}
	}
}
