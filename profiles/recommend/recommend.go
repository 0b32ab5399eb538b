// Package recommend derives from an ablation what to switch, in the order of what it would save. Every
// recommendation is a measurement of this machine and this run; none is a rule of thumb.
package recommend

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// Priority is how much a recommendation matters.
type Priority string

// The priorities, by the least that the saving's 95 % interval leaves of the iteration's time.
const (
	High   Priority = "high"   // 10 % or more
	Medium Priority = "medium" // 3 % or more
	Low    Priority = "low"    // more than nothing, or memory at the price of time
)

// The shares of the time of an iteration from which a priority begins.
const (
	highFrom   = 0.10
	mediumFrom = 0.03
)

// Interval is a value with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Recommendation is one optimisation with what was measured of it.
type Recommendation struct {
	Priority Priority `json:"priority"`
	// Done is true of a value that is in force and saves: nothing is to be done.
	Done  bool   `json:"done"`
	Key   string `json:"setting"`
	Value string `json:"value"` // that saves
	From  string `json:"instead_of"`
	// Speedup is the time of an iteration with the other value over that with this one.
	Speedup Interval `json:"speedup"`
	// Saved is the share of the other value's time, 0 to 1; negative if it costs time.
	Saved Interval `json:"saved"`
	// Memory is what the run holds more with this value, in bytes, from the plan and the caches.
	Memory   *int64 `json:"memory_difference_bytes"`
	Requires string `json:"requires"`
	Caution  string `json:"caution"` // what it does to the result; empty for nothing seen
	Groups   int    `json:"groups"`  // of four blocks, that were measured
}

