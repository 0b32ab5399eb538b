package cyto

import (
	"fmt"
	"math"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The logits and the loss of other precisions stay close to the numbers of the reference
// (§B2.3), and training with them follows that in float32: bf16 has eight bits, and Winograd's
// F(4×4, 3×3) ten times the rounding error of float32. With PyTorch's autocast to bf16, logits
// differ by 0.07 and gradients by 0.31 of their norm.
func TestPrecisionsFollowTheReference(t *testing.T) {
	exact := trained(t, PlanOptions{})
	for _, c := range []struct {
		name                   string
		options                PlanOptions
		logits, loss, gradient float64
	}{
		{"exact", PlanOptions{}, 5e-6, 2e-6, 1e-5},
		{"winograd", PlanOptions{Products: nn.Winograd}, 5e-5, 5e-6, 1e-4},
		{"bf16", PlanOptions{AMP: tensor.BFloat16}, 0.07, 2e-3, 0.25},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := trained(t, c.options)
			worst := 0.0
			for i, v := range r.logits {
				worst = max(worst, math.Abs(float64(v-exact.logits[i])))
			}
			difference, size := 0.0, 0.0
			for i, g := range r.gradient {
				difference += math.Pow(float64(g-exact.gradient[i]), 2)
				size += math.Pow(float64(exact.gradient[i]), 2)
			}
			off := math.Sqrt(difference / size)
			t.Logf("logits differ by %.2g at most, gradients by %.2g of their norm, losses %v, exact %v", worst, off, r.losses, exact.losses)
			if d := math.Abs(r.losses[0] - 1.2817458910); d > c.loss {
				t.Errorf("loss %.7g: differs by %.2g, want at most %g", r.losses[0], d, c.loss)
			}
			if worst > c.logits || off > c.gradient {
				t.Errorf("logits differ by %.2g, want at most %g; gradients by %.2g of their norm, want at most %g", worst, c.logits, off, c.gradient)
			}
			if d := math.Abs(r.losses[5] - 1.1895941962); d > 5*c.loss {
				t.Errorf("loss after five steps %.7g: differs by %.2g, want at most %g", r.losses[5], d, 5*c.loss)
			}
		})
	}
}

// training is what a training of some steps comes to.
type training struct {
	logits, gradient []float32 // of the first step
	losses           []float64
}

// trained trains the network of §B2.3 for five steps.
func trained(t *testing.T, o PlanOptions) (r training) {
	o.Batch, o.Sides, o.Loss, o.Train = 2, [3]int{8, 16, 16}, DiceBCE, true
	p := load(t, DefaultConfig(3), o, cpu.Options{Threads: 2})
	image, target := goldenData()
	p.Write(ImageInput, image)
	p.Write(TargetInput, target)
	p.Write(nn.LearningRateInput, []float32{LearningRate})
	for step := range 6 {
		p.Run(nn.SegmentForward, nn.SegmentEvaluate)
		r.losses = append(r.losses, p.Scalar(LossOutput))
		if step == 0 {
			r.logits = p.Read(LogitsOutput)
		}
		p.Run(nn.SegmentUpdate)
		if step > 0 {
			continue
		}
		for _, g := range p.net.Gradients(p.State) {
			r.gradient = append(r.gradient, g.Values...)
		}
	}
	return r
}

// Results of every precision are the same bits for any number of threads.
func TestPrecisionsRepeatTheirBits(t *testing.T) {
	for name, o := range map[string]PlanOptions{"exact": {}, "winograd": {Products: nn.Winograd}, "bf16": {AMP: tensor.BFloat16}} {
		var first string
		for threads := 1; threads <= 3; threads++ {
			o.Batch, o.Sides, o.Loss, o.Train = 3, [3]int{4, 16, 12}, MeanSquare, true
			p := load(t, DefaultConfig(3), o, cpu.Options{Threads: threads})
			image, target := goldenData()
			n := 3 * 4 * 16 * 12
			p.Write(ImageInput, image[:n])
			p.Write(TargetInput, target[:n])
			p.Write(nn.LearningRateInput, []float32{LearningRate})
			for range 2 {
				p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
			}
			bits := fmt.Sprintf("%x", math.Float64bits(p.Scalar(LossOutput)))
			for _, w := range p.net.Weights(p.State) {
				bits += fmt.Sprintf(" %x", norm(w.Values))
			}
			if threads == 1 {
				first = bits
			} else if bits != first {
				t.Errorf("%s: other bits on %d threads than on one", name, threads)
			}
		}
	}
}
