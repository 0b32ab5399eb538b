package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
)

// change is a change of a setting at an iteration.
func change(key, before, after string, iteration int64) profiles.Change {
	return profiles.Change{Key: key, Before: before, After: after, Iteration: iteration, At: time.Duration(iteration) * 25 * time.Millisecond}
}

// withEffects is a run with these effects alone.
func withEffects(effects ...profiles.Effect) *profiles.Snapshot {
	s := eventful()
	s.Alerts, s.Effects, s.Changes = nil, effects, nil
	for i := range effects {
		s.Changes = append(s.Changes, effects[i].Changes()...)
	}
	return s
}

// compared is an effect with all its iterations.
func compared(c profiles.Change, with ...profiles.Change) profiles.Effect {
	return profiles.Effect{Change: c, With: with, Enough: true, BeforeNS: 7.02e6, AfterNS: 5.41e6, Shift: -0.229, Low: -0.241, High: -0.218,
		NBefore: 200, NAfter: 200, QualityDrift: 0.12, HasQuality: true}
}

// together is a run whose keys were pressed several at a time.
func together() *profiles.Snapshot {
	last := profiles.Effect{Change: change("threads", "2", "1", 3900), With: []profiles.Change{change("learning_rate", "0.001", "0.0005", 3900), change("loss", "l1", "ssim", 3900)},
		Needed: 12, NBefore: 200, NAfter: 8}
	return withEffects(compared(change("amp", "off", "fp16", 1200)),
		compared(change("amp", "fp16", "bf16", 2410), change("measurement_cache", "true", "false", 2410)), last)
}

// takenBack is a run in which a key was pressed until the setting was back at its value.
func takenBack() *profiles.Snapshot {
	s := withEffects()
	s.Log = []profiles.LogLine{{At: 61 * time.Second, Text: "amp is as before from iteration 2410 on, after 4 changes: no effect to measure"}}
	return s
}

// incomparableRun is a run with one effect of each kind that cannot be compared.
func incomparableRun() *profiles.Snapshot {
	confounded := func(c profiles.Change, why, brief string, with ...profiles.Change) profiles.Effect {
		e := compared(c, with...)
		e.Confounded, e.Briefly, e.Closed = why, brief, true
		return e
	}
	few := profiles.Effect{Change: change("pattern", "trainer", "remeasure", 3100), NBefore: 9, NAfter: 200, Closed: true,
		Confounded: "only 9 comparable iterations before it", Briefly: "too few before"}
	short := profiles.Effect{Change: change("mask_cache", "true", "false", 3300), Needed: 13, NBefore: 200, NAfter: 7, Closed: true}
	s := withEffects(
		confounded(change("amp", "off", "bf16", 1200), "others took 1 % before, 62 % after", "others took 62 %"),
		confounded(change("threads", "2", "1", 1600), "others took 50 % of the processors; sample advanced 9 → 10", "others took 50 %"),
		confounded(change("learning_rate", "0.001", "0.0005", 2200), "sample advanced 19 → 20", "sample advanced", change("amp", "bf16", "off", 2200)),
		few, short, compared(change("fft_cache", "true", "false", 3600)))
	s.Load = profiles.LoadView{Foreign: 0.62, Known: true, Considerable: true}
	return s
}

// littleSaved is a run whose caches save about nothing, each in its way: within noise, too
// little, and for certain but uncertain of how much.
func littleSaved() *profiles.Snapshot {
	s := eventful()
	s.Alerts = nil
	set := func(id profiles.CacheID, saved, low, high, total int64, pricedBy int64) {
		v := &s.Caches[id]
		*v = profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true, Hits: 9000, Misses: 3, Entries: 3, Bytes: 401_000,
			Saved: total, Gross: 900e6, GrossLow: 890e6, GrossHigh: 905e6, Price: 100_000, PriceLow: 99_000, PriceHigh: 100_500,
			PricedBy: pricedBy, Priced: 9000, Spent: 900e6 - total, SpentSquares: 9000 * 110_000 * 110_000}, RecentRate: 1, RecentN: 400, RecentIterations: 400}
		v.RecentSaved, v.RecentLow, v.RecentHigh = 400*saved, 400*low, 400*high
	}
	set(prism.CacheMeasurement, -2_700, -9_800, 4_400, -5e6, 15)
	set(prism.CacheFFTPlans, 4_600, 4_100, 5_200, 104e6, 15)
	set(prism.CacheMasks, 71_000, 0, 0, 390e6, 3)
	return s
}

// The panes that tell what changes and caches did.
func TestGoldenScreensOfWhatIsClaimed(t *testing.T) {
	for _, tt := range []struct {
		name string
		pane layout.Pane
		snap *profiles.Snapshot
		keys []string
	}{
		{"effects-together", idEffects, together(), []string{"down"}},
		{"effects-taken-back", idEffects, takenBack(), nil},
		{"effects-incomparable", idEffects, incomparableRun(), []string{"end"}},
		{"effects-incomparable-threads", idEffects, incomparableRun(), []string{"end", "up"}},
		{"effects-over", idEffects, overAfter300(), nil},
		{"caches-nothing", idCaches, littleSaved(), nil},
		{"caches-over", idCaches, overAfter300(), nil},
		{"time-together", idIterationTime, together(), nil},
	} {
		goldenSizes(t, tt.name, tt.pane, tt.snap, tt.keys...)
	}
}

