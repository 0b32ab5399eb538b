package watching

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// The comparisons at each density, the cost estimated from them, and the choice of the density.

// Density is how closely a run is watched.
type Density struct {
	Period time.Duration // between two frames
	// Sparse is the factor by which pictures, comparisons with the truth and layer profiles are
	// rarer than usual.
	Sparse int
}

// levels are the densities, the full one first. Each costs about half of the one before it: first
// fewer frames, down to one per second, then fewer of the rest.
var levels = [...]Density{
	{100 * time.Millisecond, 1},
	{200 * time.Millisecond, 1},
	{500 * time.Millisecond, 1},
	{time.Second, 1},
	{time.Second, 2},
	{time.Second, 4},
}

// denser is the factor by which the cost may grow at the level before: the largest ratio of the
// work of two neighbouring levels.
const denser = 2.5

const (
	// trialsPerGroup is the number of comparisons that make one value: what happens only now and
	// then, such as a garbage collection, must happen in most values to be counted by a median.
	trialsPerGroup = 4
	// maxGroups bounds the values that the cost is estimated from, so that it follows what is on
	// screen: two or three minutes.
	maxGroups = 24
)

// ledger holds the comparisons at the current density, and the estimate.
type ledger struct {
	level  int
	sum    float64 // of the comparisons of the open group
	open   int
	groups []float64 // logarithms of watched over unwatched time, oldest first
	cost   stats.Centre
	news   string
}

// Density returns the density in force.
func (l *ledger) Density() Density { return levels[l.level] }

// enter adds a comparison. It reports whether the estimate changed.
func (l *ledger) enter(contrast float64) bool {
	l.sum += contrast
	if l.open++; l.open < trialsPerGroup {
		return false
	}
	l.groups = append(l.groups, l.sum/trialsPerGroup)
	if n := len(l.groups); n > maxGroups {
		l.groups = l.groups[n-maxGroups:]
	}
	l.sum, l.open = 0, 0
	l.cost = stats.SignedRank(l.groups)
	return true
}

// known reports whether there is an interval.
func (l *ledger) known() bool { return len(l.groups) >= stats.SignedRankLeast }

// lost converts the logarithm of a ratio of times to the share of speed lost.
func lost(log float64) float64 { return -math.Expm1(-log) }

// precise reports whether the cost is known well enough to be measured more rarely.
func (l *ledger) precise() bool { return l.known() && lost(l.cost.High)-lost(l.cost.Low) < 2*precise }

// adjust changes the density if the whole interval is above the budget, or if it would be below it
// at the next density too. It reports whether it changed anything.
func (l *ledger) adjust(budget float64) bool {
	if budget <= 0 || !l.known() {
		return false
	}
	to, low, high := l.level, lost(l.cost.Low), lost(l.cost.High)
	switch {
	case stats.AtMost(budget).Judge(low, high) == stats.Above && l.level+1 < len(levels):
		to++
	case l.level > 0 && stats.AtMost(budget).Judge(denser*low, denser*high) == stats.Within:
		to--
	default:
		return false
	}
	l.news = fmt.Sprintf("watching costs %s, budget %s: %s", unit.ShareWithin(lost(l.cost.Value), low, high),
		unit.Share(budget),
		change(levels[l.level], levels[to]))
	*l = ledger{level: to, news: l.news}
	return true
}

// change describes a change of density.
func change(from, to Density) string {
	if from.Period != to.Period {
		return fmt.Sprintf("%.0f %s a second", 1/to.Period.Seconds(),
			map[bool]string{true: "frame", false: "frames"}[to.Period == time.Second])
	}
	if to.Sparse == 1 {
		return "pictures, quality and layers as often as usual"
	}
	return fmt.Sprintf("pictures, quality and layers %d times as rarely", to.Sparse)
}

// Iteration takes the next record. Records come in order.
func (s *Schedule) Iteration(it *profiles.Iteration) {
	contrast, done := s.trial.add(it, int64(s.litLength()))
	if !done {
		return
	}
	s.rests = it.Start + int64(s.pause())
	if s.enter(contrast) && s.adjust(s.options.Budget) {
		s.trial.void()
	}
}

// News returns a line about a change of density since the last call; empty for none.
func (s *Schedule) News() string {
	line := s.news
	s.news = ""
	return line
}

// Cost returns the cost at the current density.
func (s *Schedule) Cost() profiles.WatchingCost {
	d := s.Density()
	c := profiles.WatchingCost{Measured: true, Budget: s.options.Budget, Period: d.Period, Sparse: d.Sparse,
		Thinned: s.level > 0}
	if c.Known = s.known(); c.Known {
		c.Value, c.Low, c.High = lost(s.cost.Value), lost(s.cost.Low), lost(s.cost.High)
	}
	if s.tooLong() {
		c.Reason = fmt.Sprintf("iterations of %s are too long to measure the cost of watching",
			unit.Duration(s.trial.mean()))
	}
	return c
}
