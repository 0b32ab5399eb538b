package screen

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// littleSaved returns a run whose caches save about nothing, for different reasons: within noise,
// too little, and certainly something but of uncertain size.
func littleSaved() *profiles.Snapshot {
	s := tuitest.Eventful()
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

// The panes of effects and caches.
func TestGoldenScreensOfWhatIsClaimed(t *testing.T) {
	for _, tt := range []struct {
		name string
		pane layout.Pane
		snap *profiles.Snapshot
		keys []string
	}{
		{"effects-together", idEffects, tuitest.Together(), []string{"down"}},
		{"effects-taken-back", idEffects, tuitest.TakenBack(), nil},
		{"effects-incomparable", idEffects, tuitest.IncomparableRun(), []string{"end"}},
		{"effects-incomparable-threads", idEffects, tuitest.IncomparableRun(), []string{"end", "up"}},
		{"effects-over", idEffects, tuitest.OverAfter300(), nil},
		{"effects-verdicts", idEffects, verdicts(), nil},
		{"effects-replicated", idEffects, verdicts(), []string{"down", "down", "down", "down", "down"}},
		{"effects-control-moved", idEffects, verdicts(), []string{"end"}},
		{"caches-nothing", idCaches, littleSaved(), nil},
		{"caches-over", idCaches, tuitest.OverAfter300(), nil},
		{"time-together", idIterationTime, tuitest.Together(), nil},
	} {
		goldenSizes(t, tt.name, tt.pane, tt.snap, tt.keys...)
	}
}

// goldenSizes compares a pane with a file at the sizes of the other golden screens, both among
// other panes and zoomed.
func goldenSizes(t *testing.T, name string, pane layout.Pane, snap *profiles.Snapshot, keys ...string) {
	t.Run(name, func(t *testing.T) {
		var all strings.Builder
		for _, size := range [][2]int{{35, 5}, {38, 11}, {60, 8}} {
			p := paneOf(t, pane, size[0], size[1], snap)
			fmt.Fprintf(&all, "%dx%d\n%s", size[0], size[1], tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(p), "\n"), size[0], size[1])))
		}
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			m := zoomed(t, size[0], size[1], pane, snap, keys...)
			fmt.Fprintf(&all, "%dx%d\n%s", size[0], size[1], tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1])))
		}
		tuitest.Golden(t, name, all.String())
	})
}

// verdicts returns a run with an effect of every verdict: faster, slower, equal, in noise, a
// control that moved, a replication that is done, one that was stopped, one under way, and a
// fork.
func verdicts() *profiles.Snapshot {
	s := *tuitest.Together()
	made := func(at int64, key, before, after string, shift, half float64) profiles.Effect {
		return profiles.Effect{
			Change: profiles.Change{Key: key, Before: before, After: after, Iteration: at, At: time.Duration(at) * 10 * time.Millisecond},
			Enough: true, BeforeNS: 5.2e6, AfterNS: 5.2e6 * (1 + shift), Shift: shift, Low: shift - half, High: shift + half,
			NBefore: 200, NAfter: 200, Drift: half, DriftWindows: 20, QualityDrift: 0.21, HasQuality: true, Closed: true,
		}
	}
	moved := made(400, "measurement_cache", "false", "true", -0.11, 0.03)
	moved.Confounded, moved.Briefly = "optimizer moved +12 %, which measurement_cache cannot change", "optimizer moved"
	replicated := made(1600, "mask_cache", "true", "false", 0.02, 0.05)
	replicated.Replica = &profiles.AblationRow{Key: "mask_cache", Off: "true", On: "false", Sequential: true, Groups: 12, Final: true,
		OffNS: 5.21e6, OnNS: 5.33e6, Effect: 0.023, Low: 0.016, High: 0.031}
	stopped := made(2000, "fft_cache", "true", "false", 0.01, 0.06)
	stopped.Replica = &profiles.AblationRow{Key: "fft_cache", Off: "true", On: "false", Sequential: true, Groups: 4, Final: true,
		OffNS: 5.2e6, OnNS: 5.22e6, Effect: 0.004, Low: math.Inf(-1), High: math.Inf(1)}
	stopped.Stopped = "learning_rate was changed"
	forked := made(2400, "amp", "off", "bf16", -0.09, 0.04)
	forked.Fork = &profiles.Fork{Of: 2400, Key: "amp", Before: "off", After: "bf16", Ended: "complete", Arm: 50, Done: 8, Planned: 8,
		Rows: []profiles.ForkRow{{Series: prism.SeriesPSNR, Before: 24.31, After: 24.27, Difference: -0.04, Low: -0.07, High: -0.01}}}
	under := made(2800, "shared_spectrum", "true", "false", 0.03, 0.07)
	under.Replica = &profiles.AblationRow{Key: "shared_spectrum", Off: "true", On: "false", Sequential: true, Groups: 5,
		OffNS: 5.2e6, OnNS: 5.3e6, Effect: 0.02, Low: math.Inf(-1), High: math.Inf(1)}
	s.Effects = []profiles.Effect{
		moved, made(600, "checkpointing", "true", "false", -0.14, 0.05), made(800, "fused_telescope", "true", "false", 0.31, 0.04),
		made(1000, "scheduler", "constant", "plateau", 0.001, 0.006), made(1200, "pruned_fft", "true", "false", 0.02, 0.06), replicated, stopped, forked, under,
	}
	s.Ablation = &profiles.Ablation{Running: true, Replication: true, Of: 2800, Base: s.Settings, Rounds: 90, Done: 5, Groups: 9, Rows: []profiles.AblationRow{*under.Replica}}
	return &s
}

