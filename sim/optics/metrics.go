package optics

import "math"

// RMSE is 100·√mean((a−b)²)/√mean(b²): percent of the root mean square of the
// truth b. It is +Inf for a truth of zeros that is missed.
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

// PSNR is 20·log10(1/√MSE) in dB for a data range of 1, +Inf for equal pictures.
func PSNR(a, b []float32) float64 {
	square := meanSquare(a, b)
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
