package optics

import "math"

// RMSE returns 100·√mean((a−b)²)/√mean(b²): percent of the root mean square of
// the truth b. It is +Inf if the truth is all zeros and a differs from it.
func RMSE(a, b []float32) float64 {
	var power float64
	for _, v := range b {
		power += float64(v) * float64(v)
	}
	square := meanSquare(a, b)
	if square == 0 {
		return 0
	}
	return 100 * math.Sqrt(square) / math.Sqrt(power/float64(len(b)))
}

// PSNR returns 20·log10(1/√MSE) in dB for a data range of 1, +Inf for equal
// pictures.
func PSNR(a, b []float32) float64 { return PSNROf(meanSquare(a, b)) }

// PSNROf is PSNR of a mean squared difference.
func PSNROf(square float64) float64 {
	if square == 0 {
		return math.Inf(1)
	}
	return -10 * math.Log10(square)
}

func meanSquare(a, b []float32) float64 {
	var sum float64
	for i, v := range a {
		d := float64(v) - float64(b[i])
		sum += d * d
	}
	return sum / float64(len(a))
}
