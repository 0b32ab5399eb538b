package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	Pass      Verdict = "pass"          // nothing is worse by more than the limit
	Worse     Verdict = "worse"         // something is, with its whole interval
	Undecided Verdict = "undecided"     // the reference is too small, or the machine's speed moves too much, to tell
	Elsewhere Verdict = "other machine" // the reference was measured on another machine
)

// Check is a new measurement beside a reference.
type Check struct {
	Verdict   Verdict  `json:"verdict"`
	Reason    string   `json:"reason"`
	Limit     float64  `json:"limit"` // share by which a figure may be worse
	Reference *Entry   `json:"reference"`
	Entries   int      `json:"reference_entries"` // of the reference's build
	New       Entry    `json:"new"`
	NewCount  int      `json:"new_entries"` // of the new build, with this one
	SameBuild bool     `json:"same_build"`  // both are one program: what differs is the machine
	Spread    *float64 `json:"spread"`      // relative standard deviation of iteration times of one build; null if unknown
	Degrees   int      `json:"spread_degrees_of_freedom"`
	Rows      []Row    `json:"rows"`
}

// Row is a figure of a check.
type Row struct {
	Name      string   `json:"name"`
	Unit      string   `json:"unit"`
	Reference float64  `json:"reference"`
	New       float64  `json:"new"`
	Ratio     float64  `json:"ratio"` // new over reference
	Low       *float64 `json:"low"`   // its 95 % interval; null if unknown
	High      *float64 `json:"high"`
	Verdict   Verdict  `json:"verdict"`
	Reason    string   `json:"reason"`
}

// leastDegrees is the fewest degrees of freedom with which a spread is used: below, Student's t is so wide
// that the interval decides nothing.
const leastDegrees = 2

// exact are figures that are counted, not timed.
var exact = []string{Memory}

// judged are the figures that a check judges.
var judged = []string{Forward, Iteration, Experiment, Total, Memory}

// Judge puts a new measurement beside the entries before it: the stored reference of the same work on the same
// processor, or without one those of the newest other build that measured the work on the same machine, or of the
// same build if there is no other. How far the machine's speed moves comes from entries of one build, of any build,
// measured at different times (A/A). The new measurement itself must not be among the entries.
func Judge(entries []Entry, fresh Entry, limit float64) *Check {
	c := &Check{New: fresh, NewCount: 1, Limit: limit, Rows: []Row{}}
	builds, others := groups(entries, &fresh)
	if len(builds) == 0 {
		c.lacks(entries, others)
		return c
	}
	at := len(builds) - 1
	for at > 0 && !builds[at][0].stored() {
		at--
	}
	if !builds[at][0].stored() {
		at = len(builds) - 1
		if at > 0 && builds[at][0].Build.Same(fresh.Build) {
			at--
		}
	}
	reference := builds[at]
	c.Reference, c.Entries = reference[len(reference)-1], len(reference)
	c.SameBuild = c.Reference.Build.Same(fresh.Build)
	newer := []*Entry{&fresh}
	for i, b := range builds {
		if i != at && b[0].Build.Same(fresh.Build) {
			newer = append(newer, b...)
		}
	}
	c.NewCount = len(newer)
	for _, name := range judged {
		if fresh.positive(name) && c.Reference.positive(name) {
			c.Rows = append(c.Rows, c.row(name, builds, reference, newer))
		}
	}
	c.conclude()
	return c
}

// groups returns the entries of the same work on the same machine by their builds, the build measured last
// at the end, and the machines that measured the work otherwise. A stored reference is a group of its own, without
// what the history repeats of it.
func groups(entries []Entry, fresh *Entry) (builds [][]*Entry, others []string) {
	var kept []*Entry
	for i := range entries {
		if e := &entries[i]; e.stored() && e.SameWork(fresh) {
			kept = append(kept, e)
		}
	}
	for i := range entries {
		e := &entries[i]
		if !e.SameWork(fresh) {
			continue
		}
		if !e.comparable(fresh) {
			if name := e.where(); !slices.Contains(others, name) {
				others = append(others, name)
			}
			continue
		}
		if !e.stored() && slices.ContainsFunc(kept, func(k *Entry) bool {
			return k.Time == e.Time && k.Build.Same(e.Build)
		}) {
			continue
		}
		at := slices.IndexFunc(builds, func(b []*Entry) bool {
			return b[0].Build.Same(e.Build) && b[0].stored() == e.stored()
		})
		if at < 0 {
			builds = append(builds, nil)
			at = len(builds) - 1
		}
		builds[at] = append(builds[at], e)
	}
	slices.SortStableFunc(builds, func(a, b []*Entry) int { return a[len(a)-1].Began().Compare(b[len(b)-1].Began()) })
	return builds, others
}

