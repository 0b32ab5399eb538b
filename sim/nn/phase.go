package nn

// Phase is the part of an iteration to which a step belongs, for timing. A graph's layers
// set the phase of their forward steps; the compiler sets that of the rest.
type Phase uint8

// The phases, in the order in which an iteration runs them.
const (
	PhaseForward   Phase = iota // the model, forward
	PhaseTelescope              // measuring the model's output
	PhaseLoss
	PhaseBackward // gradients, including those of the loss and the telescope
	PhaseOptimizer

	NumPhases
)

// String returns the phase's name.
func (p Phase) String() string {
	return [NumPhases]string{"forward", "telescope", "loss", "backward", "optimizer"}[p]
}
