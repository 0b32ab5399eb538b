// Package aggregate consumes the events of a source and builds the snapshots for the screen:
// windows, histograms, curves and trends, with alerts and the effects of changes.
package aggregate

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/alert"
	"prismtop/profiles/effect"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/watching"
)

// The aggregator: its options, taking events into the record of a run, and making a snapshot of it at each tick.

// maxLog bounds the number of log lines kept.
const maxLog = 200

// Options of an Aggregator.
type Options struct {
	// Pictures is the minimum time between two requests for a picture of the
	// reconstruction; 0 disables requests.
	Pictures time.Duration

	// Watching measures the cost of watching while Run runs, and thins it; nil watches at the
	// interval of Run throughout.
	Watching *watching.Schedule

	// Load reads the processor time used by programs; nil reads this machine's.
	Load func() machine.Load

	// Resident reads the resident memory of another process that computes the run, in bytes; nil reads this one's.
	Resident func() (rss, peak int64, reason string)

	// Sensors returns the newest reading of the GPUs and of the counters of energy, and when it was taken; nil
	// before the first. It must not wait. A nil function reads none.
	Sensors func() (*machine.Sensors, time.Time)

	// Tape records what the aggregator consumes; nil for none.
	Tape Tape

	// Starts is the number of starts in the recording that the run goes on with, and Notes are their notes.
	Starts int
	Notes  []profiles.EarlierNote
}

// Tape records what an aggregator consumes. The same events before the same ticks give the same
// snapshots. Its methods are called by the goroutine that ticks, and must not wait.
type Tape interface {
	// Event records an event. The event, and an *Iteration in it, are valid only during the call.
	Event(e *profiles.Event)
	// Tick records a tick at now, after its events, with the snapshot that it gave and the number of
	// events that were lost so far.
	Tick(now time.Time, s *profiles.Snapshot)
	// Drained records that the events so far were consumed without a tick at now.
	Drained(now time.Time)
}

// Aggregator consumes the events of a Source and builds a Snapshot per tick.
type Aggregator struct {
	source  profiles.Source
	asker   profiles.Asker    // nil if the source makes no pictures on request
	report  profiles.Reporter // nil if readings of the machine arrive as events
	thinner profiles.Thinner  // nil if the source does no work only to be watched
	options Options
	offers  chan *profiles.Snapshot
	newest  atomic.Pointer[profiles.Snapshot]
	inputs  chan struct{} // a user's input
	holds   chan hold
	over    chan struct{} // closed when Run has ended
	pacing

	record
	log       []profiles.LogLine
	before    profiles.Before
	noted     []profiles.EarlierNote // in the starts before
	prior     *profiles.Snapshot     // the last of the start before; nil for none
	ablation  *profiles.Ablation
	compared  *profiles.Ablation // the newest with a table
	recording profiles.RecordingState

	asked    time.Time // when a picture was last requested
	memory   profiles.MemoryView
	sensors  machine.Sensors
	readings readings
	loads    loads
	cost     cost
	dropped  int64
	output   *profiles.Output // also of starts before

	ablatingSince time.Time
	behind        bool // the newest snapshot is older than the last Advance
}

// record holds everything aggregated since Begin.
type record struct {
	run      profiles.RunInfo
	settings settings.Values
	retuned  bool // a setting was changed since the start
	next     *settings.Values
	err      string
	endedBy  string // the setting that finished the run
	began    time.Time
	pace     pace

	last   profiles.Iteration // the newest
	has    bool
	recent window
	stage  *stage // the whole one
	fresh  bool   // iterations arrived since times were summarised
	times  profiles.Times
	whole  profiles.Times
	trends trends
	single timings

	iterationTime, clock series
	series               [profiles.MaxSeries]series
	values               [profiles.MaxSeries]profiles.SeriesView // the newest of each

	batches  batches
	needs    needs
	watch    memoryWatch
	energies energies
	beside   runLoad
	alerts   alert.Watch

	skipped, nonFinite int64

	pictures [profiles.MaxPictures]*profiles.Picture
	layers   []profiles.Layer
	roofs    *profiles.Roofs
	effects  effect.Tracker
	results  []profiles.UnitResult // the newest
	earlier  profiles.Ended        // units whose results are not kept
	tasks    *profiles.Tasks
	ranks    *profiles.Ranks
	notes    []profiles.Note
	kept     profiles.Kept
}

