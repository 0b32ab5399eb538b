package verify

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/sim/cyto"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The first convolution of the first block recognises a DynUNet; the weights' names
// begin like those of other networks.
const (
	cytoWeight = "w."
	cytoFirst  = cytoWeight + "inp.conv1.weight"
)

// maxCytoSteps bounds the number of a step of training whose loss a file may hold.
const maxCytoSteps = 1000

// segmentation checks CytoDL's DynUNet (spec/ptycho-cyto.md §B2): its output and losses,
// the gradients of Dice + BCE, and steps of Adam. The network follows from the weights,
// the sizes from the input.
func segmentation(c *checker) error {
	if !c.has(cytoFirst) {
		return nil
	}
	c.run("DynUNet", "w", func() error {
		d := &cytoCase{checker: c}
		if err := d.prepare(); err != nil {
			return err
		}
		if err := d.checkSquaredError(); err != nil {
			return err
		}
		return d.checkTraining()
	})
	return nil
}

// cytoCase is a network with its weights, and the file's images.
type cytoCase struct {
	*checker
	net           *cyto.Network
	batch         int
	sides         [3]int
	image, target *array
}

// prepare derives the network and the sizes from the arrays.
func (d *cytoCase) prepare() (err error) {
	config, err := d.config()
	if err != nil {
		return err
	}
	if d.net, err = cyto.New(config); err != nil {
		return err
	}
	axes := config.Axes + 2
	if d.image, err = d.takeReal("input", axes); err != nil {
		return err
	}
	if d.target, err = d.takeReal("target", axes); err != nil {
		return err
	}
	shape := d.image.shape
	if shape[1] != 1 || !d.target.shape.Equal(shape) {
		return fmt.Errorf("array input of %v and target of %v: both need one channel and the same shape", shape,
			d.target.shape)
	}
	d.batch, d.sides = shape[0], [3]int{1, shape[axes-2], shape[axes-1]}
	if config.Axes == 3 {
		d.sides[0] = shape[2]
	}
	if err := config.CheckSides(d.sides); err != nil {
		return fmt.Errorf("array input of %v: %w", shape, err)
	}
	return nil
}

// config derives the network from the numbers of filters of its residual blocks.
func (d *cytoCase) config() (cyto.Config, error) {
	first := d.arrays[cytoFirst]
	config := cyto.Config{Axes: len(first.shape) - 2}
	if first.complex || config.Axes != 2 && config.Axes != 3 {
		return config, fmt.Errorf("array %s of %v: needs real weights on four or five axes", cytoFirst, first.shape)
	}
	names := []string{"inp"}
	if d.has(cytoWeight + "down.conv1.weight") {
		names = append(names, "down")
	}
	for level := 1; d.has(fmt.Sprintf("%sdown%d.conv1.weight", cytoWeight, level)); level++ {
		names = append(names, fmt.Sprintf("down%d", level))
	}
	for _, name := range append(names, "bottle") {
		w := d.arrays[cytoWeight+name+".conv1.weight"]
		if w == nil || len(w.shape) == 0 {
			return config, fmt.Errorf("array %s%s.conv1.weight is missing or has no axes", cytoWeight, name)
		}
		config.Filters = append(config.Filters, w.shape[0])
	}
	return config, nil
}

// start returns a state with the file's weights.
func (d *cytoCase) start() (nn.State, error) {
	all := d.net.StateDict()
	for i := range all {
		name := cytoWeight + all[i].Name
		a, err := d.take(name)
		if err != nil {
			return nil, err
		}
		if a.complex || !a.shape.Equal(tensor.Shape(all[i].Shape)) {
			return nil, fmt.Errorf("array %s has the shape %v, the network needs %v", name, a.shape,
				tensor.Shape(all[i].Shape))
		}
		all[i].Values = a.float32s()
	}
	state, err := d.backend.fresh(d.net.Model())
	if err != nil {
		return nil, err
	}
	if err := d.net.SetWeights(state, all); err != nil {
		state.Close()
		return nil, err
	}
	return state, nil
}

