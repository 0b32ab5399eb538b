package effect

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// trial feeds effects a run of synthetic iterations.
type trial struct {
	effects Tracker
	random  *rand.Rand
	it      profiles.Iteration // the next: kind, unit, index
	median  float64            // nanoseconds
	others  float64            // load by other programs
}

func newTrial(seed uint64) *trial {
	schema := prism.Schema()
	return &trial{effects: New(&schema), random: rand.New(rand.NewPCG(seed, 8)), it: profiles.Iteration{Kind: prism.KindLaterSample, Unit: 3}, median: 5e6}
}

// long is a run that has been going on for long enough that windows are as long as they get.
const long = 10*Window + 10

func (t *trial) iterate(n int) {
	for range n {
		t.it.Total = int64(t.median * math.Exp(0.04*t.random.NormFloat64()))
		t.effects.Iteration(&t.it)
		t.it.Index++
	}
	t.effects.Settle(math.MaxInt64, func(int64, int64) float64 { return t.others })
}

func (t *trial) change(key string) {
	t.set(key, "off", "on")
}

func (t *trial) set(key, before, after string) {
	k, _ := prism.Table.Lookup(key)
	t.effects.Change(profiles.Change{Key: key, Before: before, After: after, Iteration: t.it.Index, Limit: k.Limit})
	t.it.Changes++
}

// holds reports what the run holds beside its caches, and these as the next iteration has them.
func (t *trial) holds(bytes int64, reported bool) {
	t.effects.Holds(bytes, &t.it.Caches, reported)
}

// cut switches settings as an ablation does.
func (t *trial) cut() {
	t.effects.Cut(profiles.Change{Iteration: t.it.Index})
	t.it.Changes++
}

// compare measures the quality at the newest iteration.
func (t *trial) compare(psnr float64) {
	m := prismtest.Compared(t.it.Index-1, psnr)
	t.effects.Measure(&m)
}

func (t *trial) view() []profiles.Effect {
	all, _ := t.effects.View()
	return all
}

func (t *trial) changes() []profiles.Change {
	_, changes := t.effects.View()
	return changes
}

func (t *trial) last() profiles.Effect {
	all := t.view()
	return all[len(all)-1]
}

// Iterations that nobody watched are in no window: what they are spared would count as an effect.
func TestUnwatchedIterationsAreInNoWindow(t *testing.T) {
	tr := newTrial(2)
	tr.iterate(long)
	tr.change("amp")
	tr.iterate(Warmup + 20)
	tr.it.Flags, tr.median = profiles.Unwatched, tr.median/2
	tr.iterate(100)
	tr.it.Flags, tr.median = 0, tr.median*2
	if e := tr.last(); e.NAfter != 20 {
		t.Errorf("%d iterations after the change, want 20", e.NAfter)
	}
	tr.iterate(Window)
	if e := tr.last(); math.Abs(e.Shift) > 0.02 {
		t.Errorf("shift %+.3f, want none", e.Shift)
	}
}

func TestEffectFindsTheShiftOfAChange(t *testing.T) {
	tr := newTrial(1)
	tr.iterate(long)
	tr.change("amp")
	tr.median *= 0.69
	if e := tr.last(); e.Enough || e.Needed != profiles.EffectEnough || e.NAfter != 0 {
		t.Errorf("before any iteration: %+v", e)
	}
	tr.iterate(Warmup + 12)
	if e := tr.last(); e.Enough || e.Needed != 8 || e.NBefore != Window || e.NAfter != 12 {
		t.Errorf("after 12: %+v", e)
	}
	tr.iterate(8)
	early := tr.last()
	if !early.Enough || early.Needed != 0 || early.Low > -0.31 || early.High < -0.31 {
		t.Errorf("after 20: %+v, want an interval that holds −0.31", early)
	}
	tr.iterate(500)
	e := tr.last()
	if e.NAfter != Window || e.Low > -0.31 || e.High < -0.31 || e.High-e.Low >= early.High-early.Low {
		t.Errorf("after %d: %+v, want a narrower interval that holds −0.31", e.NAfter, e)
	}
	// 1 %: the medians' standard errors are 0.35 %.
	if math.Abs(e.AfterNS/e.BeforeNS-1-e.Shift) > 1e-12 || math.Abs(e.BeforeNS-5e6) > 5e4 {
		t.Errorf("medians %v and %v, shift %v", e.BeforeNS, e.AfterNS, e.Shift)
	}
	if e.Closed || e.Confounded != "" || e.HasQuality {
		t.Errorf("%+v, want an open effect with nothing else changed", e)
	}
}

