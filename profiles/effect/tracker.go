// Package effect measures the effect of a change of settings: iterations before it
// against those after it, other differences between the two, and the drift of the quality
// meanwhile.
package effect

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// The tracker: effects under construction, the iterations and measurements that it is given, and judging each effect.

// maxChanges bounds the number of changes and effects kept.
const maxChanges = 256

// effect is an Effect under construction.
type effect struct {
	profiles.Effect
	from, to *segment // the compared segments; from is nil if nothing can be compared, both once settled
	old      float64  // quality: the last before the change, NaN for none
	held     memory   // before the change
	switched bool     // an ablation switched settings at the same boundary
	returned bool     // then: that ablation has ended, and the next iteration runs under the change
	closed   bool     // nothing more is added to the windows, but some iterations may not count yet
	judged   basis    // of the last comparison
	most     int      // iterations per window; 0 until everything before the change is counted
	final    bool     // the numbers no longer change

	disturbance reason // load by other programs
	moved       reason // of a phase that the change cannot affect

	earlier replicated // the newest replication that ended with a result
}

// replicated is how a replication ended.
type replicated struct {
	row     *profiles.AblationRow // nil for none
	stopped string                // Effect.Stopped
}

// basis describes the data behind an effect: the number of iterations on each side,
// and whether disturbed ones are among them.
type basis struct {
	before, after           int
	noisyBefore, noisyAfter bool
}

// queued is an iteration for which the load by other programs is not known yet.
type queued struct {
	timed
	start, end int64 // as in Iteration
	of         *segment
}

// quality is a value of the series that measures the quality of the result.
type quality struct {
	value     float64
	iteration int64
	has       bool
}

// memory is what the run holds, in bytes, without its caches and in each of them, and how often it has reported its
// plans' memory.
type memory struct {
	bytes   int64
	caches  [profiles.MaxCaches]int64
	reports int64
}

// valueOr returns the value, NaN for none.
func (q quality) valueOr() float64 {
	if !q.has {
		return math.NaN()
	}
	return q.value
}

// Tracker tracks the effect of the changes at each boundary on iteration time and
// quality.
type Tracker struct {
	all     []effect // in force
	open    int      // the first that is not settled
	current *segment // nil before the first iteration
	queue   []queued // oldest first
	waiting []boundary
	limits  limits
	cuts    []int64 // future iterations at which an ablation switches
	quality int     // index of the quality series, −1 for none
	newest  quality // the newest
	held    memory
	history history
	caches  []profiles.CacheInfo
	names   []string // of the phases
	aside   []bool   // by kind: its iterations are left out
	items   int64    // of an iteration
	over    bool     // the run has ended
	unheard int64    // Iteration.Changes minus the announced changes
	heard   int64
	log     []profiles.LogLine // not yet taken

	published []profiles.Effect
	changes   []profiles.Change // returned by View
	dirty     bool
	scratch   [3][]int64
}

// New returns a Tracker for a run with a schema.
func New(s *profiles.Schema) Tracker {
	t := Tracker{quality: s.SeriesNamed(s.Quality), history: history{phases: len(s.Phases)}, items: 1, caches: s.Caches}
	t.names = names(s)
	for _, k := range s.Kinds {
		t.aside = append(t.aside, k.Aside)
	}
	return t
}

// Grow goes on with a schema that has more phases or series than before. The history begins anew.
func (e *Tracker) Grow(s *profiles.Schema) {
	if e.quality < 0 {
		e.quality = s.SeriesNamed(s.Quality)
	}
	if e.names = names(s); len(e.names) != e.history.phases {
		e.history.clear()
		e.history.phases = len(e.names)
	}
}

func names(s *profiles.Schema) (all []string) {
	for _, p := range s.Phases {
		all = append(all, p.Name)
	}
	return all
}

// Awaiting reports whether iterations are waiting for the load by other programs: see
// Settle.
func (e *Tracker) Awaiting() bool { return len(e.queue) > 0 }

// Items announces how many items the iterations from here on process, at least 1: times are then
// those of an item, so that changes of their number can be compared too.
func (e *Tracker) Items(n int) { e.items = int64(max(n, 1)) }

// timed returns the times of an iteration, of an item each.
func (e *Tracker) timed(it *profiles.Iteration) timed {
	items := max(e.items, 1) // 0 before the first announcement
	t := timed{ns: max(it.Total/items, 1), phases: it.Phases}
	if items > 1 {
		for p := range t.phases {
			t.phases[p] /= items
		}
	}
	return t
}