// New returns an aggregator of the events of source. If source is an Asker, it
// requests pictures; if it is a Reporter, it reads the machine; if it is a Thinner, it
// thins the work that is done only to be watched.
func New(source profiles.Source, options Options) *Aggregator {
	if options.Load == nil {
		options.Load = machine.ReadLoad
	}
	collectable := func() int64 { return 0 }
	if options.Resident == nil {
		options.Resident, collectable = machine.ReadResident, machine.ReadCollectable
	}
	a := &Aggregator{
		source: source, options: options,
		offers: make(chan *profiles.Snapshot, 1),
		inputs: make(chan struct{}, 1),
		holds:  make(chan hold),
		over:   make(chan struct{}),
		readings: readings{load: options.Load, resident: options.Resident, collectable: collectable,
			sensors: options.Sensors},
		record: record{stage: new(stage)},
	}
	a.asker, _ = source.(profiles.Asker)
	a.report, _ = source.(profiles.Reporter)
	a.thinner, _ = source.(profiles.Thinner)
	return a
}

// Snapshots delivers the newest snapshot. A slow reader misses intermediate ones;
// the channel is closed when Run returns.
func (a *Aggregator) Snapshots() <-chan *profiles.Snapshot { return a.offers }

// Last returns the snapshot of the last Tick, nil before the first. It is safe
// for concurrent use.
func (a *Aggregator) Last() *profiles.Snapshot { return a.newest.Load() }

// Tick consumes the source's events and returns the snapshot at now: the previous
// one if nothing is new and the run is not running. now follows time.Now and must
// not decrease.
func (a *Aggregator) Tick(now time.Time) *profiles.Snapshot {
	start := time.Now()
	s := a.tick(now)
	if a.options.Tape != nil {
		a.options.Tape.Tick(now, s)
	}
	a.cost.add(start, time.Now())
	return s
}

func (a *Aggregator) tick(now time.Time) *profiles.Snapshot {
	moved := a.drain() || a.drained
	a.drained = false
	if a.report != nil && a.report.Reports() && a.readMachine(now, moved) {
		moved = a.drain() || moved
	}
	a.settle()
	if a.asker != nil && a.options.Pictures > 0 && now.Sub(a.asked) >= a.options.Pictures*time.Duration(a.sparse()) {
		a.asker.WantPicture()
		a.asked = now
	}
	if before := a.Last(); before != nil && !moved && !a.behind && a.pace.state != profiles.Running {
		return before
	}
	if a.fresh {
		a.summarise()
	}
	a.judge(now)
	s := a.snapshot(now)
	a.newest.Store(s)
	a.behind = false
	return s
}

// Advance is a Tick without a snapshot, for a replay on its way: the next Tick gives what it would have
// given after Ticks only.
func (a *Aggregator) Advance(now time.Time) {
	moved := a.drain() || a.drained
	a.drained = false
	a.settle()
	if a.Last() != nil && !moved && !a.behind && a.pace.state != profiles.Running {
		return
	}
	a.behind = true
	if a.fresh {
		a.times.Total = a.recent.spread(&a.recent.total)
	}
	a.judge(now)
	// What a snapshot changes.
	a.pace.rate(now)
	a.iterationTime.seal()
	a.clock.seal()
	for i := range a.run.Schema.Series {
		a.series[i].seal()
	}
	a.watch.history()
	a.effects.View()
}

// drain consumes the source's events. It reports whether there was anything new: for a run
// that is not running, the load by other programs is not new unless iterations wait for it.
func (a *Aggregator) drain() (moved bool) {
	dropped := a.source.Dropped()
	a.source.Drain(func(e *profiles.Event) {
		_, load := e.Body.(*profiles.Load)
		moved = moved || !load || a.pace.state == profiles.Running || a.standing()
		a.happened(e)
	})
	moved = moved || dropped != a.dropped
	a.dropped = dropped
	return moved
}

// happened records an event and handles it.
func (a *Aggregator) happened(e *profiles.Event) {
	if a.options.Tape != nil {
		a.options.Tape.Event(e)
	}
	a.take(e)
}

