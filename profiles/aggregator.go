package profiles

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
)

const (
	// leastInterval is the fastest that Run ticks: 10 snapshots a second.
	leastInterval = 100 * time.Millisecond
	// residentEvery is how often the operating system is asked for memory.
	residentEvery = time.Second
	// maxLog bounds the log lines that are kept, the newest.
	maxLog = 200
)

// Options of an Aggregator.
type Options struct {
	// Pictures is the least time between two requests for a picture of the
	// reconstruction; 0 asks for none.
	Pictures time.Duration

	// Load reads what programs take of the processors; nil reads this machine.
	Load func() machine.Load
}

// Aggregator reads a Stream and builds a Snapshot per tick.
type Aggregator struct {
	stream  *Stream
	options Options
	offers  chan *Snapshot
	newest  atomic.Pointer[Snapshot]

	spare []event // room for the stream's next events
	record
	log      []LogLine
	ablation *Ablation

	asked    time.Time // when a picture was asked for
	memory   MemoryView
	memoryAt time.Time // of the newest reading, in that state
	memoryIn State
	resident func() (rss, peak int64, reason string)
	// collectable is the share of RSS that nothing lives in.
	collectable func() int64
	loads       loads
	cost        cost
	dropped     int64

	ablatingSince time.Time
}

// record is what was aggregated since Begin.
type record struct {
	run      RunInfo
	settings preset.Settings
	next     *preset.Settings
	err      string
	endedBy  string // the setting that finished the run
	began    time.Time
	pace     pace

	last   Iteration // the newest
	has    bool
	recent window
	stage  *[NumPhases + 1]histogram // of the whole stage; the last is Total
	fresh  bool                      // iterations came since times were summarised
	times  Times
	whole  Times
	trends trends
	single timings

	iterationTime, clock, lossOld, lossNew, psnr, ssim, rmse series

	watch  memoryWatch
	alarms alarms

	skipped, nonFinite int64

	quality    Quality
	hasQuality bool
	picture    *Picture
	truth      *Picture
	layers     []Layer
	roofs      *Roofs
	coverage   float64
	effects    effects
	results    []SampleResult
}

// NewAggregator returns an aggregator of what stream carries.
func NewAggregator(stream *Stream, options Options) *Aggregator {
	if options.Load == nil {
		options.Load = machine.ReadLoad
	}
	return &Aggregator{
		loads:    loads{read: options.Load},
		stream:   stream,
		options:  options,
		offers:   make(chan *Snapshot, 1),
		resident: resident, collectable: collectable,
		record: record{stage: new([NumPhases + 1]histogram)},
	}
}

// Snapshots delivers the newest snapshot. A reader that is late misses those
// between; the channel is closed when Run returns.
func (a *Aggregator) Snapshots() <-chan *Snapshot { return a.offers }

// Last is the snapshot of the last Tick, nil before the first. Any goroutine may
// ask.
func (a *Aggregator) Last() *Snapshot { return a.newest.Load() }

// Run ticks every interval, at most 10 times a second, and offers the snapshots
// until ctx ends; then it ticks once more, offers the last snapshot and closes
// the channel. A tick that finds nothing new offers nothing. It may be called
// once, and Tick not beside it.
func (a *Aggregator) Run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(max(interval, leastInterval))
	defer ticker.Stop()
	defer close(a.offers)
	a.offer(a.Tick(time.Now()))
	for {
		select {
		case <-ctx.Done():
			a.offer(a.Tick(time.Now()))
			return
		case <-ticker.C:
			before := a.Last()
			if s := a.Tick(time.Now()); s != before {
				a.offer(s)
			}
		}
	}
}

// offer replaces what no one has read yet. Run is the only sender, so the slot
// is free once it was emptied.
func (a *Aggregator) offer(s *Snapshot) {
	select {
	case a.offers <- s:
		return
	default:
	}
	select {
	case <-a.offers:
	default:
	}
	a.offers <- s
}

// Tick takes in what the stream holds and returns the snapshot at now: the one
// before when nothing is new and the run stands still. now follows time.Now and
// does not run backwards.
func (a *Aggregator) Tick(now time.Time) *Snapshot {
	start := time.Now()
	defer func() { a.cost.add(start, time.Now()) }()

	moved := a.drain(now)
	a.readLoad(now)
	if a.options.Pictures > 0 && now.Sub(a.asked) >= a.options.Pictures {
		a.stream.WantPicture()
		a.asked = now
	}
	if before := a.Last(); before != nil && !moved && a.pace.state != Running {
		return before
	}
	// A run that is over grew until its end, however soon that came.
	if a.memoryAt.IsZero() || now.Sub(a.memoryAt) >= residentEvery || a.memoryIn != a.pace.state {
		a.memory.RSS, a.memory.PeakRSS, a.memory.Reason = a.resident()
		a.memoryAt, a.memoryIn = now, a.pace.state
		if a.has && a.pace.state == Running {
			a.watch.read(&a.memory, cacheBytes(&a.last), a.collectable(), a.last.Index, a.pace.elapsed(now))
		}
	}
	a.judge(now)
	s := a.snapshot(now)
	a.newest.Store(s)
	return s
}

