package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/unit"
)

// The reasons that several fields share.
const (
	notBegun    = "the run did not begin"
	noneRan     = "no iteration ran"
	noIteration = "no iteration ran after warm-up"
	notCompared = "the reconstruction was not compared with the truth"
)

// text is a string or why there is none.
func text(v, reason string) (*string, string) {
	if v == "" {
		return nil, reason
	}
	return &v, ""
}

// number is a finite value or why there is none.
func number(v float64, reason string) (*float64, string) {
	switch {
	case reason != "":
		return nil, reason
	case math.IsNaN(v):
		return nil, "not a number"
	case math.IsInf(v, 0):
		return nil, "infinite"
	}
	return &v, ""
}

// size is a number of bytes or why there is none.
func size(v int64, reason string) (*int64, string) {
	if reason != "" {
		return nil, reason
	}
	return &v, ""
}

// limit is the setting that finished the run before its last sample; empty for none.
func limit(s *profiles.Snapshot) string {
	if s.State != profiles.Finished {
		return ""
	}
	return s.EndedBy
}

func describeMachine(s *profiles.Snapshot, from Source) Machine {
	var m Machine
	m.Device, m.DeviceReason = text(s.Run.Device, notBegun)
	m.Kernels, m.KernelsReason = text(s.Run.Kernels, notBegun)
	m.CPU, m.CPUReason = text(from.CPU.Model, orElse(from.CPU.Reason, "the processor's model was not read"))
	m.GPU, m.GPUReason = text(from.GPU, orElse(s.Run.GPUReason, "no GPU was used"))
	threads := from.Threads
	if threads == 0 {
		threads = s.Settings.Threads
	}
	if threads > 0 {
		m.Threads = &threads
	} else {
		m.ThreadsReason = "the number of threads was not told"
	}
	return m
}

func orElse(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}

func countSamples(s *profiles.Snapshot) Samples {
	n := Samples{Done: len(s.Results), Total: s.Run.AllSamples(), Failed: []int32{}}
	for _, r := range s.Results {
		if r.Failed() {
			n.Failed = append(n.Failed, r.Sample)
		}
	}
	return n
}

// spread is in milliseconds; nil when no iteration ran.
func spread(s profiles.Spread) (*Spread, string) {
	if s.N == 0 {
		return nil, noIteration
	}
	return &Spread{Median: s.Median / 1e6, P10: s.P10 / 1e6, P90: s.P90 / 1e6, N: s.N}, ""
}

func describePhases(s *profiles.Snapshot) Phases {
	var p Phases
	for id, to := range map[profiles.Phase]struct {
		phase  **Phase
		reason *string
	}{
		profiles.Forward:   {&p.Forward, &p.ForwardReason},
		profiles.Telescope: {&p.Telescope, &p.TelescopeReason},
		profiles.Loss:      {&p.Loss, &p.LossReason},
		profiles.Backward:  {&p.Backward, &p.BackwardReason},
		profiles.Optimizer: {&p.Optimizer, &p.OptimizerReason},
		profiles.Metrics:   {&p.Metrics, &p.MetricsReason},
	} {
		v := s.Whole.Phases[id]
		times, reason := spread(v.Spread)
		switch {
		case times != nil:
			*to.phase = &Phase{*times, v.Share}
		case s.Whole.Total.N > 0:
			*to.reason = "no iteration of this stage ran it"
		default:
			*to.reason = reason
		}
	}
	return p
}

func describeCaches(s *profiles.Snapshot) *Caches {
	c := &Caches{
		Measurement: describeCache(s.Caches[profiles.MeasurementCache].CacheCounters),
		FFTPlans:    describeCache(s.Caches[profiles.FFTPlans].CacheCounters),
		Masks:       describeCache(s.Caches[profiles.Masks].CacheCounters),
	}
	if m := &c.Measurement; m.Hits == 0 && m.Misses > 0 && s.Settings.Pattern == "trainer" {
		m.HitRateReason = "every sample asks once, at a centre of its own (pattern=trainer)"
	}
	return c
}

func describeCache(c profiles.CacheCounters) Cache {
	v := Cache{Enabled: c.Enabled, Hits: c.Hits, Misses: c.Misses, Entries: c.Entries, Bytes: c.Bytes}
	reason := ""
	if c.Hits+c.Misses == 0 {
		reason = "nothing was looked up"
		if !c.Enabled {
			reason = "the cache was off"
		}
	}
	rate, _ := c.HitRate()
	v.HitRate, v.HitRateReason = number(rate, reason)
	saved := c.Total()
	v.SavedMS, v.SavedMSReason = number(saved.Value/1e6, reason)
	if reason == "" && !saved.Bounded {
		reason = fmt.Sprintf("an entry was timed %s since threads or transforms changed, and an interval takes %d", unit.Plural(int(c.PricedBy), "time", "times"), profiles.PriceLeast)
	}
	v.SavedLow, v.SavedLowReason = number(saved.Low/1e6, reason)
	v.SavedHigh, v.SavedHighReason = number(saved.High/1e6, reason)
	return v
}

