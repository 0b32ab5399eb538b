package ablation

import (
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// group is four blocks of one setting: off on on off, or mirrored on off off on.
type group struct {
	mirrored bool
	block    int // the current one
	medians  [4]float64
	gains    [4]float64 // of PSNR, dB over 100 iterations
}

// isOn reports whether a block has the setting on.
func (g *group) isOn(block int) bool { return (block == 1 || block == 2) != g.mirrored }

// contrast returns the mean of the inner blocks minus that of the outer ones,
// with the sign of on minus off.
func (g *group) contrast(v [4]float64) float64 {
	c := (v[1]+v[2])/2 - (v[0]+v[3])/2
	if g.mirrored {
		return -c
	}
	return c
}

// row is a setting with the results of its groups.
type row struct {
	profiles.AblationRow
	skip     bool
	switched [2]settings.Values // off and on
	ratios   []float64          // logarithms of on over off, one for each group
	levels   []float64          // means of the logarithms of both
	looks    looks              // of a replication
	bias     float64            // of the logarithm with which it ended, which is taken from the estimate
	gains    []float64
}

// pairingOf returns a pair of values of a setting, marked as refused if base cannot take them.
func pairingOf(base settings.Values, k *settings.Key, pair settings.Pair) Pairing {
	p := Pairing{Key: k.Name, Off: pair.Off, On: pair.On, Note: k.Idle(base)}
	try := func(value string) settings.Values {
		trial, err := base.With(settings.Assignment{Key: k.Name, Value: value})
		if err == nil {
			err = trial.Validate()
		}
		if err != nil {
			p.Note, p.Refused = err.Error(), true
		}
		return trial
	}
	p.Before, p.After = try(pair.Off), try(pair.On)
	return p
}

// clear drops the groups.
func (r *row) clear() {
	r.ratios, r.levels, r.gains, r.OffBlocks, r.OnBlocks = nil, nil, nil, nil, nil
	r.Iterations = 0
	r.looks.newest = stats.Centre{Low: math.Inf(-1), High: math.Inf(1)}
	r.judge()
}

// take adds a complete group.
func (r *row) take(g *group) {
	var logs [4]float64
	for i, m := range g.medians {
		logs[i] = math.Log(m)
		if g.isOn(i) {
			r.OnBlocks = append(r.OnBlocks, m)
		} else {
			r.OffBlocks = append(r.OffBlocks, m)
		}
	}
	r.ratios, r.levels = append(r.ratios, g.contrast(logs)), append(r.levels, (logs[0]+logs[1]+logs[2]+logs[3])/4)
	if gain := g.contrast(g.gains); !math.IsNaN(gain) && !math.IsInf(gain, 0) {
		r.gains = append(r.gains, gain)
	}
	r.HasMemory = true
	if r.Sequential && slices.Contains(r.looks.at, len(r.ratios)) {
		r.looks.take(r.ratios, r.looks.each)
	}
	r.judge()
}

// judge updates the row's numbers.
func (r *row) judge() {
	r.Groups, r.QualityGroups = len(r.ratios), len(r.gains)
	c := stats.SignedRank(r.ratios)
	if r.Sequential {
		c = r.look()
	}
	r.Effect, r.Low, r.High = math.Expm1(c.Value), math.Expm1(c.Low), math.Expm1(c.High)
	r.OffNS, r.OnNS = sides(r.levels, c.Value)
	q := stats.SignedRank(r.gains)
	r.Quality, r.QualityLow, r.QualityHigh = q.Value, q.Low, q.High
}

// sides returns the times of both values, whose logarithms are a ratio apart in the middle of the groups' levels: the
// adjusted means of a design in blocks (Fisher 1935, The Design of Experiments). The medians of all blocks with either
// value may be farther apart, or the other way round, because they have the drift of the machine that cancels within a
// group.
func sides(levels []float64, ratio float64) (off, on float64) {
	level := stats.SignedRankAt(levels, 0).Value
	return math.Exp(level - ratio/2), math.Exp(level + ratio/2)
}

// looks are the looks of a replication. Their chances to miss the true value add up to at most 5 %.
type looks struct {
	at     []int        // numbers of groups
	each   float64      // chance of a look
	left   float64      // chance that the looks so far have not spent
	newest stats.Centre // of the newest look
}

// allowed is the chance to miss the true value that all looks have together.
const allowed = 0.05

// looksOf returns the looks of a replication: those of a limited one leave a part for its end.
func looksOf(o Options) looks {
	l := looks{at: Looks, left: allowed, newest: stats.Centre{Low: math.Inf(-1), High: math.Inf(1)}}
	parts := len(Looks)
	if o.Within > 0 {
		l.at = DecisionLooks
		parts = len(DecisionLooks) + 1
	}
	l.each = l.left / float64(parts)
	return l
}

// take adds a look that misses the true value with at most the given chance.
func (l *looks) take(ratios []float64, miss float64) {
	miss = min(miss, l.left)
	l.newest = stats.SignedRankAt(ratios, miss)
	l.left -= miss
}

// next returns the number of groups at the next look after n groups, the last one after all.
func (l *looks) next(n int) int {
	for _, at := range l.at {
		if at > n {
			return at
		}
	}
	return max(n, l.at[len(l.at)-1])
}

// look returns the result of a replication's newest look. Before the first there is no interval.
func (r *row) look() stats.Centre {
	c := stats.SignedRankAt(r.ratios, 0) // the newest estimate
	c.Value -= r.bias
	c.Low, c.High = r.looks.newest.Low, r.looks.newest.High
	return c
}

// lookLast looks once more with what is left of the chance to miss.
func (r *row) lookLast() {
	r.looks.take(r.ratios, r.looks.left)
	r.judge()
}

// decided reports whether a replication has its verdict: the groups of a look are complete, and
// it is settled.
func (r *row) decided() bool { return slices.Contains(r.looks.at, r.Groups) && r.settled() }

// settled reports whether the interval excludes 0 or lies within a narrow range around it.
func (r *row) settled() bool {
	j := r.Judge()
	return j == profiles.Saves || j == profiles.Costs || j == profiles.SameTime
}

func middle(values []float64) float64 {
	return stats.Quantile(slices.Sorted(slices.Values(values)), 0.5)
}

// View returns the table so far.
func (s *Schedule) View() *profiles.Ablation {
	v := s.table()
	v.Replication, v.Of, v.Base, v.Done = s.replication, s.of, s.base, s.groups
	for i := range s.rows {
		r := s.rows[i].AblationRow
		r.Final = s.Done()
		v.Rows = append(v.Rows, r)
	}
	v.Groups = len(s.order) * s.options.Rounds
	if v.Running {
		v.Now = s.order[s.at]
		v.Left, v.LeftKnown = s.left(4*v.Groups - s.blocksDone())
	}
	if s.replication {
		v.Within, v.Groups = s.options.Within, s.rows[0].looks.next(s.groups)
	}
	if v.Decides() {
		v.Left, v.LeftKnown = 0, false
	}
	return v
}

// blocksDone returns the number of completed blocks of the plan.
func (s *Schedule) blocksDone() int { return 4*s.groups + s.group.block }
