package aggregate

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// rig is a stream with its own clock, and its aggregator.
type rig struct {
	*stream.Stream
	a   *Aggregator
	now time.Time
	it  profiles.Iteration

	others float64 // share of the two processors used by other programs from here on
	load   machine.Load
	loadAt time.Time
}

// settingsOf are the values of a reconstruction's settings.
func settingsOf(s prism.Settings) settings.Values { return s.Values() }

func newRig() *rig {
	r := &rig{now: time.Now()}
	r.Stream = stream.WithClock(8192, func() time.Time { return r.now })
	r.loadAt = r.now
	r.a = New(r.Stream.Follow(), Options{Load: r.readLoad})
	return r
}

// readLoad simulates a machine on which this program uses what others leave.
func (r *rig) readLoad() machine.Load {
	passed := 2 * r.now.Sub(r.loadAt).Seconds()
	r.load.Add(machine.Load{Busy: passed, Own: passed * (1 - r.others), Passed: passed})
	r.loadAt = r.now
	return r.load
}

// setOthers changes the load by other programs.
func (r *rig) setOthers(share float64) {
	r.readLoad()
	r.others = share
}

func (r *rig) start() {
	r.Begin(prismtest.Info(4), settingsOf(prism.Settings{Seed: 7}))
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	r.it.Series[prism.SeriesLearningRate] = 1e-3
}

// iterate writes n iterations of 1 ms: 0.25 forward, 0.5 backward.
func (r *rig) iterate(n int) {
	for range n {
		r.it.Total = 1e6
		r.it.Phases[prism.PhaseForward], r.it.Phases[prism.PhaseBackward] = 25e4, 50e4
		r.Stream.Iteration(&r.it)
		r.it.Index++
		r.it.InUnit++
		r.it.Start += 1e6
		r.now = r.now.Add(time.Millisecond)
	}
}

func (r *rig) tick() *profiles.Snapshot { return r.a.Tick(r.now) }

func TestSnapshotTellsWhatTheRunWrote(t *testing.T) {
	r := newRig()
	r.start()
	r.Log("padded to square")
	truth, picture := &profiles.Picture{ID: prism.PictureTruth, Width: 1}, &profiles.Picture{Width: 2}
	r.Picture(truth)
	r.iterate(50)
	r.Measure(prismtest.ComparedAll(49, 21, 0.8, 3))
	r.UnitDone(profiles.UnitResult{Unit: 1, Iterations: 50, Converged: true})
	r.Memory(profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryWeights: 12}, Caches: 5})
	coverage := profiles.Measurement{Iteration: 49, Values: profiles.NoValues()}
	coverage.Values[prism.SeriesCoverage] = 0.184
	r.Measure(coverage)
	r.Picture(picture)
	r.it.Caches[prism.CacheMasks] = profiles.CacheCounters{Enabled: true, Hits: 30, Misses: 10, Bytes: 99}
	r.tick()
	r.iterate(50)
	s := r.tick()

	if s.Run.Object != "moon" || s.Settings.Int("seed") != 7 || s.State != profiles.Running || s.Err != "" {
		t.Errorf("run %+v, seed %d, state %v", s.Run, s.Settings.Int("seed"), s.State)
	}
	if s.Kind != prism.KindLaterSample || s.Stage() != "progressive" || !s.InUnits() || s.Index != 100 || s.Unit != 1 || s.InUnit != 99 || s.Elapsed != 100*time.Millisecond {
		t.Errorf("stage %q, index %d, sample %d, in sample %d, elapsed %v", s.Stage(), s.Index, s.Unit, s.InUnit, s.Elapsed)
	}
	if math.Abs(s.Rate-1000) > 1e-6 {
		t.Errorf("rate %v, want 1000 it/s", s.Rate)
	}
	want := profiles.Spread{Last: 1e6, Mean: 1e6, Median: 1e6, P10: 1e6, P95: 1e6, P90: 1e6, N: 100}
	if s.Total != want || s.Whole.Total.N != 100 || s.Whole.Phases[prism.PhaseForward].Share != 0.25 {
		t.Errorf("total %+v, whole %+v", s.Total, s.Whole.Total)
	}
	if f, b, o := s.Phases[prism.PhaseForward], s.Phases[prism.PhaseBackward], s.Phases[prism.PhaseOptimizer]; f.Share != 0.25 || b.Share != 0.5 || b.Median != 5e5 || o != (profiles.PhaseView{}) {
		t.Errorf("forward %+v, backward %+v, optimizer %+v", f, b, o)
	}
	if c := s.Caches[prism.CacheMasks]; c != s.Cache("mask_cache") || !c.Enabled || c.Hits != 30 || c.RecentN != 40 || c.RecentRate != 0.75 {
		t.Errorf("masks %+v", c)
	}
	psnr, old, fresh := s.Of("psnr_db"), s.Of("loss_old"), s.Of("loss_new")
	if psnr.Latest != 21 || !psnr.Has || psnr.Iteration != 49 || len(psnr.Curve) != 1 || len(s.Series[prism.SeriesSSIM].Curve) != 1 || s.Series[prism.SeriesSSIM].Latest != 0.8 ||
		s.Series[prism.SeriesRMSE].Latest != 3 || len(fresh.Curve) != 100 || len(s.IterationTime) != 100 {
		t.Errorf("PSNR %+v, SSIM %+v, RMSE %+v, curves of %d and %d points", psnr, s.Series[prism.SeriesSSIM], s.Series[prism.SeriesRMSE], len(fresh.Curve), len(s.IterationTime))
	}
	if s.IterationTime[0].Mean != 1 || old.Curve[0].Mean != 0.5 || fresh.Latest != 0.25 || !fresh.Has || fresh.Iteration != 99 || s.Of("learning_rate").Latest != 1e-3 {
		t.Errorf("iteration time %v ms, loss %v, %+v", s.IterationTime[0].Mean, old.Curve[0].Mean, fresh)
	}
	if s.Pictures[prism.PictureReconstruction] != picture || s.Picture("reconstruction") != picture || s.Picture("truth") != truth || s.Of("coverage").Latest != 0.184 || len(s.Results) != 1 ||
		s.Memory.Parts[prism.MemoryWeights] != 12 || s.Memory.Caches != 99 || s.Memory.GPUReason != "no CUDA device" {
		t.Errorf("pictures %v, coverage %+v, results %v, memory %+v", s.Pictures, s.Of("coverage"), s.Results, s.Memory)
	}
	if len(s.Log) != 1 || s.Log[0].Text != "padded to square" || s.ETAKnown {
		t.Errorf("log %v, ETA known %v", s.Log, s.ETAKnown)
	}
}

