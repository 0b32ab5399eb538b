package criteria

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Live judges the list of acceptance by the comparison of everything off with everything on that the run of a
// snapshot made. Without one that has ended, or if the workload declares no list, there is none.
func Live(s *profiles.Snapshot) (list []Judged) {
	row := comparison(s)
	if row == nil {
		return nil
	}
	speedup, repeats := inverse(row), Repeats{row.Groups, "groups"}
	for _, c := range s.Run.Schema.Acceptance.Criteria {
		switch c.Of {
		case profiles.OfSpeedup:
			list = append(list, Speedup(c, speedup, repeats, Bound{}))
		case profiles.OfHits:
			at := s.Run.Schema.CacheNamed(c.Cache)
			if at < 0 {
				continue
			}
			list = append(list, Hits(c, s.Caches[at].Hits, s.Caches[at].Misses,
				mostHits(s, &s.Run.Schema.Caches[at], c.Limit)))
		case profiles.OfQuality:
			list = append(list, quality(c, s.Run.Schema.QualityInfo(), row))
		case profiles.OfPeak:
			list = append(list, Memory(c, s.Memory.PeakRSS, peakReason(s)))
		case profiles.OfSpread:
			list = append(list, Reproducible(c, speedup, repeats))
		}
	}
	return list
}

// comparison returns the row of the comparison; nil if none has ended with a result.
func comparison(s *profiles.Snapshot) *profiles.AblationRow {
	a := s.Ablation
	if a == nil || a.Running || !a.Replication || len(a.Rows) != 1 || a.Rows[0].Key != profiles.Everything ||
		a.Rows[0].Groups == 0 {
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

// rounding keeps a whole number of passes from being the next one.
const rounding = 1e-9

// mostHits returns the share of lookups that can hit at most: in a pattern in which every unit asks once a
// pass, those of the passes after the first.
func mostHits(s *profiles.Snapshot, info *profiles.CacheInfo, wanted float64) Bound {
	use := info.Use(s.Settings)
	if use == nil || !use.Once || s.Run.Units == 0 {
		return Bound{}
	}
	passes := max(s.Run.Passes, 1)
	most := 1 - 1/float64(passes)
	these := "one pass"
	if passes > 1 {
		these = fmt.Sprintf("%d passes", passes)
	}
	return Bound{most,
		fmt.Sprintf("because %s; %s of %d hit %.0f %% at most, and it takes %.0f passes to reach %.0f %%",
			use.Reason, these, s.Run.Units, 100*most, math.Ceil(1/(1-wanted)-rounding), 100*wanted)}
}

// quality judges what training gains more or less with everything on.
func quality(c profiles.Criterion, of profiles.SeriesInfo, r *profiles.AblationRow) Judged {
	d := stats.Centre{Value: r.Quality, Low: r.QualityLow, High: r.QualityHigh}
	if r.QualityGroups == 0 {
		d.Value = math.NaN()
	}
	return Quality(c, d, of, "of what 100 iterations gain, everything on less everything off")
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