// List returns what an ablation of single settings recommends, the largest saving first; those in force come
// last. cautions returns what limits a value of a setting on this machine, and may be nil.
func List(a *profiles.Ablation, cautions func(key, value string) []string) (all []Recommendation) {
	if a == nil || a.Factorial != nil || a.Replication || a.Base.Table() == nil {
		return nil
	}
	for i := range a.Rows {
		if r, ok := of(&a.Rows[i], a, cautions); ok {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(x, y Recommendation) int {
		if x.Done != y.Done {
			return map[bool]int{true: 1, false: -1}[x.Done]
		}
		return cmp.Compare(y.Saved.Low, x.Saved.Low)
	})
	return all
}

// of returns what a row recommends; ok is false for nothing.
func of(row *profiles.AblationRow, a *profiles.Ablation, cautions func(key, value string) []string) (r Recommendation,
	ok bool) {
	now, judgement := a.Base.Get(row.Key), row.Judge()
	on := saving(row.Effect, row.Low, row.High) // of On instead of Off
	off := Interval{1 - 1/(1-on.Value), 1 - 1/(1-on.Low), 1 - 1/(1-on.High)}
	off.Low, off.High = min(off.Low, off.High), max(off.Low, off.High)
	r = Recommendation{Key: row.Key, Groups: row.Groups}
	memory := row.OnBytes - row.OffBytes
	switch {
	case judgement == profiles.Saves && (now == row.Off || now == row.On):
		r.Value, r.From, r.Saved, r.Done = row.On, row.Off, on, now == row.On
	case judgement == profiles.Costs && now == row.On:
		r.Value, r.From, r.Saved, memory = row.Off, row.On, off, -memory
	case judgement != profiles.Unjudged && judgement != profiles.SoFar && now == row.Off && row.HasMemory && frees(row):
		r.Value, r.From, r.Saved = row.On, row.Off, on
	default:
		return r, false
	}
	r.Speedup = Interval{1 / (1 - r.Saved.Value), 1 / (1 - r.Saved.Low), 1 / (1 - r.Saved.High)}
	switch {
	case r.Saved.Low >= highFrom:
		r.Priority = High
	case r.Saved.Low >= mediumFrom:
		r.Priority = Medium
	default:
		r.Priority = Low
	}
	if row.HasMemory {
		r.Memory = &memory
	}
	r.Requires = requires(a.Base, r.Key, r.Value, cautions)
	r.Caution = caution(row, a, r.Value == row.On)
	return r, true
}

// saving turns an effect into the share of the time that it saves.
func saving(effect, low, high float64) Interval { return Interval{-effect, -high, -low} }

// frees reports whether a value makes the run hold a twentieth less.
func frees(r *profiles.AblationRow) bool { return r.OnBytes < r.OffBytes-r.OffBytes/20 }

// requires says what a value needs.
func requires(v settings.Values, key, value string, cautions func(key, value string) []string) string {
	var parts []string
	if k, ok := v.Lookup(key); ok && !k.Live {
		parts = append(parts, "a restart")
	}
	if cautions != nil {
		for _, c := range cautions(key, value) {
			parts = append(parts, strings.TrimPrefix(c, "slower: "))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// caution says by how much the quality is worse with the value that is on, or off; empty if it is not, or the
// interval holds 0.
func caution(r *profiles.AblationRow, a *profiles.Ablation, on bool) string {
	change, low, high := r.Quality, r.QualityLow, r.QualityHigh
	if !on {
		change, low, high = -change, -high, -low
	}
	found := stats.Zero(0).Judge(low, high)
	worse := found == stats.Below && a.Quality.Better == profiles.MoreIsBetter || found == stats.Above &&
		a.Quality.Better == profiles.LessIsBetter
	if r.QualityGroups == 0 || math.IsNaN(change) || !worse {
		return ""
	}
	return fmt.Sprintf("%s %+.2f over 100 iterations", strings.TrimSpace(a.Quality.Title+" "+a.Quality.Unit), change)
}

// Action says what to do: "set amp = bf16", or that a value is in force.
func (r *Recommendation) Action() string {
	if r.Done {
		return r.Key + " = " + r.Value + " is in force"
	}
	return "set " + r.Key + " = " + r.Value
}

// Gain says what it saves, or costs.
func (r *Recommendation) Gain() string {
	switch stats.Zero(profiles.EqualWithin).Judge(r.Saved.Low, r.Saved.High) {
	case stats.Within:
		return "time equal within " + unit.Share(profiles.EqualWithin)
	case stats.Undecided:
		return "effect on the time undecided (± " + unit.Share(stats.Reach(r.Saved.Low, r.Saved.High)) + ")"
	}
	return unit.SavingWithin(-r.Saved.Value, -r.Saved.High, -r.Saved.Low) + " of the time"
}

// MemoryText says what it makes the run hold more or less.
func (r *Recommendation) MemoryText() string {
	switch {
	case r.Memory == nil:
		return "–"
	case *r.Memory == 0:
		return "same"
	case *r.Memory < 0:
		return "−" + unit.Size(-*r.Memory)
	}
	return "+" + unit.Size(*r.Memory)
}

// automatic says whether anything is to be done for it.
func (r *Recommendation) automatic() string {
	if r.Done {
		return "yes, in force"
	}
	return "no: --set " + r.Key + "=" + r.Value
}

// WriteText writes the list with the columns of PRISM's PERFORMANCE_OPTIMIZATION_GUIDE.md, and the checkboxes
// and priorities of its baseline-v0.2.0.md.
// It also says how many rows of the ablation could not be judged, and lists those that are not recommended with what
// was measured.
func WriteText(w io.Writer, list []Recommendation, a *profiles.Ablation) error {
	unjudged, rows := 0, len(a.Rows)
	for i := range a.Rows {
		if a.Rows[i].Judge() == profiles.Unjudged {
			unjudged++
		}
	}
	var d report.Document
	if unjudged > 0 {
		d.Paragraph("%d of %s could not be judged: it takes %d groups of blocks each (--rounds).", unjudged,
			unit.Plural(rows, "comparison", "comparisons"), stats.SignedRankLeast)
	}
	var others []profiles.AblationRow
	for _, row := range a.Rows {
		if !slices.ContainsFunc(list, func(r Recommendation) bool { return r.of(&row) }) {
			others = append(others, row)
		}
	}
	switch {
	case len(list) > 0:
		t := d.Table("", "priority", "optimisation", "speed-up", "memory", "requires", "automatic", "")
		for i := range list {
			r := &list[i]
			box := "[ ]"
			if r.Done {
				box = "[x]"
			}
			t.Add(box, string(r.Priority), r.Key+" = "+r.Value,
				report.Between(r.Speedup.Value, r.Speedup.Low, r.Speedup.High).Text("x", 2), r.MemoryText(),
				r.Requires, r.automatic(), r.Caution)
		}
		if len(others) > 0 {
			d.Heading(2, "Not recommended:")
		}
	case unjudged < rows || rows == 0:
		d.Paragraph("Nothing to recommend: no setting that was compared is shown to save time or memory here.")
	}
	if len(others) > 0 {
		measured(&d, others)
	}
	switch {
	case a.ForeignKnown && a.Foreign > machine.Quiet:
		d.Paragraph("other programs took %.1f %% of the processors meanwhile: %s", 100*a.Foreign,
			report.Strong("the machine was busy, and these times are not this program's alone"))
	case a.ForeignKnown:
		d.Paragraph("other programs took %.1f %% of the processors meanwhile", 100*a.Foreign)
	case len(a.Rows) > 0:
		d.Paragraph("other programs' share of the processors is unknown")
	}
	return d.WriteText(w, 0)
}

// of reports whether a recommendation was derived from a row.
func (r *Recommendation) of(row *profiles.AblationRow) bool {
	return r.Key == row.Key && (r.Value == row.On && r.From == row.Off || r.Value == row.Off && r.From == row.On)
}

// measured adds rows of an ablation.
func measured(d *report.Document, rows []profiles.AblationRow) {
	t := d.Table("setting", "from → to", "time of an iteration", "verdict", "memory")
	for i := range rows {
		r := &rows[i]
		effect := "–"
		switch {
		case r.Judge() != profiles.Unjudged:
			effect = unit.ShareWithin(r.Effect, r.Low, r.High)
		case !math.IsNaN(r.Effect):
			effect = strings.TrimSpace(unit.SignedPercent(r.Effect))
		}
		memory, more := "–", r.OnBytes-r.OffBytes
		if r.HasMemory {
			memory = (&Recommendation{Memory: &more}).MemoryText()
		}
		t.Add(r.Key, r.Off+" → "+r.On, effect, r.Conclusion(), memory)
	}
}
