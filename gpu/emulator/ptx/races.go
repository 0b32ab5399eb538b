package ptx

import "fmt"

// races finds accesses of two threads of a block to the same bytes between two barriers, one of which writes. It keeps
// for each word the last write and the last read with the number of barriers before them; what happened before the last
// barrier does not count. Within a warp bar.warp.sync orders accesses too. The order in which the emulator runs the
// threads does not matter for what it finds.
type races struct {
	block  *block
	epoch  uint32      // barriers so far, over all blocks of the worker
	shared []raceWord  // by word of shared memory
	global []raceWord  // hash table of the words of global memory accessed in this epoch; a power of two long
	used   int         // words of global of this epoch
	doubt  *raceAccess // the earlier write of a pair to global memory, which is no race if it wrote the same value
}

// raceWord is what is known of four bytes. As long as all accesses cover the word, only the first cell is used.
type raceWord struct {
	key   uint64
	epoch uint32
	split bool
	cells [4]raceCell
}

type raceCell struct{ write, read raceAccess }

// raceAccess is an access by a thread, or by several that read.
type raceAccess struct {
	epoch     uint32 // of the block; 0 for none
	warpEpoch uint32
	thread    int32
	op        int32
	several   several
}

type several uint8

const (
	oneThread  several = iota
	inWarp             // threads of one warp
	acrossWarp         // threads of several warps
)

func newRaces(b *block) *races {
	return &races{block: b, shared: make([]raceWord, (len(b.shared)+3)/4), global: make([]raceWord, 1<<10)}
}

// advance begins a new epoch: a barrier has opened, or a block begun.
func (r *races) advance() {
	r.epoch++
	r.used = 0
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
		r.used++
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

// access records an access of a lane and reports whether it is free of races. A second write to global memory is left in
// doubt for the store to decide.
func (r *races) access(w *warp, o *op, l int, s space, address uint64, n int, write bool) bool {
	if o.strong {
		return true
	}
	me := raceAccess{epoch: r.epoch, warpEpoch: w.epoch, thread: int32(w.first + l), op: o.index}
	for at, end := address, address+uint64(n); at < end; {
		x := r.word(s, at>>2)
		first, last := at&3, min(3, end-1-at&^3)
		if !x.split && (first != 0 || last != 3) {
			x.split = true
			x.cells[1], x.cells[2], x.cells[3] = x.cells[0], x.cells[0], x.cells[0]
		}
		if !x.split {
			first, last = 0, 0
		}
		for i := first; i <= last; i++ {
			if !r.check(w, o, l, s, &x.cells[i], me, address, write) {
				return false
			}
		}
		at = at&^3 + 4
	}
	return true
}

// check compares an access with those before it and records it.
func (r *races) check(w *warp, o *op, l int, s space, c *raceCell, me raceAccess, address uint64, write bool) bool {
	if c.write.conflicts(me) {
		if write && s != sharedSpace {
			before := c.write
			r.doubt = &before
		} else {
			r.report(w, o, l, s, c.write, address, write, "wrote")
			return false
		}
	}
	if write {
		if c.read.conflicts(me) {
			r.report(w, o, l, s, c.read, address, write, "read")
			return false
		}
		c.write = me
		return true
	}
	switch before := c.read; {
	case before.epoch != me.epoch || before.several == oneThread && before.thread == me.thread:
		c.read = me
	case before.several == acrossWarp || before.thread/32 != me.thread/32:
		c.read.several = acrossWarp
	case before.warpEpoch != me.warpEpoch:
		c.read = me
	case before.thread != me.thread:
		c.read.several = inWarp
	}
	return true
}

// conflicts reports whether an earlier access was by another thread with nothing that orders the two.
func (a *raceAccess) conflicts(me raceAccess) bool {
	if a.epoch != me.epoch || a.epoch == 0 {
		return false
	}
	if a.several == acrossWarp || a.thread/32 != me.thread/32 {
		return true
	}
	return a.warpEpoch == me.warpEpoch && (a.several == inWarp || a.thread != me.thread)
}

func (r *races) report(w *warp, o *op, l int, s space, before raceAccess, address uint64, write bool, did string) {
	verb := "reads"
	if write {
		verb = "writes"
	}
	where := fmt.Sprintf("address %d of shared memory", address)
	if s != sharedSpace {
		where = fmt.Sprintf("address %#x of global memory", address)
	}
	b := r.block
	before.thread = max(before.thread, 0)
	w.fail(Race, o, l, "%s %s, which thread %v %s at line %d without a barrier between",
		verb, where, b.thread(int(before.thread)), did, b.launch.Kernel.code[before.op].line)
}

// settle decides a write left in doubt: writing the same bytes again is allowed.
func (r *races) settle(w *warp, o *op, l int, address uint64, same bool) bool {
	before := r.doubt
	if before == nil {
		return true
	}
	r.doubt = nil
	if same {
		return true
	}
	r.report(w, o, l, globalSpace, *before, address, true, "wrote")
	return false
}
