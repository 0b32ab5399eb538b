package nn_test

import (
	"strings"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

func newGraph() *nn.Graph { return nn.NewGraph(nn.NewModel(nn.ModelOptions{})) }

func TestConvolutionShapes(t *testing.T) {
	cases := []struct {
		name                string
		transposed          bool
		x, w                tensor.Shape
		stride, pad, outPad int
		want                string
	}{
		{"same", false, tensor.Shape{2, 3, 7, 9}, tensor.Shape{5, 3, 3, 3}, 1, 1, 0, "2x5x7x9"},
		{"valid", false, tensor.Shape{1, 2, 10, 10}, tensor.Shape{1, 2, 3, 3}, 1, 0, 0, "1x1x8x8"},
		{"strided", false, tensor.Shape{2, 3, 9, 8}, tensor.Shape{4, 3, 5, 5}, 2, 2, 0, "2x4x5x4"},
		{"kernel as large as the image", false, tensor.Shape{1, 1, 3, 3}, tensor.Shape{1, 1, 3, 3}, 1, 0, 0, "1x1x1x1"},
		{"latent", true, tensor.Shape{1, 64, 1, 1}, tensor.Shape{64, 32, 4, 4}, 1, 0, 0, "1x32x4x4"},
		{"doubling", true, tensor.Shape{1, 6, 5, 7}, tensor.Shape{6, 5, 4, 4}, 2, 1, 0, "1x5x10x14"},
		{"output padding", true, tensor.Shape{1, 2, 4, 5}, tensor.Shape{2, 3, 3, 3}, 2, 1, 1, "1x3x8x10"},
	}
	for _, c := range cases {
		g := newGraph()
		x, w := g.Input("x", c.x), g.Parameter("w", c.w, nn.Constant(1))
		var y nn.Value
		if c.transposed {
			y = g.ConvTranspose2D(x, w, nn.Value{}, c.stride, c.pad, c.outPad)
		} else {
			y = g.Conv2D(x, w, nn.Value{}, c.stride, c.pad)
		}
		if g.Err() != nil || y.Shape().String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, y.Shape(), g.Err(), c.want)
		}
	}
}

// The offsets of spec/prism.md §1.4.
func TestCropPadOffsets(t *testing.T) {
	cases := []struct {
		h, w, target, top, left int
	}{
		{126, 126, 128, 1, 1},
		{128, 128, 512, 192, 192},
		{73, 73, 1024, 475, 475},
		{126, 126, 73, -27, -27},
		{5, 5, 8, 1, 1},      // the smaller half before
		{10, 10, 9, -1, -1},  // ⌊1/2⌋+1
		{10, 10, 8, -2, -2},  // ⌊2/2⌋+1: the last rows
		{10, 7, 12, 1, 2},    // each axis by its own
		{30, 31, 16, -8, -8}, // ⌊14/2⌋+1, ⌊15/2⌋+1
	}
	for _, c := range cases {
		g := newGraph()
		y := g.CropPad(g.Input("x", tensor.Shape{1, 1, c.h, c.w}), c.target)
		g.Output("y", y)
		p, err := nn.Compile(t.Context(), g, nn.Value{}, nn.Options{})
		if err != nil {
			t.Errorf("%dx%d to %d: %v", c.h, c.w, c.target, err)
			continue
		}
		if want := (nn.Place{Top: c.top, Left: c.left}); len(p.Steps) != 1 || p.Steps[0].Op != nn.Op(want) {
			t.Errorf("%dx%d to %d: %#v, want %#v", c.h, c.w, c.target, p.Steps[0].Op, want)
		}
		if h, w := y.Shape().Plane(); h != c.target || w != c.target {
			t.Errorf("%dx%d to %d: %v", c.h, c.w, c.target, y.Shape())
		}
	}
}

func TestCropPadToTheSameSizeIsNothing(t *testing.T) {
	g := newGraph()
	x := g.Input("x", tensor.Shape{1, 1, 8, 8})
	if g.CropPad(x, 8) != x {
		t.Error("a step was added")
	}
}

