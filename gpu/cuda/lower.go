package cuda

import (
	"fmt"

	"prismtop/sim/nn"
)

// ErrNoKernel is the error of a plan with an operator that this backend has no kernel for.
var ErrNoKernel = fmt.Errorf("the GPU's backend has no kernel for the operator")

// lower adds the launches of the current step.
func (b *builder) lower() error {
	if b.done[b.index] {
		return nil
	}
	if err := b.settle(); err != nil {
		return err
	}
	switch op := b.step.Op.(type) {
	case nn.BatchNorm:
		return b.batchNorm(op)
	case nn.BatchNormGrad:
		return b.batchNormGrad(op)
	}
	if known, err := b.lowerElements(); known {
		return err
	}
	if known, err := b.lowerLayout(); known {
		return err
	}
	if known, err := b.lowerOptimizer(); known {
		return err
	}
	return ErrNoKernel
}

// lowerElements lowers operators on elements.
func (b *builder) lowerElements() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Activation:
		return true, b.activation(op)
	case nn.ActivationGrad:
		return true, b.activationGrad(op)
	case nn.Swish:
		return true, b.unary(unarySwish, 0)
	case nn.SwishGrad:
		return true, b.slopes(unarySwish)
	case nn.Scale:
		return true, b.scale(op)
	case nn.Add:
		return true, b.add()
	case nn.Fill:
		return true, b.fill(op)
	}
	return false, nil
}

// lowerLayout lowers operators that move elements.
func (b *builder) lowerLayout() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Place, nn.Cast:
		return true, b.move()
	case nn.Concat:
		return true, b.concat()
	case nn.Channels:
		return true, b.pickChannels(op)
	case nn.Split:
		return true, b.splitChannels(op)
	case nn.Inset:
		return true, b.insetPlanes(op)
	case nn.InsetGrad:
		return true, b.insetGrad(op)
	case nn.MaxPool:
		return true, b.maxPool()
	case nn.MaxPoolGrad:
		return true, b.maxPoolGrad()
	case nn.Upsample:
		return true, b.upsample()
	case nn.UpsampleGrad:
		return true, b.upsampleGrad()
	}
	return false, nil
}

// lowerOptimizer lowers the optimiser and operators on scalars.
func (b *builder) lowerOptimizer() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.WeightedSum:
		return true, b.weightedSum(op)
	case nn.Seed:
		return true, b.seed(op)
	case nn.Element:
		return true, b.element(op)
	case nn.ElementGrad:
		return true, b.elementGrad(op)
	case nn.Unscale:
		return true, b.unscaleGradient()
	case nn.AdamStep:
		return true, b.adamStep()
	case nn.Adam:
		return true, b.adam(op)
	case nn.ScalerUpdate:
		return true, b.scalerUpdate(op)
	}
	return false, nil
}
