package cpu_test

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/npy/npytest"
	"prismtop/sim/tensor"
)

// golden reads reference vectors: inputs in float32, results of PyTorch in float64
// (suffix _64) and float32 (_32).
type golden struct {
	t    *testing.T
	file *npytest.Reader
}

func openGolden(t *testing.T, name string) golden {
	t.Helper()
	path := filepath.Join("../../../shared/golden", name)
	r, err := npytest.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no reference vectors: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return golden{t, r}
}

func (g golden) has(name string) bool { return g.file.Has(name) }

func (g golden) shape(name string) tensor.Shape {
	g.t.Helper()
	if !g.file.Has(name) {
		g.t.Fatalf("no array %q", name)
	}
	return g.file.Shape(name)
}

func (g golden) read(name string, into any) {
	g.t.Helper()
	if err := g.file.Read(name, into); err != nil {
		g.t.Fatalf("array %q: %v", name, err)
	}
}

// array reads a float32, uint8 or complex64 input.
func (g golden) array(name string) nntest.Array {
	g.t.Helper()
	a := nntest.Array{Shape: g.shape(name)}
	switch d := g.file.Kind(name); d {
	case "<f4":
		g.read(name, &a.Values)
	case "|u1":
		var bytes []uint8
		g.read(name, &bytes)
		for _, v := range bytes {
			a.Values = append(a.Values, float32(v))
		}
	case "<c8":
		var z []complex64
		g.read(name, &z)
		a.DType = tensor.Complex64
		for _, v := range z {
			a.Values = append(a.Values, real(v), imag(v))
		}
	default:
		g.t.Fatalf("array %q is of type %s", name, d)
	}
	return a
}

// floats reads an array of any type as float64, complex ones as pairs.
func (g golden) floats(name string) []float64 {
	g.t.Helper()
	var out []float64
	switch d := g.file.Kind(name); d {
	case "<f8":
		g.read(name, &out)
	case "<c16":
		var z []complex128
		g.read(name, &z)
		for _, v := range z {
			out = append(out, real(v), imag(v))
		}
	default:
		for _, v := range g.array(name).Values {
			out = append(out, float64(v))
		}
	}
	return out
}

// check accepts got when it is as near to the float64 result as a float32 program
// may be: 8·max|_32 − _64| + 1e-6·max|_64|, the rule of the vectors' README.
func (g golden) check(name string, got []float32) {
	g.t.Helper()
	want, single := g.floats(name+"_64"), g.floats(name+"_32")
	if len(got) != len(want) {
		g.t.Errorf("%s: %d values, want %d", name, len(got), len(want))
		return
	}
	rounding, largest, worst, at := 0.0, 0.0, 0.0, 0
	for i, w := range want {
		rounding, largest = max(rounding, math.Abs(single[i]-w)), max(largest, math.Abs(w))
		if d := math.Abs(float64(got[i]) - w); d > worst || math.IsNaN(d) {
			worst, at = d, i
		}
	}
	limit := 8*rounding + 1e-6*largest
	if !(worst <= limit) {
		g.t.Errorf("%s[%d] = %v, want %v: off by %.3g, allowed %.3g", name, at, got[at], want[at], worst, limit)
	}
	g.t.Logf("%-24s off by %.2g of %.2g allowed", name, worst, limit)
}

func like(a nntest.Array) nntest.Result { return nntest.Result{Shape: a.Shape} }

func TestGoldenConvolutions(t *testing.T) { forEachKernels(t, goldenConvolutions) }

