package stats

import "math"

// The signed-rank interval of paired differences.

// SignedRankLeast is the minimum number of values for a 95 % interval: with five,
// even the widest interval contains the truth in only 15 of 16 cases.
const SignedRankLeast = 6

// Centre is an estimate of the centre of a few values.
type Centre struct {
	Value     float64 // Hodges and Lehmann's estimate, NaN without values
	Low, High float64 // 95 % interval; infinite below SignedRankLeast values
}

// SignedRank estimates the centre of values that are independent and lie
// symmetrically about it, as differences within balanced blocks do. It is the
// median of the means of all pairs (Hodges and Lehmann 1963), and the interval is
// the one that Wilcoxon's signed-rank test does not reject, from the test's exact
// distribution: it contains the truth in at least 95 % of cases however few the
// values are, unlike a bootstrap of so few, and one outlier cannot move it far.
func SignedRank(values []float64) Centre { return SignedRankAt(values, 0.05) }

// SignedRankAt is SignedRank with an interval that misses the truth with at most the given
// chance. It is infinite where so few values cannot make it that sure.
func SignedRankAt(values []float64, miss float64) Centre {
	n := len(values)
	means := make([]float64, 0, n*(n+1)/2)
	for i, a := range values {
		for _, b := range values[i:] {
			means = append(means, (a+b)/2)
		}
	}
	middle := (len(means) - 1) / 2
	Settle(means, middle)
	Settle(means, middle+1)
	c := Centre{Value: Quantile(means, 0.5), Low: math.Inf(-1), High: math.Inf(1)}
	if k, ok := signedRankCut(n, miss/2); ok {
		Settle(means, k)
		Settle(means, len(means)-1-k)
		c.Low, c.High = means[k], means[len(means)-1-k]
	}
	return c
}

// Settle moves the kth smallest value, counted from 0, to its place, smaller ones before and larger
// ones behind it (Hoare 1961, Algorithm 65: FIND). Values that were settled stay where they are.
func Settle(values []float64, k int) {
	for low, high := 0, len(values)-1; low < high; {
		pivot := values[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}

// signedRankCut is the largest k with P(W ≤ k) ≤ tail for the sum W of the
// positive ranks of n values; ok is false if even 0 is likelier. tail is below a half, which
// the distribution, symmetric about n(n+1)/4, reaches in its middle.
func signedRankCut(n int, tail float64) (k int, ok bool) {
	if tail <= 0 {
		return 0, false
	}
	middle := n * (n + 1) / 4
	chance := make([]float64, middle+1) // of each sum, over the ranks so far
	chance[0] = 1
	for rank := 1; rank <= n; rank++ {
		for sum := min(middle, rank*(rank+1)/2); sum >= 0; sum-- {
			chance[sum] /= 2
			if sum >= rank {
				chance[sum] += chance[sum-rank] / 2
			}
		}
	}
	cumulative := 0.0
	for sum := range chance {
		if cumulative += chance[sum]; cumulative > tail {
			return sum - 1, sum > 0
		}
	}
	return 0, false
}

// SignedRankNeeds returns the minimum number of values for an interval that misses the truth with
// at most the given chance.
func SignedRankNeeds(miss float64) int {
	n := 1
	for chance := 0.5; chance > miss/2 && n < 64; n++ { // of the smallest sum of n ranks
		chance /= 2
	}
	return n
}
