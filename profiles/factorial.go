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

// A factorial ablation: its combinations, the effects and interactions estimated from them, and whether speed-ups
// multiply.

// FactorialRounds is the default number of rounds of a factorial ablation: blocks of each
// combination.
const FactorialRounds = 24

// FactorialTolerance is the deviation of the whole from the product of single speed-ups within
// which the product is good enough.
const FactorialTolerance = 0.05

// FactorialEstimate returns the approximate duration of a factorial ablation of a number of
// factors, given the time of an iteration, without switching and slower combinations.
func FactorialEstimate(factors int, iteration time.Duration) time.Duration {
	block := max(AblationLeast*iteration, AblationBlock) + AblationWarmup*iteration
	return time.Duration(FactorialRounds<<factors) * block
}

// Factorial is the table of an ablation that runs every combination of its factors. Its intervals
// hold together: the probability that any of them misses its true value is at most 5 %.
type Factorial struct {
	Factors []settings.Factor
	Notes   []string // of each factor: why it has no effect under the current settings; "" for none

	Rounds    int     // complete: one block of each combination
	Needed    int     // rounds that an interval needs
	Intervals int     // in the table
	Miss      float64 // probability that one interval misses: 5 % divided by Intervals
	Final     bool    // the ablation has ended: no more rounds follow

	// CombinationNS holds the median time of an iteration under each combination, NaN before the
	// first round. Bit i of the index is set where factor i is on.
	CombinationNS []float64

	// Alone is the effect of each factor with all others off, Averaged the one averaged over all
	// combinations of the others (the main effect).
	Alone, Averaged []Ratio

	// Interactions holds all pairs, then triples and so on.
	Interactions []Interaction

	Product Ratio // of Alone
	Whole   Ratio // all factors on against all off
	Excess  Ratio // Whole over Product
}

// Ratio is a ratio of iteration times less one, with its interval, which is infinite while there
// are too few rounds. Effect is NaN before the first round.
type Ratio struct{ Effect, Low, High float64 }

// Known reports whether the ratio has an interval.
func (r Ratio) Known() bool { return !math.IsNaN(r.Effect) && !math.IsInf(r.High, 0) }

// BeyondNoise reports whether the interval excludes 0.
func (r Ratio) BeyondNoise() bool { return r.Judge(0).Excluded() }

// Judge returns what the interval allows to say of the claim that the ratio is 0, within a margin.
func (r Ratio) Judge(margin float64) stats.Finding { return stats.Zero(margin).Judge(r.Low, r.High) }

// Reach returns the largest effect, in either direction, in the interval.
func (r Ratio) Reach() float64 { return stats.Reach(r.Low, r.High) }

// SpeedUp formats the ratio as a speed-up: "1.60x".
func (r Ratio) SpeedUp() string {
	if math.IsNaN(r.Effect) {
		return "–"
	}
	return fmt.Sprintf("%.2fx", 1/(1+r.Effect))
}

// SpeedUps formats the interval as speed-ups, "" while it is unknown: "[1.55,1.66]".
func (r Ratio) SpeedUps() string {
	if !r.Known() {
		return ""
	}
	return fmt.Sprintf("[%.2f,%.2f]", 1/(1+r.High), 1/(1+r.Low))
}

// Interaction is by how much the joint effect of several factors differs from the product of what
// they do in smaller numbers, averaged over the combinations of the others: for a pair, its time
// over the product of both effects, less one.
type Interaction struct {
	Of []int // indices of the factors
	Ratio
}

// InteractionName names the factors of an interaction: "caches × amp=bf16".
func (f *Factorial) InteractionName(i int) string {
	var names []string
	for _, of := range f.Interactions[i].Of {
		names = append(names, f.Factors[of].Name)
	}
	return strings.Join(names, " × ")
}

// Pairs returns the number of interactions of two factors, which come first.
func (f *Factorial) Pairs() int { return len(f.Factors) * (len(f.Factors) - 1) / 2 }

// Combination names the factors that are on in a combination: "caches, amp=bf16", "none" or "everything".
func (f *Factorial) Combination(on int) string {
	var names []string
	for i := range f.Factors {
		if on>>i&1 == 1 {
			names = append(names, f.Factors[i].Name)
		}
	}
	switch len(names) {
	case 0:
		return "none"
	case len(f.Factors):
		return "everything"
	}
	return strings.Join(names, ", ")
}

// Switches reports whether one of the factors switches a setting.
func (f *Factorial) Switches(key string) bool {
	for i := range f.Factors {
		for _, a := range f.Factors[i].On {
			if a.Key == key {
				return true
			}
		}
	}
	return false
}

// Multiplies is the conclusion about the product of the single speed-ups.
type Multiplies uint8

// The conclusions.
const (
	MultipliesUnknown Multiplies = iota // too few rounds
	MultipliesWell                      // the whole is within FactorialTolerance of the product
	MultipliesNot                       // they differ
	MultipliesOpen                      // they may be equal, and may differ by more than FactorialTolerance
)

// Multiplies returns the conclusion from the interval of Excess.
func (f *Factorial) Multiplies() Multiplies {
	if !f.Excess.Known() {
		return MultipliesUnknown
	}
	switch f.Excess.Judge(FactorialTolerance) {
	case stats.Within:
		return MultipliesWell
	case stats.Below, stats.Above:
		return MultipliesNot
	}
	return MultipliesOpen
}

// Verdict returns the conclusion in a sentence.
func (f *Factorial) Verdict() string {
	measured := fmt.Sprintf("the product says %s, measured %s %s", f.Product.SpeedUp(), f.Whole.SpeedUp(),
		f.Whole.SpeedUps())
	apart := ", up to " + unit.Share(f.Excess.Reach()) + " apart"
	interact := 0
	for _, in := range f.Interactions {
		if in.BeyondNoise() {
			interact++
		}
	}
	beyond := unit.Plural(interact, "interaction is", "interactions are") + " beyond noise"
	switch m := f.Multiplies(); {
	case m != MultipliesUnknown && !f.Final:
		return "so far, " + measured + apart
	case m == MultipliesWell && interact > 0:
		return "one may multiply all of the single speed-ups, although " + beyond + ": " + measured
	case m == MultipliesWell:
		return "one may multiply the single speed-ups: " + measured
	case m == MultipliesNot:
		return "one may not multiply the single speed-ups: " + measured
	case m == MultipliesOpen && interact > 0:
		return "one may not multiply all of them: " + beyond + ". Of everything on, " + measured + apart
	case m == MultipliesOpen:
		return "whether one may multiply is not decided: " + measured + apart
	}
	if f.Final {
		return fmt.Sprintf("too few rounds: %d of %d", f.Rounds, f.Needed)
	}
	return fmt.Sprintf("intervals after %d more", f.Needed-f.Rounds)
}

// InteractionVerdict describes an interaction in words.
func (f *Factorial) InteractionVerdict(i int) string {
	r := f.Interactions[i]
	if !r.Known() {
		return ""
	}
	if !f.Final {
		return "so far ± " + unit.Share(r.Reach())
	}
	switch r.Judge(0) {
	case stats.Above:
		return "slower together"
	case stats.Below:
		return "faster together"
	}
	return "undecided ± " + unit.Share(r.Reach())
}
