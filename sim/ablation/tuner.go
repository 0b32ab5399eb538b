package ablation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// TunerOptions describe what a Tuner may try. Items and Needed must not be nil.
type TunerOptions struct {
	Options
	// Values returns the settings with a batch size, or the reason why it cannot be.
	Values func(size int) (settings.Values, error)
	// Needed returns the part of the memory that the settings in force need.
	Needed func(profiles.Memory) int64
}

// Defaults of the thoroughness of a comparison of two batch sizes.
const (
	tunerWarmup = 1
	tunerLeast  = 2
	tunerBlock  = 100 * time.Millisecond
)

// tunerLooks are the numbers of pairs after which two sizes are judged, and tunerMiss is the
// probability that the interval of one look misses the true value: a search of a dozen comparisons
// is then misled with a probability of 5 % at most.
var tunerLooks = []int{12, 16, 22, 30, 42, 60, 85, 120}

const tunerMiss = 0.0005

// mostTuned is the largest batch size that is tried.
const mostTuned = 6 << 10

// Tuner searches the batch size of the most items a second while a run goes on. It compares the
// best size so far with a neighbour, in pairs of blocks whose order a coin decides, as in a Schedule,
// until a look decides: it first goes up two rungs of the ladder at
// a time, or down if that is no faster, then tries the nearest rungs, and takes the smallest size
// that is as fast as the best. It is not safe for concurrent use.
type Tuner struct {
	timing
	options TunerOptions
	base    settings.Values
	from    int
	search  Search
	rows    []row
	refused string // why the largest size that was considered cannot be

	random    *rand.Rand
	pairs     int // of the comparison
	first     int // the side that a coin has chosen to begin the pair: 0 for the best
	second    bool
	medians   [2]float64 // of the best and the candidate, by the item
	candidate int
	values    [2]settings.Values
}

// NewTuner begins a search at the batch size of base.
func NewTuner(base settings.Values, o TunerOptions) *Tuner {
	if o.Warmup <= 0 {
		o.Warmup = tunerWarmup
	}
	if o.Least <= 0 {
		o.Least = tunerLeast
	}
	if o.Time <= 0 {
		o.Time = tunerBlock
	}
	t := &Tuner{
		timing: newTiming(o.Options), options: o, base: base, from: base.Int(settings.BatchSize),
		random: rand.New(rand.NewPCG(o.Seed, 0x5eed)),
	}
	var sizes []int
	for _, n := range slices.Sorted(slices.Values(append([]int{t.from}, Ladder(mostTuned)...))) {
		if slices.Contains(sizes, n) {
			continue
		}
		if _, err := o.Values(n); err != nil {
			if n > t.from {
				t.refused = err.Error()
				break
			}
			continue
		}
		sizes = append(sizes, n)
	}
	if len(sizes) == 0 {
		t.End("no batch size can be used: " + t.refused)
		return t
	}
	t.search = NewSearch(sizes, t.from)
	t.advance()
	return t
}

// advance begins the next comparison, or ends the search.
func (t *Tuner) advance() {
	candidate, ok := t.search.Next()
	if !ok {
		t.candidate = 0
		t.End(t.verdict())
		return
	}
	t.candidate, t.pairs = candidate, 0
	t.beginPair()
	var errs [2]error
	t.values[0], errs[0] = t.options.Values(t.search.Best())
	t.values[1], errs[1] = t.options.Values(candidate)
	for _, err := range errs {
		if err != nil { // which could be at the start
			t.End(err.Error())
		}
	}
	t.rows = append(t.rows, row{AblationRow: profiles.AblationRow{
		Key: settings.BatchSize, Off: strconv.Itoa(t.search.Best()), On: strconv.Itoa(candidate), Sequential: true,
		Effect: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Quality: math.NaN(), QualityLow: math.Inf(-1),
		QualityHigh: math.Inf(1),
	}})
	t.block.reset(0)
}

// beginPair tosses the coin for the next pair.
func (t *Tuner) beginPair() { t.first, t.second = t.random.IntN(2), false }

// now returns which of the two sizes runs: 0 for the best.
func (t *Tuner) now() int {
	if t.second {
		return 1 - t.first
	}
	return t.first
}

// Wanted returns the settings of the next iteration.
func (t *Tuner) Wanted() settings.Values {
	if t.Done() {
		return t.base
	}
	return t.values[t.now()]
}

// Add adds an iteration. It returns true if Look must be called.
func (t *Tuner) Add(it *profiles.Iteration) (look bool) {
	if t.Done() {
		return false
	}
	switch t.count(it) {
	case full:
		return true
	case otherKind:
		t.rows[len(t.rows)-1].clear()
		t.pairs = 0
		t.beginPair()
	}
	return false
}

