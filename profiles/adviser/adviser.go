// Package adviser keeps what a benchmark measured of a setting's values on this machine, and words it as advice:
// use a value or not, by how much, with what risk. Advice is of one machine, one size and the settings that the
// measured work depends on, and is quoted for nothing else.
package adviser

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// Machine is the fingerprint of what computed.
type Machine struct {
	CPU        string `json:"cpu"`
	Processors int    `json:"processors"`
	Device     string `json:"device"`
	Kernels    string `json:"kernels"`
	Threads    int    `json:"threads"`
}

// Verdict is what advice comes to.
type Verdict string

// The verdicts.
const (
	Use       Verdict = "use it"
	DoNotUse  Verdict = "do not use it"
	NoGain    Verdict = "it makes no difference" // to the time, as far as the measurement resolves it
	Undecided Verdict = "undecided"              // the interval is too wide, or there is none
)

// same is the change of time within which the whole interval must lie to make no difference.
const same = 0.03

// Finding is what was measured of one value of a setting, and the advice that follows.
type Finding struct {
	Machine  Machine           `json:"machine"`
	Version  string            `json:"version"`  // of the program
	Measured time.Time         `json:"measured"` // when
	Workload string            `json:"workload"`
	Shape    []string          `json:"shape"`    // the values of the settings of that role
	Settings map[string]string `json:"settings"` // in force besides, that the time depends on

	Setting string  `json:"setting"` // amp
	Off     string  `json:"off"`     // what the value is compared with
	Value   string  `json:"value"`
	OffMS   float64 `json:"off_ms"` // of an iteration
	ValueMS float64 `json:"value_ms"`

	// Change is that of an iteration's time, −0.25 for a quarter less, with its 95 % interval, which is null with
	// too few rounds.
	Change float64  `json:"change"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`

	OffBytes   int64 `json:"off_bytes"` // of the run, by its plan
	ValueBytes int64 `json:"value_bytes"`

	Verdict    Verdict  `json:"verdict"`
	Iterations int      `json:"iterations"`       // of the trainings from which the risks follow
	Risks      []string `json:"risks"`            // what went wrong in them; empty for nothing
	Trainings  int      `json:"trainings"`        // their number: seeds times learning rates; 0 in what older versions kept
	Criteria   int      `json:"criteria"`         // that were to be judged in them
	Unjudged   int      `json:"unjudged"`         // of the criteria: those that float32 itself fails
	Memory     string   `json:"memory,omitempty"` // advice where memory is short

	// Foreign is the share of the processors that other programs took meanwhile, 0 to 1; null if unknown.
	Foreign *float64 `json:"foreign_cpu"`
}

// Judge derives the verdict: a value is for use if its whole interval saves time and nothing went wrong.
func (a *Finding) Judge() {
	switch {
	case len(a.Risks) > 0:
		a.Verdict = DoNotUse
	case a.Low == nil || a.High == nil:
		a.Verdict = Undecided
	default:
		a.Verdict = map[stats.Finding]Verdict{stats.Above: DoNotUse, stats.Below: Use, stats.Within: NoGain,
			stats.Undecided: Undecided}[stats.Zero(same).Judge(*a.Low, *a.High)]
	}
}

// Sentence is the advice in one sentence.
func (a *Finding) Sentence() string {
	text := fmt.Sprintf("%s = %s at %s: %s: %s, %s; ", a.Setting, a.Value, a.Size(), a.Verdict, a.time(), a.memory())
	if len(a.Risks) == 0 {
		text += fmt.Sprintf("no risk found in trainings of %s", unit.Plural(a.Iterations, "iteration", "iterations"))
	} else {
		text += "risk: " + strings.Join(a.Risks, ", ")
	}
	if a.Unjudged > 0 {
		text += fmt.Sprintf("; %d of %s could not be judged, because float32 itself fails there", a.Unjudged,
			unit.Plural(a.Criteria, "criterion", "criteria"))
	}
	if a.Memory != "" {
		text += "; " + a.Memory
	}
	if a.Foreign != nil && *a.Foreign > machine.Quiet {
		text += fmt.Sprintf("; other programs took %.0f %% of the processors meanwhile", 100**a.Foreign)
	}
	return text + "."
}

// Size is the size of the work that was measured: "512/128".
func (a *Finding) Size() string { return join(a.Shape) }

