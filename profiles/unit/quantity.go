package unit

import (
	"fmt"
	"math"
)

// Loss formats a loss, 9 wide: "1.234e-03".
func Loss(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%9s", "–")
	}
	return fmt.Sprintf("%9.3e", v)
}

// LearningRate formats a learning rate, 7 wide: "1.0e-03".
func LearningRate(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "      –"
	}
	return fmt.Sprintf("%7.1e", v)
}

// PSNR formats a PSNR in dB, 8 wide.
func PSNR(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "    ∞ dB"
	case math.IsNaN(v) || math.IsInf(v, -1):
		return "    – dB"
	}
	return fmt.Sprintf("%5.1f dB", v)
}

// SSIM formats a structural similarity, 6 wide: " 0.812".
func SSIM(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "     –"
	}
	s := fmt.Sprintf("%.3f", math.Abs(v))
	if v < 0 {
		s = "−" + s
	}
	return fmt.Sprintf("%6s", s)
}