// 200 changes without an effect: the interval includes 0 in 95 % of them; chance
// allows 3 standard errors of 1.5 % below.
func TestAChangeWithoutEffectSaysSo(t *testing.T) {
	const runs = 200
	held := 0
	for seed := range uint64(runs) {
		tr := newTrial(seed)
		tr.iterate(500)
		tr.change("learning_rate")
		tr.iterate(60)
		if e := tr.last(); e.Enough && e.Low <= 0 && 0 <= e.High {
			held++
		}
	}
	if held < runs*905/1000 {
		t.Errorf("the interval includes 0 in %d of %d", held, runs)
	}
}

func TestWarmupConvergedAndColdIterationsAreLeftOut(t *testing.T) {
	tr := newTrial(2)
	tr.iterate(long)
	tr.change("amp")
	tr.median = 1e12 // the five after a change are slow
	tr.iterate(Warmup)
	tr.it.Flags = profiles.Warmup
	tr.iterate(3)
	tr.it.Flags = profiles.Converged
	tr.median = 10
	tr.iterate(40)
	tr.it.Flags, tr.median = 0, 5e6
	tr.iterate(25)
	if e := tr.last(); e.NAfter != 25 || math.Abs(e.AfterNS-5e6) > 2e5 {
		t.Errorf("%+v, want 25 iterations about 5 ms", e)
	}
}

func TestALaterChangeClosesAnEffect(t *testing.T) {
	tr := newTrial(3)
	tr.iterate(long)
	tr.change("amp")
	tr.iterate(45)
	tr.change("threads")
	tr.iterate(30)
	all := tr.view()
	if !all[0].Closed || all[0].NAfter != 40 || !all[0].Enough {
		t.Errorf("first: %+v, want closed with 40", all[0])
	}
	if all[1].Closed || all[1].NBefore != 40 || all[1].NAfter != 25 {
		t.Errorf("second: %+v, want 40 before and 25 after", all[1])
	}
}

func TestTheSwitchToAnotherKindOfIterationClosesAnEffect(t *testing.T) {
	tr := newTrial(4)
	tr.it.Kind, tr.it.Unit = prism.KindFirstSample, 0 // the first sample has one measurement less
	tr.iterate(60)
	tr.change("amp")
	tr.iterate(10)
	tr.it.Kind, tr.it.Unit = prism.KindLaterSample, 1
	tr.iterate(300)
	if e := tr.last(); !e.Closed || e.Enough || e.NAfter != 5 {
		t.Errorf("%+v, want closed with the 5 iterations of the first sample", e)
	}
	tr.change("fft_cache")
	tr.it.Kind, tr.it.Unit = prism.KindInitialisation, -1
	tr.iterate(60)
	if e := tr.last(); e.Enough || e.NBefore != 0 || !strings.Contains(e.Confounded, "no comparable iteration before") {
		t.Errorf("%+v, want no before-window", e)
	}
}

// Iterations of one kind compute the same, whatever the sample.
func TestFurtherSamplesCount(t *testing.T) {
	tr := newTrial(11)
	for range 30 {
		tr.iterate(10)
		tr.it.Unit++
	}
	tr.change("amp")
	for range 30 {
		tr.iterate(10)
		tr.it.Unit++
	}
	if e := tr.last(); e.NBefore != 27 || e.NAfter != 27 || e.Confounded != "" || e.Verdict() != profiles.InNoise {
		t.Errorf("%+v, want 27 iterations of several samples on each side", e)
	}
}

