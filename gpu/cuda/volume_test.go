package cuda_test

import (
	"fmt"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// Sums that several blocks share give the processor's results, on devices whose size and age choose other kernels and divisions;
// so do tiles of all widths, and volumes that are read as one.
func TestConvolutionsOfVolumes(t *testing.T) {
	host := onProcessor(t)
	sides := tensor.Shape{2, 3, 6, 7}
	for _, device := range []struct{ capability, multi int }{{80, 132}, {80, 1}, {75, 132}, {75, 1}} {
		b := emulatedDevice(t, device.capability, device.multi)
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
			if device.multi == 1 && d == tensor.Float16 {
				continue
			}
			volume := func(seed uint64, channels int) nntest.Array { return normal(d, seed, append(sides[:4:4], channels)...) }
			half := func(seed uint64, channels int) nntest.Array { return normal(d, seed, 2, 2, 3, 4, channels) }
			for _, channels := range [][3]int{{5, 12, 70}, {3, 0, 20}} {
				x, more, out := channels[0], channels[1], channels[2]
				w := normal(d, 3, out, x+more, 3, 3, 3)
				in, of := []nntest.Array{volume(1, x)}, []nntest.Array{volume(1, x)}
				if more > 0 {
					in, of = append(in, volume(2, more)), append(of, volume(2, more))
				}
				up := normal(d, 7, x, out, 2, 2, 2)
				enlarged := normal(d, 8, 2, 6, 12, 14, out)
				result := func(like nntest.Array) nntest.Result { return nntest.Result{Shape: like.Shape, DType: d} }
				for _, c := range []struct {
					op  nn.Op
					in  []nntest.Array
					out []nntest.Result
				}{
					{nn.Conv3D{Stride: 1, Bias: true}, append([]nntest.Array{w, normal(tensor.Float32, 4, out)}, in...), []nntest.Result{result(volume(0, out))}},
					{nn.Conv3D{Stride: 2}, append([]nntest.Array{w}, in...), []nntest.Result{result(half(0, out))}},
					{nn.Conv3DGradInput{Stride: 2, First: more}, []nntest.Array{half(5, out), w}, []nntest.Result{result(volume(0, x))}},
					{nn.Conv3DGradWeight{Stride: 2, Bias: true}, append([]nntest.Array{half(5, out)}, of...), []nntest.Result{{Shape: w.Shape}, {Shape: tensor.Shape{out}}}},
					{nn.ConvTranspose3D{}, []nntest.Array{in[0], up}, []nntest.Result{result(enlarged)}},
					{nn.ConvTranspose3DGradInput{}, []nntest.Array{enlarged, up}, []nntest.Result{result(in[0])}},
					{nn.ConvTranspose3DGradWeight{}, []nntest.Array{in[0], enlarged}, []nntest.Result{{Shape: up.Shape}}},
				} {
					name := fmt.Sprintf("sm_%d of %d, %v, %d to %d channels: %T", device.capability, device.multi, d, x+more, out, c.op)
					want, got := nntest.Apply(t, host, c.op, c.in, c.out...), nntest.Apply(t, b, c.op, c.in, c.out...)
					for k := range want {
						off := 2e-6
						if c.out[k].DType == tensor.BFloat16 {
							off = 1.0 / 128
						} else if c.out[k].DType == tensor.Float16 {
							off = 1.0 / 1024
						}
						near(t, off, []string{name}, got[k:k+1], want[k:k+1])
					}
				}
			}
		}
	}
}
