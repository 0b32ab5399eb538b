package prism

import (
	"testing"

	"prismtop/sim/nn"
)

// Every phase of a step is recorded under its own name.
func TestRecordedPhasesHaveTheSameNames(t *testing.T) {
	for p := range nn.NumPhases {
		if got := RecordedPhase(p); got.String() != p.String() {
			t.Errorf("%v is recorded as %v", p, got)
		}
	}
}
