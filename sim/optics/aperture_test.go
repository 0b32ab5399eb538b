package optics

import (
	"context"
	"math"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/npy/npytest"
)

func drawn(n int, a Aperture, c Point) []float32 {
	m := make([]float32, n*n)
	if err := a.Add(context.Background(), m, Coordinates(n), c); err != nil {
		panic(err) // the context never ends
	}
	return m
}

// maskOf is a mask of the cache.
func maskOf(t testing.TB, c *MaskCache, a Aperture, centre Point) []float32 {
	t.Helper()
	return must[[]float32](t)(c.Mask(t.Context(), a, centre))
}

// must returns the value and fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func count(mask []float32) int { return int(math.Round(Coverage(mask) * float64(len(mask)))) }

// The counts are those of spec/prism.md §2.3 and §6.
func TestDiscsHaveTheReferenceCounts(t *testing.T) {
	for _, c := range []struct {
		radius float64
		centre Point
		want   int
	}{
		{5, Point{}, 81}, {8.5, Point{}, 225}, {10, Point{}, 317}, {12.5, Point{}, 489},
		{20, Point{}, 1257}, {25, Point{}, 1961}, {50, Point{}, 7845},
		{5, Point{4.5, -3.25}, 80},
	} {
		if got := count(drawn(128, Aperture{Radius: c.radius}, c.centre)); got != c.want {
			t.Errorf("r = %g at %v: %d pixels, want %d", c.radius, c.centre, got, c.want)
		}
	}
}

func TestMasksMatchReferenceMasks(t *testing.T) {
	a := npytest.OpenGolden(t, "../../../shared/golden", "telescope.npz")
	centres, want := npytest.Read[float64](a, "centres"), npytest.Read[uint8](a, "masks")
	n := a.Shape("object")[0]
	aperture := Aperture{Radius: npytest.Read[float64](a, "radius")[0]}
	union := make([]float32, n*n)
	for k := range len(centres) / 2 {
		c := Point{centres[2*k], centres[2*k+1]}
		mask := drawn(n, aperture, c)
		for i, v := range mask {
			if uint8(v) != want[k*n*n+i] {
				t.Fatalf("mask %d differs at %d", k, i)
			}
		}
		if k < 5 {
			aperture.Add(t.Context(), union, Coordinates(n), c)
		}
	}
	for i, v := range npytest.Read[uint8](a, "cum_mask") {
		if float32(v) != union[i] {
			t.Fatalf("union differs at %d", i)
		}
	}
}

// TestShapesMatchTheirDefinition draws every pixel by the formulas of
// spec/prism.md §2.3 in float64, at centres where float32 rounding cannot move a
// pixel across the rim, and partly outside the field.
func TestShapesMatchTheirDefinition(t *testing.T) {
	const n = 48
	shapes := []Aperture{
		{Kind: Circular, Radius: 7.3},
		{Kind: Hexagonal, Radius: 8.1},
		{Kind: Obscured, Radius: 9.7, InnerRadius: 3.2},
		{Kind: Obscured, Radius: 9.7, InnerRadius: 3.2, Spiders: 4, SpiderWidth: 1.3},
		{Kind: Obscured, Radius: 9.7, InnerRadius: 2.2, Spiders: 3, SpiderWidth: 0.7},
	}
	inside := func(a Aperture, y, x float64) bool {
		rho := math.Hypot(y, x)
		switch a.Kind {
		case Circular:
			return rho <= a.Radius
		case Hexagonal:
			return max(math.Abs(x), math.Abs(x)/2+math.Sqrt(3)*math.Abs(y)/2) <= a.Radius
		}
		if rho < a.InnerRadius || rho > a.Radius {
			return false
		}
		for i := range a.Spiders {
			angle := float64(i) * math.Pi / float64(a.Spiders)
			if math.Abs(x*math.Sin(angle)-y*math.Cos(angle)) <= a.SpiderWidth/2 {
				return false
			}
		}
		return true
	}
	for _, a := range shapes {
		for _, c := range []Point{{}, {3.37, -5.61}, {-22.13, 21.37}, {30.2, 0.1}, {90, 90}, {math.Inf(1), 0}} {
			got := drawn(n, a, c)
			for i := range n {
				for j := range n {
					want := inside(a, float64(i-n/2)-c.Y, float64(j-n/2)-c.X)
					if (got[i*n+j] != 0) != want {
						t.Fatalf("%+v at %v: pixel [%d,%d] inside is %v", a, c, i, j, !want)
					}
				}
			}
		}
	}
}

