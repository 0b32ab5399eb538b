package ablation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// Factorial is a factorial ablation under way: a randomised complete block design (Box, Hunter and
// Hunter 2005, Statistics for Experimenters, chapters 4 and 5). A round has one block of each of the
// 2^k combinations of k factors, in a random order of its own, with a warm-up after each switch;
// all blocks of a round have as many iterations as its first. It is not safe for concurrent use.
type Factorial struct {
	timing
	base    settings.Values
	factors []settings.Factor
	notes   []string
	cells   []settings.Values // of each combination; bit i of the index is set where factor i is on
	random  *rand.Rand

	order   []int       // of the combinations in the current round
	at      int         // index in order
	medians []float64   // of the current round, by combination
	rounds  [][]float64 // the medians of the complete rounds
	view    profiles.Factorial
}

// NewFactorial plans to run every combination of the factors in o, starting from and returning to
// base. If base cannot take one of them, the ablation has ended, with that reason.
func NewFactorial(base settings.Values, o Options) *Factorial {
	o = o.withDefaults()
	f := &Factorial{timing: newTiming(o), base: base, factors: o.Factors,
		random: rand.New(rand.NewPCG(o.Seed, 0xfac70))}
	cells, err := Combinations(base, o.Factors)
	if err != nil {
		f.End(err.Error())
		f.view.Factors = o.Factors
		return f
	}
	f.cells, f.notes = cells, idle(cells, o.Factors)
	f.medians = make([]float64, len(cells))
	f.judge()
	f.beginRound()
	return f
}

// Combinations returns the settings of every combination of factors: bit i of the index is set
// where factor i is on. It is an error if base cannot take one, or if the factors are too many or
// too few.
func Combinations(base settings.Values, factors []settings.Factor) ([]settings.Values, error) {
	if n := len(factors); n < settings.LeastFactors || n > settings.MostFactors {
		return nil, fmt.Errorf("%s: must be %d to %d", unit.Plural(n, "setting", "settings"), settings.LeastFactors,
			settings.MostFactors)
	}
	cells := make([]settings.Values, 1<<len(factors))
	for on := range cells {
		var sets []settings.Assignment
		for i, f := range factors {
			if on>>i&1 == 1 {
				sets = append(sets, f.On...)
			} else {
				sets = append(sets, f.Off...)
			}
		}
		v, err := base.With(sets...)
		if err == nil {
			err = v.Validate()
		}
		if err != nil {
			return nil, err
		}
		cells[on] = v
	}
	return cells, nil
}

// idle returns for each factor why its settings have no effect in any combination, "" if they have
// one in some.
func idle(cells []settings.Values, factors []settings.Factor) []string {
	notes := make([]string, len(factors))
	for i, f := range factors {
		for on, v := range cells {
			if on>>i&1 == 0 {
				continue
			}
			notes[i] = idleIn(v, f)
			if notes[i] == "" {
				break
			}
		}
	}
	return notes
}

// idleIn returns why the settings of a factor have no effect under v, "" if one has an effect.
func idleIn(v settings.Values, f settings.Factor) (why string) {
	for _, a := range f.On {
		k, _ := v.Lookup(a.Key)
		if why = k.Idle(v); why == "" {
			return ""
		}
	}
	return why
}

// Wanted returns the settings for the next iteration.
func (f *Factorial) Wanted() settings.Values {
	if f.Done() {
		return f.base
	}
	return f.cells[f.order[f.at]]
}

// Ahead returns what is left of the round under way, given the time of an iteration before, and fixes its lengths.
func (f *Factorial) Ahead(each time.Duration) (blocks []profiles.Block) {
	if f.Done() {
		return nil
	}
	length := f.length(each)
	for _, cell := range f.order[f.at:] {
		blocks = append(blocks, profiles.Block{Settings: f.cells[cell], Warm: f.options.Warmup, Length: length})
		length = f.block.want
	}
	return blocks
}

// Add adds the measurements of an iteration under Wanted. It returns true if the caller must call
// Look before the next.
func (f *Factorial) Add(it *profiles.Iteration) (look bool) {
	if f.Done() {
		return false
	}
	switch f.count(it) {
	case full:
		return true
	case otherKind:
		f.rounds = nil
		f.judge()
		f.beginRound()
	}
	return false
}

// Look ends a block, after an iteration for which Add returned true. Quality and memory are those
// of an ablation of single settings, and not compared here.
func (f *Factorial) Look(float64, profiles.Memory) {
	if f.Done() {
		return
	}
	n := len(f.block.nanos)
	f.medians[f.order[f.at]] = f.endTimed()
	if f.at++; f.at < len(f.order) {
		f.block.reset(n)
		return
	}
	f.rounds = append(f.rounds, slices.Clone(f.medians))
	f.judge()
	if len(f.rounds) == f.options.Rounds {
		f.End("complete")
		return
	}
	f.beginRound()
}

// beginRound draws the order of the next round.
func (f *Factorial) beginRound() {
	f.order, f.at = f.random.Perm(len(f.cells)), 0
	f.block.reset(0)
}

// judge updates the table from the complete rounds.
func (f *Factorial) judge() {
	f.view = Analyse(f.factors, f.rounds)
	f.view.Notes = f.notes
}

// View returns the table so far.
func (f *Factorial) View() *profiles.Ablation {
	v := f.table()
	v.Base, v.Groups = f.base, len(f.cells)*f.options.Rounds
	v.Done = len(f.cells) * len(f.rounds)
	if f.at < len(f.order) {
		v.Done += f.at
	}
	table := f.view
	table.Final = f.Done()
	v.Factorial = &table
	if v.Running {
		v.Now = f.order[f.at]
		v.Left, v.LeftKnown = f.left(v.Groups - v.Done)
	}
	return v
}
