package matrix

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/tensor"
)

// randomProduct is a product of several groups and segments, with distances of no
// pattern, whose slices end where it reads last.
func randomProduct(rng *rand.Rand, groups, segments int, accumulate bool) *TileProduct {
	p := &TileProduct{Groups: groups, Accumulate: accumulate,
		AStep: rng.IntN(50), BStep: 2 * rng.IntN(50), CStep: 1200 + rng.IntN(50),
		AStride: 32 + rng.IntN(40), AHalf: 520 + rng.IntN(700), BStride: 32 + 2*rng.IntN(40), BHalf: 32 + 2*rng.IntN(20),
		CStride: 32 + rng.IntN(5), CRowHalf: 16*36 + rng.IntN(9), CColHalf: 16}
	lastA, lastB := 0, 0
	for range segments {
		a, b := rng.IntN(900), 2*rng.IntN(900)
		p.Segments = append(p.Segments, int32(a), int32(b))
		lastA, lastB = max(lastA, a), max(lastB, b)
	}
	bits := func(n int) []uint16 {
		x := make([]uint16, n)
		for i := range x {
			x[i] = tensor.F32ToBF16(float32(rng.NormFloat64()))
		}
		return x
	}
	p.A = bits(lastA + (groups-1)*p.AStep + p.AHalf + 15*p.AStride + TileBlock)
	p.B = bits(lastB + (groups-1)*p.BStep + p.BHalf + 15*p.BStride + TileBlock)
	p.C = make([]float32, (groups-1)*p.CStep+p.CRowHalf+15*p.CStride+p.CColHalf+16)
	for i := range p.C {
		p.C[i] = float32(rng.NormFloat64())
	}
	return p
}

// The sums of the documentation, in float64.
func TestPlainTilesMultiplyMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, accumulate := range []bool{false, true} {
		p := randomProduct(rng, 3, 4, accumulate)
		before := slices.Clone(p.C)
		PlainTiles.Product(p)
		written := map[int]bool{}
		for g := range p.Groups {
			for m := range TileBlock {
				for n := range TileBlock {
					at := g*p.CStep + m%16*p.CStride + m/16*p.CRowHalf + n%16 + n/16*p.CColHalf
					want := 0.0
					if accumulate {
						want = float64(before[at])
					}
					for s := 0; s < len(p.Segments); s += 2 {
						for k := range TileBlock {
							a := p.A[g*p.AStep+int(p.Segments[s])+m%16*p.AStride+m/16*p.AHalf+k]
							b := p.B[g*p.BStep+int(p.Segments[s+1])+k/2*p.BStride+2*(n%16)+n/16*p.BHalf+k%2]
							want += float64(tensor.BF16ToF32(a)) * float64(tensor.BF16ToF32(b))
						}
					}
					if math.Abs(float64(p.C[at])-want) > 2e-5 {
						t.Fatalf("group %d, row %d, column %d: %v, want %v", g, m, n, p.C[at], want)
					}
					written[at] = true
				}
			}
		}
		for i := range before {
			if !written[i] && p.C[i] != before[i] {
				t.Fatalf("wrote element %d", i)
			}
		}
	}
}

func TestTilesTakeSubnormalsForZeros(t *testing.T) {
	for _, x := range []uint16{0x0001, 0x8001, 0x007f} {
		if got := widenNormal(x); got != 0 {
			t.Errorf("%#x is %v", x, got)
		}
	}
	if widenNormal(0x0080) != 0x1p-126 || widenNormal(0x7fc0) == widenNormal(0x7fc0) {
		t.Error("the smallest normal number or a NaN was lost")
	}
}

// What decides at start whether AMX is used would see a wrong product.
func TestWrongTilesDoNotAgree(t *testing.T) {
	if !agrees(PlainTiles.Product) {
		t.Error("plain Go does not agree with itself")
	}
	for what, spoil := range map[string]func(p *TileProduct){
		"a segment left out":     func(p *TileProduct) { p.Segments = p.Segments[2:] },
		"a group left out":       func(p *TileProduct) { p.Groups-- },
		"a's rows elsewhere":     func(p *TileProduct) { p.AHalf-- },
		"b's columns elsewhere":  func(p *TileProduct) { p.BHalf -= 2 },
		"b's pairs elsewhere":    func(p *TileProduct) { p.BStride -= 2 },
		"c's columns elsewhere":  func(p *TileProduct) { p.CColHalf-- },
		"c's second rows":        func(p *TileProduct) { p.CRowHalf-- },
		"sums never accumulated": func(p *TileProduct) { p.Accumulate = false },
		"always accumulated":     func(p *TileProduct) { p.Accumulate = true },
	} {
		if agrees(func(p *TileProduct) {
			wrong := *p
			spoil(&wrong)
			PlainTiles.Product(&wrong)
		}) {
			t.Errorf("%s: not seen", what)
		}
	}
	if tiles, err := DetectTiles(); (tiles == AMX) == (err != nil) {
		t.Errorf("detected %v with reason %v", tiles, err)
	} else {
		t.Logf("AMX: %v, %v", tiles == AMX, err)
	}
}
