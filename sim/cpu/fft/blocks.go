package fft

import "math"

// rows transforms the rows of blocks [lo, hi) from the source into dst.
func (p *Plan) rows(lo, hi int) {
	ws := <-p.workspaces
	for b := lo; b < hi; b++ {
		first, count := b*lanes, min(lanes, p.h-b*lanes)
		if !p.loadRows(ws.block, first, count) {
			clear(p.job.dst[first*p.w : (first+count)*p.w])
			continue
		}
		p.row.transform(ws)
		p.storeRows(ws.block, first, count)
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

// loadRows fills the lanes of a block with rows and tells whether any element is
// not zero: rows of zeros, such as those around an object or outside an aperture,
// need no transform.
func (p *Plan) loadRows(block []complex64, first, count int) bool {
	load := p.job.rowLoad
	any := uint32(0)
	if count < lanes {
		clear(block[:p.w*lanes])
	}
	for l := range count {
		if p.job.srcReal != nil {
			any |= gatherReal(block[l:], p.job.srcReal[(first+l)*p.w:][:p.w], load)
			continue
		}
		src := p.job.src[(first+l)*p.w:][:p.w]
		if p.job.inverse {
			any |= gatherSwapped(block[l:], src, load)
		} else {
			any |= gather(block[l:], src, load)
		}
	}
	return any != 0
}

// magnitude are the bits of a float32 but its sign: 0 for both zeros.
const magnitude = 1<<31 - 1

func gather(lane, src []complex64, load []int32) uint32 {
	any := uint32(0)
	for i, j := range load {
		v := src[j]
		any |= (math.Float32bits(real(v)) | math.Float32bits(imag(v))) & magnitude
		lane[i*lanes] = v
	}
	return any
}

func gatherSwapped(lane, src []complex64, load []int32) uint32 {
	any := uint32(0)
	for i, j := range load {
		v := src[j]
		any |= (math.Float32bits(real(v)) | math.Float32bits(imag(v))) & magnitude
		lane[i*lanes] = complex(imag(v), real(v))
	}
	return any
}

func gatherReal(lane []complex64, src []float32, load []int32) uint32 {
	any := uint32(0)
	for i, j := range load {
		v := src[j]
		any |= math.Float32bits(v) & magnitude
		lane[i*lanes] = complex(v, 0)
	}
	return any
}

func (p *Plan) storeRows(block []complex64, first, count int) {
	store := p.job.rowStore
	for l := range count {
		dst := p.job.dst[(first+l)*p.w:][:p.w]
		lane := block[l:]
		for i, j := range store {
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
