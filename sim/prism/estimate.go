package prism

import (
	"context"
	"time"

	"prismtop/sim/nn"
)

// estimate is the reconstruction as a picture: the newest output of the decoder, and the one at the start of the
// sample.
type estimate struct {
	trainer *trainer

	current    []float32 // reconstruction at the start of the sample, [N, N]
	hasCurrent bool
	output     []float32 // newest output of the decoder, [N, N]
	hasOutput  bool
	held       bool      // output has that of the pass before the newest
	whole      bool      // an output of a complete forward pass exists
	keep       bool      // outputs kept in case a pass is cut short
	passed     time.Time // start of the newest pass
}

// reconstruct runs the forward pass with the newest weights and keeps the result
// as the reconstruction from which the next sample's old target is measured.
func (e *estimate) reconstruct(ctx context.Context, stepped bool) error {
	if stepped {
		if err := e.pass(ctx); err != nil {
			return err
		}
	}
	output, err := e.newest()
	if err != nil {
		return err
	}
	copy(e.current, output)
	e.hasCurrent = true
	e.trainer.settleScaler() // the plan may be unloaded
	return e.trainer.failure()
}

// quickPass is the duration up to which an iteration is not cut short: stopping a run
// lets it finish.
const quickPass = 50 * time.Millisecond

// KeepOutput preserves an output in case a forward pass is cut short: before a pass
// that may take long, the previous output is copied.
func (e *estimate) KeepOutput() { e.keep = true }

// pass runs the forward pass.
func (e *estimate) pass(ctx context.Context) error {
	now := time.Now()
	if e.keep && now.Sub(e.passed) > quickPass {
		e.Output()
	}
	e.passed = now
	if err := e.trainer.program.run(ctx, nn.SegmentForward); err != nil {
		e.spoil()
		return err
	}
	e.held, e.hasOutput, e.whole, e.trainer.program.passed = e.hasOutput, false, true, true
	return nil
}

// spoil marks the device's output as lost. The copy of an earlier one remains, or
// else the reconstruction at the start of the current sample.
func (e *estimate) spoil() {
	if e.trainer.program != nil {
		e.trainer.program.passed = false
	}
	if e.hasOutput = e.hasOutput || e.held; e.hasOutput {
		return
	}
	copy(e.output, e.current)
	e.hasOutput, e.whole = true, e.hasCurrent
}

// Reconstructed reports whether Output is that of a complete forward pass.
func (e *estimate) Reconstructed() bool { return e.whole }

// Output returns the decoder's newest output, [N, N], row by row; the slice is
// reused. If the device fails it is an older one, and the next operation returns the error.
func (e *estimate) Output() []float32 {
	if _, err := e.newest(); err != nil {
		e.trainer.report(err)
	}
	return e.output
}

// newest is Output with the error of a device that fails.
func (e *estimate) newest() ([]float32, error) {
	if !e.hasOutput && e.trainer.program != nil {
		e.trainer.program.exe.Read(e.trainer.program.reconstruction, e.output)
		if err := e.trainer.failure(); err != nil {
			return nil, err
		}
		e.hasOutput = true
	}
	return e.output, nil
}