// drain takes in iterations and events in the order in which they happened. It
// returns whether there were any.
func (a *Aggregator) drain(now time.Time) bool {
	b := a.stream.take(a.spare)
	ring := a.stream.ring
	moved := b.dropped != a.dropped
	a.dropped = b.dropped
	for i := range b.events {
		a.pop(ring, b.events[i].position)
		a.apply(&b.events[i])
	}
	moved = a.pop(ring, b.limit) || moved || len(b.events) > 0
	clear(b.events) // lets go of pictures and settings
	a.spare = b.events
	return a.applyLatest(&b.latest, now) || moved
}

// pop takes in the iterations up to a place in the ring.
func (a *Aggregator) pop(ring *Ring, limit uint64) (any bool) {
	var it Iteration
	for ring.Read() < limit && ring.Pop(&it) {
		a.iteration(&it)
		any = true
	}
	return any
}

func (a *Aggregator) apply(e *event) {
	switch e.kind {
	case beginEvent:
		a.record = record{run: *e.info, settings: *e.settings, began: e.at, stage: a.stage}
		clear(a.stage[:])
		a.pace.enter(Preparing, e.at)
		a.memory.Memory = Memory{}
	case changeEvent:
		a.settings = *e.settings
		if e.change.Ablation { // its table tells of them
			a.effects.cut(e.change)
			break
		}
		a.effects.change(e.change)
	case qualityEvent:
		a.compare(e.quality)
	case sampleEvent:
		a.results = append(a.results, e.result)
	case stateEvent:
		a.pace.enter(e.state, e.at)
		a.err, a.endedBy = "", ""
		if e.state == Finished {
			a.endedBy = e.text
		} else {
			a.err = e.text
		}
		if e.state > Paused {
			a.effects.end()
		}
	case logEvent:
		line := LogLine{Text: e.text, Refused: e.refused}
		if !a.began.IsZero() {
			line.At = e.at.Sub(a.began)
		}
		a.log = keepNewest(append(a.log, line), maxLog)
	case truthEvent:
		a.truth = e.picture
	}
}

// keepNewest bounds a list whose published prefixes are never written again.
func keepNewest[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	return append([]T(nil), list[len(list)-most:]...)
}

// applyLatest takes in what only the newest value of matters, and what did not
// fit into the queue.
func (a *Aggregator) applyLatest(l *latest, now time.Time) (any bool) {
	if l.hasMemory {
		a.memory.Memory, any = l.memory, true
	}
	if l.hasCoverage {
		a.coverage, any = l.coverage, true
	}
	if l.hasLayers {
		a.layers, a.roofs, any = l.layers, l.roofs, true
	}
	if l.picture != nil {
		a.picture, any = l.picture, true
	}
	if l.ablation != nil {
		a.takeAblation(l.ablation, now)
		any = true
	}
	if l.settings != nil {
		a.settings, any = *l.settings, true
	}
	if l.next != nil {
		a.next, any = l.next, true
	}
	if l.state != nil {
		a.apply(l.state)
		any = true
	}
	return any
}

// iteration takes in the next iteration.
func (a *Aggregator) iteration(it *Iteration) {
	if !a.has || it.Stage != a.last.Stage {
		clear(a.stage[:])
	}
	begins := a.effects.iteration(it)
	for _, line := range a.effects.told() {
		a.log = keepNewest(append(a.log, line), maxLog)
	}
	if begins {
		a.recent.reset()
		a.watch.begin(time.Duration(a.pace.clock))
	}
	a.alarms.iteration(it, begins)
	a.cost.busy += time.Duration(it.Retimed)
	if it.Flags&Warmup == 0 {
		a.recent.add(it, &a.last)
		for p := range NumPhases {
			if it.Phases[p] > 0 {
				a.stage[p].add(it.Phases[p])
			}
		}
		a.stage[NumPhases].add(it.Total)
		a.trends.add(it)
	}
	a.single.add(it)
	a.iterationTime.binned = true
	a.iterationTime.add(it.Index, float64(it.Total)/1e6)
	a.clock.add(it.Index, float64(it.Start)/1e9)
	a.lossOld.add(it.Index, it.LossOld)
	a.lossNew.add(it.Index, it.LossNew)
	if it.Flags&SkippedStep != 0 {
		a.skipped++
	}
	if it.Flags&NonFinite != 0 || !finite(it.LossNew) || it.Stage == Progressive && !finite(it.LossOld) {
		a.nonFinite++
		a.alarms.nonFiniteAt = it.Index
	}
	a.pace.iteration(it)
	a.last, a.has, a.fresh = *it, true, true
}

