package screen

import (
	"fmt"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// littleSaved is a run whose caches save about nothing, each in its way: within noise, too
// little, and for certain but uncertain of how much.
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

// The panes that tell what changes and caches did.
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
		{"caches-nothing", idCaches, littleSaved(), nil},
		{"caches-over", idCaches, tuitest.OverAfter300(), nil},
		{"time-together", idIterationTime, tuitest.Together(), nil},
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
			fmt.Fprintf(&all, "%dx%d\n%s", size[0], size[1], tuitest.Shown(tuitest.Cells(strings.Join(p.Lines(), "\n"), size[0], size[1])))
		}
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			m := zoomed(t, size[0], size[1], pane, snap, keys...)
			fmt.Fprintf(&all, "%dx%d\n%s", size[0], size[1], tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1])))
		}
		tuitest.Golden(t, name, all.String())
	})
}
