//go:build !amd64 || noasm

package vec

// AbsoluteSums computes Σ|p[i] − t[i]| and Σ|t[i]|.
func (Set) AbsoluteSums(p, t []float32) (differences, targets float64) { return absoluteSums(p, t) }

// SquareSums computes Σ(p[i] − t[i])² and Σt[i]².
func (Set) SquareSums(p, t []float32) (differences, targets float64) { return squareSums(p, t) }

// Signs computes gp[i] = f·sign(p[i] − t[i]), 0 where they are equal.
func (Set) Signs(gp, p, t []float32, f float32) { signs(gp, p, t, f) }

// Differences computes gp[i] = f·(p[i] − t[i]).
func (Set) Differences(gp, p, t []float32, f float32) { differences(gp, p, t, f) }
