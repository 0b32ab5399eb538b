package prism

import (
	"context"

	"prismtop/profiles"
	"prismtop/sim/nn"
)

// Forward is the decoder's forward pass alone, without training. It is not safe for
// concurrent use.
type Forward struct {
	decoder *Decoder
	plan    *nn.Plan
	layers  []profiles.Layer
	exe     nn.Executable
	state   nn.State
}

// NewForward makes the pass of the decoder of the settings with its initial weights and
// the running statistics, as in inference.
func NewForward(ctx context.Context, s *Settings, backend nn.Backend) (*Forward, error) {
	decoder, err := NewDecoder(decoderConfig(s))
	if err != nil {
		return nil, err
	}
	options, err := planOptions(s, 1)
	if err != nil {
		return nil, err
	}
	options.RunningStatistics = true
	plan, err := decoder.EvaluationPlan(ctx, options)
	if err != nil {
		return nil, err
	}
	state, err := newState(ctx, decoder, backend)
	if err != nil {
		return nil, err
	}
	return bindForward(ctx, decoder, plan, state, backend)
}

// bindForward loads a plan on a state, which is the pass's own from then on.
func bindForward(ctx context.Context, d *Decoder, plan *nn.Plan, state nn.State, backend nn.Backend) (*Forward, error) {
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		state.Close()
		return nil, err
	}
	return &Forward{d, plan, layersOf(plan, exe), exe, state}, nil
}

// Output returns a copy of the newest output, [N, N], row by row.
func (f *Forward) Output() []float32 {
	id, _ := f.plan.Output(ReconstructionOutput)
	x := make([]float32, f.plan.Buffers[id].Shape.Elements())
	f.exe.Read(id, x)
	return x
}

// Parameters returns the number of trainable numbers of the decoder.
func (f *Forward) Parameters() int { return f.decoder.Parameters() }

// Run computes the output once, and waits for it.
func (f *Forward) Run(ctx context.Context) error {
	err := f.exe.Run(ctx, nn.SegmentForward)
	if d, ok := f.exe.(nn.Detailer); ok && err == nil {
		err = d.Settle(ctx)
	}
	return err
}

// Beside reports whether the device computes beside the host: the time of a phase is then that of its first step.
func (f *Forward) Beside() bool {
	_, beside := f.exe.(nn.Detailer)
	return beside
}

// Steps returns the plan's steps and their times, see Reconstruction.Steps.
func (f *Forward) Steps() ([]profiles.Layer, []int64) { return f.layers, f.exe.StepNanos() }

// Memory returns the memory held by the pass.
func (f *Forward) Memory() profiles.Memory {
	u := f.plan.VariableUsage(f.decoder.Model().Variables())
	return profiles.Memory{Parts: [profiles.MaxMemory]int64{
		MemoryWeights: u[nn.Weights], MemoryGradients: u[nn.Gradients], MemoryMoments: u[nn.Moments],
		MemoryActivations: f.plan.ArenaBytes, MemoryScratch: u[nn.Scratch] + f.exe.ScratchBytes(),
	}}
}

// Close frees the memory.
func (f *Forward) Close() {
	f.exe.Close()
	f.state.Close()
}
