package profiles

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/stats"
)

// The windows of an effect, in iterations.
const (
	effectWindow = 200 // at most this many on each side, the nearest to the change
	effectEnough = 20  // fewer on a side say nothing
	effectWarmup = 5   // left out after a change or a switch of the stage
)

// maxChanges bounds how many changes and effects are kept, the newest.
const maxChanges = 256

// work is what an iteration computes: iterations of different kinds cannot be
// compared. The first sample has no old target, so it measures once instead of
// twice (spec/prism.md §3.3).
type work uint8

const (
	initialisation work = iota
	firstSample
	laterSample
)

func workOf(it *Iteration) work {
	switch {
	case it.Stage == Initialising:
		return initialisation
	case it.Sample == 0:
		return firstSample
	}
	return laterSample
}

// timed is one whole-iteration time and the sample it belongs to.
type timed struct {
	ns     int64
	sample int32
}

// segment is a stretch of iterations of one kind under one set of settings. Its
// oldest iterations are the after-window of the changes that opened it, its
// newest the before-window of those that end it.
type segment struct {
	kind   work
	seen   int
	oldest []timed // at most effectWindow
	newest []timed // a circle of effectWindow; next is where it goes on
	next   int
}

func (s *segment) add(it *Iteration) {
	s.seen++
	if s.seen <= effectWarmup || it.Flags&(Warmup|Converged) != 0 || it.Total <= 0 {
		return
	}
	t := timed{it.Total, it.Sample}
	if len(s.oldest) < effectWindow {
		s.oldest = append(s.oldest, t)
	}
	if len(s.newest) < effectWindow {
		s.newest = append(s.newest, t)
		return
	}
	s.newest[s.next] = t
	s.next = (s.next + 1) % effectWindow
}

// last is the newest iterations in order.
func (s *segment) last() []timed {
	return slices.Concat(s.newest[s.next:], s.newest[:s.next])
}

// effect is an Effect in the making.
type effect struct {
	Effect
	before   []timed
	together []string // keys that changed at the same boundary
	old      Quality  // the last before the change
	hasOld   bool
	judgedAt int // length of the after-window at the last bootstrap
}

// pending is a change that no iteration ran under yet.
type pending struct {
	Change
	quality Quality // the newest when the change was made
	has     bool
}

// effects follows what each change did to iteration time and quality.
type effects struct {
	all     []effect
	open    int // the first of all whose after-window is the current segment's
	current segment
	started bool
	waiting []pending
	cuts    []int64 // iterations at which an ablation switched, to come
	quality Quality
	has     bool
	unheard int64 // Iteration.Changes less the changes heard of
	heard   int64

	published []Effect
	dirty     bool
}

// change announces c. It takes force with the iteration that it names.
func (e *effects) change(c Change) {
	e.heard++
	e.waiting = append(e.waiting, pending{c, e.quality, e.has})
	e.all = append(e.all, effect{Effect: Effect{Change: c, Needed: effectEnough}})
	if drop := len(e.all) - maxChanges; drop > 0 {
		e.all = slices.Delete(e.all, 0, drop)
		e.open = max(0, e.open-drop)
	}
	e.waiting = e.waiting[max(0, len(e.waiting)-maxChanges):]
	e.dirty = true
}

// cut announces a change that is no effect of its own: it ends what is compared
// and begins a new stretch.
func (e *effects) cut(c Change) {
	e.heard++
	e.cuts = append(e.cuts, c.Iteration)
}

// cutsUntil takes the cuts up to an iteration away, and tells whether there were any.
func (e *effects) cutsUntil(index int64) bool {
	n := 0
	for n < len(e.cuts) && e.cuts[n] <= index {
		n++
	}
	e.cuts = slices.Delete(e.cuts, 0, n)
	return n > 0
}

// iteration takes the next record. It returns true when a stretch of comparable
// iterations begins with it.
func (e *effects) iteration(it *Iteration) (begins bool) {
	due := 0
	for due < len(e.waiting) && e.waiting[due].Iteration <= it.Index {
		due++
	}
	kind := workOf(it)
	if !e.started {
		e.unheard = int64(it.Changes) - e.heard
	}
	missed := int64(it.Changes) - e.heard - e.unheard
	if cut := e.cutsUntil(it.Index); !e.started || cut || due > 0 || kind != e.current.kind || missed > 0 {
		begins = true
		e.unheard += max(missed, 0)
		e.begin(kind, due)
	}
	e.current.add(it)
	if e.open < len(e.all)-len(e.waiting) {
		e.dirty = true
	}
	return begins
}

