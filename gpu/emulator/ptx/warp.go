package ptx

import (
	"iter"
	"math"
	"math/bits"
)

// warp is 32 threads that run in groups: those of the smallest program counter first, until they reach the next group,
// which joins them. Lanes that wait for others at a warp-wide instruction or a barrier are left out.
type warp struct {
	block *block
	first int // number of lane 0's thread in the block

	narrow     [][32]uint32
	wide       [][32]uint64
	predicates []uint32
	local      []byte
	async      [32]asyncCopies

	pc      [32]int32
	absent  uint32 // lanes that no thread of the block has
	live    uint32 // lanes that have not exited
	waiting uint32 // lanes at a warp-wide instruction that others have yet to reach
	arrived uint32 // lanes at a barrier of the block
	barrier [32]uint8
	epoch   uint32 // barriers of the warp so far

	group  uint32 // lanes that run together
	active uint32 // those of them that the guard of the current op lets run
	fault  *Fault
}

// lanes iterates over the active lanes.
func (w *warp) lanes() iter.Seq[int] {
	return func(yield func(int) bool) {
		for m := w.active; m != 0; m &= m - 1 {
			if !yield(bits.TrailingZeros32(m)) {
				return
			}
		}
	}
}

// choose forms the group to run next and returns its program counter and the smallest one of the other lanes that can
// run. ok is false if no lane can run.
func (w *warp) choose() (at, limit int32, ok bool) {
	ready := w.live &^ w.waiting &^ w.arrived
	if ready == 0 {
		return 0, 0, false
	}
	at, limit = math.MaxInt32, math.MaxInt32
	for m := ready; m != 0; m &= m - 1 {
		at = min(at, w.pc[bits.TrailingZeros32(m)])
	}
	w.group = 0
	for m := w.live &^ w.arrived; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		switch pc := w.pc[l]; {
		case pc == at:
			w.group |= 1 << l
		case pc > at:
			limit = min(limit, pc)
		}
	}
	w.waiting &^= w.group
	return at, limit, true
}

// park stores the program counter of the group's lanes.
func (w *warp) park(lanes uint32, pc int32) {
	for m := lanes; m != 0; m &= m - 1 {
		w.pc[bits.TrailingZeros32(m)] = pc
	}
}

// run executes until every lane has exited or waits for other warps. It reports whether any op ran.
func (w *warp) run() (ran bool) {
	code := w.block.launch.Kernel.code
	for w.fault == nil {
		pc, limit, ok := w.choose()
		if !ok {
			return ran
		}
		for pc < limit && w.fault == nil {
			o := &code[pc]
			mask := w.group
			if o.guard >= 0 {
				mask &= w.predicates[o.guard] ^ o.invert
			}
			w.block.steps += uint64(bits.OnesCount32(mask))
			w.active = mask
			switch o.kind {
			case computes:
				if mask == w.live {
					o.run(w, o)
				} else if mask != 0 {
					w.runMasked(o, mask)
				}
				pc++
			case masks:
				if mask != 0 {
					o.run(w, o)
				}
				pc++
			case jumps:
				if o.target <= pc && w.block.steps > w.block.budget {
					w.timeout(o)
				}
				switch {
				case mask == w.group:
					if pc = o.target; w.group != w.live {
						limit = pc // choose again: lanes may wait at a smaller counter
					}
				case mask != 0:
					w.park(mask, o.target)
					w.park(w.group&^mask, pc+1)
					limit, ran = pc, true
					w.group = 0
				default:
					pc++
				}
			case exits:
				w.live &^= mask
				w.group &^= mask
				w.waiting = 0 // a barrier may have waited for these lanes only
				pc++
				if w.group == 0 {
					limit = pc
				}
			case gathers:
				ran = true
				if mask != w.group {
					w.park(w.group&^mask, pc+1)
					w.group, limit = mask, pc
				}
				if mask == 0 {
					break
				}
				if !w.gathered(o) {
					w.park(mask, pc)
					w.waiting |= mask
					w.group, limit = 0, pc
					break
				}
				o.run(w, o)
				pc++
				if w.arrived&mask != 0 {
					w.park(mask, pc)
					w.group, limit = 0, pc
				}
			}
		}
		w.park(w.group, pc)
		ran = true
	}
	return ran
}

// gathered reports whether all lanes that an op needs are active.
func (w *warp) gathered(o *op) bool {
	need := allLanes
	switch {
	case w.isBarrier(o):
		need = w.live
	case len(o.list) > 0:
		need = w.memberMask(o, o.list[0].slot)
	}
	return w.fault != nil || need&^w.active == 0
}

// isBarrier reports whether an op is a barrier of the block, which all lanes that have not exited must reach together.
func (w *warp) isBarrier(o *op) bool { return o.size == blockBarrier }

// runMasked runs a computing op for a part of the lanes: the others get their values back.
func (w *warp) runMasked(o *op, mask uint32) {
	switch o.save {
	case narrow:
		d := &w.narrow[o.d]
		saved := *d
		o.run(w, o)
		for m := w.live &^ mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			d[l] = saved[l]
		}
	case wide:
		d := &w.wide[o.d]
		saved := *d
		o.run(w, o)
		for m := w.live &^ mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros32(m)
			d[l] = saved[l]
		}
	}
}

func (w *warp) timeout(o *op) {
	w.fail(Timeout, o, bits.TrailingZeros32(w.group), "the block took more than %d steps", w.block.budget)
}
