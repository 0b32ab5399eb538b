package cuda_test

import (
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/gpu/emulator/ptx"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// A normalisation adds the parts of the convolution before it, unless another step needs their sum first, and stores the
// sum where another reads it.
func TestNormalisationFinishesConvolution(t *testing.T) {
	narrow, deep := tensor.Shape{1, 16, 8, 8}, tensor.Shape{1, 256, 4, 4}
	large, small := tensor.Shape{1, 64, 8, 8}, tensor.Shape{1, 64, 4, 4}
	const x, w, y, z, s, gamma, beta, mean, variance, batchMean, inverse = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
	convolution := step(nn.ConvTranspose2D{Stride: 2, Pad: 1}, y, x, w)
	scale := step(nn.Scale{Factor: 2}, s, y)
	norm := nn.Step{Name: "norm", Op: nn.BatchNorm{Eps: 1e-5, Momentum: 0.1, Train: true, ReLU: true},
		In: []nn.BufferID{y, gamma, beta, mean, variance}, Out: []nn.BufferID{z, batchMean, inverse, mean, variance}}
	// For the gradient, x is that of the convolution's result and y that of its image.
	back := step(nn.ConvTranspose2DGradInput{Stride: 2, Pad: 1}, y, x, w)
	normGrad := nn.Step{Name: "norm grad", Op: nn.BatchNormGrad{}, In: []nn.BufferID{z, y, gamma, mean, variance}, Out: []nn.BufferID{s, batchMean, inverse}}
	for _, c := range []struct {
		name             string
		x, y, weights    tensor.Shape
		steps            []nn.Step
		want             []nn.BufferID
		finish, separate int
	}{
		{"forward", deep, narrow, tensor.Shape{256, 16, 4, 4}, []nn.Step{convolution, norm, scale}, []nn.BufferID{y, z, s, mean, variance, batchMean, inverse}, 1, 0},
		{"forward, read before", deep, narrow, tensor.Shape{256, 16, 4, 4}, []nn.Step{convolution, scale, norm}, []nn.BufferID{y, z, s, mean, variance}, 0, 1},
		{"without a normalisation", deep, narrow, tensor.Shape{256, 16, 4, 4}, []nn.Step{convolution}, []nn.BufferID{y}, 0, 1},
		{"gradient", large, small, tensor.Shape{64, 64, 4, 4}, []nn.Step{step(nn.Fill{Value: 0.5}, z), back, normGrad}, []nn.BufferID{s, batchMean, inverse}, 1, 0},
		{"gradient, read again", large, small, tensor.Shape{64, 64, 4, 4}, []nn.Step{step(nn.Fill{Value: 0.5}, z), back, normGrad, step(nn.Add{}, z, y, s)}, []nn.BufferID{z, s, batchMean, inverse}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var variables []nn.Variable
			channel := tensor.Shape{c.y[1]}
			buffers := []nn.Buffer{{Name: "x", Shape: c.x, Variable: -1}, {Name: "w", Shape: c.weights, Variable: 0}}
			variables = append(variables, nn.Variable{Name: "w", Shape: c.weights})
			at := int64(4 * c.x.Elements())
			for _, name := range []string{"y", "z", "s"} {
				buffers = append(buffers, nn.Buffer{Name: name, Shape: c.y, Variable: -1, Offset: at})
				at += int64(4 * c.y.Elements())
			}
			for _, name := range []string{"gamma", "beta", "mean", "variance"} {
				buffers = append(buffers, nn.Buffer{Name: name, Shape: channel, Variable: len(variables)})
				variables = append(variables, nn.Variable{Name: name, Shape: channel})
			}
			for _, name := range []string{"batch mean", "inverse"} {
				buffers = append(buffers, nn.Buffer{Name: name, Shape: channel, Variable: -1, Offset: at})
				at += 1024
			}
			plan := handmade(buffers, c.steps...)
			host, err := cpu.New(cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			d := emulator.New(emulator.Options{Checks: ptx.Checks{Uninitialised: true, Races: true}})
			device, err := cuda.Open(d, cuda.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer device.Close()
			alikeTo(t, c.name, results(t, device, plan, variables, c.want...), results(t, host, plan, variables, c.want...))
			count := map[string]int{}
			for _, l := range d.Launches() {
				count[l.Kernel]++
			}
			if n := count["norm_finish"] + count["norm_grad_finish"]; n != c.finish || count["conv_finish"] != c.separate {
				t.Errorf("%d normalisations finish the convolution and %d kernels do it alone, want %d and %d", n, count["conv_finish"], c.finish, c.separate)
			}
		})
	}
}
