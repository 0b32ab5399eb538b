package host

import "prismtop/sim/cpu/vec/loss"

// SSIMWindow returns the 11×11 Gaussian window of SSIM, for comparison with other
// programs (spec/prism.md §5.5). It sums to 1.
func SSIMWindow() (w [2*ssimRadius + 1][2*ssimRadius + 1]float32) {
	weights := loss.SSIMWeights()
	at := func(i int) float64 { return weights[max(i-ssimRadius, ssimRadius-i)] }
	for i := range w {
		for j := range w[i] {
			w[i][j] = float32(at(i) * at(j))
		}
	}
	return w
}
