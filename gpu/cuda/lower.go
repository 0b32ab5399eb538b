package cuda

import (
	"fmt"

	"prismtop/sim/nn"
)

// ErrNoKernel is the error of a plan with an operator that this backend has no kernel for.
var ErrNoKernel = fmt.Errorf("the GPU's backend has no kernel for the operator")

// lower adds the launches of the current step.
func (b *builder) lower() error {
	if scalar, err := b.scalarStep(); scalar {
		return err
	}
	switch op := b.step.Op.(type) {
	case nn.Fill:
		return b.fill(op)

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