// within calls check with a plan loaded on fresh weights, and its images written.
func (d *cytoCase) within(o cyto.PlanOptions, check func(*cytoProgram) error) error {
	o.Batch, o.Sides = d.batch, d.sides
	plan, err := d.net.Plan(d.backend.ctx, o)
	if err != nil {
		return err
	}
	state, err := d.start()
	if err != nil {
		return err
	}
	session, err := d.backend.session(plan, state)
	if err != nil {
		state.Close()
		return err
	}
	defer session.close()
	p := &cytoProgram{d, session}
	p.write(cyto.ImageInput, d.image.float32s())
	p.write(cyto.TargetInput, d.target.float32s())
	if o.Train {
		p.write(nn.LearningRateInput, []float32{cyto.LearningRate})
	}
	return check(p)
}

// cytoProgram is a loaded plan.
type cytoProgram struct {
	*cytoCase
	*session
}

// compareOutput compares an output under its name in the file, after some steps of training if there were any.
func (p *cytoProgram) compareOutput(name, output string, steps int) error {
	values, err := p.output(output)
	if err == nil {
		p.compareTrained(name, values, steps)
	}
	return err
}

// checkSquaredError compares the output, and the mean squared error.
func (d *cytoCase) checkSquaredError() error {
	return d.within(cyto.PlanOptions{Loss: cyto.MeanSquare}, func(p *cytoProgram) error {
		if err := p.run(nn.SegmentForward, nn.SegmentEvaluate); err != nil {
			return err
		}
		if err := p.compareOutput("output", cyto.LogitsOutput, 0); err != nil {
			return err
		}
		return p.compareOutput("mse", cyto.LossOutput, 0)
	})
}

// checkTraining trains on Dice + BCE and compares the losses before some steps, the
// gradients of the first one and the weights after it.
func (d *cytoCase) checkTraining() error {
	steps, err := d.lossSteps()
	if err != nil {
		return err
	}
	return d.within(cyto.PlanOptions{Loss: cyto.DiceBCE, Train: true}, func(p *cytoProgram) error {
		for step := range steps[len(steps)-1] + 1 {
			if err := p.run(nn.SegmentForward, nn.SegmentEvaluate); err != nil {
				return err
			}
			if slices.Contains(steps, step) {
				if err := p.compareOutput(fmt.Sprintf("loss.step%d", step), cyto.LossOutput, step); err != nil {
					return err
				}
			}
			if err := p.run(nn.SegmentUpdate); err != nil {
				return err
			}
			if step == 0 {
				p.compareFirstStep()
			}
		}
		return nil
	})
}

// lossSteps returns the steps before which the file has a loss, in order.
func (d *cytoCase) lossSteps() ([]int, error) {
	var steps []int
	for _, name := range d.suffixed("_64") {
		number, ok := strings.CutPrefix(name, "loss.step")
		if !ok {
			continue
		}
		step, err := strconv.Atoi(number)
		if err != nil || step < 0 || step > maxCytoSteps {
			return nil, fmt.Errorf("array %s_64: needs a step from 0 to %d", name, maxCytoSteps)
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("array loss.step0_64 is missing")
	}
	slices.Sort(steps)
	return steps, nil
}

// compareFirstStep compares the gradients and the weights after the first step.
func (p *cytoProgram) compareFirstStep() {
	for _, g := range p.net.Gradients(p.state) {
		p.compare("grad."+g.Name, g.Values)
	}
	for _, w := range p.net.Weights(p.state) {
		p.compareWith("after1."+w.Name, w.Values, p.noisy(w.Name))
	}
}

// noisy is the exception for weights whose first gradient, with the decay, is only
// float32 rounding: Adam's first step has the gradient's sign, which is then noise.
func (p *cytoProgram) noisy(name string) exception {
	truth, reference, w := p.arrays["grad."+name+"_64"], p.arrays["grad."+name+"_32"], p.arrays[cytoWeight+name]
	if truth == nil || reference == nil || !truth.shape.Equal(reference.shape) || !truth.shape.Equal(w.shape) {
		return nil
	}
	noise := measureTolerance(truth, reference).allowed
	return func(i int) float64 {
		if i >= len(truth.values) || !(math.Abs(truth.values[i]+cyto.Decay*w.values[i]) <= noise) {
			return 0
		}
		return 2 * cyto.LearningRate
	}
}
