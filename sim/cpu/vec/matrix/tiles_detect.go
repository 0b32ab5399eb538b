package matrix

import (
	"errors"
	"sync"

	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/vec"
)

// DetectTiles returns AMX if the processor and the operating system offer it and
// its products agree with plain Go's, else NoTiles and the reason.
func DetectTiles() (Tiles, error) { return detectTiles() }

var detectTiles = sync.OnceValues(func() (Tiles, error) {
	switch sets := vec.Available(); {
	case !vec.AVX512.Built():
		return NoTiles, errors.New("this build has no kernels for it")
	case sets[0] != vec.AVX512:
		return NoTiles, errors.New("it also needs AVX-512")
	}
	if err := features.PermitAMX(); err != nil {
		return NoTiles, err
	}
	if !agrees(AMX.Product) {
		return NoTiles, errors.New("its products are not plain Go's on this machine")
	}
	return AMX, nil
})

// agrees multiplies small whole numbers, whose sums are exact in any order, in a
// layout whose distances all differ, and compares with plain Go bit by bit.
func agrees(product func(*TileProduct)) bool {
	const groups = 2
	forms := []struct{ wide, short bool }{{}, {short: true}, {wide: true}, {wide: true, short: true}}
	seed := uint32(1)
	next := func() uint32 {
		seed = seed*1664525 + 1013904223
		return seed >> 24
	}
	small := func(n int) []uint16 {
		x := make([]uint16, n)
		for i := range x {
			x[i] = [...]uint16{0, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4040, 0x4080, 0xc0a0}[next()%8] // 0 ±1 ±2 3 4 −5
		}
		return x
	}
	p := TileProduct{Groups: groups, Segments: []int32{0, 0, 32, 1408, 5, 34},
		AStride: 70, AHalf: 1130, AStep: 20, BStride: 84, BHalf: 38, BStep: 6,
		CStride: 73, CRowHalf: 73 * 17, CColHalf: 18, CStep: 2500}
	p.A, p.B = small(32+p.AStep+p.AHalf+15*p.AStride+TileBlock), small(1408+p.BStep+3*p.BHalf+15*p.BStride+TileBlock)
	for i := range 2 * len(forms) {
		form := forms[i/2]
		p.Accumulate, p.Wide, p.Short = i%2 != 0, form.wide, form.short
		got, want := make([]float32, 4900), make([]float32, 4900)
		for i := range got {
			got[i] = float32(next())
			want[i] = got[i]
		}
		p.C = got
		product(&p)
		p.C = want
		PlainTiles.Product(&p)
		for i := range want {
			if got[i] != want[i] {
				return false
			}
		}
	}
	return true
}
