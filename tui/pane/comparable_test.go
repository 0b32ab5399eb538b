package pane

import (
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
	"prismtop/tui/words"
)

// Keys pressed before the same iteration show as one row, one mark and one effect, from the
// stream to the screen.
func TestKeysPressedTogetherShowAsOne(t *testing.T) {
	events := stream.New(4096)
	a := aggregate.New(events.Follow(), aggregate.Options{})
	now := time.Now()
	settings := (&prism.Settings{AMP: "off"}).Values()
	events.Begin(tuitest.Running().Run, settings)
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
			events.Change(profiles.Change{Key: key, Before: values[i], After: v, Iteration: it.Index}, tuitest.Having(settings, key, v))
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
	events.State(profiles.Paused, "") // without waiting for a reading of the machine
	a.Tick(now)
	s := a.Tick(now.Add(time.Second))
	if len(s.Effects) != 2 || len(s.Changes) != 3 {
		t.Fatalf("%d effects and %d changes: %+v", len(s.Effects), len(s.Changes), s.Effects)
	}
	if got := marks(nil, s); len(got) != 2 || got[0].Label != 'a' || got[1].Label != severalMark || got[1].At != 200 {
		t.Errorf("marks %+v", got)
	}
	with := *s
	with.Notes = []profiles.Note{{Author: "pts/1", Text: "flat", Iteration: 150}}
	if got := marks(nil, &with); len(got) != 3 || got[2].Label != noteMark || got[2].At != 150 {
		t.Errorf("marks with a note %+v", got)
	}
	for i, want := range []string{"AMP off→fp16", "mask cache on→off + FFT cache on→off"} {
		if got := words.Changed(prism.Table, &s.Effects[i], 2); got != want {
			t.Errorf("effect %d is %q, want %q", i, got, want)
		}
	}
	if n := len(s.Log); n == 0 || !strings.HasPrefix(s.Log[n-1].Text, "checkpointing is as before from iteration 300 on, after 2 changes") {
		t.Errorf("log %+v", s.Log)
	}
}

// The hint to press A appears only where an ablation can compare the change: for live settings
// changed by themselves, in a run that has not ended.
func TestPressAIsSaidWhereAHelps(t *testing.T) {
	has := func(s *profiles.Snapshot, i int) string { return incomparable(tuitest.Host{}, s, &s.Effects[i])[0] }
	s := tuitest.IncomparableRun()
	for i, want := range []string{"not comparable: press A", "not comparable: others took 50 %", "not comparable: sample advanced",
		"not comparable: too few before", "not comparable: press A"} {
		if got := has(s, i); got != want {
			t.Errorf("effect %d: %q, want %q", i, got, want)
		}
	}
	s.Ablation = tuitest.AblationWith("amp", 8)
	if got := has(s, 0); got != "not comparable: see Ablation" {
		t.Errorf("after an ablation: %q", got)
	}
	if got := has(s, 4); got != "not comparable: press A" {
		t.Errorf("after an ablation without its setting: %q", got)
	}
	s.Ablation = tuitest.AblationWith("amp", 2)
	if got := has(s, 0); got != "not comparable: press A" {
		t.Errorf("after an ablation without a verdict: %q", got)
	}
	s.Ablation.Running = true
	if got := has(s, 0); got != "not comparable: see Ablation" {
		t.Errorf("during one: %q", got)
	}
	s.Ablation = &profiles.Ablation{Factorial: &profiles.Factorial{Rounds: 3, Needed: 9,
		Factors: []settings.Factor{{Name: "amp=bf16", On: []settings.Assignment{{Key: "amp", Value: "bf16"}}}}}}
	for i, want := range map[int]string{0: "not comparable: press A", 4: "not comparable: press A"} {
		if got := has(s, i); got != want {
			t.Errorf("after a factorial with too few rounds, effect %d: %q", i, got)
		}
	}
	s.Ablation.Running = true
	if got, other := has(s, 0), has(s, 4); got != "not comparable: see Ablation" || other != "not comparable: press A" {
		t.Errorf("during a factorial: %q, of a setting that is not in it %q", got, other)
	}
	s.Ablation.Running, s.Ablation.Factorial.Rounds, s.Ablation.Factorial.Final = false, 24, true
	if got := has(s, 0); got != "not comparable: see Ablation" {
		t.Errorf("after a factorial: %q", got)
	}
	over := tuitest.OverAfter300()
	for i, want := range []string{"not comparable: others took 62 %", "not comparable: others took 50 %", "not comparable: sample advanced",
		"not comparable: too few before", "not comparable: too few after", "the run ended first"} {
		if got := has(over, i); got != want {
			t.Errorf("after the end, effect %d: %q, want %q", i, got, want)
		}
	}
}

