package cyto

import (
	"context"
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Names of the plans' inputs and outputs, all float32. A training plan also has
// nn.LearningRateInput.
const (
	ImageInput  = "image"  // [B, Z, Y, X]
	TargetInput = "target" // [B, Z, Y, X], of a plan with a loss

	LogitsOutput      = "logits"      // [B, Z, Y, X]
	ProbabilityOutput = "probability" // [B, Z, Y, X], with the loss DiceBCE
	LossOutput        = "loss"        // scalar, of a plan with a loss
	DiceOutput        = "dice"        // its terms, with the loss DiceBCE
	BCEOutput         = "bce"
)

// Loss is what a network is trained on.
type Loss uint8

// The losses of CytoDL's experiments (§B2.2).
const (
	NoLoss     Loss = iota // prediction only
	DiceBCE                // segmentation: soft Dice and binary cross-entropy of the logits
	MeanSquare             // a signal predicted from another: the mean squared error
)

// The constants of CytoDL's optimiser and schedule (§B2).
const (
	LearningRate = 1e-4
	Decay        = 1e-4  // L2 penalty, added to the gradient
	Gamma        = 0.995 // of the learning rate, per epoch
	smooth       = 1e-5  // added to both sums of the Dice coefficient
)

// RateAt is the learning rate in an epoch, counted from 0, that began at rate.
func RateAt(rate float64, epoch int) float64 { return rate * math.Pow(Gamma, float64(epoch)) }

// PlanOptions are what a plan is compiled for.
type PlanOptions struct {
	Batch int    // images computed at a time, at least 1
	Sides [3]int // Z, Y and X of an image; Z is 1 for planes
	Loss  Loss   // NoLoss for prediction alone
	Train bool   // adds gradients and Adam; needs a loss

	// Checkpointing recomputes activations instead of keeping them (nn.Options).
	Checkpointing bool

	// AMP is Float32, or BFloat16 to compute convolutions in bfloat16 and store activations
	// in it, as PyTorch's autocast does (nn.Options).
	AMP tensor.DType

	// Products is Exact, or Winograd for fewer multiplications (nn.Products).
	Products nn.Products

	gradientsOnly bool // without Adam
}

// adam has the constants of CytoDL's optimiser.
var adam = nn.AdamOptions{Decay: Decay}

// Plan compiles the network for images of a size. Its forward segment ends with the
// logits, its evaluate segment has the loss, its update segment the training step.
func (n *Network) Plan(ctx context.Context, o PlanOptions) (*nn.Plan, error) {
	if err := o.check(n.config); err != nil {
		return nil, fmt.Errorf("cyto plan: %w", err)
	}
	g := nn.NewGraph(n.model)
	b := &builder{network: n, graph: g, batch: o.Batch, sides: o.Sides}
	logits := b.logits(b.image())
	g.EndForward(logits)
	g.Output(LogitsOutput, logits)
	plan, err := nn.Compile(ctx, g, b.loss(o.Loss, logits), nn.Options{Train: o.Train, Checkpointing: o.Checkpointing,
		AMP: o.AMP, Products: o.Products, GradientsOnly: o.gradientsOnly, Adam: adam})
	if err != nil {
		return nil, fmt.Errorf("cyto plan: %w", err)
	}
	return plan, nil
}

func (o PlanOptions) check(c Config) error {
	switch {
	case o.Batch < 1:
		return fmt.Errorf("batch = %d: must be positive", o.Batch)
	case o.Loss > MeanSquare:
		return fmt.Errorf("loss %d: must be DiceBCE or MeanSquare", o.Loss)
	case o.Train && o.Loss == NoLoss:
		return fmt.Errorf("training needs a loss")
	case o.AMP != tensor.Float32 && o.AMP != tensor.BFloat16:
		return fmt.Errorf("mixed precision of %v: must be float32 or bfloat16", o.AMP)
	}
	return c.CheckSides(o.Sides)
}

// loss adds a loss of the logits, and names its outputs.
func (b *builder) loss(kind Loss, logits nn.Value) nn.Value {
	if kind == NoLoss {
		return nn.Value{}
	}
	g := b.graph
	g.Layer("loss", nn.PhaseLoss)
	target := g.Input(TargetInput, b.shape())
	var loss nn.Value
	if kind == MeanSquare {
		loss = g.SquaredError(logits, target)
	} else {
		dice, bce, probability := g.DiceBCE(logits, target, smooth)
		g.Output(DiceOutput, dice)
		g.Output(BCEOutput, bce)
		g.Output(ProbabilityOutput, probability)
		loss = g.WeightedSum([]float32{1, 1}, dice, bce)
	}
	g.Output(LossOutput, loss)
	return loss
}
