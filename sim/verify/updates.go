package verify

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// The updates of mixed precision, followed by Adam's rule.

// updateSteps is the number of updates under mixed precision that are compared with Adam's rule.
const updateSteps = 3

// updateModes are the modes of mixed precision whose updates are checked.
var updateModes = []struct {
	name  string
	dtype tensor.DType
}{{"bf16", tensor.BFloat16}, {"fp16", tensor.Float16}}

// checkUpdates trains under mixed precision, which no reference vectors describe: the weights remain float32, and each
// update is compared with Adam's rule, in float64, on the gradients and weights that it began with. The results are
// named "bf16.update.conv0.weight". A GPU that lacks a mode is not checked in it.
func (d *decoderCase) checkUpdates() error {
	loss, err := prism.ParseLoss("l1", true, prism.CompositeWeights{})
	if err != nil {
		return err
	}
	for _, mode := range updateModes {
		plan, err := d.net.ProgressivePlan(d.backend.ctx, prism.PlanOptions{Loss: loss, AMP: mode.dtype})
		if err != nil {
			return err
		}
		state, err := d.start()
		if err != nil {
			return err
		}
		n, err := d.load(plan, state)
		if err != nil {
			state.Close()
			if d.backend.Device() != "cpu" && d.backend.ctx.Err() == nil {
				continue
			}
			return fmt.Errorf("amp = %s: %w", mode.name, err)
		}
		err = n.followUpdates(mode.name)
		n.close()
		if err != nil {
			return fmt.Errorf("amp = %s: %w", mode.name, err)
		}
	}
	return nil
}

// update is a parameter under Adam's rule.
type update struct {
	name          string
	before        []float32 // the update in question
	first, second []float64 // moments
	worst, bound  float64   // of all updates, where it is nearest to its bound or farthest beyond; from −∞
}

// followUpdates compares updates with Adam's rule. An update that the gradient scaler skips must leave the weights
// alone.
func (n *network) followUpdates(mode string) error {
	all := make([]update, len(n.parameters))
	for i, name := range n.parameters {
		values, err := n.variable(name)
		if err != nil {
			return err
		}
		all[i] = update{name: name, before: values, first: make([]float64, len(values)),
			second: make([]float64, len(values)), worst: math.Inf(-1)}
	}
	taken := 0
	for range updateSteps {
		if err := n.step(); err != nil {
			return err
		}
		skipped := false
		if id, scaled := n.plan.Output(nn.OverflowOutput); scaled {
			skipped = n.read(id)[0] != 0
		}
		if !skipped {
			taken++
		}
		for i := range all {
			after, err := n.variable(all[i].name)
			if err != nil {
				return err
			}
			gradient, err := n.variable(all[i].name + ".grad")
			if err != nil {
				return err
			}
			if skipped {
				gradient = nil
			}
			all[i].follow(gradient, after, taken)
		}
	}
	for i := range all {
		u := &all[i]
		n.results = append(n.results, Result{Array: mode + ".update." + u.name, Error: number(u.worst),
			Allowed: number(u.bound), OK: u.worst <= u.bound})
	}
	if taken == 0 {
		return fmt.Errorf("the gradient scaler skipped all of %d updates", updateSteps)
	}
	return nil
}

// follow compares the weights after an update with those by Adam's rule; without a gradient with those before.
func (u *update) follow(gradient, after []float32, taken int) {
	o := nn.DefaultAdam
	beta1, beta2 := float64(o.Beta1), float64(o.Beta2)
	correct1, correct2 := 1-math.Pow(beta1, float64(taken)), 1-math.Pow(beta2, float64(taken))
	for i, v := range after {
		if math.IsNaN(u.worst) {
			break
		}
		want, allowed := float64(u.before[i]), 0.0
		if gradient != nil {
			g := float64(gradient[i])
			u.first[i] = beta1*u.first[i] + (1-beta1)*g
			u.second[i] = beta2*u.second[i] + (1-beta2)*g*g
			want -= adamRate * u.first[i] / correct1 / (math.Sqrt(u.second[i]/correct2) + float64(o.Eps))
			// Rounding of the weight, and of the step: its moments are sums of float32 of both signs.
			allowed = math.Abs(want)*0x1p-22 + 1e-3*adamRate
		}
		if far := math.Abs(float64(v) - want); !(far-allowed <= u.worst-u.bound) {
			u.worst, u.bound = far, allowed
		}
	}
	copy(u.before, after)
}
