package host

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/npy/npytest"
	"prismtop/sim/optics"
)

func newTestTelescope(t testing.TB, n int) *Telescope {
	t.Helper()
	s, err := NewTelescope(n, NewPlanCache(true, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ones(n int) []float32 { return slices.Repeat([]float32{1}, n) }

func TestTelescopeMatchesReferenceNumbers(t *testing.T) {
	a := npytest.OpenGolden(t, goldenFolder, "telescope.npz")
	n := a.Shape("object")[0]
	s := newTestTelescope(t, n)
	object, g, masks := npytest.Read[float32](a, "object"), npytest.Read[float32](a, "g"), npytest.Read[uint8](a, "masks")
	got := make([]float32, n*n)
	check := func(name string, mask []uint8) {
		m := make([]float32, n*n)
		for i, v := range mask {
			m[i] = float32(v)
		}
		s.Measure(t.Context(), got, object, m, optics.Support{})
		a.Accept("meas_"+name, got)
		s.Gradient(t.Context(), got, object, m, g)
		a.Accept("meas_"+name+"_gobj", got)
	}
	check("m0", masks[:n*n])
	check("m5", masks[5*n*n:6*n*n])
	check("m7", masks[7*n*n:])
	check("cum", npytest.Read[uint8](a, "cum_mask"))
	s.Measure(t.Context(), got, object, ones(n*n), optics.Support{})
	a.Accept("identity", got)
}

// referenceObject is the object of the table in spec/prism.md §6.
func referenceObject(scale, offset float64) []float32 {
	o := make([]float32, 64*64)
	for y := -10; y < 10; y++ {
		for x := -10; x < 10; x++ {
			v := 0.5 + 0.5*math.Cos(0.3*float64(y))*math.Sin(0.2*float64(x)+0.4)
			o[(y+32)*64+x+32] = float32(scale*v + offset)
		}
	}
	return o
}

// The numbers are float64; float32 transforms of 64² stay within 1e-6 relative.
func TestMeasurementsMatchTheSpecification(t *testing.T) {
	s := newTestTelescope(t, 64)
	y := make([]float32, 64*64)
	for _, c := range []struct {
		name                              string
		mask                              []float32
		sum, squares, largest, far, close float64
	}{
		{"all ones", ones(64 * 64), 201.25663783, 128.88004955, 0.99978680, 0, 0.69470917},
		{"r5", drawn(64, optics.Aperture{Radius: 5}, optics.Point{}), 291.26880532, 108.55341616, 0.96100445, 0.01451782, 0.70303137},
		{"r5 off centre", drawn(64, optics.Aperture{Radius: 5}, optics.Point{Y: 4.5, X: -3.25}), 263.46993049, 34.24415323, 0.32769685, 0.01963984, 0.20411882},
		{"r8.5", drawn(64, optics.Aperture{Radius: 8.5}, optics.Point{}), 249.79101131, 119.23353790, 1.07544923, 0.02134261, 0.72830525},
	} {
		s.Measure(t.Context(), y, referenceObject(1, 0), c.mask, optics.Support{})
		var sum, squares, largest float64
		for _, v := range y {
			sum += float64(v)
			squares += float64(v) * float64(v)
			largest = max(largest, float64(v))
		}
		near(t, c.name+" sum", sum, c.sum, 2e-4)
		near(t, c.name+" sum of squares", squares, c.squares, 2e-4)
		near(t, c.name+" maximum", largest, c.largest, 2e-6)
		near(t, c.name+" y[10,20]", float64(y[10*64+20]), c.far, 2e-6)
		near(t, c.name+" y[31,31]", float64(y[31*64+31]), c.close, 2e-6)
	}
}

func TestGradientMatchesFiniteDifferences(t *testing.T) {
	const n = 16
	r := rand.New(rand.NewPCG(1, 1))
	s := newTestTelescope(t, n)
	object, g := make([]float32, n*n), make([]float32, n*n)
	for i := range object {
		object[i], g[i] = r.Float32(), float32(r.NormFloat64())
	}
	mask := drawn(n, optics.Aperture{Radius: 4}, optics.Point{Y: 1.5, X: -2})
	gradient, y := make([]float32, n*n), make([]float32, n*n)
	s.Gradient(t.Context(), gradient, object, mask, g)
	value := func(direction []float32, h float64) (sum float64) {
		x := make([]float32, n*n)
		for i := range x {
			x[i] = object[i] + float32(h)*direction[i]
		}
		s.Measure(t.Context(), y, x, mask, optics.Support{})
		for i, v := range y {
			sum += float64(g[i]) * float64(v)
		}
		return sum
	}
	for range 5 {
		direction := make([]float32, n*n)
		var want float64
		for i := range direction {
			direction[i] = float32(r.NormFloat64())
			want += float64(direction[i]) * float64(gradient[i])
		}
		const h = 1e-2 // balances float32 rounding against curvature
		got := (value(direction, h) - value(direction, -h)) / (2 * h)
		near(t, "directional derivative", got, want, 0.02*math.Abs(want)+0.02)
	}
}

func TestGradientIsZeroWhereNothingIsMeasured(t *testing.T) {
	s := newTestTelescope(t, 8)
	got := ones(64)
	s.Gradient(t.Context(), got, make([]float32, 64), ones(64), ones(64))
	if slices.ContainsFunc(got, func(v float32) bool { return v != 0 }) {
		t.Errorf("gradient of a dark object: %v", got)
	}
}

func TestMeasuringASpectrumIsMeasuringItsObject(t *testing.T) {
	s := newTestTelescope(t, 64)
	object, mask := referenceObject(1, 0), drawn(64, optics.Aperture{Radius: 6}, optics.Point{Y: 3, X: 2})
	want, got, spectrum := make([]float32, 64*64), make([]float32, 64*64), make([]complex64, 64*64)
	s.Measure(t.Context(), want, object, mask, optics.Support{})
	s.Spectrum(t.Context(), spectrum, object)
	kept := slices.Clone(spectrum)
	s.MeasureSpectrum(t.Context(), got, spectrum, mask)
	if !slices.Equal(got, want) || !slices.Equal(spectrum, kept) {
		t.Error("another result, or the spectrum was changed")
	}
	s.Measure(t.Context(), object, object, mask, optics.Support{})
	if !slices.Equal(object, want) {
		t.Error("in place differs")
	}
}

func TestFFTCacheOffComputesTheTablesAgainAndChangesNothing(t *testing.T) {
	var now int64
	plans := NewPlanCache(true, func() int64 { now++; return now })
	s, err := NewTelescope(64, plans, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, mask := referenceObject(1, 0), drawn(64, optics.Aperture{Radius: 6}, optics.Point{Y: 3, X: 2})
	want, got := make([]float32, 64*64), make([]float32, 64*64)
	s.Measure(t.Context(), want, object, mask, optics.Support{})
	if c := plans.Counters(); c.Misses != 1 || c.Hits != 1 || c.Entries != 1 || c.Bytes == 0 {
		t.Errorf("on: %+v", c)
	}
	plans.SetEnabled(false)
	before := plans.Counters()
	s.Measure(t.Context(), got, object, mask, optics.Support{})
	if !slices.Equal(got, want) {
		t.Error("off gives other bits")
	}
	if c := plans.Counters(); c.Hits != before.Hits || c.Misses != before.Misses || c.Entries != 0 || c.Bytes != 0 || c.PricedBy <= before.PricedBy {
		t.Errorf("off: %+v after %+v", c, before)
	}
	if n := testing.AllocsPerRun(20, func() {
		s.Measure(t.Context(), got, object, mask, optics.Support{})
		s.Gradient(t.Context(), got, object, mask, object)
	}); n != 0 {
		t.Errorf("off: %v allocations", n)
	}
	plans.SetEnabled(true)
	s.Measure(t.Context(), got, object, mask, optics.Support{})
	if c := plans.Counters(); c.Misses != before.Misses+1 || c.Hits != before.Hits+1 {
		t.Errorf("on again: %+v after %+v", c, before)
	}
	for _, n := range []int{0, -1, maxField + 1} {
		if _, err := NewTelescope(n, plans, nil); err == nil {
			t.Errorf("size %d: no error", n)
		}
	}
}

func benchmarkObject(n int) []float32 {
	object := make([]float32, n*n)
	for i := n * 3 / 8; i < n*5/8; i++ {
		for j := n * 3 / 8; j < n*5/8; j++ {
			object[i*n+j] = float32(i*j%97) / 97
		}
	}
	return object
}

func BenchmarkGradient512(b *testing.B) {
	s, dst := newTestTelescope(b, 512), make([]float32, 512*512)
	object, mask := benchmarkObject(512), drawn(512, optics.Aperture{Radius: 20}, optics.Point{Y: 30, X: 40})
	for b.Loop() {
		s.Gradient(b.Context(), dst, object, mask, object)
	}
}

func TestInverseIntensityThroughEverythingIsTheSquare(t *testing.T) {
	s := newTestTelescope(t, 64)
	object, got, spectrum := referenceObject(1, 0), make([]float32, 64*64), make([]complex64, 64*64)
	s.Spectrum(t.Context(), spectrum, object)
	s.InverseIntensity(t.Context(), got, spectrum, ones(64*64))
	for i, v := range object {
		near(t, "intensity", float64(got[i]), float64(v)*float64(v), 2e-6)
	}
}
