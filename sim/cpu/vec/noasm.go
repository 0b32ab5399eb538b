//go:build !amd64 || noasm

package vec

// built are the sets of this build.
var built = []Set{Go}

// MultiplyAdds runs independent multiply-adds on registers for the given number
// of rounds and returns the number of additions and multiplications.
func (Set) MultiplyAdds(rounds int) int64 {
	var sums [4]float32
	multiplyAdds(&sums, rounds, 1)
	return int64(rounds) * 4 * 2
}

// DotProducts returns 0: there are no products of bfloat16.
func (Set) DotProducts(int) int64 { return 0 }

// ReadAll reads x once and returns the number of bytes read.
func (Set) ReadAll(x []float32) int64 {
	readAll(x)
	return 4 * int64(len(x)&^3)
}
