package cuda

import "testing"

// layer is the geometry of a transposed convolution of PRISM's decoder: 4×4 taps, stride 2, padding 1.
func layer(small, large, side int32) convGeometry {
	return convGeometry{1, small, large, side, side, 2 * side, 2 * side, 4, 4, 2, 1}
}

func TestMatricesHaveEveryProductOnce(t *testing.T) {
	g := layer(64, 32, 16)
	want := g.pixels() * g.weights() // but for the taps beyond the edges
	for _, s := range []convSum{gathers, scatters, weighs} {
		if m := g.matrices(s); m.m*m.n*m.k*m.parities != want {
			t.Errorf("%v: %+v has %d products, want %d", s, m, m.m*m.n*m.k*m.parities, want)
		}
	}
	odd := convGeometry{2, 3, 2, 5, 7, 11, 15, 4, 4, 2, 1}
	if m := odd.matrices(scatters); m.m != 2*6*8 || m.k != 3*4 || m.parities != 4 {
		t.Errorf("scatter to 11×15: %+v, want 2 images of 6×8 pixels of each parity", m)
	}
}

// Every layer of PRISM's decoder must keep the device busy, and each part of k must be computed exactly once.
func TestTilesFillTheDevice(t *testing.T) {
	const multi = 132
	for _, g := range []convGeometry{layer(256, 128, 4), layer(128, 64, 8), layer(64, 32, 16), layer(32, 16, 32), layer(16, 8, 64)} {
		for _, s := range []convSum{gathers, scatters, weighs} {
			m := g.matrices(s)
			c := chooseTile(m, tiles, multi)
			blocks := quotientUp(m.m, c.bm) * quotientUp(m.n, c.bn) * m.parities * c.parts
			t.Logf("%v %+v: %+v, %d blocks", s, m, c, blocks)
			if blocks < multi/3 {
				t.Errorf("%v %+v: %+v gives %d blocks", s, m, c, blocks)
			}
			if c.depth%c.bk != 0 || c.parts*c.depth < m.k || (c.parts-1)*c.depth >= m.k {
				t.Errorf("%v %+v: %+v does not divide k", s, m, c)
			}
		}
	}
}

func TestTilesOfBatchesAreLarge(t *testing.T) {
	g := convGeometry{16, 128, 128, 64, 64, 64, 64, 3, 3, 1, 1}
	if c := chooseTile(g.matrices(gathers), tiles, 132); c.bm != 64 || c.bn != 64 || c.parts != 1 {
		t.Errorf("16 images of 64×64 and 128 channels: %+v, want 64×64 undivided", c)
	}
}
