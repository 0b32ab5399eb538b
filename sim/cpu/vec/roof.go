package vec

// multiplyAdds computes, in each round, four independent sums += x·x.
//
//go:noinline
func multiplyAdds(sums *[4]float32, rounds int, x float32) {
	a, b, c, d := sums[0], sums[1], sums[2], sums[3]
	for range rounds {
		a += x * x
		b += x * x
		c += x * x
		d += x * x
	}
	*sums = [4]float32{a, b, c, d}
}

// readAll computes Σ x[i], in four sums.
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
