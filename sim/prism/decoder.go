package prism

import (
	"fmt"
	"slices"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// DecoderConfig describes the generative network of spec/prism.md §1.
type DecoderConfig struct {
	Size       int   // N: side of the field in pixels, a power of two, at least 4
	ObjectSize int   // S: side of the object's window in pixels, at most N; 0 is N
	Latent     int   // C: channels of the latent vector; 0 is N
	Channels   []int // channels after each layer, ending in 1; empty is PRISM's
	BatchNorm  bool

	// Activation is applied to the output: none, relu, leaky, sigmoid,
	// hardsigmoid, scalesigmoid, tanh; empty is none.
	Activation string

	Seed    uint64 // of the initial parameters
	AMSGrad bool   // allocates AMSGrad's maxima
}

// batchNorm has PyTorch's constants (spec/prism.md §1.3).
var batchNorm = nn.BatchNormOptions{Eps: 1e-5, Momentum: 0.1}

// Decoder is PRISM's progressive decoder: a trainable latent vector, transposed
// convolutions that grow it to the object's window, convolutions that refine it,
// and zero padding. Its parameters live in one nn.Model that all its plans share.
type Decoder struct {
	config     DecoderConfig
	upsampling int   // U: layers that double the side
	channels   []int // p: channels after each layer
	activation *nn.ActivationKind
	model      *nn.Model
	frozen     bool // convolutions and latent vector are not trained: no gradients, no moments
	folded     bool // normalisations are part of the convolutions; only if frozen
}

// NewDecoder declares the decoder's parameters; their initial values are drawn
// when the model's variables are first listed. Errors name the field of the
// configuration.
func NewDecoder(c DecoderConfig) (*Decoder, error) { return declareDecoder(c, false, false) }

func declareDecoder(c DecoderConfig, frozen, folded bool) (*Decoder, error) {
	if c.ObjectSize == 0 {
		c.ObjectSize = c.Size
	}
	if c.Latent == 0 {
		c.Latent = c.Size
	}
	d := &Decoder{config: c, model: nn.NewModel(nn.ModelOptions{Seed: c.Seed, AMSGrad: c.AMSGrad}), frozen: frozen,
		folded: folded}
	if err := d.plan(); err != nil {
		return nil, fmt.Errorf("decoder: %w", err)
	}
	g := nn.NewGraph(d.model)
	d.Output(g, OutputOptions{})
	if g.Err() != nil {
		return nil, fmt.Errorf("decoder: %w", g.Err())
	}
	return d, nil
}

// Model returns the registry of the decoder's parameters.
func (d *Decoder) Model() *nn.Model { return d.model }

// Config returns the configuration with its defaults filled in.
func (d *Decoder) Config() DecoderConfig { return d.config }

// Parameters returns the number of trainable numbers.
func (d *Decoder) Parameters() int { return d.model.ParameterCount() }

// Channels lists the channels after each layer.
func (d *Decoder) Channels() []int { return slices.Clone(d.channels) }

// plan checks the configuration and derives the layers.
func (d *Decoder) plan() error {
	c := &d.config
	switch {
	case c.Size < 4 || c.Size&(c.Size-1) != 0:
		return fmt.Errorf("size = %d: must be a power of two, 4 or more", c.Size)
	case c.ObjectSize < 1 || c.ObjectSize > c.Size:
		return fmt.Errorf("object_size = %d: must be from 1 to size, %d", c.ObjectSize, c.Size)
	case c.Latent < 1:
		return fmt.Errorf("latent = %d: must be positive", c.Latent)
	}
	for side := 4; side < c.ObjectSize; side *= 2 {
		d.upsampling++
	}
	var err error
	if d.activation, err = parseActivation(c.Activation); err != nil {
		return err
	}
	if len(c.Channels) == 0 {
		d.channels, err = halvedChannels(c.Latent, d.upsampling)
		return err
	}
	d.channels = slices.Clone(c.Channels)
	return checkChannels(d.channels, d.upsampling)
}

// halvedChannels returns the default progression, which halves the channels with
// every layer until one is left (spec/prism.md §1.1).
func halvedChannels(latent, upsampling int) ([]int, error) {
	var p []int
	n := latent
	for range upsampling + 1 {
		n /= 2
		p = append(p, n)
	}
	if n < 1 {
		return nil, fmt.Errorf("latent = %d: too few channels to halve %d times; must be %d or more",
			latent, upsampling+1, 1<<(upsampling+1))
	}
	for n > 1 {
		n /= 2
		p = append(p, n)
	}
	return p, nil
}

func checkChannels(p []int, upsampling int) error {
	switch {
	case len(p) < 2:
		return fmt.Errorf("channels = %v: must have at least two entries", p)
	case p[len(p)-1] != 1:
		return fmt.Errorf("channels = %v: must end in 1", p)
	case len(p) < upsampling+1:
		return fmt.Errorf("channels = %v: too short, the object's window takes %d layers or more", p, upsampling+1)
	}
	for _, n := range p {
		if n < 1 {
			return fmt.Errorf("channels = %v: must be positive", p)
		}
	}
	return nil
}

var activations = map[string]nn.ActivationKind{
	"relu": nn.ReLU, "leaky": nn.LeakyReLU, "sigmoid": nn.Sigmoid,
	"hardsigmoid": nn.HardSigmoid, "scalesigmoid": nn.ScaleSigmoid, "tanh": nn.Tanh,
}

func parseActivation(name string) (*nn.ActivationKind, error) {
	if name == "" || name == "none" {
		return nil, nil
	}
	kind, ok := activations[name]
	if !ok {
		return nil, fmt.Errorf("output_activation = %q: must be none, relu, leaky, sigmoid, hardsigmoid, "+
			"scalesigmoid or tanh", name)
	}
	return &kind, nil
}

// OutputOptions configure the decoder in a graph.
type OutputOptions struct {
	// BatchStatistics normalises with the batch's statistics and updates the
	// running ones, as PRISM always does; otherwise the running ones are used.
	BatchStatistics bool

	// Layers names the result of every convolution and normalisation as an
	// output of the plan: act.conv0, act.bn0, act.conv1, …
	Layers bool
}

// Output adds the decoder to a graph and returns its output, [1, 1, N, N], where
// the graph's forward segment ends.
func (d *Decoder) Output(g *nn.Graph, o OutputOptions) nn.Value {
	b := layerBuilder{decoder: d, graph: g, options: o}
	x := b.variable("latent", tensor.Shape{1, d.config.Latent, 1, 1}, nn.Normal())
	for i := range d.channels {
		x = b.layer(i, x)
	}
	g.Layer("output", nn.PhaseForward)
	if d.activation != nil {
		x = g.Activation(x, *d.activation)
	}
	x = g.CropPad(g.CropPad(x, d.config.ObjectSize), d.config.Size)
	g.EndForward(x)
	return x
}

// layerBuilder adds the decoder's layers to a graph.
type layerBuilder struct {
	decoder *Decoder
	graph   *nn.Graph
	options OutputOptions
}

// layer adds layer i of spec/prism.md §1.2: the first grows the latent vector to
// 4×4, the next U double the side, the rest refine. The last refining layer has
// no padding, which trims a pixel on each side. Normalisation and ReLU always
// follow an upsampling layer, and a refining layer if it has several channels;
// without normalisation refining layers are linear.
func (b layerBuilder) layer(i int, x nn.Value) nn.Value {
	d, g := b.decoder, b.graph
	g.Layer(fmt.Sprintf("layer %d", i+1), nn.PhaseForward)
	growing := i <= d.upsampling
	normalized := d.normalized(i)
	bias := !normalized || d.folded
	name := fmt.Sprintf("conv%d", i)
	if growing {
		stride, pad := 2, 1
		if i == 0 {
			stride, pad = 1, 0
		}
		x = b.convTranspose(name, x, d.channels[i], stride, pad, bias)
	} else {
		pad := 1
		if i == len(d.channels)-1 {
			pad = 0
		}
		x = b.conv(name, x, d.channels[i], pad, bias)
	}
	b.expose(name, x)
	if normalized && !d.folded {
		name = fmt.Sprintf("bn%d", i)
		o := batchNorm
		o.BatchStatistics = b.options.BatchStatistics
		x = g.BatchNorm(name, x, o)
		b.expose(name, x)
	}
	if growing || normalized {
		x = g.Activation(x, nn.ReLU)
	}
	return x
}

// normalized reports whether a normalisation follows the convolution of layer i.
func (d *Decoder) normalized(i int) bool {
	return d.config.BatchNorm && (i <= d.upsampling || d.channels[i] > 1)
}

// variable declares an array that is trained unless the decoder is frozen.
func (b layerBuilder) variable(name string, shape tensor.Shape, init nn.Init) nn.Value {
	if b.decoder.frozen {
		return b.graph.Statistic(name, shape, init)
	}
	return b.graph.Parameter(name, shape, init)
}

func (b layerBuilder) expose(name string, x nn.Value) {
	if b.options.Layers {
		b.graph.Output("act."+name, x)
	}
}

// convTranspose adds a transposed convolution with a 4×4 kernel.
func (b layerBuilder) convTranspose(name string, x nn.Value, out, stride, pad int, bias bool) nn.Value {
	const k = 4
	init := nn.FanInUniform(out * k * k)
	w := b.variable(name+".weight", tensor.Shape{b.channels(x), out, k, k}, init)
	return b.graph.ConvTranspose2D(x, w, b.bias(name, out, bias, init), stride, pad, 0)
}

// conv adds a convolution with a 3×3 kernel.
func (b layerBuilder) conv(name string, x nn.Value, out, pad int, bias bool) nn.Value {
	const k = 3
	in := b.channels(x)
	init := nn.FanInUniform(in * k * k)
	w := b.variable(name+".weight", tensor.Shape{out, in, k, k}, init)
	return b.graph.Conv2D(x, w, b.bias(name, out, bias, init), 1, pad)
}

func (b layerBuilder) bias(name string, out int, bias bool, init nn.Init) nn.Value {
	if !bias {
		return nn.Value{}
	}
	return b.variable(name+".bias", tensor.Shape{out}, init)
}

// channels returns the number of channels of x, or 1 after an error that the
// graph reports.
func (b layerBuilder) channels(x nn.Value) int {
	if !x.Exists() {
		return 1
	}
	return x.Shape()[1]
}

// Reach returns the half-open range of rows, and of columns, in which the
// decoder's output can be non-zero: padding and trimming leave a dark border in
// the object's window (spec/prism.md §1.4).
func (d *Decoder) Reach() (first, end int) {
	side := 4 << d.upsampling
	if len(d.channels) > d.upsampling+1 {
		side -= 2 // the last convolution has no padding
	}
	first, end = cropPadRange(0, side, side, d.config.ObjectSize)
	return cropPadRange(first, end, d.config.ObjectSize, d.config.Size)
}

// cropPadRange follows the range [first, end) of a side through PRISM's crop or
// pad to a target.
func cropPadRange(first, end, side, target int) (int, int) {
	shift := (target - side) / 2
	if target < side {
		shift = -((side-target)/2 + 1)
	}
	return max(first+shift, 0), min(end+shift, target)
}