// take handles an event.
func (a *Aggregator) take(e *profiles.Event) {
	switch b := e.Body.(type) {
	case *profiles.Iteration:
		a.iteration(b)
		a.compare(b)
	case *profiles.Begin:
		a.conclude(e.At)
		for _, n := range a.notes {
			a.noted = keepNewest(append(a.noted, profiles.EarlierNote{Note: n, Start: a.start()}), profiles.MostNotes)
		}
		if b.Info.PriorStarts == 0 {
			a.before, a.noted = profiles.Before{}, slices.Clip(a.options.Notes)
		} else if b.Info.Resumed == 0 && a.has {
			effects, _ := a.effects.View()
			a.before.Iterations += a.last.Index + 1
			a.before.Changes += len(effects)
		}
		a.record = record{run: b.Info, settings: b.Settings, began: e.At, stage: a.stage}
		a.effects, a.forking = effect.New(&b.Info.Schema), false
		a.sized(nil)
		a.stage.clear()
		a.pace.enter(profiles.Preparing, e.At)
		a.memory.Memory = profiles.Memory{}
	case *profiles.Grown:
		a.run.Schema = b.Schema
		a.effects.Grow(&b.Schema)
	case *profiles.Changed:
		a.settings = b.Settings
		a.needs.change()
		a.retuned = a.retuned || !b.Ablation
		a.sized(&b.Change)
		if b.Ablation { // its table has them
			a.effects.Cut(b.Change)
			break
		}
		a.effects.Change(b.Change)
	case *profiles.Moved:
		a.run.Move(b)
		a.results = slices.Clip(a.results[:max(0, len(a.results)-b.Again)])
	case *profiles.Next:
		a.next = &b.Settings
	case *profiles.StateChange:
		a.enter(b, e.At)
	case *profiles.Measurement:
		a.measure(b)
	case *profiles.UnitResult:
		a.results = a.earlier.Thin(a.results, b)
	case *profiles.Ended:
		a.earlier.Join(b)
	case *profiles.LogEntry:
		a.tell(profiles.LogLine{Text: b.Text, Refused: b.Refused, Kept: b.Kept}, e.At)
		if b.Kept.Path != "" {
			a.kept = b.Kept
		}
	case *profiles.Note:
		a.notes = keepNewest(append(a.notes, *b), profiles.MostNotes)
		a.tell(profiles.LogLine{Text: b.String()}, a.began.Add(b.Written))
	case *profiles.Picture:
		a.pictures[b.ID] = b
	case *profiles.Memory:
		a.memory.Memory = *b
		a.needs = needs{}
		a.effects.Holds(b.Held(&a.run.Schema)-b.Caches, &a.last.Caches, true)
	case *profiles.LayerTimes:
		a.layers, a.roofs = b.Layers, b.Roofs
	case *profiles.Ablation:
		a.takeAblation(b, e.At)
		if b.Replication && len(b.Rows) == 1 {
			a.effects.Replicate(b)
		}
	case *profiles.Tasks:
		a.tasks = b
	case *profiles.Output:
		a.output = b
	case *profiles.Ranks:
		a.ranks, a.run.Ranks = b, max(a.run.Ranks, b.World) // a launcher may add some
	case *profiles.Fork:
		a.forking, a.pace.paused = b.Running, true
		a.effects.Forked(b)
	case *profiles.Resident:
		a.takeResident(b, e.At)
	case *profiles.Sensors:
		a.takeSensors(b, e.At)
	case *profiles.RecordingState:
		a.recording = *b
	case *profiles.Load:
		a.takeLoad(b, e.At)
	}
}

// tell adds a line of a time to the log.
func (a *Aggregator) tell(line profiles.LogLine, at time.Time) {
	if !a.began.IsZero() {
		line.At = at.Sub(a.began)
	}
	a.log = keepNewest(append(a.log, line), maxLog)
}

// compare passes an iteration to the measurement of watching, and logs its news.
func (a *Aggregator) compare(it *profiles.Iteration) {
	w := a.options.Watching
	if w == nil {
		return
	}
	w.Iteration(it)
	if news := w.News(); news != "" {
		a.happened(&profiles.Event{At: a.began.Add(time.Duration(it.Start)), Body: &profiles.LogEntry{Text: news}})
	}
}

// enter handles a new state.
func (a *Aggregator) enter(b *profiles.StateChange, at time.Time) {
	a.pace.enter(b.State, at)
	a.energies.cut()
	if b.Ran > 0 {
		a.pace.running = b.Ran
	}
	a.err, a.endedBy = "", ""
	if b.State == profiles.Finished {
		a.endedBy = b.Why
	} else {
		a.err = b.Why
	}
	if b.State > profiles.Paused {
		a.effects.End()
	}
	if w := a.options.Watching; w != nil {
		w.Void()
	}
}

// keepNewest bounds a list whose published parts are never modified.
func keepNewest[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	return append([]T(nil), list[len(list)-most:]...)
}