// The keys for replication and fork request the selected change, or the newest, if it is in
// force.
func TestAChangeIsExaminedByAKey(t *testing.T) {
	s := *tuitest.Together()
	s.Ablation = nil
	s.Effects = []profiles.Effect{
		{Change: profiles.Change{Key: "amp", Before: "bf16", After: "off", Iteration: 300}, Enough: true, Closed: true},
		{Change: profiles.Change{Key: "mask_cache", Before: "false", After: "true", Iteration: 500}, Enough: true, Closed: true},
	}
	v, err := s.Settings.With(settings.Assignment{Key: "amp", Value: "off"}, settings.Assignment{Key: "mask_cache", Value: "true"})
	if err != nil {
		t.Fatal(err)
	}
	s.Settings = v
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, &s)
	press(m, "E")
	if got := r.Called(); len(got) != 1 || got[0] != "Replicate [{mask_cache false}] from 500" {
		t.Errorf("called %q: %s", got, m.status.text)
	}
	if m.focus != idEffects || !strings.Contains(m.status.text, "switched back and forth") {
		t.Errorf("focus %v, the footer says %q", m.focus, m.status.text)
	}
	press(m, "down", "Q")
	if got := r.Called(); len(got) != 2 || got[1] != "Fork [{amp bf16}] from 300" {
		t.Errorf("called %q: %s", got, m.status.text)
	}
	still := s
	still.State = profiles.Paused
	m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, &still)
	for _, key := range []string{"E", "Q"} {
		press(m, key)
		if !strings.HasPrefix(m.status.text, "starts once space resumes the run. ") {
			t.Errorf("in a pause %s says %q", key, m.status.text)
		}
	}
	if got := r.Called(); len(got) != 2 {
		t.Errorf("called %q", got)
	}
	m, _ = screen(t, 80, 24, Options{}, colorprofile.ANSI256, &still)
	press(m, "*")
	if got := strings.TrimSpace(lastLine(m)); !strings.HasPrefix(got, "starts once space resumes the run.") || strings.Contains(got, "…") {
		t.Errorf("in a pause the footer of a small screen says %q", got)
	}
	s.Settings, err = s.Settings.With(settings.Assignment{Key: "amp", Value: "fp16"})
	if err != nil {
		t.Fatal(err)
	}
	m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, &s)
	m.openPane(idEffects)
	press(m, "down", "E")
	if got := r.Called(); len(got) != 0 || !strings.Contains(m.status.text, "AMP is no longer off") {
		t.Errorf("called %q: %s", got, m.status.text)
	}
	s.Effects = nil
	m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, &s)
	press(m, "Q")
	if len(r.Called()) != 0 || !strings.Contains(m.status.text, "no setting was changed yet") {
		t.Errorf("called %q: %s", r.Called(), m.status.text)
	}
}
