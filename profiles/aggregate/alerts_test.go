package aggregate

import (
	"math"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// watchedRun is a rig whose aggregator ticks ten times a second.
type watchedRun struct {
	*rig
	t *testing.T
}

func newWatchedRun(t *testing.T, s settings.Values) *watchedRun {
	r := newRig()
	r.a.readings.resident = func() (int64, int64, string) { return 200e6, 200e6, "" }
	r.a.readings.collectable = func() int64 { return 0 }
	r.Begin(prismtest.Info(100), s)
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	return &watchedRun{r, t}
}

// run iterates for the given seconds, with iterations of the given milliseconds;
// each changes the record first.
func (r *watchedRun) run(seconds, ms float64, each func(it *profiles.Iteration)) *profiles.Snapshot {
	end := r.now.Add(time.Duration(seconds * 1e9))
	tick := r.now
	var s *profiles.Snapshot
	for r.now.Before(end) {
		r.it.Total = int64(ms * 1e6)
		r.it.Flags = 0
		if each != nil {
			each(&r.it)
		}
		r.Stream.Iteration(&r.it)
		r.it.Index++
		r.it.Start += r.it.Total
		r.now = r.now.Add(time.Duration(r.it.Total))
		if r.now.Sub(tick) >= 100*time.Millisecond {
			s, tick = r.tick(), r.now
		}
	}
	return s
}

// alertOf is the alert of an ID, nil where there is none.
func alertOf(s *profiles.Snapshot, id string) *profiles.Alert {
	for i := range s.Alerts {
		if s.Alerts[i].ID == id {
			return &s.Alerts[i]
		}
	}
	return nil
}

// raised checks that a snapshot has an alert with the given text.
func (r *watchedRun) raised(s *profiles.Snapshot, id string, says ...string) {
	r.t.Helper()
	a := alertOf(s, id)
	if a == nil {
		r.t.Fatalf("no alert %s, only %+v", id, s.Alerts)
	}
	for _, want := range says {
		if !strings.Contains(a.What+" "+a.Try.Text(nil), want) {
			r.t.Errorf("%s says %q %q, not %q", id, a.What, a.Try, want)
		}
	}
	for _, text := range []string{a.What, a.Try.Text(nil)} {
		if text == "" || !strings.HasSuffix(text, ".") {
			r.t.Errorf("%s: %q is no sentence", id, text)
		}
	}
}

// gone checks that an alert was cleared and logged once.
func (r *watchedRun) gone(s *profiles.Snapshot, id, what string) {
	r.t.Helper()
	if a := alertOf(s, id); a != nil {
		r.t.Errorf("%s stays: %+v", id, a)
	}
	told := 0
	for _, l := range s.Log {
		if strings.HasPrefix(l.Text, "cleared after ") && strings.Contains(l.Text, what) {
			told++
		}
	}
	if told != 1 {
		r.t.Errorf("the log tells %d times that %s went: %v", told, id, s.Log)
	}
}

func TestAQuietRunHasNoAlerts(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{Threshold: 1e-3, AMP: "fp16"}))
	noise := 0
	s := r.run(120, 5, func(it *profiles.Iteration) {
		noise++
		it.Total += int64(noise*7919%1000) * 2000 // up to 40 %
		c := &it.Caches[prism.CacheMeasurement]
		*c = profiles.CacheCounters{Enabled: true, Hits: int64(noise), Misses: 20, Entries: 20, Saved: int64(noise) * 1e5}
	})
	if len(s.Alerts) != 0 || len(s.Log) != 0 {
		t.Errorf("%+v, log %v", s.Alerts, s.Log)
	}
}

func TestThrashingCacheIsTold(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{MeasurementCache: true, MeasurementCacheMB: 5}))
	c := &r.it.Caches[prism.CacheMeasurement]
	*c = profiles.CacheCounters{Enabled: true, Hits: 100, Misses: 20, Entries: 5, Bytes: 5 << 20}
	s := r.run(5, 5, func(it *profiles.Iteration) { c.Misses++; c.Hits++; c.Saved += 1000 })
	if alertOf(s, "measurement-cache-thrash") != nil {
		t.Errorf("misses of what it never had: %+v", s.Alerts)
	}
	s = r.run(5, 5, func(it *profiles.Iteration) { c.Misses++; c.CapacityMisses++; c.Hits++; c.Saved += 1000 })
	r.raised(s, "measurement-cache-thrash", "% of the last 1024 lookups missed what it had held", "5.24 MB has room for 5", "more than 5")
	since := alertOf(s, "measurement-cache-thrash").Since
	if since < 6*time.Second || since > 9*time.Second {
		t.Errorf("since %v, want a second or two after a fifth of the window", since)
	}
	s = r.run(10, 5, func(it *profiles.Iteration) { c.Hits++; c.Saved += 1000 })
	r.gone(s, "measurement-cache-thrash", "drops what is asked for again")
}

