// Package loss holds the kernels of losses and their gradients: L1 and L2 of single pixels (loss.go), and the windowed
// sums of SSIM (ssim.go; Wang et al., Image quality assessment, IEEE TIP 13, 2004). Package vec says how its files are
// named.
package loss

import "math"

// Losses of single pixels. Every slice has at least the length of the first.

// absoluteSums computes Σ|p[i] − t[i]| and Σ|t[i]|.
func absoluteSums(p, t []float32) (differences, targets float64) {
	t = t[:len(p)]
	for i, v := range p {
		differences += math.Abs(float64(v) - float64(t[i]))
		targets += math.Abs(float64(t[i]))
	}
	return differences, targets
}

// squareSums computes Σ(p[i] − t[i])² and Σt[i]².
func squareSums(p, t []float32) (differences, targets float64) {
	t = t[:len(p)]
	for i, v := range p {
		u := float64(t[i])
		d := float64(v) - u
		differences += d * d
		targets += u * u
	}
	return differences, targets
}

// signs computes gp[i] = f·sign(p[i] − t[i]), 0 where they are equal.
func signs(gp, p, t []float32, f float32) {
	p, t = p[:len(gp)], t[:len(gp)]
	for i := range gp {
		d := p[i] - t[i]
		switch {
		case d == 0:
			gp[i] = 0
		case d != d:
			gp[i] = d
		default:
			gp[i] = math.Float32frombits(math.Float32bits(f) ^ math.Float32bits(d)&(1<<31))
		}
	}
}

// differences computes gp[i] = f·(p[i] − t[i]).
func differences(gp, p, t []float32, f float32) {
	p, t = p[:len(gp)], t[:len(gp)]
	for i := range gp {
		gp[i] = f * (p[i] - t[i])
	}
}
