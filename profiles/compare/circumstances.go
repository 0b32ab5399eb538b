package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// The circumstances of a comparison: settings that differ, what all sides share, warnings,
// and the curves over each other.

// settings lists the settings that differ between the sides' first recordings.
func (t *table) settings() (differ []Setting) {
	var keys []string
	for _, side := range t.samples {
		for _, key := range side[0].inForce().Table().Names() {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		s := Setting{Key: key}
		for _, side := range t.samples {
			v := side[0].inForce()
			value := "–"
			if k, ok := v.Lookup(key); ok {
				value, s.Limit = v.Get(key), k.Limit
			}
			s.Values = append(s.Values, value)
		}
		if len(slices.Compact(slices.Clone(s.Values))) > 1 {
			differ = append(differ, s)
		}
	}
	return differ
}

// differing lists the settings other than limits that differ between two recordings.
func (s *Sample) differing(o *Sample) (keys []string) {
	a, b := s.inForce(), o.inForce()
	for _, key := range a.Table().Names() {
		if k, _ := a.Lookup(key); !k.Limit && a.Get(key) != b.Get(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// seedsDiffer reports whether a side and the base have other seeds.
func (t *table) seedsDiffer(k int) bool {
	a, b := t.samples[0][0].inForce(), t.samples[k][0].inForce()
	return a.Has(settings.Seed) && b.Has(settings.Seed) && a.Get(settings.Seed) != b.Get(settings.Seed)
}

// otherObjective says in which settings a side has other losses than the base; empty if they measure the same.
func (t *table) otherObjective(k int) string {
	a, b := t.samples[0][0], t.samples[k][0]
	var differ []string
	for _, key := range b.differing(a) {
		if slices.Contains(a.inForce().Table().Roles().Objective, key) {
			differ = append(differ, fmt.Sprintf("%s = %s and %s", key, a.inForce().Get(key), b.inForce().Get(key)))
		}
	}
	return strings.Join(differ, ", ")
}

// facts are what two sides should have in common, by name.
var facts = []struct {
	about string
	of    func(*Run) string
}{
	{"program", func(r *Run) string { return r.Program }},
	{"processor", func(r *Run) string { return r.Processor }},
	{"device", func(r *Run) string { return r.Device }},
	{"kernels", func(r *Run) string { return r.Kernels }},
	{"threads", func(r *Run) string {
		if r.Threads == 0 {
			return ""
		}
		return fmt.Sprint(r.Threads)
	}},
	{"object", func(r *Run) string { return r.Object }},
	{"picture", func(r *Run) string { return r.Picture[:min(len(r.Picture), 12)] }},
}

// warnings lists what differs between the recordings besides their settings, and reasons for doubt.
func (t *table) warnings(c *Comparison) (all []Warning) {
	warn := func(about, format string, values ...any) {
		all = append(all, Warning{about, fmt.Sprintf(format, values...)})
	}
	for _, f := range facts {
		var values []string
		for i := range c.Sides {
			for j := range c.Sides[i].Runs {
				if v := f.of(&c.Sides[i].Runs[j]); v != "" && !slices.Contains(values, v) {
					values = append(values, v)
				}
			}
		}
		if len(values) > 1 {
			warn(f.about, "the %s differs: %s", f.about, strings.Join(values, ", "))
		}
	}
	for k, side := range t.samples {
		for r, s := range side {
			run := &c.Sides[k].Runs[r]
			if keys := side[0].differing(s); r > 0 && len(keys) > 0 {
				warn("settings", "the recordings of a side differ: %s from %s in %s", run.Name, side[0].run.Name,
					strings.Join(keys, ", "))
			}
			if run.Growing {
				warn("growing", "%s goes on: compared is what it has so far", run.Name)
			}
			if text := s.part(); text != "" {
				warn("start", "%s %s", run.Name, text)
			}
			if run.Dropped > 0 {
				warn("dropped", "%s lacks %s: the disk could not keep up", run.Name,
					unit.Plural(int(run.Dropped), "iteration", "iterations"))
			}
			if run.LeftOut.Settings > 0 {
				warn("changes", "settings changed in %s: times are of the iterations under those in force longest, %s "+
					"others are left out; @change2 names a part",
					run.Name, unit.Count(run.LeftOut.Settings))
			}
			if t.turns == nil && run.Foreign > t.options.MaxForeign && t.kept[k][r].reason == "" {
				warn("other programs", "other programs took %.0f %% of the processors during %s: %s disturbed by them "+
					"are left out",
					100*run.Foreign, run.Name, unit.Plural(run.LeftOut.Disturbed, "block", "blocks"))
			}
		}
	}
	for k := 1; k < len(t.samples); k++ {
		if t.turns == nil && t.replicated(k) && !t.byTurns(k) {
			warn("order", "the recordings of %s and %s were not made by turns: a machine whose speed changed "+
				"meanwhile looks like a difference", c.Sides[0].Name, c.Sides[k].Name)
		}
	}
	return all
}

// part says which part of a run of several starts is compared where the stretch names none; empty for a run of one.
func (s *Sample) part() string {
	resumed := s.info.Resumed > 0
	if s.stretch.start > 0 || s.starts < 2 && !resumed {
		return ""
	}
	text := "was restarted: compared is its newest start"
	if resumed {
		text = "was resumed after " + unit.Plural(int(s.info.Resumed), "iteration", "iterations") +
			": compared is its part since then"
	}
	if s.starts > 1 {
		text += fmt.Sprintf("; @start%d names the one before", s.starts-1)
	}
	return text
}

// curves returns the numbers over the runs, for charts.
func (t *table) curves() (all []Curve) {
	curve := func(c Curve, of func(s *Sample) func(*bin) extent) {
		any := false
		for _, side := range t.samples {
			var points []Point
			if value := of(side[0]); value != nil {
				points = side[0].grid.curve(value)
			}
			c.Sides, any = append(c.Sides, points), any || len(points) > 0
		}
		if any {
			all = append(all, c)
		}
	}
	curve(Curve{Name: "iteration_ms", Title: "iteration time", Unit: "ms", Better: profiles.LessIsBetter},
		func(*Sample) func(*bin) extent {
			return func(b *bin) extent { return b.time }
		})
	for _, info := range t.samples[0][0].schema.Series {
		if info.Internal {
			continue
		}
		curve(Curve{Name: info.Name, Title: info.Alone(), Unit: short(info.Unit), Scale: info.Scale,
			Better: info.Better},
			func(s *Sample) func(*bin) extent {
				i := s.schema.SeriesNamed(info.Name)
				if i < 0 {
					return nil
				}
				return func(b *bin) extent { return b.series[i] }
			})
	}
	return all
}

// Over lists the rows of a side after the base that are worse by more than a share, with their whole
// interval, as a row's Against index: those that fail a build.
func (c *Comparison) Over(limit float64) (rows []OverLimit) {
	for i := range c.Rows {
		r := &c.Rows[i]
		for k := range r.Against {
			d := &r.Against[k]
			if r.Sense(k) >= 0 {
				continue
			}
			least := min(math.Abs(d.Low), math.Abs(d.High))
			if r.Absolute && r.Unit != "1" {
				least /= math.Abs(r.Values[0].Value)
			}
			if least > limit {
				rows = append(rows, OverLimit{Row: r, Side: k + 1})
			}
		}
	}
	return rows
}

// Slowed is Over for times alone: those of the iteration, and of the phases that take a share of it or more in the base
// or on their side. A phase that is short on both differs by itself.
func (c *Comparison) Slowed(limit, share float64) []OverLimit {
	var whole *Row
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Group == Speed && !r.Absolute && r.Unit == "ms" {
			whole = r
		}
	}
	short := func(r *Row, side int) bool {
		return whole != nil && r.Values[side].Value < share*whole.Values[side].Value
	}
	return slices.DeleteFunc(c.Over(limit), func(o OverLimit) bool {
		return o.Row.Group > Phases || o.Row.Group == Phases && short(o.Row, 0) && short(o.Row, o.Side)
	})
}

// OverLimit is a row that is worse than the base by more than a limit.
type OverLimit struct {
	Row  *Row
	Side int // index of Comparison.Sides
}

// tooWide returns the time of programs that ran by turns whose interval would not have shown twice a share; nil for
// none.
func (c *Comparison) tooWide(k int, limit float64) *Row {
	for i := range c.Rows {
		r := &c.Rows[i]
		d := &r.Against[k-1]
		timed := r.Group == Speed && r.Better == profiles.LessIsBetter && d.Verdict != NotComparable
		if c.Design == Alternating && timed && stats.AtMost(limit).Judge(d.Low, d.High) != stats.Above &&
			stats.AtMost(2*limit).Judge(d.Low, d.High) == stats.Undecided {
			return r
		}
	}
	return nil
}

// Undecided says why a comparison cannot tell whether times are worse by more than a share; empty if
// it can.
func (c *Comparison) Undecided(limit float64) string {
	for k := 1; k < len(c.Sides); k++ {
		timed, reason := false, ""
		for i := range c.Rows {
			if r := &c.Rows[i]; r.Group == Speed {
				timed = timed || r.Against[k-1].Verdict != NotComparable
				reason = r.Against[k-1].Reason
			}
		}
		if !timed {
			return "the times of " + c.Sides[k].Name + " cannot be compared: " + reason
		}
		if r := c.tooWide(k, limit); r != nil {
			return fmt.Sprintf("%s: %s differs by %s: more starts of both narrow that", c.Sides[k].Name, r.Title,
				strings.TrimSpace(r.Interval(k-1)))
		}
		if k <= len(c.Common) && !c.Common[k-1].Judged &&
			stats.AtMost(limit).Judge(c.Common[k-1].Low, c.Common[k-1].High) == stats.Above {
			return c.Sides[k].Name + ": " + c.Common[k-1].Text + "; whether that is the program or the machine, " +
				"prismtop bench compare-builds tells, or three recordings of each side made by turns"
		}
	}
	return ""
}
