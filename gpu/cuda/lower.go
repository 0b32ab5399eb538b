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
	if scalar, err := b.scalarStep(); scalar {
		return err
	}
	for _, family := range []func() (known bool, err error){b.lowerElements, b.lowerLayout, b.lowerOptimizer} {
		if known, err := family(); known {
			return err
		}
	}
	switch op := b.step.Op.(type) {
	case nn.BatchNorm:
		return b.batchNorm(op)
	case nn.BatchNormGrad:
		return b.batchNormGrad(op)

	case nn.FFT:
		return b.fft(op)
	case nn.MaskMultiply:
		return b.maskMultiply()
	case nn.ModulusFlip:
		return b.modulusFlip()
	case nn.ModulusFlipGrad:
		return b.modulusFlipGrad()
	case nn.Measure:
		return b.measure(op)
	case nn.MeasureGrad:
		return b.measureGrad(op)
	case nn.MeasureShare:
		return nil // no work
	case nn.Amplitudes:
		return b.amplitudes(op)
	case nn.AmplitudesGrad:
		return b.amplitudesGrad(op)
	case nn.Loss:
		return b.loss(op)
	case nn.LossGrad:
		return b.lossGrad(op)

	case nn.Conv2D:
		return b.conv2D(op)
	case nn.Conv2DGradInput:
		return b.scatterStep(op.Stride, op.Pad, anyOutputPad, false)
	case nn.Conv2DGradWeight:
		return b.weightStep(op.Stride, op.Pad, false)
	case nn.ConvTranspose2D:
		return b.scatterStep(op.Stride, op.Pad, op.OutputPad, op.ReLU)
	case nn.ConvTranspose2DGradInput:
		return b.gatherStep(op.Stride, op.Pad, false)
	case nn.ConvTranspose2DGradWeight:
		return b.weightStep(op.Stride, op.Pad, true)
	case nn.BiasGrad:
		return b.biasGrad()
	case nn.ConvAdam:
		return b.convAdam(op)
	case nn.GradientShare:
		return nil
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
	case nn.Unscale:
		return true, b.unscaleGradient()
	case nn.Adam:
		return true, b.adam(op)
	}
	return false, nil
}
