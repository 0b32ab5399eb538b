package optics

import "math"

// SSIM is computed with an 11×11 Gaussian window of σ 1.5, reflected borders (the
// edge not repeated), population variances, C1 = 0.01², C2 = 0.03² and a data
// range of 1, averaged over the whole map (spec/prism.md §5.5).
const (
	ssimRadius = 5
	ssimC1     = 0.0001
	ssimC2     = 0.0009
)

// ssimWindow is half of the one-dimensional Gaussian, the middle first, such that
// the whole of it sums to 1.
var ssimWindow = gaussian(1.5)

func gaussian(sigma float64) (w [ssimRadius + 1]float64) {
	sum := 0.0
	for k := range w {
		w[k] = math.Exp(-float64(k*k) / (2 * sigma * sigma))
		sum += w[k]
		if k > 0 {
			sum += w[k]
		}
	}
	for k := range w {
		w[k] /= sum
	}
	return w
}

// msssimWeights are the exponents of the five scales.
var msssimWeights = [5]float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}

// SSIM of two h×w pictures. Sides below 6, which PyTorch refuses to pad, are
// reflected repeatedly.
func (m *Metrics) SSIM(a, b []float32, h, w int) float64 {
	ssim, _ := m.similarity(a, b, h, w)
	return ssim
}

// MSSSIM is the multi-scale SSIM of two h×w pictures: the product of the
// contrast-structure term at four scales and of SSIM at the fifth, each clamped
// to [1e-10, 1] and raised to its weight. Scales are halved by averaging 2×2
// pixels. Where a side gets below 11 it stops early, without a luminance term,
// and the weights used are normalised.
func (m *Metrics) MSSSIM(a, b []float32, h, w int) float64 {
	m.a, m.b = grown(m.a, h*w), grown(m.b, h*w)
	copy(m.a, a)
	copy(m.b, b)
	var logs, weights float64
	for scale, weight := range msssimWeights {
		ssim, term := m.similarity(m.a[:h*w], m.b[:h*w], h, w)
		if scale == len(msssimWeights)-1 {
			term = ssim
		}
		logs += weight * math.Log(min(max(term, 1e-10), 1))
		weights += weight
		halve(m.a, h, w)
		halve(m.b, h, w)
		if h, w = h/2, w/2; min(h, w) < 2*ssimRadius+1 {
			break
		}
	}
	return math.Exp(logs / weights)
}

// halve averages 2×2 pixels in place; an odd last row or column is left out.
func halve(x []float32, h, w int) {
	for i := range h / 2 {
		up, down := x[2*i*w:(2*i+1)*w], x[(2*i+1)*w:(2*i+2)*w]
		out := x[i*(w/2):]
		for j := range w / 2 {
			out[j] = (up[2*j] + up[2*j+1] + down[2*j] + down[2*j+1]) / 4
		}
	}
}

// similarity is the mean of the SSIM map and of its contrast-structure factor.
// It needs no variances by themselves, only σa²+σb², so four moments do.
func (m *Metrics) similarity(a, b []float32, h, w int) (ssim, contrast float64) {
	for i := range m.moments {
		m.moments[i] = grown(m.moments[i], h*w)
	}
	m.padded = grown(m.padded, 4*(w+2*ssimRadius))
	for i := range h {
		m.filterRow(a[i*w:(i+1)*w], b[i*w:(i+1)*w], i)
	}
	for i := range h {
		s, c := m.similarityRow(i, h, w)
		ssim += s
		contrast += c
	}
	n := float64(h * w)
	return ssim / n, contrast / n
}

// filterRow filters row i of the four products along the row.
func (m *Metrics) filterRow(a, b []float32, i int) {
	w := len(a)
	stride := w + 2*ssimRadius
	for j := range stride {
		k := mirrored(j-ssimRadius, w)
		x, y := float64(a[k]), float64(b[k])
		m.padded[j] = x
		m.padded[stride+j] = y
		m.padded[2*stride+j] = x*x + y*y
		m.padded[3*stride+j] = x * y
	}
	for q := range m.moments {
		filterInto(m.moments[q][i*w:(i+1)*w], m.padded[q*stride:(q+1)*stride])
	}
}

// filterInto filters a padded row.
func filterInto(out, padded []float64) {
	g := &ssimWindow
	for j := range out {
		p := (*[2*ssimRadius + 1]float64)(padded[j:])
		out[j] = g[0]*p[5] + g[1]*(p[4]+p[6]) + g[2]*(p[3]+p[7]) +
			g[3]*(p[2]+p[8]) + g[4]*(p[1]+p[9]) + g[5]*(p[0]+p[10])
	}
}

// mirrored maps an index beyond the ends of n elements to the one it mirrors.
func mirrored(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	i = (i%period + period) % period
	return min(i, period-i)
}

// similarityRow filters the moments across rows for row i and sums the two maps.
func (m *Metrics) similarityRow(i, h, w int) (ssim, contrast float64) {
	var rows [4][2*ssimRadius + 1][]float64
	for q := range rows {
		for k := range rows[q] {
			at := mirrored(i+k-ssimRadius, h) * w
			rows[q][k] = m.moments[q][at : at+w]
		}
	}
	for j := range w {
		a, b := filterAcross(&rows[0], j), filterAcross(&rows[1], j)
		squares, product := filterAcross(&rows[2], j), filterAcross(&rows[3], j)
		means := a*a + b*b
		c := (2*(product-a*b) + ssimC2) / (squares - means + ssimC2)
		contrast += c
		ssim += c * (2*a*b + ssimC1) / (means + ssimC1)
	}
	return ssim, contrast
}

func filterAcross(r *[2*ssimRadius + 1][]float64, j int) float64 {
	g := &ssimWindow
	return g[0]*r[5][j] + g[1]*(r[4][j]+r[6][j]) + g[2]*(r[3][j]+r[7][j]) +
		g[3]*(r[2][j]+r[8][j]) + g[4]*(r[1][j]+r[9][j]) + g[5]*(r[0][j]+r[10][j])
}
