package prism

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"prismtop/sim/nn"
)

// mark is the saved state of a reconstruction within a sample; the end of a sample changes the
// accumulated mask.
type mark struct {
	variables [][]float32 // weights, moments, statistics and the scaler, in the model's order
	settings  Settings
	progress  progress
	output    []float32
	targetOld []float32
	targetNew []float32
	noise     rand.PCG
	skipped   int
}

// errNoMark reports that no mark can be set, or that there is none to return to.
var errNoMark = errors.New("a reconstruction can only be forked within a sample")

// Mark saves the state of the reconstruction for Return. It works only within a sample; no sample
// ends until Unmark.
func (r *Reconstruction) Mark(ctx context.Context) error {
	if r.initial || r.inSample == 0 || r.done || r.program == nil {
		return errNoMark
	}
	variables := r.decoder.Model().Variables()
	if err := r.outlive(); err != nil {
		return err
	}
	r.settleScaler()
	m := &mark{
		targetOld: slices.Clone(r.targets.old), targetNew: slices.Clone(r.targets.new),
		settings: r.settings, progress: r.progress,
		output: slices.Clone(r.output), noise: r.system.options.Noise.State(), skipped: r.skipped,
	}
	for i, v := range variables {
		values := []float32(nil)
		if v.Category != nn.Gradients { // gradients are recomputed in every iteration
			values = make([]float32, v.Shape.Elements())
			r.state.Read(i, values)
		}
		m.variables = append(m.variables, values)
	}
	if err := r.failure(); err != nil {
		return err
	}
	// the device, or that of a setting to be compared, may fail
	if r.device.beside() || r.device.Open != nil && r.device.Resolve("auto") != "cpu" {
		if err := r.keepNow(ctx); err != nil {
			return err
		}
	}
	r.marked = m
	return nil
}

// Return restores the state saved by Mark, bit for bit: weights, moments, statistics, learning
// rate and the random numbers of the noise. The settings stay as they are.
func (r *Reconstruction) Return(context.Context) error {
	m := r.marked
	if m == nil {
		return errNoMark
	}
	for i, values := range m.variables {
		if values != nil {
			r.state.Write(i, values)
		}
	}
	r.progress = m.progress
	if r.settings.LearningRate != m.settings.LearningRate {
		r.restart(r.settings.LearningRate)
	}
	copy(r.output, m.output)
	r.hasOutput, r.done, r.failed = true, false, false
	copy(r.targets.old, m.targetOld)
	copy(r.targets.new, m.targetNew)
	if r.program != nil {
		r.program.fed, r.program.unread = false, false
	}
	r.skipped = m.skipped
	r.system.options.Noise.SetState(m.noise)
	return r.failure()
}

// Unmark discards the mark, so that samples can end again.
func (r *Reconstruction) Unmark() {
	r.marked = nil
	r.dropKept()
}