func TestWhatElseChangedIsTold(t *testing.T) {
	tr := newTrial(5)
	tr.iterate(45)
	tr.change("amp")
	tr.iterate(30)
	if e := tr.last(); !strings.Contains(e.Confounded, "to know how far it drifts by itself: 2 of 6 windows of 20") ||
		e.Briefly != "drift not known" || !e.Enough || e.Comparable() || e.Verdict() != profiles.Invalid || !math.IsNaN(e.Low) {
		t.Errorf("%+v", e)
	}
	tr.change("threads")
	tr.iterate(12)
	tr.change("threads")
	tr.iterate(60)
	if e := tr.last(); e.Enough || e.Closed || e.Needed != 0 || !strings.Contains(e.Confounded, "only 7 comparable iterations before") {
		t.Errorf("%+v, want too few before", e)
	} else if _, brief := e.Incomparable(); brief != "too few before" {
		t.Errorf("%q", brief)
	}
}

// A change that was announced before the last iteration under the old value does
// not take that iteration.
func TestAChangeTakesForceWithTheIterationItNames(t *testing.T) {
	tr := newTrial(6)
	tr.iterate(long)
	tr.effects.Change(profiles.Change{Key: "amp", After: "bf16", Iteration: tr.it.Index + 30})
	tr.iterate(30)
	if e := tr.last(); e.NBefore != 0 || e.Closed {
		t.Errorf("%+v before the change takes force", e)
	}
	tr.it.Changes++
	tr.iterate(25)
	if e := tr.last(); e.NBefore != Window || e.NAfter != 20 || e.Iteration != long+30 {
		t.Errorf("%+v, want %d before and 20 after", e, Window)
	}
}

func TestALostChangeEndsTheWindows(t *testing.T) {
	tr := newTrial(7)
	tr.it.Changes = 4 // changes of an earlier start
	tr.iterate(long)
	tr.change("amp")
	tr.iterate(30)
	tr.it.Changes++ // its event was dropped
	tr.iterate(100)
	if e := tr.last(); !e.Closed || e.NAfter != 25 {
		t.Errorf("%+v, want closed with the 25 iterations before the unknown change", e)
	}
}

func TestQualityDriftComparesTheLastBeforeWithTheNewestAfter(t *testing.T) {
	tr := newTrial(8)
	compare := tr.compare
	tr.iterate(30)
	compare(20)
	tr.iterate(30)
	compare(21)
	tr.change("amp")
	if e := tr.last(); e.HasQuality {
		t.Errorf("%+v before any iteration after", e)
	}
	tr.iterate(30)
	if e := tr.last(); e.HasQuality {
		t.Errorf("%+v before any comparison after", e)
	}
	compare(20.5)
	tr.iterate(30)
	compare(24)
	if e := tr.last(); !e.HasQuality || e.QualityDrift != 3 {
		t.Errorf("drift %v, want 3 dB", e.QualityDrift)
	}
	tr.change("threads")
	tr.iterate(30)
	compare(30)
	compare(math.Inf(1))
	all := tr.view()
	if all[0].QualityDrift != 3 || all[1].QualityDrift != 6 {
		t.Errorf("drifts %v and %v, want 3 and 6 dB", all[0].QualityDrift, all[1].QualityDrift)
	}
}

// Training continues after the window: gains there are not part of the effect. A
// window without a comparison uses the first one after it.
func TestQualityDriftEndsWithTheWindow(t *testing.T) {
	for i, within := range []bool{true, false, true, false} {
		tr := newTrial(10)
		compare := tr.compare
		tr.iterate(long)
		tr.others = 0.5 * float64(i/2) // nor where all of them are disturbed
		tr.iterate(reach)
		compare(20)
		tr.change("amp")
		tr.iterate(100)
		if within {
			compare(21)
		}
		tr.iterate(Window)
		compare(22)
		compare(29)
		want := 2.0
		if within {
			want = 1
		}
		if e := tr.last(); e.NAfter != Window || !e.HasQuality || e.QualityDrift != want {
			t.Errorf("within %v: %d after, drift %v; want %v dB", within, e.NAfter, e.QualityDrift, want)
		}
	}
}

