package verify

import (
	"fmt"
	"math"
	"slices"

	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/tensor"
)

// ptychoWeight begins the names of a PtychoPINN network's weights; the first convolution
// of the encoder recognises the layout.
const (
	ptychoWeight = "w."
	ptychoFirst  = ptychoWeight + "enc.0.a.weight"
)

// ptychography checks PtychoPINN's network: the amplitudes and phases of its heads
// (spec/ptycho-cyto.md §A1.2). The network's sizes follow from the weights.
func ptychography(c *checker) error {
	if !c.has(ptychoFirst) {
		return nil
	}
	c.run("PtychoPINN network", "w", func() error {
		config, err := c.ptychoConfig()
		if err != nil {
			return err
		}
		net, err := ptycho.New(config)
		if err != nil {
			return err
		}
		heads, err := c.runPtycho(net)
		if err != nil {
			return err
		}
		c.compare("amp", heads[0])
		c.compare("phase", heads[1])
		return nil
	})
	return nil
}

// ptychoConfig derives the network from the numbers of stages and filters.
func (c *checker) ptychoConfig() (ptycho.Config, error) {
	var config ptycho.Config
	first, err := c.takeReal(ptychoFirst, 4)
	if err != nil {
		return config, err
	}
	input, err := c.takeReal("input", 4)
	if err != nil {
		return config, err
	}
	config.Size, config.GridSize = input.shape[3], int(math.Round(math.Sqrt(float64(input.shape[1]))))
	config.ProbeBig = c.has(ptychoWeight + "amp.outer_a.weight")
	filters := ptycho.FirstFilters(config.Size)
	if filters == 0 || input.shape[2] != config.Size || config.Channels() != input.shape[1] || input.shape[0] < 1 {
		return config,
			fmt.Errorf("array input of %v: needs groups of 1, 4, 9, … square patterns of 64, 128 or 256 pixels",
				input.shape)
	}
	if config.FiltersScale = first.shape[0] / filters; first.shape[0]%filters != 0 {
		return config, fmt.Errorf("array %s of %v: needs a multiple of %d filters for patterns of %d pixels",
			ptychoFirst, first.shape, filters, config.Size)
	}
	return config, nil
}

// runPtycho computes amplitudes and phases with the file's weights and input, group by
// group, so that the memory does not depend on the file.
func (c *checker) runPtycho(net *ptycho.Network) (heads [2][]float32, err error) {
	input, err := c.take("input")
	if err != nil {
		return heads, err
	}
	all := net.StateDict()
	for i := range all {
		name := ptychoWeight + all[i].Name
		if len(all[i].Shape) == 0 && !c.has(name) { // the scale, which other networks lack
			all[i].Values = []float32{0}
			continue
		}
		a, err := c.take(name)
		if err != nil {
			return heads, err
		}
		if a.complex || !a.shape.Equal(tensor.Shape(all[i].Shape)) {
			return heads, fmt.Errorf("array %s has the shape %v, the network needs %v", name, a.shape,
				tensor.Shape(all[i].Shape))
		}
		all[i].Values = a.float32s()
	}
	plan, err := net.InferencePlan(c.backend.ctx, ptycho.PlanOptions{Batch: 1, Heads: true})
	if err != nil {
		return heads, err
	}
	state, err := c.backend.fresh(net.Model())
	if err != nil {
		return heads, err
	}
	if err := net.SetWeights(state, all); err != nil {
		state.Close()
		return heads, err
	}
	session, err := c.backend.session(plan, state)
	if err != nil {
		state.Close()
		return heads, err
	}
	defer session.close()
	patterns := input.float32s()
	for group := range slices.Chunk(patterns, len(patterns)/input.shape[0]) {
		session.write(ptycho.DiffractionInput, group)
		if err := session.run(nn.SegmentForward); err != nil {
			return heads, err
		}
		for i, name := range []string{ptycho.AmplitudeOutput, ptycho.PhaseOutput} {
			values, err := session.output(name)
			if err != nil {
				return heads, err
			}
			heads[i] = append(heads[i], values...)
		}
	}
	return heads, nil
}
