package checklist

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Everything is the name of the row of an ablation that switches every optimisation together.
const Everything = "everything"

// measurements is the name of the cache that the list is about.
const measurements = "measurement"

// Live judges the comparison of everything off with everything on that the run of a snapshot made. Without
// one that has ended, or if the workload has no measurement cache, there is no list.
func Live(s *profiles.Snapshot) []Criterion {
	row := comparison(s)
	at := -1
	for i := range s.Run.Schema.Caches {
		if s.Run.Schema.Caches[i].Name == measurements {
			at = i
		}
	}
	if row == nil || at < 0 {
		return nil
	}
	cache, info := s.Caches[at], &s.Run.Schema.Caches[at]
	speedup := inverse(row)
	repeats := Repeats{row.Groups, "groups"}
	return []Criterion{
		Speedup(speedup, repeats, Bound{}), Hits(cache.Hits, cache.Misses, mostHits(s, info)), quality(row),
		Memory(s.Memory.PeakRSS, peakReason(s)), Reproducible(speedup, repeats),
	}
}

// comparison returns the row of the comparison; nil if none has ended with a result.
func comparison(s *profiles.Snapshot) *profiles.AblationRow {
	a := s.Ablation
	if a == nil || a.Running || !a.Replication || len(a.Rows) != 1 || a.Rows[0].Key != Everything || a.Rows[0].Groups == 0 {
		return nil
	}
	return &a.Rows[0]
}

// inverse returns the speed-up, off over on, of a row.
func inverse(r *profiles.AblationRow) stats.Centre {
	c := stats.Centre{Value: 1 / (1 + r.Effect), Low: math.Inf(-1), High: math.Inf(1)}
	if !math.IsInf(r.Low, 0) && !math.IsInf(r.High, 0) && !math.IsNaN(r.Low) && !math.IsNaN(r.High) && r.Low > -1 {
		c.Low, c.High = 1/(1+r.High), 1/(1+r.Low)
	}
	return c
}

// mostHits returns the share of lookups that can hit at most: in a pattern in which every unit asks once a
// pass, those of the passes after the first.
func mostHits(s *profiles.Snapshot, info *profiles.CacheInfo) Bound {
	use := info.Use(s.Settings)
	if use == nil || !use.Once || s.Run.Units == 0 {
		return Bound{}
	}
	passes := max(s.Run.Passes, 1)
	return Bound{1 - 1/float64(passes), fmt.Sprintf("because %s; %s of %d hit %.0f %% at most, and it takes 5 passes to reach 80 %%",
		use.Reason, map[bool]string{true: "one pass", false: fmt.Sprintf("%d passes", passes)}[passes == 1], s.Run.Units, 100*(1-1/float64(passes)))}
}

// quality judges what training gains more or less with everything on.
func quality(r *profiles.AblationRow) Criterion {
	d := stats.Centre{Value: r.Quality, Low: r.QualityLow, High: r.QualityHigh}
	if r.QualityGroups == 0 {
		d.Value = math.NaN()
	}
	return Quality(d, "of what 100 iterations gain, everything on less everything off")
}

// peakReason returns why the peak of resident memory is not known.
func peakReason(s *profiles.Snapshot) string {
	if s.Memory.PeakRSS > 0 {
		return ""
	}
	if s.Memory.Reason != "" {
		return s.Memory.Reason
	}
	return "it was not read yet"
}
