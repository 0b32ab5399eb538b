package choice

import (
	"testing"

	"prismtop/sim/cpu/vec"
)

func TestDetectedPairsAgree(t *testing.T) {
	if !pairsAgree(vec.PlainPairs) {
		t.Error("plain Go disagrees with itself")
	}
	if _, faster, err := DetectPairs(); err != nil && faster {
		t.Error("missing products are faster")
	}
}
