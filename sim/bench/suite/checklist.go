package suite

import (
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/criteria"
	"prismtop/profiles/stats"
	"prismtop/sim/prism"
)

// Criterion is one line of the acceptance list of PRISM's phase5_implementation_summary.md, judged.
type Criterion struct {
	Preset   string           `json:"preset"`
	Set      Set              `json:"optimizations"`
	Name     string           `json:"name"`
	Line     int              `json:"line"`   // of the document
	Wanted   string           `json:"wanted"` // as the document says it
	Measured string           `json:"measured"`
	Verdict  criteria.Verdict `json:"verdict"`
	Reason   string           `json:"reason"`
}

// checklist judges a comparison by the acceptance list.
func (c *Comparison) checklist() (all []Criterion) {
	repeats := criteria.Repeats{N: c.Rounds, Unit: "rounds"}
	quality := stats.Centre{Value: math.NaN()}
	if c.PSNR != nil {
		quality = c.PSNR.Centre()
	}
	schema := prism.Schema()
	of := schema.Acceptance.Criterion
	for _, k := range []criteria.Judged{
		criteria.Speedup(of(profiles.OfSpeedup), c.Speedup.Centre(), repeats, c.mostSpeedup()),
		c.hits(of(profiles.OfHits)), criteria.Quality(of(profiles.OfQuality), quality, schema.QualityInfo(),
			"optimised less baseline, over the rounds' seeds"),
		c.memory(of(profiles.OfPeak)), criteria.Reproducible(of(profiles.OfSpread), c.Speedup.Centre(), repeats),
	} {
		all = append(all, Criterion{c.Preset, c.Set, k.Name, k.Line, k.Wanted, k.Measured, k.Verdict, k.Reason})
	}
	return all
}

// mostSpeedup returns a speed-up that PRISM's optimisations cannot exceed.
func (c *Comparison) mostSpeedup() criteria.Bound {
	most, ok := c.most()
	if !ok {
		return criteria.Bound{}
	}
	return criteria.Bound{Most: most, Reason: fmt.Sprintf("because what the measurement cache and the mask cache can "+
		"save is the telescope's, %.0f %% of the optimised time: "+
		"without all of it the speed-up would be %.2fx", 100*typical(c.Results[1]).Phases[telescope], most)}
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

func (c *Comparison) hits(of profiles.Criterion) criteria.Judged {
	r := typical(c.Results[1])
	m := r.Caches[prism.Schema().Caches[prism.CacheMeasurement].Name]
	asked := m.Hits + m.Misses
	bound := criteria.Bound{}
	if asked > 0 {
		bound.Most = math.Max(0, 1-float64(r.Centres)/float64(asked))
		bound.Reason = fmt.Sprintf("because %d measurements at %d different centres hit %.0f %% at most; a pattern "+
			"that measures each centre once reaches 80 %% in 5 passes (--set passes=5)",
			asked, r.Centres, 100*bound.Most)
	}
	return criteria.Hits(of, m.Hits, m.Misses, bound)
}

func (c *Comparison) memory(of profiles.Criterion) criteria.Judged {
	last := &c.Results[1][len(c.Results[1])-1]
	if last.PeakRSS == nil {
		return criteria.Memory(of, 0, last.RSSReason)
	}
	return criteria.Memory(of, *last.PeakRSS, "")
}