func TestResidentMemoryIsReadOrItsAbsenceExplained(t *testing.T) {
	m := newRig().tick().Memory
	if m.Reason == "" && (m.RSS < 1<<20 || m.PeakRSS < m.RSS) {
		t.Errorf("%+v", m)
	}
	if runtime.GOOS == "linux" && m.Reason != "" {
		t.Errorf("on linux: %s", m.Reason)
	}
}

func TestTheRecentWindowHoldsOneSetOfSettings(t *testing.T) {
	r := newRig()
	r.start()
	r.iterate(windowSize + 100)
	if n := r.tick().Total.N; n != windowSize {
		t.Errorf("window of %d, want %d", n, windowSize)
	}
	r.Change(profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: r.it.Index}, settingsOf(prism.Settings{AMP: "bf16"}))
	if s := r.tick(); s.Settings.Text("amp") != "bf16" || len(s.Changes) != 1 || len(s.Effects) != 1 {
		t.Errorf("amp %q, changes %v, effects %v", s.Settings.Text("amp"), s.Changes, s.Effects)
	}
	r.it.Changes, r.it.Flags = 1, profiles.Warmup
	r.iterate(1)
	r.it.Flags = 0
	r.iterate(9)
	if s := r.tick(); s.Total.N != 9 || s.Whole.Total.N != windowSize+109 {
		t.Errorf("windows of %d and %d, want 9 without the warm-up and %d", s.Total.N, s.Whole.Total.N, windowSize+109)
	}
	r.it.Kind, r.it.Unit = prism.KindInitialisation, -1
	r.iterate(3)
	if s := r.tick(); s.Total.N != 3 || s.Whole.Total.N != 3 {
		t.Errorf("windows of %d and %d after the stage changed, want 3", s.Total.N, s.Whole.Total.N)
	}
}

