package vec

import (
	"math/rand/v2"
	"testing"
)

// eachSet runs a test with every set but Go.
func eachSet(t *testing.T, test func(t *testing.T, s Set, rng *rand.Rand)) {
	for _, s := range Available() {
		if s != Go {
			t.Run(s.String(), func(t *testing.T) { test(t, s, rand.New(rand.NewPCG(11, 3))) })
		}
	}
}