// join words the values of a shape.
func join(shape []string) string { return strings.Join(shape, "/") }

// Brief is the advice in a few words, with its date.
func (a *Finding) Brief() string {
	text := fmt.Sprintf("measured here %s: %s", a.Measured.Local().Format(time.DateOnly), a.time())
	if n := len(a.Risks); n > 0 {
		text += ", risky"
	}
	return text
}

// time words the change of an iteration's time.
func (a *Finding) time() string {
	word := "longer"
	if a.Change < 0 {
		word = "shorter"
	}
	text := fmt.Sprintf("iterations %.0f %% %s", 100*math.Abs(a.Change), word)
	if a.Low != nil && a.High != nil {
		text += fmt.Sprintf(" [%+.0f, %+.0f]", 100**a.Low, 100**a.High)
	}
	return text
}

func (a *Finding) memory() string {
	return fmt.Sprintf("memory %+.0f %%", 100*(float64(a.ValueBytes)/float64(a.OffBytes)-1))
}

// same reports whether two pieces of advice are about the same, so that the newer replaces the older.
func (a *Finding) same(b *Finding) bool {
	if a.Machine != b.Machine || a.Workload != b.Workload || !slices.Equal(a.Shape, b.Shape) ||
		a.Setting != b.Setting || a.Value != b.Value ||
		len(a.Settings) != len(b.Settings) {
		return false
	}
	for key, v := range a.Settings {
		if w, ok := b.Settings[key]; !ok || v != w {
			return false
		}
	}
	return true
}

// Fits reports whether the advice is about a run of these settings on a machine.
func (a *Finding) Fits(m Machine, v settings.Values) bool {
	if a.Machine != m || v.Table() == nil || a.Workload != v.Table().Workload || !slices.Equal(a.Shape, v.Shape()) {
		return false
	}
	for key, value := range a.Settings {
		if !v.Has(key) || v.Get(key) != value {
			return false
		}
	}
	return true
}

// About returns the advice that fits a run.
func About(all []Finding, m Machine, v settings.Values) (fitting []Finding) {
	for i := range all {
		if all[i].Fits(m, v) {
			fitting = append(fitting, all[i])
		}
	}
	return fitting
}

// Quote returns what a screen says about the values of a setting in a run: a few words on each value that was
// measured, or one that holds for all that nothing was.
func Quote(all []Finding, m Machine, setting string, v settings.Values) (said []profiles.Caution) {
	for _, a := range About(all, m, v) {
		if a.Setting == setting {
			said = append(said, profiles.Caution{When: profiles.When{Setting: setting, Value: a.Value},
				Text: a.Brief()})
		}
	}
	if size := v.Shape(); len(said) == 0 && v.Has(setting) && len(size) > 0 {
		text := fmt.Sprintf("not measured here at %s with these settings: prismtop bench amp --sizes %[1]s", join(size))
		said = append(said, profiles.Caution{When: profiles.When{Setting: setting}, Text: text})
	}
	return said
}

// replaces reports whether advice takes the place of older advice: it is about the same, and follows from as many
// trainings at least, or is of another version.
func (a *Finding) replaces(older *Finding) bool {
	return a.same(older) && (a.Trainings >= older.Trainings || a.Version != older.Version)
}

// Merge adds newer advice to older, whose place it takes unless the older one is better founded, and keeps the newest.
func Merge(older, newer []Finding) []Finding {
	all := []Finding{}
	for i := range newer {
		if !slices.ContainsFunc(older, func(o Finding) bool { return newer[i].same(&o) && !newer[i].replaces(&o) }) {
			all = append(all, newer[i])
		}
	}
	for i := range older {
		if !slices.ContainsFunc(newer, func(n Finding) bool { return n.replaces(&older[i]) }) {
			all = append(all, older[i])
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(b.Measured.Compare(a.Measured), slices.CompareFunc(a.Shape, b.Shape, compare))
	})
	return all[:min(len(all), most)]
}

// compare orders the values of a setting: numbers by their size, before texts.
func compare(a, b string) int {
	x, notX := strconv.ParseFloat(a, 64)
	y, notY := strconv.ParseFloat(b, 64)
	switch {
	case notX == nil && notY == nil:
		return cmp.Compare(x, y)
	case notX == nil:
		return -1
	case notY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// most bounds the advice that is kept.
const most = 60
