package profiles

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/machine"
	"prismtop/profiles/stats"
)

// maxChanges bounds how many changes and effects are kept, the newest.
const maxChanges = 256

// A share of the processors that others took on one side and not on the other is
// told from loadDiffers on, below which it is the kernel's ticks, where it is more
// than a quarter of the shift: one thread that waits can hold up all of them.
const (
	loadDiffers = 0.02
	loadCovers  = 4
)

// effect is an Effect in the making.
type effect struct {
	Effect
	from, to *segment // what is compared; from is nil where nothing can be, both once it is settled
	together []string // keys that changed at the same boundary
	old      Quality  // the last before the change
	hasOld   bool
	judged   basis // of the last bootstrap

	disturbance string // what other programs took
	course      string // how far the training went
}

// basis is what the numbers of an effect rest on: how many iterations on each side,
// and whether disturbed ones are among them.
type basis struct {
	before, after           int
	noisyBefore, noisyAfter bool
}

// queued is an iteration whose share of other programs is not known yet.
type queued struct {
	timed
	start, end int64 // as in Iteration
	of         *segment
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
	open    int      // the first of all that is not settled
	current *segment // nil before the first iteration
	queue   []queued // oldest first
	waiting []pending
	cuts    []int64 // iterations at which an ablation switched, to come
	quality Quality
	has     bool
	unheard int64 // Iteration.Changes less the changes heard of
	heard   int64

	published []Effect
	dirty     bool
	scratch   [2][]int64
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
	if e.current == nil {
		e.unheard = int64(it.Changes) - e.heard
	}
	missed := int64(it.Changes) - e.heard - e.unheard
	if cut := e.cutsUntil(it.Index); e.current == nil || cut || due > 0 || kind != e.current.kind || missed > 0 {
		begins = true
		e.unheard += max(missed, 0)
		e.begin(kind, due)
	}
	if e.current.counts(it) {
		e.current.waiting++
		e.queue = append(e.queue, queued{timed{ns: it.Total, sample: it.Sample}, it.Start, it.Start + it.Total, e.current})
	}
	return begins
}

// settle gives the iterations that ended by a time their shares of other programs,
// NaN for unknown ones, and lets them count.
func (e *effects) settle(until int64, share func(start, end int64) float64) {
	n := 0
	for n < len(e.queue) && e.queue[n].end <= until {
		q := &e.queue[n]
		q.foreign = share(q.start, q.end)
		q.of.waiting--
		q.of.add(q.timed)
		n++
	}
	e.queue = slices.Delete(e.queue, 0, n)
	if n > 0 && e.open < e.inForce() {
		e.dirty = true
	}
}

// inForce is how many of all took force.
func (e *effects) inForce() int { return len(e.all) - len(e.waiting) }

// begin ends the current segment and starts one of the given kind, opened by the
// first due of the waiting changes.
func (e *effects) begin(kind work, due int) {
	n := e.inForce()
	for i := e.open; i < n; i++ {
		e.all[i].Closed = true
	}
	var from *segment
	if e.current != nil && e.current.kind == kind {
		from = e.current
	}
	e.current = &segment{kind: kind}
	for i, w := range e.waiting[:due] {
		f := &e.all[n+i]
		f.from, f.to = from, e.current
		f.old, f.hasOld = w.quality, w.has
		for j, other := range e.waiting[:due] {
			if j != i {
				f.together = append(f.together, other.Key)
			}
		}
		e.drift(f)
	}
	e.waiting = slices.Delete(e.waiting, 0, due)
	e.dirty = true
}

