package nntest

import (
	"fmt"
	"math"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// A lossGradCase runs a loss and then its gradient on the data saved by the loss,
// which is private to the backend.
type lossGradCase struct {
	name      string
	kind      nn.LossKind
	normalize bool
	ref       lossRef
	h, w      int
}

func lossGradCases() []lossGradCase {
	return []lossGradCase{
		{"L1", nn.L1, false, l1(false), 24, 20},
		{"L1 normalised", nn.L1, true, l1(true), 61, 70},
		{"L2", nn.L2, false, l2(false), 24, 20},
		{"L2 normalised", nn.L2, true, l2(true), 61, 70},
		{"SSIM", nn.SSIM, false, dssim, 6, 6},
		{"SSIM", nn.SSIM, false, dssim, 6, 40},
		{"SSIM", nn.SSIM, false, dssim, 12, 9},
		{"SSIM", nn.SSIM, false, dssim, 23, 30},
		{"SSIM", nn.SSIM, false, dssim, 58, 37},
		{"MS-SSIM", nn.MSSSIM, false, dmsssim, 11, 14},
		{"MS-SSIM", nn.MSSSIM, false, dmsssim, 23, 29},
		{"MS-SSIM", nn.MSSSIM, false, dmsssim, 46, 45},
	}
}

// ApplyLoss returns a loss between two planes and upstream times its gradient.
func ApplyLoss(t testing.TB, be nn.Backend, kind nn.LossKind, normalize bool, p, tgt Array,
	upstream float32) (loss float32, gradient []float32) {
	t.Helper()
	h, w := p.Shape.Plane()
	saved := tensor.Shape{nn.LossSaved(kind, h, w)}
	out := Apply(t, be, nn.Loss{Kind: kind, Normalize: normalize}, []Array{p, tgt},
		Result{Shape: tensor.Shape{}}, Result{Shape: saved})
	g := Apply(t, be, nn.LossGrad{Kind: kind, Normalize: normalize},
		[]Array{p, tgt, {Shape: saved, Values: out[1]}, scalar(upstream)}, Result{Shape: p.Shape})
	return out[0][0], g[0]
}

// run compares the gradient with central differences of the reference at the
// corners, near the borders, where reflection matters, and inside.
func (c lossGradCase) run(t *testing.T, backends map[int]nn.Backend) {
	s := newSource(300)
	p, tgt := lossPair(s, c.h, c.w)
	const upstream = 3
	_, got := ApplyLoss(t, backends[1], c.kind, c.normalize, p, tgt, upstream)
	for n, be := range backends {
		_, again := ApplyLoss(t, be, c.kind, c.normalize, p, tgt, upstream)
		if at := firstDifference(got, again); at >= 0 {
			t.Fatalf("%d threads: gradient[%d] = %v, on one thread %v", n, at, again[at], got[at])
		}
	}
	at := []int{0, c.w - 1, c.h*c.w - 1, c.w*(c.h-1) + 3, c.w + 1, 5*c.w + 2, 4*c.w + 5}
	for range 12 {
		at = append(at, s.IntN(c.h*c.w))
	}
	want := c.ref.slopes(floats64(p.Values), floats64(tgt.Values), c.h, c.w, at)
	largest := 0.0
	for _, v := range got {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i, k := range at {
		// Central differences with step 1e-5 are accurate to about 1e-6 of the
		// largest.
		if diff := math.Abs(float64(got[k]) - upstream*want[i]); !(diff <= 2e-5*largest) {
			t.Errorf("%d×%d: gradient[%d, %d] = %v, want %v (largest %v)", c.h, c.w, k/c.w, k%c.w, got[k],
				upstream*want[i], largest)
		}
	}
}

func runLossGrads(t *testing.T, backends map[int]nn.Backend) {
	for _, c := range lossGradCases() {
		t.Run(fmt.Sprintf("%s %dx%d", c.name, c.h, c.w), func(t *testing.T) { c.run(t, backends) })
	}
}
