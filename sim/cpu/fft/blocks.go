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

// columns transforms the columns of blocks [lo, hi) of dst in place.
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
	return any<<1 != 0 // the sign of a zero does not count
}

func gather(lane, src []complex64, load []int32) uint32 {
	any := uint32(0)
	for i, j := range load {
		v := src[j]
		any |= (math.Float32bits(real(v)) | math.Float32bits(imag(v))) &^ (1 << 31)
		lane[i*lanes] = v
	}
	return any
}

func gatherSwapped(lane, src []complex64, load []int32) uint32 {
	any := uint32(0)
	for i, j := range load {
		v := src[j]
		any |= (math.Float32bits(real(v)) | math.Float32bits(imag(v))) &^ (1 << 31)
		lane[i*lanes] = complex(imag(v), real(v))
	}
	return any
}

func gatherReal(lane []complex64, src []float32, load []int32) uint32 {
	any := uint32(0)
	for i, j := range load {
		v := src[j]
		any |= math.Float32bits(v) &^ (1 << 31)
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
	}
	for i, j := range p.job.columnLoad {
		copy(block[i*lanes:][:count], p.job.dst[int(j)*p.w+first:][:count])
	}
}

func (p *Plan) storeColumns(block []complex64, first, count int) {
	scale, inverse := p.job.scale, p.job.inverse
	for i, j := range p.job.columnStore {
		dst := p.job.dst[int(j)*p.w+first:][:count]
		for l, v := range block[i*lanes:][:len(dst)] {
			re, im := real(v)*scale, imag(v)*scale
			if inverse {
				re, im = im, re
			}
			dst[l] = complex(re, im)
		}
	}
}
