package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// The parts of a summary, from a snapshot: what is known, else the reason.

// The reasons that several fields share.
const (
	notBegun    = "the run did not begin"
	noneRan     = "no iteration ran"
	noIteration = "no iteration ran after warm-up"
	notCompared = "the reconstruction was not compared with the truth"
)

// text returns a string, or why there is none.
func text(v, reason string) (*string, string) {
	if v == "" {
		return nil, reason
	}
	return &v, ""
}

// number returns a finite value, or why there is none.
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

// size returns a number of bytes, or why there is none.
func size(v int64, reason string) (*int64, string) {
	if reason != "" {
		return nil, reason
	}
	return &v, ""
}

// endedBy returns the setting that finished the run before its last sample, or that it diverged; empty for neither.
func endedBy(s *profiles.Snapshot) string {
	switch {
	case s.State == profiles.Finished:
		return s.EndedBy
	case s.State == profiles.Failed && strings.HasPrefix(s.Err, profiles.Diverged):
		return profiles.Diverged
	}
	return ""
}

func describeMachine(s *profiles.Snapshot, from Source) Machine {
	var m Machine
	m.Device, m.DeviceReason = text(s.Run.Device, notBegun)
	m.Kernels, m.KernelsReason = text(s.Run.Kernels, notBegun)
	m.CPU, m.CPUReason = text(from.CPU.Model, orElse(from.CPU.Reason, "the processor's model was not read"))
	m.GPU, m.GPUReason = text(orElse(from.GPU, s.Run.Card), orElse(s.Run.GPUReason, "no GPU was used"))
	threads := cmp.Or(from.Threads, s.Settings.Int(settings.Threads), from.Processors)
	if s.Settings.Table() != nil && !s.Settings.Has(settings.Threads) {
		m.ThreadsReason = "the workload does not say how many it computes on"
		return m
	}
	if threads > 0 {
		m.Threads = &threads
	} else {
		m.ThreadsReason = "the number of threads was not told"
	}
	return m
}