// Change announces c, which takes effect with the iteration it names.
func (e *Tracker) Change(c profiles.Change) {
	e.heard++
	if c.Limit {
		e.limits.change(c)
		e.dirty = true
		return
	}
	if n := len(e.waiting); n == 0 || e.waiting[n-1].iteration != c.Iteration {
		e.waiting = append(e.waiting, boundary{iteration: c.Iteration, at: c.At, quality: e.newest.valueOr(),
			held: e.held})
	}
	e.waiting[len(e.waiting)-1].add(c)
	e.waiting = e.waiting[max(0, len(e.waiting)-maxChanges):]
	e.dirty = true
}

// Cut announces a change without an effect of its own: it ends the current
// comparison and begins a new segment.
func (e *Tracker) Cut(c profiles.Change) {
	e.heard++
	e.cuts = append(e.cuts, c.Iteration)
}

// cutsUntil removes the cuts up to an iteration, and reports whether there were any.
func (e *Tracker) cutsUntil(index int64) bool {
	n := 0
	for n < len(e.cuts) && e.cuts[n] <= index {
		n++
	}
	e.cuts = slices.Delete(e.cuts, 0, n)
	return n > 0
}

// dueUntil removes the boundaries up to an iteration and joins them: no iteration
// was seen between them. changed is false if every setting is as before.
func (e *Tracker) dueUntil(index int64) (joined boundary, changed bool) {
	n := 0
	for n < len(e.waiting) && e.waiting[n].iteration <= index {
		n++
	}
	if n == 0 {
		return joined, false
	}
	joined = e.waiting[0]
	for _, b := range e.waiting[1:n] {
		joined.join(&b)
	}
	e.waiting = slices.Delete(e.waiting, 0, n)
	e.dirty = true
	if changed = len(joined.net()) > 0; !changed {
		e.log = append(e.log, profiles.LogLine{At: joined.at, Text: joined.undone()})
	}
	return joined, changed
}

// Iteration adds the next record. It returns true if a segment of comparable
// iterations begins with it.
func (e *Tracker) Iteration(it *profiles.Iteration) (begins bool) {
	kind := it.Kind
	aside := int(kind) < len(e.aside) && e.aside[kind] && e.current != nil
	if aside {
		kind = e.current.kind
	}
	if e.current == nil {
		e.unheard = int64(it.Changes) - e.heard
	}
	missed := int64(it.Changes) - e.heard - e.unheard
	e.log = append(e.log, e.limits.until(it.Index)...)
	due, changed := e.dueUntil(it.Index)
	if cut := e.cutsUntil(it.Index); e.current == nil || cut || changed || kind != e.current.kind || missed > 0 {
		begins = true
		e.unheard += max(missed, 0)
		from := e.begin(kind)
		if changed {
			e.takeForce(&due, from, cut)
		}
	}
	if !aside && e.current.counts(it) {
		e.current.waiting++
		if n := len(e.all); n > 0 && e.all[n-1].Open() {
			e.dirty = true // number of waiting iterations
		}
		e.queue = append(e.queue, queued{e.timed(it), it.Start, it.Start + it.Total, e.current})
	}
	return begins
}

// Settle assigns the load by other programs to the iterations that ended by a
// time, NaN if unknown, and counts them.
func (e *Tracker) Settle(until int64, share func(start, end int64) float64) {
	n := 0
	for n < len(e.queue) && e.queue[n].end <= until {
		q := &e.queue[n]
		q.foreign = share(q.start, q.end)
		q.of.waiting--
		q.of.add(q.timed)
		if q.quiet() && q.of.kind == e.current.kind {
			e.history.add(&q.timed, q.of.stretch)
		}
		n++
	}
	e.queue = slices.Delete(e.queue, 0, n)
	if n > 0 && e.open < len(e.all) {
		e.dirty = true
	}
}

// begin ends the current segment and starts one of the given kind. It returns the old segment if
// the two can be compared.
func (e *Tracker) begin(kind profiles.Kind) (from *segment) {
	for i := e.open; i < len(e.all); i++ {
		e.all[i].closed = true
	}
	if e.current != nil && e.current.kind == kind {
		from = e.current
	}
	next := segment{kind: kind}
	if e.current != nil {
		next.stretch = e.current.stretch + 1
		if e.current.kind != kind {
			e.history.clear()
		}
	}
	e.current = &next
	e.dirty = true
	return from
}

