package host

import (
	"context"
	"math"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/loss"
)

// SSIM is computed with an 11×11 Gaussian window of σ 1.5, reflected borders (the
// edge not repeated), population variances, C1 = 0.01², C2 = 0.03² and a data
// range of 1, averaged over the whole map (spec/prism.md §5.5).
const ssimRadius = loss.WindowTaps / 2

// msssimWeights are the exponents of the five scales.
var msssimWeights = [5]float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}

// SSIM of two h×w pictures. Sides below 6, which PyTorch refuses to pad, are
// reflected repeatedly. The only error is that of a context that ends first.
func (m *Metrics) SSIM(ctx context.Context, a, b []float32, h, w int) (float64, error) {
	return m.similarity(ctx, a, b, h, w, true)
}

// MSSSIM is the multi-scale SSIM of two h×w pictures: the product of the
// contrast-structure term at four scales and of SSIM at the fifth, each clamped
// to [1e-10, 1] and raised to its weight. Scales are halved by averaging 2×2
// pixels. If a side falls below 11 it stops early, without a luminance term, and
// the weights used are normalised. Errors are those of SSIM.
func (m *Metrics) MSSSIM(ctx context.Context, a, b []float32, h, w int) (float64, error) {
	m.a, m.b = grown(m.a, h*w), grown(m.b, h*w)
	copy(m.a, a)
	copy(m.b, b)
	var logs, weights float64
	for scale, weight := range msssimWeights {
		term, err := m.similarity(ctx, m.a[:h*w], m.b[:h*w], h, w, scale == len(msssimWeights)-1)
		if err != nil {
			return 0, err
		}
		logs += weight * math.Log(min(max(term, 1e-10), 1))
		weights += weight
		halve(m.a, h, w)
		halve(m.b, h, w)
		if h, w = h/2, w/2; min(h, w) < 2*ssimRadius+1 {
			break
		}
	}
	return math.Exp(logs / weights), nil
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

// similarity returns the mean of the SSIM map, or of its contrast-structure factor
// if not full. It works in strips of 16 rows: the moments are blurred along the
// columns, transposed, then blurred along the rows and scored.
func (m *Metrics) similarity(ctx context.Context, a, b []float32, h, w int, full bool) (float64, error) {
	const products = 4 * loss.TileReach * loss.TileSide
	tiles := (w + loss.TileSide - 1) / loss.TileSide
	column := (tiles*loss.TileSide + 2*ssimRadius) * loss.TileSide
	m.work = grown(m.work, 7*column+products+2*loss.TileReach*loss.TileSide)
	s := strip{kernels: m.kernels, window: loss.SSIMWindow(), a: a, b: b, h: h, w: w, column: column,
		moments: m.work[:4*column], derivatives: m.work[4*column : 7*column],
		products: m.work[7*column:][:products], edge: m.work[7*column+products:]}
	lack := 0.0
	for first := 0; first < h; first += loss.TileSide {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		s.blur(first)
		lack += s.score(min(h-first, loss.TileSide), full)
	}
	return 1 - lack/float64(h*w), nil
}

// strip is the work space for 16 rows of two pictures.
type strip struct {
	kernels              vec.Set
	window               loss.Window
	a, b                 []float32
	h, w                 int
	column               int       // length of the strip of one moment
	moments, derivatives []float32 // of a, b, (a−b)² and a·b; not used
	products, edge       []float32
}

// blur blurs the moments of 16 rows along the columns.
func (s *strip) blur(first int) {
	const side = loss.TileSide
	var rows, dense [loss.TileReach]int32
	for i := range rows {
		rows[i], dense[i] = int32(mirrored(first+i-ssimRadius, s.h)*s.w), int32(i*side)
	}
	for j := 0; j < s.w; j += side {
		to := s.moments[(j+ssimRadius)*side:]
		if n := s.w - j; n < side {
			a, b := s.edge[:loss.TileReach*side], s.edge[loss.TileReach*side:]
			for i, row := range rows {
				copy(a[i*side:][:n], s.a[int(row)+j:])
				copy(b[i*side:][:n], s.b[int(row)+j:])
			}
			loss.SSIMProducts(s.kernels, s.products, a, b, &dense)
		} else {
			loss.SSIMProducts(s.kernels, s.products, s.a[j:], s.b[j:], &rows)
		}
		loss.BlurTurn(s.kernels, to, s.column, s.products, loss.TileReach*side, 4, &s.window)
	}
	for k := range 4 {
		columns := s.moments[k*s.column:]
		for i := range ssimRadius {
			for _, j := range [...]int{i - ssimRadius, s.w + i} {
				copy(columns[(j+ssimRadius)*side:][:side], columns[(mirrored(j, s.w)+ssimRadius)*side:])
			}
		}
	}
}

// score returns the sum of 1 − value over the strip's pixels.
func (s *strip) score(rows int, full bool) float64 {
	const atOnce = 64 // columns summed in float32
	lack := 0.0
	for j := 0; j < s.w; j += atOnce {
		var sums [loss.TileSide]float32
		to, from, n := s.derivatives[j*loss.TileSide:], s.moments[j*loss.TileSide:], min(atOnce, s.w-j)
		if full {
			loss.SSIMScore(s.kernels, to, s.column, from, s.column, n, &s.window, &sums)
		} else {
			loss.ContrastScore(s.kernels, to, s.column, from, s.column, n, &s.window, &sums)
		}
		for _, v := range sums[:rows] {
			lack += float64(v) / 2 // the kernels' values are doubled
		}
	}
	return lack
}

// mirrored maps an index beyond the ends of n elements to its mirror image.
func mirrored(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	i = (i%period + period) % period
	return min(i, period-i)
}
