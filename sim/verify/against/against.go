// Package against compares a backend with another one, the processor's: every operator of PRISM's plans on the operands
// that training gives it, and some iterations of training as a whole; and every operator of
// the other workloads' networks.
package against

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// Options say what is compared.
type Options struct {
	// Sizes are the sides of the field and of the object's window, in pixels.
	Sizes [][2]int

	// Modes are the names of modes of mixed precision; none means Modes.
	Modes []string

	// Iterations of training are compared as a whole.
	Iterations int

	// Ptychography compares the operators of PtychoPINN's network, too.
	Ptychography bool

	// Cells are the sides Z, Y and X of the images on which CytoDL's network is compared, too:
	// that of planes where Z is 1.
	Cells [][3]int

	// Progress is called with what is compared next; nil for none.
	Progress func(what string)
}

// Modes are the modes of mixed precision, as the setting amp names them.
var Modes = []string{"off", "tf32", "bf16x3", "bf16", "fp16"}

// mode is how a plan of a mode computes, and how far its results may be apart.
type mode struct {
	stored   tensor.DType
	products nn.Products
	step     float64 // of an operator, as the norm of the difference over that of the result
	loss     float64 // of the loss, relative
}

// modes bound what operators may differ by: some roundings of the type that is stored, or of the products. A sum of
// thousands of float32 in another order is off by some 1e-6; what is rounded to 16 bits, by half a unit of its last
// place, 2⁻⁹ for bf16 and 2⁻¹² for fp16.
var modes = map[string]mode{
	"off":    {tensor.Float32, nn.Exact, 1e-4, 1e-3},
	"tf32":   {tensor.Float32, nn.TF32, 3e-3, 2e-2},
	"bf16x3": {tensor.Float32, nn.BF16x3, 1e-4, 1e-3},
	"bf16":   {tensor.BFloat16, nn.Exact, 1e-2, 5e-2},
	"fp16":   {tensor.Float16, nn.Exact, 2e-3, 5e-2},
}

// Report is what a comparison found.
type Report struct {
	Operators []Operator `json:"operators"`
	Trainings []Training `json:"trainings"`
}

// Operator is an operator in a mode of mixed precision.
type Operator struct {
	Name  string  `json:"name"` // "ConvTranspose2D"
	Mode  string  `json:"mode"`
	Steps int     `json:"steps"` // that differ in shapes, types or options
	Worst float64 `json:"worst"` // largest norm of a difference over that of the result; -1 if a step failed
	Limit float64 `json:"limit"`
	At    string  `json:"at"` // the step of Worst, "layer 3 convT 512/128"
	OK    bool    `json:"ok"`
	Error string  `json:"error,omitempty"` // of the first step that failed
}

// Training is the loss of a whole training after some iterations.
type Training struct {
	Size       [2]int  `json:"size"`
	Mode       string  `json:"mode"`
	Iterations int     `json:"iterations"`
	Worst      float64 `json:"worst"` // largest relative difference of a loss; -1 if an iteration failed
	Limit      float64 `json:"limit"`
	First      float64 `json:"first"` // difference of the first loss, which no update has changed yet
	FirstLimit float64 `json:"first_limit"`
	Repeats    bool    `json:"repeats"` // a second training had the same bits
	OK         bool    `json:"ok"`
	Error      string  `json:"error,omitempty"`
}