// Blocks of a comparison are so short that their warm-up would often leave the screen without times:
// they keep those of the block before until newer ones come.
func TestBlocksOfAComparisonLeaveNoGaps(t *testing.T) {
	r := newRig()
	r.start()
	r.iterate(20)
	r.Ablation(&profiles.Ablation{Running: true})
	r.tick()
	for block := range 3 {
		r.Change(profiles.Change{Key: "amp", Ablation: true, Iteration: r.it.Index}, settingsOf(prism.Settings{AMP: "bf16"}))
		r.it.Changes, r.it.Flags = uint32(block+1), profiles.Warmup
		r.iterate(3)
		if s := r.tick(); s.Total.N == 0 {
			t.Fatalf("no times in the warm-up of block %d", block)
		}
		r.it.Flags = 0
		r.iterate(5)
		if s := r.tick(); s.Total.N != 5 {
			t.Errorf("%d iterations of block %d, want 5", s.Total.N, block)
		}
	}
}

// A loss that was not read with an iteration whose phases were not timed leaves the one before it the newest.
func TestALossThatWasNotReadIsNoValue(t *testing.T) {
	r := newRig()
	r.start()
	r.it.Series[prism.SeriesLossNew] = 0.5
	r.iterate(10)
	r.it.Series[prism.SeriesLossNew], r.it.Flags = math.NaN(), profiles.Unwatched|profiles.Unphased
	r.iterate(3)
	if v := r.tick().Of("loss_new"); v.Latest != 0.5 || v.Iteration != 9 {
		t.Errorf("not read: %v of iteration %d", v.Latest, v.Iteration)
	}
	r.it.Flags = profiles.NonFinite
	r.iterate(1)
	if v := r.tick().Of("loss_new"); !math.IsNaN(v.Latest) || v.Iteration != 13 {
		t.Errorf("not a number: %v of iteration %d", v.Latest, v.Iteration)
	}
}

func TestLossesThatAreNotFiniteAreCountedAndLeftOut(t *testing.T) {
	r := newRig()
	r.start()
	r.it.Kind, r.it.Series[prism.SeriesLossOld] = prism.KindInitialisation, math.NaN() // there is no old loss yet
	r.iterate(10)
	r.it.Kind, r.it.Series[prism.SeriesLossOld], r.it.Series[prism.SeriesLossNew], r.it.Flags = prism.KindLaterSample, 0.5, math.Inf(1), profiles.NonFinite
	r.iterate(2)
	r.it.Series[prism.SeriesLossNew], r.it.Flags = 0.25, profiles.SkippedStep
	r.iterate(5)
	s := r.tick()
	old, fresh := s.Of("loss_old").Curve, s.Of("loss_new").Curve
	if s.NonFinite != 2 || s.SkippedSteps != 5 || len(old) != 7 || len(fresh) != 15 {
		t.Errorf("not finite %d, skipped %d, %d and %d points", s.NonFinite, s.SkippedSteps, len(old), len(fresh))
	}
}

func TestARestartBeginsAgainAndKeepsTheLog(t *testing.T) {
	r := newRig()
	r.start()
	r.iterate(40)
	r.Measure(prismtest.Compared(39, 20))
	r.Change(profiles.Change{Key: "amp", After: "on", Iteration: 40}, settings.Values{})
	r.Log("saved moon.png")
	r.UnitDone(profiles.UnitResult{})
	running := profiles.Ablation{Running: true, Rows: make([]profiles.AblationRow, 1)}
	r.Ablation(&running)
	r.State(profiles.Failed, "diverged")
	if s := r.tick(); s.State != profiles.Failed || s.Err != "diverged" {
		t.Errorf("state %v, %q", s.State, s.Err)
	}
	again := prismtest.Info(4)
	again.PriorStarts = 1
	r.Begin(again, settings.Values{})
	s := r.tick()
	if s.State != profiles.Preparing || s.Err != "" || s.Index != 0 || s.Unit != -1 || s.Of("psnr_db").Has || s.Elapsed != 0 || s.Rate != 0 ||
		s.Total.N+s.Whole.Total.N+len(s.Of("loss_new").Curve)+len(s.Of("psnr_db").Curve)+len(s.Changes)+len(s.Effects)+len(s.Results) != 0 {
		t.Errorf("after a restart: %+v", s)
	}
	if s.Before != (profiles.Before{Iterations: 40, Changes: 1}) {
		t.Errorf("before the restart: %+v", s.Before)
	}
	if len(s.Log) != 1 || s.Run.PriorStarts != 1 {
		t.Errorf("log %v, starts %d", s.Log, s.Run.PriorStarts)
	}
	over := running
	over.Running = false
	r.Ablation(&over)
	if a := r.tick().Ablation; a == nil || a.Start != 0 {
		t.Errorf("the ablation of before the restart: %+v", a)
	}
	r.Ablation(&running)
	if a := r.tick().Ablation; a.Start != 1 {
		t.Errorf("one of after it: %+v", a)
	}
}

