package ptx

import (
	"encoding/binary"
	"unsafe"
)

// asyncCopy is a cp.async that was issued and not waited for.
type asyncCopy struct {
	op               *op
	target           uint64 // in shared memory
	source           uint64 // in global memory
	bytes, fromBytes int    // the rest is filled with zeros
}

// asyncCopies are those of a lane: the open group and the committed ones by ascending age.
type asyncCopies struct {
	open   []asyncCopy
	groups [][]asyncCopy
}

// buildAsync makes cp.async, its commit and its waits.
func buildAsync(f *assembly, _ *instruction, o *op) {
	if !f.take("async") {
		f.fail("this form is not supported")
	}
	o.kind = masks
	switch {
	case f.take("commit_group"):
		o.run = func(w *warp, _ *op) {
			for l := range w.lanes() {
				c := &w.async[l]
				c.groups, c.open = append(c.groups, c.open), nil
			}
		}
	case f.take("wait_all"):
		o.run = func(w *warp, _ *op) {
			for l := range w.lanes() {
				c := &w.async[l]
				c.groups, c.open = append(c.groups, c.open), nil
				w.complete(l, 0)
			}
		}
	case f.take("wait_group"):
		f.arguments(1)
		keep := f.args[0]
		if keep.kind != integerOperand || keep.value > 64 {
			f.fail("the operand is not a number")
		}
		o.run = func(w *warp, _ *op) {
			for l := range w.lanes() {
				w.complete(l, int(keep.value))
			}
		}
	default:
		f.buildAsyncCopy(o)
	}
}

// buildAsyncCopy makes cp.async.ca.shared.global [to], [from], bytes{, bytes to read}.
func (f *assembly) buildAsyncCopy(o *op) {
	cached := f.one("ca", "cg")
	for f.take("L2::64B", "L2::128B", "L2::256B") {
	}
	if !f.take("shared", "shared::cta") || !f.take("global") || len(f.args) < 3 || len(f.args) > 4 {
		f.fail("this form is not supported")
	}
	n := int(f.args[2].value)
	if f.args[2].kind != integerOperand || n != 16 && (n != 4 && n != 8 || cached == "cg") {
		f.fail("%d bytes are not supported", n)
	}
	var from op
	f.addressOperand(o, f.args[0])
	f.addressOperand(&from, f.args[1])
	size := f.constant(narrow, constant{value: uint64(n)})
	if len(f.args) == 4 {
		size = f.source(3, dtypes["u32"])
	}
	o.run = func(w *warp, o *op) {
		for l := range w.lanes() {
			target, source := w.addressOf(o, l), w.addressOf(&from, l)
			if target-sharedWindow < windowBytes {
				target -= sharedWindow
			}
			if target&uint64(n-1) != 0 || source&uint64(n-1) != 0 {
				w.fail(Misaligned, o, l, "%d bytes from %#x to %d of shared memory", n, source, target)
				return
			}
			if w.reachShared(o, l, target, n, true) == nil {
				return
			}
			for i := range n {
				w.block.states[target+uint64(i)] = pending
			}
			w.async[l].open = append(w.async[l].open, asyncCopy{o, target, source, n, min(n, int(w.narrow[size][l]))})
		}
	}
}

// complete does the committed copies of a lane but the last keep groups.
func (w *warp) complete(l, keep int) {
	c := &w.async[l]
	for len(c.groups) > keep {
		for _, x := range c.groups[0] {
			var data [16]byte
			for i := 0; i < x.fromBytes; i += 4 {
				p := w.reachGlobal(x.op, l, x.source+uint64(i), 4, false)
				if p == nil {
					return
				}
				binary.NativeEndian.PutUint32(data[i:], *(*uint32)(p))
			}
			p := w.reachShared(x.op, l, x.target, x.bytes, true)
			if p == nil {
				return
			}
			copy(unsafe.Slice((*byte)(p), x.bytes), data[:])
		}
		c.groups = c.groups[1:]
	}
}