func TestCacheThatCostsIsTold(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{MeasurementCache: true, Pattern: "trainer"}))
	c := &r.it.Caches[prism.CacheMeasurement]
	*c = profiles.CacheCounters{Enabled: true}
	n := 0
	trainer := func(cost int64) func(*profiles.Iteration) {
		return func(*profiles.Iteration) {
			if n++; n%50 == 0 {
				c.Misses, c.Entries, c.Saved, c.Spent = c.Misses+1, c.Entries+1, c.Saved-cost, c.Spent+cost
				c.SpentSquares += float64(cost) * float64(cost)
			}
		}
	}
	s := r.run(8, 5, trainer(30_000))
	if a := alertOf(s, "measurement-cache-cost"); a != nil {
		t.Errorf("600 ns of 5 ms are told: %+v", a)
	}
	s = r.run(8, 5, trainer(1_000_000))
	r.raised(s, "measurement-cache-cost", "0 of", "Each sample looks up entries of its own once")
	if a := alertOf(s, "measurement-cache-cost"); a.Severity != profiles.Notice {
		t.Errorf("20 µs of 5 ms are a %v", a.Severity)
	}
	if s = r.run(8, 5, trainer(5_000_000)); alertOf(s, "measurement-cache-cost").Severity != profiles.Warning {
		t.Error("100 µs of 5 ms are no warning")
	}
	s = r.run(8, 5, func(*profiles.Iteration) { c.Hits++; c.Saved += 1e6 })
	r.gone(s, "measurement-cache-cost", "costs more than it saves")
}

func TestSkippedStepsAreTold(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{AMP: "fp16"}))
	r.it.Series[prism.SeriesGradientScale] = 1024
	r.run(3, 5, nil)
	n := 0
	s := r.run(3, 5, func(it *profiles.Iteration) {
		if n++; n%20 == 0 {
			it.Flags = profiles.SkippedStep
		}
	})
	r.raised(s, "amp-overflow", "of the last 200 optimizer steps", "scale 1024", "bf16")
	r.it.Series[prism.SeriesGradientScale] = 0 // halved at each of many skipped steps
	s = r.run(3, 5, func(it *profiles.Iteration) { it.Flags = profiles.SkippedStep })
	r.raised(s, "amp-overflow", "scale 0")
	s = r.run(6, 5, nil)
	r.gone(s, "amp-overflow", "optimizer steps were skipped")
}

// fp16 finds its scale by overflowing some times, which is how it works.
func TestFindingTheScaleIsNoOverflowAlert(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{AMP: "fp16"}))
	n := 0
	s := r.run(3, 5, func(it *profiles.Iteration) {
		if n++; n < 5 {
			it.Flags = profiles.SkippedStep
		}
	})
	if alertOf(s, "amp-overflow") != nil {
		t.Errorf("%+v", s.Alerts)
	}
}

func TestAStallIsTold(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(3, 5, nil)
	var s *profiles.Snapshot
	for range 35 {
		r.now = r.now.Add(100 * time.Millisecond)
		s = r.tick()
	}
	r.raised(s, "stall", "No iteration ended for more than 2s", "usually one takes 5 ms")
	if s.Alerts[0].Severity != profiles.Critical {
		t.Errorf("a stall is a %v", s.Alerts[0].Severity)
	}
	r.it.Start += 3500e6
	s = r.run(4, 5, nil)
	r.gone(s, "stall", "No iteration ended")
}

// While a run is forked, and at the first iteration after it, nothing has stalled.
func TestAForkIsNoStall(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(3, 5, nil)
	for _, running := range []bool{true, false} {
		r.Fork(&profiles.Fork{Running: running})
		for range 50 {
			r.now = r.now.Add(100 * time.Millisecond)
			if !running {
				break
			}
			if s := r.tick(); len(s.Alerts) > 0 {
				t.Fatalf("in a fork: %+v", s.Alerts)
			}
		}
	}
	r.it.Start += 5100e6
	if s := r.run(4, 5, nil); len(s.Alerts) > 0 {
		t.Errorf("after a fork: %+v", s.Alerts)
	}
}

