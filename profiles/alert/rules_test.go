package alert

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

func TestGrowingMemoryIsToldWithoutItsCaches(t *testing.T) {
	f := Facts{State: profiles.Running, RSS: 200e6}
	judge := func(f Facts) (raised, kept bool) { v := judgeMemory(&f); return v.raised, v.kept }
	f.Trend = profiles.MemoryTrend{Known: true, Span: 6 * time.Minute, PerMinute: 26e6, Low: 25e6, High: 27e6, CachesPerMinute: 20e6,
		Beyond: 6e6, BeyondLow: 5e6, BeyondHi: 7e6, Lately: 5e6}
	if raised, kept := judge(f); !raised || !kept {
		t.Error("6 MB a minute beyond the caches are no alert")
	}
	if what, _ := judgeMemory(&f).tell(); !strings.Contains(what, "6 MB a minute [5, 7]") {
		t.Error(what)
	}
	young, calm := f, f
	young.Trend.Span, calm.Trend.Lately = 4*time.Minute, 0.2e6
	for about, f := range map[string]Facts{"the first minutes": young, "growth that has ended": calm} {
		if raised, kept := judge(f); raised || !kept {
			t.Errorf("%s: raised %v, kept %v", about, raised, kept)
		}
	}
	f.Trend.Beyond, f.Trend.BeyondLow, f.Trend.BeyondHi = 0.1e6, -0.4e6, 0.6e6
	if raised, kept := judge(f); raised || kept {
		t.Error("growth of the caches alone is an alert")
	}
}

// Growth that memory outlasts by days is no alert.
func TestGrowthIsJudgedByTheMemoryThatIsLeft(t *testing.T) {
	f := Facts{State: profiles.Running, RSS: 100e6, Initial: 90e6, Trend: profiles.MemoryTrend{Known: true, Span: 6 * time.Minute,
		Beyond: 1.1e6, BeyondLow: 1e6, BeyondHi: 1.2e6, Lately: 1.1e6}}
	for _, test := range []struct {
		available    int64
		raised, kept bool
	}{
		{20e9, false, false},
		{1e9, false, true}, // 15 hours
		{500e6, true, true},
		{5e6, true, true}, // nothing is left
		{0, true, true},   // not known
	} {
		f.Available = test.available
		v := judgeMemory(&f)
		if v.raised != test.raised || v.kept != test.kept {
			t.Errorf("%d bytes available: raised %v, kept %v", test.available, v.raised, v.kept)
		}
	}
	f.Available = 500e6
	if what, _ := judgeMemory(&f).tell(); !strings.Contains(what, "at this pace memory lasts") {
		t.Error(what)
	}
}