// lacks says why there is no reference.
func (c *Check) lacks(entries []Entry, others []string) {
	switch {
	case len(others) > 0:
		c.Verdict = Elsewhere
		c.Reason = fmt.Sprintf("this work was measured on another machine only: %s; this machine is %s; times of two "+
			"machines are not compared", others[len(others)-1], c.New.where())
	case len(entries) == 0:
		c.Verdict, c.Reason = Undecided, "the history is empty: this measurement is its first"
	default:
		c.Verdict, c.Reason = Undecided, "no entry of the history is of this work with these settings"
	}
}

// row judges one figure.
func (c *Check) row(name string, builds [][]*Entry, reference, newer []*Entry) Row {
	before, after := logs(name, reference), logs(name, newer)
	figure := newer[0].Find(name)
	r := Row{Name: name, Unit: figure.Unit, Reference: math.Exp(stats.Mean(before)), New: math.Exp(stats.Mean(after))}
	difference := stats.Mean(after) - stats.Mean(before)
	r.Ratio = math.Exp(difference)
	if slices.Contains(exact, name) {
		r.Reference, r.New = reference[len(reference)-1].Find(name).Value, figure.Value
		r.Ratio = r.New / r.Reference
		r.Low, r.High = &r.Ratio, &r.Ratio
		r.Reason = "counted, not timed"
		return r.judge(c.Limit)
	}
	deviation, degrees := pooled(name, builds)
	if name == Iteration || c.Spread == nil {
		c.Degrees = degrees
		if c.Spread = nil; degrees > 0 {
			c.Spread = &deviation
		}
	}
	if degrees < leastDegrees {
		r.Verdict = Undecided
		r.Reason = fmt.Sprintf("how far this machine's speed moves is not known: it takes %d entries of one build, "+
			"and the most here is %d", leastDegrees+1, most(builds))
		return r
	}
	reach := stats.StudentT(float64(degrees),
		0.05) * deviation * math.Sqrt(1/float64(len(before))+1/float64(len(after)))
	low, high := math.Exp(difference-reach), math.Exp(difference+reach)
	r.Low, r.High = &low, &high
	return r.judge(c.Limit)
}

// judge concludes from the interval.
func (r Row) judge(limit float64) Row {
	switch stats.AtMost(1+limit).Judge(*r.Low, *r.High) {
	case stats.Above:
		r.Verdict = Worse
	case stats.Within:
		r.Verdict = Pass
	default:
		r.Verdict = Undecided
		r.Reason = "the interval contains " + percent(limit)
	}
	return r
}

// positive reports whether an entry has a figure that a ratio can be made of.
func (e *Entry) positive(name string) bool {
	f := e.Find(name)
	return f != nil && f.Value > 0
}

// percent formats a change: "+5.0 %".
func percent(share float64) string { return strings.TrimSpace(unit.SignedPercent(share)) }

// logs returns the logarithms of a figure.
func logs(name string, entries []*Entry) (v []float64) {
	for _, e := range entries {
		if e.positive(name) {
			v = append(v, math.Log(e.Find(name).Value))
		}
	}
	return v
}

// pooled returns the standard deviation of a figure's logarithm within builds.
func pooled(name string, builds [][]*Entry) (deviation float64, degrees int) {
	squares := 0.0
	for _, b := range builds {
		v := logs(name, b)
		if len(v) < 2 {
			continue
		}
		mean := stats.Mean(v)
		for _, x := range v {
			squares += (x - mean) * (x - mean)
		}
		degrees += len(v) - 1
	}
	if degrees == 0 {
		return 0, 0
	}
	return math.Sqrt(squares / float64(degrees)), degrees
}

// most returns the largest number of entries of one build.
func most(builds [][]*Entry) int {
	return len(slices.MaxFunc(builds, func(a, b []*Entry) int { return cmp.Compare(len(a), len(b)) }))
}

// conclude derives the verdict from the rows: worse if one is, else undecided if one is.
func (c *Check) conclude() {
	c.Verdict, c.Reason = Pass, "nothing is worse by more than "+unit.Share(c.Limit)
	if len(c.Rows) == 0 {
		c.Verdict, c.Reason = Undecided, "the reference has none of the figures"
	}
	for _, want := range []Verdict{Worse, Undecided} {
		for _, r := range c.Rows {
			if r.Verdict == want && c.Verdict == Pass {
				c.Verdict = want
				c.Reason = r.Name + ": " + r.Reason
				switch {
				case want == Worse:
					c.Reason = fmt.Sprintf("%s: worse by %s, at least by %s", r.Name, percent(r.Ratio-1),
						percent(*r.Low-1))
				case r.Low != nil:
					c.Reason += "; more entries of either build narrow it, and --old, which runs both builds by " +
						"turns, is surer"
				}
			}
		}
	}
}