// takeForce adds the effect of the changes at a boundary, where the current segment begins. If an
// ablation switched there too, the change is not the only difference.
func (e *Tracker) takeForce(b *boundary, from *segment, switched bool) {
	f := effect{Effect: b.effect(), from: from, to: e.current, old: b.quality, held: b.held, switched: switched}
	if switched {
		f.from = nil
	}
	e.drift(&f)
	e.all = append(e.all, f)
	if drop := len(e.all) - maxChanges; drop > 0 {
		e.all = slices.Delete(e.all, 0, drop)
		e.open = max(0, e.open-drop)
	}
}

// Replicate records the interim result of replicating a change, which has one row. A replication that ends without a
// result leaves that of an earlier one.
func (e *Tracker) Replicate(a *profiles.Ablation) {
	row := &a.Rows[0]
	for i := range e.all {
		f := &e.all[i]
		if f.Iteration != a.Of || f.Replica == row {
			continue
		}
		now := replicated{row: row}
		if !a.Running && a.Ended != profiles.EndedDecided {
			now.stopped = a.Ended
		}
		switch {
		case a.Running:
		case row.Judge() != profiles.Unjudged:
			f.earlier = now
		case f.earlier.row != nil: // it was stopped before it had a result of its own
			now = f.earlier
		}
		f.Replica, f.Stopped, e.dirty = now.row, now.stopped, true
		switch own := e.own(f); {
		case len(own) > 0: // blocks fill it anew: what it held before is not in them
			f.returned = f.switched && f.held.reports > 0 && a.Concluded()
		case now.row.HasMemory:
			f.MemoryChange, f.HasMemory = now.row.OnBytes-now.row.OffBytes, true
		}
	}
}

// Forked records the interim result of forking at the iteration of a change.
func (e *Tracker) Forked(f *profiles.Fork) {
	for i := range e.all {
		if a := &e.all[i]; a.Iteration == f.Of {
			a.Fork, e.dirty = f, true
		}
	}
}

// End notes that the run is over: incomplete effects get no more iterations.
func (e *Tracker) End() {
	if e.over {
		return
	}
	e.over, e.dirty = true, true
	for i := e.open; i < len(e.all); i++ {
		if f := &e.all[i]; !f.closed {
			f.closed, f.Ended = true, true
		}
	}
}

// Measure adds a measurement if it contains the quality.
func (e *Tracker) Measure(m *profiles.Measurement) {
	if e.quality < 0 || math.IsNaN(m.Values[e.quality]) {
		return
	}
	e.newest = quality{m.Values[e.quality], m.Iteration, true}
	for i := e.open; i < len(e.all); i++ {
		if f := &e.all[i]; !f.closed && !(f.HasQuality && f.to.whole()) {
			e.drift(f)
		}
	}
}

// drift compares the newest quality with the last one before the change, unless it belongs to a
// pending change.
func (e *Tracker) drift(f *effect) {
	q := e.newest
	if !q.has || q.iteration < f.Iteration {
		return
	}
	if len(e.waiting) > 0 && e.waiting[0].iteration > f.Iteration && q.iteration >= e.waiting[0].iteration {
		return
	}
	drift := q.value - f.old
	if math.IsNaN(drift) || math.IsInf(drift, 0) {
		return
	}
	f.QualityDrift, f.HasQuality = drift, true
	e.dirty = true
}

// own are the indices of the caches that a change switches or bounds.
func (e *Tracker) own(f *effect) (own []int) {
	for i, c := range e.caches {
		for _, s := range f.Changes() {
			if s.Key == c.Setting || s.Key == c.Limit {
				own = append(own, i)
				break
			}
		}
	}
	return own
}

// Holds adds what the run holds, in bytes, without its caches and in each of them, after an iteration or, if reported
// is true, by a report of its plans, which follows every change. Of a change at whose boundary an ablation switched,
// too, the blocks tell it (Replicate), but for caches of its own: those count once the blocks have ended.
func (e *Tracker) Holds(bytes int64, caches *[profiles.MaxCaches]profiles.CacheCounters, reported bool) {
	e.held.bytes = bytes
	for i := range caches {
		e.held.caches[i] = caches[i].Bytes
	}
	if reported {
		e.held.reports++
	}
	for i := range e.all {
		f := &e.all[i]
		switch {
		case f.returned && !reported:
			f.returned = false
		case i < e.open || f.closed || f.switched || f.held.reports == 0 || f.held.reports == e.held.reports ||
			f.HasMemory && f.to.whole():
			continue
		}
		change := bytes - f.held.bytes
		for _, c := range e.own(f) {
			change += e.held.caches[c] - f.held.caches[c]
		}
		if change != f.MemoryChange || !f.HasMemory {
			f.MemoryChange, f.HasMemory, e.dirty = change, true, true
		}
	}
}

