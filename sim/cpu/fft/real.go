package fft

// A real plane's spectrum is Hermitian, X[−u,−v] = conj X[u,v], so that half of
// the columns tell the other half; and the real part of a result is half of the
// numbers, so that two columns can share one transform. Both hold for even
// widths that split into whole blocks on either side of DC; other widths take the
// general way.

// halves tells whether the width splits that way.
func (p *Plan) halves() bool { return p.w%(2*lanes) == 0 }

// hermitianBlocks is the number of column blocks of a centred spectrum to compute:
// those from DC on, and the first, whose first column is the Nyquist frequency.
func (p *Plan) hermitianBlocks() int { return p.w/(2*lanes) + 1 }

// hermitianColumns transforms the blocks [lo, hi) of these.
func (p *Plan) hermitianColumns(lo, hi int) {
	ws := <-p.workspaces
	for b := lo; b < hi; b++ {
		first := 0
		if b > 0 {
			first = p.w/2 + (b-1)*lanes
		}
		p.loadColumns(ws.block, first, lanes)
		p.column.transform(ws)
		p.storeColumns(ws.block, first, lanes)
	}
	p.workspaces <- ws
}

// mirrorRows fills the columns between the first block and DC in the blocks of
// rows [lo, hi): the frequency at column j is the opposite of that at w−j.
func (p *Plan) mirrorRows(lo, hi int) {
	for i := lo * lanes; i < min(hi*lanes, p.h); i++ {
		opposite := 2*(p.h/2) - i
		if opposite >= p.h {
			opposite -= p.h
		}
		dst := p.job.dst[i*p.w:][lanes : p.w/2]
		from := p.job.dst[opposite*p.w:][p.w/2+1:][:len(dst)+lanes-1]
		for j := range dst {
			v := from[len(dst)-1-j]
			dst[j] = complex(real(v), -imag(v))
		}
	}
}

// pairedColumns computes the real part of the columns of double blocks [lo, hi).
// Column a of the first half and b of the second share a lane: with H(c) the
// Hermitian part of c, the transform of H(a) + i·H(b) is Re A + i·Re B.
func (p *Plan) pairedColumns(lo, hi int) {
	ws := <-p.workspaces
	for b := lo; b < hi; b++ {
		first := 2 * lanes * b
		p.loadPaired(ws.block, first)
		p.column.transform(ws)
		p.storePaired(ws.block, first)
	}
	p.workspaces <- ws
}

// loadPaired fills a block with 2·(H(a) + i·H(b)). The plane holds the inverse's
// swapped values; −i times them has the wanted real part.
func (p *Plan) loadPaired(block []complex64, first int) {
	load := p.job.columnLoad
	for i := 0; i <= p.h/2; i++ {
		j := (p.h - i) % p.h
		here := p.job.dst[int(load[i])*p.w+first:]
		there := p.job.dst[int(load[j])*p.w+first:]
		pairRows(rowAt(block, i), rowAt(block, j), (*[2 * lanes]complex64)(here), (*[2 * lanes]complex64)(there))
	}
}

func pairRows(up, down *row, here, there *[2 * lanes]complex64) {
	for l := range lanes {
		a, b := here[l], here[lanes+l]
		c, d := there[l], there[lanes+l]
		ar, ai := imag(a)+imag(c), real(c)-real(a)
		br, bi := imag(b)+imag(d), real(d)-real(b)
		up[l] = complex(ar-bi, ai+br)
		down[l] = complex(ar+bi, br-ai)
	}
}

func (p *Plan) storePaired(block []complex64, first int) {
	scale := p.job.scale / 2
	for i, j := range p.job.columnStore {
		to := (*[2 * lanes]float32)(p.job.dstReal[int(j)*p.w+first:])
		for l, v := range rowAt(block, i) {
			to[l], to[lanes+l] = real(v)*scale, imag(v)*scale
		}
	}
}
