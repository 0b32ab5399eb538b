package ptycho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Config describes a network (spec/ptycho-cyto.md §A1.2).
type Config struct {
	Size         int  // N, the side of a diffraction pattern: 64, 128 or 256
	GridSize     int  // groups are of GridSize² patterns
	FiltersScale int  // factor of all numbers of filters
	ProbeBig     bool // the heads also draw the border outside the central N/2×N/2

	// AmpActivation is the activation of the amplitude's centre, one of AmpActivations; empty is the first.
	AmpActivation string

	// Heads are whose heads the network has, one of HeadKinds; empty is the first.
	Heads string

	Seed uint64 // of the initial parameters
}

// DefaultConfig is PtychoPINN's default for patterns of 64×64.
func DefaultConfig() Config {
	return Config{Size: 64, GridSize: 1, FiltersScale: 2, ProbeBig: true}
}

// Sizes are the possible sides of a diffraction pattern.
func Sizes() []int { return []int{64, 128, 256} }

// AmpActivations are the activations of the amplitude's centre.
func AmpActivations() []string { return []string{"sigmoid", "swish", "softplus", "relu"} }

// HeadKinds are the programs whose heads a network may have. They differ in the channels that draw the border: four
// of the decoder's in the Keras model, one for each pattern of a group in ptycho_torch, which then has 32 filters for
// a scale of 1 at every size.
func HeadKinds() []string { return []string{"keras", headsOfPort} }

const headsOfPort = "ptycho_torch"

// border returns the channels that draw the border, and the filters that they pass.
func (c Config) border() (channels, filters int) {
	if c.Heads == headsOfPort {
		return c.Channels(), 32 * c.FiltersScale
	}
	return outerChannels, c.FiltersScale * 2048 / c.Size
}

// Bounds of a Config, against typing errors.
const (
	maxGridSize     = 8
	maxFiltersScale = 64
)

// outerChannels is the number of the decoder's channels that draw the border in the Keras model.
const outerChannels = 4

// stages are the filters of the encoder's and the decoders' stages, for a filter scale
// of 1.
var stages = map[int]struct{ encoder, decoder []int }{
	64:  {[]int{32, 64, 128}, []int{64, 32}},
	128: {[]int{16, 32, 64, 128}, []int{128, 64, 32}},
	256: {[]int{8, 16, 32, 64, 128}, []int{256, 128, 64, 32}},
}

// FirstFilters returns the number of filters of the encoder's first stage for a filter
// scale of 1, or 0 for a size that no network has.
func FirstFilters(size int) int {
	if s, ok := stages[size]; ok {
		return s.encoder[0]
	}
	return 0
}

// check returns an error that names the first value out of range.
func (c Config) check() error {
	switch {
	case !slices.Contains(Sizes(), c.Size):
		return fmt.Errorf("size = %d: must be 64, 128 or 256", c.Size)
	case c.GridSize < 1 || c.GridSize > maxGridSize:
		return fmt.Errorf("gridsize = %d: must be from 1 to %d", c.GridSize, maxGridSize)
	case c.FiltersScale < 1 || c.FiltersScale > maxFiltersScale:
		return fmt.Errorf("filters_scale = %d: must be from 1 to %d", c.FiltersScale, maxFiltersScale)
	case c.AmpActivation != "" && !slices.Contains(AmpActivations(), c.AmpActivation):
		return fmt.Errorf("amp_activation = %s: must be sigmoid, swish, softplus or relu", c.AmpActivation)
	case c.Heads != "" && !slices.Contains(HeadKinds(), c.Heads):
		return fmt.Errorf("heads = %s: must be keras or ptycho_torch", c.Heads)
	}
	return nil
}

// Channels is the number of patterns of a group.
func (c Config) Channels() int { return c.GridSize * c.GridSize }

// A Network is the registry of a network's parameters. All its plans run on one
// nn.State.
type Network struct {
	config Config
	model  *nn.Model
	convs  []conv // in the order of declaration
}

// conv is a convolution of 3×3 from in to out channels.
type conv struct {
	name    string
	in, out int
}

// scaleParameter is the name of the logarithm of the factor by which diffraction
// amplitudes are multiplied outside the network, and divided inside.
const scaleParameter = "log_scale"

// New declares the parameters of a network.
func New(c Config) (*Network, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("ptycho network: %w", err)
	}
	n := &Network{config: c, model: nn.NewModel(nn.ModelOptions{Seed: c.Seed})}
	g := nn.NewGraph(n.model) // whose steps are not used
	b := n.builder(g, 1)
	b.declare = true
	b.object()
	return n, g.Err()
}

// Config returns the configuration.
func (n *Network) Config() Config { return n.config }

// Model returns the registry of the parameters.
func (n *Network) Model() *nn.Model { return n.model }

