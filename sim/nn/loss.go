package nn

// The constants of MS-SSIM (spec/prism.md §5.5).
const (
	ssimWindow    = 11 // side of SSIM's Gaussian window
	ssimPad       = 5  // reflected border on each side
	msssimScales  = 5  // maximum number of scales of MS-SSIM
	ssimFields    = 3  // planes that SSIM saves: derivatives with respect to mean, square and product
	ssimTile      = 16 // the sides of planes that SSIM saves are multiples of this
	pointwiseSave = 1  // L1 and L2 save the factor of their gradient
)

// MSSSIMScales returns the number of scales at which MS-SSIM compares two planes
// of h×w: five, or fewer if halving leaves a side below the window's 11 pixels; 0
// if the planes themselves are too small.
func MSSSIMScales(h, w int) int {
	n := 0
	for n < msssimScales && min(h, w) >= ssimWindow {
		n, h, w = n+1, h/2, w/2
	}
	return n
}

// LossSaved returns the number of float32 elements that Loss passes to LossGrad for planes of
// h×w. L1 and L2 save one factor. SSIM saves three planes, their sides rounded up to multiples of
// 16, the height to odd ones: derived from the map's derivatives with respect to the prediction's
// local mean, local square and local product with the target. MS-SSIM saves those for each scale,
// both pooled planes of each scale but the first, and one number for each of the five scales. The
// contents are private to the backend.
func LossSaved(kind LossKind, h, w int) int {
	switch kind {
	case SSIM:
		return SSIMSaved(h, w)
	case MSSSIM:
		n := msssimScales
		for i := range MSSSIMScales(h, w) {
			n += SSIMSaved(h, w)
			if i > 0 {
				n += 2 * h * w
			}
			h, w = h/2, w/2
		}
		return n
	default:
		return pointwiseSave
	}
}

// SSIMSaved returns the number of elements that SSIM saves at one scale. The planes
// have an odd number of tiles from top to bottom, which spreads them over a cache's
// sets.
func SSIMSaved(h, w int) int {
	rows, columns := (h+ssimTile-1)/ssimTile, (w+ssimTile-1)/ssimTile
	return ssimFields * (rows | 1) * columns * ssimTile * ssimTile
}