// compare takes in a comparison with the truth.
func (a *Aggregator) compare(q Quality) {
	a.quality, a.hasQuality = q, true
	a.psnr.add(q.Iteration, q.PSNR)
	a.ssim.add(q.Iteration, q.SSIM)
	a.rmse.add(q.Iteration, q.RMSE)
	a.effects.compare(q)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// summarise brings the summaries of times up to date.
func (a *Aggregator) summarise() {
	a.times, a.whole, a.fresh = a.recent.times(), wholeTimes(a.stage), false
}

// judge looks for what is wrong at now. Alerts that went are told in the log.
func (a *Aggregator) judge(now time.Time) {
	if !a.has {
		return
	}
	if a.fresh {
		a.summarise()
	}
	elapsed, at := a.pace.elapsed(now), max(0, now.Sub(a.began))
	f := facts{
		state: a.pace.state, settings: &a.settings, iteration: a.last.Index + 1,
		quiet: a.alarms.quiet(a.last.Index+1, elapsed), usual: a.times.Total.Median, mean: a.times.Total.Mean,
		caches: a.recent.caches(&a.last), trend: a.watch.trend, rss: a.memory.RSS,
		scale: a.last.GradientScale, nonFinite: a.nonFinite, nonFiniteAt: a.alarms.nonFiniteAt,
		results: a.results,
	}
	// A process that was stopped as a whole finds its loop going on as before.
	f.quiet = max(f.quiet, a.pace.longestGap())
	f.skipped, f.steps = a.alarms.skipped()
	a.alarms.measure(a.pace.clock, a.pace.count, now, a.loads.share)
	f.pace = a.alarms.pace
	for _, line := range a.alarms.judge(&f, elapsed, at) {
		a.log = keepNewest(append(a.log, line), maxLog)
	}
}

// snapshot builds what the screen needs at now.
func (a *Aggregator) snapshot(now time.Time) *Snapshot {
	if a.fresh {
		a.summarise()
	}
	effects := a.effects.view()
	s := &Snapshot{
		Run: a.run, Settings: a.settings, Next: a.next, State: a.pace.state, Err: a.err, EndedBy: a.endedBy,
		Elapsed: a.pace.elapsed(now), Rate: a.pace.rate(now),
		Total: a.times.Total, Phases: a.times.Phases, Whole: a.whole,
		Trends: a.trends.publish(), Recent: a.single.newest(),
		IterationTime: a.iterationTime.curve(), Clock: a.clock.curve(),
		LossOld: a.lossOld.curve(), LossNew: a.lossNew.curve(),
		PSNR: a.psnr.curve(), SSIM: a.ssim.curve(), RMSE: a.rmse.curve(),
		SkippedSteps: a.skipped, NonFinite: a.nonFinite,
		Quality: a.quality, HasQuality: a.hasQuality, Picture: a.picture, Truth: a.truth, Layers: a.layers, Roofs: a.roofs, Ablation: a.ablation,
		Caches: a.recent.caches(&a.last), Memory: a.memory, Load: a.loads.view,
		Changes: a.effects.changes, Effects: effects,
		Results: slices.Clip(a.results), Coverage: a.coverage, Log: slices.Clip(a.log), Alerts: a.alarms.shown,
		Own:    OwnCost{Aggregator: a.cost.share(time.Now()), Dropped: a.dropped},
		Sample: -1, LatestLossOld: math.NaN(), LatestLossNew: math.NaN(),
	}
	s.Memory.GPUReason = a.run.GPUReason
	s.Memory.History, s.Memory.Trend = a.watch.history(), a.watch.trend
	if a.has {
		s.Stage, s.Index = a.last.Stage, a.last.Index+1
		s.Sample, s.InSample = int(a.last.Sample), int(a.last.InSample)
		s.LatestLossOld, s.LatestLossNew = a.last.LossOld, a.last.LossNew
		s.Memory.Caches = cacheBytes(&a.last)
		s.LearningRate, s.GradientScale = a.last.LearningRate, a.last.GradientScale
	} else {
		s.Caches[MeasurementCache].Enabled = a.settings.MeasurementCache
		s.Caches[FFTPlans].Enabled = a.settings.FFTCache
		s.Caches[Masks].Enabled = a.settings.MaskCache
	}
	if a.pace.state == Running || a.pace.state == Paused {
		p := progress{a.run.AllSamples(), a.results, &a.settings, s.Elapsed, s.Rate, s.Index}
		s.ETA, s.ETAKnown = p.remaining()
	}
	return s
}

// cacheBytes is what the caches hold after it, newer than the run's Memory.
func cacheBytes(it *Iteration) (bytes int64) {
	for _, c := range it.Caches {
		bytes += c.Bytes
	}
	return bytes
}
