package profiles

import (
	"fmt"
	"math"
	"strings"
	"time"

	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// An ablation as the run publishes it: its table, its rows and what they show, and the verdicts on them.

// Defaults for the thoroughness of an ablation.
const (
	AblationRounds = 8  // groups of four blocks per setting
	AblationWarmup = 3  // warm-up iterations after a switch
	AblationLeast  = 10 // minimum iterations of a block
	AblationBlock  = 100 * time.Millisecond
)

// ReplicationBlock is the minimum duration of a block of a replication, which has many of them: the
// shorter a block, the less a machine drifts between neighbouring ones.
const ReplicationBlock = 50 * time.Millisecond

// Defaults for the decision on one press of a key, a replication that a user waits for. Blocks are shorter than in
// a replication, because more of them fit in DecisionTime.
const (
	DecisionTime    = 10 * time.Second // its longest, where iterations are short
	DecisionLongest = 90 * time.Second // where they take half a second
	DecisionWarmup  = 2
	DecisionLeast   = 3
	DecisionBlock   = 25 * time.Millisecond
)

// Everything is the key of the row of an ablation that switches every optimisation together.
const Everything = "everything"

// AblationEstimate returns the approximate duration of an ablation, given the number of
// pairs of values and the time of an iteration, without switching and slower settings.
func AblationEstimate(pairs int, iteration time.Duration) time.Duration {
	block := max(AblationLeast*iteration, AblationBlock) + AblationWarmup*iteration
	return time.Duration(4*AblationRounds*pairs) * block
}

// Ablation is the result so far of switching each optimisation on and off in a
// balanced order. It is immutable.
type Ablation struct {
	Running bool
	// Replication is true where one change is switched back and forth, by itself, until it is
	// decided; Of is the iteration at which it was made.
	Replication bool
	Of          int64
	// Within is the longest that a replication may take: DecisionTime to DecisionLongest for one that followed a press
	// of a key, 0 for one without a limit.
	Within time.Duration
	Base   settings.Values // the user's, restored at the end
	Ended  string          // why it ended; empty while it runs
	Work   string          // the kind of the compared iterations

	Rounds int // per setting or combination, as planned
	Done   int // complete groups of four blocks, over all settings; of a factorial, blocks
	Groups int // as planned; of a replication, those at which it is judged next
	Now    int // index in Rows of the row being measured; −1 for none
	Warmup int // iterations left out after each switch

	Spent     time.Duration
	Left      time.Duration // at the pace so far
	LeftKnown bool

	// Foreign is the share of the processors, 0 to 1, used by other programs since
	// it began. The aggregator fills it in.
	Foreign      float64
	ForeignKnown bool
	// Start is the Snapshot.Start in which it began. The aggregator fills it in.
	Start int

	Rows []AblationRow

	// Factorial is the table of an ablation that runs every combination of its settings; nil for one
	// that compares each by itself, whose table is Rows.
	Factorial *Factorial

	// Tuning is the search of which Rows are the comparisons; nil for an ablation.
	Tuning *Tuning

	// Quality is the series by which the workload judges its result; without a name if it has none.
	Quality SeriesInfo
}

// QualityTitle names the quality gained over 100 iterations, with its unit: "PSNR dB/100"; "" if the
// workload has none.
func (a *Ablation) QualityTitle() string {
	if a.Quality.Name == "" {
		return ""
	}
	return strings.TrimSpace(a.Quality.Title+" "+a.Quality.Unit) + "/100"
}

// Unit names what Done and Groups count.
func (a *Ablation) Unit() string {
	switch {
	case a.Factorial != nil:
		return "blocks"
	case a.Tuning != nil:
		return "pairs"
	}
	return "groups"
}

// HasTable reports whether it compares settings in a table of its own. A replication is the result of a change, and a
// search that of its settings.
func (a *Ablation) HasTable() bool {
	return !a.Replication && a.Tuning == nil && (len(a.Rows) > 0 || a.Factorial != nil)
}

// Decides reports whether it is the decision on a press of a key.
func (a *Ablation) Decides() bool { return a.Replication && a.Within > 0 }

// Progress describes how far a replication is: "deciding, 3 of 9".
func (a *Ablation) Progress() string { return fmt.Sprintf("deciding, %d of %d", a.Done, a.Groups) }

// Concluded reports whether it ended by itself, with a verdict or without one, and not for another reason.
func (a *Ablation) Concluded() bool {
	return a.Ended == EndedDecided || a.Within > 0 && a.Ended == EndedUndecided(a.Within)
}

// EndedDecided is the reason of a replication's end that has its verdict.
const EndedDecided = "decided"

// EndedUndecided is the reason of the end of one whose time was over before.
func EndedUndecided(within time.Duration) string {
	return fmt.Sprintf("not decided in %.0f s", within.Seconds())
}

// Decided describes the result of a decision that has ended: "decision on amp, off to bf16: saves 12 % [10, 14]".
func (a *Ablation) Decided() string {
	r := &a.Rows[0]
	text := fmt.Sprintf("decision on %s, %s to %s: %s", r.Key, r.Off, r.On, r.Bounded())
	if a.Ended != EndedDecided {
		text += ", " + a.Ended
	}
	return text
}

// Name is what it is called in the log: an ablation of all switches, a factorial one, or a
// replication of one change.
func (a *Ablation) Name() string {
	if a.Tuning != nil {
		return "auto-tuner"
	}
	if a.Decides() && len(a.Rows) == 1 {
		return "decision on " + a.Rows[0].Key
	}
	if a.Replication && len(a.Rows) == 1 {
		return "replication of " + a.Rows[0].Key
	}
	if a.Factorial != nil {
		return "factorial ablation"
	}
	return "ablation"
}

// AblationRow is one setting, compared between two values with all other settings
// as chosen by the user.
type AblationRow struct {
	Key     string
	Off, On string // the values

	// OffNS and OnNS are the times of the whole iteration that belong to Effect: around the middle of the groups,
	// without the drift between them, so that OnNS/OffNS − 1 is Effect.
	OffNS, OnNS float64
	// OffBlocks and OnBlocks are the blocks' medians in order, which benchstat compares.
	OffBlocks, OnBlocks []float64 `json:"-"`
	// Effect is on/off − 1 with its 95 % interval, which is infinite below
	// stats.SignedRankLeast groups and NaN without any.
	Effect, Low, High float64
	Groups            int  // complete groups, each off on on off or its mirror
	Final             bool // the ablation has ended: no more groups follow
	// Sequential is true of a replication: it ends once the interval decides it, and the
	// interval holds however often it was looked at.
	Sequential bool
	Iterations int // timed iterations of both values

	// OffBytes and OnBytes are the most that the run held in a block of each value, without caches that the setting
	// neither switches nor bounds: those fill meanwhile.
	OffBytes, OnBytes int64
	HasMemory         bool

	// Quality is the additional gain (or loss) of the workload's quality over 100 iterations with
	// the setting on, in its unit; its interval is like Effect's.
	Quality, QualityLow, QualityHigh float64
	QualityGroups                    int

	Note string // why it has no effect, or is not measured, under the current settings
}

// Judgement is the conclusion from a row's interval.
type Judgement uint8

// The judgements.
const (
	Unjudged  Judgement = iota // too few groups for an interval
	Saves                      // the whole interval is below 0, and not within EqualWithin of it
	Costs                      // above 0
	Undecided                  // the interval holds 0, and reaches beyond EqualWithin
	SameTime                   // within EqualWithin of 0
	SoFar                      // there is an interval, but more groups follow: it holds only when they are in
)

// Judge returns the conclusion from the interval.
func (r *AblationRow) Judge() Judgement {
	switch {
	case r.Sequential && math.IsInf(r.High, 0):
		return Unjudged
	case !r.Sequential && r.Groups < stats.SignedRankLeast || math.IsNaN(r.Effect):
		return Unjudged
	case !r.Sequential && !r.Final: // looked at after every group, it would be wrong more often than it says
		return SoFar
	}
	return map[stats.Finding]Judgement{stats.Below: Saves, stats.Above: Costs, stats.Within: SameTime,
		stats.Undecided: Undecided}[stats.Zero(EqualWithin).Judge(r.Low, r.High)]
}

// Verdict returns the judgement in words.
func (r *AblationRow) Verdict() string {
	switch r.Judge() {
	case Saves, Costs:
		return unit.Saving(r.Effect)
	case SoFar:
		return "so far"
	case SameTime:
		return "equal within " + unit.Share(EqualWithin)
	case Undecided:
		return "undecided (± " + unit.Share(stats.Reach(r.Low, r.High)) + ")"
	}
	switch {
	case r.Sequential && r.Final:
		return "not decided"
	case r.Sequential:
		return "not decided yet"
	case r.Final:
		return fmt.Sprintf("too few: %d of %d groups", r.Groups, stats.SignedRankLeast)
	}
	return fmt.Sprintf("needs %d more", stats.SignedRankLeast-r.Groups)
}

// JudgeQuality returns what the interval allows to say of the quality gained, and whether there is one.
func (r *AblationRow) JudgeQuality() (f stats.Finding, bounded bool) {
	width := r.QualityHigh - r.QualityLow
	bounded = r.QualityGroups > 0 && !math.IsNaN(width) && !math.IsInf(width, 0)
	return stats.Zero(0).Judge(r.QualityLow, r.QualityHigh), bounded
}

// Gained returns the quality gained: "−0.82"; of an undecided one "± 0.14", the largest that the interval allows, and
// "–" without an interval.
func (r *AblationRow) Gained() string {
	switch f, bounded := r.JudgeQuality(); {
	case !bounded:
		return "–"
	case f == stats.Undecided:
		return fmt.Sprintf("± %.2f", stats.Reach(r.QualityLow, r.QualityHigh))
	}
	return unit.Signed(r.Quality, 2)
}

// Bounded returns the verdict with its interval, in the verdict's sense: "saves 12 % [10, 14]".
func (r *AblationRow) Bounded() string {
	switch r.Judge() {
	case Saves, Costs:
		return unit.SavingWithin(r.Effect, r.Low, r.High)
	case SameTime, SoFar:
		return fmt.Sprintf("%s [%s, %s]", r.Verdict(), unit.Signed(100*r.Low, 1), unit.Signed(100*r.High, 1))
	}
	return r.Verdict()
}

// Conclusion returns the verdict, and why the setting has no effect under the current settings or was not measured.
func (r *AblationRow) Conclusion() string {
	if r.Note == "" {
		return r.Verdict()
	}
	return r.Verdict() + "; " + r.Note
}

// Name returns the row's setting, with its value if it is not a switch.
func (r *AblationRow) Name() string {
	if r.On == "true" {
		return r.Key
	}
	return r.Key + " " + r.On
}

// Block is a number of iterations of a comparison: Warm that are not compared, and then Length.
type Block struct {
	Settings     settings.Values
	Warm, Length int
}
