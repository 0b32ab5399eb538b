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
// consumer goroutine. Nobody waits and nothing is allocated: Push refuses when
// the ring is full, Pop when it is empty.
type Ring struct {
	slots []profiles.Iteration
	mask  uint64

	_       [cacheLine]byte
	written atomic.Uint64 // records pushed so far; the producer's
	dropped atomic.Uint64 // records refused so far; the producer's
	seen    uint64        // the producer's last look at read

	_     [cacheLine]byte
	read  atomic.Uint64 // records popped so far; the consumer's
	known uint64        // the consumer's last look at written
	_     [cacheLine]byte
}

// NewRing returns a ring that holds at least capacity records: the next power of
// two, and no fewer than 2.
func NewRing(capacity int) *Ring {
	n := uint64(2)
	if capacity > 2 {
		n = 1 << bits.Len64(uint64(capacity-1))
	}
	return &Ring{slots: make([]profiles.Iteration, n), mask: n - 1}
}

// Push copies it into the ring. It returns false, and counts the record as
// dropped, when the ring is full. Only the producer calls it.
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

// Pop moves the oldest record into it, or returns false when there is none. Only
// the consumer calls it.
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

// Cap is the number of records that fit.
func (r *Ring) Cap() int { return len(r.slots) }

// Written is the number of records pushed since the ring was made.
func (r *Ring) Written() uint64 { return r.written.Load() }

// Read is the number of records popped since the ring was made.
func (r *Ring) Read() uint64 { return r.read.Load() }

// Dropped is the number of records that were refused because the ring was full.
func (r *Ring) Dropped() uint64 { return r.dropped.Load() }