// iteration handles the next iteration.
func (a *Aggregator) iteration(it *profiles.Iteration) {
	if !a.has || !a.run.Schema.SameStage(it.Kind, a.last.Kind) {
		a.stage.clear()
	}
	begins := a.effects.Iteration(it)
	a.effects.Holds(a.memory.Held(&a.run.Schema)-a.memory.Caches, &it.Caches, false)
	for _, line := range a.effects.Told() {
		a.log = keepNewest(append(a.log, line), maxLog)
	}
	if begins {
		if a.ablation != nil && a.ablation.Running {
			a.recent.end()
		} else {
			a.recent.reset()
		}
		a.energies.cut()
		a.watch.begin(time.Duration(a.pace.clock))
	}
	a.alerts.Iteration(it, begins)
	a.cost.busy += time.Duration(it.Retimed)
	if it.Flags&(profiles.Warmup|profiles.Unphased) == 0 {
		a.recent.add(it, &a.last)
		a.stage.add(it)
		a.trends.add(it)
	}
	if a.run.Schema.Item.One != "" {
		a.batches.add(it, begins, a.run.Schema.Items(a.settings), a.needs.of(&a.memory.Memory, &a.run.Schema))
	}
	a.single.add(it)
	a.iterationTime.binned = true
	a.iterationTime.add(it.Index, float64(it.Total)/1e6)
	a.clock.add(it.Index, float64(it.Start)/1e9)
	for i := range a.run.Schema.Series {
		v := it.Series[i]
		unread := it.Flags&profiles.Unphased != 0 && math.IsNaN(v)
		if !a.run.Schema.Series[i].Each || unread {
			continue
		}
		a.series[i].add(it.Index, v)
		a.values[i] = profiles.SeriesView{Latest: v, Has: true, Iteration: it.Index}
	}
	if it.Flags&profiles.SkippedStep != 0 {
		a.skipped++
	}
	if it.Flags&profiles.NonFinite != 0 {
		a.nonFinite++
	}
	a.pace.iteration(it)
	a.last, a.has, a.fresh = *it, true, true
}

// measure handles values measured outside the iterations.
func (a *Aggregator) measure(m *profiles.Measurement) {
	for i := range a.run.Schema.Series {
		if v := m.Values[i]; !a.run.Schema.Series[i].Each && !math.IsNaN(v) {
			a.series[i].add(m.Iteration, v)
			a.values[i] = profiles.SeriesView{Latest: v, Has: true, Iteration: m.Iteration}
		}
	}
	if i := a.run.Schema.SeriesNamed(a.run.Schema.Quality); i >= 0 {
		a.alerts.Quality(m.Values[i], a.run.Schema.Series[i].Better, m.Iteration)
	}
	a.effects.Measure(m)
}

// summarise updates the summaries of times.
func (a *Aggregator) summarise() {
	a.times, a.whole, a.fresh = a.recent.times(), a.stage.times(), false
}

// judge looks for problems at now. Cleared alerts are logged.
func (a *Aggregator) judge(now time.Time) {
	if !a.has {
		return
	}
	elapsed, at := a.pace.elapsed(now), max(0, now.Sub(a.began))
	if a.forking {
		a.alerts.Hold(a.last.Index+1, elapsed)
		return
	}
	a.alerts.Measure(a.pace.clock, a.pace.count, now, a.loads.share)
	f := alert.Facts{
		Schema: &a.run.Schema, Passes: a.run.Passes, State: a.pace.state, Settings: a.settings,
		Iteration: a.last.Index + 1,
		Longest:   a.pace.longestGap(), Usual: a.times.Total.Median, Mean: a.times.Total.Mean,
		Caches: a.recent.caches(&a.last), Trend: a.watch.trend, RSS: a.memory.RSS,
		Scale: a.value(profiles.GradientScale), NonFinite: a.nonFinite, Results: a.results,
		Recording: a.recording, Failed: a.run.Failed, Needs: a.run.Needs, Available: a.run.Available,
		Initial: a.watch.initial,
	}
	rate, known := a.pace.rate(now), false
	if f.Remaining, known = a.remaining(elapsed, rate); !known && a.run.Most > 0 && !a.retuned && rate > 0 {
		f.Remaining, f.AtMost = time.Duration(min(float64(a.run.Most-f.Iteration)/rate, math.MaxInt32)*1e9), true
	}
	for _, line := range a.alerts.Judge(&f, elapsed, at) {
		a.log = keepNewest(append(a.log, line), maxLog)
	}
}