// Every mistake is reported by Compile as the first one, with its layer.
func TestMistakesNameTheLayer(t *testing.T) {
	img := tensor.Shape{1, 2, 8, 8}
	cases := []struct {
		name  string
		build func(g *nn.Graph, x nn.Value) nn.Value
		want  string
	}{
		{"channels", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Conv2D(x, g.Parameter("w", tensor.Shape{4, 3, 3, 3}, nn.Normal()), nn.Value{}, 1, 1)
		}, "take 3 channels"},
		{"transposed channels", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.ConvTranspose2D(x, g.Parameter("w", tensor.Shape{4, 2, 3, 3}, nn.Normal()), nn.Value{}, 1, 1, 0)
		}, "take 4 channels"},
		{"bias", func(g *nn.Graph, x nn.Value) nn.Value {
			w := g.Parameter("w", tensor.Shape{4, 2, 3, 3}, nn.Normal())
			return g.Conv2D(x, w, g.Parameter("b", tensor.Shape{5}, nn.Normal()), 1, 1)
		}, "bias has shape 5"},
		{"kernel too large", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Conv2D(x, g.Parameter("w", tensor.Shape{4, 2, 11, 11}, nn.Normal()), nn.Value{}, 1, 1)
		}, "larger than the padded image"},
		{"output padding", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.ConvTranspose2D(x, g.Parameter("w", tensor.Shape{2, 4, 3, 3}, nn.Normal()), nn.Value{}, 1, 1, 1)
		}, "output padding 1"},
		{"no weights", func(g *nn.Graph, x nn.Value) nn.Value { return g.Conv2D(x, nn.Value{}, nn.Value{}, 1, 1) }, "missing"},
		{"add", func(g *nn.Graph, x nn.Value) nn.Value { return g.Add(x, g.Input("y", tensor.Shape{1, 2, 8, 9})) }, "add of"},
		{"concat", func(g *nn.Graph, x nn.Value) nn.Value { return g.Concat(x, g.Input("y", tensor.Shape{1, 2, 8, 9})) }, "concat of"},
		{"mask size", func(g *nn.Graph, x nn.Value) nn.Value { return g.Telescope(x, g.Input("m", tensor.Shape{8, 9})) }, "mask has shape"},
		{"mask of an image", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.MaskMultiply(x, g.Input("m", tensor.Shape{8, 8}))
		}, "needs a spectrum"},
		{"several planes", func(g *nn.Graph, x nn.Value) nn.Value { return g.Loss(x, x, nn.L1, false) }, "one plane"},
		{"loss of two sizes", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Loss(g.Input("y", tensor.Shape{1, 8, 8}), g.Input("z", tensor.Shape{1, 8, 9}), nn.L1, false)
		}, "1x8x8 against 1x8x9"},
		{"small SSIM", func(g *nn.Graph, x nn.Value) nn.Value {
			y := g.Input("y", tensor.Shape{5, 9})
			return g.Loss(y, y, nn.SSIM, false)
		}, "sides above 5"},
		{"small MS-SSIM", func(g *nn.Graph, x nn.Value) nn.Value {
			y := g.Input("y", tensor.Shape{10, 20})
			return g.Loss(y, y, nn.MSSSIM, false)
		}, "sides of 11"},
		{"weights of a sum", func(g *nn.Graph, x nn.Value) nn.Value { return g.WeightedSum([]float32{1}, x, x) }, "2 operands and 1 weights"},
		{"sum of images", func(g *nn.Graph, x nn.Value) nn.Value { return g.WeightedSum([]float32{1}, x) }, "needs scalars"},
		{"one pixel has no variance", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.BatchNorm("bn", g.Input("y", tensor.Shape{1, 4, 1, 1}), nn.BatchNormOptions{BatchStatistics: true})
		}, "no variance"},
		{"crop of a thin image", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.CropPad(g.Input("y", tensor.Shape{1, 1, 4, 20}), 8)
		}, "both sides"},
		{"input of two shapes", func(g *nn.Graph, x nn.Value) nn.Value { return g.Input("x", tensor.Shape{3}) }, "has shape"},
		{"parameter of two shapes", func(g *nn.Graph, x nn.Value) nn.Value {
			g.Parameter("w", tensor.Shape{3}, nn.Normal())
			return g.Parameter("w", tensor.Shape{4}, nn.Normal())
		}, "has shape 3"},
		{"the optimiser's input", func(g *nn.Graph, x nn.Value) nn.Value { return g.Input("lr", nil) }, "optimiser"},
		{"another graph's value", func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Add(x, newGraph().Input("x", img))
		}, "another graph"},
	}
	for _, c := range cases {
		g := newGraph()
		g.Layer("layer 7", nn.PhaseForward)
		x := g.Input("x", img)
		y := c.build(g, x)
		g.Output("y", g.Activation(y, nn.ReLU)) // goes on after the mistake
		_, err := nn.Compile(t.Context(), g, nn.Value{}, nn.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "layer 7") {
			t.Errorf("%s: error %v, want one with %q and the layer", c.name, err, c.want)
		}
	}
}

func TestMSSSIMScales(t *testing.T) {
	for _, c := range []struct{ h, w, want int }{
		{512, 512, 5}, {176, 176, 5}, {175, 200, 4}, {64, 64, 3}, {11, 11, 1}, {10, 99, 0},
	} {
		if got := nn.MSSSIMScales(c.h, c.w); got != c.want {
			t.Errorf("%dx%d: %d scales, want %d", c.h, c.w, got, c.want)
		}
	}
}
