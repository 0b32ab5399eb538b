// Package norm holds the passes of normalisation, y = γ (x − μ)/√(σ² + ε) + β, and of its gradient: of batches
// (norm.go), and of instances on panels of channels (panel.go), whose values may be bfloat16 (halves.go). Package vec
// says how its files are named.
package norm

// Passes of batch normalisation. Every slice has at least the length of the first.

// moments computes Σ (x[i] − shift) and Σ (x[i] − shift)², in float64. A shift within the
// range of the values preserves the precision of the variance when they are far from 0.
func moments(x []float32, shift float32) (total, square float64) {
	for _, v := range x {
		d := float64(v) - float64(shift)
		total += d
		square += d * d
	}
	return total, square
}

// gradSums computes Σ gy[i] and Σ gy[i]·(x[i] − mean), summed in float64, in
// two interleaved parts.
func gradSums(x, gy []float32, mean float32) (total, product float64) {
	gy = gy[:len(x)]
	var t0, t1, p0, p1 float64
	i := 0
	for ; i+1 < len(x); i += 2 {
		g, h := float64(gy[i]), float64(gy[i+1])
		t0 += g
		p0 += g * float64(x[i]-mean)
		t1 += h
		p1 += h * float64(x[i+1]-mean)
	}
	if i < len(x) {
		g := float64(gy[i])
		t0 += g
		p0 += g * float64(x[i]-mean)
	}
	return t0 + t1, p0 + p1
}

// gradSumsReLU is gradSums with gy[i] = 0 where (x[i] − mean)·factor +
// shift ≤ 0.
func gradSumsReLU(x, gy []float32, mean, factor, shift float32) (total, product float64) {
	gy = gy[:len(x)]
	for i, v := range x {
		if d := v - mean; !(d*factor+shift <= 0) {
			total += float64(gy[i])
			product += float64(gy[i]) * float64(d)
		}
	}
	return total, product
}

// normaliseReLU computes y[i] = max((x[i] − mean)·factor + shift, 0); a NaN stays one.
func normaliseReLU(y, x []float32, mean, factor, shift float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = max((x[i]-mean)*factor+shift, 0)
	}
}

// gradReLU computes gx[i] = factor·gy[i] + slope·(x[i] − mean) + add, with gy[i] =
// 0 where (x[i] − mean)·factor + shift ≤ 0.
func gradReLU(gx, x, gy []float32, mean, factor, shift, slope, add float32) {
	x, gy = x[:len(gx)], gy[:len(gx)]
	for i := range gx {
		d, g := x[i]-mean, gy[i]
		if d*factor+shift <= 0 {
			g = 0
		}
		gx[i] = factor*g + slope*d + add
	}
}

// normalise computes y[i] = (x[i] − mean)·factor + shift.
func normalise(y, x []float32, mean, factor, shift float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] = (x[i]-mean)*factor + shift
	}
}

// grad computes gx[i] = factor·gy[i] + slope·(x[i] − mean) + shift.
func grad(gx, x, gy []float32, mean, factor, slope, shift float32) {
	x, gy = x[:len(gx)], gy[:len(gx)]
	for i := range gx {
		gx[i] = factor*gy[i] + slope*(x[i]-mean) + shift
	}
}