// Before the first iteration the state of the caches follows from the settings.
func TestCachesBeforeTheFirstIterationAreAsSet(t *testing.T) {
	r := newRig()
	s := prism.Settings{MeasurementCache: true, MaskCache: true}
	check := func(when string, want [profiles.MaxCaches]bool) {
		t.Helper()
		for id, v := range r.tick().Caches {
			if v.Enabled != want[id] {
				t.Errorf("%s: cache %d is enabled: %v", when, id, v.Enabled)
			}
		}
	}
	r.Begin(prismtest.Info(4), s.Values())
	check("at the start", [profiles.MaxCaches]bool{prism.CacheMeasurement: true, prism.CacheMasks: true})
	s.FFTCache, s.MaskCache = true, false
	r.Change(profiles.Change{Key: "fft_cache"}, s.Values())
	check("after a change", [profiles.MaxCaches]bool{prism.CacheMeasurement: true, prism.CacheFFTPlans: true})
	r.it.Caches[prism.CacheMasks].Enabled = true
	r.iterate(1)
	check("after an iteration", [profiles.MaxCaches]bool{prism.CacheMasks: true})
	r.Begin(prismtest.Info(4), s.Values())
	check("after a restart", [profiles.MaxCaches]bool{prism.CacheMeasurement: true, prism.CacheFFTPlans: true})
}

// A phase that runs now and then has the times of the iterations that ran it,
// and its share of the time of all.
func TestARarePhaseIsSummarisedWhereItRan(t *testing.T) {
	r := newRig()
	r.start()
	for i := range 100 {
		r.it.Phases[prism.PhaseMetrics] = 0
		if i%25 == 10 {
			r.it.Phases[prism.PhaseMetrics] = 4e5 + int64(i)*1000
		}
		r.iterate(1)
	}
	s := r.tick()
	want := profiles.Spread{Last: 485e3, Mean: 447.5e3, Median: 447.5e3, P10: 417.5e3, P95: 481.25e3, P90: 477.5e3, N: 4}
	if got := s.Phases[prism.PhaseMetrics]; got.Spread != want || math.Abs(got.Share-4*447.5e3/100e6) > 1e-12 {
		t.Errorf("recent %+v, want %+v", got, want)
	}
	// The whole stage's quantiles are exact to 0.4 %.
	if got := s.Whole.Phases[prism.PhaseMetrics]; got.N != 4 || got.Last != 485e3 || got.Mean != 447.5e3 || got.Median < 430e3 || got.Median > 465e3 ||
		math.Abs(got.Share-4*447.5e3/100e6) > 1e-12 {
		t.Errorf("whole %+v", got)
	}
	if s.Total.N != 100 || s.Phases[prism.PhaseForward].N != 100 {
		t.Errorf("total of %d, forward of %d iterations", s.Total.N, s.Phases[prism.PhaseForward].N)
	}
}

func TestIterationsBeforeARestartDoNotReachItInOneTick(t *testing.T) {
	r := newRig()
	r.start()
	r.iterate(10)
	r.start()
	r.iterate(5)
	if s := r.tick(); s.Index != 5 || s.Total.N != 5 || s.Elapsed != 5*time.Millisecond {
		t.Errorf("index %d, window %d, elapsed %v; want the 5 iterations since the restart", s.Index, s.Total.N, s.Elapsed)
	}
}

func TestRecentRateOfACacheIsThatOfTheWindow(t *testing.T) {
	r := newRig()
	r.start()
	c := &r.it.Caches[prism.CacheMeasurement]
	for range windowSize / 2 {
		c.Misses++
		r.iterate(1)
	}
	for range windowSize * 3 / 4 {
		c.Hits++
		r.iterate(1)
	}
	got := r.tick().Caches[prism.CacheMeasurement]
	if got.RecentN != windowSize || got.RecentRate != 0.75 || got.Misses != windowSize/2 {
		t.Errorf("%+v, want %d lookups of which 3/4 hit", got, windowSize)
	}
}

func TestNothingNewGivesTheSameSnapshot(t *testing.T) {
	r := newRig()
	r.start()
	r.iterate(3)
	r.State(profiles.Paused, "")
	s := r.tick()
	r.now = r.now.Add(time.Hour)
	if r.tick() != s || r.a.Last() != s {
		t.Error("a paused run without news gave another snapshot")
	}
	r.Log("news")
	if r.tick() == s {
		t.Error("news gave the old snapshot")
	}
}

