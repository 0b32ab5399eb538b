//go:build !amd64 || noasm

package vec

// SquareSum computes a SquareSum for tiles.
func (s Set) SquareSum(q *SquareSum, t *SquareTiles) { q.sum(t) }