// Parameters returns the number of the convolutions' weights and biases. The model has
// one more, the scale.
func (n *Network) Parameters() int { return n.model.ParameterCount() - 1 }

// builder adds the network to a graph.
type builder struct {
	network *Network
	graph   *nn.Graph
	batch   int
	declare bool // list the convolutions
}

func (n *Network) builder(g *nn.Graph, batch int) *builder {
	return &builder{network: n, graph: g, batch: batch}
}

// heads adds the encoder and both heads: amplitude and phase, [B, C, N, N].
func (b *builder) heads() (amplitude, phase nn.Value) {
	g, c := b.graph, b.network.config
	g.Layer("input", nn.PhaseForward)
	x := g.Input(DiffractionInput, tensor.Shape{b.batch, c.Channels(), c.Size, c.Size})
	x = g.ExpScale(x, g.Parameter(scaleParameter, nil, nn.Constant(0)), -1)
	for i, filters := range stages[c.Size].encoder {
		layer := fmt.Sprintf("encoder %d", i+1)
		x = b.pair(layer, fmt.Sprintf("enc.%d", i), x, filters*c.FiltersScale)
		x = g.MaxPool(x)
	}
	return b.head("amp", x, b.amplitudeActivation), b.head("phase", x, (*nn.Graph).PiTanh)
}

func (b *builder) amplitudeActivation(g *nn.Graph, x nn.Value) nn.Value {
	switch b.network.config.AmpActivation {
	case "swish":
		return g.Swish(x)
	case "softplus":
		return g.Softplus(x)
	case "relu":
		return g.Activation(x, nn.ReLU)
	}
	return g.Activation(x, nn.Sigmoid)
}

// object adds the whole network for inference: the merged object of each group,
// [B, 1, N, N], complex.
func (b *builder) object() nn.Value {
	amplitude, phase := b.heads()
	return b.merge(amplitude, phase, b.network.config.Size)
}

// head adds a decoder and its outputs (§A1.2): the inner channels draw the central
// N/2×N/2, the outer ones the border.
func (b *builder) head(name string, x nn.Value, activation func(*nn.Graph, nn.Value) nn.Value) nn.Value {
	g, c := b.graph, b.network.config
	for i, filters := range stages[c.Size].decoder {
		if i > 0 {
			x = g.Upsample(x)
		}
		layer := fmt.Sprintf("%s decoder %d", name, i+1)
		x = b.pair(layer, fmt.Sprintf("%s.stages.%d", name, i), x, filters*c.FiltersScale)
	}
	layer := name + " output"
	g.Layer(layer, nn.PhaseForward)
	border, filters := c.border()
	inner, outer := g.Split(x, channels(x)-border) // before the last upsampling, which each part may fuse
	inner = activation(g, b.conv(layer, name+".inner", g.Upsample(inner), c.Channels()))
	quarter := c.Size / 4
	if !c.ProbeBig {
		return g.Place(inner, quarter, quarter, c.Size, c.Size)
	}
	layer = name + " border"
	outer = g.Activation(b.conv(layer, name+".outer_a", g.Upsample(outer), filters), nn.ReLU)
	outer = g.Activation(b.conv(layer, name+".outer_b", outer, filters), nn.ReLU)
	outer = g.Swish(b.conv(layer, name+".outer_c", g.Upsample(outer), c.Channels()))
	return g.Inset(outer, inner, quarter, quarter)
}

// pair adds two convolutions, each with a ReLU.
func (b *builder) pair(layer, name string, x nn.Value, filters int) nn.Value {
	x = b.graph.Activation(b.conv(layer+"a", name+".a", x, filters), nn.ReLU)
	return b.graph.Activation(b.conv(layer+"b", name+".b", x, filters), nn.ReLU)
}

// conv adds a convolution with zero padding to the same size.
func (b *builder) conv(layer, name string, x nn.Value, out int) nn.Value {
	g, in := b.graph, channels(x)
	g.Layer(layer, nn.PhaseForward)
	if b.declare {
		b.network.convs = append(b.network.convs, conv{name, in, out})
	}
	w := g.Parameter(name+".weight", tensor.Shape{out, in, kernel, kernel}, glorot(in, out))
	return g.Conv2D(x, w, g.Parameter(name+".bias", tensor.Shape{out}, nn.Constant(0)), 1, kernel/2)
}

// channels returns the channels of an image; 1 after an error, which the graph reports.
func channels(x nn.Value) int {
	if !x.Exists() {
		return 1
	}
	return x.Shape()[1]
}

// kernel is the side of every convolution's kernel.
const kernel = 3

// glorot draws from U(−b, b) with b = √(6/(fan in + fan out)), Keras's default.
func glorot(in, out int) nn.Init {
	b := math.Sqrt(6 / float64(kernel*kernel*(in+out)))
	return func(r *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = float32((2*r.Float64() - 1) * b)
		}
	}
}
