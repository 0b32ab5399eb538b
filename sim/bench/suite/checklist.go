package suite

import (
	"fmt"
	"math"

	"prismtop/sim/prism"
)

// Verdict is what a criterion comes to.
type Verdict string

// The verdicts.
const (
	Pass       Verdict = "PASS"
	Fail       Verdict = "FAIL"
	Impossible Verdict = "cannot be met in this pattern" // for the reason beside it
)

// Criterion is one line of the acceptance list of PRISM's phase5_implementation_summary.md, judged.
type Criterion struct {
	Preset   string  `json:"preset"`
	Set      Set     `json:"optimizations"`
	Name     string  `json:"name"`
	Line     int     `json:"line"`   // of the document
	Wanted   string  `json:"wanted"` // as the document says it
	Measured string  `json:"measured"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`
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

// checklist judges a comparison by the acceptance list.
func (c *Comparison) checklist() []Criterion {
	all := []Criterion{c.speedup(), c.hits(), c.quality(), c.memory(), c.reproducible()}
	for i := range all {
		all[i].Preset, all[i].Set = c.Preset, c.Set
	}
	return all
}

func (c *Comparison) speedup() Criterion {
	k := Criterion{Name: "speed-up", Line: 320, Wanted: ">= 3x", Measured: c.Speedup.text("x", 2)}
	if c.Speedup.Low != nil && *c.Speedup.Low >= wantedSpeedup {
		k.Verdict, k.Reason = Pass, "the whole interval is at least 3x"
		return k
	}
	if most, ok := c.most(); ok && most < wantedSpeedup && (c.Speedup.High == nil || *c.Speedup.High < wantedSpeedup) {
		k.Verdict, k.Reason = Impossible, fmt.Sprintf("because what the caches of measurements and grids can save is the telescope's, %.0f %% of the optimised time: "+
			"without all of it the speed-up would be %.2fx", 100*typical(c.Results[1]).Phases[telescope], most)
		return k
	}
	k.Verdict, k.Reason = Fail, "the interval does not reach 3x"
	switch {
	case c.Speedup.Low == nil:
		k.Reason = fmt.Sprintf("%d rounds give no interval: it takes 6", c.Rounds)
	case *c.Speedup.High >= wantedSpeedup:
		k.Reason = "the interval contains 3x, so that it is not shown; more rounds may decide it"
	}
	return k
}

// telescope is the phase in which measurements are made.
const telescope = "telescope"

// most returns a speed-up that PRISM's optimisations cannot exceed: the baseline's time over that of the
// optimised side if its telescope took none. What FFT plans save elsewhere is in the latter.
func (c *Comparison) most() (float64, bool) {
	if c.Set != Documented {
		return 0, false
	}
	rest := c.Optimized.Median * (1 - typical(c.Results[1]).Phases[telescope])
	return c.Baseline.Median / rest, rest > 0
}

func (c *Comparison) hits() Criterion {
	k := Criterion{Name: "cache hit rate", Line: 321, Wanted: ">= 80 %"}
	r := typical(c.Results[1])
	m := r.Caches[prism.Schema().Caches[prism.CacheMeasurement].Name]
	if m.HitRate == nil {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "the cache of measurements was not asked"
		return k
	}
	asked := m.Hits + m.Misses
	k.Measured = fmt.Sprintf("%.1f %%: %d of %d", 100**m.HitRate, m.Hits, asked)
	switch most := 1 - float64(r.Samples)/float64(asked); {
	case *m.HitRate >= wantedHits:
		k.Verdict, k.Reason = Pass, "of measurements of the object"
	case most < wantedHits && asked > 0:
		k.Verdict = Impossible
		k.Reason = fmt.Sprintf("because %d measurements at %d different centres hit %.0f %% at most; the same pattern reaches 80 %% in 5 passes (--set passes=5)",
			asked, r.Samples, 100*math.Max(0, most))
	default:
		k.Verdict, k.Reason = Fail, "measurements were lost from the cache: see measurement_cache_mb"
	}
	return k
}

func (c *Comparison) quality() Criterion {
	k := Criterion{Name: "no quality regression", Line: 322, Wanted: "PSNR difference < 1 dB", Measured: c.PSNR.text(" dB", 2)}
	low, high := c.PSNR.Value, c.PSNR.Value
	if c.PSNR.Low != nil {
		low, high = *c.PSNR.Low, *c.PSNR.High
	}
	if math.Max(math.Abs(low), math.Abs(high)) < wantedPSNR {
		k.Verdict, k.Reason = Pass, "optimised less baseline, over the rounds' seeds"
		if low == 0 && high == 0 {
			k.Reason = "the same reconstruction, to rounding, in every round"
		}
		return k
	}
	k.Verdict, k.Reason = Fail, "optimised less baseline, over the rounds' seeds"
	return k
}

func (c *Comparison) memory() Criterion {
	k := Criterion{Name: "memory reasonable", Line: 323, Wanted: "peak memory < 2 GB on CPU"}
	last := &c.Results[1][len(c.Results[1])-1]
	if last.PeakRSS == nil {
		k.Measured, k.Verdict, k.Reason = "–", Fail, "resident memory cannot be read: "+last.RSSReason
		return k
	}
	k.Measured = fmt.Sprintf("%.0f MB", float64(*last.PeakRSS)/1e6)
	k.Verdict, k.Reason = Pass, "the most that the process held, all runs together"
	if float64(*last.PeakRSS) >= wantedPeak {
		k.Verdict = Fail
	}
	return k
}

func (c *Comparison) reproducible() Criterion {
	k := Criterion{Name: "reproducible", Line: 324, Wanted: "2-3 runs, consistent", Measured: fmt.Sprintf("%d rounds, speed-up %s", c.Rounds, c.Speedup.text("x", 2))}
	s := c.Speedup
	switch {
	case s.Low == nil:
		k.Verdict, k.Reason = Fail, fmt.Sprintf("%d rounds give no interval: it takes 6", c.Rounds)
	case math.Max(*s.High-s.Value, s.Value-*s.Low) <= wantedSpread*s.Value:
		k.Verdict, k.Reason = Pass, "the interval is within 10 % of its middle"
	default:
		k.Verdict, k.Reason = Fail, "the interval reaches further than 10 % from its middle: the machine was busy, or more rounds are needed"
	}
	return k
}

// text formats an interval: "1.56x [1.52, 1.60]".
func (i Interval) text(unit string, decimals int) string {
	if i.Low == nil {
		return fmt.Sprintf("%.*f%s", decimals, i.Value, unit)
	}
	return fmt.Sprintf("%.*f%s [%.*f, %.*f]", decimals, i.Value, unit, decimals, *i.Low, decimals, *i.High)
}
