package cyto

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Config describes a network (spec/ptycho-cyto.md §B2.1).
type Config struct {
	// Axes is 3 for volumes and 2 for planes.
	Axes int
	// Filters are the channels of each level; a side is halved from one to the next.
	Filters []int
	// Seed is that of the initial parameters.
	Seed uint64
}

// DefaultConfig is CytoDL's default: 342,321 parameters for volumes, 119,825 for planes.
func DefaultConfig(axes int) Config { return Config{Axes: axes, Filters: []int{16, 32, 64}} }

// Bounds of a Config, against typing errors.
const (
	maxLevels  = 6
	maxFilters = 512
)

func (c Config) check() error {
	if c.Axes != 2 && c.Axes != 3 {
		return fmt.Errorf("axes = %d: must be 2 or 3", c.Axes)
	}
	if len(c.Filters) < 2 || len(c.Filters) > maxLevels {
		return fmt.Errorf("%d levels of filters: must be 2 to %d", len(c.Filters), maxLevels)
	}
	for _, f := range c.Filters {
		if f < 1 || f > maxFilters {
			return fmt.Errorf("%d filters: must be 1 to %d", f, maxFilters)
		}
	}
	return nil
}

// Multiple is the number by which the sides of an image must be divisible: 4 by default.
func (c Config) Multiple() int { return 1 << (len(c.Filters) - 1) }

// CheckSides returns an error unless an image has the network's axes, and sides that it
// can halve.
func (c Config) CheckSides(sides [3]int) error {
	for i, s := range sides {
		switch {
		case c.Axes == 2 && i == 0:
			if s != 1 {
				return fmt.Errorf("%d planes at a time for a network of planes: must be 1", s)
			}
		case s < 1 || s%c.Multiple() != 0:
			return fmt.Errorf("sides of %dx%dx%d: must be divisible by %d", sides[0], sides[1], sides[2], c.Multiple())
		}
	}
	return nil
}

// The constants of the network: of its norms, its leaky ReLUs and its kernels.
const (
	normEpsilon = 1e-5
	leak        = 0.01
	kernel      = 3
	enlarging   = 2
)

// A Network is the registry of a network's parameters. All its plans run on one
// nn.State.
type Network struct {
	config     Config
	model      *nn.Model
	parameters []Parameter
}

// Parameter is an array of the network.
type Parameter struct {
	Name  string // as in PyTorch's state dict of the reference: down.conv1.weight
	Shape []int
	fanIn int // of a convolution's weights; 0 for norms and biases
}

// New declares the parameters of a network.
func New(c Config) (*Network, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cyto network: %w", err)
	}
	c.Filters = slices.Clone(c.Filters)
	n := &Network{config: c, model: nn.NewModel(nn.ModelOptions{Seed: c.Seed})}
	sides := [3]int{c.Multiple(), c.Multiple(), c.Multiple()}
	if c.Axes == 2 {
		sides[0] = 1
	}
	b := &builder{network: n, graph: nn.NewGraph(n.model), batch: 1, sides: sides, declare: true}
	b.logits(b.image())
	return n, b.graph.Err()
}

// Config returns the configuration.
func (n *Network) Config() Config { return n.config }

// Model returns the registry of the parameters.
func (n *Network) Model() *nn.Model { return n.model }

// Parameters lists the network's arrays in the order of its layers: of each block the
// convolutions and then their norms.
func (n *Network) Parameters() []Parameter { return slices.Clone(n.parameters) }

// builder adds the network to a graph.
type builder struct {
	network *Network
	graph   *nn.Graph
	batch   int
	sides   [3]int
	declare bool // list the parameters
}

// image is the input: a batch of images of one channel.
func (b *builder) image() nn.Value {
	b.graph.Layer("input", nn.PhaseForward)
	return b.graph.Input(ImageInput, b.shape())
}

// shape is that of the input and of the output.
func (b *builder) shape() tensor.Shape {
	return tensor.Shape{b.batch, b.sides[0], b.sides[1], b.sides[2], 1}
}

// logits adds the network: the way down through residual blocks, the way up with a skip
// at every level, and the convolution of single voxels at the end.
func (b *builder) logits(x nn.Value) nn.Value {
	filters := b.network.config.Filters
	var skips []nn.Value
	for level, f := range filters {
		stride := 2
		if level == 0 {
			stride = 1
		}
		x = b.residual(blockName(level, len(filters)), x, f, stride)
		skips = append(skips, x)
	}
	for level := len(filters) - 2; level >= 0; level-- {
		x = b.up(fmt.Sprintf("up%d", len(filters)-2-level), x, skips[level], filters[level])
	}
	b.graph.Layer("out", nn.PhaseForward)
	w := b.weight("out", x.Shape(), 1, 1, false)
	return b.graph.Conv3D(w, b.vector("out.bias", 1, nn.Constant(0)), 1, x)
}

