package outside

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/loop"
)

// recorded are the own times of the steps of four gloo ranks on two processors beside other programs, in microseconds, by rank; the
// exchange took about 18 ms of a step. Runs of deal neighbouring steps are drawn from all for each rank, so that none is slower than another.
func recorded(t *testing.T, deal int, rng *rand.Rand) (own [4][]float64) {
	t.Helper()
	var read [4][]float64
	text, err := os.ReadFile("testdata/ranks.json")
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	var runs [][]float64
	for _, times := range read {
		for at := 0; at+deal <= len(times); at += deal {
			runs = append(runs, times[at:at+deal])
		}
	}
	for i := range own {
		for len(own[i]) < rankWindow {
			own[i] = append(own[i], runs[rng.IntN(len(runs))]...)
		}
	}
	return own
}

// blamed is what is said of ranks of which one takes longer by a share of a step.
func blamed(own [4][]float64, slow int, more float64) *profiles.Ranks {
	const exchange, least = 1, 18e6 // ns, of which the last rank to come waits for none
	r := &ranks{}
	for range own {
		r.members = append(r.members, &member{ring: &loop.Ring{Rank: len(r.members), World: len(own)}, phases: []loop.Phase{{Name: "backward"}, {Name: "exchange"}}, exchange: exchange, last: -1})
	}
	typical := median(own[0])*1e3 + least
	for step := range own[0] {
		var times [4]float64
		last := 0.0
		for i := range own {
			times[i] = own[i][step] * 1e3
			if i == slow {
				times[i] += more * typical
			}
			last = max(last, times[i])
		}
		for i, m := range r.members {
			s := rankStep{step: int64(step), total: int64(last + least)}
			s.phases[0], s.phases[exchange] = int64(times[i]), int64(last+least-times[i])
			m.steps[step%rankWindow], m.last = s, int64(step)
		}
	}
	return r.compare()
}

// A rank that is slower by a tenth of a step is named beside the noise of a busy machine, its victims are not, and of equal ranks none is.
func TestARankIsNamedFromATenthOfAStepOn(t *testing.T) {
	const tries, slow = 20, 2
	named := map[float64]int{}
	for seed := range uint64(tries) {
		own := recorded(t, 8, rand.New(rand.NewPCG(seed, 1)))
		for _, more := range []float64{0, 0.02, 0.05, 0.075, 0.1, 0.15} {
			v := blamed(own, slow, more)
			switch {
			case v.Slow == slow:
				named[more]++
			case v.Slow >= 0:
				t.Errorf("try %d, slower by %g: rank %d is named", seed, more, v.Slow)
			}
			if more == 0.1 && v.Slow == slow && (v.Phase != "backward" || v.Low > v.Excess || v.Low <= 0) {
				t.Errorf("%+v", v)
			}
		}
	}
	t.Logf("named in %d tries, by how much of a step the rank is slower: %v", tries, named)
	if named[0] > 0 || named[0.1] < tries*9/10 || named[0.15] < tries {
		t.Errorf("named in %d tries: %v", tries, named)
	}
}