// goldenSizes holds a pane to a file at the sizes of the other golden screens: as it stands
// among others, and zoomed.
func goldenSizes(t *testing.T, name string, pane layout.Pane, snap *profiles.Snapshot, keys ...string) {
	t.Run(name, func(t *testing.T) {
		var all strings.Builder
		for _, size := range [][2]int{{35, 5}, {38, 11}, {60, 8}} {
			p := paneOf(t, pane, size[0], size[1], snap)
			fmt.Fprintf(&all, "%dx%d\n%s", size[0], size[1], shown(cells(strings.Join(p.Lines(), "\n"), size[0], size[1])))
		}
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			m := zoomed(t, size[0], size[1], pane, snap, keys...)
			fmt.Fprintf(&all, "%dx%d\n%s", size[0], size[1], shown(cells(m.View().Content, size[0], size[1])))
		}
		golden(t, name, all.String())
	})
}

// Keys that were pressed before one iteration show as one row, one mark and one effect,
// from the stream to the screen.
func TestKeysPressedTogetherShowAsOne(t *testing.T) {
	events := stream.New(4096)
	a := aggregate.New(events.Follow(), aggregate.Options{})
	now := time.Now()
	settings := (&prism.Settings{AMP: "off"}).Values()
	events.Begin(running().Run, settings)
	events.State(profiles.Running, "")
	it := profiles.Iteration{Kind: prism.KindLaterSample, Unit: 3}
	iterate := func(n int, ms int64) {
		for range n {
			it.Total = ms * 1e6
			events.Iteration(&it)
			it.Index++
			it.Start += it.Total
		}
	}
	press := func(key string, values ...string) {
		for i, v := range values[1:] {
			it.Changes++
			events.Change(profiles.Change{Key: key, Before: values[i], After: v, Iteration: it.Index}, having(settings, key, v))
		}
	}
	iterate(100, 5)
	press("amp", "off", "bf16", "bf16x3", "fp16")
	iterate(100, 10)
	press("mask_cache", "true", "false")
	press("fft_cache", "true", "false")
	iterate(100, 12)
	press("checkpointing", "false", "true", "false")
	iterate(10, 12)
	events.State(profiles.Paused, "") // no reading of the machine is waited for
	a.Tick(now)
	s := a.Tick(now.Add(time.Second))
	if len(s.Effects) != 2 || len(s.Changes) != 3 {
		t.Fatalf("%d effects and %d changes: %+v", len(s.Effects), len(s.Changes), s.Effects)
	}
	if got := marks(s); len(got) != 2 || got[0].Label != 'a' || got[1].Label != severalMark || got[1].At != 200 {
		t.Errorf("marks %+v", got)
	}
	for i, want := range []string{"AMP off→fp16", "masks on→off + FFT plans on→off"} {
		if got := changed(prism.Table, &s.Effects[i], 2); got != want {
			t.Errorf("effect %d is %q, want %q", i, got, want)
		}
	}
	if n := len(s.Log); n == 0 || !strings.HasPrefix(s.Log[n-1].Text, "checkpointing is as before from iteration 300 on, after 2 changes") {
		t.Errorf("log %+v", s.Log)
	}
}

// What A is said to compare, it compares: a setting of its own, in a run that goes on.
func TestPressAIsSaidWhereAHelps(t *testing.T) {
	has := func(s *profiles.Snapshot, i int) string { return incomparable(fakeHost{}, s, &s.Effects[i])[0] }
	s := incomparableRun()
	for i, want := range []string{"not comparable: press A", "not comparable: others took 50 %", "not comparable: sample advanced",
		"not comparable: too few before", "not comparable: press A"} {
		if got := has(s, i); got != want {
			t.Errorf("effect %d: %q, want %q", i, got, want)
		}
	}
	s.Ablation = ablationWith("amp", 8)
	if got := has(s, 0); got != "not comparable: see Ablation" {
		t.Errorf("after an ablation: %q", got)
	}
	if got := has(s, 4); got != "not comparable: press A" {
		t.Errorf("after an ablation without its setting: %q", got)
	}
	s.Ablation = ablationWith("amp", 2)
	if got := has(s, 0); got != "not comparable: press A" {
		t.Errorf("after an ablation without a verdict: %q", got)
	}
	s.Ablation.Running = true
	if got := has(s, 0); got != "not comparable: see Ablation" {
		t.Errorf("during one: %q", got)
	}
	over := overAfter300()
	for i, want := range []string{"not comparable: others took 62 %", "not comparable: others took 50 %", "not comparable: sample advanced",
		"not comparable: too few before", "not comparable: too few after", "the run ended first"} {
		if got := has(over, i); got != want {
			t.Errorf("after the end, effect %d: %q, want %q", i, got, want)
		}
	}
}

func ablationWith(key string, groups int) *profiles.Ablation {
	return &profiles.Ablation{Ended: "complete", Rows: []profiles.AblationRow{{Key: key, On: "true", Groups: groups, Final: true, Effect: -0.2, Low: -0.3, High: -0.1}}}
}

// The Settings pane has the effect of a setting that changed by itself, where it can be
// compared; else what the ablation found.
func TestTheSettingsPaneClaimsNoSharedEffect(t *testing.T) {
	s := together()
	if got, _ := newSettingsView(fakeHost{}).effectOf(s, "amp"); !strings.Contains(got, "−22.9 %") {
		t.Errorf("amp: %q", got)
	}
	if got, _ := newSettingsView(fakeHost{}).effectOf(s, "measurement_cache"); got != "" {
		t.Errorf("changed with another: %q", got)
	}
	s = incomparableRun()
	if got, _ := newSettingsView(fakeHost{}).effectOf(s, "amp"); got != "not comparable: press A" {
		t.Errorf("%q", got)
	}
	s.Ablation = ablationWith("amp", 8)
	if got, _ := newSettingsView(fakeHost{}).effectOf(s, "amp"); !strings.Contains(got, "−20.0 %") || !strings.HasSuffix(got, " A") {
		t.Errorf("%q", got)
	}
}
