package profiles

import (
	"cmp"

	"prismtop/profiles/unit"
)

// EffectEnough is how many iterations an effect needs on each side of its change.
const EffectEnough = 20

// Effect is what the changes at one iteration boundary did, measured from the
// iterations before and after it (same stage, warm-up excluded, and those that other
// programs disturbed where enough are left).
type Effect struct {
	// Change is the setting that changed, from its value before the boundary to the one
	// after it; of several, which have one effect together, the first. With are the others.
	Change
	With []Change
	// Enough is false while a window has too few iterations; Needed says how
	// many more iterations the after-window wants, and is 0 where the window before
	// has too few for ever.
	Enough bool
	Needed int
	// Before and After are medians of the whole iteration, in nanoseconds.
	BeforeNS, AfterNS float64
	// Shift is After/Before − 1 of the medians with a 95 % bootstrap interval. They are
	// the change's work only where Comparable.
	Shift, Low, High float64
	NBefore, NAfter  int
	// Waiting counts iterations after the change that will count once it is known what other
	// programs took beside them.
	Waiting int
	// LeftOut counts iterations that other programs disturbed and that are in neither
	// window.
	LeftOut int
	// QualityDrift is the schema's Quality at the end of the after-window less that before;
	// HasQuality is false when none was measured on one side.
	QualityDrift float64
	HasQuality   bool
	// Closed is true once a later change, another stage or the run's end ended the
	// after-window, and all of it counts; Ended where it was the run's end.
	Closed, Ended bool
	// Confounded says what else differs between the windows ("sample advanced 4 → 5",
	// "others took 62 % of the processors"), empty when nothing does. Briefly is the
	// first of it in a few words.
	Confounded, Briefly string
}

// Changes lists every setting that changed at the boundary.
func (e *Effect) Changes() []Change {
	return append([]Change{e.Change}, e.With...)
}

// Comparable reports whether the shift is the change's work as far as can be measured.
func (e *Effect) Comparable() bool { return e.Enough && e.Confounded == "" }

// CutShort reports whether a change now would end the after-window before it has enough
// iterations, and how many it has had.
func (e *Effect) CutShort() (had int, cut bool) {
	had = e.NAfter + e.Waiting
	return had, e.Open() && had < EffectEnough
}

// Open reports whether an effect waits for iterations that may come.
func (e *Effect) Open() bool { return !e.Enough && !e.Closed && e.Needed > 0 }

// Incomparable says in full and in a few words why the windows are not comparable;
// both are empty where they are, and while they may become so.
func (e *Effect) Incomparable() (full, brief string) {
	switch {
	case e.Comparable() || e.Open():
		return "", ""
	case e.Enough:
		return e.Confounded, cmp.Or(e.Briefly, e.Confounded)
	case e.Needed <= 0:
		return cmp.Or(e.Confounded, "too few iterations before it"), cmp.Or(e.Briefly, "too few before")
	case e.Ended:
		return "the run ended first", "the run ended first"
	}
	return TooFew(e.NAfter) + " after it", "too few after"
}

// TooFew is a number of comparable iterations that is too small.
func TooFew(n int) string {
	if n == 0 {
		return "no comparable iteration"
	}
	return "only " + unit.Plural(n, "comparable iteration", "comparable iterations")
}