func TestAPlateauOfTheQualityIsANotice(t *testing.T) {
	for direction, sign := range map[profiles.Direction]float64{profiles.MoreIsBetter: 1, profiles.LessIsBetter: -1} {
		var a Watch
		schema := profiles.Schema{Quality: "q", Series: []profiles.SeriesInfo{{Name: "q", Title: "PSNR", Better: direction}}}
		f := &Facts{State: profiles.Running, Schema: &schema}
		at := time.Duration(0)
		measure := func(v float64, iteration int64) []profiles.Alert {
			a.Quality(v, direction, iteration)
			at += time.Second
			a.Judge(f, at, at)
			return a.Standing()
		}
		if got := measure(100-sign*80, 0); len(got) != 0 {
			t.Fatal(got)
		}
		if got := measure(100-sign*80, 20_000); len(got) != 0 {
			t.Errorf("a result that never improved: %v", got)
		}
		measure(100-sign*50, 21_000)
		if got := measure(100-sign*49.99, 30_999); len(got) != 0 {
			t.Errorf("after 9,999 iterations: %v", got)
		}
		got := measure(100-sign*50.01, 31_000)
		if len(got) != 1 || got[0].ID != plateau || got[0].Severity != profiles.Notice ||
			!strings.HasPrefix(got[0].What, "PSNR has not improved for at least 10,000 iterations: ") {
			t.Errorf("after 10,000 iterations: %v", got)
		}
		if got = measure(100-sign*40, 32_000); len(got) != 0 {
			t.Errorf("an improvement: %v", got)
		}
		f.State = profiles.Running
		a.Quality(math.NaN(), direction, 90_000)
		a.Judge(f, at, at)
		if len(a.Standing()) != 0 {
			t.Error("a missing value counts")
		}
	}
	for n, want := range map[int64]string{10_000: "10,000", 19_999: "10,000", 50_001: "50,000", 234_000: "200,000", 5_600_000: "5,000,000"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// The end of a run clears no alert: what was wrong at its end is said of it.
func TestTheEndClearsNoAlert(t *testing.T) {
	var a Watch
	schema := profiles.Schema{Quality: "q", Series: []profiles.SeriesInfo{{Name: "q", Title: "PSNR", Better: profiles.MoreIsBetter}}}
	f := &Facts{State: profiles.Running, Schema: &schema, Remaining: 5 * time.Hour, Usual: 1e6}
	at := time.Duration(0)
	judge := func() []profiles.LogLine {
		at += 10 * time.Second
		f.Iteration += 1000
		return a.Judge(f, at, at)
	}
	for _, iteration := range []int64{0, 1000, 20_000} {
		a.Quality(min(20, float64(iteration+10)), profiles.MoreIsBetter, iteration)
		judge()
	}
	before := a.Standing()
	if len(before) != 2 {
		t.Fatalf("%v stand, want a plateau and a long run", before)
	}
	f.State, f.Remaining = profiles.Finished, 0
	for range 3 {
		if gone := judge(); len(gone) > 0 {
			t.Errorf("the end cleared %v", gone)
		}
	}
	if after := a.Standing(); !slices.Equal(after, before) {
		t.Errorf("%v stood before the end, %v after it", before, after)
	}
}

// A run that ends while it recovers is not said to have slowed down to nearly all of its speed.
func TestTheEndTellsWhatWasRaised(t *testing.T) {
	var a Watch
	schema := prism.Schema()
	f := &Facts{State: profiles.Running, Schema: &schema}
	at := time.Duration(0)
	judge := func() {
		at += time.Second
		f.Iteration++
		a.Judge(f, at, at)
	}
	for i := range 40 {
		rate := 100.0
		switch {
		case i > 37:
			rate = 95 // no slowdown any more
		case i > 30:
			rate = 50
		}
		a.pace.add(rate, 0)
		judge()
		if i == 38 {
			f.State = profiles.Finished
		}
	}
	all := a.Standing()
	if len(all) != 1 || !strings.HasPrefix(all[0].What, "Slowdown to 50 it/s") {
		t.Errorf("%v", all)
	}
}

// About a bound, a rule that flips every tick neither comes nor goes.
func TestAlertsDoNotFlicker(t *testing.T) {
	var a Watch
	schema := prism.Schema()
	f := &Facts{State: profiles.Running, Schema: &schema, RSS: 100e6}
	changes, before := 0, 0
	for tick := range 6000 { // ten minutes
		f.Trend = profiles.MemoryTrend{Known: true, Span: 6 * time.Minute, Beyond: 0.99e6, BeyondLow: 1, Lately: 1e6}
		if tick%2 == 0 {
			f.Trend.Beyond = 1.01e6
		}
		at := time.Duration(tick) * 100 * time.Millisecond
		a.Judge(f, at, at)
		if len(a.shown) != before {
			changes, before = changes+1, len(a.shown)
		}
	}
	if changes > 1 {
		t.Errorf("the alert came or went %d times", changes)
	}
}

// alertIDs are the IDs of all alerts that a run of a schema can have.
func alertIDs(schema profiles.Schema) (ids []string) {
	f := &Facts{Schema: &schema}
	for _, r := range runRules {
		ids = append(ids, r.judge(f).of+r.id)
	}
	for _, r := range cacheRules() {
		if of := r.judge(f).of; of != "" { // else there is no such cache
			ids = append(ids, of+r.id)
		}
	}
	return ids
}

func TestRulesHaveNamesOfTheirOwn(t *testing.T) {
	if len(rules) > len(Watch{}.each) {
		t.Fatalf("%d rules and room for %d", len(rules), len(Watch{}.each))
	}
	if len(rules) != len(runRules)+len(cacheRules()) {
		t.Errorf("%d rules", len(rules))
	}
	schema := prism.Schema()
	for len(schema.Caches) < profiles.MaxCaches { // as many as there may be
		schema.Caches = append(schema.Caches, profiles.CacheInfo{Setting: fmt.Sprintf("cache_%d", len(schema.Caches))})
	}
	ids := alertIDs(schema)
	if len(ids) != len(rules) {
		t.Errorf("%d names of %d rules: %v", len(ids), len(rules), ids)
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || id == "" {
			t.Errorf("%q names two rules", id)
		}
		seen[id] = true
	}
}

// The IDs of alerts are in files and in the manual: they stay as they are.
func TestAlertsKeepTheirNames(t *testing.T) {
	want := []string{"not-finite", "stall", "amp-overflow", "sample-limit", "memory-slope", "slowdown", "recording", "memory-short", "long-run", "device-failed", "plateau",
		"measurement-cache-thrash", "fft-cache-thrash", "mask-cache-thrash", "measurement-cache-cost", "fft-cache-cost", "mask-cache-cost"}
	if got := alertIDs(prism.Schema()); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheManualTellsEveryAlert(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range alertIDs(prism.Schema()) {
		// Plans are never dropped for room: their cache has no limit.
		if id != "fft-cache-thrash" && !strings.Contains(string(text), "`"+id+"`") {
			t.Errorf("docs/alerts.md does not tell of %s", id)
		}
	}
}
