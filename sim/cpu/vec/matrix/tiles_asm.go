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

// tileConfigs are LDTILECFG's operands: palette 1 and eight tiles of 16 rows of 64 bytes; for
// short segments those of a have rows of 32 bytes and those of b 8 rows. Wide blocks have one tile of a.
var tileConfigs = func() (c [4][64]byte) {
	for i := range c {
		c[i][0] = 1
		for tile := range 8 {
			c[i][16+2*tile], c[i][48+tile] = 64, 16
		}
		short, ofA := i&1 != 0, 6-i>>1 // tiles from 4 on
		for tile := 4; tile < 8 && short; tile++ {
			if tile < ofA {
				c[i][16+2*tile] = 32
			} else {
				c[i][48+tile] = 8
			}
		}
	}
	return c
}()

// config returns the product's operand of LDTILECFG.
func (p *TileProduct) config() *[64]byte {
	i := 0
	if p.Short {
		i |= 1
	}
	if p.Wide {
		i |= 2
	}
	return &tileConfigs[i]
}

// call translates a product for the assembly.
func (p *TileProduct) call() tileCall {
	call := tileCall{config: p.config(), segments: &p.Segments[0], a: &p.A[0], b: &p.B[0], c: &p.C[0],
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
		if p.Wide {
			tileProductWideAMX((*int64)(unsafe.Pointer(&call)))
			return
		}
		tileProductAMX((*int64)(unsafe.Pointer(&call)))
	default:
		p.multiply()
	}
}
