package cuda

import (
	"fmt"

	"prismtop/sim/nn"
)

// ErrNoKernel is the error of a plan with an operator that this backend has no kernel for.
var ErrNoKernel = fmt.Errorf("the GPU's backend has no kernel for the operator")

// lower adds the launches of the current step.
func (b *builder) lower() error {
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
	}
	return ErrNoKernel
}