// judge updates the effects that are not settled.
func (e *Tracker) judge() {
	for i := e.open; i < len(e.all); i++ {
		e.judgeOne(&e.all[i])
	}
	for e.open < len(e.all) && e.all[e.open].settled() {
		f := &e.all[e.open]
		f.from, f.to = nil, nil
		e.open++
	}
}

// settled reports whether an effect is final.
func (f *effect) settled() bool {
	return f.closed && f.to.waiting == 0 && (f.from == nil || f.from.waiting == 0)
}

// judgeOne compares the windows. It repeats the comparison only after the after-window has grown
// by a tenth, and once at the end.
func (e *Tracker) judgeOne(f *effect) {
	most := e.windowOf(f)
	var before pick
	if f.from != nil {
		before = f.from.before(most, e.scratch[0])
		e.scratch[0] = before.ns
	}
	after := f.to.after(most, e.scratch[1])
	e.scratch[1] = after.ns
	f.NBefore, f.NAfter, f.LeftOut = len(before.ns), len(after.ns), before.left+after.left
	f.Waiting = f.to.waiting
	f.Needed = max(0, profiles.EffectEnough-f.NAfter)
	if f.NBefore < profiles.EffectEnough && (f.from == nil || f.from.waiting == 0) {
		f.Needed = 0 // more iterations cannot help
	}
	f.Enough = f.NBefore >= profiles.EffectEnough && f.NAfter >= profiles.EffectEnough
	if now := (basis{f.NBefore, f.NAfter, before.all, after.all}); f.Enough && !f.final && f.worthwhile(now, most) {
		n := min(f.NBefore, f.NAfter)
		e.compare(f, before.ns[f.NBefore-n:], after.ns[:n])
		f.judged = now
		f.final = f.most > 0 && f.to.waiting == 0 && (f.NAfter == most && !after.all || f.to.full())
	}
	f.disturbance = reason{}
	if f.Enough {
		f.disturbance = disturbance(before.foreign, after.foreign, f.Shift)
	}
	f.Confounded, f.Briefly = f.confounds()
	f.Closed = f.settled()
}

// windowOf returns the number of iterations in a window of an effect. It is fixed once everything
// before the change is counted, because the history continues to change.
func (e *Tracker) windowOf(f *effect) int {
	switch {
	case f.most > 0:
		return f.most
	case f.from == nil:
		return Window
	}
	most := e.history.window(f.from.stretch)
	if f.from.waiting == 0 {
		f.most = most
	}
	return most
}

// compare compares two windows of equal length against the run's own drift, and checks the phases
// that the change cannot affect.
func (e *Tracker) compare(f *effect, before, after []int64) {
	n := len(before)
	drift := e.drifted(f, 0, n)
	s := stats.MovedShift(before, after, drift)
	f.BeforeNS, f.AfterNS = s.Before, s.After
	f.Shift, f.Low, f.High = s.Relative, s.Low, s.High
	f.Drift, f.DriftWindows = math.Expm1(drift.Move), drift.Windows
	f.moved = reason{}
	controls := f.controls()
	for p, name := range e.names {
		if controls&(1<<p) == 0 || f.moved.full != "" {
			continue
		}
		if shift, moved := e.control(f, 1+p, n, s.Before); moved {
			f.moved = reason{fmt.Sprintf("%s moved %+.0f %%, which %s cannot change", name, 100*shift, f.Key),
				name + " moved"}
		}
	}
	if f.moved.full == "" && stats.Zero(0).Judge(s.Low, s.High).Excluded() {
		if shift, along := e.alongside(f, n, s); along {
			f.moved = reason{fmt.Sprintf("the phases that %s cannot change moved %+.0f %%", f.Key, 100*shift),
				"other phases moved"}
		}
	}
}