// A loop with iterations aside, such as those with an evaluation, is silent for a while now and then, and at its end: only
// what takes more than a minute, and twice as long as it ever took, is a stall.
func TestAnEvaluationIsNoStall(t *testing.T) {
	r := &watchedRun{newRig(), t}
	r.a.readings.resident = func() (int64, int64, string) { return 200e6, 200e6, "" }
	r.a.readings.collectable = func() int64 { return 0 }
	info := prismtest.Info(100)
	info.Schema.Kinds = append(info.Schema.Kinds, profiles.KindInfo{Name: "step with evaluation", Aside: true})
	r.Begin(info, settings.Values{})
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	r.run(3, 5, nil)
	wait := func(seconds int) (s *profiles.Snapshot) {
		for range 10 * seconds {
			r.now = r.now.Add(100 * time.Millisecond)
			s = r.tick()
		}
		return s
	}
	if s := wait(50); len(s.Alerts) != 0 {
		t.Errorf("within a minute: %+v", s.Alerts)
	}
	r.raised(wait(20), "stall", "No iteration ended for more than 1m", "usually one takes 5 ms")
	r.it.Start += 70e9
	r.gone(r.run(4, 5, nil), "stall", "No iteration ended")
	if s := wait(100); len(s.Alerts) != 0 {
		t.Errorf("within twice the longest so far: %+v", s.Alerts)
	}
	r.raised(wait(50), "stall", "No iteration ended for more than 2m", "usually one takes 5 ms")
}

// A process stopped as a whole sees its run only after the iteration that took so
// long.
func TestAStallOfTheWholeProcessIsTold(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(3, 5, nil)
	r.it.Total = 6e9
	r.Stream.Iteration(&r.it)
	r.it.Index++
	r.it.Start += r.it.Total
	r.now = r.now.Add(6 * time.Second)
	r.raised(r.tick(), "stall", "No iteration ended for more than 5s", "usually one takes 5 ms")
	r.gone(r.run(4, 5, nil), "stall", "No iteration ended")
}

func TestAPauseIsNoStall(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(3, 5, nil)
	r.State(profiles.Paused, "")
	r.now = r.now.Add(time.Minute)
	if s := r.tick(); len(s.Alerts) != 0 {
		t.Errorf("%+v", s.Alerts)
	}
	r.State(profiles.Running, "")
	r.now = r.now.Add(time.Second)
	if s := r.tick(); len(s.Alerts) != 0 {
		t.Errorf("%+v", s.Alerts)
	}
}

func TestSamplesAtTheirLimitAreTold(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{Threshold: 1e-3}))
	r.UnitDone(profiles.UnitResult{Unit: 0, Converged: true, Reached: 5e-4})
	r.UnitDone(profiles.UnitResult{Unit: 1, Reached: 1.5e-3}) // near it
	if s := r.run(3, 5, nil); alertOf(s, "sample-limit") != nil {
		t.Errorf("%+v", s.Alerts)
	}
	r.UnitDone(profiles.UnitResult{Unit: 2, Reached: 7e-3})
	r.raised(r.run(3, 5, nil), "sample-limit", "1 of the last 3 samples", "sample 3 at 0.007, 7.0 times 0.001")
	for i := range int32(3) {
		r.UnitDone(profiles.UnitResult{Unit: 3 + i, Converged: true})
	}
	r.gone(r.run(3, 5, nil), "sample-limit", "ended at their limit")
}

// An alert that stands at the end of a short run counts all samples, not those of the moment when it was raised.
func TestAnAlertAtTheEndIsOfTheWholeRun(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{Threshold: 1e-3}))
	r.UnitDone(profiles.UnitResult{Unit: 0, Reached: 7e-3})
	r.raised(r.run(1, 5, nil), "sample-limit", "Sample 1 ended at its limit far from the threshold: at 0.007, 7.0 times 0.001.")
	for i := range int32(2) {
		r.UnitDone(profiles.UnitResult{Unit: 1 + i, Reached: 9e-3})
	}
	r.UnitDone(profiles.UnitResult{Unit: 3, Converged: true})
	r.State(profiles.Finished, "")
	r.raised(r.tick(), "sample-limit", "3 of the last 4 samples ended at their limit", "sample 3 at 0.009")
}

