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
// full, Pop if it is empty.
type Ring struct {
	slots []profiles.Iteration
	mask  uint64

	_       [cacheLine]byte
	written atomic.Uint64 // records pushed so far; owned by the producer
	dropped atomic.Uint64 // records rejected so far; owned by the producer
	seen    uint64        // the producer's copy of read

	_     [cacheLine]byte
	read  atomic.Uint64 // records popped so far; owned by the consumer
	known uint64        // the consumer's copy of written
	_     [cacheLine]byte
}

// NewRing returns a ring for at least capacity records: the next power of two, at
// least 2.
func NewRing(capacity int) *Ring {
	n := uint64(2)
	if capacity > 2 {
		n = 1 << bits.Len64(uint64(capacity-1))
	}
	r := &Ring{slots: make([]profiles.Iteration, n), mask: n - 1}
	clear(r.slots) // takes the memory now, so that a run does not seem to leak until each slot was used
	return r
}

// Push copies a record into the ring. It returns false, and counts the record as
// dropped, if the ring is full. Only the producer may call it.
func (r *Ring) Push(it *profiles.Iteration) bool {
	w := r.written.Load()
	if w-r.seen > r.mask {
		r.seen = r.read.Load()
		if w-r.seen > r.mask {
			r.dropped.Add(1)
			return false
		}
	}
	r.slots[w&r.mask] = *it
	r.written.Store(w + 1)
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
	*it = r.slots[n&r.mask]
	r.read.Store(n + 1)
	return true
}

// Cap returns the capacity in records.
func (r *Ring) Cap() int { return len(r.slots) }

// Written returns the number of records pushed since the ring was made.
func (r *Ring) Written() uint64 { return r.written.Load() }

// Read returns the number of records popped since the ring was made.
func (r *Ring) Read() uint64 { return r.read.Load() }

// Dropped returns the number of records rejected because the ring was full.
func (r *Ring) Dropped() uint64 { return r.dropped.Load() }
