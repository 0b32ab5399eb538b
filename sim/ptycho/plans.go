package ptycho

import (
	"context"
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Names of the plans' inputs, all float32, and outputs. A training plan also has
// nn.LearningRateInput.
const (
	DiffractionInput = "diffraction" // [B, C, N, N]: amplitudes, normalised and scaled
	OffsetsInput     = "offsets"     // [B, C, 2]: x and y of the group's mean minus the position's
	ProbeInput       = "probe"       // [2, N, N]: real and imaginary part
	CountsInput      = "counts"      // [B, C, N, N]: measured intensities

	ObjectOutput    = "object"    // [B, 1, N, N] complex: the merged object of each group
	AmplitudeOutput = "amplitude" // [B, C, N, N], with PlanOptions.Heads
	PhaseOutput     = "phase"     // [B, C, N, N], with PlanOptions.Heads
	IntensityOutput = "intensity" // [B, C, N, N]: predicted, of a training plan
	LossOutput      = "loss"      // scalar, of a training plan
)

// Constants of the merge (§A1.3) and of the loss.
const (
	maxJitter       = 10   // pixels by which positions may differ from their grid
	gridOffset      = 4    // pixels between neighbours on the grid
	coverageEpsilon = 1e-3 // added to the number of patches that cover a pixel
	lossEpsilon     = 1e-7 // added to intensities before the logarithm
)

// PlanOptions are the settings for which a plan is compiled.
type PlanOptions struct {
	// Batch is the number of groups that the plan computes, at least 1.
	Batch int

	// Microbatch is the most groups that a BatchPlan computes at a time; 0 chooses it by the size of
	// the patterns.
	Microbatch int

	// Large makes that the most that kernels can count, for devices with memory of their own: they compute many groups
	// at a time faster than few, and the memory of a batch is theirs.
	Large bool

	// AMP and Products are those of nn.Options.
	AMP      tensor.DType
	Products nn.Products

	// Checkpointing and FusedOptimizer are those of nn.Options, for training plans.
	Checkpointing, FusedOptimizer bool

	// Heads names the heads' results as outputs, which keeps their memory.
	Heads bool
}

// InferencePlan compiles the network up to the merged object of each group, with the
// memory of the activations that are alive at a time: a result is released after its
// last reader.
func (n *Network) InferencePlan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	b, err := n.start(o)
	if err != nil {
		return nil, err
	}
	amplitude, phase := b.heads()
	b.expose(o, amplitude, phase)
	object := b.merge(amplitude, phase, n.config.Size)
	b.graph.Output(ObjectOutput, object)
	b.graph.EndForward(object)
	plan, err := nn.Compile(ctx, b.graph, nn.Value{}, nn.Options{AMP: o.AMP, Products: o.Products})
	return plan, wrapped("inference plan", err)
}

// TrainingPlan compiles an iteration of training: the network, the diffraction of its
// object at each position, the Poisson loss, and Adam (§A1.5).
func (n *Network) TrainingPlan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	b, err := n.start(o)
	if err != nil {
		return nil, err
	}
	g, c := b.graph, n.config
	amplitude, phase := b.heads()
	b.expose(o, amplitude, phase)
	canvas := b.merge(amplitude, phase, c.canvas())
	g.EndForward(canvas)
	intensity := b.diffract(canvas)
	g.Output(IntensityOutput, intensity)
	g.Layer("loss", nn.PhaseLoss)
	loss := g.PoissonLoss(intensity, g.Input(CountsInput, intensity.Shape()), lossEpsilon)
	g.Output(LossOutput, loss)
	plan, err := nn.Compile(ctx, g, loss, nn.Options{
		Train: true, AMP: o.AMP, Products: o.Products, Checkpointing: o.Checkpointing, FusedOptimizer: o.FusedOptimizer,
	})
	return plan, wrapped("training plan", err)
}

// canvas is the side of the canvas on which a group's patches are merged for training:
// their side and the most that offsets move them.
func (c Config) canvas() int { return c.Size + (c.GridSize-1)*gridOffset + maxJitter }

func (n *Network) start(o PlanOptions) (*builder, error) {
	if o.Batch < 1 {
		return nil, fmt.Errorf("ptycho plan: batch = %d: must be positive", o.Batch)
	}
	return n.builder(nn.NewGraph(n.model), o.Batch), nil
}

func wrapped(what string, err error) error {
	if err != nil {
		return fmt.Errorf("ptycho %s: %w", what, err)
	}
	return nil
}

func (b *builder) expose(o PlanOptions, amplitude, phase nn.Value) {
	if o.Heads {
		b.graph.Output(AmplitudeOutput, amplitude)
		b.graph.Output(PhaseOutput, phase)
	}
}

func (b *builder) offsets() nn.Value {
	return b.graph.Input(OffsetsInput, tensor.Shape{b.batch, b.network.config.Channels(), 2})
}

// merge adds the mean of each group's patches where their central halves overlap, on a
// canvas of the given side (§A1.3). A canvas of N pixels is the centre of a larger one.
func (b *builder) merge(amplitude, phase nn.Value, side int) nn.Value {
	g := b.graph
	g.Layer("merge", nn.PhaseForward)
	sum := g.SumPatches(g.Polar(amplitude, phase), b.offsets(), side)
	return g.DivideByCoverage(sum, b.offsets(), b.network.config.Size/2, coverageEpsilon)
}

// diffract adds the diffracted intensity at each position of the canvas: the object
// under the probe, transformed to the far field and scaled (§A1.5).
func (b *builder) diffract(canvas nn.Value) nn.Value {
	g, n := b.graph, b.network.config.Size
	g.Layer("diffraction", nn.PhaseTelescope)
	field := g.ProbeMultiply(g.ExtractPatches(canvas, b.offsets(), n), g.Input(ProbeInput, tensor.Shape{2, n, n}))
	return g.ExpScale(g.Intensity(g.FFT(field)), g.Parameter(scaleParameter, nil, nn.Constant(0)), 2)
}
