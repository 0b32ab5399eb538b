// Package compare compares recorded runs: what differs between them, by how much, and whether that is
// more than each of them differs from itself.
//
// A Sample gathers one recording, or a stretch of it, from its events. Compare puts the samples of two
// or more sides beside each other, and the first is the base. Turns does the same for two programs that
// ran by turns. docs/compare.md describes every verdict and how often it is wrong.
package compare

import (
	"fmt"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// The result of a comparison: its sides, rows, verdicts, settings, warnings and curves.

// Comparison is the result of comparing sides.
type Comparison struct {
	Design Design
	Sides  []Side // the base first
	Kind   string // of the iterations whose times are compared: "later samples"; empty if no kind is common
	// Rows are the measured numbers, in the order of Group.
	Rows []Row
	// Common is what all times of a side did together, for each side after the base; empty for
	// Alternating sides.
	Common []Common
	// Settings are those that differ.
	Settings []Setting
	Warnings []Warning
	Curves   []Curve
	// Intervals is the number of intervals that are there, which hold together in 95 of 100 comparisons,
	// and Miss the chance with which each of them may miss: 0.05 over the number that there would be if
	// everything had been measured and were comparable (Bonferroni's inequality).
	Intervals int
	Miss      float64
}

// Design is how the sides were measured, which decides what can be said of their times.
type Design uint8

// The designs.
const (
	// Separate recordings, one a side: a difference in the machine's speed looks like one of the
	// program's, so times are judged beside each other.
	Separate Design = iota
	// Replicated recordings, at least LeastReplicas on each side: times are judged by how far those
	// of one side lie apart.
	Replicated
	// Alternating programs, by turns in balanced blocks: times are judged as they are.
	Alternating
)

// LeastReplicas is the number of recordings of a side from which their spread is known.
const LeastReplicas = 3

// Side is one side of a comparison: a recording, or several of the same.
type Side struct {
	Name string // how it was asked for, shortened: "2026-11-22T13-57-48-moon@change1.."
	Runs []Run
}

// Run is a recording as far as it is compared.
type Run struct {
	Path    string
	Name    string // its path, shortened, with the stretch
	Stretch string // the part compared; empty for its newest start to the end
	Began   time.Time
	Growing bool  // the run goes on
	Dropped int64 // iterations that the recording lacks, because the disk was slow

	Program   string // version of prismtop
	Preset    string
	Workload  string
	Object    string
	Picture   string // SHA-256 of its exact pixels, empty if it has no fixed picture
	Processor string
	Device    string
	Kernels   string
	Threads   int
	Seed      uint64

	Iterations int64   // in the stretch
	Seconds    float64 // of running time in it
	Blocks     int     // that are compared
	LeftOut    LeftOut
	Foreign    float64 // share of the processors that other programs took, NaN if not known
}

// LeftOut counts what was not compared.
type LeftOut struct {
	WarmUp    int64 // iterations after a change, a compiled plan or a start, or unwatched
	Disturbed int   // blocks in which other programs took more than machine.Quiet
	Kinds     int64 // iterations of another kind than the one compared
	Settings  int64 // iterations under other settings than those compared
}

// Group is a part of the table.
type Group uint8

// The groups, in their order.
const (
	Speed Group = iota
	Phases
	Layers
	Caches
	Memory
	Quality
)

// String returns the group's name.
func (g Group) String() string {
	return [...]string{"speed", "phases", "layers", "caches", "memory", "quality"}[g]
}

// Row is one number of all sides.
type Row struct {
	Group  Group
	Name   string // in JSON, with its unit: "backward_ms"
	Title  string // "backward"
	About  string // of which iterations the values are, as far as the title does not say so; without a full stop
	Unit   string // "ms", "it/s", "B", "dB"; "1" for a share from 0 to 1; empty for a bare number
	Better profiles.Direction
	// Absolute is true if a difference is B − A in the row's unit; else it is B/A − 1.
	Absolute bool
	Values   []Value      // of each side
	Against  []Difference // from the base, for each side after it
}

// Value is a number on one side.
type Value struct {
	Value  float64 // NaN if there is none
	Reason string  // why there is none
	Blocks int     // it was measured in; 0 for an exact number
	// of a result, the iteration that it was measured in, counted from 1, where sentences
	// and documents number it from 0; 0 if it is of several
	At int64
	// Floor is the A/A floor: the most that the side differs from itself, as a difference of the row.
	// NaN where too little was measured; 0 for an exact number.
	Floor float64
}

// Difference is how a number differs from the base's.
type Difference struct {
	Raw float64 // of the values; NaN if one is missing
	// Value, with its interval from Low to High, is what the verdict is about. It is Raw, or where
	// Beside is set what is left of it once the Common move is taken out. Low and High are NaN where
	// there is no interval.
	Value, Low, High float64
	Beside           bool
	Verdict          Verdict
	// Within is how far the interval reaches from 0, where the verdict is Equal.
	Within float64
	// Reason is why it is not comparable, in full and in a few words.
	Reason, Briefly string
}

// Verdict is what a difference says.
type Verdict uint8

// The verdicts.
const (
	NotComparable Verdict = iota // for the Reason
	Faster                       // of a time or a rate: the whole interval is on the better side of 0
	Slower
	More // of another number: the whole interval is above 0
	Less
	Equal   // the whole interval is within EqualWithin of 0, or an exact number is the same
	InNoise // the sides' own differences hide any difference between them
)

// EqualWithin is the largest difference of a ratio that counts as none.
const EqualWithin = 0.02

// Common is the move that the times of a side made together, from the base.
type Common struct {
	Move, Low, High float64 // a ratio less 1; NaN if the times cannot be compared
	// Moved is true if the interval excludes 0.
	Moved bool
	// Judged is true if the move is counted as the program's: the sides are replicated and were
	// recorded by turns, or the move is beyond what a machine does (Swing).
	Judged bool
	// Text says it in a sentence; empty if nothing moved.
	Text string
}

// Swing is the largest factor by which a machine's speed differs between two recordings, as far as
// verdicts allow for it.
const Swing = 1.5

// Setting is a setting that differs.
type Setting struct {
	Key    string
	Values []string // of each side; "–" on a side that does not have it
	Limit  bool     // it only ends a unit or the run
}

// Warning is a difference between the sides besides their settings, or a reason to doubt the rows.
type Warning struct {
	About string // "processor", "picture", "other programs"
	Text  string // a sentence
}

// Curve is a number over the run, of all sides in one chart.
type Curve struct {
	Name   string // "iteration_ms", or the name of a series
	Title  string
	Unit   string
	Scale  profiles.Scale
	Better profiles.Direction
	Sides  [][]Point // oldest first, at most CurvePoints; of a replicated side its first recording
}

// CurvePoints is the number of points of a curve, at most.
const CurvePoints = 400

// Point is a stretch of a curve.
type Point struct {
	Iteration       float64 // its middle, counted from the first of the run, or of the stretch
	Seconds         float64 // its end, of running time
	Value           float64 // mean
	Lowest, Highest float64
}

// Words says the verdict of the row's difference i: "faster", "equal within 0.8 %".
func (r *Row) Words(i int) string {
	d := &r.Against[i]
	switch d.Verdict {
	case Faster:
		return "faster"
	case Slower:
		return "slower"
	case More:
		return "more"
	case Less:
		return "less"
	case Equal:
		if d.Within == 0 {
			return "equal"
		}
		return "equal within " + r.Amount(d.Within)
	case InNoise:
		return profiles.InNoise.Name()
	}
	return profiles.Invalid.Name()
}

// Sense is 1 if the row's difference i is for the better, −1 if it is for the worse, and 0 if it is
// neither, or nothing is said.
func (r *Row) Sense(i int) int {
	up := 1
	switch r.Better {
	case profiles.LessIsBetter:
		up = -1
	case profiles.NoBetter:
		up = 0
	}
	switch r.Against[i].Verdict {
	case Faster:
		return 1
	case Slower:
		return -1
	case More:
		return up
	case Less:
		return -up
	}
	return 0
}

// Amount formats the size of a difference of the row: "3.1 %", "0.4 dB".
func (r *Row) Amount(v float64) string {
	if !r.Absolute {
		return unit.Share(v)
	}
	if r.Unit == "1" {
		return fmt.Sprintf("%.2g points", 100*v)
	}
	return strings.TrimSpace(fmt.Sprintf("%.2g %s", v, r.Unit))
}