// Another program that starts with a change makes iterations three times as slow.
// Half seconds that it left alone are enough to tell the setting from it.
func TestDisturbedIterationsAreLeftOutWhereEnoughAreLeft(t *testing.T) {
	tr := newTrial(11)
	noisy := func(n int) {
		tr.median, tr.others = 3*tr.median, 0.6
		tr.iterate(n)
		tr.median, tr.others = tr.median/3, 0.01
	}
	tr.iterate(1000)
	noisy(30)
	tr.change("amp")
	tr.median *= 0.9
	noisy(90)
	e := tr.last()
	if !e.Enough || e.Shift < 1 || e.Confounded != "others took 0 % before, 60 % after" || e.LeftOut != 30 {
		t.Errorf("all disturbed: %+v", e)
	}
	tr.iterate(30)
	e = tr.last()
	if e.Confounded != "" || e.NBefore != 92 || e.NAfter != 30 || e.LeftOut != 30+85 {
		t.Errorf("30 undisturbed: %+v, want 92 before and 30 after, and the disturbed ones left out", e)
	}
	// 3 %: 4 % of spread over 30 iterations give a standard error of the median of 0.9 %.
	if math.Abs(e.Shift+0.1) > 0.03 || e.Low > -0.1 || e.High < -0.1 {
		t.Errorf("shift %.3f [%.3f, %.3f], want about −0.100", e.Shift, e.Low, e.High)
	}
}

func TestOthersThatNeverLeaveAreTold(t *testing.T) {
	tr := newTrial(12)
	tr.iterate(long)
	tr.others = 0.61
	tr.iterate(900)
	tr.change("amp")
	tr.others = 0.63
	tr.iterate(900)
	if e := tr.last(); e.Confounded != "others took 62 % of the processors" || e.Briefly != "others took 62 %" || e.NAfter != Window || e.LeftOut != 0 {
		t.Errorf("%+v", e)
	}
	tr.iterate(100) // beyond the range searched for undisturbed ones
	tr.others = 0
	tr.iterate(100)
	if e := tr.last(); e.Confounded == "" || e.NAfter != Window {
		t.Errorf("%+v took iterations far from the change", e)
	}
}

