package pool

import (
	"runtime"
	"slices"
	"time"

	"prismtop/profiles/machine"
)

// homes are the processors of a pool that has a thread for each of them: every thread keeps one.
//
// Otherwise a thread that runs for a moment, such as one that draws a frame, pushes a computing
// thread onto the processor of another, and the two take turns there for some milliseconds until
// the operating system moves one of them back. A pool with fewer threads than processors leaves
// them to the operating system, which has somewhere to move them to.
type homes struct {
	processors []int // by thread, the caller's first
}

// newHomes returns the homes of a number of threads; nil if they have none.
func newHomes(threads int) *homes {
	all := permitted()
	if threads < 2 || threads != len(all) || threads != machine.Processors() {
		return nil
	}
	if here := slices.Index(all, processor()); here > 0 { // the caller need not move
		all = slices.Concat(all[here:], all[:here])
	}
	return &homes{all}
}

// settle lets the calling thread keep the processor of the given thread of the pool. The thread
// must be locked to its goroutine. It does nothing without homes, and if somebody else has
// restricted the thread's processors.
func (h *homes) settle(thread int) (settled bool) {
	return h != nil && thread < len(h.processors) && unrestricted() && keep(h.processors[thread])
}

// leave lets the calling thread use all processors again.
func (h *homes) leave() {
	if h != nil {
		roam()
	}
}

// Limits of a tenure.
const (
	tenureLeast = 100 * time.Millisecond // of loops, before it is judged
	tenureLost  = 0.1                    // share of the time that others may take
	restLeast   = time.Second
	restMost    = 30 * time.Second
)

// tenure judges whether threads may keep their processors: not where other programs take them for
// long, because the operating system would then have to move threads to be fair to either. It is
// tried again after a rest, which doubles each time that it fails.
type tenure struct {
	wall, busy time.Duration // in loops, and of them with a processor
	rest       time.Duration
	until      time.Time // of the rest
}

// add counts the time of loops, with that in which the caller had a processor. It returns true if
// the threads have to give their processors up for a while.
func (t *tenure) add(now time.Time, wall, busy time.Duration) (giveUp bool) {
	t.wall += wall
	t.busy += busy
	if t.wall < tenureLeast {
		return false
	}
	giveUp = float64(t.wall-t.busy) > tenureLost*float64(t.wall)
	t.wall, t.busy = 0, 0
	if !giveUp {
		t.rest /= 2
		return false
	}
	t.rest = min(max(2*t.rest, restLeast), restMost)
	t.until = now.Add(t.rest)
	return true
}

// stay is the caller's time between attaching a context and detaching it.
type stay struct {
	settled bool // the thread keeps its processor
	began   time.Time
	ran     time.Duration // by its thread until then
}

// arrive locks the caller to its thread, which keeps a processor, if there is one for each thread
// and the tenure does not rest.
func (p *Pool) arrive() {
	h := p.built.Load()
	if h == nil {
		return
	}
	now := time.Now()
	if now.Before(p.tenure.until) {
		return
	}
	runtime.LockOSThread()
	if !h.settle(0) {
		runtime.UnlockOSThread()
		return
	}
	p.homes.Store(h)
	p.stay = stay{true, now, threadTime()}
}

// depart reverses arrive.
func (p *Pool) depart() {
	if !p.stay.settled {
		return
	}
	now := time.Now()
	if p.tenure.add(now, now.Sub(p.stay.began), threadTime()-p.stay.ran) {
		p.homes.Store(nil)
	}
	p.stay.settled = false
	roam()
	runtime.UnlockOSThread()
}
