// Package pool splits loops over a few long-lived goroutines.
//
// A training iteration has some hundred loops of tens of microseconds each.
// Starting goroutines, or waking sleeping ones through a channel, costs as much as
// such a loop; so the workers spin for a short while after each loop and take the
// next one within a microsecond. A worker that finds nothing parks.
//
// Loops are cut into chunks that the caller claims from the first on and the workers
// from the last on, several at a time while many are left: a thread gets much the same
// part of every loop, whose operands its caches may have, and threads of unequal speed
// end at nearly the same time. A worker that is not scheduled claims nothing, and is not
// waited for: on a busy machine the caller does the work itself. Which goroutine runs a
// chunk does not affect a body that computes each element in a fixed order.
//
// An attached context ends loops early: claimed chunks are finished, long ones only
// up to their next piece, and the rest is skipped. While one is attached, the caller keeps its
// thread, and every thread keeps a processor if there is one for each.
package pool

import (
	"context"
	"fmt"
	"prismtop/profiles/machine"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// chunksPerThread is above 1 so that a thread that finishes early can take
	// over work.
	chunksPerThread = 16
	maxChunks       = 1 << 12

	// grainsPerPiece is the number of grains of a chunk that run between checks
	// of the context. A grain is some microseconds of work, or tens of them
	// without assembly, so the cost of a check is not measurable.
	grainsPerPiece = 64

	// spinTime is how long a worker looks for the next loop before it parks: longer than the
	// serial steps between nearly all loops, since a worker that parks is woken through the
	// scheduler, behind whatever else wants to run. One that looked in vain looks for half
	// as long the next time, down to leastSpin, so that a pool without work, or one on a
	// machine that others want, gives its processors away (BenchmarkUnderLoad).
	spinTime  = 300 * time.Microsecond
	leastSpin = 40 * time.Microsecond
	// spinsPerLook is the number of spins between two readings of the clock.
	spinsPerLook = 64
	// takenAway is a gap between two readings of the clock, some hundred nanoseconds apart,
	// that only a processor given to another thread explains. One that spins then parks.
	takenAway = 50 * time.Microsecond
)

// Pool runs loops, one at a time; a call of For while the pool is in use (a loop
// inside a loop) runs its body on the caller.
type Pool struct {
	mu      sync.Mutex // held during a loop and while the number of threads changes
	workers []*worker
	threads atomic.Int32
	built   atomic.Pointer[homes] // for this number of threads
	homes   atomic.Pointer[homes] // the same while threads keep them
	tenure  tenure
	stay    stay
	spin    time.Duration // spinTime, except in benchmarks
	least   time.Duration // leastSpin, but in measurements

	// The current loop. The fields are written before ticket offers its chunks, and
	// read by goroutines that have claimed one.
	body   func(lo, hi int)
	n      int
	chunks int
	piece  int

	ctx context.Context // ends loops early; nil if none is attached

	// ticket is the loop's number (32 bits) and the chunks to claim: the end of them
	// (16) and the first (16). A claim is one compare-and-swap, so that a late worker
	// cannot take chunks of a loop other than the one it saw.
	ticket atomic.Uint64
	loop   uint32

	done     atomic.Int32 // chunks finished
	waiting  atomic.Bool  // the caller sleeps until the last chunk is finished
	finished chan struct{}
	failure  atomic.Pointer[Panic]
}

type worker struct {
	thread int           // of the pool; 0 is the caller
	spin   time.Duration // how long it looks now
	parked atomic.Bool
	wake   chan struct{}
	stop   atomic.Bool
	gone   chan struct{}
}

// Panic is the value For panics with if a body panicked, on whichever goroutine.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that ran the body
}

func (p *Panic) Error() string { return fmt.Sprintf("panic in a loop: %v\n%s", p.Value, p.Stack) }

// New makes a pool of the given number of threads, including the caller's; values
// below 1 count as 1. Call Close when done.
func New(threads int) *Pool { return newPool(threads, spinTime) }

func newPool(threads int, spin time.Duration) *Pool {
	p := &Pool{finished: make(chan struct{}, 1), spin: spin, least: min(spin, leastSpin)}
	p.SetThreads(threads)
	return p
}

// Threads returns the number of threads that loops run on, including the
// caller's.
func (p *Pool) Threads() int { return int(p.threads.Load()) }

// SetThreads changes the number of threads between loops: it waits for the
// current loop.
func (p *Pool) SetThreads(threads int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	threads = max(threads, 1)
	p.built.Store(newHomes(threads))
	p.homes.Store(nil) // until a context is attached
	for len(p.workers) < threads-1 {
		w := &worker{thread: len(p.workers) + 1, wake: make(chan struct{}, 1), gone: make(chan struct{})}
		p.workers = append(p.workers, w)
		go p.work(w)
	}
	surplus := p.workers[threads-1:]
	p.workers = p.workers[:threads-1]
	for _, w := range surplus {
		w.stop.Store(true)
		w.unpark()
		<-w.gone
	}
	p.threads.Store(int32(threads))
}

// Close stops the workers. The pool remains usable, with the caller's thread only.
func (p *Pool) Close() { p.SetThreads(1) }

// Attach makes subsequent loops end early once ctx is done, and returns the
// previously attached context; nil detaches. The results of a loop that ended
// early are undefined, so the caller checks the context after it. Attach is called
// between loops, by the goroutine that runs them.
func (p *Pool) Attach(ctx context.Context) (before context.Context) {
	before = p.ctx
	if ctx != nil && ctx.Done() == nil {
		ctx = nil // never done
	}
	p.ctx = ctx
	switch {
	case before == nil && ctx != nil:
		p.arrive()
	case before != nil && ctx == nil:
		p.depart()
	}
	return before
}

