package nn

// The constants of MS-SSIM (spec/prism.md §5.5).
const (
	ssimWindow    = 11 // side of SSIM's Gaussian window
	ssimPad       = 5  // reflected border on each side
	msssimScales  = 5  // most scales that MS-SSIM looks at
	ssimFields    = 3  // planes that SSIM saves: its derivatives by mean, square and product
	ssimTile      = 16 // sides of planes that SSIM saves are multiples of this
	pointwiseSave = 1  // L1 and L2 save the factor of their gradient
)

// MSSSIMScales is the number of scales at which MS-SSIM compares two planes of
// h×w: five, or fewer where halving leaves a side below the window's 11 pixels;
// 0 when the planes themselves are too small.
func MSSSIMScales(h, w int) int {
	n := 0
	for n < msssimScales && min(h, w) >= ssimWindow {
		n, h, w = n+1, h/2, w/2
	}
	return n
}

// LossSaved is the number of float32 elements that Loss hands to LossGrad for
// planes of h×w. L1 and L2 save one factor. SSIM saves three planes, their sides
// rounded up to multiples of 16, the height to odd ones: what becomes of the map's derivatives by the
// prediction's local mean, local square and local product with the target. MS-SSIM
// saves those for each scale, both pooled planes of each but the first, and one
// number for each of the five scales. What they hold is the backend's own.
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

// SSIMSaved is the number of elements that SSIM saves at one scale. That the planes
// have an odd number of tiles from top to bottom spreads them over a cache's sets.
func SSIMSaved(h, w int) int {
	rows, columns := (h+ssimTile-1)/ssimTile, (w+ssimTile-1)/ssimTile
	return ssimFields * (rows | 1) * columns * ssimTile * ssimTile
}