// compare takes a comparison with the truth.
func (e *effects) compare(q Quality) {
	e.quality, e.has = q, true
	for i := e.open; i < e.inForce(); i++ {
		if f := &e.all[i]; !f.Closed && !(f.HasQuality && f.to.whole()) {
			e.drift(f)
		}
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

// judge brings the effects up to date that are not settled.
func (e *effects) judge() {
	var last *effect
	for i := e.open; i < e.inForce(); i++ {
		f := &e.all[i]
		if last != nil && last.from == f.from && last.to == f.to { // changed together
			f.adopt(last)
		} else {
			f.judge(&e.scratch)
		}
		last = f
	}
	for e.open < e.inForce() && e.all[e.open].settled() {
		f := &e.all[e.open]
		f.from, f.to = nil, nil
		e.open++
	}
}

// settled tells whether nothing will change an effect any more.
func (f *effect) settled() bool {
	return f.Closed && f.to.waiting == 0 && (f.from == nil || f.from.waiting == 0)
}

// adopt takes over what was found for another change at the same boundary.
func (f *effect) adopt(g *effect) {
	f.Enough, f.Needed = g.Enough, g.Needed
	f.BeforeNS, f.AfterNS, f.Shift, f.Low, f.High = g.BeforeNS, g.AfterNS, g.Shift, g.Low, g.High
	f.NBefore, f.NAfter, f.LeftOut = g.NBefore, g.NAfter, g.LeftOut
	f.judged, f.disturbance, f.course = g.judged, g.disturbance, g.course
	f.Disturbed, f.Confounded = f.disturbance != "", f.confounds()
}

// judge compares the windows. The bootstrap runs again only when the after-window
// grew by a tenth, or for the last time.
func (f *effect) judge(scratch *[2][]int64) {
	var before pick
	if f.from != nil {
		before = f.from.before(scratch[0])
		scratch[0] = before.ns
	}
	after := f.to.after(scratch[1])
	scratch[1] = after.ns
	f.NBefore, f.NAfter, f.LeftOut = len(before.ns), len(after.ns), before.left+after.left
	f.Needed = max(0, effectEnough-f.NAfter)
	if f.NBefore < effectEnough && (f.from == nil || f.from.waiting == 0) {
		f.Needed = 0 // what comes after cannot help
	}
	f.Enough = f.NBefore >= effectEnough && f.NAfter >= effectEnough
	if now := (basis{f.NBefore, f.NAfter, before.all, after.all}); f.Enough && f.worthwhile(now) {
		s := stats.MedianShift(before.ns, after.ns, uint64(f.Iteration))
		f.BeforeNS, f.AfterNS = s.Before, s.After
		f.Shift, f.Low, f.High = s.Relative, s.Low, s.High
		f.judged = now
	}
	f.disturbance, f.course = "", ""
	if f.Enough {
		f.disturbance = disturbance(before.foreign, after.foreign, f.Shift)
	}
	if f.NBefore > 0 && f.NAfter > 0 && before.first != after.last {
		f.course = fmt.Sprintf("sample advanced %d → %d", before.first+1, after.last+1)
	}
	f.Disturbed, f.Confounded = f.disturbance != "", f.confounds()
}

// worthwhile tells whether the numbers are to be drawn anew.
func (f *effect) worthwhile(now basis) bool {
	was := f.judged
	if now == was {
		return false
	}
	grown := now
	grown.after = was.after
	return grown != was || f.settled() || now.after == effectWindow || 10*now.after >= 11*was.after
}

// confounds says what else differs between the windows.
func (f *effect) confounds() string {
	var also []string
	if f.disturbance != "" {
		also = append(also, f.disturbance)
	}
	if len(f.together) > 0 {
		also = append(also, "changed together with "+strings.Join(f.together, ", "))
	}
	switch {
	case f.NBefore == 0:
		also = append(also, "no comparable iteration before it")
	case f.NBefore < effectEnough:
		also = append(also, fmt.Sprintf("only %d comparable iterations before it", f.NBefore))
	}
	if f.course != "" {
		also = append(also, f.course)
	}
	return strings.Join(also, "; ")
}

// disturbance says what other programs took of the processors on both sides, where
// that is considerable or may explain the shift.
func disturbance(before, after, shift float64) string {
	differ := math.Abs(after - before)
	switch {
	case math.IsNaN(differ): // nobody could read it
		return ""
	case before > machine.Quiet && after > machine.Quiet && differ < machine.Quiet:
		return fmt.Sprintf("others took %.0f %% of the processors", 50*(before+after))
	case before > machine.Quiet || after > machine.Quiet, differ >= loadDiffers && loadCovers*differ > math.Abs(shift):
		return fmt.Sprintf("others took %.0f %% before, %.0f %% after", 100*before, 100*after)
	}
	return ""
}

// view is every effect, newest last. The caller must not write it.
func (e *effects) view() []Effect {
	if !e.dirty {
		return e.published
	}
	e.judge()
	e.published = make([]Effect, len(e.all))
	for i := range e.all {
		e.published[i] = e.all[i].Effect
	}
	e.dirty = false
	return e.published
}
