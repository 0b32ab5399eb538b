package scan

import (
	"math"
	"math/rand/v2"
)

// fewCounts is the mean from which counts are drawn by rejection.
const fewCounts = 10

// poisson draws a count of the given mean: by multiplication of uniform numbers if it is
// small, else by Hörmann's transformed rejection (PTRS, "The transformed rejection method
// for generating Poisson random variables", 1993).
func poisson(r *rand.Rand, mean float64) float64 {
	if !(mean > 0) {
		return 0
	}
	if mean < fewCounts {
		limit, count := math.Exp(-mean), 0.0
		for p := r.Float64(); p > limit; p *= r.Float64() {
			count++
		}
		return count
	}
	b := 0.931 + 2.53*math.Sqrt(mean)
	a := -0.059 + 0.02483*b
	inverse := 1.1239 + 1.1328/(b-3.4)
	quick := 0.9277 - 3.6224/(b-2)
	for {
		u, v := r.Float64()-0.5, r.Float64()
		us := 0.5 - math.Abs(u)
		k := math.Floor((2*a/us+b)*u + mean + 0.43)
		if us >= 0.07 && v <= quick {
			return k
		}
		if k < 0 || us < 0.013 && v > us {
			continue
		}
		factorial, _ := math.Lgamma(k + 1)
		if math.Log(v*inverse/(a/(us*us)+b)) <= k*math.Log(mean)-mean-factorial {
			return k
		}
	}
}
