package stream

import (
	"math/bits"
	"sync/atomic"

	"prismtop/profiles"
)

// cacheLine is the distance that keeps the producer's and the consumer's words
// apart: two lines of 64 bytes, because x86 prefetches in pairs and Apple's
// cores have lines of 128.
const cacheLine = 128

// Ring is a lossless queue of Iteration records for exactly one producer and one
// consumer goroutine. It neither blocks nor allocates: Push fails if the ring is
// full, Pop if it is empty. A record takes one slot, or as many as its schema needs.
type Ring struct {
	slots []slot
	mask  uint64

	_       [cacheLine]byte
	written atomic.Uint64 // slots written so far; owned by the producer
	dropped atomic.Uint64 // records rejected so far; owned by the producer
	seen    uint64        // the producer's copy of read

	_     [cacheLine]byte
	read  atomic.Uint64 // slots read so far; owned by the consumer
	known uint64        // the consumer's copy of written
	_     [cacheLine]byte
}

// slot is a record with as many phases, series and caches as most schemas have. The slots after a
// record's first have only what more it has of these.
type slot struct {
	index, start, total, retimed int64
	unit, inUnit                 int32
	changes                      uint32
	kind                         profiles.Kind
	flags                        profiles.Flags
	more                         uint8 // slots of the record after its first

	phases [profiles.SlotPhases]int64
	series [profiles.SlotSeries]float64
	caches [profiles.SlotCaches]profiles.CacheCounters
}

// put stores a record in its first slot.
func (s *slot) put(it *profiles.Iteration, more int) {
	s.index, s.start, s.total, s.retimed = it.Index, it.Start, it.Total, it.Retimed
	s.unit, s.inUnit, s.changes, s.kind, s.flags, s.more = it.Unit, it.InUnit, it.Changes, it.Kind, it.Flags,
		uint8(more)
	s.phases = [profiles.SlotPhases]int64(it.Phases[:profiles.SlotPhases])
	s.series = [profiles.SlotSeries]float64(it.Series[:profiles.SlotSeries])
	s.caches = [profiles.SlotCaches]profiles.CacheCounters(it.Caches[:profiles.SlotCaches])
}

// take restores a record from its first slot.
func (s *slot) take(it *profiles.Iteration) {
	it.Index, it.Start, it.Total, it.Retimed = s.index, s.start, s.total, s.retimed
	it.Unit, it.InUnit, it.Changes, it.Kind, it.Flags = s.unit, s.inUnit, s.changes, s.kind, s.flags
	n := copy(it.Phases[:], s.phases[:])
	clear(it.Phases[n:])
	n = copy(it.Series[:], s.series[:])
	clear(it.Series[n:])
	n = copy(it.Caches[:], s.caches[:])
	clear(it.Caches[n:])
}

// rest returns what of a record belongs to its slot n, from 1 on.
func rest(it *profiles.Iteration, n int) (phases []int64, series []float64, caches []profiles.CacheCounters) {
	return it.Phases[min(n*profiles.SlotPhases, len(it.Phases)):],
		it.Series[min(n*profiles.SlotSeries, len(it.Series)):],
		it.Caches[min(n*profiles.SlotCaches, len(it.Caches)):]
}

// NewRing returns a ring for at least capacity records of one slot: the next power of two, at
// least 2.
func NewRing(capacity int) *Ring {
	n := uint64(2)
	if capacity > 2 {
		n = 1 << bits.Len64(uint64(capacity-1))
	}
	r := &Ring{slots: make([]slot, n), mask: n - 1}
	clear(r.slots) // takes the memory now, so that a run does not seem to leak until each slot was used
	return r
}

// Push copies a record into the ring, into the number of slots that its schema needs. It returns false, and
// counts the record as dropped, if the ring has no room for it. Only the producer may call it.
func (r *Ring) Push(it *profiles.Iteration, slots int) bool {
	w := r.written.Load()
	if w+uint64(slots)-r.seen > r.mask+1 {
		r.seen = r.read.Load()
		if w+uint64(slots)-r.seen > r.mask+1 {
			r.dropped.Add(1)
			return false
		}
	}
	r.slots[w&r.mask].put(it, slots-1)
	for n := 1; n < slots; n++ {
		s := &r.slots[(w+uint64(n))&r.mask]
		phases, series, caches := rest(it, n)
		copy(s.phases[:], phases)
		copy(s.series[:], series)
		copy(s.caches[:], caches)
	}
	r.written.Store(w + uint64(slots))
	return true
}

// Pop copies the oldest record into it, or returns false if there is none. Only
// the consumer may call it.
func (r *Ring) Pop(it *profiles.Iteration) bool {
	n := r.read.Load()
	if n == r.known {
		r.known = r.written.Load()
		if n == r.known {
			return false
		}
	}
	first := &r.slots[n&r.mask]
	first.take(it)
	for k := 1; k <= int(first.more); k++ {
		s := &r.slots[(n+uint64(k))&r.mask]
		phases, series, caches := rest(it, k)
		copy(phases, s.phases[:])
		copy(series, s.series[:])
		copy(caches, s.caches[:])
	}
	r.read.Store(n + 1 + uint64(first.more))
	return true
}

// Cap returns the capacity in slots.
func (r *Ring) Cap() int { return len(r.slots) }

// Written returns the number of slots written since the ring was made.
func (r *Ring) Written() uint64 { return r.written.Load() }

// Read returns the number of slots read since the ring was made.
func (r *Ring) Read() uint64 { return r.read.Load() }

// Dropped returns the number of records rejected because the ring was full.
func (r *Ring) Dropped() uint64 { return r.dropped.Load() }
