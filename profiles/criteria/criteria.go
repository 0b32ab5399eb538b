// Package criteria judges the list of acceptance that a workload declares: of whole runs by turns, and of the live
// run whose optimisations are switched together.
package criteria

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Verdict is what a criterion comes to.
type Verdict string

// The verdicts.
const (
	Pass       Verdict = "PASS"
	Fail       Verdict = "FAIL"
	Undecided  Verdict = "undecided"                     // the interval neither shows nor excludes what is wanted
	Impossible Verdict = "cannot be met in this pattern" // for the reason beside it
)

// Judged is a criterion with what it comes to.
type Judged struct {
	profiles.Criterion
	Measured string
	Verdict  Verdict
	Reason   string
}

// Bound is the most that a number can reach, and why. Without a reason there is none.
type Bound struct {
	Most   float64
	Reason string
}

// below reports whether a number cannot reach what is wanted.
func (b Bound) below(wanted float64) bool { return b.Reason != "" && b.Most < wanted }

// unbounded reports whether so few repetitions were made that there is no interval.
func unbounded(c stats.Centre) bool { return math.IsInf(c.Low, 0) || math.IsInf(c.High, 0) }

// Repeats is how often something was repeated: "8 rounds".
type Repeats struct {
	N    int
	Unit string // "rounds"
}

// few says that there is no interval.
func (r Repeats) few() string {
	return fmt.Sprintf("%d %s give no interval: it takes %d", r.N, r.Unit, stats.SignedRankLeast)
}

// Speedup judges the time without optimisations over that with them.
func Speedup(c profiles.Criterion, s stats.Centre, repeats Repeats, bound Bound) Judged {
	k := Judged{Criterion: c, Measured: Text(s, "x", 2)}
	wanted := fmt.Sprintf("%gx", c.Limit)
	found := stats.AtLeast(c.Limit).Judge(s.Low, s.High)
	switch {
	case bound.below(c.Limit) && (unbounded(s) || found == stats.Below):
		k.Verdict, k.Reason = Impossible, bound.Reason
	case unbounded(s):
		k.Verdict, k.Reason = Undecided, repeats.few()
	case found == stats.Within:
		k.Verdict, k.Reason = Pass, "the whole interval is at least "+wanted
	case found == stats.Below:
		k.Verdict, k.Reason = Fail, "the interval does not reach "+wanted
	default:
		k.Verdict, k.Reason = Undecided, "the interval includes "+wanted+"; more "+repeats.Unit+" may decide it"
	}
	return k
}

// Hits judges the hits of a cache.
func Hits(c profiles.Criterion, hits, misses int64, bound Bound) Judged {
	k := Judged{Criterion: c}
	asked := hits + misses
	if asked == 0 {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "the "+c.Cache+" cache was not asked"
		return k
	}
	rate := float64(hits) / float64(asked)
	k.Measured = fmt.Sprintf("%.1f %%: %d of %d", 100*rate, hits, asked)
	switch {
	case rate >= c.Limit:
		k.Verdict, k.Reason = Pass, c.Met
	case bound.below(c.Limit):
		k.Verdict, k.Reason = Impossible, bound.Reason
	default:
		k.Verdict, k.Reason = Fail, c.Missed
	}
	return k
}

// Quality judges the difference of a series, optimised less baseline. Where says what it is a difference of.
func Quality(c profiles.Criterion, d stats.Centre, of profiles.SeriesInfo, where string) Judged {
	k := Judged{Criterion: c, Measured: Text(d, strings.TrimRight(" "+of.Unit, " "), 2), Verdict: Undecided,
		Reason: where}
	low, high := d.Low, d.High
	if unbounded(d) {
		low, high = d.Value, d.Value
	}
	if math.IsNaN(d.Value) {
		k.Measured, k.Verdict, k.Reason = "–", Fail, of.Title+" was not measured"
		return k
	}
	switch found := (stats.Claim{From: -c.Limit, To: c.Limit}).Judge(low, high); {
	case found.Excluded():
		k.Verdict = Fail
	case found == stats.Within:
		if k.Verdict = Pass; low == 0 && high == 0 {
			k.Reason = cmp.Or(c.Met, where)
		}
	}
	return k
}

// Memory judges the peak of resident memory; reason is why it is not known.
func Memory(c profiles.Criterion, peak int64, reason string) Judged {
	k := Judged{Criterion: c}
	if reason != "" {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "resident memory cannot be read: "+reason
		return k
	}
	k.Measured = fmt.Sprintf("%.0f MB", float64(peak)/1e6)
	k.Verdict, k.Reason = Pass, "the most that the process held, all runs together"
	if float64(peak) >= c.Limit {
		k.Verdict = Fail
	}
	return k
}

// Reproducible judges how far repetitions lie apart.
func Reproducible(c profiles.Criterion, s stats.Centre, repeats Repeats) Judged {
	k := Judged{Criterion: c, Measured: fmt.Sprintf("%d %s, speed-up %s", repeats.N, repeats.Unit, Text(s, "x", 2))}
	share := fmt.Sprintf("%.0f %%", 100*c.Limit)
	switch {
	case unbounded(s):
		k.Verdict, k.Reason = Undecided, repeats.few()
	case max(s.High-s.Value, s.Value-s.Low) <= c.Limit*s.Value:
		k.Verdict, k.Reason = Pass, "the interval is within "+share+" of its middle"
	default:
		k.Verdict, k.Reason = Fail, "the interval reaches further than "+share+
			" from its middle: the machine was busy, or more "+repeats.Unit+" are needed"
	}
	return k
}

// Text formats an estimate with its interval: "1.56x [1.52, 1.60]".
func Text(c stats.Centre, unit string, decimals int) string {
	if unbounded(c) {
		return fmt.Sprintf("%.*f%s", decimals, c.Value, unit)
	}
	return fmt.Sprintf("%.*f%s [%.*f, %.*f]", decimals, c.Value, unit, decimals, c.Low, decimals, c.High)
}
