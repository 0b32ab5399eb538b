package adam

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/tensor"
)

// Outer is Step with the gradient factor·x.
func Outer(s vec.Set, p, m, v, x []float32, factor float32, c *Scalars) {
	n := len(p)
	if s == vec.Go || n == 0 {
		outer(p, m, v, x, factor, c)
		return
	}
	m, v, x = m[:n], v[:n], x[:n]
	if s == vec.AVX512 {
		adamOuterAVX512(&p[0], &m[0], &v[0], &x[0], n, &c.Beta1, factor)
	} else {
		adamOuterAVX2(&p[0], &m[0], &v[0], &x[0], n, &c.Beta1, factor)
	}
}

// OuterRounded is Outer, with the new values rounded to bfloat16 in rounded.
func OuterRounded(pairs vec.Pairs, rounded []uint16, p, m, v, x []float32, factor float32, c *Scalars) {
	n := len(p)
	if pairs != vec.BF16 || n == 0 {
		outer(p, m, v, x, factor, c)
		tensor.Narrow(tensor.BFloat16, rounded[:n], p)
		return
	}
	rounded, m, v, x = rounded[:n], m[:n], v[:n], x[:n]
	adamOuterBF16(&p[0], &m[0], &v[0], &x[0], n, &c.Beta1, factor, &rounded[0])
}

// AMSGradOuter is AMSGrad with the gradient factor·x.
func AMSGradOuter(s vec.Set, p, m, v, largest, x []float32, factor float32, c *Scalars) {
	n := len(p)
	if s == vec.Go || n == 0 {
		amsgradOuter(p, m, v, largest, x, factor, c)
		return
	}
	m, v, largest, x = m[:n], v[:n], largest[:n], x[:n]
	if s == vec.AVX512 {
		amsgradOuterAVX512(&p[0], &m[0], &v[0], &largest[0], &x[0], n, &c.Beta1, factor)
	} else {
		amsgradOuterAVX2(&p[0], &m[0], &v[0], &largest[0], &x[0], n, &c.Beta1, factor)
	}
}

// OuterProducts computes Products of rows of p with x, then Outer of each
// row; see outerProducts.
func OuterProducts(s vec.Set, out, p, m, v, x, factors []float32, c *Scalars) {
	n, rows := len(x), len(out)
	if s == vec.Go || n == 0 || rows == 0 {
		outerProducts(out, p, m, v, x, factors, c)
		return
	}
	p, m, v, factors = p[:rows*n], m[:rows*n], v[:rows*n], factors[:rows]
	row := adamOuterDotAVX2
	if s == vec.AVX512 {
		row = adamOuterDotAVX512
	}
	for r, at := 0, 0; r < rows; r, at = r+1, at+n {
		row(&p[at], &m[at], &v[at], &x[0], n, &c.Beta1, factors[r], &out[r])
	}
}

// OuterProductsRounded is OuterProducts whose products are those of the weights rounded to bfloat16.
func OuterProductsRounded(pairs vec.Pairs, out, p, m, v, x, factors []float32, c *Scalars) {
	n, rows := len(x), len(out)
	if pairs != vec.BF16 || n == 0 || rows == 0 {
		outerProductsRounded(out, p, m, v, x, factors, c)
		return
	}
	p, m, v, factors = p[:rows*n], m[:rows*n], v[:rows*n], factors[:rows]
	for r, at := 0, 0; r < rows; r, at = r+1, at+n {
		adamOuterDotBF16(&p[at], &m[at], &v[at], &x[0], n, &c.Beta1, factors[r], &out[r])
	}
}

// AMSGradOuterProducts is OuterProducts with AMSGrad.
func AMSGradOuterProducts(s vec.Set, out, p, m, v, largest, x, factors []float32, c *Scalars) {
	n, rows := len(x), len(out)
	if s == vec.Go || n == 0 || rows == 0 {
		amsgradOuterProducts(out, p, m, v, largest, x, factors, c)
		return
	}
	p, m, v, largest, factors = p[:rows*n], m[:rows*n], v[:rows*n], largest[:rows*n], factors[:rows]
	row := amsgradOuterDotAVX2
	if s == vec.AVX512 {
		row = amsgradOuterDotAVX512
	}
	for r, at := 0, 0; r < rows; r, at = r+1, at+n {
		row(&p[at], &m[at], &v[at], &largest[at], &x[0], n, &c.Beta1, factors[r], &out[r])
	}
}
