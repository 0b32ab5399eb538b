package norm

// Passes of instance normalisation on panels: rows of sixteen channels, or fewer in the
// last panel, pitch floats apart. Per-channel numbers have the panel's channels.

// PanelChannels is the number of channels of a panel.
const PanelChannels = 16

// PanelSums are two sums for each channel.
type PanelSums [2][PanelChannels]float32

// panelMoments adds, for every channel c,
//
//	sums[0][c] += Σ over r of x[r·pitch + c] − shift[c];  sums[1][c] += Σ (x[r·pitch + c] − shift[c])²
func panelMoments(sums *PanelSums, x []float32, pitch, rows int, shift []float32) {
	for r := range rows {
		row := x[r*pitch:][:len(shift)]
		for c, v := range row {
			d := v - shift[c]
			sums[0][c] += d
			sums[1][c] += d * d
		}
	}
}

// panelNormalise computes, with leaky(v) = v, or slope·v below 0, slope being 0 to 1,
//
//	y[r·pitch + c] = leaky(x[r·pitch + c]·factor[c] + add[c] + residual[r·pitch + c])
//
// without residual if that is nil.
func panelNormalise(y, x, residual []float32, pitch, rows int, factor, add []float32, slope float32) {
	for r := range rows {
		to, from := y[r*pitch:][:len(factor)], x[r*pitch:][:len(factor)]
		for c, v := range from {
			v = v*factor[c] + add[c]
			if residual != nil {
				v += residual[r*pitch+c]
			}
			if v < 0 {
				v *= slope
			}
			to[c] = v
		}
	}
}

// panelGradSums adds, with g = slope·gy where y ≤ 0 and gy elsewhere,
//
//	sums[0][c] += Σ over r of g;  sums[1][c] += Σ g·(x[r·pitch + c] − mean[c])
func panelGradSums(sums *PanelSums, x, y, gy []float32, pitch, rows int, mean []float32, slope float32) {
	for r := range rows {
		at := r * pitch
		from, act, up := x[at:][:len(mean)], y[at:][:len(mean)], gy[at:][:len(mean)]
		for c, g := range up {
			if act[c] <= 0 {
				g *= slope
			}
			sums[0][c] += g
			sums[1][c] += g * (from[c] - mean[c])
		}
	}
}

// PanelGradient has the numbers of a panel's gradient, for each of its channels.
type PanelGradient struct {
	Mean, Factor, Slope, Add [PanelChannels]float32
	Leak                     float32 // slope of the leaky ReLU
}

// panelGrad computes, with g as panelGradSums has it,
//
//	gx[r·pitch + c] = factor[c]·g + slope[c]·(x[r·pitch + c] − mean[c]) + add[c]
//
// and residual[r·pitch + c] = g unless residual is nil, for n channels.
func panelGrad(gx, residual, x, y, gy []float32, pitch, rows, n int, p *PanelGradient) {
	for r := range rows {
		at := r * pitch
		to, from, act, up := gx[at:][:n], x[at:][:n], y[at:][:n], gy[at:][:n]
		for c, g := range up {
			if act[c] <= 0 {
				g *= p.Leak
			}
			if residual != nil {
				residual[at+c] = g
			}
			to[c] = p.Factor[c]*g + (p.Slope[c]*(from[c]-p.Mean[c]) + p.Add[c])
		}
	}
}
