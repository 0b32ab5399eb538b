package cuda

import (
	"math"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// SSIM and MS-SSIM as losses: the scales, their maps and the gradients.

const (
	ssimPad    = 5 // pixels of SSIM's window on either side of its centre
	ssimSigma  = 1.5
	ssimScales = 5
	ssimWide   = 32 // columns and rows of the tiles of ssim.cu
	ssimHigh   = 16
	ssimPool   = 32 // the side of the squares of ssim_pool
)

// msssimWeights are the exponents of the scales (spec/prism.md §5.5).
var msssimWeights = [ssimScales]float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}

// ssimScale is Scale of ssim.cu.
type ssimScale struct {
	P, T, Maps, Gradient driver.Pointer
	H, W, First, Full    int32
}

// ssimMapsP is SsimMapsP of ssim.cu, and so on below.
type ssimMapsP struct {
	Scales [ssimScales]ssimScale
	Sums   driver.Pointer
	Window [ssimPad + 1]float32
	Count  int32
	_      int32
}

type ssimGradP struct {
	Scales            [ssimScales]ssimScale
	Factors, Upstream driver.Pointer
	Constant          float32
	Window            [ssimPad + 1]float32
	Count, First      int32
	_                 int32
}

type ssimPoolP struct {
	P, T             driver.Pointer
	CoarseP, CoarseT [ssimScales - 1]driver.Pointer
	H, W, Count      int32
	_                int32
}

type ssimTotalP struct {
	Sums, Loss, Factors driver.Pointer
	Weights, Pixels     [ssimScales]float64
	Tiles               [ssimScales + 1]int32
	Count               int32
	_                   int32
}

// ssimWindow is the centre weight of SSIM's window and the weights on one side: a Gaussian
// along one axis that sums to 1.
func ssimWindow() (window [ssimPad + 1]float32) {
	weight := func(i int) float64 { return math.Exp(-float64(i*i) / (2 * ssimSigma * ssimSigma)) }
	total := -weight(0)
	for i := range window {
		total += 2 * weight(i)
	}
	for i := range window {
		window[i] = float32(weight(i) / total)
	}
	return window
}

// similarity is the scales of SSIM or MS-SSIM.
type similarity struct {
	scales  [ssimScales]ssimScale
	count   int
	tiles   [ssimScales + 1]int32
	factors driver.Pointer // of MS-SSIM
}

// similarity divides what the loss saves. SSIM saves the three maps; MS-SSIM the maps of each scale, before them the
// planes of each but the first, and after all the factors.
func (b *losses) similarity(p, t, saved driver.Pointer, h, w, count int) *similarity {
	s := &similarity{count: count}
	take := func(elements int) driver.Pointer {
		at := saved
		saved += driver.Pointer(4 * elements)
		return at
	}
	for i := range count {
		if i > 0 {
			p, t = take(h*w), take(h*w)
		}
		s.scales[i] = ssimScale{P: p, T: t, Maps: take(nn.SSIMSaved(h, w)), H: int32(h), W: int32(w), First: s.tiles[i],
			Full: truth(count == 1)}
		s.tiles[i+1] = s.tiles[i] + int32((h+ssimHigh-1)/ssimHigh*((w+ssimWide-1)/ssimWide))
		h, w = h/2, w/2
	}
	s.factors = saved
	return s
}

// maps computes the maps of all scales and the loss.
func (b *losses) maps(s *similarity, loss, factors driver.Pointer, weights [ssimScales]float64) error {
	tiles := int(s.tiles[s.count])
	maps := ssimMapsP{Scales: s.scales, Sums: b.scratch(4 * int64(tiles)), Window: ssimWindow(), Count: int32(s.count)}
	if err := b.launch("ssim_maps", driver.X(tiles), driver.X(256), 0, parameter(&maps)); err != nil {
		return err
	}
	total := ssimTotalP{Sums: maps.Sums, Loss: loss, Factors: factors, Weights: weights, Tiles: s.tiles,
		Count: int32(s.count)}
	for i := range s.count {
		total.Pixels[i] = float64(s.scales[i].H) * float64(s.scales[i].W)
	}
	return b.launch("ssim_total", driver.X(1), driver.X(256), 0, parameter(&total))
}

// ssimLoss computes (1 − SSIM)/2.
func (b *losses) ssimLoss(p, t, loss, saved driver.Pointer, h, w int) error {
	return b.maps(b.similarity(p, t, saved, h, w, 1), loss, 0, [ssimScales]float64{})
}

// multiscale returns the scales of MS-SSIM: full SSIM only at the fifth.
func (b *losses) multiscale(p, t, saved driver.Pointer, h, w int) *similarity {
	s := b.similarity(p, t, saved, h, w, nn.MSSSIMScales(h, w))
	for i := range s.count {
		s.scales[i].Full = truth(i == ssimScales-1)
	}
	return s
}

// msssimLoss computes (1 − Π meanᵢ^weightᵢ)/2, the weights of the scales in use normalised.
func (b *losses) msssimLoss(p, t, loss, saved driver.Pointer, h, w int) error {
	s := b.multiscale(p, t, saved, h, w)
	if s.count > 1 {
		pool := ssimPoolP{P: p, T: t, H: int32(h), W: int32(w), Count: int32(s.count)}
		for i := 1; i < s.count; i++ {
			pool.CoarseP[i-1], pool.CoarseT[i-1] = s.scales[i].P, s.scales[i].T
		}
		squares := (h + ssimPool - 1) / ssimPool * ((w + ssimPool - 1) / ssimPool)
		if err := b.launch("ssim_pool", driver.XY(squares, 2), driver.X(256), 0, parameter(&pool)); err != nil {
			return err
		}
	}
	weights, total := msssimWeights, 0.0
	for i := range s.count {
		total += weights[i]
	}
	for i := range weights {
		weights[i] /= total
	}
	return b.maps(s, loss, s.factors, weights)
}

// gradients computes the gradients of the coarser scales, then that of the first.
func (b *losses) gradients(s *similarity, factors, upstream, gp driver.Pointer, constant float32) error {
	for i := range s.count {
		s.scales[i].Gradient = gp
		if i > 0 {
			s.scales[i].Gradient = b.scratch(4 * int64(s.scales[i].H) * int64(s.scales[i].W))
		}
	}
	p := ssimGradP{Scales: s.scales, Factors: factors, Upstream: upstream, Constant: constant, Window: ssimWindow(),
		Count: int32(s.count), First: s.tiles[1]}
	if err := b.launch("ssim_grad", driver.X(int(s.tiles[s.count]-s.tiles[1])), driver.X(256), 0,
		parameter(&p)); err != nil {
		return err
	}
	p.First = 0
	return b.launch("ssim_grad", driver.X(int(s.tiles[1])), driver.X(256), 0, parameter(&p))
}

func (b *losses) ssimGrad(p, t, saved, upstream, gp driver.Pointer, h, w int) error {
	constant := float32(-1 / (2 * float64(h*w)))
	return b.gradients(b.similarity(p, t, saved, h, w, 1), 0, upstream, gp, constant)
}

func (b *losses) msssimGrad(p, t, saved, upstream, gp driver.Pointer, h, w int) error {
	s := b.multiscale(p, t, saved, h, w)
	return b.gradients(s, s.factors, upstream, gp, 1)
}