// Look ends a block, with the memory of the run under it.
func (t *Tuner) Look(_ float64, memory profiles.Memory) {
	if t.Done() {
		return
	}
	side, n := t.now(), len(t.block.nanos)
	t.medians[side] = t.endTimed() / float64(t.options.Items(t.values[side]))
	r := &t.rows[len(t.rows)-1]
	r.Iterations += n
	if side == 0 {
		r.OffBytes = t.options.Needed(memory)
	} else {
		r.OnBytes = t.options.Needed(memory)
	}
	t.block.reset(0)
	if !t.second {
		t.second = true
		return
	}
	t.pairs++
	t.beginPair()
	r.HasMemory = true
	off, on := math.Log(t.medians[0]), math.Log(t.medians[1])
	r.ratios, r.levels = append(r.ratios, on-off), append(r.levels, (off+on)/2)
	t.judge(r)
}

// judge updates a row, and goes on with the next comparison if this one is decided.
func (t *Tuner) judge(r *row) {
	r.Groups = len(r.ratios)
	c := stats.SignedRankAt(r.ratios, tunerMiss)
	r.Effect = math.Expm1(c.Value)
	r.OffNS, r.OnNS = sides(r.levels, c.Value)
	look := slices.Index(tunerLooks, r.Groups)
	if look < 0 {
		return
	}
	r.Low, r.High = math.Expm1(c.Low), math.Expm1(c.High)
	f := t.found(c, look == len(tunerLooks)-1)
	if f == unknown {
		return
	}
	t.search.Learn(f)
	r.Final = true
	t.advance()
}

// found is what an interval of the logarithm of the candidate's time over the best's says. A smaller
// size need only be slower by FlatWithin at most to be preferred, and a larger one that is faster by no more
// than that is not; without a decision at the last look, the best stays.
func (t *Tuner) found(c stats.Centre, last bool) Finding {
	flat, larger := math.Log1p(profiles.FlatWithin), t.candidate > t.search.Best()
	zero := stats.Zero(0).Judge(c.Low, c.High)
	least, most := stats.AtLeast(-flat).Judge(c.Low, c.High), stats.AtMost(flat).Judge(c.Low, c.High)
	switch {
	case larger && zero == stats.Above, most == stats.Above:
		return Slower
	case larger && least == stats.Within, !larger && zero != stats.Below && most == stats.Within:
		return Equal
	case least == stats.Below:
		return Faster
	case zero == stats.Below:
		return Ahead
	case last && larger:
		return Equal
	case last:
		return Slower
	}
	return unknown
}

// Chosen returns the settings with the chosen size, without the tuner's own switch; ok is false
// before the end of the search, or if it was ended early.
func (t *Tuner) Chosen() (v settings.Values, ok bool) {
	if !t.Done() || t.candidate != 0 || t.search.sizes == nil {
		return t.base, false
	}
	v, err := t.base.With(settings.Assignment{Key: settings.BatchSize, Value: strconv.Itoa(t.search.choice())},
		settings.Assignment{Key: settings.AutoTune, Value: "false"})
	return v, err == nil
}

// verdict says what the search has found.
func (t *Tuner) verdict() string {
	low, high := t.search.flat()
	text := fmt.Sprintf("takes %d", low)
	switch {
	case low < high:
		text = fmt.Sprintf("flat from %d to %d: takes %[1]d", low, high)
	case len(t.rows) > 0:
		text += t.neighbours(low)
	}
	if t.refused != "" && high == t.search.sizes[len(t.search.sizes)-1] {
		text += "; none larger: " + t.refused
	}
	return text
}

// neighbours says how much slower the nearest sizes are that were compared with the best.
func (t *Tuner) neighbours(best int) (text string) {
	for _, below := range []bool{true, false} {
		nearest, cost := 0, 0.0
		for k := range t.rows {
			r := &t.rows[k]
			on, _ := strconv.Atoi(r.On)
			off, _ := strconv.Atoi(r.Off)
			other, slower := on, r.Effect
			if on == best { // it was the faster one
				other, slower = off, 1/(1+r.Effect)-1
			} else if off != best {
				continue
			}
			if below != (other < best) || nearest != 0 && abs(other-best) >= abs(nearest-best) {
				continue
			}
			nearest, cost = other, slower
		}
		if nearest != 0 {
			more := "more"
			if cost < 0 { // of two that were not told apart, the smaller is taken
				more = "less"
			}
			text += fmt.Sprintf("; %d takes %s %s an item", nearest, unit.Share(math.Abs(cost)), more)
		}
	}
	return text
}

func abs(n int) int { return max(n, -n) }

// View returns the comparisons so far.
func (t *Tuner) View() *profiles.Ablation {
	v := t.table()
	v.Base, v.Rounds, v.Groups = t.base, tunerLooks[len(tunerLooks)-1], tunerLooks[len(tunerLooks)-1]
	v.Tuning = &profiles.Tuning{From: t.from, Best: t.from, Refused: t.refused}
	if t.search.sizes != nil {
		v.Tuning.Best, v.Tuning.Candidate = t.search.Best(), t.candidate
		v.Tuning.FlatFrom, v.Tuning.FlatTo = t.search.flat()
	}
	if _, ok := t.Chosen(); ok {
		v.Tuning.Chosen = t.search.choice()
	}
	v.Done = t.pairs
	for i := range t.rows {
		r := t.rows[i].AblationRow
		r.Final = r.Final || t.Done()
		v.Rows = append(v.Rows, r)
	}
	if v.Running {
		v.Now = len(v.Rows) - 1
	}
	return v
}
