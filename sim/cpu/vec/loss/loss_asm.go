package loss

import "prismtop/sim/cpu/vec"

// AbsoluteSums computes Σ|p[i] − t[i]| and Σ|t[i]|. The assembly adds in
// float32 by lanes, so p should not be longer than a few thousand.
func AbsoluteSums(s vec.Set, p, t []float32) (differences, targets float64) {
	n := len(p)
	if s == vec.Go || n == 0 {
		return absoluteSums(p, t)
	}
	t = t[:n]
	var d, u [16]float32
	if s == vec.AVX512 {
		absoluteSumsAVX512(&p[0], &t[0], n, &d[0], &u[0])
	} else {
		absoluteSumsAVX2(&p[0], &t[0], n, &d[0], &u[0])
	}
	for i := range d {
		differences += float64(d[i])
		targets += float64(u[i])
	}
	return differences, targets
}

// SquareSums computes Σ(p[i] − t[i])² and Σt[i]². The assembly adds in
// float32 by lanes, so p should not be longer than a few thousand.
func SquareSums(s vec.Set, p, t []float32) (differences, targets float64) {
	n := len(p)
	if s == vec.Go || n == 0 {
		return squareSums(p, t)
	}
	t = t[:n]
	var d, u [16]float32
	if s == vec.AVX512 {
		squareSumsAVX512(&p[0], &t[0], n, &d[0], &u[0])
	} else {
		squareSumsAVX2(&p[0], &t[0], n, &d[0], &u[0])
	}
	for i := range d {
		differences += float64(d[i])
		targets += float64(u[i])
	}
	return differences, targets
}

// Signs computes gp[i] = f·sign(p[i] − t[i]), 0 where they are equal.
func Signs(s vec.Set, gp, p, t []float32, f float32) {
	n := len(gp)
	if s == vec.Go || n == 0 {
		signs(gp, p, t, f)
		return
	}
	p, t = p[:n], t[:n]
	if s == vec.AVX512 {
		signsAVX512(&gp[0], &p[0], &t[0], n, f)
	} else {
		signsAVX2(&gp[0], &p[0], &t[0], n, f)
	}
}

// Differences computes gp[i] = f·(p[i] − t[i]).
func Differences(s vec.Set, gp, p, t []float32, f float32) {
	n := len(gp)
	if s == vec.Go || n == 0 {
		differences(gp, p, t, f)
		return
	}
	p, t = p[:n], t[:n]
	if s == vec.AVX512 {
		differencesAVX512(&gp[0], &p[0], &t[0], n, f)
	} else {
		differencesAVX2(&gp[0], &p[0], &t[0], n, f)
	}
}
