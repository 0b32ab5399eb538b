package nn

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Init fills a parameter with its initial values. Each parameter has its own
// generator, seeded by the model's seed and the parameter's name, so that a layer
// starts from the same numbers whatever else the network contains. A long
// parameter is filled part by part, in order.
type Init func(r *rand.Rand, dst []float32)

// Constant sets every element to v.
func Constant(v float32) Init {
	return func(_ *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = v
		}
	}
}

// Normal draws from the normal distribution of mean 0 and variance 1.
func Normal() Init {
	return func(r *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = float32(r.NormFloat64())
		}
	}
}

// FanInUniform draws from U(−b, b) with b = 1/√fanIn, PyTorch's default for the
// weights and biases of convolutions (spec/prism.md §1.3). fanIn is in·k² for
// Conv2D and out·k² for ConvTranspose2D.
func FanInUniform(fanIn int) Init {
	b := 1 / math.Sqrt(float64(fanIn))
	return func(r *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = float32((2*r.Float64() - 1) * b)
		}
	}
}

// stream returns the generator of one parameter.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