// value returns the value of a series in the newest iteration, NaN if the schema has no
// series of that name.
func (a *Aggregator) value(name string) float64 {
	if i := a.run.Schema.SeriesNamed(name); i >= 0 && a.run.Schema.Series[i].Each {
		return a.last.Series[i]
	}
	return math.NaN()
}

// conclude keeps the last snapshot of a start that ends by another at now, without pictures and its own cost.
func (a *Aggregator) conclude(now time.Time) {
	if a.prior = nil; !a.has {
		return
	}
	if a.fresh {
		a.summarise()
	}
	a.prior = a.snapshot(now)
	a.prior.Pictures, a.prior.Own = [profiles.MaxPictures]*profiles.Picture{}, profiles.OwnCost{}
}

// start returns the number of starts of the run before this one.
func (a *Aggregator) start() int { return a.options.Starts + a.run.PriorStarts }

// snapshot builds the snapshot at now.
func (a *Aggregator) snapshot(now time.Time) *profiles.Snapshot {
	effects, changes := a.effects.View()
	s := &profiles.Snapshot{
		Run: a.run, Settings: a.settings, Next: a.next, State: a.pace.state, Err: a.err, EndedBy: a.endedBy,
		Before: a.before, Start: a.start(), Prior: a.prior, EarlierNotes: slices.Clip(a.noted),
		Elapsed: a.pace.elapsed(now), Rate: a.pace.rate(now),
		Total: a.times.Total, Phases: a.times.Phases, Whole: a.whole,
		Trends: a.trends.publish(), Recent: a.single.newest(),
		IterationTime: a.iterationTime.curve(), Clock: a.clock.curve(), Series: a.followed(),
		SkippedSteps: a.skipped, NonFinite: a.nonFinite,
		Pictures: a.pictures, Layers: a.layers, Roofs: a.roofs, Ablation: a.ablation, Compared: a.compared,
		Batches: a.batches.views(), Caches: a.recent.caches(&a.last), Memory: a.memory, Load: a.loadView(),
		Sensors: profiles.SensorsView{Sensors: a.sensors, Energy: a.energies.views},
		Changes: changes, Effects: effects, Notes: slices.Clip(a.notes),
		Recording: a.recording, Kept: a.kept, Tasks: a.tasks, Output: a.output, Ranks: a.ranks,
		Results: slices.Clip(a.results), Earlier: a.earlier, Log: slices.Clip(a.log), Alerts: a.alerts.Standing(),
		Own:  profiles.OwnCost{Aggregator: a.cost.share(time.Now()), Dropped: a.dropped, Watching: a.watchingCost()},
		Unit: -1,
	}
	s.Memory.GPUReason = a.run.GPUReason
	s.Memory.History, s.Memory.Trend = a.watch.history(), a.watch.trend
	if a.has {
		s.Kind, s.Index = a.last.Kind, a.last.Index+1
		s.Unit, s.InUnit = int(a.last.Unit), int(a.last.InUnit)
		s.Memory.Caches = cacheBytes(&a.last)
	} else {
		for i, c := range a.run.Schema.Caches {
			s.Caches[i].Enabled = a.settings.On(c.Setting)
		}
	}
	s.ETA, s.ETAKnown = a.remaining(s.Elapsed, s.Rate)
	return s
}

// remaining estimates the running time until the end, after elapsed and at rate iterations per second; ok is false if
// nothing is known, or the run has ended.
func (a *Aggregator) remaining(elapsed time.Duration, rate float64) (eta time.Duration, ok bool) {
	if a.pace.state != profiles.Running && a.pace.state != profiles.Paused {
		return 0, false
	}
	var done int64
	if a.has {
		done = a.last.Index + 1
	}
	p := progress{a.run.AllUnits(), a.earlier.Units, a.results, limitsOf(a.settings, &a.run.Schema), elapsed, rate,
		done}
	return p.remaining()
}

// followed returns every series so far.
func (a *Aggregator) followed() (views [profiles.MaxSeries]profiles.SeriesView) {
	for i := range views {
		views[i].Latest = math.NaN()
		if i >= len(a.run.Schema.Series) {
			continue
		}
		if a.values[i].Has {
			views[i] = a.values[i]
		}
		views[i].Curve = a.series[i].curve()
	}
	return views
}

// cacheBytes returns the memory of the caches after it, which is newer than the
// run's Memory.
func cacheBytes(it *profiles.Iteration) (bytes int64) {
	for _, c := range it.Caches {
		bytes += c.Bytes
	}
	return bytes
}