func describeMemory(s *profiles.Snapshot) Memory {
	m, reason := s.Memory, ""
	if m.Weights == 0 {
		reason = "no plan was compiled"
	}
	var v Memory
	v.Weights, v.WeightsReason = size(m.Weights, reason)
	v.Gradients, v.GradientsReason = size(m.Gradients, reason)
	v.Moments, v.MomentsReason = size(m.Moments, reason)
	v.Activations, v.ActivationsReason = size(m.Activations, reason)
	v.Inputs, v.InputsReason = size(m.Inputs, reason)
	v.Scratch, v.ScratchReason = size(m.Scratch, reason)
	v.Caches, v.CachesReason = size(m.Caches, reason)
	reason = ""
	if m.PeakRSS == 0 {
		reason = orElse(m.Reason, "the operating system was not asked")
	}
	v.RSSPeak, v.RSSPeakReason = size(m.PeakRSS, reason)
	return v
}

func describeQuality(s *profiles.Snapshot) Quality {
	var q Quality
	unmeasured, old := "", ""
	switch {
	case s.Index == 0:
		unmeasured, old = noneRan, noneRan
	case s.Stage == profiles.Initialising:
		old = "the initialisation has no old measurement"
	}
	q.LossOld, q.LossOldReason = number(s.LatestLossOld, old)
	q.LossNew, q.LossNewReason = number(s.LatestLossNew, unmeasured)

	reason := ""
	if s.HasQuality {
		q.Iteration = &s.Quality.Iteration
	} else {
		reason, q.IterationReason = notCompared, notCompared
	}
	q.SSIM, q.SSIMReason = number(s.Quality.SSIM, reason)
	q.RMSE, q.RMSEReason = number(s.Quality.RMSE, reason)
	if math.IsInf(s.Quality.PSNR, 1) {
		reason = orElse(reason, "infinite: the reconstruction equals the truth")
	}
	q.PSNR, q.PSNRReason = number(s.Quality.PSNR, reason)

	reason = ""
	if len(s.Results) == 0 {
		reason = "no sample was done"
	}
	q.Coverage, q.CoverageReason = number(s.Coverage, reason)
	return q
}

func describeChanges(s *profiles.Snapshot) []Change {
	changes := make([]Change, 0, len(s.Effects))
	for i := range s.Effects {
		e := &s.Effects[i]
		c := Change{Iteration: e.Iteration, AtSeconds: e.At.Seconds(), Confounded: e.Confounded}
		var keys, before, after []string
		for _, v := range e.Changes() {
			c.Settings = append(c.Settings, Setting{v.Key, v.Before, v.After})
			keys, before, after = append(keys, v.Key), append(before, v.Before), append(after, v.After)
		}
		c.Key, c.Before, c.After = strings.Join(keys, ", "), strings.Join(before, ", "), strings.Join(after, ", ")
		if e.Enough {
			c.Effect = describeEffect(e)
		} else {
			c.EffectReason = fmt.Sprintf("not enough comparable iterations: %d before, %d after", e.NBefore, e.NAfter)
			if e.Ended {
				c.EffectReason += "; the run ended first"
			}
		}
		reason := ""
		if !e.HasQuality {
			reason = "the reconstruction was not compared with the truth on both sides"
		}
		c.Drift, c.DriftReason = number(e.QualityDrift, reason)
		changes = append(changes, c)
	}
	for _, v := range s.Changes {
		if k, ok := preset.LookupKey(v.Key); ok && k.Limit {
			changes = append(changes, describeLimit(v))
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.Iteration, b.Iteration) })
	return changes
}

// describeLimit is a change of a setting that has no effect.
func describeLimit(v profiles.Change) Change {
	const reason = "a limit: it changes nothing in an iteration"
	c := Change{Iteration: v.Iteration, AtSeconds: v.At.Seconds(), Key: v.Key, Before: v.Before, After: v.After,
		Settings: []Setting{{v.Key, v.Before, v.After}}, EffectReason: reason}
	c.DriftReason = reason
	return c
}

func describeEffect(e *profiles.Effect) *Effect {
	v := &Effect{BeforeMS: e.BeforeNS / 1e6, AfterMS: e.AfterNS / 1e6, NBefore: e.NBefore, NAfter: e.NAfter}
	reason := ""
	if e.Confounded != "" {
		reason = "not comparable: " + e.Confounded
	}
	v.Shift, v.ShiftReason = number(e.Shift, reason)
	v.Low, v.LowReason = number(e.Low, reason)
	v.High, v.HighReason = number(e.High, reason)
	return v
}

// Of is a phase; nil where no iteration ran it.
func (p *Phases) Of(id profiles.Phase) *Phase {
	return [profiles.NumPhases]*Phase{p.Forward, p.Telescope, p.Loss, p.Backward, p.Optimizer, p.Metrics}[id]
}
