package profiles

import (
	"errors"
	"fmt"
	"math"

	"prismtop/profiles/visible"
)

// Acceptance is a list of what a workload's optimisations are to achieve together. Package criteria judges it.
type Acceptance struct {
	Name     string      `json:"name"` // "PRISM's acceptance list"
	Criteria []Criterion `json:"criteria"`
}

// Criterion is a line of such a list.
type Criterion struct {
	Name   string  `json:"name"` // "cache hit rate"
	Of     Limited `json:"of"`
	Limit  float64 `json:"limit"`
	Wanted string  `json:"wanted"`          // in words, as a document says it
	Line   int     `json:"line,omitempty"`  // of the document
	Cache  string  `json:"cache,omitempty"` // whose hits they are
	// Met and Missed are the reasons for what is said of hits; Met also that for a quality that is the same.
	Met    string `json:"met,omitempty"`
	Missed string `json:"missed,omitempty"`
}

// Limited is what a criterion limits.
type Limited string

// What criteria limit.
const (
	OfSpeedup Limited = "speedup" // the time with everything off over that with everything on, from the limit
	OfHits    Limited = "hits"    // the share of a cache's lookups that hit, 0 to 1, from the limit
	OfQuality Limited = "quality" // the difference of the quality, either way, below the limit
	OfPeak    Limited = "peak"    // resident memory at its most, below the limit in bytes
	// how far the speed-up's interval reaches from its middle, as a share of it, up to the limit
	OfSpread Limited = "spread"
)

// Criterion returns the first that limits something; the zero value if none does.
func (a *Acceptance) Criterion(of Limited) Criterion {
	for _, c := range a.Criteria {
		if c.Of == of {
			return c
		}
	}
	return Criterion{}
}

// mostCriteria bounds a list of acceptance.
const mostCriteria = 16

// checkAcceptance returns why the list of acceptance cannot be used.
func (s *Schema) checkAcceptance() error {
	a := &s.Acceptance
	if len(a.Criteria) > mostCriteria {
		return fmt.Errorf("the schema has %d criteria of acceptance: must be at most %d", len(a.Criteria), mostCriteria)
	}
	for i := range a.Criteria {
		c := &a.Criteria[i]
		var err error
		switch c.Of {
		case OfSpeedup, OfPeak, OfSpread:
		case OfHits:
			if s.CacheNamed(c.Cache) < 0 {
				err = fmt.Errorf("is of the cache %q, which the schema lacks", visible.Text(c.Cache))
			}
		case OfQuality:
			if s.Quality == "" {
				err = errors.New("is of the quality, which the schema does not name")
			}
		default:
			err = fmt.Errorf("is of %q: must be %s, %s, %s, %s or %s", visible.Text(string(c.Of)), OfSpeedup, OfHits,
				OfQuality, OfPeak, OfSpread)
		}
		if err == nil && (!(c.Limit > 0) || math.IsInf(c.Limit, 0)) {
			err = fmt.Errorf("has the limit %g: must be above 0", c.Limit)
		}
		if err == nil && c.Of == OfHits && c.Limit >= 1 {
			err = fmt.Errorf("has the limit %g: must be below 1", c.Limit)
		}
		if err != nil {
			return fmt.Errorf("the schema's criterion %d %w", i+1, err)
		}
	}
	return nil
}