// drifted returns the drift of the medians of windows of n iterations before a change.
func (e *Tracker) drifted(f *effect, column, n int) stats.Drift {
	stretches, room := e.history.until(f.from.stretch, column, e.scratch[2])
	e.scratch[2] = room
	return stats.MedianDrift(stretches, n)
}

// controls returns the phases that none of the changes can affect.
func (f *effect) controls() uint16 {
	all := f.Controls
	for _, c := range f.With {
		all &= c.Controls
	}
	return all
}

// A phase that a change cannot affect indicates that the machine changed if it moved by more than
// controlMove and by more than controlFactor times its own drift; the factor allows for testing
// several phases. Phases below controlShare of the iteration are ignored.
const (
	controlMove   = 0.03
	controlFactor = 1.25
	controlShare  = 0.03
)

// control reports whether a phase that the change cannot affect moved, and by how much.
func (e *Tracker) control(f *effect, column, n int, whole float64) (shift float64, moved bool) {
	drift := e.drifted(f, column, n)
	drift.Move *= controlFactor
	room := e.scratch[2]
	here := e.history.count(f.from.stretch) - e.history.count(f.from.stretch-1)
	if here < n || !drift.Known() {
		return 0, false
	}
	before := slices.Clone(room[len(room)-n:])
	after := e.history.first(f.to.stretch, column, n, room)
	if len(after) < n || slices.Min(before) <= 0 || slices.Min(after) <= 0 {
		return 0, false
	}
	s := stats.MovedShift(before, after, drift)
	if s.Before < controlShare*whole {
		return 0, false
	}
	return s.Relative, math.Abs(s.Relative) > controlMove && stats.Zero(0).Judge(s.Low, s.High).Excluded()
}

// If all controls together make up at least alongsideShare of the iteration and moved in the
// direction of an effect by at least alongsidePart of it, the machine's speed explains the effect
// as well as the change does.
const (
	alongsideShare = 0.25
	alongsidePart  = 0.5
)

// alongside reports whether the controls together moved along with an effect, and by how much.
func (e *Tracker) alongside(f *effect, n int, s stats.Shift) (shift float64, along bool) {
	sums := [2][]int64{make([]int64, n), make([]int64, n)}
	for p := range e.names {
		if f.controls()&(1<<p) == 0 {
			continue
		}
		sides := [2][]int64{e.history.last(f.from.stretch, 1+p, n), e.history.first(f.to.stretch, 1+p, n, nil)}
		for side, times := range sides {
			if len(times) < n {
				return 0, false
			}
			for i, ns := range times {
				sums[side][i] += ns
			}
		}
	}
	c := stats.MovedShift(sums[0], sums[1], stats.Drift{})
	if !(c.Before >= alongsideShare*s.Before) {
		return 0, false
	}
	moved, whole := math.Log1p(c.Relative), math.Log1p(s.Relative)
	return c.Relative, moved*whole > 0 && math.Abs(moved) >= alongsidePart*math.Abs(whole)
}

// worthwhile reports whether the numbers should be recomputed.
func (f *effect) worthwhile(now basis, most int) bool {
	was := f.judged
	if now == was {
		return false
	}
	grown := now
	grown.after = was.after
	return grown != was || f.settled() || now.after == most || 10*now.after >= 11*was.after
}

// View returns all effects, newest last (those without an iteration yet at the end), and all
// changes. The caller must not modify them.
func (e *Tracker) View() ([]profiles.Effect, []profiles.Change) {
	if !e.dirty {
		return e.published, e.changes
	}
	e.judge()
	e.published = make([]profiles.Effect, 0, len(e.all)+len(e.waiting))
	for i := range e.all {
		e.published = append(e.published, e.all[i].Effect)
	}
	for i := range e.waiting {
		if b := &e.waiting[i]; len(b.net()) > 0 {
			f := b.effect()
			f.Closed, f.Ended = e.over, e.over
			e.published = append(e.published, f)
		}
	}
	e.published = e.published[max(0, len(e.published)-maxChanges):]
	e.changes = e.limits.list()
	for i := range e.published {
		e.changes = append(e.changes, e.published[i].Changes()...)
	}
	slices.SortStableFunc(e.changes, func(a, b profiles.Change) int { return cmp.Compare(a.Iteration, b.Iteration) })
	e.dirty = false
	return e.published, e.changes
}

// Told returns and removes the pending log lines.
func (e *Tracker) Told() []profiles.LogLine {
	lines := e.log
	e.log = nil
	return lines
}
