package adam

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/tensor"
)

// Step is one step of the optimiser; see step.
func Step(s vec.Set, p, m, v, g []float32, c *Scalars) {
	n := len(p)
	if s == vec.Go || n == 0 {
		step(p, m, v, g, c)
		return
	}
	m, v, g = m[:n], v[:n], g[:n]
	if s == vec.AVX512 {
		adamAVX512(&p[0], &m[0], &v[0], &g[0], n, &c.Beta1)
	} else {
		adamAVX2(&p[0], &m[0], &v[0], &g[0], n, &c.Beta1)
	}
}

// AMSGrad is Step with the largest v so far in the denominator.
func AMSGrad(s vec.Set, p, m, v, largest, g []float32, c *Scalars) {
	n := len(p)
	if s == vec.Go || n == 0 {
		amsgrad(p, m, v, largest, g, c)
		return
	}
	m, v, largest, g = m[:n], v[:n], largest[:n], g[:n]
	if s == vec.AVX512 {
		amsgradAVX512(&p[0], &m[0], &v[0], &largest[0], &g[0], n, &c.Beta1)
	} else {
		amsgradAVX2(&p[0], &m[0], &v[0], &largest[0], &g[0], n, &c.Beta1)
	}
}

// StepRounded is Step, with the new values rounded to bfloat16 in rounded, subnormal ones to zero.
func StepRounded(pairs vec.Pairs, rounded []uint16, p, m, v, g []float32, c *Scalars) {
	n := len(p)
	if pairs != vec.BF16 || n == 0 {
		step(p, m, v, g, c)
		tensor.Narrow(tensor.BFloat16, rounded[:n], p)
		return
	}
	rounded, m, v, g = rounded[:n], m[:n], v[:n], g[:n]
	adamBF16(&p[0], &m[0], &v[0], &g[0], n, &c.Beta1, &rounded[0])
}
