package profiles

import (
	"cmp"
	"math"
	"strings"

	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// The effect of a change of settings: its numbers, its verdict, and why it has none.

// EffectEnough is the number of iterations an effect needs on each side of its
// change.
const EffectEnough = 20

// Effect is the effect of the changes at one iteration boundary, measured from the
// iterations before and after it (same stage, excluding warm-up, and also disturbed
// iterations if enough others remain).
type Effect struct {
	// Change is the setting that changed, from its value before the boundary to the one
	// after it; the first one of several, which have a joint effect. With holds the others.
	Change
	With []Change
	// Enough is false while a window has too few iterations; Needed is the number
	// of iterations missing in the after-window, 0 if the before-window will always
	// have too few.
	Enough bool
	Needed int
	// Before and After are medians of the whole iteration, in nanoseconds; where iterations are
	// batches of items (Schema.Item), of one of them.
	BeforeNS, AfterNS float64
	// Shift is After/Before − 1 of the medians, with a 95 % interval. They are the change's work
	// only where Comparable. The interval is as wide as the run's own Drift: it is NaN where
	// that is not known.
	Shift, Low, High float64
	NBefore, NAfter  int
	// Drift is how far medians of neighbouring windows of this length moved before the change,
	// with nothing changed, over DriftWindows of them: a factor less 1.
	Drift        float64
	DriftWindows int
	// Waiting counts iterations after the change that will count once the load by other
	// programs at that time is known.
	Waiting int
	// LeftOut counts iterations disturbed by other programs, which are in neither
	// window.
	LeftOut int
	// QualityDrift is the schema's Quality at the end of the after-window minus that of the
	// before-window; HasQuality is false if none was measured on one side.
	QualityDrift float64
	HasQuality   bool
	// MemoryChange is what the run holds at the end of the after-window minus what it held before the change, in
	// bytes: the sums of its plans' buffers and of the caches that the change switches or bounds, not what the
	// operating system counts. Of a change that was switched back and forth, it is the difference between the blocks of
	// both values, but for such caches: those are compared as before and after. HasMemory is false until that is known.
	MemoryChange int64
	HasMemory    bool
	// Replica is what switching the change back and forth has shown; nil where that was not
	// asked for. It never changes: a newer Effect has a newer one.
	Replica *AblationRow
	// Stopped is why the newest switching back and forth ended before its verdict; empty if it did not.
	Stopped string
	// Fork is what the change did to the result on equal terms; nil where that was not asked for.
	Fork *Fork
	// Closed is true once a later change, another stage or the end of the run has
	// ended the after-window, and all of it counts; Ended is true if it was the
	// end of the run.
	Closed, Ended bool
	// Confounded lists other differences between the windows ("sample advanced 4 →
	// 5", "others took 62 % of the processors"); empty if there are none. Briefly is
	// the first of them in a few words.
	Confounded, Briefly string
}

// Changes lists every setting that changed at the boundary.
func (e *Effect) Changes() []Change {
	return append([]Change{e.Change}, e.With...)
}

// Verdict is what an effect says.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // iterations are missing, or are still to come
	Invalid                // something else differs between the windows
	Faster                 // the whole interval is below 0, and not within EqualWithin of it
	Slower                 // above 0
	Equal                  // within EqualWithin of 0
	InNoise                // the run's own drift hides any effect
)

// Name returns the verdict's name in JSON, in recordings and on the screen: "undecided".
func (v Verdict) Name() string {
	return [...]string{"unknown", "not comparable", "faster", "slower", "equal", "undecided"}[v]
}

// EqualWithin is the largest shift that counts as none.
const EqualWithin = 0.01

// Verdict is what the interval says.
func (e *Effect) Verdict() Verdict {
	switch {
	case !e.Enough:
		return Unknown
	case e.Confounded != "" || math.IsNaN(e.Low):
		return Invalid
	}
	return map[stats.Finding]Verdict{stats.Below: Faster, stats.Above: Slower, stats.Within: Equal,
		stats.Undecided: InNoise}[stats.Zero(EqualWithin).Judge(e.Low, e.High)]
}

// Comparable reports whether the shift is due to the change, as far as can be
// measured.
func (e *Effect) Comparable() bool { return e.Enough && e.Confounded == "" }

// CutShort reports whether a change now would end the after-window before it has enough
// iterations, and how many it has.
func (e *Effect) CutShort() (had int, cut bool) {
	had = e.NAfter + e.Waiting
	return had, e.Open() && had < EffectEnough
}

// Open reports whether an effect is waiting for further iterations.
func (e *Effect) Open() bool { return !e.Enough && !e.Closed && e.Needed > 0 }

// Incomparable returns, in full and in a few words, why the windows are not
// comparable; both are empty if they are or may still become comparable.
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
	case e.Fork != nil:
		return "its fork came first, with " + TooFew(e.NAfter) + " after it", "its fork came first"
	}
	return TooFew(e.NAfter) + " after it", "too few after"
}

// NoResult returns what is said of an effect without an interval, and why, in full and in a few words: that
// switching it back and forth has not decided it, or that its windows are not comparable. All are empty if it has
// an interval, or may still get one; the reasons are empty if there is nothing to add.
func (e *Effect) NoResult() (what, full, brief string) {
	switch {
	case e.Comparable() && !math.IsNaN(e.Low) || e.Replica != nil && e.Replica.Judge() != Unjudged:
		return "", "", ""
	case e.Replica != nil && strings.HasPrefix(e.Stopped, e.Replica.Verdict()): // in 10 s
		return e.Stopped, "", ""
	case e.Replica != nil && e.Stopped != "":
		return e.Replica.Verdict(), "ended: " + e.Stopped, "ended: " + e.Stopped
	case e.Replica != nil:
		return e.Replica.Verdict(), "", ""
	case e.Open():
		return "", "", ""
	}
	full, brief = e.Incomparable()
	return "not comparable", full, brief
}

// WithoutResult is NoResult in a line: "not decided: ended: it was stopped".
func (e *Effect) WithoutResult() string {
	what, why, _ := e.NoResult()
	return strings.TrimSuffix(what+": "+why, ": ")
}

// TooFew is a number of comparable iterations that is too small.
func TooFew(n int) string {
	if n == 0 {
		return "no comparable iteration"
	}
	return "only " + unit.Plural(n, "comparable iteration", "comparable iterations")
}
