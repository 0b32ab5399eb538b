package prism

import (
	"prismtop/profiles"
	"prismtop/sim/nn"
)

// recordedPhases are the phases of a record that the phases of a plan's steps count to.
var recordedPhases = [nn.NumPhases]profiles.Phase{
	nn.PhaseForward:   profiles.Forward,
	nn.PhaseTelescope: profiles.Telescope,
	nn.PhaseLoss:      profiles.Loss,
	nn.PhaseBackward:  profiles.Backward,
	nn.PhaseOptimizer: profiles.Optimizer,
}

// RecordedPhase is the phase of a record that a step's time counts to.
func RecordedPhase(p nn.Phase) profiles.Phase { return recordedPhases[p] }