func describeModel(r *profiles.RunInfo) *Model {
	m := &Model{Parameters: r.Parameters}
	if k := r.KSpace(); k.Size > 0 {
		m.InputSize, m.OutputSize = &k.Size, &k.ObjectSize
	} else {
		m.InputSizeReason, m.OutputSizeReason = "the workload has no field", "the workload has no window of an object"
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
	ended := s.Ended()
	return Samples{Done: ended.Units, Total: s.Run.AllUnits(), Failed: append([]int32{}, ended.Failed...)}
}

// spread is in milliseconds; nil if no iteration ran.
func spread(s profiles.Spread) (*Spread, string) {
	if s.N == 0 {
		return nil, noIteration
	}
	return &Spread{Median: s.Median / 1e6, P10: s.P10 / 1e6, P90: s.P90 / 1e6, N: s.N}, ""
}

func describePhases(s *profiles.Snapshot) Phases {
	var p Phases
	for id, info := range s.Run.Schema.Phases {
		v := s.Whole.Phases[id]
		times, reason := spread(v.Spread)
		named := NamedPhase{Name: info.Name, Reason: reason}
		switch {
		case times != nil:
			named.Phase = &Phase{*times, v.Share}
		case s.Whole.Total.N > 0:
			named.Reason = "no iteration of this stage ran it"
		}
		p = append(p, named)
	}
	return p
}

func describeCaches(s *profiles.Snapshot) Caches {
	c := Caches{}
	for id, info := range s.Run.Schema.Caches {
		v := describeCache(s.Caches[id].CacheCounters)
		if use := info.Use(s.Settings); use != nil && use.Once && v.Hits == 0 && v.Misses > 0 {
			v.HitRateReason = use.Reason
			if use.Setting != "" {
				v.HitRateReason += " (" + use.Setting + "=" + use.Value + ")"
			}
		}
		c = append(c, NamedCache{info.Name, v})
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
		reason = fmt.Sprintf("%s, and an interval takes %d", c.Timed(), profiles.PriceLeast)
	}
	v.SavedLow, v.SavedLowReason = number(saved.Low/1e6, reason)
	v.SavedHigh, v.SavedHighReason = number(saved.High/1e6, reason)
	return v
}

func describeMemory(s *profiles.Snapshot) Values {
	var v Values
	add := func(name string, bytes int64, reason string) {
		number, reason := size(bytes, reason)
		v = append(v, Value{name, number, reason})
	}
	m, reason := s.Memory, s.MemoryReason()
	for id, info := range s.Run.Schema.Memory {
		add(info.Name, m.Parts[id], reason)
	}
	if s.Index > 0 {
		reason = ""
	}
	add("caches", m.Caches, reason)
	if reason = ""; m.PeakRSS == 0 {
		reason = orElse(m.Reason, "the operating system was not asked")
	}
	add("rss_peak", m.PeakRSS, reason)
	if l, ok := s.Ledger(); ok {
		add("gpu_allocated", m.Device.Allocated, "")
		add("gpu_context", m.Device.Context, "")
		add("pinned", m.Device.Pinned, "")
		add("gpu_in_use", int64(l.Used.Value), l.Used.Reason)
	}
	return v
}

// describeQuality returns the newest value of every series and, after the metrics, the iteration in which the schema's
// quality was measured, or else the last of them that was; what was measured in another has an iteration of its own.
// A metric that gets better neither upwards nor downwards is no quality.
func describeQuality(s *profiles.Snapshot) Values {
	var v Values
	at, judged := int64(-1), false
	metrics, measured := 0, Value{Name: "iteration", Number: (*int64)(nil)}
	for id := range s.Run.Schema.Series {
		info, now := &s.Run.Schema.Series[id], &s.Series[id]
		if info.Internal || info.Neutral() {
			continue
		}
		reason := ""
		switch {
		case info.Each && s.Index == 0:
			reason = noneRan
		case info.Each && math.IsNaN(now.Latest), !info.Each && !now.Has:
			reason = info.Absent
		case math.IsInf(now.Latest, 1) && info.Infinite != "":
			reason = "infinite: " + info.Infinite
		}
		value, reason := number(now.Latest, reason)
		v = append(v, Value{info.Name, value, reason})
		if info.Group == profiles.Metrics {
			metrics = len(v)
			if now.Has && !judged {
				at, judged = now.Iteration, info.Name == s.Run.Schema.Quality
				measured.Number, measured.Reason = &at, ""
			} else if measured.Number == (*int64)(nil) {
				measured.Reason = info.Absent
			}
		}
	}
	if metrics > 0 {
		v = slices.Insert(v, metrics, measured)
	}
	for id := range s.Run.Schema.Series {
		info, now := &s.Run.Schema.Series[id], s.Series[id]
		if now.Has && !info.Each && info.Group != "" && !info.Internal && !info.Neutral() && now.Iteration != at {
			v = append(v, Value{Name: info.Name + "_iteration", Number: &now.Iteration})
		}
	}
	return v
}

func describeChanges(s *profiles.Snapshot) []Change {
	changes := make([]Change, 0, len(s.Effects))
	for i := range s.Effects {
		e := &s.Effects[i]
		c := Change{Iteration: e.Iteration, AtSeconds: e.At.Seconds(), Confounded: e.Confounded,
			Without: e.WithoutResult()}
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
			if e.Ended && e.Needed > 0 {
				c.EffectReason += "; the run ended first"
			}
			if r := e.Replica; r != nil && r.Judge() != profiles.Unjudged {
				c.EffectReason = "replicated has the effect; of the iterations before and after alone: " +
					c.EffectReason
			}
		}
		reason := ""
		if !e.HasQuality {
			reason = "the quality was not measured on both sides of the change"
		}
		c.Drift, c.DriftReason = number(e.QualityDrift, reason)
		if r := e.Replica; r != nil {
			c.Replicated = &Replica{known(r.OffNS / 1e6), known(r.OnNS / 1e6), known(r.Effect), bounds(r.Low, r.High),
				r.Groups, r.Verdict()}
		}
		c.Fork = describeFork(e.Fork, &s.Run.Schema)
		changes = append(changes, c)
	}
	for _, v := range s.Changes {
		if v.Limit {
			changes = append(changes, describeLimit(v))
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.Iteration, b.Iteration) })
	return changes
}

func describeAlerts(alerts []profiles.Alert) []Alert {
	all := make([]Alert, 0, len(alerts))
	for _, a := range alerts {
		all = append(all, Alert{a.ID, a.Severity.String(), a.Iteration, a.Since.Seconds(), a.What, a.Try.Text(nil)})
	}
	return all
}

func describeNotes(s *profiles.Snapshot) []Annotation {
	all := make([]Annotation, 0, len(s.EarlierNotes)+len(s.Notes))
	add := func(start int, n *profiles.Note) {
		all = append(all, Annotation{start, n.Iteration, n.Written.Seconds(), n.Author, n.Text})
	}
	for i := range s.EarlierNotes {
		add(s.EarlierNotes[i].Start, &s.EarlierNotes[i].Note)
	}
	for i := range s.Notes {
		add(s.Start, &s.Notes[i])
	}
	return all[max(0, len(all)-profiles.MostNotes):]
}

func describeFork(f *profiles.Fork, schema *profiles.Schema) *Fork {
	if f == nil {
		return nil
	}
	v := &Fork{Arm: f.Arm, Pairs: f.Done, Ended: f.Ended, Series: map[string]*ForkLine{}}
	for i := range f.Rows {
		r := &f.Rows[i]
		v.Series[schema.Series[r.Series].Name] = &ForkLine{known(r.Before), known(r.After), known(r.Difference),
			bounds(r.Low, r.High), r.Equal}
	}
	return v
}

// describeLimit describes a change of a setting that has no effect.
func describeLimit(v profiles.Change) Change {
	const reason = "it changes nothing in an iteration"
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
	v.Verdict, v.DriftWindows = e.Verdict().Name(), e.DriftWindows
	reason = ""
	if e.DriftWindows < stats.DriftLeast {
		reason = "the run had too few iterations before the change"
	}
	v.Drift, v.DriftReason = number(e.Drift, reason)
	return v
}
