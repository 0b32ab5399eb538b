package prism

import (
	"context"
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Names of the plans' inputs, all float32. MaskNew and its siblings are [N, N]
// with 0 and 1; with several apertures per sample see MaskNewInput. Every
// training plan also has nn.LearningRateInput, a scalar.
const (
	TargetInput    = "target"     // [1, 1, N, N], the image to learn in the initialisation
	MaskOldInput   = "mask_old"   // [N, N], the accumulated mask
	TargetOldInput = "target_old" // [1, 1, N, N]
	TargetNewInput = "target_new" // [1, 1, N, N]
)

// MaskNewInput returns the name of the mask of aperture k of a sample with the
// given number of apertures: mask_new when there is one, else mask_new_0,
// mask_new_1, …
func MaskNewInput(k, apertures int) string {
	if apertures <= 1 {
		return "mask_new"
	}
	return fmt.Sprintf("mask_new_%d", k)
}

// Names of the plans' outputs. Plans in float16 also have
// nn.GradientScaleOutput and nn.OverflowOutput.
const (
	ReconstructionOutput = "reconstruction" // [1, 1, N, N]
	LossOutput           = "loss"           // scalar, the minimised loss
	LossOldOutput        = "loss_old"       // scalar; equal to loss_new for the first sample
	LossNewOutput        = "loss_new"       // scalar; the image-space loss in the initialisation
	MeasuredOldOutput    = "measured_old"   // [1, 1, N, N], with PlanOptions.Layers
	MeasuredNewOutput    = "measured_new"   // [1, 1, N, N], with PlanOptions.Layers
)

// PlanOptions are the settings for which a plan is compiled. All plans of one
// decoder run on one nn.State, whatever their options.
type PlanOptions struct {
	// AMP is tensor.BFloat16, tensor.Float16, or tensor.Float32 for none.
	AMP tensor.DType

	// Products selects how convolutions multiply float32.
	Products nn.Products

	// Loss compares measurements; the initialisation has its own.
	Loss LossSpec

	// Apertures is the number of apertures per sample; 0 is 1. The new
	// measurement is the mean of their amplitudes (spec/prism.md §3.3).
	Apertures int

	// SharedSpectrum computes the spectrum of the output once for all
	// measurements instead of once for each.
	SharedSpectrum bool

	// Checkpointing recomputes results of the decoder in the backward pass
	// instead of keeping them.
	Checkpointing bool

	// FusedOptimizer updates a convolution's weights while their gradient is
	// computed, except under a gradient scaler.
	FusedOptimizer bool

	// Factored keeps the first layer's gradient as its two factors, on a backend that is nn.Factoring.
	Factored bool

	// Fused measures sixteen rows at a time, and compares and differentiates them in
	// the same step if the loss is one pointwise term of one aperture's amplitudes
	// and no measurement is requested; Pruned then skips the zeros around the object
	// and outside the masks.
	Fused, Pruned bool

	// RunningStatistics normalises with the running statistics. It applies to
	// EvaluationPlan only; training always uses the batch's.
	RunningStatistics bool

	// Layers names every layer's result, and the measurements, as outputs.
	Layers bool
}

// InitialisationPlan trains the decoder to draw the input "target": normalised
// L1 in image space, whatever the loss of the run (spec/prism.md §5.2).
func (d *Decoder) InitialisationPlan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	return d.compile(ctx, o, func(b *planBuilder) nn.Value {
		b.graph.Layer("loss", nn.PhaseLoss)
		loss := oneTerm(nn.L1, true).add(b.graph, b.reconstruction, b.image(TargetInput))
		b.graph.Output(LossNewOutput, loss)
		return loss
	})
}

// FirstSamplePlan trains on the first sample, whose old measurement is the new
// one: the total is twice the new loss (spec/prism.md §5.3).
func (d *Decoder) FirstSamplePlan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	return d.compile(ctx, o, func(b *planBuilder) nn.Value {
		var loss nn.Value
		if b.fusesLoss() {
			loss = b.fused("telescope new", []string{MaskNewInput(0, 1)}, []string{TargetNewInput})[0]
			b.graph.Output(LossNewOutput, loss)
		} else {
			b.measureAll(false)
			loss = b.lossNew()
		}
		b.graph.Output(LossOldOutput, loss)
		b.graph.Layer("loss total", nn.PhaseLoss)
		return b.graph.WeightedSum([]float32{2}, loss)
	})
}

