package conv

import "prismtop/sim/cpu/vec/internal/plain"

// dots multiplies rows of p with runs of x, n elements each:
//
//	out[r·pitch + k] += Σ over i of p[r·stride + i] · x[segments[k] + i]
func dots(out []float32, pitch, rows int, p []float32, stride, n int, x []float32, segments []int32) {
	r := 0
	for ; r+1 < rows; r += 2 {
		dots2(out[r*pitch:], out[(r+1)*pitch:], p[r*stride:][:n], p[(r+1)*stride:][:n], x, segments)
	}
	if r < rows {
		dots1(out[r*pitch:], p[r*stride:][:n], x, segments)
	}
}

func dots2(out0, out1, p0, p1, x []float32, segments []int32) {
	k, n := 0, len(p0)
	var r [6]float32
	for ; k+2 < len(segments); k += 3 {
		s := segments[k : k+3 : k+3]
		dot2x3(p0, p1, x[s[0]:][:n], x[s[1]:][:n], x[s[2]:][:n], &r)
		a, b := out0[k:k+3:k+3], out1[k:k+3:k+3]
		a[0] += r[0]
		a[1] += r[1]
		a[2] += r[2]
		b[0] += r[3]
		b[1] += r[4]
		b[2] += r[5]
	}
	for ; k < len(segments); k++ {
		run := x[segments[k]:][:n]
		out0[k] += plain.Dot(p0, run)
		out1[k] += plain.Dot(p1, run)
	}
}

func dots1(out, p, x []float32, segments []int32) {
	k, n := 0, len(p)
	for ; k+3 < len(segments); k += 4 {
		s := segments[k : k+4 : k+4]
		plain.DotFour(p, x[s[0]:][:n], x[s[1]:][:n], x[s[2]:][:n], x[s[3]:][:n], (*[4]float32)(out[k:]))
	}
	for ; k < len(segments); k++ {
		out[k] += plain.Dot(p, x[segments[k]:][:n])
	}
}

// dotsPairs is dots for pairs in a and x.
func dotsPairs(out []float32, pitch, rows int, a []float32, stride, n int, x []float32, segments []int32) {
	for r := range rows {
		for k, s := range segments {
			total, run := float32(0), x[s:][:n]
			for i, v := range a[r*stride:][:n] {
				total = plain.PairProduct(total, v, run[i])
			}
			out[r*pitch+k] += total
		}
	}
}

// dot2x3 multiplies two rows with three: r[k] = Σ p0[i]·xk[i]; r[3+k] = Σ p1[i]·xk[i].
// Eight sums would not fit the registers.
func dot2x3(p0, p1, x0, x1, x2 []float32, r *[6]float32) {
	n := len(p0)
	p1, x0, x1, x2 = p1[:n], x0[:n], x1[:n], x2[:n]
	var a0, a1, a2, b0, b1, b2 float32
	for i, u := range p0 {
		v := p1[i]
		x := x0[i]
		a0 += u * x
		b0 += v * x
		x = x1[i]
		a1 += u * x
		b1 += v * x
		x = x2[i]
		a2 += u * x
		b2 += v * x
	}
	r[0], r[1], r[2], r[3], r[4], r[5] = a0, a1, a2, b0, b1, b2
}