// Compare compares a backend with a reference. Its error is that of a context that ended, of the reference, or of a
// device that was lost; what else fails is in the report.
func Compare(ctx context.Context, candidate, reference nn.Backend, o Options) (*Report, error) {
	if len(o.Modes) == 0 {
		o.Modes = Modes
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	c := &comparison{candidate: candidate, reference: reference, options: o,
		report: &Report{Operators: []Operator{}, Trainings: []Training{}}, seen: map[string]bool{}}
	for _, size := range o.Sizes {
		for _, name := range o.Modes {
			if err := c.mode(ctx, size, name); err != nil {
				return c.report, err
			}
		}
	}
	asked := map[string]bool{}
	for _, name := range o.Modes {
		asked[name] = true
	}
	return c.report, c.networks(ctx, asked)
}

type comparison struct {
	candidate, reference nn.Backend
	options              Options
	report               *Report
	seen                 map[string]bool // steps that were compared
}

// mode compares the plans of a mode at a size, and trains in it.
func (c *comparison) mode(ctx context.Context, size [2]int, name string) error {
	m, ok := modes[name]
	if !ok {
		return fmt.Errorf("mode %q: must be one of %s", name, strings.Join(Modes, ", "))
	}
	c.options.Progress(fmt.Sprintf("%d/%d, amp %s", size[0], size[1], name))
	p, err := problemOf(size)
	if err != nil {
		return err
	}
	for _, v := range variants(m) {
		plan, err := p.decoder.ProgressivePlan(ctx, v)
		if err != nil {
			return err
		}
		if err := c.steps(ctx, p, plan, name); err != nil {
			return err
		}
	}
	return c.train(ctx, p, name)
}

// variants are the options whose plans have every operator: the telescope step by step, with an optimiser of its own,
// and fused; every loss.
func variants(m mode) []prism.PlanOptions {
	loss := func(name string) prism.LossSpec {
		spec, err := prism.ParseLoss(name, true, prism.CompositeWeights{L1: 0.5, L2: 0.2, SSIM: 0.3})
		if err != nil {
			panic(err) // the names are constants
		}
		return spec
	}
	base := prism.PlanOptions{AMP: m.stored, Products: m.products, Apertures: 1}
	plain, fused, structural := base, base, base
	plain.Loss = loss("composite")
	fused.Loss, fused.SharedSpectrum, fused.Fused, fused.Pruned, fused.FusedOptimizer = loss("l1"), true, true, true,
		true
	structural.Loss, structural.Fused, structural.Checkpointing = loss("ms-ssim"), true, true
	return []prism.PlanOptions{fused, plain, structural}
}

// problem is a decoder with what its plans are given.
type problem struct {
	size      [2]int
	name      string // of the size, or of the network
	decoder   *prism.Decoder
	inputs    map[string][]float32
	variables []nn.Variable
}

func problemOf(size [2]int) (*problem, error) {
	n, side := size[0], float64(size[1])
	d, err := prism.NewDecoder(prism.DecoderConfig{Size: n, ObjectSize: size[1], BatchNorm: true, Seed: 1})
	if err != nil {
		return nil, err
	}
	variables, err := d.Model().InitialVariables(context.Background())
	if err != nil {
		return nil, err
	}
	return &problem{size: size, name: fmt.Sprintf("%d/%d", n, size[1]), decoder: d, variables: variables,
		inputs: map[string][]float32{
			prism.MaskOldInput:       disc(n, 0, 0, float64(n)/8),
			prism.MaskNewInput(0, 1): disc(n, float64(n)/16, float64(n)/12, float64(n)/16),
			prism.TargetOldInput:     disc(n, 1, 0, side/3),
			prism.TargetNewInput:     disc(n, 0, 2, side/4),
			nn.LearningRateInput:     {1e-3},
		}}, nil
}

// disc returns a plane of a hundredth, with ones in a circle whose centre is given in pixels from the middle.
func disc(n int, y, x, radius float64) []float32 {
	plane := make([]float32, n*n)
	for i := range n {
		for j := range n {
			if math.Hypot(float64(i-n/2)-y, float64(j-n/2)-x) <= radius {
				plane[i*n+j] = 1
			}
		}
	}
	return plane
}

// distance returns the norm of a difference over that of the reference; NaN where one has NaN and the other has not.
func distance(got, want []float32) float64 {
	var off, size float64
	for i, w := range want {
		g := float64(got[i])
		d := g - float64(w)
		if g == float64(w) { // infinities, too
			d = 0
		}
		off += d * d
		size += float64(w) * float64(w)
	}
	if size == 0 {
		return math.Sqrt(off)
	}
	return math.Sqrt(off / size)
}

// lost returns an error after which the candidate cannot be compared any further.
func (c *comparison) lost(err error) error {
	if f, ok := c.candidate.(nn.Fallible); ok {
		err = errors.Join(err, f.Failure())
	}
	if nn.Lost(err) {
		return err
	}
	return nil
}
