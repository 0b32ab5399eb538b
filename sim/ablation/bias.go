package ablation

import (
	"math"
	"math/rand/v2"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// A replication ends as soon as its interval decides it: where chance has made an effect large, or where it has made
// one that hardly matters small. What it ends with is therefore not right on average (the winner's curse). This file
// takes that bias from the estimate; the interval, which holds however early the replication ends, stays as it is.

// design is a replication as it might have gone: its looks, and when its time would have been over.
type design struct {
	at    []int       // groups at the looks, the last one those at its end
	reach []float64   // of the interval at each look
	paths [][]float64 // of mean noise at the looks
}

// imagined is the number of replications that are drawn. The same noise serves every
// effect, so that the mean estimate grows smoothly with it.
const imagined = 2000

// designOf describes replications that are judged like l, with most groups at the most, of
// which one group varies by sd.
func designOf(l *looks, most int, sd float64) *design {
	d := &design{}
	spent := 0.0
	for _, n := range l.at {
		if n >= most {
			break
		}
		d.add(n, sd, l.each)
		spent += l.each
	}
	d.add(most, sd, allowed-spent)
	random := rand.New(rand.NewPCG(1, 1))
	for range imagined {
		path, sum, n := make([]float64, len(d.at)), 0.0, 0
		for i, at := range d.at {
			sum += sd * math.Sqrt(float64(at-n)) * random.NormFloat64()
			n = at
			path[i] = sum / float64(n)
		}
		d.paths = append(d.paths, path)
	}
	return d
}

// add adds a look after n groups that misses the truth with a chance.
func (d *design) add(n int, sd, miss float64) {
	d.at = append(d.at, n)
	d.reach = append(d.reach, math.Sqrt2*math.Erfinv(1-miss)*sd/math.Sqrt(float64(n)))
}

// mean returns the mean of the estimates with which replications of an effect end.
func (d *design) mean(effect float64) (mean float64) {
	for _, path := range d.paths {
		estimate := 0.0
		for i, noise := range path {
			estimate = effect + noise
			if size := math.Abs(estimate); size > d.reach[i] || size+d.reach[i] < profiles.EqualWithin {
				break
			}
		}
		mean += estimate
	}
	return mean / float64(len(d.paths))
}

// effect returns the effect of which replications end with an estimate on average (Whitehead 1986, On the bias of
// maximum likelihood estimation following a sequential test).
func (d *design) effect(estimate float64) float64 {
	low, high := 0.0, math.Abs(estimate)
	for range 24 {
		if middle := (low + high) / 2; d.mean(middle) < math.Abs(estimate) {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Copysign((low+high)/2, estimate)
}

// unbias takes the bias from the estimate of a replication that has ended, of which most groups would have fitted into
// its time. Within its interval it stays.
func (r *row) unbias(most int) {
	c, spread := r.look(), stats.SignedRank(r.ratios)
	if r.bias != 0 || math.IsInf(c.High, 0) {
		return
	}
	sd := (spread.High - spread.Low) / (2 * math.Sqrt2 * math.Erfinv(0.95)) * math.Sqrt(float64(r.Groups))
	if sd > 0 {
		effect := designOf(&r.looks, max(most, r.Groups), sd).effect(c.Value)
		r.bias = c.Value - min(max(effect, c.Low), c.High)
		r.judge()
	}
}
