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
	ratios   []float64          // logarithms of on over off
	looked   stats.Centre       // of a replication, at its newest look
	gains    []float64
	off      []float64 // medians of blocks
	on       []float64
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
	r.ratios, r.gains, r.off, r.on = nil, nil, nil, nil
	r.Iterations = 0
	r.judge()
}

// take adds a complete group.
func (r *row) take(g *group) {
	var logs [4]float64
	for i, m := range g.medians {
		logs[i] = math.Log(m)
		if g.isOn(i) {
			r.on = append(r.on, m)
		} else {
			r.off = append(r.off, m)
		}
	}
	r.ratios = append(r.ratios, g.contrast(logs))
	if gain := g.contrast(g.gains); !math.IsNaN(gain) && !math.IsInf(gain, 0) {
		r.gains = append(r.gains, gain)
	}
	r.HasMemory = true
	r.judge()
}

// judge updates the row's numbers.
func (r *row) judge() {
	r.Groups, r.QualityGroups = len(r.ratios), len(r.gains)
	r.OffNS, r.OnNS = middle(r.off), middle(r.on)
	c := stats.SignedRank(r.ratios)
	if r.Sequential {
		c = r.look()
	}
	r.Effect, r.Low, r.High = math.Expm1(c.Value), math.Expm1(c.Low), math.Expm1(c.High)
	q := stats.SignedRank(r.gains)
	r.Quality, r.QualityLow, r.QualityHigh = q.Value, q.Low, q.High
}

// look returns the result of a replication's newest look. Before the first there is no interval.
func (r *row) look() stats.Centre {
	if slices.Contains(Looks, len(r.ratios)) {
		r.looked = stats.SignedRankAt(r.ratios, lookMiss)
	}
	c := stats.SignedRankAt(r.ratios, 0) // the newest estimate
	c.Low, c.High = math.Inf(-1), math.Inf(1)
	if len(r.ratios) >= Looks[0] {
		c.Low, c.High = r.looked.Low, r.looked.High
	}
	return c
}

// decided reports whether a replication has its verdict: the groups of a look are complete, and
// its interval excludes 0 or lies within a narrow range around it.
func (r *row) decided() bool {
	if !slices.Contains(Looks, r.Groups) {
		return false
	}
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
	return v
}

// blocksDone returns the number of completed blocks of the plan.
func (s *Schedule) blocksDone() int { return 4*s.groups + s.group.block }