// A shift is not attributed to a setting if the load by others differs by as
// much.
func TestASmallDifferenceOfOthersConfoundsASmallShift(t *testing.T) {
	for _, c := range []struct {
		before, after, shift float64
		confounded           bool
	}{
		{0, 0.05, 0.06, true},
		{0.05, 0, -0.06, true},
		{0, 0.05, -0.4, false},
		{0.01, 0.02, 0.005, false}, // ticks
		{0, 0.07, -0.4, true},
		{0.04, 0.05, 0.01, false},
		{math.NaN(), math.NaN(), 0.5, false},
	} {
		if got := disturbance(c.before, c.after, c.shift); (got.full != "") != c.confounded {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// What was shared out late belongs where it ran: before the change.
func TestIterationsWaitForTheirShareOfOthers(t *testing.T) {
	tr := newTrial(13)
	feed := func(n int) {
		for range n {
			tr.it.Total = 5e6
			tr.effects.Iteration(&tr.it)
			tr.it.Index++
			tr.it.Start += 5e6
		}
	}
	quiet := func(int64, int64) float64 { return 0 }
	feed(1060)
	tr.change("amp")
	feed(60)
	if e := tr.last(); e.NBefore != 0 || e.NAfter != 0 || e.Needed != profiles.EffectEnough {
		t.Errorf("before any share is known: %+v", e)
	}
	tr.effects.Settle(1050*5e6, quiet)
	if e := tr.last(); e.NBefore != 92 || e.NAfter != 0 {
		t.Errorf("after 1050: %+v", e)
	}
	tr.change("threads")
	feed(1)
	tr.effects.Settle(1100*5e6, quiet)
	if e := tr.view()[0]; e.Closed || !e.Enough || e.NBefore != 92 || e.NAfter != 35 {
		t.Errorf("ended and not settled: %+v", e)
	}
	tr.effects.Settle(math.MaxInt64, quiet)
	all := tr.view()
	if e := all[0]; !e.Closed || e.NBefore != 92 || e.NAfter != 55 || tr.effects.open != 1 {
		t.Errorf("settled: %+v, %d open", e, tr.effects.open)
	}
}

func TestManyChangesKeepTheNewest(t *testing.T) {
	tr := newTrial(9)
	for range maxChanges + 50 {
		tr.change("threads")
		tr.iterate(3)
	}
	tr.change("amp")
	all := tr.view()
	if len(all) != maxChanges || all[len(all)-1].Key != "amp" || !all[len(all)-3].Closed || all[len(all)-1].Closed {
		t.Errorf("%d effects, the newest %+v", len(all), all[len(all)-1])
	}
}

// Switches of an ablation are no effects of their own, but they end what is
// compared: no window holds iterations from both sides of one.
func TestAnAblationsSwitchesAreNoEffects(t *testing.T) {
	e := New(&profiles.Schema{})
	index := int64(0)
	iterate := func(n int, ns int64, changes uint32) (begun int) {
		for range n {
			if e.Iteration(&profiles.Iteration{Index: index, Kind: prism.KindLaterSample, Unit: 3, Total: ns, Changes: changes}) {
				begun++
			}
			index++
		}
		e.Settle(math.MaxInt64, func(int64, int64) float64 { return math.NaN() })
		return begun
	}
	iterate(100, 5e6, 0)
	e.Cut(profiles.Change{Key: "amp", Iteration: index, Ablation: true})
	if n := iterate(50, 9e6, 1); n != 1 {
		t.Errorf("%d stretches began with a switch", n)
	}
	e.Cut(profiles.Change{Key: "amp", Iteration: index, Ablation: true})
	iterate(60, 5e6, 2)
	e.Change(profiles.Change{Key: "threads", After: "2", Iteration: index})
	iterate(60, 4e6, 3)
	all, _ := e.View()
	if len(all) != 1 || all[0].Key != "threads" {
		t.Fatalf("effects %+v", all)
	}
	if f := all[0]; !f.Enough || f.BeforeNS != 5e6 || f.AfterNS != 4e6 || f.NBefore > 60 {
		t.Errorf("%+v", f)
	}
}

// A phase that a change cannot touch moved with it: the machine changed, and the effect says so.
// One that stays leaves the effect alone, and so does one that is not a control.
func TestAPhaseThatCannotBeTouchedIsAControl(t *testing.T) {
	for _, tt := range []struct {
		optimizer, telescope float64 // factors after the change
		controls             uint16
		verdict              profiles.Verdict
	}{
		{1, 0.5, 1 << prism.PhaseOptimizer, profiles.Faster},
		{1.3, 0.5, 1 << prism.PhaseOptimizer, profiles.Invalid},
		{1.3, 0.5, 1 << prism.PhaseForward, profiles.Faster}, // which takes no time here
		{1.3, 0.5, 0, profiles.Faster},
	} {
		tr := newTrial(14)
		optimizer, telescope := 2e6, 6e6
		feed := func(n int) {
			for range n {
				noise := func() float64 { return math.Exp(0.02 * tr.random.NormFloat64()) }
				tr.it.Phases[prism.PhaseOptimizer] = int64(optimizer * noise())
				tr.it.Phases[prism.PhaseTelescope] = int64(telescope * noise())
				tr.it.Total = tr.it.Phases[prism.PhaseOptimizer] + tr.it.Phases[prism.PhaseTelescope]
				tr.effects.Iteration(&tr.it)
				tr.it.Index++
			}
			tr.effects.Settle(math.MaxInt64, func(int64, int64) float64 { return 0 })
		}
		feed(long)
		tr.effects.Change(profiles.Change{Key: "measurement_cache", Before: "false", After: "true", Iteration: tr.it.Index, Controls: tt.controls})
		tr.it.Changes++
		optimizer, telescope = optimizer*tt.optimizer, telescope*tt.telescope
		feed(400)
		e := tr.last()
		if e.Verdict() != tt.verdict {
			t.Errorf("%+v: %v, %+v", tt, e.Verdict(), e)
		}
		if want := "optimizer moved +30 %, which measurement_cache cannot change"; (tt.verdict == profiles.Invalid) != (e.Confounded == want) {
			t.Errorf("%+v: confounded %q", tt, e.Confounded)
		}
	}
}

// The whole machine became faster by less than each phase's own drift, and the change with it: the
// phases that it cannot touch say so together.
func TestControlsThatMoveAlongMakeAnEffectInvalid(t *testing.T) {
	for _, tt := range []struct {
		others, touched float64 // factors after the change
		verdict         profiles.Verdict
	}{
		{0.96, 0.80, profiles.Invalid}, // −8 % in all
		{1, 0.80, profiles.Faster},
		{1.02, 0.70, profiles.Faster},
		{0.995, 0.70, profiles.Faster}, // a small part of it
	} {
		tr := newTrial(21)
		others, touched := 6e6, 2e6
		feed := func(n int) {
			for range n {
				drift := 1 + 0.015*math.Sin(float64(tr.it.Index)/130)
				tr.it.Phases[prism.PhaseBackward] = int64(others * drift * math.Exp(0.01*tr.random.NormFloat64()))
				tr.it.Phases[prism.PhaseTelescope] = int64(touched * drift * math.Exp(0.01*tr.random.NormFloat64()))
				tr.it.Total = tr.it.Phases[prism.PhaseBackward] + tr.it.Phases[prism.PhaseTelescope]
				tr.effects.Iteration(&tr.it)
				tr.it.Index++
			}
			tr.effects.Settle(math.MaxInt64, func(int64, int64) float64 { return 0 })
		}
		feed(long)
		tr.effects.Change(profiles.Change{Key: "measurement_cache", Before: "false", After: "true", Iteration: tr.it.Index, Controls: 1 << prism.PhaseBackward})
		tr.it.Changes++
		others, touched = others*tt.others, touched*tt.touched
		feed(400)
		if e := tr.last(); e.Verdict() != tt.verdict {
			t.Errorf("%+v: %v, %+v", tt, e.Verdict(), e)
		}
	}
}

// The verdicts of an interval.
func TestAnIntervalHasOneVerdict(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		low, high float64
		want      profiles.Verdict
	}{
		{-0.05, -0.01, profiles.Faster}, {0.001, 0.2, profiles.Slower}, {-0.004, 0.009, profiles.Equal},
		{-0.011, 0.004, profiles.InNoise}, {-0.2, 0.3, profiles.InNoise}, {nan, nan, profiles.Invalid},
	} {
		e := profiles.Effect{Enough: true, Low: tt.low, High: tt.high}
		if got := e.Verdict(); got != tt.want {
			t.Errorf("[%g, %g]: %v, want %v", tt.low, tt.high, got, tt.want)
		}
	}
	if e := (profiles.Effect{}); e.Verdict() != profiles.Unknown {
		t.Errorf("without iterations: %v", e.Verdict())
	}
}

// A verdict stays, however long the run continues: the history before the change
// is forgotten some day.
func TestAVerdictStaysInALongRun(t *testing.T) {
	for _, before := range []int{300, long} {
		tr := newTrial(15)
		tr.iterate(before)
		tr.change("amp")
		tr.median *= 0.6
		tr.iterate(400)
		early := tr.last()
		for range 4 {
			tr.iterate(remembered / 2)
			tr.view()
		}
		if late := tr.last(); early.Verdict() != profiles.Faster || late.Verdict() != profiles.Faster || late.Low != early.Low || late.NBefore != early.NBefore {
			t.Errorf("%d before: %+v became %+v", before, early, late)
		}
	}
}

// Of batches, the times of an item are compared: a change of their size is an effect like others.
func TestBatchesAreComparedByTheItem(t *testing.T) {
	tr := newTrial(3)
	tr.effects.Items(2)
	tr.median = 2 * 15e6
	tr.iterate(long)
	tr.change("amp")
	tr.effects.Items(10)
	tr.median = 10 * 7e6
	tr.iterate(Window + Warmup)
	if e := tr.last(); !e.Enough || math.Abs(e.BeforeNS/15e6-1) > 0.02 || math.Abs(e.AfterNS/7e6-1) > 0.02 || e.High > -0.5 {
		t.Errorf("from 15 ms to 7 ms an item: %+v", e)
	}
}
