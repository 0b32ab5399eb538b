package ablation

import (
	"math"
	"math/bits"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// Analyse returns the table of a factorial from its complete rounds: for each, the median iteration
// time of every combination.
//
// An effect is a contrast of the logarithms of the times, computed within each round. The order of a
// round is random, so the contribution of a drift, or of neighbouring blocks that resemble each
// other, is as likely to have either sign, independently in each round: the condition of the
// signed-rank test, whose interval is therefore right whatever the machine does meanwhile. Each
// interval misses with at most 5 % divided by the number of intervals, so that all of them hold
// together in 95 of 100 cases (Bonferroni's inequality; Dunn 1961, Multiple comparisons among
// means).
func Analyse(factors []settings.Factor, rounds [][]float64) profiles.Factorial {
	k := len(factors)
	t := profiles.Factorial{Factors: factors, Rounds: len(rounds)}
	all := 1<<k - 1
	var weights [][]float64
	whole, product := make([]float64, 1<<k), make([]float64, 1<<k)
	whole[all], whole[0] = whole[all]+1, whole[0]-1
	for i := range k {
		alone := make([]float64, 1<<k)
		alone[1<<i], alone[0] = 1, -1
		weights = append(weights, alone)
		product[1<<i]++
		product[0]--
	}
	for i := range k {
		weights = append(weights, contrast(1<<i, k))
	}
	for _, of := range subsets(k) {
		weights = append(weights, contrast(of, k))
		t.Interactions = append(t.Interactions, profiles.Interaction{Of: members(of)})
	}
	excess := make([]float64, 1<<k)
	for on := range excess {
		excess[on] = whole[on] - product[on]
	}
	weights = append(weights, product, whole, excess)

	t.Intervals = len(weights)
	t.Miss = 0.05 / float64(t.Intervals)
	t.Needed = stats.SignedRankNeeds(t.Miss)
	times := make([][]float64, len(rounds))
	for r, medians := range rounds {
		times[r] = logs(medians)
	}
	ratios := make([]profiles.Ratio, len(weights))
	for i, w := range weights {
		ratios[i] = ratioOf(w, times, t.Miss)
	}
	t.Alone, ratios = ratios[:k], ratios[k:]
	t.Averaged, ratios = ratios[:k], ratios[k:]
	for i := range t.Interactions {
		t.Interactions[i].Ratio = ratios[i]
	}
	ratios = ratios[len(t.Interactions):]
	t.Product, t.Whole, t.Excess = ratios[0], ratios[1], ratios[2]

	t.CombinationNS = make([]float64, 1<<k)
	for on := range t.CombinationNS {
		of := make([]float64, len(rounds))
		for r := range rounds {
			of[r] = rounds[r][on]
		}
		t.CombinationNS[on] = middle(of)
	}
	return t
}

// ratioOf returns a contrast over the rounds as a ratio of times.
func ratioOf(weights []float64, times [][]float64, miss float64) profiles.Ratio {
	values := make([]float64, len(times))
	for r, round := range times {
		for on, w := range weights {
			values[r] += w * round[on]
		}
	}
	c := stats.SignedRankAt(values, miss)
	return profiles.Ratio{Effect: math.Expm1(c.Value), Low: math.Expm1(c.Low), High: math.Expm1(c.High)}
}

// subsets lists the sets of two or more of k factors, smaller ones first, a bit for each member.
func subsets(k int) (all []uint) {
	for of := range uint(1) << k {
		if bits.OnesCount(of) >= 2 {
			all = append(all, of)
		}
	}
	slices.SortStableFunc(all, func(a, b uint) int {
		if n := bits.OnesCount(a) - bits.OnesCount(b); n != 0 {
			return n
		}
		return slices.Compare(members(a), members(b))
	})
	return all
}

// members lists the indices of the bits that are set.
func members(of uint) (all []int) {
	for i := range bits.UintSize {
		if of>>i&1 == 1 {
			all = append(all, i)
		}
	}
	return all
}

// contrast returns the weights of the logarithms of the combinations in the effect of the factors
// in of, a bit each, averaged over the others. For a pair it is the logarithm of the time with both
// on over the product of both effects.
func contrast(of uint, factors int) []float64 {
	weights := make([]float64, 1<<factors)
	among := 1
	for i := range factors {
		if of>>i&1 == 0 {
			among *= 2
		}
	}
	for on := range weights {
		w := 1 / float64(among)
		for i := range factors {
			if of>>i&1 == 1 && on>>i&1 == 0 {
				w = -w
			}
		}
		weights[on] = w
	}
	return weights
}

// logs returns the logarithms of a round's medians.
func logs(medians []float64) []float64 {
	values := make([]float64, len(medians))
	for i, m := range medians {
		values[i] = math.Log(m)
	}
	return values
}