func TestALossThatIsNotFiniteIsToldAtOnceAndInTheEnd(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{AMP: "fp16"}))
	r.run(1, 5, nil)
	at := r.it.Index
	r.it.Series[prism.SeriesLossNew], r.it.Flags = math.NaN(), profiles.NonFinite
	r.Stream.Iteration(&r.it)
	r.State(profiles.Failed, "diverged")
	s := r.tick()
	r.raised(s, "not-finite", "iteration 200 was not a finite number", "AMP")
	if at != 200 || s.Alerts[0].Severity != profiles.Critical {
		t.Errorf("iteration %d, %+v", at, s.Alerts)
	}
}

func TestASlowdownIsTold(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(30, 5, nil)
	if s := r.run(20, 5.5, nil); alertOf(s, "slowdown") != nil { // 0.91 of the rate
		t.Errorf("%+v", s.Alerts)
	}
	s := r.run(6, 8, nil)
	r.raised(s, "slowdown", "Slowdown to 125 it/s, ", "No setting changed")
	s = r.run(8, 5, nil)
	r.gone(s, "slowdown", "Slowdown to ")
}

func TestASlowdownNamesOtherProgramsWhereTheyTookMore(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(30, 5, nil)
	r.setOthers(0.62)
	s := r.run(7, 8, nil)
	r.raised(s, "slowdown", "other programs took 62 % of the processors, usually 0 %", "top")
	r = newWatchedRun(t, settings.Values{})
	r.setOthers(0.03)
	r.run(30, 5, nil)
	r.raised(r.run(7, 8, nil), "slowdown", "other programs took 3 % of the processors only", "heat")
}

// A setting that makes iterations slower is an effect, no alert.
func TestASlowerSettingIsNoSlowdown(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	r.run(30, 5, nil)
	r.Change(profiles.Change{Key: "amp", Before: "off", After: "fp16", Iteration: r.it.Index}, settingsOf(prism.Settings{AMP: "fp16"}))
	r.it.Changes = 1
	if s := r.run(20, 10, nil); alertOf(s, "slowdown") != nil {
		t.Errorf("%+v", s.Alerts)
	}
}

func TestALeakingProcessIsTold(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	rss := int64(200e6)
	r.a.readings.resident = func() (int64, int64, string) { rss += 2e5; return rss, rss, "" } // a second
	r.raised(r.run(330, 5, nil), "memory-slope", "grows by 12 MB a minute [12, 12]")
	r.a.readings.resident = func() (int64, int64, string) { return rss, rss, "" }
	r.gone(r.run(900, 5, nil), "memory-slope", "The process grows")
}

// A filling cache also grows the collector's room, which is not a leak.
func TestRoomOfTheCollectorIsNoLeak(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	c, garbage := &r.it.Caches[prism.CacheMeasurement], int64(30e6)
	r.a.readings.resident = func() (int64, int64, string) { rss := 150e6 + c.Bytes + garbage; return rss, rss, "" }
	r.a.readings.collectable = func() int64 { garbage += 1e5; return garbage }
	s := r.run(400, 5, func(*profiles.Iteration) { c.Bytes += 2000 })
	if alertOf(s, "memory-slope") != nil {
		t.Errorf("%+v", s.Alerts)
	}
	if got := s.Memory.Trend; got.PerMinute < 20e6 || got.CachesPerMinute < 20e6 {
		t.Errorf("the process grows by %+v", got)
	}
}

// hoard is a tape that keeps more and more.
type hoard struct{ bytes int64 }

func (h *hoard) Event(*profiles.Event)              { h.bytes += 1000 }
func (h *hoard) Tick(time.Time, *profiles.Snapshot) {}
func (h *hoard) Drained(time.Time)                  {}
func (h *hoard) Kept() int64                        { return h.bytes }

// What is kept of the run for screens that attach later is bounded, and no leak while it grows.
func TestWhatTapesKeepIsNoLeak(t *testing.T) {
	r := newWatchedRun(t, settings.Values{})
	h := &hoard{}
	r.a.options.Tape = Tapes{h, Tapes{}}
	r.a.readings.resident = func() (int64, int64, string) { return 150e6 + h.bytes, 150e6 + h.bytes, "" }
	s := r.run(400, 5, nil)
	if alertOf(s, "memory-slope") != nil {
		t.Errorf("%+v", s.Alerts)
	}
	if got := s.Memory.Trend; got.PerMinute < 10e6 {
		t.Errorf("the process grows by %+v", got)
	}
}

