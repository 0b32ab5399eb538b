package effect

import (
	"math"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// Segments of iterations under one set of settings, and the windows of effects in them.

// The windows of an effect, in iterations.
const (
	Window   = 200 // maximum on each side, nearest to the change
	Warmup   = 5   // ignored after a change or a switch of the stage
	patience = 4   // number of windows searched for undisturbed iterations
	reach    = patience * Window
)

// timed is one iteration's time, whole and by phases, and the share of the processors that
// other programs took meanwhile, NaN where that is not known.
type timed struct {
	ns      int64
	foreign float64
	phases  [profiles.MaxPhases]int64
}

func (t *timed) quiet() bool { return !(t.foreign > machine.Quiet) }

// segment is a series of iterations of one kind under one set of settings. Its
// oldest iterations are the after-window of the changes that opened it, its
// newest the before-window of those that end it.
type segment struct {
	kind    profiles.Kind
	stretch int32 // its number in the history
	seen    int
	waiting int     // iterations for which the load by other programs is not known yet
	oldest  []timed // until a window of quiet ones is full, at most reach
	quiet   int     // of oldest
	newest  []timed // a ring of reach; next is the index of the next entry
	next    int
}

// counts reports whether the next iteration counts in a comparison.
func (s *segment) counts(it *profiles.Iteration) bool {
	s.seen++
	return s.seen > Warmup && it.Flags&(profiles.Warmup|profiles.Converged|profiles.Unwatched) == 0 && it.Total > 0
}

func (s *segment) add(t timed) {
	if !s.full() {
		s.oldest = append(s.oldest, t)
		if t.quiet() {
			s.quiet++
		}
	}
	if len(s.newest) < reach {
		s.newest = append(s.newest, t)
		return
	}
	s.newest[s.next] = t
	s.next = (s.next + 1) % reach
}

// full reports whether the after-window is final.
func (s *segment) full() bool { return s.quiet == Window || len(s.oldest) == reach }

// whole reports whether the after-window, as chosen so far, holds as many iterations
// as it can.
func (s *segment) whole() bool {
	return s.full() || s.quiet < profiles.EffectEnough && len(s.oldest) >= Window
}

// pick is the window of an effect.
type pick struct {
	ns      []int64 // in the order of measurement
	foreign float64 // mean share of other programs, NaN if unknown
	left    int     // disturbed iterations left out
	all     bool    // none left out, because too few were undisturbed
}

// after returns the window at the segment's beginning, of up to most iterations, its times in
// the room of into.
func (s *segment) after(most int, into []int64) pick {
	return choose(len(s.oldest), most, func(i int) *timed { return &s.oldest[i] }, into)
}

// before returns the window at the segment's end.
func (s *segment) before(most int, into []int64) pick {
	n := len(s.newest)
	p := choose(n, most, func(i int) *timed { return &s.newest[(s.next+n-1-i)%n] }, into)
	for i, j := 0, len(p.ns)-1; i < j; i, j = i+1, j-1 {
		p.ns[i], p.ns[j] = p.ns[j], p.ns[i]
	}
	return p
}

// choose takes the nearest of n iterations, at(0) the nearest, most at the most: the
// undisturbed ones where they are enough, else all.
func choose(n, most int, at func(i int) *timed, into []int64) pick {
	quiet := 0
	for i := 0; i < n && quiet < profiles.EffectEnough; i++ {
		if at(i).quiet() {
			quiet++
		}
	}
	p := pick{ns: into[:0], all: quiet < profiles.EffectEnough}
	skipped, sum := 0, 0.0
	for i := 0; i < n && len(p.ns) < most; i++ {
		t := at(i)
		if !p.all && !t.quiet() {
			skipped++
			continue
		}
		p.ns = append(p.ns, t.ns)
		p.left = skipped
		sum += t.foreign
	}
	p.foreign = math.NaN()
	if len(p.ns) > 0 {
		p.foreign = sum / float64(len(p.ns))
	}
	return p
}