// begin ends the current segment and starts one of the given kind, opened by the
// first due of the waiting changes.
func (e *effects) begin(kind work, due int) {
	e.judge(true)
	for i := e.open; i < len(e.all)-len(e.waiting); i++ {
		e.all[i].Closed = true
		e.all[i].before = nil
	}
	var before []timed
	if e.started && e.current.kind == kind {
		before = e.current.last()
	}
	e.open = len(e.all) - len(e.waiting)
	for i, w := range e.waiting[:due] {
		f := &e.all[e.open+i]
		f.before, f.NBefore = before, len(before)
		f.old, f.hasOld = w.quality, w.has
		for j, other := range e.waiting[:due] {
			if j != i {
				f.together = append(f.together, other.Key)
			}
		}
		e.drift(f)
	}
	e.waiting = slices.Delete(e.waiting, 0, due)
	e.current = segment{kind: kind, oldest: e.current.oldest[:0], newest: e.current.newest[:0]}
	e.started, e.dirty = true, true
}

// compare takes a comparison with the truth.
func (e *effects) compare(q Quality) {
	e.quality, e.has = q, true
	for i := e.open; i < len(e.all)-len(e.waiting); i++ {
		e.drift(&e.all[i])
	}
}

// drift compares the newest quality with the last before the change, unless it
// belongs to a change that waits.
func (e *effects) drift(f *effect) {
	q := e.quality
	if !e.has || !f.hasOld || q.Iteration < f.Iteration {
		return
	}
	if len(e.waiting) > 0 && e.waiting[0].Iteration > f.Iteration && q.Iteration >= e.waiting[0].Iteration {
		return
	}
	drift := q.PSNR - f.old.PSNR
	if math.IsNaN(drift) || math.IsInf(drift, 0) {
		return
	}
	f.QualityDrift, f.HasQuality = drift, true
	e.dirty = true
}

// judge brings the open effects up to date. The bootstrap runs again only when
// the after-window grew by a tenth, or for the last time.
func (e *effects) judge(final bool) {
	after := e.current.oldest
	var shift stats.Shift
	drawn := false
	for i := e.open; i < len(e.all)-len(e.waiting); i++ {
		f := &e.all[i]
		f.NAfter = len(after)
		f.Needed = max(0, effectEnough-f.NAfter)
		f.Confounded = f.confounds(after)
		f.Enough = f.NBefore >= effectEnough && f.NAfter >= effectEnough
		if !f.Enough || f.judgedAt == f.NAfter {
			continue
		}
		if !final && f.judgedAt > 0 && f.NAfter < effectWindow && 10*f.NAfter < 11*f.judgedAt {
			continue
		}
		if !drawn { // open effects share their windows
			shift = stats.MedianShift(durations(f.before), durations(after), uint64(f.Iteration))
			drawn = true
		}
		f.BeforeNS, f.AfterNS = shift.Before, shift.After
		f.Shift, f.Low, f.High = shift.Relative, shift.Low, shift.High
		f.judgedAt = f.NAfter
	}
}

// confounds says what else differs between the windows.
func (f *effect) confounds(after []timed) string {
	var also []string
	if len(f.together) > 0 {
		also = append(also, "changed together with "+strings.Join(f.together, ", "))
	}
	switch {
	case f.NBefore == 0:
		also = append(also, "no comparable iteration before it")
	case f.NBefore < effectEnough:
		also = append(also, fmt.Sprintf("only %d comparable iterations before it", f.NBefore))
	}
	if f.NBefore > 0 && len(after) > 0 {
		from, to := f.before[0].sample, after[len(after)-1].sample
		if from != to {
			also = append(also, fmt.Sprintf("sample advanced %d → %d", from+1, to+1))
		}
	}
	return strings.Join(also, "; ")
}

// view is every effect, newest last. The caller must not write it.
func (e *effects) view() []Effect {
	if !e.dirty {
		return e.published
	}
	e.judge(false)
	e.published = make([]Effect, len(e.all))
	for i := range e.all {
		e.published[i] = e.all[i].Effect
	}
	e.dirty = false
	return e.published
}

func durations(window []timed) []int64 {
	ns := make([]int64, len(window))
	for i, t := range window {
		ns[i] = t.ns
	}
	return ns
}
