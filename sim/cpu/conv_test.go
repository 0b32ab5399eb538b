package cpu_test

import (
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// The kernel of a convolution depends on its shape and the instruction set, and a step names it.
func TestAStepNamesTheKernelThatWasChosen(t *testing.T) {
	for _, c := range []struct {
		op                  nn.Op
		x, w, y             tensor.Shape
		plain, avx2, avx512 string
	}{
		{op: nn.ConvTranspose2D{Stride: 1}, x: tensor.Shape{1, 64, 1, 1}, w: tensor.Shape{64, 8, 4, 4}, y: tensor.Shape{1, 8, 4, 4}, plain: "dense", avx2: "dense", avx512: "dense"},
		{op: nn.ConvTranspose2D{Stride: 2, Pad: 1}, x: tensor.Shape{1, 16, 8, 8}, w: tensor.Shape{16, 4, 4, 4}, y: tensor.Shape{1, 4, 16, 16}, plain: "lowered", avx2: "4x4", avx512: "4x4"},
		{op: nn.ConvTranspose2DGradInput{Stride: 2, Pad: 1}, x: tensor.Shape{1, 8, 16, 16}, w: tensor.Shape{16, 8, 4, 4}, y: tensor.Shape{1, 16, 8, 8}, plain: "lowered", avx2: "direct", avx512: "4x4"},
		{op: nn.Conv2D{Stride: 1, Pad: 1}, x: tensor.Shape{1, 8, 16, 16}, w: tensor.Shape{8, 8, 3, 3}, y: tensor.Shape{1, 8, 16, 16}, plain: "bands", avx2: "direct", avx512: "square"},
		{op: nn.Conv2D{Stride: 1, Pad: 1, Pool: true}, x: tensor.Shape{1, 3, 16, 16}, w: tensor.Shape{3, 3, 3, 3}, y: tensor.Shape{1, 3, 8, 8}, plain: "resized, bands", avx2: "resized, bands", avx512: "resized, bands"},
		{op: nn.Conv2D{Stride: 1, Pad: 1}, x: tensor.Shape{1, 16, 16, 16}, w: tensor.Shape{1, 16, 3, 3}, y: tensor.Shape{1, 1, 16, 16}, plain: "bands", avx2: "one channel", avx512: "one channel"},
	} {
		for kernels, want := range map[string]string{"go": c.plain, "avx2": c.avx2, "avx512": c.avx512} {
			if !slices.Contains(cpu.KernelNames(), kernels) {
				continue
			}
			s, err := nntest.NewStep(openKernels(t, 1, kernels), c.op, []nntest.Array{random(tensor.Float32, c.x...), random(tensor.Float32, c.w...)},
				[]nntest.Result{{Shape: c.y}})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Exec.(nn.Explainer).Kernels()[0]; got != want {
				t.Errorf("%+v of %v on %s: %q, want %q", c.op, c.x, kernels, got, want)
			}
			s.Close()
		}
	}
}
