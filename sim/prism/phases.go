package prism

import (
	"prismtop/profiles"
	"prismtop/sim/nn"
)

// recordedPhases maps the phases of a plan's steps to the phases of a record.
var recordedPhases = [nn.NumPhases]profiles.Phase{
	nn.PhaseForward:   PhaseForward,
	nn.PhaseTelescope: PhaseTelescope,
	nn.PhaseLoss:      PhaseLoss,
	nn.PhaseBackward:  PhaseBackward,
	nn.PhaseOptimizer: PhaseOptimizer,
}

// RecordedPhase returns the phase of a record to which a step's time counts.
func RecordedPhase(p nn.Phase) profiles.Phase { return recordedPhases[p] }
