package prism_test

import (
	"fmt"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// oddDecoders are decoders whose sides and channels fill no vector: windows that
// are no power of two, prime numbers of channels, many and few layers.
var oddDecoders = []prism.DecoderConfig{
	{Size: 64, ObjectSize: 64, BatchNorm: true},
	{Size: 64, ObjectSize: 21, BatchNorm: true},
	{Size: 64, ObjectSize: 5, BatchNorm: true, Latent: 12, Channels: []int{7, 5, 3, 1}},
	{Size: 64, ObjectSize: 33, Latent: 17, Channels: []int{13, 11, 7, 5, 3, 1}},
	{Size: 128, ObjectSize: 100, BatchNorm: true, Latent: 33, Channels: []int{31, 29, 17, 19, 3, 5, 2, 1}},
	{Size: 256, ObjectSize: 73, BatchNorm: true},
	{Size: 512, ObjectSize: 90, BatchNorm: true, Latent: 40, Channels: []int{24, 18, 10, 9, 6, 1}},
	{Size: 1024, ObjectSize: 150, BatchNorm: true, Latent: 64, Channels: []int{20, 18, 9, 7, 6, 5, 3, 1}},
}

// One iteration of whole plans under every variant of the kernels against plain Go:
// the output, and the gradient of every parameter. Both are sums of float32 in
// different orders: some ten layers of roundings of 2⁻²⁴ of a sum's terms. The
// gradient's limit leaves room for a value near 0 that falls on the other side of a
// ReLU and takes its pixel's share of the gradient along.
func TestOddShapesUnderEveryVariant(t *testing.T) {
	const outputLimit, gradientLimit = 1e-6, 1e-4
	for i, c := range oddDecoders {
		c.Activation, c.Seed = "sigmoid", uint64(i)
		output := map[string][]float32{}
		gradients := map[string]map[string][]float32{}
		for _, kernels := range cpu.KernelNames() {
			b := newBenchOn(t, c, cpu.Options{Kernels: kernels, Threads: 1 + i%4})
			l := trainable(b, prism.PlanOptions{SharedSpectrum: i%2 == 0})
			l.input(nn.LearningRateInput, 0)
			l.iterate()
			output[kernels] = l.output(prism.ReconstructionOutput)
			gradients[kernels] = map[string][]float32{}
			for _, name := range b.decoder.Model().ParameterNames() {
				gradients[kernels][name] = b.read(name + ".grad")
			}
		}
		for kernels := range output {
			at := fmt.Sprintf("%d/%d %v, %s", c.Size, c.ObjectSize, c.Channels, kernels)
			if off := relative(output[kernels], output["go"]); !(off <= outputLimit) {
				t.Errorf("%s: the output is off by %.2g of its size, allowed %g", at, off, outputLimit)
			}
			var worst float64
			for name, got := range gradients[kernels] {
				off := relative(got, gradients["go"][name])
				worst = max(worst, off)
				if !(off <= gradientLimit) {
					t.Errorf("%s: the gradient of %s is off by %.2g of its size, allowed %g", at, name, off, gradientLimit)
				}
			}
			t.Logf("%s: output off by %.2g, gradients by at most %.2g", at, relative(output[kernels], output["go"]), worst)
		}
	}
}
