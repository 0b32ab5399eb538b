package verify

import (
	"fmt"
	"math"
	"strings"

	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// checkGradients takes one step from the first parameters under a loss and
// checks the gradients of every parameter. The two losses go to d.losses[at:].
func (d *decoderCase) checkGradients(prefix, lossName string, at int) error {
	n, err := d.trainer(lossName, false)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.step(); err != nil {
		return err
	}
	if err := n.readLosses(d.losses[at:]); err != nil {
		return err
	}
	return n.compareGradients(prefix)
}

// checkTraining trains on normalised L1. The first step gives everything that
// belongs to the first forward pass, the last one the parameters.
func (d *decoderCase) checkTraining() error {
	n, err := d.trainer("l1", true)
	if err != nil {
		return err
	}
	defer n.close()
	totals := make([]float32, d.steps)
	for k := range totals {
		if err := n.step(); err != nil {
			return err
		}
		total, err := n.output(prism.LossOutput)
		if err != nil {
			return err
		}
		totals[k] = total[0]
		if k == 0 {
			if err := d.checkFirstStep(n); err != nil {
				return err
			}
		}
	}
	d.compare("loss_steps", totals)
	if err := n.compareTrained(d.after); err != nil {
		return err
	}
	if err := d.checkOutput(n.state, "output_eval_"+d.after, true); err != nil {
		return err
	}
	return d.checkOutput(n.state, "output_train_"+d.after, false)
}

// trainer loads a training plan with fresh parameters.
func (d *decoderCase) trainer(lossName string, layers bool) (*network, error) {
	loss, err := prism.ParseLoss(lossName, true, prism.CompositeWeights{})
	if err != nil {
		return nil, err
	}
	plan, err := d.net.ProgressivePlan(d.backend.ctx, prism.PlanOptions{Loss: loss, Layers: layers})
	if err != nil {
		return nil, err
	}
	state, err := d.start()
	if err != nil {
		return nil, err
	}
	n, err := d.load(plan, state)
	if err != nil {
		state.Close()
	}
	return n, err
}

// step runs one whole iteration.
func (n *network) step() error {
	return n.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
}

// checkFirstStep compares the layers, the output, the measurements, the losses
// and the gradients of the first step.
func (d *decoderCase) checkFirstStep(n *network) error {
	outputs := map[string]string{
		"output": prism.ReconstructionOutput, "meas_old": prism.MeasuredOldOutput, "meas_new": prism.MeasuredNewOutput,
	}
	for _, name := range d.suffixed("_64") {
		source, known := outputs[name]
		if !known {
			if !strings.HasPrefix(name, "act.") {
				continue
			}
			source = name
		}
		values, err := n.output(source)
		if err != nil {
			return err
		}
		d.compareNoted(name, values, d.notes[name])
	}
	if err := n.readLosses(d.losses[:]); err != nil {
		return err
	}
	d.compare("losses", d.losses[:])
	return n.compareGradients("grad")
}

// readLosses reads the old and the new loss.
func (n *network) readLosses(dst []float32) error {
	for i, name := range []string{prism.LossOldOutput, prism.LossNewOutput} {
		v, err := n.output(name)
		if err != nil {
			return err
		}
		dst[i] = v[0]
	}
	return nil
}

func (n *network) compareGradients(prefix string) error {
	for _, name := range n.parameters {
		g, err := n.variable(name + ".grad")
		if err != nil {
			return err
		}
		n.compare(prefix+"."+name, g)
	}
	return nil
}

// compareTrained compares parameters and running statistics after training.
func (n *network) compareTrained(prefix string) error {
	for _, v := range n.net.Model().Variables() {
		if v.Category != nn.Weights {
			continue
		}
		values, err := n.variable(v.Name)
		if err != nil {
			return err
		}
		n.unmove(v.Name, values)
		n.compareWith(prefix+"."+v.Name, values, n.isolated(v.Name))
	}
	return nil
}

// unmove subtracts from a trained parameter the amount added by settleKinks.
func (n *network) unmove(name string, trained []float32) {
	began, moved := n.arrays["param."+name], n.values[name]
	for i, v := range moved {
		trained[i] -= v - float32(began.values[i])
	}
}

// isolated is the exception for parameters whose first gradient is only float32
// rounding: Adam divides by the gradient's magnitude, so the direction of their
// steps is noise, and may differ between this program and the reference.
func (n *network) isolated(name string) exception {
	truth, reference := n.arrays["grad."+name+"_64"], n.arrays["grad."+name+"_32"]
	if truth == nil || reference == nil || !truth.shape.Equal(reference.shape) {
		return nil
	}
	noise := measureTolerance(truth, reference).allowed
	return func(i int) float64 {
		if i >= len(truth.values) || !(math.Abs(truth.values[i]) <= noise) {
			return 0
		}
		return 2 * adamRate * float64(n.steps)
	}
}

// checkOutput compares the decoder's output with the parameters and running
// statistics of a state. Training mode updates the running statistics, so this is
// the last check on a state.
func (d *decoderCase) checkOutput(state nn.State, name string, running bool) error {
	plan, err := d.net.EvaluationPlan(d.backend.ctx, prism.PlanOptions{RunningStatistics: running})
	if err != nil {
		return err
	}
	n, err := d.load(plan, state)
	if err != nil {
		return err
	}
	defer n.executable.Close()
	if err := n.run(nn.SegmentForward, nn.SegmentEvaluate); err != nil {
		return err
	}
	values, err := n.output(prism.ReconstructionOutput)
	if err != nil {
		return err
	}
	d.compare(name, values)
	return nil
}

// readSteps claims loss_steps and finds the arrays after training, whose names
// contain the number of steps.
func (d *decoderCase) readSteps() error {
	losses, err := d.takeReal("loss_steps_64", 1)
	if err != nil {
		return err
	}
	const most = 1000
	if d.steps = losses.shape[0]; d.steps > most {
		return fmt.Errorf("loss_steps_64: %d steps are more than the %d that are followed", d.steps, most)
	}
	d.after = fmt.Sprintf("after%d", d.steps)
	return nil
}