// ProgressivePlan trains on every later sample: the output through the
// accumulated mask against the old target, and through the new aperture against
// the new one (spec/prism.md §3.3, §5.3).
func (d *Decoder) ProgressivePlan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	return d.compile(ctx, o, func(b *planBuilder) nn.Value {
		var old, fresh nn.Value
		if b.fusesLoss() {
			both := b.fused("telescope", []string{MaskOldInput, MaskNewInput(0, 1)},
				[]string{TargetOldInput, TargetNewInput})
			old, fresh = both[0], both[1]
			b.graph.Output(LossOldOutput, old)
			b.graph.Output(LossNewOutput, fresh)
		} else {
			b.measureAll(true)
			old, fresh = b.lossOld(), b.lossNew()
		}
		b.graph.Layer("loss total", nn.PhaseLoss)
		return b.graph.WeightedSum([]float32{1, 1}, old, fresh)
	})
}

// EvaluationPlan computes the reconstruction without training. With batch
// statistics, as in PRISM, it still updates the running ones.
func (d *Decoder) EvaluationPlan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	b := d.begin(o, !o.RunningStatistics)
	p, err := nn.Compile(ctx, b.graph, nn.Value{}, nn.Options{AMP: o.AMP, Products: o.Products})
	if err != nil {
		return nil, fmt.Errorf("evaluation plan: %w", err)
	}
	return p, nil
}

// compile makes a training plan of the decoder with the loss that add adds.
func (d *Decoder) compile(ctx context.Context, o PlanOptions, addLoss func(*planBuilder) nn.Value) (*nn.Plan, error) {
	b := d.begin(o, true)
	loss := addLoss(b)
	b.graph.Output(LossOutput, loss)
	p, err := nn.Compile(ctx, b.graph, loss, nn.Options{Train: true, AMP: o.AMP, Products: o.Products,
		Checkpointing: o.Checkpointing, FusedOptimizer: o.FusedOptimizer, Factored: o.Factored})
	if err != nil {
		return nil, fmt.Errorf("training plan: %w", err)
	}
	return p, nil
}

// planBuilder adds measurements and losses to a graph that has the decoder.
type planBuilder struct {
	decoder        *Decoder
	options        PlanOptions
	graph          *nn.Graph
	reconstruction nn.Value
	spectrum       nn.Value // of the reconstruction, once a measurement computed it
	old, fresh     nn.Value // the measurements, once measureAll computed them
}

func (d *Decoder) begin(o PlanOptions, batchStatistics bool) *planBuilder {
	b := &planBuilder{decoder: d, options: o, graph: nn.NewGraph(d.model)}
	b.reconstruction = d.Output(b.graph, OutputOptions{BatchStatistics: batchStatistics, Layers: o.Layers})
	b.graph.Output(ReconstructionOutput, b.reconstruction)
	return b
}

// mask and image return inputs of the field's size.
func (b *planBuilder) mask(name string) nn.Value {
	n := b.decoder.config.Size
	return b.graph.Input(name, tensor.Shape{n, n})
}

func (b *planBuilder) image(name string) nn.Value {
	n := b.decoder.config.Size
	return b.graph.Input(name, tensor.Shape{1, 1, n, n})
}

// measure returns the telescope's measurement of the output through a mask.
func (b *planBuilder) measure(layer string, mask nn.Value) nn.Value {
	g := b.graph
	if b.options.SharedSpectrum && !b.spectrum.Exists() {
		g.Layer("telescope spectrum", nn.PhaseTelescope)
		b.spectrum = g.FFT(b.reconstruction)
	}
	g.Layer(layer, nn.PhaseTelescope)
	if b.options.SharedSpectrum {
		return g.Telescope(b.spectrum, mask)
	}
	return g.Telescope(b.reconstruction, mask)
}

