package against

import (
	"context"
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
)

// network is a plan of another workload, whose operators are compared.
type network struct {
	name  string
	modes []string // of Modes, that the workload has
	plans func(ctx context.Context, m mode) ([]*nn.Plan, error)
	problem
}

// networks are the plans of the other workloads, small ones.
func networks() ([]network, error) {
	p, err := ptychography()
	if err != nil {
		return nil, err
	}
	return []network{*p}, nil
}

// ptychography is PtychoPINN's network on a group of four patterns: its training, and its
// inference, in which the compiler fuses other steps.
func ptychography() (*network, error) {
	c := ptycho.Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true, Seed: 1}
	n, err := ptycho.New(c)
	if err != nil {
		return nil, err
	}
	variables, err := n.Model().InitialVariables(context.Background())
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
	return &network{name: "ptycho", modes: []string{"off", "bf16x3", "bf16"},
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

// networks compares the operators of the other workloads' plans in their modes, among those that are asked for.
func (c *comparison) networks(ctx context.Context, asked map[string]bool) error {
	all, err := networks()
	if err != nil {
		return err
	}
	for i := range all {
		n := &all[i]
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