func TestImpossibleAperturesAreNamed(t *testing.T) {
	for _, a := range []Aperture{
		{}, {Radius: -1}, {Radius: math.NaN()}, {Radius: math.Inf(1)}, {Radius: 65},
		{Kind: Obscured, Radius: 5, InnerRadius: 5}, {Kind: Obscured, Radius: 5, InnerRadius: -1},
		{Kind: Obscured, Radius: 5, Spiders: -1}, {Kind: Obscured, Radius: 5, Spiders: 3, SpiderWidth: math.NaN()},
		{Kind: 9, Radius: 5},
	} {
		if a.Validate(64) == nil {
			t.Errorf("%+v: no error", a)
		}
	}
	if err := (Aperture{Kind: Obscured, Radius: 5, InnerRadius: 2, Spiders: 4, SpiderWidth: 1}).Validate(64); err != nil {
		t.Error(err)
	}
	if _, err := ParseApertureKind("square"); err == nil {
		t.Error("square: no error")
	}
	for _, k := range []ApertureKind{Circular, Hexagonal, Obscured} {
		if got, err := ParseApertureKind(k.String()); err != nil || got != k {
			t.Errorf("%v: read as %v, %v", k, got, err)
		}
	}
}

// A mask that is drawn again to be timed stays the same, and so do the counters.
func TestMasksAreTimedAgainUnseen(t *testing.T) {
	var now int64
	c := NewMaskCache(64, 0, true, func() int64 { now++; return now })
	a, centre := Aperture{Radius: 9}, Point{Y: 3, X: -7}
	first := slices.Clone(maskOf(t, c, a, centre))
	for range 50 {
		now += 1000 // a computation takes a few readings of the clock
		if !slices.Equal(maskOf(t, c, a, centre), first) {
			t.Fatal("drawn again, the mask is another one")
		}
	}
	n := c.Counters()
	if n.Hits != 50 || n.Misses != 2 || n.Entries != 2 || n.PricedBy < profiles.PriceLeast || c.Retimed() == 0 {
		t.Errorf("%+v, %d ns of timing; want 50 hits, 2 misses of mask and grid, and several computations", n, c.Retimed())
	}
}

func TestMaskCacheGivesTheSameMasksOnAndOff(t *testing.T) {
	const n = 32
	on, off := NewMaskCache(n, 0, true, nil), NewMaskCache(n, 0, false, nil)
	unionOn, unionOff := make([]float32, n*n), make([]float32, n*n)
	for range 2 {
		for k := range 4 {
			a, c := Aperture{Radius: 4 + float64(k%2)}, Point{float64(k), -3}
			want := drawn(n, a, c)
			if !slices.Equal(maskOf(t, on, a, c), want) || !slices.Equal(maskOf(t, off, a, c), want) {
				t.Fatalf("mask %d differs", k)
			}
			on.Add(t.Context(), unionOn, a, c)
			off.Add(t.Context(), unionOff, a, c)
		}
	}
	if !slices.Equal(unionOn, unionOff) {
		t.Error("unions differ")
	}
	// Four masks missed, and the grid once; then the grid was found 3 times, the
	// masks 4 times by the second round and 8 times by Add.
	if c := on.Counters(); c.Misses != 5 || c.Hits != 3+4+8 || c.Bytes != 4*4*n*n+4*n {
		t.Errorf("counters %+v", c)
	}
	if c := off.Counters(); c.Hits+c.Misses+c.Bytes != 0 {
		t.Errorf("off: counters %+v", c)
	}
	ctx := t.Context()
	if allocations := testing.AllocsPerRun(20, func() { _, _ = off.Mask(ctx, Aperture{Radius: 3}, Point{}) }); allocations != 0 {
		t.Errorf("off: %v allocations", allocations)
	}
}

func BenchmarkMask(b *testing.B) {
	for _, a := range []Aperture{
		{Kind: Circular, Radius: 20}, {Kind: Hexagonal, Radius: 20},
		{Kind: Obscured, Radius: 20, InnerRadius: 5, Spiders: 4, SpiderWidth: 2},
	} {
		b.Run(a.Kind.String(), func(b *testing.B) {
			c := NewMaskCache(512, 0, false, nil)
			for b.Loop() {
				maskOf(b, c, a, Point{33.3, -20.2})
			}
		})
	}
}
