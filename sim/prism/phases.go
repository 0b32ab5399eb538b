package prism

import (
	"prismtop/profiles"
	"prismtop/sim/nn"
)

// recordedPhases are the phases of a record that the phases of a plan's steps count to.
var recordedPhases = [nn.NumPhases]profiles.Phase{
	nn.PhaseForward:   PhaseForward,
	nn.PhaseTelescope: PhaseTelescope,
	nn.PhaseLoss:      PhaseLoss,
	nn.PhaseBackward:  PhaseBackward,
	nn.PhaseOptimizer: PhaseOptimizer,
}

// RecordedPhase is the phase of a record that a step's time counts to.
func RecordedPhase(p nn.Phase) profiles.Phase { return recordedPhases[p] }