func goldenConvolutions(t *testing.T, be *cpu.Backend) {
	g := openGolden(t, "conv.npz")
	for _, name := range []string{"conv_a", "conv_b", "conv_c", "conv_d", "conv_e", "conv_f", "conv_g", "conv_h",
		"convt_a", "convt_b", "convt_c", "convt_d", "convt_e", "convt_f", "convt_g"} {
		t.Run(name, func(t *testing.T) {
			g := golden{t, g.file}
			var geometry []int64
			g.read(name+".geom", &geometry)
			stride, pad, outputPad := int(geometry[0]), int(geometry[1]), int(geometry[2])
			x, w, gy := g.array(name+".x"), g.array(name+".w"), g.array(name+".gy")
			var forward, gradX, gradW nn.Op = nn.Conv2D{Stride: stride, Pad: pad},
				nn.Conv2DGradInput{Stride: stride, Pad: pad}, nn.Conv2DGradWeight{Stride: stride, Pad: pad}
			if name[:5] == "convt" {
				forward = nn.ConvTranspose2D{Stride: stride, Pad: pad, OutputPad: outputPad}
				gradX = nn.ConvTranspose2DGradInput{Stride: stride, Pad: pad}
				gradW = nn.ConvTranspose2DGradWeight{Stride: stride, Pad: pad}
			}
			in := []nntest.Array{x, w}
			if g.has(name + ".b") {
				in = append(in, g.array(name+".b"))
				g.check(name+".gb", nntest.Apply(t, be, nn.BiasGrad{}, []nntest.Array{gy}, like(in[2]))[0])
			}
			g.check(name+".y", nntest.Apply(t, be, forward, in, like(gy))[0])
			g.check(name+".gx", nntest.Apply(t, be, gradX, []nntest.Array{gy, w}, like(x))[0])
			g.check(name+".gw", nntest.Apply(t, be, gradW, []nntest.Array{x, gy}, like(w))[0])
		})
	}
}

func TestGoldenLayers(t *testing.T) { forEachKernels(t, goldenLayers) }

func goldenLayers(t *testing.T, be *cpu.Backend) {
	g := openGolden(t, "layers.npz")
	for _, name := range []string{"bn_a", "bn_b", "bn_c"} {
		x, gamma := g.array(name+".x"), g.array(name+".gamma")
		in := []nntest.Array{x, gamma, g.array(name + ".beta"), g.array(name + ".rm0"), g.array(name + ".rv0")}
		vector := like(gamma)
		out := nntest.Apply(t, be, nn.BatchNorm{Eps: 1e-5, Momentum: 0.1, Train: true}, in, like(x), vector, vector,
			nntest.Result{InPlace: true, Input: 3}, nntest.Result{InPlace: true, Input: 4})
		g.check(name+".y", out[0])
		g.check(name+".rm1", out[3])
		g.check(name+".rv1", out[4])
		saved := func(v []float32) nntest.Array { return nntest.Array{Shape: gamma.Shape, Values: v} }
		grads := nntest.Apply(t, be, nn.BatchNormGrad{},
			[]nntest.Array{x, g.array(name + ".gy"), gamma, saved(out[1]), saved(out[2])}, like(x), vector, vector)
		g.check(name+".gx", grads[0])
		g.check(name+".ggamma", grads[1])
		g.check(name+".gbeta", grads[2])
		g.check(name+".yeval", nntest.Apply(t, be, nn.BatchNorm{Eps: 1e-5}, in, like(x))[0])
	}
	x, gy := g.array("act.x"), g.array("act.gy")
	for name, kind := range map[string]nn.ActivationKind{"relu": nn.ReLU, "sigmoid": nn.Sigmoid} {
		y := nntest.Apply(t, be, nn.Activation{Kind: kind}, []nntest.Array{x}, like(x))[0]
		g.check("act."+name, y)
		g.check("act."+name+"_gx", nntest.Apply(t, be, nn.ActivationGrad{Kind: kind},
			[]nntest.Array{{Shape: x.Shape, Values: y}, gy}, like(x))[0])
	}
	pad := g.array("pad.y")
	for i, v := range nntest.Apply(t, be, nn.Place{Top: 1, Left: 1}, []nntest.Array{g.array("pad.x")}, like(pad))[0] {
		if v != pad.Values[i] {
			t.Errorf("pad.y[%d] = %v, want %v", i, v, pad.Values[i])
		}
	}
}

func TestGoldenLosses(t *testing.T) { forEachKernels(t, goldenLosses) }

func goldenLosses(t *testing.T, be *cpu.Backend) {
	g := openGolden(t, "loss.npz")
	for _, name := range []string{"s_a", "s_b", "s_c", "s_d", "s_e"} {
		for _, c := range []struct {
			name      string
			kind      nn.LossKind
			normalize bool
		}{{"dssim", nn.SSIM, false}, {"l1", nn.L1, false}, {"l1n", nn.L1, true}, {"mse", nn.L2, false}} {
			loss, gradient := nntest.ApplyLoss(t, be, c.kind, c.normalize, g.array(name+".a"), g.array(name+".b"), 1)
			g.check(name+"."+c.name, []float32{loss})
			g.check(name+"."+c.name+"_ga", gradient)
		}
	}
}