// Ended reports whether the attached context is done, for bodies and serial work that
// spend long on one element.
func (p *Pool) Ended() bool { return p.ctx != nil && p.ctx.Err() != nil }

// For runs body over ranges that together cover [0, n) once each and returns when
// all are done. Ranges have at least grain elements (except the last), so a loop
// of less than two grains runs on the caller alone. For does not allocate. If a
// body panics, For panics with a *Panic once the others are done; a loop that runs
// on the caller alone panics with the body's own value.
func (p *Pool) For(n, grain int, body func(lo, hi int)) {
	p.ForPieces(n, grain, grainsPerPiece*max(grain, 1), body)
}

// ForPieces is For for expensive elements: a chunk checks the context after every
// piece of the given number of elements.
func (p *Pool) ForPieces(n, grain, piece int, body func(lo, hi int)) {
	if n <= 0 {
		return
	}
	chunks := min(n/max(grain, 1), int(p.threads.Load())*chunksPerThread, maxChunks)
	if chunks < 2 || p.threads.Load() == 1 || !p.mu.TryLock() {
		p.inPieces(0, n, piece, body)
		return
	}
	defer p.mu.Unlock()
	p.body, p.n, p.chunks, p.piece = body, n, chunks, piece
	p.done.Store(0)
	p.loop++
	p.ticket.Store(uint64(p.loop)<<32 | uint64(chunks)<<16)
	p.rouse(chunks - 1)
	for p.runChunks(false) {
	}
	p.await()
	p.body = nil
	if f := p.failure.Swap(nil); f != nil {
		panic(f)
	}
}

// rouse wakes up to n parked workers; spinning ones join by themselves.
func (p *Pool) rouse(n int) {
	for _, w := range p.workers {
		if n == 0 {
			return
		}
		n--
		w.unpark()
	}
}

func (w *worker) unpark() {
	if w.parked.Load() && w.parked.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

// offered returns the chunks of a ticket that are to be claimed.
func offered(ticket uint64) (first, end int) { return int(ticket & 0xffff), int(ticket >> 16 & 0xffff) }

// offers reports whether there are chunks to claim.
func (p *Pool) offers() bool {
	first, end := offered(p.ticket.Load())
	return first < end
}

// runChunks claims chunks, a worker the last ones, and runs them; false when there are none.
func (p *Pool) runChunks(last bool) bool {
	for {
		t := p.ticket.Load()
		first, end := offered(t)
		if first >= end {
			return false
		}
		n := max((end-first)/(2*int(p.threads.Load())), 1)
		claimed := t + uint64(n)
		if last {
			claimed, first = t-uint64(n)<<16, end-n
		}
		if p.ticket.CompareAndSwap(t, claimed) {
			p.run(first, n)
			return true
		}
	}
}

// run runs n chunks.
func (p *Pool) run(first, n int) {
	chunks := p.chunks
	defer p.finish(n, chunks)
	p.inPieces(first*p.n/chunks, (first+n)*p.n/chunks, p.piece, p.body)
}

// inPieces runs body over [lo, hi) piece by piece, and skips the rest when the
// context ends.
func (p *Pool) inPieces(lo, hi, piece int, body func(lo, hi int)) {
	if p.ctx == nil {
		body(lo, hi)
		return
	}
	for ; lo < hi && p.ctx.Err() == nil; lo += piece {
		body(lo, min(lo+piece, hi))
	}
}

// finish counts n chunks as done, including those that a panic ended.
func (p *Pool) finish(n, chunks int) {
	if v := recover(); v != nil {
		f, ok := v.(*Panic)
		if !ok {
			f = &Panic{Value: v, Stack: debug.Stack()}
		}
		p.failure.CompareAndSwap(nil, f)
	}
	if int(p.done.Add(int32(n))) == chunks && p.waiting.CompareAndSwap(true, false) {
		p.finished <- struct{}{}
	}
}

// await waits until the claimed chunks of the loop are done.
func (p *Pool) await() {
	chunks := int32(p.chunks)
	for start := time.Now(); ; {
		for range spinsPerLook {
			if p.done.Load() == chunks {
				return
			}
		}
		if time.Since(start) > p.spin {
			break
		}
	}
	p.waiting.Store(true)
	if p.done.Load() == chunks && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.finished
}

// work is the main loop of a worker: take chunks, spin for more, park. It keeps its thread, so
// that waking it is the operating system's work alone.
func (p *Pool) work(w *worker) {
	defer close(w.gone)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w.spin = p.spin
	var home *homes
	defer func() { home.leave() }()
	for !w.stop.Load() {
		if h := p.homes.Load(); h != home {
			home.leave()
			home = h
			home.settle(w.thread)
		}
		if p.runChunks(true) || p.look(w) {
			continue
		}
		w.parked.Store(true)
		if w.stop.Load() || p.offers() {
			if w.parked.CompareAndSwap(true, false) {
				continue
			}
		}
		<-w.wake
	}
}

// look spins until there is work or a reason to stop; it returns false when time
// is up. With a single processor spinning is pointless.
func (p *Pool) look(w *worker) bool {
	if machine.Processors() == 1 {
		return false
	}
	start := time.Now()
	for last := start; ; {
		for range spinsPerLook {
			if p.offers() || w.stop.Load() {
				w.spin = min(2*w.spin, p.spin)
				return true
			}
		}
		now := time.Now()
		if now.Sub(start) >= w.spin {
			w.spin = max(w.spin/2, p.least)
			return false
		}
		if now.Sub(last) > takenAway { // others want the processor
			w.spin = p.least
			return false
		}
		last = now
	}
}
