package prism

import (
	"context"

	"prismtop/sim/nn"
	"prismtop/sim/picture"
)

// New prepares a reconstruction of an object.
func New(ctx context.Context, s Settings, object *picture.Object, device Device) (*Reconstruction, error) {
	return newReconstruction(ctx, s, Inputs{Object: object}, device)
}

// QuickPass is how far passes lie apart before an output is kept.
const QuickPass = quickPass

// CountedBatches reports whether a name of a state_dict is ignored.
var CountedBatches = countedBatches

// Variables lists the names in the model of the arrays of StateDict.
func (d *Decoder) Variables() (names []string) {
	for _, n := range d.stateNames() {
		names = append(names, n.variable)
	}
	return names
}

// PlanSteps returns the steps of the plan in use.
func PlanSteps(r *Reconstruction) []nn.Step { return r.program.plan.Steps }

// SetScale changes the factor of the gradient scaler.
func SetScale(r *Reconstruction, scale float32) {
	v, _ := r.decoder.Model().Index(nn.ScaleVariable)
	r.state.Write(v, []float32{scale})
}
