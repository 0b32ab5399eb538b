package prism

import (
	"testing"

	"prismtop/sim/nn"
)

// Every phase of a step is recorded under its own name.
func TestRecordedPhasesHaveTheSameNames(t *testing.T) {
	all := Schema().Phases
	for p := range nn.NumPhases {
		if got := all[RecordedPhase(p)].Name; got != p.String() {
			t.Errorf("%v is recorded as %v", p, got)
		}
	}
}
