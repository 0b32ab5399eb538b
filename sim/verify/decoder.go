package verify

import (
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/prism"
)

// decoder checks a whole iteration: the decoder's layers, its measurements, both
// losses and all gradients at the first step, and parameters, running statistics
// and outputs after some steps of Adam (spec/prism.md §1, §5.3). The network's
// sizes follow from the parameters.
func decoder(c *checker) error {
	if !c.has("param.latent") {
		return nil
	}
	c.run("decoder", "param", func() error {
		d, err := c.readDecoder()
		if err != nil {
			return err
		}
		if err := d.checkTargets(); err != nil {
			return err
		}
		if err := d.settleKinks(); err != nil {
			return err
		}
		d.kinked = true
		defer func() { d.kinked = false }()
		if err := d.checkGradients("gradssim", "ssim", 2); err != nil {
			return err
		}
		if err := d.checkTraining(); err != nil {
			return err
		}
		return d.checkUpdates()
	})
	return nil
}

// decoderCase is the network of one file.
type decoderCase struct {
	*checker
	net                  *prism.Decoder
	size                 int
	maskOld, maskNew     *array
	targetOld, targetNew *array
	steps                int        // of Adam
	after                string     // "after3"
	losses               [4]float32 // L1n old and new, DSSIM old and new

	// The network's inputs: the file's parameters by name and its targets, old
	// and new, except for values moved by settleKinks.
	parameters []string
	values     map[string][]float32
	targets    [2][]float32
	notes      map[string]string // moved values, by the array that revealed them
}

func (c *checker) readDecoder() (d decoderCase, err error) {
	d.checker = c
	for _, in := range []struct {
		name string
		dst  **array
	}{{"cum_mask", &d.maskOld}, {"new_mask", &d.maskNew}, {"target_old", &d.targetOld}, {"target_new", &d.targetNew}} {
		if *in.dst, err = c.takeReal(in.name, 2); err != nil {
			return d, err
		}
		d.size = (*in.dst).shape[0]
		if !(*in.dst).shape.Equal(d.maskOld.shape) || (*in.dst).shape[1] != d.size {
			return d, fmt.Errorf("array %s of %v: needs square planes of one size", in.name, (*in.dst).shape)
		}
	}
	for _, mask := range []*array{d.maskOld, d.maskNew} {
		for _, v := range mask.values {
			if v != 0 && v != 1 {
				return d, fmt.Errorf("a mask holds %g: must be 0 or 1", v)
			}
		}
	}
	config, err := c.readConfig(d.size)
	if err != nil {
		return d, err
	}
	if d.net, err = prism.NewDecoder(config); err != nil {
		return d, err
	}
	d.targets = [2][]float32{d.targetOld.float32s(), d.targetNew.float32s()}
	d.notes = map[string]string{}
	if err := d.readSteps(); err != nil {
		return d, err
	}
	return d, d.readParameters()
}

// readConfig derives the network from its parameters: the latent vector's
// channels, the layers' (transposed weights are [in, out, 4, 4], the others [out,
// in, 3, 3]) and whether they are normalised. The window's size follows from the
// number of layers that double the side and, if that is ambiguous, from the
// pixels that the output reaches.
func (c *checker) readConfig(size int) (prism.DecoderConfig, error) {
	config := prism.DecoderConfig{Size: size, Activation: "sigmoid", BatchNorm: c.has("param.bn0.weight")}
	latent, err := c.takeReal("param.latent", 4)
	if err != nil {
		return config, err
	}
	config.Latent = latent.shape[1]
	growing := 0
	for i := 0; c.has(fmt.Sprintf("param.conv%d.weight", i)); i++ {
		w, err := c.takeReal(fmt.Sprintf("param.conv%d.weight", i), 4)
		if err != nil {
			return config, err
		}
		if w.shape[2] == growingKernel {
			growing++
			config.Channels = append(config.Channels, w.shape[1])
		} else {
			config.Channels = append(config.Channels, w.shape[0])
		}
	}
	const mostDoublings = 12
	if growing == 0 || growing > mostDoublings {
		return config, fmt.Errorf("%d layers with a 4×4 kernel: must be 1 to %d", growing, mostDoublings)
	}
	output, err := c.takeReal("output_64", 2)
	if err != nil {
		return config, err
	}
	config.ObjectSize, err = windowSize(output, 4<<(growing-1), growing < len(config.Channels))
	return config, err
}

// growingKernel is the kernel side of layers that grow the image; for the others
// it is 3.
const growingKernel = 4