// A published snapshot does not change when the run continues through every kind
// of event.
func TestPublishedSnapshotsAreNotWrittenAgain(t *testing.T) {
	r := newRig()
	r.start()
	var published []*profiles.Snapshot
	var copies []profiles.Snapshot
	for round := range 25 {
		r.iterate(100)
		r.Measure(prismtest.Compared(r.it.Index-1, float64(round)))
		r.UnitDone(profiles.UnitResult{Unit: int32(round)})
		if round%7 == 6 {
			r.Moved(profiles.Moved{Failed: "lost", Again: 2})
		}
		for range 5 {
			r.Log("line")
		}
		if round%3 == 0 {
			r.Change(profiles.Change{Key: "threads", After: "on", Iteration: r.it.Index}, settingsOf(prism.Settings{Threads: round}))
			r.it.Changes++
		}
		s := r.tick()
		published, copies = append(published, s), append(copies, deepCopy(s))
	}
	for i, s := range published {
		if where := profilestest.Differ(*s, copies[i]); where != "" {
			t.Fatalf("snapshot %d changed after it was published: %s", i, where)
		}
	}
}

// deepCopy copies a snapshot and its slices.
func deepCopy(s *profiles.Snapshot) profiles.Snapshot {
	c := *s
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && !f.IsNil() {
			n := reflect.MakeSlice(f.Type(), f.Len(), f.Len())
			reflect.Copy(n, f)
			f.Set(n)
		}
	}
	for i := range c.Series {
		c.Series[i].Curve = slices.Clone(c.Series[i].Curve)
	}
	return c
}

func TestRunOffersTheNewestSnapshotAndEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := stream.New(64)
	a := New(s.Follow(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go a.Run(ctx, 0)

	first := <-a.Snapshots()
	if first == nil || first.State != profiles.Preparing {
		t.Fatalf("first snapshot %+v", first)
	}
	s.Begin(prismtest.Info(4), settings.Values{})
	s.State(profiles.Running, "")
	for i := range int64(5) {
		s.Iteration(&profiles.Iteration{Index: i, Total: 1e6})
	}
	s.State(profiles.Finished, "")
	cancel()
	var last *profiles.Snapshot
	for snap := range a.Snapshots() {
		last = snap
	}
	if last == nil || last.State != profiles.Finished || last.Index != 5 || a.Last() != last {
		t.Errorf("last snapshot %+v", last)
	}
}

func TestOfferReplacesWhatNobodyRead(t *testing.T) {
	a := New(stream.New(2).Follow(), Options{})
	old, recent := new(profiles.Snapshot), new(profiles.Snapshot)
	a.offer(old)
	a.offer(recent)
	if got := <-a.Snapshots(); got != recent {
		t.Error("the stale snapshot was delivered")
	}
}

// A million iterations leave the aggregator no larger than a tenth of them.
func TestMemoryIsBoundedAfterAMillionIterations(t *testing.T) {
	const n = 1_000_000 / profilestest.Slow
	r := newRig()
	r.start()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	feed := func(n int) {
		for range n / 1000 {
			r.iterate(1000)
			r.Measure(prismtest.ComparedAll(r.it.Index-1, 20, 0.5, 4))
			r.tick()
		}
	}
	feed(n / 10)
	before := heap()
	feed(n - n/10)
	s := r.tick()
	grown := heap() - before
	// 5 curves of 2,000 points may still fill up; the million records would be 270 MB.
	if limit := int64(5 * maxPoints * 48); grown > limit {
		t.Errorf("the heap grew by %d bytes, want at most %d", grown, limit)
	}
	if s.Index != n || s.Own.Dropped != 0 {
		t.Errorf("%d iterations, %d dropped", s.Index, s.Own.Dropped)
	}
	for name, c := range map[string]profiles.Curve{"time": s.IterationTime, "old": s.Series[prism.SeriesLossOld].Curve, "new": s.Series[prism.SeriesLossNew].Curve, "psnr": s.Series[prism.SeriesPSNR].Curve} {
		if len(c) > maxPoints {
			t.Errorf("%s has %d points", name, len(c))
		}
	}
	runtime.KeepAlive(r)
}

// A tick of a run at 200 iterations/s that has gone on for long: full curves, a
// full window, and a change every 20 s.
func BenchmarkTick(b *testing.B) {
	r := newRig()
	r.start()
	for range 400 {
		r.iterate(500)
		r.tick()
	}
	b.ReportAllocs()
	random := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		for range 20 {
			r.it.Total = int64(5e6 * math.Exp(0.1*random.NormFloat64()))
			for p := range profiles.MaxPhases {
				r.it.Phases[p] = int64(float64(r.it.Total) * (0.1 + 0.01*random.Float64()))
			}
			r.Stream.Iteration(&r.it)
			r.it.Index++
			r.it.Start += r.it.Total
			r.now = r.now.Add(time.Duration(r.it.Total))
		}
		if r.it.Index%4000 == 0 {
			r.Change(profiles.Change{Key: "amp", After: "on", Iteration: r.it.Index}, settings.Values{})
			r.it.Changes++
		}
		r.tick()
	}
}