func TestGoldenAdam(t *testing.T) { forEachKernels(t, goldenAdam) }

func goldenAdam(t *testing.T, be *cpu.Backend) {
	g := openGolden(t, "adam.npz")
	p0, grads := g.array("p0"), g.array("grads")
	n := p0.Shape.Elements()
	for _, name := range []string{"adam", "amsgrad"} {
		array := func(v []float32) nntest.Array { return nntest.Array{Shape: p0.Shape, Values: v} }
		one := func(v float32) nntest.Array { return nntest.Array{Shape: tensor.Shape{}, Values: []float32{v}} }
		op := nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, AMSGrad: name == "amsgrad"}
		state := [][]float32{p0.Values, make([]float32, n), make([]float32, n)}
		if op.AMSGrad {
			state = append(state, make([]float32, n))
		}
		var history []float32
		for k := range 5 {
			in := []nntest.Array{array(grads.Values[k*n:][:n]), one(1e-3), one(float32(k + 1))}
			var out []nntest.Result
			for i, v := range state {
				in, out = append(in, array(v)), append(out, nntest.Result{InPlace: true, Input: 3 + i})
			}
			state = nntest.Apply(t, be, op, in, out...)
			history = append(history, state[0]...)
		}
		g.check(name+".p", history)
		g.check(name+".m", state[1])
		g.check(name+".v", state[2])
	}
}

func TestGoldenFFT(t *testing.T) { forEachKernels(t, goldenFFT) }

func goldenFFT(t *testing.T, be *cpu.Backend) {
	g := openGolden(t, "fft.npz")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		x := g.array(name + ".x")
		complexPlane := nntest.Result{Shape: x.Shape, DType: tensor.Complex64}
		y := nntest.Apply(t, be, nn.FFT{}, []nntest.Array{x}, complexPlane)[0]
		g.check(name+".cfft2", y)
		back := nntest.Apply(t, be, nn.FFT{Inverse: true}, []nntest.Array{{Shape: x.Shape, DType: x.DType, Values: y}}, complexPlane)[0]
		for i, v := range x.Values {
			if math.Abs(float64(back[i]-v)) > 5e-6 {
				t.Fatalf("%s: element %d came back as %v, was %v", name, i, back[i], v)
			}
		}
	}
}

func TestGoldenTelescope(t *testing.T) { forEachKernels(t, goldenTelescope) }

func goldenTelescope(t *testing.T, be *cpu.Backend) {
	g := openGolden(t, "telescope.npz")
	object, upstream, masks := g.array("object"), g.array("g"), g.array("masks")
	n := object.Shape.Elements()
	wave := nntest.Result{Shape: object.Shape, DType: tensor.Complex64}
	complexes := func(v []float32) nntest.Array {
		return nntest.Array{Shape: object.Shape, DType: tensor.Complex64, Values: v}
	}
	spectrum := nntest.Apply(t, be, nn.FFT{}, []nntest.Array{object}, wave)[0]
	g.check("spectrum", spectrum)
	mask := func(k int) nntest.Array {
		return nntest.Array{Shape: object.Shape, Values: masks.Values[k*n:][:n]}
	}
	for name, m := range map[string]nntest.Array{"m0": mask(0), "m5": mask(5), "m7": mask(7), "cum": g.array("cum_mask")} {
		masked := nntest.Apply(t, be, nn.MaskMultiply{}, []nntest.Array{complexes(spectrum), m}, wave)[0]
		field := nntest.Apply(t, be, nn.FFT{}, []nntest.Array{complexes(masked)}, wave)[0]
		g.check("meas_"+name, nntest.Apply(t, be, nn.ModulusFlip{}, []nntest.Array{complexes(field)}, like(object))[0])

		back := nntest.Apply(t, be, nn.ModulusFlipGrad{}, []nntest.Array{complexes(field), upstream}, wave)[0]
		back = nntest.Apply(t, be, nn.FFT{Inverse: true}, []nntest.Array{complexes(back)}, wave)[0]
		back = nntest.Apply(t, be, nn.MaskMultiply{}, []nntest.Array{complexes(back), m}, wave)[0]
		g.check("meas_"+name+"_gobj", nntest.Apply(t, be, nn.FFT{Inverse: true}, []nntest.Array{complexes(back)}, like(object))[0])
	}
}
