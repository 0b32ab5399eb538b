package fft

// Sides that are not powers of two, or are too short for strips, go through
// gonum's transform, line by line.

// anyColumns transforms the columns [lo, hi) of the source into dst.
func (p *Plan) anyColumns(ws *workspace, lo, hi int) {
	sequence := ws.sequence[:p.h]
	for j := lo; j < hi; j++ {
		for i := range sequence {
			var v complex64
			if at := p.shifted(i, p.h)*p.w + j; p.job.srcReal != nil {
				v = complex(p.job.srcReal[at], 0)
			} else {
				v = p.job.src[at]
			}
			if p.job.inverse {
				v = complex(imag(v), real(v))
			}
			sequence[i] = complex128(v)
		}
		ws.any[1].Coefficients(sequence, sequence)
		for i, v := range sequence {
			p.job.dst[p.shifted(i, p.h)*p.w+j] = complex64(v)
		}
	}
}

// anyRows transforms the rows [lo, hi) of dst.
func (p *Plan) anyRows(ws *workspace, lo, hi int) {
	sequence := ws.sequence[:p.w]
	for i := lo; i < hi; i++ {
		row := p.job.dst[i*p.w:][:p.w]
		if i < p.job.bounds.OutRows[0] || i >= p.job.bounds.OutRows[1] {
			p.clearRows(i, 1)
			continue
		}
		for j := range sequence {
			sequence[j] = complex128(row[p.shifted(j, p.w)])
		}
		ws.any[0].Coefficients(sequence, sequence)
		for j, c := range sequence {
			v := complex64(c)
			if p.job.inverse {
				v = complex(imag(v), real(v))
			}
			at := p.shifted(j, p.w)
			if p.job.dstReal != nil {
				p.job.dstReal[i*p.w+at] = real(v) * p.job.scale
			} else {
				row[at] = complex(real(v)*p.job.scale, imag(v)*p.job.scale)
			}
		}
	}
}

// shifted returns the position of element i of n in a plane: shifted by half of n
// if centred, in both domains.
func (p *Plan) shifted(i, n int) int {
	if !p.job.centred {
		return i
	}
	return (i + n/2) % n
}
