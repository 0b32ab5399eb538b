package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
)

// Rounds is the number of rounds of a comparison unless it is given: the fewest with a 95 % interval,
// and two more.
const Rounds = 8

// Comparison is a workload run without and with a set of optimisations, by turns.
type Comparison struct {
	Preset string `json:"preset"`
	Set    Set    `json:"optimizations"`
	Rounds int    `json:"rounds"` // complete ones: one run of either side each, from the same seed

	Baseline  Seconds `json:"baseline_seconds"`
	Optimized Seconds `json:"optimized_seconds"`

	// Speedup is baseline over optimised time, and Percent what is saved of the baseline's time, 0
	// to 100; both from the rounds' ratios.
	Speedup report.Interval `json:"speedup"`
	Percent report.Interval `json:"time_saved_percent"`
	// PSNR is optimised less baseline, over the rounds' seeds; nil if it was not measured in each of them.
	PSNR *report.Interval `json:"psnr_difference_db"`

	Results [2][]Result `json:"results"` // of the rounds, baseline first

	partial bool // it was interrupted
}

// Seconds are the times of whole runs.
type Seconds struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Compare adds a comparison of a workload. Weight is its share of the suite.
func (s *Suite) Compare(preset string, set Set, weight float64) {
	s.plan = append(s.plan, step{fmt.Sprintf("compare %s, %s", preset, set.Name()), weight,
		func(ctx context.Context, progress func(float64)) error {
			return s.compare(ctx, preset, set, progress)
		}})
}

// Name is what a set is called in messages.
func (set Set) Name() string {
	return map[Set]string{Documented: "PRISM's optimisations", Everything: "all optimisations"}[set]
}

// compare runs both sides by turns. A coin decides which side of a round goes first, so that what the
// machine does meanwhile favours either with equal chance.
func (s *Suite) compare(ctx context.Context, preset string, set Set, progress func(float64)) error {
	c := Comparison{Preset: preset, Set: set}
	runs := float64(2*s.options.Rounds + 1)
	over := 0.0
	once := func(side Side, seed uint64) (*Result, error) {
		r, err := s.measure(ctx, preset, set, side, seed, func(part float64) { progress((over + part) / runs) })
		over++
		return r, err
	}
	_, err := once(Optimized, 1) // warms up the machine and is not counted
	for round := 0; round < s.options.Rounds && err == nil; round++ {
		sides := []Side{Baseline, Optimized}
		if rand.IntN(2) == 1 {
			slices.Reverse(sides)
		}
		var pair [2]*Result
		for _, side := range sides {
			at := 0
			if side == Optimized {
				at = 1
			}
			if pair[at], err = once(side, uint64(round)+1); err != nil {
				break
			}
		}
		if err == nil {
			c.Results[0], c.Results[1] = append(c.Results[0], *pair[0]), append(c.Results[1], *pair[1])
		}
	}
	if len(c.Results[0]) == 0 {
		return errors.Join(err)
	}
	c.judge()
	c.partial = err != nil
	s.report.Comparisons = append(s.report.Comparisons, c)
	return err
}

// judge computes the numbers from the results.
func (c *Comparison) judge() {
	c.Rounds = len(c.Results[0])
	var ratios, differences []float64
	for i := range c.Results[0] {
		base, optimized := &c.Results[0][i], &c.Results[1][i]
		ratios = append(ratios, math.Log(base.Seconds/optimized.Seconds))
		if base.PSNR != nil && optimized.PSNR != nil {
			differences = append(differences, *optimized.PSNR-*base.PSNR)
		}
	}
	c.Baseline, c.Optimized = secondsOf(c.Results[0]), secondsOf(c.Results[1])
	ratio := report.Of(stats.SignedRank(ratios))
	c.Speedup = ratio.Through(math.Exp)
	c.Percent = ratio.Through(func(v float64) float64 { return 100 * -math.Expm1(-v) })
	if len(differences) == c.Rounds {
		d := report.Of(stats.SignedRank(differences))
		c.PSNR = &d
	}
}

func secondsOf(results []Result) Seconds {
	var all []float64
	for _, r := range results {
		all = append(all, r.Seconds)
	}
	slices.Sort(all)
	return Seconds{stats.Quantile(all, 0.5), all[0], all[len(all)-1]}
}

// typical returns the run of a side whose time is the median.
func typical(results []Result) *Result {
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b Result) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return &sorted[(len(sorted)-1)/2]
}

// Side adds runs of one side of a workload, of which the report has the one whose time is the median.
func (s *Suite) Side(preset string, set Set, side Side, weight float64) {
	s.plan = append(s.plan, step{fmt.Sprintf("%s of %s, %s", side, preset, set.Name()), weight,
		func(ctx context.Context, progress func(float64)) error {
			var results []Result
			var err error
			for round := 0; round < repeats && err == nil; round++ {
				var r *Result
				if r, err = s.measure(ctx, preset, set, side, 1,
					func(part float64) { progress((float64(round) + part) / repeats) }); err == nil {
					results = append(results, *r)
				}
			}
			if len(results) > 0 {
				r := typical(results)
				r.partial = err != nil
				if side == Baseline {
					s.report.Baseline = r
				} else {
					s.report.Optimized = r
				}
			}
			return err
		}})
}

// repeats is the number of runs of a side by itself; PRISM's acceptance list wants two or three.
const repeats = 3