// windowSize finds S of a decoder whose layers grow to the given side, which
// refinement trims by 2, from the non-zero pixels of its output (spec/prism.md
// §1.4).
func windowSize(output *array, side int, trimmed bool) (int, error) {
	n, w := output.shape.Plane()
	first, last := n, -1
	for i, v := range output.values {
		if v != 0 {
			first, last = min(first, i/w), max(last, i/w)
		}
	}
	raw := side
	if trimmed {
		raw -= 2
	}
	for s := min(side, n); s > side/2 && s > 0; s-- {
		top, height := (n-s)/2, s
		if s >= raw {
			top, height = top+(s-raw)/2, raw
		}
		if first == top && last == top+height-1 {
			return s, nil
		}
	}
	return 0, fmt.Errorf("output_64 is not 0 in rows %d to %d: no window of a decoder that grows to %d pixels", first,
		last, side)
}

// readParameters claims the parameters, whose shapes must match the network
// derived from them.
func (d *decoderCase) readParameters() error {
	model := d.net.Model()
	d.parameters, d.values = model.ParameterNames(), map[string][]float32{}
	variables := model.Variables()
	for _, name := range d.parameters {
		a, err := d.take("param." + name)
		if err != nil {
			return err
		}
		i, _ := model.Index(name)
		if !a.shape.Equal(variables[i].Shape) {
			return fmt.Errorf("array param.%s has the shape %v, the network needs %v", name, a.shape,
				variables[i].Shape)
		}
		d.values[name] = a.float32s()
	}
	return nil
}

// checkTargets measures the object: the targets are its measurements. They are
// stored in float32 without a truth; a measurement of the network's output, of
// the same size, indicates the rounding.
func (d decoderCase) checkTargets() error {
	if !d.has("object") {
		return nil
	}
	object, err := d.takeReal("object", 2)
	if err != nil {
		return err
	}
	if !object.shape.Equal(d.maskOld.shape) {
		return fmt.Errorf("object has the shape %v, the masks %v", object.shape, d.maskOld.shape)
	}
	telescope, err := hostTelescope(d.backend.ctx, d.size)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name         string
		mask, target *array
	}{{"old", d.maskOld, d.targetOld}, {"new", d.maskNew, d.targetNew}} {
		pair, err := d.takeAll("meas_"+m.name+"_64", "meas_"+m.name+"_32")
		if err != nil {
			return err
		}
		if !pair[0].shape.Equal(object.shape) || !pair[1].shape.Equal(object.shape) {
			return fmt.Errorf("meas_%s %v and %v: want %v", m.name, pair[0].shape, pair[1].shape, object.shape)
		}
		y := make([]float32, d.size*d.size)
		if err := telescope.Measure(d.backend.ctx, y, object.float32s(), m.mask.float32s(),
			optics.Support{}); err != nil {
			return err
		}
		relative := relativeSlack
		if t := measureTolerance(pair[0], pair[1]); t.largest > 0 {
			relative = t.allowed / t.largest
		}
		d.within("target_"+m.name, m.target, widen(y), relative*m.target.largest())
	}
	return nil
}

// network is a plan of the decoder on the backend with the file's parameters.
type network struct {
	decoderCase
	*session
}

// start writes the parameters to a fresh state.
func (d decoderCase) start() (nn.State, error) {
	state, err := d.backend.fresh(d.net.Model())
	if err != nil {
		return nil, err
	}
	for _, name := range d.parameters {
		i, _ := d.net.Model().Index(name)
		state.Write(i, d.values[name])
	}
	return state, nil
}

// load loads a plan on a state and writes its inputs.
func (d decoderCase) load(plan *nn.Plan, state nn.State) (*network, error) {
	session, err := d.backend.session(plan, state)
	if err != nil {
		return nil, err
	}
	n := &network{d, session}
	for name, values := range map[string][]float32{
		prism.MaskOldInput: d.maskOld.float32s(), prism.MaskNewInput(0, 1): d.maskNew.float32s(),
		prism.TargetOldInput: d.targets[0], prism.TargetNewInput: d.targets[1],
		nn.LearningRateInput: {adamRate},
	} {
		n.write(name, values)
	}
	return n, nil
}

// variable reads a variable of the model.
func (n *network) variable(name string) ([]float32, error) {
	model := n.net.Model()
	i, ok := model.Index(name)
	if !ok {
		return nil, fmt.Errorf("the network has no %s", name)
	}
	values := make([]float32, model.Variables()[i].Shape.Elements())
	n.state.Read(i, values)
	return values, nil
}
