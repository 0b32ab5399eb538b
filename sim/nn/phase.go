package nn

// Phase is the part of an iteration that a step belongs to, for who times the steps. A
// graph's layers name the phase of their forward steps; compiling names that of the rest.
type Phase uint8

// The phases, in the order in which an iteration runs them.
const (
	PhaseForward   Phase = iota // the model, forward
	PhaseTelescope              // measuring what the model gave
	PhaseLoss
	PhaseBackward // gradients, of the loss and the telescope as well
	PhaseOptimizer

	NumPhases
)

// String is the phase's name.
func (p Phase) String() string {
	return [NumPhases]string{"forward", "telescope", "loss", "backward", "optimizer"}[p]
}
