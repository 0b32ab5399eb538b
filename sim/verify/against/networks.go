package against

import (
	"context"
	"fmt"
	"math"

	"prismtop/sim/cyto"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
)

// network is a plan of another workload, whose operators are compared.
type network struct {
	modes []string // of Modes, that the workload has
	plans func(ctx context.Context, m mode) ([]*nn.Plan, error)
	problem
}

// networks are the plans of the other workloads that the options ask for.
func (o *Options) networks(ctx context.Context) (all []*network, err error) {
	if o.Ptychography {
		n, err := ptychography(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	for _, sides := range o.Cells {
		n, err := cells(ctx, sides)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// ptychography is PtychoPINN's network on a group of four patterns: its training, and its
// inference, in which the compiler fuses other steps.
func ptychography(ctx context.Context) (*network, error) {
	c := ptycho.Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true, Seed: 1}
	n, err := ptycho.New(c)
	if err != nil {
		return nil, err
	}
	variables, err := n.Model().InitialVariables(ctx)
	if err != nil {
		return nil, err
	}
	planes := c.Channels() * c.Size * c.Size
	patterns, counts, probe := make([]float32, planes), make([]float32, planes), make([]float32, 2*c.Size*c.Size)
	for i := range patterns {
		y, x := float64(i/c.Size%c.Size-c.Size/2), float64(i%c.Size-c.Size/2)
		bright := math.Exp(-math.Hypot(y, x)/8) * (1 + 0.5*math.Cos(x/3+float64(i/(c.Size*c.Size))))
		patterns[i], counts[i] = float32(bright), float32(math.Round(100*bright*bright))
	}
	for i := range c.Size * c.Size {
		y, x := float64(i/c.Size-c.Size/2), float64(i%c.Size-c.Size/2)
		probe[i], probe[c.Size*c.Size+i] = float32(math.Exp(-(y*y+x*x)/200)), float32(0.1*math.Exp(-(y*y+x*x)/100))
	}
	return &network{modes: []string{"off", "bf16x3", "bf16"},
		plans: func(ctx context.Context, m mode) ([]*nn.Plan, error) {
			o := ptycho.PlanOptions{Batch: 1, AMP: m.stored, Products: m.products}
			training, err := n.TrainingPlan(ctx, o)
			if err != nil {
				return nil, err
			}
			inference, err := n.InferencePlan(ctx, o)
			return []*nn.Plan{training, inference}, err
		},
		problem: problem{name: fmt.Sprintf("ptycho %d", c.Size), variables: variables, inputs: map[string][]float32{
			ptycho.DiffractionInput: patterns, ptycho.CountsInput: counts, ptycho.ProbeInput: probe,
			nn.LearningRateInput: {1e-3}, ptycho.OffsetsInput: {-2, -1.75, 2.25, -2, -1.5, 2, 1.25, 1.75},
		}},
	}, nil
}

// cells is CytoDL's network of volumes, or of planes where the first side is 1, on two
// synthetic images: its training on either loss, once with activations that are recomputed,
// and its prediction.
func cells(ctx context.Context, sides [3]int) (*network, error) {
	const images = 2
	axes, name := 3, fmt.Sprintf("cyto %dx%dx%d", sides[0], sides[1], sides[2])
	if sides[0] == 1 {
		axes, name = 2, fmt.Sprintf("cyto %dx%d", sides[1], sides[2])
	}
	n, err := cyto.New(cyto.DefaultConfig(axes))
	if err != nil {
		return nil, err
	}
	variables, err := n.Model().InitialVariables(ctx)
	if err != nil {
		return nil, err
	}
	var batch, targets []float32
	for i := range images {
		// Of a normalised image, a patch has a mean; that of the whole is zero, and of rounding alone.
		o := cyto.CellsOptions{Sides: [3]int{sides[0], 2 * sides[1], 2 * sides[2]}, Cells: 16, Noise: 0.1,
			Seed: uint64(i)}
		image, mask, err := cyto.Cells(ctx, o)
		if err != nil {
			return nil, err
		}
		cyto.Normalise(image.Values)
		for row := range sides[0] * sides[1] {
			at := (row/sides[1]*2*sides[1] + row%sides[1]) * 2 * sides[2]
			batch, targets = append(batch, image.Values[at:][:sides[2]]...),
				append(targets, mask.Values[at:][:sides[2]]...)
		}
	}
	return &network{modes: []string{"off", "bf16"},
		plans: func(ctx context.Context, m mode) (all []*nn.Plan, err error) {
			for _, o := range []cyto.PlanOptions{
				{Loss: cyto.DiceBCE, Train: true}, {Loss: cyto.MeanSquare, Train: true, Checkpointing: true}, {},
			} {
				o.Batch, o.Sides, o.AMP, o.Products = images, sides, m.stored, m.products
				plan, err := n.Plan(ctx, o)
				if err != nil {
					return nil, err
				}
				all = append(all, plan)
			}
			return all, nil
		},
		problem: problem{name: name, variables: variables, inputs: map[string][]float32{
			cyto.ImageInput: batch, cyto.TargetInput: targets, nn.LearningRateInput: {cyto.LearningRate},
		}},
	}, nil
}

// networks compares the operators of the other workloads' plans in their modes, among those that are asked for.
func (c *comparison) networks(ctx context.Context, asked map[string]bool) error {
	all, err := c.options.networks(ctx)
	if err != nil {
		return err
	}
	for _, n := range all {
		for _, name := range n.modes {
			if !asked[name] {
				continue
			}
			c.options.Progress(fmt.Sprintf("%s, amp %s", n.name, name))
			plans, err := n.plans(ctx, modes[name])
			if err != nil {
				return err
			}
			for _, plan := range plans {
				if err := c.steps(ctx, &n.problem, plan, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
