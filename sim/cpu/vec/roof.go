package vec

// multiplyAdds is, in each round, four independent sums += x·x.
//
//go:noinline
func multiplyAdds(rounds int, x float32) float32 {
	var a, b, c, d float32
	for range rounds {
		a += x * x
		b += x * x
		c += x * x
		d += x * x
	}
	return a + b + c + d
}

// readAll is Σ x[i], in four sums.
//
//go:noinline
func readAll(x []float32) float32 {
	var a, b, c, d float32
	for ; len(x) >= 4; x = x[4:] {
		a += x[0]
		b += x[1]
		c += x[2]
		d += x[3]
	}
	return a + b + c + d
}