// fuses reports whether the fused telescope serves the options, and fusesLoss whether it
// compares and differentiates in the same step.
func (b *planBuilder) fuses() bool {
	n := b.decoder.config.Size
	return b.options.Fused && nn.MeasureSides(n, n)
}

func (b *planBuilder) fusesLoss() bool {
	_, _, pointwise := b.options.Loss.pointwise()
	return b.fuses() && pointwise && !b.options.Layers && b.options.Apertures <= 1
}

// frame returns the configuration of the fused telescope's transforms.
func (b *planBuilder) frame() nn.MeasureFrame {
	c := b.decoder.config
	margin := (c.Size - c.ObjectSize) / 2
	end := min(margin+c.ObjectSize, c.Size)
	return nn.MeasureFrame{Shared: b.options.SharedSpectrum, Pruned: b.options.Pruned,
		Top: margin, Bottom: end, Left: margin, Right: end}
}

// measureAll measures through the sample's own apertures, and optionally through the
// accumulated mask, with the fused telescope if possible.
func (b *planBuilder) measureAll(old bool) {
	if !b.fuses() {
		return
	}
	layer, n := "telescope new", max(b.options.Apertures, 1)
	apertures := make([]nn.Value, n)
	for k := range apertures {
		apertures[k] = b.mask(MaskNewInput(k, n))
	}
	masks := [][]nn.Value{apertures}
	if old {
		layer, masks = "telescope", append(masks, []nn.Value{b.mask(MaskOldInput)})
	}
	b.graph.Layer(layer, nn.PhaseTelescope)
	views := b.graph.Amplitudes(b.reconstruction, b.frame(), masks...)
	if b.fresh = views[0]; old {
		b.old = views[1]
	}
}

// fused returns the losses of the output through masks, computed by the fused
// telescope.
func (b *planBuilder) fused(layer string, masks, targets []string) []nn.Value {
	kind, normalize, _ := b.options.Loss.pointwise()
	o := nn.Measure{Kind: kind, Normalize: normalize, MeasureFrame: b.frame()}
	in, want := make([]nn.Value, len(masks)), make([]nn.Value, len(masks))
	for i := range masks {
		in[i], want[i] = b.mask(masks[i]), b.image(targets[i])
	}
	b.graph.Layer(layer, nn.PhaseTelescope)
	return b.graph.Measurements(b.reconstruction, o, in, want)
}

// lossOld returns the loss through the accumulated mask.
func (b *planBuilder) lossOld() nn.Value {
	if !b.old.Exists() {
		b.old = b.measure("telescope old", b.mask(MaskOldInput))
	}
	return b.compare("loss old", b.old, TargetOldInput, MeasuredOldOutput, LossOldOutput)
}

// lossNew returns the loss through the sample's own apertures.
func (b *planBuilder) lossNew() nn.Value {
	if !b.fresh.Exists() {
		b.fresh = b.measureNew()
	}
	return b.compare("loss new", b.fresh, TargetNewInput, MeasuredNewOutput, LossNewOutput)
}

// measureNew returns the mean of the output's amplitudes through the sample's own
// apertures.
func (b *planBuilder) measureNew() nn.Value {
	n := max(b.options.Apertures, 1)
	amplitudes := make([]nn.Value, n)
	for k := range amplitudes {
		layer := "telescope new"
		if n > 1 {
			layer = fmt.Sprintf("telescope new %d", k)
		}
		amplitudes[k] = b.measure(layer, b.mask(MaskNewInput(k, n)))
	}
	b.graph.Layer("telescope new", nn.PhaseTelescope)
	return b.graph.Mean(amplitudes...)
}

// compare adds the run's loss of a measurement and names both.
func (b *planBuilder) compare(layer string, measured nn.Value, target, measuredName, lossName string) nn.Value {
	if b.options.Layers {
		b.graph.Output(measuredName, measured)
	}
	b.graph.Layer(layer, nn.PhaseLoss)
	loss := b.options.Loss.add(b.graph, measured, b.image(target))
	b.graph.Output(lossName, loss)
	return loss
}