// A run may be over within the second between two readings.
func TestMemoryIsReadAgainWhenTheRunIsOver(t *testing.T) {
	r := newRig()
	peak := int64(14e6)
	r.a.readings.resident = func() (int64, int64, string) { return peak / 2, peak, "" }
	r.tick()
	r.start()
	r.iterate(1)
	r.tick()
	peak = 32e6
	r.iterate(20)
	r.State(profiles.Finished, "")
	if s := r.tick(); s.Memory.PeakRSS != 32e6 || s.Memory.RSS != 16e6 {
		t.Errorf("the last reading is %d of at most %d bytes", s.Memory.RSS, s.Memory.PeakRSS)
	}
	peak = 64e6 // of the screen, which still shows it
	r.Log("saved")
	r.now = r.now.Add(2 * residentEvery)
	if s := r.tick(); s.Memory.PeakRSS != 32e6 {
		t.Errorf("after its end it has a peak of %d bytes", s.Memory.PeakRSS)
	}
}

// The peak of the memory never falls, even where the system's own does, and is never below what is held.
func TestThePeakOfTheMemoryNeverFalls(t *testing.T) {
	r := newRig()
	rss, peak := int64(0), int64(0)
	r.a.readings.resident = func() (int64, int64, string) { return rss, peak, "" }
	r.start()
	for _, c := range []struct{ rss, peak, want int64 }{{50e6, 50e6, 50e6}, {64e6, 60e6, 64e6}, {61e6, 63e6, 64e6}, {66e6, 66e6, 66e6}} {
		rss, peak = c.rss, c.peak
		r.iterate(1)
		r.now = r.now.Add(2 * residentEvery)
		if s := r.tick(); s.Memory.PeakRSS != c.want || s.Memory.RSS != c.rss {
			t.Errorf("%d held, a peak of %d: the peak is %d, want %d", c.rss, c.peak, s.Memory.PeakRSS, c.want)
		}
	}
}

// What a hit is worth is known better later: the recent savings are at the newest price,
// and corrections of hits before the window are not savings of the window.
func TestRecentSavingsAreAtTheNewestPrice(t *testing.T) {
	r := newRig()
	r.start()
	c := &r.it.Caches[prism.CacheMeasurement]
	*c = profiles.CacheCounters{Enabled: true, Misses: 1, Entries: 1, Price: 6_790_000, PricedBy: 1}
	hits := func(n int) *profiles.Snapshot {
		for range n {
			c.Hits, c.Priced = c.Hits+1, c.Priced+1
			c.Gross, c.Saved, c.Spent = c.Gross+c.Price, c.Saved+c.Price-20_000, c.Spent+20_000
			c.SpentSquares += 20_000 * 20_000
			r.iterate(1)
		}
		return r.tick()
	}
	if v := hits(windowSize + 100).Caches[prism.CacheMeasurement]; v.RecentSaved != windowSize*6_770_000 || !v.Uncertain() {
		t.Errorf("at the first price %+v", v)
	}
	more := c.Priced*300_000 - c.Gross
	c.Gross, c.Saved, c.Price, c.PricedBy = c.Gross+more, c.Saved+more, 300_000, 5
	if v := hits(10).Caches[prism.CacheMeasurement]; v.RecentSaved != windowSize*280_000 || v.Uncertain() {
		t.Errorf("%d ns are saved in %d iterations, want 280 µs each", v.RecentSaved, v.RecentIterations)
	}
}

// Time that went into watching the caches is the screen's own cost.
func TestRetimingCountsAsOwnCost(t *testing.T) {
	r := newRig()
	r.start()
	r.tick()
	r.it.Retimed = int64(time.Second)
	r.iterate(50)
	if got := r.tick().Own.Aggregator; got < 1 {
		t.Errorf("own cost is %g of a core after 50 s of watching", got)
	}
}