// blockName is the name of a residual block: inp, down, bottle; with more levels down1,
// down2 and so on.
func blockName(level, levels int) string {
	switch {
	case level == 0:
		return "inp"
	case level == levels-1:
		return "bottle"
	case levels == 3:
		return "down"
	}
	return fmt.Sprintf("down%d", level)
}

// residual adds a residual block.
func (b *builder) residual(name string, x nn.Value, filters, stride int) nn.Value {
	in := channels(x)
	short := in != filters || stride != 1
	w1, w2 := b.weight(name+".conv1", x.Shape(), filters, kernel, false), b.between(name+".conv2", filters)
	b.declareNorms(name, filters, "norm1", "norm2")
	var w3 nn.Value
	if short {
		w3 = b.weight(name+".conv3", x.Shape(), filters, 1, false)
		b.declareNorms(name, filters, "norm3")
	}
	y := b.normalised(name, 1, w1, stride, leak, nn.Value{}, x)
	shortcut := x
	if short {
		shortcut = b.normalised(name, 3, w3, stride, 1, nn.Value{}, x)
	}
	return b.normalised(name, 2, w2, 1, leak, shortcut, y)
}

// up adds a block that enlarges x, joins it with a skip and convolves both twice.
func (b *builder) up(name string, x, skip nn.Value, filters int) nn.Value {
	w := b.weight(name+".up", x.Shape(), filters, enlarging, true)
	joined := x.Shape()
	if len(joined) == 5 {
		joined = tensor.Shape{joined[0], joined[1], joined[2], joined[3], filters + channels(skip)}
	}
	w1, w2 := b.weight(name+".conv1", joined, filters, kernel, false), b.between(name+".conv2", filters)
	b.declareNorms(name, filters, "norm1", "norm2")
	b.graph.Layer(name+" up", nn.PhaseForward)
	x = b.graph.ConvTranspose3D(x, w)
	y := b.normalised(name, 1, w1, 1, leak, nn.Value{}, x, skip)
	return b.normalised(name, 2, w2, 1, leak, nn.Value{}, y)
}

// normalised adds convolution i of a block with its norm.
func (b *builder) normalised(name string, i int, w nn.Value, stride int, slope float32, residual nn.Value,
	x ...nn.Value) nn.Value {
	b.graph.Layer(fmt.Sprintf("%s %d", name, i), nn.PhaseForward)
	y := b.graph.Conv3D(w, nn.Value{}, stride, x...)
	return b.graph.InstanceNorm(fmt.Sprintf("%s.norm%d", name, i), y, residual, normEpsilon, slope)
}

// between returns the weights of a convolution from filters to as many.
func (b *builder) between(name string, filters int) nn.Value {
	return b.weight(name, tensor.Shape{0, 0, 0, 0, filters}, filters, kernel, false)
}

// weight declares the weights of a convolution of a volume, or of a transposed one.
func (b *builder) weight(name string, x tensor.Shape, out, side int, transposed bool) nn.Value {
	in := 1
	if len(x) == 5 {
		in = x[4]
	}
	first, second := out, in
	if transposed {
		first, second = in, out
	}
	shape, taps := []int{first, second}, 1
	for range b.network.config.Axes {
		shape, taps = append(shape, side), taps*side
	}
	fanIn := in * taps
	if transposed { // every voxel comes from one
		fanIn = in
	}
	return b.parameter(Parameter{name + ".weight", shape, fanIn}, kaiming(second*taps))
}

// vector declares numbers for channels.
func (b *builder) vector(name string, channels int, init nn.Init) nn.Value {
	return b.parameter(Parameter{Name: name, Shape: []int{channels}}, init)
}

// declareNorms declares the arrays of norms, which their operator uses by name.
func (b *builder) declareNorms(block string, channels int, names ...string) {
	for _, n := range names {
		b.vector(block+"."+n+".weight", channels, nn.Constant(1))
		b.vector(block+"."+n+".bias", channels, nn.Constant(0))
	}
}

func (b *builder) parameter(p Parameter, init nn.Init) nn.Value {
	if b.declare {
		b.network.parameters = append(b.network.parameters, p)
	}
	return b.graph.Parameter(p.Name, p.Shape, init)
}

// kaiming draws from the normal distribution of variance 2/((1 + leak²)·fan), PyTorch's
// Kaiming initialisation, whose fan is the number of weights per element of the first
// axis.
func kaiming(fan int) nn.Init {
	deviation := math.Sqrt(2 / ((1 + leak*leak) * float64(fan)))
	return func(r *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = float32(r.NormFloat64() * deviation)
		}
	}
}

// channels returns the channels of a volume; 1 after an error, which the graph reports.
func channels(x nn.Value) int {
	if s := x.Shape(); len(s) == 5 {
		return s[4]
	}
	return 1
}
