//go:build !noasm

package matrix

import "unsafe"

// tileCall is the assembly's argument: distances in bytes, in the order of the
// generator's tileFields.
type tileCall struct {
	config                 *[64]byte
	segments               *int32
	a, b                   *uint16
	c                      *float32
	count, groups          int
	aStride, aBlock, aStep int
	bStride, bBlock, bStep int
	cStride, cRowBlock     int
	cColumnBlock, cStep    int
	accumulate             int
}

// tileConfig is LDTILECFG's operand: palette 1, eight tiles of 16 rows of 64 bytes.
var tileConfig = func() (c [64]byte) {
	c[0] = 1
	for tile := range 8 {
		c[16+2*tile], c[48+tile] = 64, 16
	}
	return c
}()

// call translates a product for the assembly.
func (p *TileProduct) call() tileCall {
	call := tileCall{config: &tileConfig, segments: &p.Segments[0], a: &p.A[0], b: &p.B[0], c: &p.C[0],
		count: len(p.Segments) / 2, groups: p.Groups,
		aStride: 2 * p.AStride, aBlock: 2 * p.AHalf, aStep: 2 * p.AStep,
		bStride: 2 * p.BStride, bBlock: 2 * p.BHalf, bStep: 2 * p.BStep,
		cStride: 4 * p.CStride, cRowBlock: 4 * p.CRowHalf, cColumnBlock: 4 * p.CColHalf, cStep: 4 * p.CStep}
	if p.Accumulate {
		call.accumulate = 1
	}
	return call
}

// Product computes a product; without groups or segments it does nothing.
func (t Tiles) Product(p *TileProduct) {
	switch {
	case p.Groups <= 0 || len(p.Segments) < 2:
	case t == AMX:
		call := p.call()
		tileProductAMX((*int64)(unsafe.Pointer(&call)))
	default:
		p.multiply()
	}
}

// amxBuilt reports whether this build has tile products on AMX.
const amxBuilt = true