func TestARestartForgetsTheAlerts(t *testing.T) {
	r := newWatchedRun(t, settingsOf(prism.Settings{Threshold: 1e-3}))
	r.UnitDone(profiles.UnitResult{Reached: 1})
	r.raised(r.run(1, 5, nil), "sample-limit")
	r.Begin(prismtest.Info(100), settingsOf(prism.Settings{Threshold: 1e-3}))
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	r.it.Series[prism.SeriesLossOld], r.it.Series[prism.SeriesLossNew] = 0, 1
	if s := r.run(1, 5, nil); len(s.Alerts) != 0 {
		t.Errorf("%+v", s.Alerts)
	}
}

// Losses indicate the distance of samples from a threshold only if they are of its
// loss, and nothing is far from one that is suspended.
func TestSamplesAtTheirLimitUnderAnotherLossAreNot(t *testing.T) {
	v := settingsOf(prism.Settings{Loss: "l1", Threshold: 1e-3}).Settled()
	r := newWatchedRun(t, v)
	v, err := v.Set("loss", "l2")
	if err != nil {
		t.Fatal(err)
	}
	r.Stream.Change(profiles.Change{Key: "loss", Before: "l1", After: "l2"}, v)
	r.UnitDone(profiles.UnitResult{Unit: 0, Reached: 7e-3, Loss: "l2"})
	if got := r.run(3, 5, nil); alertOf(got, "sample-limit") != nil {
		t.Errorf("a suspended threshold: %+v", got.Alerts)
	}
	if v, err = v.With(settings.Assignment{Key: "threshold", Value: "1e-4"}); err != nil {
		t.Fatal(err)
	}
	r.Stream.Change(profiles.Change{Key: "threshold", Before: "0.001", After: "0.0001", Limit: true}, v)
	r.UnitDone(profiles.UnitResult{Unit: 1, Reached: 7e-3, Loss: "l1"}) // under way when the loss changed
	if got := r.run(3, 5, nil); alertOf(got, "sample-limit") != nil {
		t.Errorf("a sample under l1: %+v", got.Alerts)
	}
	r.UnitDone(profiles.UnitResult{Unit: 2, Reached: 7e-3, Loss: "l2"})
	r.raised(r.run(3, 5, nil), "sample-limit", "2 of the last 3 samples", "sample 3 at 0.007, 70.0 times 0.0001")
}

func TestARunThatNeedsMoreMemoryThanThereIsIsTold(t *testing.T) {
	for _, c := range []struct {
		needs, available int64
		told             bool
	}{{9e9, 8e9, true}, {8e9, 9e9, false}, {9e9, 0, false}, {0, 8e9, false}} {
		r := newWatchedRun(t, settingsOf(prism.Settings{Threshold: 1e-3}))
		info := prismtest.Info(100)
		info.Needs, info.Available = c.needs, c.available
		r.Begin(info, settingsOf(prism.Settings{Threshold: 1e-3}))
		r.State(profiles.Running, "")
		s := r.run(2, 10, nil)
		if c.told {
			r.raised(s, "memory-short", "9.00 GB with full caches", "8.00 GB were available", "smaller caches")
		} else if alertOf(s, "memory-short") != nil {
			t.Errorf("needs %d of %d: %+v", c.needs, c.available, s.Alerts)
		}
	}
}

func TestALongRunIsToldWhereNothingBoundsIt(t *testing.T) {
	limited := func(iterations, seconds string) settings.Values {
		v := settingsOf(prism.Settings{Threshold: 1e-3})
		for key, text := range map[string]string{settings.MaxIterations: iterations, settings.MaxSeconds: seconds} {
			var err error
			if v, err = v.Set(key, text); err != nil {
				t.Fatal(err)
			}
		}
		return v
	}
	// 10 ms an iteration: two hours are 720,000 iterations.
	r := newWatchedRun(t, limited("1200000", "0"))
	r.raised(r.run(20, 10, nil), "long-run", "more than 3 hours longer", "--max-time")
	// Without a limit, before the first units are done, all iterations count that the settings allow.
	r = newWatchedRun(t, limited("0", "0"))
	info := prismtest.Info(100)
	info.Most = 1_200_000
	r.Begin(info, limited("0", "0"))
	r.State(profiles.Running, "")
	r.raised(r.run(20, 10, nil), "long-run", "all iterations that the settings allow take more than 3 hours")
	for what, v := range map[string]settings.Values{"short": limited("600000", "0"), "bounded": limited("1200000", "10000")} {
		if s := newWatchedRun(t, v).run(20, 10, nil); alertOf(s, "long-run") != nil {
			t.Errorf("%s: %+v", what, s.Alerts)
		}
	}
}