// The Settings pane shows the effect of a setting that changed by itself if it is comparable,
// otherwise the result of the ablation.
func TestTheSettingsPaneClaimsNoSharedEffect(t *testing.T) {
	s := tuitest.Together()
	if got, _ := newSettingsView(tuitest.Host{}).effectOf(s, "amp"); !strings.Contains(got, "−22.9 %") {
		t.Errorf("amp: %q", got)
	}
	decided := tuitest.Together() // a press that was decided before another key was
	for i := range decided.Effects {
		if e := &decided.Effects[i]; e.Key == "amp" && len(e.With) == 0 {
			e.Enough, e.Closed = false, true
			e.Replica = &profiles.AblationRow{Key: "amp", Off: "off", On: "bf16", Effect: -0.11, Low: -0.2, High: -0.06, Groups: 20, Final: true}
		}
	}
	if got, _ := newSettingsView(tuitest.Host{}).effectOf(decided, "amp"); !strings.Contains(got, "−11.0 % [−20,−6]") {
		t.Errorf("amp, decided: %q", got)
	}
	if got, _ := newSettingsView(tuitest.Host{}).effectOf(s, "measurement_cache"); got != "" {
		t.Errorf("changed with another: %q", got)
	}
	s = tuitest.IncomparableRun()
	if got, _ := newSettingsView(tuitest.Host{}).effectOf(s, "amp"); got != "not comparable: press A" {
		t.Errorf("%q", got)
	}
	s.Ablation = tuitest.AblationWith("amp", 8)
	if got, _ := newSettingsView(tuitest.Host{}).effectOf(s, "amp"); !strings.Contains(got, "−20.0 %") || !strings.HasSuffix(got, " A") {
		t.Errorf("%q", got)
	}
}

// The losses next to an edited threshold belong to the loss that the threshold is for.
func TestLossesOfAnotherLossAreNotShownForThisOne(t *testing.T) {
	s := tuitest.Running()
	if got := newestLosses(s); got != "old 4.2e-03, new 1.4e-02" {
		t.Errorf("%q", got)
	}
	s.Changes = append(s.Changes, profiles.Change{Key: "loss", Before: "l1", After: "l2", Iteration: s.Index})
	if got := newestLosses(s); got != "not known yet" {
		t.Errorf("no iteration ran under the new loss: %q", got)
	}
	s.Index++
	if got := newestLosses(s); got != "old 4.2e-03, new 1.4e-02" {
		t.Errorf("after an iteration: %q", got)
	}
}

// A change whose interval decides nothing has that word in its row, not a number that reads like a result.
func TestAnUndecidedEffectSaysSo(t *testing.T) {
	s := tuitest.Running()
	row := profiles.AblationRow{Key: "amp", Off: "off", On: "bf16", Effect: -0.1, Groups: 9, Sequential: true, Final: true}
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-0.61, 0.98, "undecided"}, {-0.14, -0.06, "−10.0 %"}, {-0.009, 0.009, "equal"}} {
		replica := row
		replica.Low, replica.High = c.low, c.high
		if got, _ := outcome(s, &profiles.Effect{Replica: &replica}); strings.TrimSpace(got) != c.want {
			t.Errorf("from %g to %g: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
