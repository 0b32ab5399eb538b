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
func randomProduct(rng *rand.Rand, groups, segments int, form TileProduct) *TileProduct {
	p := &TileProduct{Groups: groups, Accumulate: form.Accumulate, Wide: form.Wide, Short: form.Short,
		AStep: rng.IntN(50), BStep: 2 * rng.IntN(50), CStep: 2300 + rng.IntN(50),
		AStride: 32 + rng.IntN(40), AHalf: 520 + rng.IntN(700), BStride: 32 + 2*rng.IntN(40), BHalf: 32 + 2*rng.IntN(20),
		CStride: 64 + rng.IntN(5), CRowHalf: 16*68 + rng.IntN(9), CColHalf: 16}
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
	rows, columns, depth := p.sides()
	p.A = bits(lastA + (groups-1)*p.AStep + (rows/TileSide-1)*p.AHalf + 15*p.AStride + depth)
	p.B = bits(lastB + (groups-1)*p.BStep + (columns/TileSide-1)*p.BHalf + (depth/2-1)*p.BStride + 2*TileSide)
	p.C = make([]float32, (groups-1)*p.CStep+(rows/TileSide-1)*p.CRowHalf+15*p.CStride+(columns/TileSide-1)*p.CColHalf+TileSide)
	for i := range p.C {
		p.C[i] = float32(rng.NormFloat64())
	}
	return p
}

// tileForms are the kinds of products.
func tileForms() (forms []TileProduct) {
	for i := range 8 {
		forms = append(forms, TileProduct{Accumulate: i&1 != 0, Wide: i&2 != 0, Short: i&4 != 0})
	}
	return forms
}

// The sums of the documentation, in float64.
func TestPlainTilesMultiplyMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, form := range tileForms() {
		p := randomProduct(rng, 3, 4, form)
		rows, columns, depth := p.sides()
		before := slices.Clone(p.C)
		PlainTiles.Product(p)
		written := map[int]bool{}
		for g := range p.Groups {
			for m := range rows {
				for n := range columns {
					at := g*p.CStep + m%16*p.CStride + m/16*p.CRowHalf + n%16 + n/16*p.CColHalf
					want := 0.0
					if form.Accumulate {
						want = float64(before[at])
					}
					for s := 0; s < len(p.Segments); s += 2 {
						for k := range depth {
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

// A block of 16 columns is one of 32 whose halves lie at the same place.
func TestPlainTilesComputeHalvesTwice(t *testing.T) {
	p := randomProduct(rand.New(rand.NewPCG(2, 7)), 1, 3, TileProduct{})
	want := *p
	want.C = make([]float32, len(p.C))
	PlainTiles.Product(&want)
	p.BHalf, p.CColHalf = 0, 0
	PlainTiles.Product(p)
	for m := range TileSide {
		if at := m * p.CStride; !slices.Equal(p.C[at:][:TileSide], want.C[at:][:TileSide]) {
			t.Errorf("row %d: %v, want %v", m, p.C[at:][:TileSide], want.C[at:][:TileSide])
		}
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
