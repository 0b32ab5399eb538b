// Package checklist judges the acceptance list of PRISM's phase5_implementation_summary.md: of whole runs by
// turns, and of the live run whose optimisations are switched together.
package checklist

import (
	"fmt"
	"math"

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

// Criterion is one line of the list, judged.
type Criterion struct {
	Name     string
	Line     int    // of the document
	Wanted   string // as the document says it
	Measured string
	Verdict  Verdict
	Reason   string
}

// What the acceptance list demands.
const (
	wantedSpeedup = 3
	wantedHits    = 0.8
	wantedPSNR    = 1.0
	wantedPeak    = 2e9
	// wantedSpread is how far the interval of the speed-up may reach from its middle: the document
	// says "consistent" and no number.
	wantedSpread = 0.1
)

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
func Speedup(s stats.Centre, repeats Repeats, bound Bound) Criterion {
	k := Criterion{Name: "speed-up", Line: 320, Wanted: ">= 3x", Measured: Text(s, "x", 2)}
	found := stats.AtLeast(wantedSpeedup).Judge(s.Low, s.High)
	switch {
	case bound.below(wantedSpeedup) && (unbounded(s) || found == stats.Below):
		k.Verdict, k.Reason = Impossible, bound.Reason
	case unbounded(s):
		k.Verdict, k.Reason = Undecided, repeats.few()
	case found == stats.Within:
		k.Verdict, k.Reason = Pass, "the whole interval is at least 3x"
	case found == stats.Below:
		k.Verdict, k.Reason = Fail, "the interval does not reach 3x"
	default:
		k.Verdict, k.Reason = Undecided, "the interval includes 3x; more "+repeats.Unit+" may decide it"
	}
	return k
}

// Hits judges the hits of the measurement cache.
func Hits(hits, misses int64, bound Bound) Criterion {
	k := Criterion{Name: "cache hit rate", Line: 321, Wanted: ">= 80 %"}
	asked := hits + misses
	if asked == 0 {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "the measurement cache was not asked"
		return k
	}
	rate := float64(hits) / float64(asked)
	k.Measured = fmt.Sprintf("%.1f %%: %d of %d", 100*rate, hits, asked)
	switch {
	case rate >= wantedHits:
		k.Verdict, k.Reason = Pass, "of measurements of the object"
	case bound.below(wantedHits):
		k.Verdict, k.Reason = Impossible, bound.Reason
	default:
		k.Verdict, k.Reason = Fail, "measurements were lost from the cache, or too few were repeated so far: see measurement_cache_mb"
	}
	return k
}

// Quality judges the difference of PSNR, optimised less baseline. Where says what it is a difference of.
func Quality(d stats.Centre, where string) Criterion {
	k := Criterion{Name: "no quality regression", Line: 322, Wanted: "PSNR difference < 1 dB", Measured: Text(d, " dB", 2), Verdict: Undecided, Reason: where}
	low, high := d.Low, d.High
	if unbounded(d) {
		low, high = d.Value, d.Value
	}
	if math.IsNaN(d.Value) {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "PSNR was not measured"
		return k
	}
	switch found := (stats.Claim{From: -wantedPSNR, To: wantedPSNR}).Judge(low, high); {
	case found.Excluded():
		k.Verdict = Fail
	case found == stats.Within:
		if k.Verdict = Pass; low == 0 && high == 0 {
			k.Reason = "the same reconstruction, to rounding, in every round"
		}
	}
	return k
}

// Memory judges the peak of resident memory; reason is why it is not known.
func Memory(peak int64, reason string) Criterion {
	k := Criterion{Name: "memory reasonable", Line: 323, Wanted: "peak memory < 2 GB on CPU"}
	if reason != "" {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "resident memory cannot be read: "+reason
		return k
	}
	k.Measured = fmt.Sprintf("%.0f MB", float64(peak)/1e6)
	k.Verdict, k.Reason = Pass, "the most that the process held, all runs together"
	if float64(peak) >= wantedPeak {
		k.Verdict = Fail
	}
	return k
}

// Reproducible judges how far repetitions lie apart.
func Reproducible(s stats.Centre, repeats Repeats) Criterion {
	k := Criterion{Name: "reproducible", Line: 324, Wanted: "2-3 runs, consistent", Measured: fmt.Sprintf("%d %s, speed-up %s", repeats.N, repeats.Unit, Text(s, "x", 2))}
	switch {
	case unbounded(s):
		k.Verdict, k.Reason = Undecided, repeats.few()
	case max(s.High-s.Value, s.Value-s.Low) <= wantedSpread*s.Value:
		k.Verdict, k.Reason = Pass, "the interval is within 10 % of its middle"
	default:
		k.Verdict, k.Reason = Fail, "the interval reaches further than 10 % from its middle: the machine was busy, or more "+repeats.Unit+" are needed"
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
