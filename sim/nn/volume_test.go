package nn_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// volumeNetwork uses every operator of networks on volumes: a residual block with a
// stride, a way back up with a skip, and both losses.
func volumeNetwork(m *nn.Model) (*nn.Graph, nn.Value) {
	g := nn.NewGraph(m)
	g.Layer("net", nn.PhaseForward)
	weight := func(name string, shape ...int) nn.Value {
		return g.Parameter(name, shape, nn.FanInUniform(tensor.Shape(shape[1:]).Elements()))
	}
	x := g.Parameter("x", tensor.Shape{2, 3, 4, 5, 2}, nn.Normal())
	x = g.Conv3D(weight("w0", 3, 2, 1, 1, 1), g.Parameter("b0", tensor.Shape{3}, nn.Normal()), 1, x)
	down := g.InstanceNorm("n1", g.Conv3D(weight("w1", 4, 3, 3, 3, 3), nn.Value{}, 2, x), nn.Value{}, 1e-2, 1)
	short := g.InstanceNorm("n2", g.Conv3D(weight("w2", 4, 3, 1, 1, 1), nn.Value{}, 2, x), nn.Value{}, 1e-2, 1)
	down = g.InstanceNorm("n3", g.Conv3D(weight("w3", 4, 4, 3, 3, 3), nn.Value{}, 1, down), short, 1e-2, 0.6) // steeper corners would bend the differences
	up := g.ConvTranspose3D(down, weight("wt", 4, 3, 2, 2, 2))                                                // 4x4x6
	skip := g.ConvTranspose3D(down, weight("ws", 4, 2, 2, 2, 2))
	z := g.Conv3D(weight("w4", 1, 5, 3, 3, 3), nn.Value{}, 1, up, skip)
	g.EndForward(z)
	target := g.Input("target", z.Shape())
	dice, bce, probability := g.DiceBCE(z, target, 1e-5)
	g.Output("probability", probability)
	loss := g.WeightedSum([]float32{10, 5, 20}, dice, bce, g.SquaredError(z, target))
	g.Output("loss", loss)
	return g, loss
}

// See TestGradientsMatchDifferences for the tolerance.
func TestVolumeGradientsMatchDifferences(t *testing.T) {
	g, loss := volumeNetwork(nn.NewModel(nn.ModelOptions{Seed: 3}))
	d := newDevice(t, g, loss, nn.Options{Train: true})
	id, _ := d.plan.Input("target")
	target, r := make([]float32, d.plan.Buffers[id].Shape.Elements()), rand.New(rand.NewPCG(9, 9))
	for i := range target {
		target[i] = float32(r.IntN(2))
	}
	d.exe.Write(id, target)
	d.run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
	compareWithDifferences(t, d)
}

// A skip that belongs to a network's input gets no gradient, and one to a volume that no
// parameter leads to is not computed.
func TestGradientsOfDataAreNotComputed(t *testing.T) {
	g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
	g.Layer("net", nn.PhaseForward)
	w := g.Parameter("w", tensor.Shape{1, 2, 3, 3}, nn.Normal())
	x := g.Input("x", tensor.Shape{1, 1, 6, 6, 1})
	p := g.Parameter("p", tensor.Shape{1, 1, 6, 6, 1}, nn.Normal())
	loss := g.SquaredError(g.Conv3D(w, nn.Value{}, 1, x, p), x)
	plan, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true, Adam: nn.AdamOptions{Decay: 1e-4}})
	if err != nil {
		t.Fatal(err)
	}
	gradients := 0
	for _, s := range plan.Steps {
		switch op := s.Op.(type) {
		case nn.Conv3DGradInput:
			gradients++
			if op.First != 1 {
				t.Errorf("%s: of channel %d", s.Name, op.First)
			}
		case nn.Adam:
			if op.Decay != 1e-4 || op.Beta2 != nn.DefaultAdam.Beta2 {
				t.Errorf("%s: %+v", s.Name, op)
			}
		}
	}
	if gradients != 1 {
		t.Errorf("%d gradients of volumes, want that of the parameter", gradients)
	}
}

func TestVolumeMistakesAreNamed(t *testing.T) {
	none := nn.Value{}
	for want, build := range map[string]func(g *nn.Graph, x nn.Value) nn.Value{
		"net: conv needs weights of four or five axes": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Conv3D(g.Parameter("w", tensor.Shape{2, 3}, nn.Normal()), none, 1, x)
		},
		"net: conv stride 1, kernel [1 2 2]": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Conv3D(g.Parameter("w", tensor.Shape{2, 3, 2, 2}, nn.Normal()), none, 1, x)
		},
		"net: conv weights 2x4x3x3 take 4 channels, the volumes have 3": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Conv3D(g.Parameter("w", tensor.Shape{2, 4, 3, 3}, nn.Normal()), none, 1, x)
		},
		"net: conv has 1 operands": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.Conv3D(g.Parameter("w", tensor.Shape{2, 3, 3, 3}, nn.Normal()), none, 1)
		},
		"net: convT weights 2x4x2x2x2 take 2 channels": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.ConvTranspose3D(x, g.Parameter("w", tensor.Shape{2, 4, 2, 2, 2}, nn.Normal()))
		},
		"net: instance norm with epsilon 1 and slope 2": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.InstanceNorm("n", x, none, 1, 2)
		},
		"net: instance norm needs a volume": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.InstanceNorm("n", g.Input("image", tensor.Shape{1, 2, 3, 4}), none, 1, 1)
		},
		"net: squared error of float32 1x4x4x4x3 against": func(g *nn.Graph, x nn.Value) nn.Value {
			return g.SquaredError(x, g.Input("t", tensor.Shape{1, 4, 4, 4, 2}))
		},
	} {
		g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
		g.Layer("net", nn.PhaseForward)
		g.Output("y", build(g, g.Input("x", tensor.Shape{1, 4, 4, 4, 3})))
		if _, err := nn.Compile(t.Context(), g, none, nn.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
