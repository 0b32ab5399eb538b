package fft

import "unsafe"

// rows transforms the rows of blocks [lo, hi) from the source into dst.
func (p *Plan) rows(lo, hi int) {
	ws := <-p.workspaces
	for b := lo; b < hi; b++ {
		first, count := b*lanes, min(lanes, p.h-b*lanes)
		if !p.nonZero(ws, first, count) {
			clear(p.job.dst[first*p.w : (first+count)*p.w])
			continue
		}
		p.loadRows(ws, first, count)
		p.row.transform(ws)
		p.storeRows(ws, first, count)
	}
	p.workspaces <- ws
}

// columns transforms the columns of blocks [lo, hi) of dst, in place unless the
// result is real.
func (p *Plan) columns(lo, hi int) {
	ws := <-p.workspaces
	for b := lo; b < hi; b++ {
		first, count := b*lanes, min(lanes, p.w-b*lanes)
		p.loadColumns(ws.block, first, count)
		p.column.transform(ws)
		p.storeColumns(ws.block, first, count)
	}
	p.workspaces <- ws
}

// nonZero tells whether any element of some rows of the source is not zero: rows of
// zeros, such as those around an object or outside an aperture, need no transform.
func (p *Plan) nonZero(ws *workspace, first, count int) bool {
	for at := first * p.w; at < (first+count)*p.w; at += p.w {
		if p.job.srcReal != nil {
			if ws.set.NonZero(p.job.srcReal[at:][:p.w]) {
				return true
			}
		} else if ws.set.NonZero(parts(p.job.src[at:][:p.w])) {
			return true
		}
	}
	return false
}

// parts is a row of complex values as real and imaginary parts in turn.
func parts(z []complex64) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(z))), 2*len(z))
}

// loadRows fills the lanes of a block with rows.
func (p *Plan) loadRows(ws *workspace, first, count int) {
	load, block := p.job.rowLoad, ws.block
	if count == lanes && p.job.src != nil {
		src, start := p.job.src[first*p.w:], int(load[0])
		ws.set.RowsIn(block, src[start:], p.w, p.w-start, p.job.inverse)
		ws.set.RowsIn(block[(p.w-start)*lanes:], src, p.w, start, p.job.inverse)
		return
	}
	if count < lanes {
		clear(block[:p.w*lanes])
	}
	for l := range count {
		at := (first + l) * p.w
		switch {
		case p.job.srcReal != nil:
			gatherReal(block[l:], p.job.srcReal[at:][:p.w], load)
		case p.job.inverse:
			gatherSwapped(block[l:], p.job.src[at:][:p.w], load)
		default:
			gather(block[l:], p.job.src[at:][:p.w], load)
		}
	}
}

func gather(lane, src []complex64, load []int32) {
	for i, j := range load {
		lane[i*lanes] = src[j]
	}
}

func gatherSwapped(lane, src []complex64, load []int32) {
	for i, j := range load {
		lane[i*lanes] = complex(imag(src[j]), real(src[j]))
	}
}

func gatherReal(lane []complex64, src []float32, load []int32) {
	for i, j := range load {
		lane[i*lanes] = complex(src[j], 0)
	}
}

func (p *Plan) storeRows(ws *workspace, first, count int) {
	if count == lanes {
		ws.set.RowsOut(p.job.dst[first*p.w:], p.w, ws.block, p.job.rowUnload)
		return
	}
	for l := range count {
		dst := p.job.dst[(first+l)*p.w:][:p.w]
		lane := ws.block[l:]
		for i, j := range p.job.rowStore {
			dst[j] = lane[i*lanes]
		}
	}
}

func (p *Plan) loadColumns(block []complex64, first, count int) {
	if count < lanes {
		clear(block[:p.h*lanes])
		for i, j := range p.job.columnLoad {
			copy(block[i*lanes:][:count], p.job.dst[int(j)*p.w+first:])
		}
		return
	}
	dst := p.job.dst[first:]
	for i, j := range p.job.columnLoad {
		*rowAt(block, i) = *(*row)(dst[int(j)*p.w:])
	}
}

// storeColumns writes a transformed block, scaled, to the result.
func (p *Plan) storeColumns(block []complex64, first, count int) {
	for i, j := range p.job.columnStore {
		from, at := rowAt(block, i), int(j)*p.w+first
		switch {
		case p.job.dstReal != nil:
			realRow(p.job.dstReal[at:][:count], from, p.job.scale, p.job.inverse)
		case count < lanes:
			var whole row
			scaleRow(&whole, from, p.job.scale, p.job.inverse)
			copy(p.job.dst[at:], whole[:count])
		default:
			scaleRow((*row)(p.job.dst[at:]), from, p.job.scale, p.job.inverse)
		}
	}
}

func scaleRow(to, from *row, scale float32, swap bool) {
	if swap {
		for l, v := range from {
			to[l] = complex(imag(v)*scale, real(v)*scale)
		}
		return
	}
	for l, v := range from {
		to[l] = complex(real(v)*scale, imag(v)*scale)
	}
}

func realRow(to []float32, from *row, scale float32, swap bool) {
	for l := range to {
		v := real(from[l])
		if swap {
			v = imag(from[l])
		}
		to[l] = v * scale
	}
}
