package ptx

import "fmt"

// races finds accesses of two threads of a block to the same bytes between two barriers, one of which writes. It keeps
// for each word the last write and the last read with the number of barriers before them; what happened before the last
// barrier does not count. Within a warp bar.warp.sync orders accesses too. The order in which the emulator runs the
// threads does not matter for whether it finds a race.
type races struct {
	block  *block
	epoch  uint32       // barriers so far, over all blocks of the worker
	shared []raceWord   // by word of shared memory
	global []raceWord   // hash table of the words of global memory accessed in this epoch; a power of two long
	used   int          // words of global of this epoch
	bytes  [][4]history // of the words of this epoch that an access covered in part
	doubt  *access      // the earlier write of a pair to global memory, which is no race if it wrote the same value
}

// raceWord records the accesses to four bytes in an epoch.
type raceWord struct {
	key   uint64
	epoch uint32
	split uint32 // 1 + index in races.bytes of a word that an access covered in part, else 0
	history
}

// history is the last write and the last read.
type history struct{ write, read access }

// access is an access by a thread, or by several that read.
type access struct {
	epoch     uint32 // of the block; 0 for none
	warpEpoch uint32
	op        int32
	thread    int16
	several   several
}

type several uint8

const (
	oneThread   several = iota
	inWarp              // threads of one warp
	acrossWarps         // threads of several warps
)

func newRaces() *races { return &races{global: make([]raceWord, 1<<10)} }

// attach prepares for the blocks of a launch.
func (r *races) attach(b *block) {
	r.block = b
	if n := (len(b.shared) + 3) / 4; n > len(r.shared) {
		r.shared = make([]raceWord, n)
	}
}

// advance begins a new epoch: a barrier has opened, or a block begun.
func (r *races) advance() {
	r.epoch++
	r.used = 0
	r.bytes = r.bytes[:0]
}

// word returns the state of a word in the current epoch.
func (r *races) word(s space, key uint64) *raceWord {
	var x *raceWord
	if s == sharedSpace {
		x = &r.shared[key]
	} else {
		if 2*r.used >= len(r.global) {
			r.grow()
		}
		mask := uint64(len(r.global) - 1)
		i := key * 0x9e3779b97f4a7c15 >> 20 & mask
		for r.global[i].epoch == r.epoch && r.global[i].key != key {
			i = (i + 1) & mask
		}
		x = &r.global[i]
	}
	if x.epoch != r.epoch {
		*x = raceWord{key: key, epoch: r.epoch}
		if s != sharedSpace {
			r.used++
		}
	}
	return x
}

// grow doubles the hash table.
func (r *races) grow() {
	old := r.global
	r.global = make([]raceWord, 2*len(old))
	mask := uint64(len(r.global) - 1)
	for _, x := range old {
		if x.epoch != r.epoch {
			continue
		}
		i := x.key * 0x9e3779b97f4a7c15 >> 20 & mask
		for r.global[i].epoch == r.epoch {
			i = (i + 1) & mask
		}
		r.global[i] = x
	}
}

// access records an access of a lane and reports whether it is free of races. A second write to global memory is left
// in doubt for the store to decide.
func (r *races) access(w *warp, o *op, l int, s space, address uint64, n int, write bool) bool {
	if o.strong {
		return true
	}
	me := access{epoch: r.epoch, warpEpoch: w.epoch, thread: int16(w.first + l), op: o.index}
	for at, end := address, address+uint64(n); at < end; at = at&^3 + 4 {
		x := r.word(s, at>>2)
		first, last := at&3, min(3, end-1-at&^3)
		if x.split == 0 && first == 0 && last == 3 {
			if !r.check(w, o, l, s, &x.history, me, address, write) {
				return false
			}
			continue
		}
		if x.split == 0 {
			r.bytes = append(r.bytes, [4]history{x.history, x.history, x.history, x.history})
			x.split = uint32(len(r.bytes))
		}
		for i := first; i <= last; i++ {
			if !r.check(w, o, l, s, &r.bytes[x.split-1][i], me, address, write) {
				return false
			}
		}
	}
	return true
}

// check compares an access with those before it and records it.
func (r *races) check(w *warp, o *op, l int, s space, h *history, me access, address uint64, write bool) bool {
	if h.write.epoch == me.epoch && h.write.conflicts(&me) {
		if !write || s == sharedSpace {
			r.report(w, o, l, s, h.write, address, write, "wrote")
			return false
		}
		before := h.write
		r.doubt = &before
	}
	before := &h.read
	if write {
		if before.epoch == me.epoch && before.conflicts(&me) {
			r.report(w, o, l, s, *before, address, write, "read")
			return false
		}
		h.write = me
		return true
	}
	switch {
	case before.epoch != me.epoch:
		*before = me
	case before.several == acrossWarps:
	case before.thread>>5 != me.thread>>5:
		before.several = acrossWarps
	case before.warpEpoch != me.warpEpoch || before.several == oneThread && before.thread == me.thread:
		*before = me
	case before.thread != me.thread:
		before.several = inWarp
	}
	return true
}

// conflicts reports whether an earlier access of the same epoch was by another thread with nothing that orders the two.
func (a *access) conflicts(me *access) bool {
	if a.several == acrossWarps || a.thread>>5 != me.thread>>5 {
		return true
	}
	return a.warpEpoch == me.warpEpoch && (a.several == inWarp || a.thread != me.thread)
}

func (r *races) report(w *warp, o *op, l int, s space, before access, address uint64, write bool, did string) {
	verb := "reads"
	if write {
		verb = "writes"
	}
	where := fmt.Sprintf("address %d of shared memory", address)
	if s != sharedSpace {
		where = fmt.Sprintf("address %#x of global memory, %s", address, r.block.launch.Memory.Describe(address))
	}
	b := r.block
	w.fail(Race, o, l, "%s %s, which thread %v %s at line %d without a barrier between",
		verb, where, b.thread(int(before.thread)), did, b.launch.Kernel.code[before.op].line)
}

// settle decides a write left in doubt: writing the same bytes again is allowed.
func (r *races) settle(w *warp, o *op, l int, address uint64, same bool) bool {
	before := r.doubt
	r.doubt = nil
	if before == nil || same {
		return true
	}
	r.report(w, o, l, globalSpace, *before, address, true, "wrote")
	return false
}
