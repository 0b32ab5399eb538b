package scan

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

func backend(t *testing.T, threads int) nn.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

var small = Options{Size: 16, ObjectSize: 64, Positions: 20, Photons: 1e6, Phase: true, Seed: 7}

// The expected pattern is the transform of the object under the probe, by its definition.
func TestSimulatedPatternsAreTheFarField(t *testing.T) {
	o := small
	o.Photons = 1e12 // so that noise is negligible
	s, err := Simulate(t.Context(), o, backend(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	n := o.Size
	exit := make([]complex128, n*n)
	for i := range exit {
		row, column := s.Y[18]-float64(n)/2+float64(i/n), s.X[18]-float64(n)/2+float64(i%n)
		exit[i] = s.Object.sample(row, column) * complex128(s.Probe[i])
	}
	largest := slices.Max(s.Pattern(18))
	for at, got := range s.Pattern(18) {
		var sum complex128
		for i, z := range exit {
			turns := float64((at/n-n/2)*(i/n)+(at%n-n/2)*(i%n)) / float64(n)
			sum += z * cmplx.Rect(1/float64(n), -2*math.Pi*turns)
		}
		if d := math.Abs(float64(got) - cmplx.Abs(sum)); d > 1e-4*float64(largest) {
			t.Fatalf("[%d] = %g, want %g", at, got, cmplx.Abs(sum))
		}
	}
}

// A curved beam has the modulus of the flat one, and at the edge of its disc the given phase.
func TestACurvedBeamDiffractsOtherwise(t *testing.T) {
	const n = 64
	flat, bent := DefaultProbe(n), curved(DefaultProbe(n), n, 2.5)
	edge := 0.0
	for i, v := range flat {
		if d := cmplx.Abs(complex128(bent[i])) - real(complex128(v)); math.Abs(d) > 1e-6 {
			t.Fatalf("[%d] has the modulus %v instead of %v", i, cmplx.Abs(complex128(bent[i])), v)
		}
		if real(v) > 0.5 { // half of the blurred edge
			edge = max(edge, cmplx.Phase(complex128(bent[i])))
		}
	}
	if math.Abs(edge-2.5) > 0.25 {
		t.Errorf("the phase at the edge is %g, want about 2.5", edge)
	}
	o := small
	a, err := Simulate(t.Context(), o, backend(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	o.Curvature = 1
	b, err := Simulate(t.Context(), o, backend(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.X, b.X) || slices.Equal(a.Diffraction, b.Diffraction) || !slices.Equal(a.Object.Values, b.Object.Values) {
		t.Error("the curvature changes more or less than the patterns")
	}
}

func TestScansAreOfTheirSeed(t *testing.T) {
	run := func(seed uint64, threads int) *Scan {
		o := small
		o.Seed = seed
		s, err := Simulate(t.Context(), o, backend(t, threads))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, c := run(1, 1), run(1, 3), run(2, 1)
	if !slices.Equal(a.Diffraction, b.Diffraction) || !slices.Equal(a.X, b.X) {
		t.Error("the same seed gives another scan on three threads")
	}
	if slices.Equal(a.Diffraction, c.Diffraction) || slices.Equal(a.X, c.X) || slices.Equal(a.Object.Values, c.Object.Values) {
		t.Error("another seed gives the same scan")
	}
	for i := range a.X {
		for _, v := range []float64{a.X[i], a.Y[i]} {
			if v < 0.35*64 || v > 0.65*64 {
				t.Errorf("position %d at %g, outside the buffer", i, v)
			}
		}
	}
	most := 0.0
	for _, z := range a.Object.Values {
		most = max(most, cmplx.Abs(complex128(z)))
	}
	if math.Abs(most-1) > 1e-6 {
		t.Errorf("the largest modulus is %g", most)
	}
}

// Photons are counted in the scale of the options: their mean number, and their spread.
func TestPhotonsAreCounted(t *testing.T) {
	o := small
	o.Photons, o.Positions = 500, 200
	s, err := Simulate(t.Context(), o, backend(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.Normalisation()
	if err != nil {
		t.Fatal(err)
	}
	if mean := meanSquare(s, k); math.Abs(mean-64) > 1e-3 { // (16/2)²
		t.Errorf("normalised to %g, want 64", mean)
	}
	// The smallest intensity above 0 is one photon, and the others are multiples of it.
	one := math.Inf(1)
	for _, v := range s.Diffraction {
		if v > 0 {
			one = min(one, float64(v)*float64(v))
		}
	}
	photons := 0.0
	for i, v := range s.Diffraction {
		count := float64(v) * float64(v) / one
		if math.Abs(count-math.Round(count)) > 1e-3*max(count, 1) {
			t.Fatalf("[%d] has %g photons", i, count)
		}
		photons += count
	}
	// 500 a pattern, and a deviation of √(500·200) of all.
	if got, want := photons, 500.0*200; math.Abs(got-want) > 5*math.Sqrt(want) {
		t.Errorf("%g photons, want about %g", got, want)
	}
}

func meanSquare(s *Scan, k float64) float64 {
	total := 0.0
	for _, v := range s.Diffraction {
		total += k * float64(v) * k * float64(v)
	}
	return total / float64(len(s.X))
}

// Mean, variance and the share of zeros of many draws lie within five standard errors.
func TestPoissonMoments(t *testing.T) {
	const draws = 200_000
	for _, mean := range []float64{0, 0.01, 1, 9.99, 10, 10.5, 37, 1e3, 1e6, 1e12} {
		r := rand.New(rand.NewPCG(3, 4))
		sum, square := 0.0, 0.0
		for range draws {
			v := poisson(r, mean)
			if v < 0 || v != math.Floor(v) {
				t.Fatalf("mean %g: drew %g", mean, v)
			}
			sum += v - mean
			square += (v - mean) * (v - mean)
		}
		if got, limit := sum/draws, 5*math.Sqrt(mean/draws); math.Abs(got) > limit {
			t.Errorf("mean %g: off by %g, allowed %g", mean, got, limit)
		}
		// The variance of the squares is mean + 2·mean².
		if got, limit := square/draws-mean, 5*math.Sqrt((mean+2*mean*mean)/draws); math.Abs(got) > limit {
			t.Errorf("mean %g: variance off by %g, allowed %g", mean, got, limit)
		}
	}
}

func TestGroupsAreOfNeighbours(t *testing.T) {
	s := &Scan{}
	for i := range 49 {
		s.X, s.Y = append(s.X, float64(i%7)), append(s.Y, float64(i/7)*1.01)
	}
	groups, err := s.Groups(t.Context(), 4, 49, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range groups {
		if len(g.Positions) != 4 || slices.Contains(g.Positions, i) {
			t.Fatalf("group %d: %v", i, g.Positions)
		}
		if y, x := i/7, i%7; y > 0 && y < 6 && x > 0 && x < 6 { // its four neighbours on the grid
			members := slices.Sorted(slices.Values(g.Positions))
			if !slices.Equal(members, []int{i - 7, i - 1, i + 1, i + 7}) {
				t.Errorf("group %d: %v", i, members)
			}
			if math.Abs(g.X-s.X[i]) > 1e-12 || math.Abs(g.Y-s.Y[i]) > 1e-12 {
				t.Errorf("group %d has its mean at (%g, %g)", i, g.X, g.Y)
			}
		}
		sum := [2]float64{}
		for k, v := range s.Offsets(g) {
			sum[k%2] += float64(v)
		}
		if math.Abs(sum[0]) > 1e-5 || math.Abs(sum[1]) > 1e-5 {
			t.Errorf("group %d: the offsets add to %v", i, sum)
		}
	}
	single, err := s.Groups(t.Context(), 1, 5, 1)
	if err != nil || len(single) != 5 || len(single[0].Positions) != 1 {
		t.Errorf("groups of one: %v, %v", single, err)
	}
	for _, bad := range [][2]int{{0, 1}, {1, 0}, {1, 50}, {49, 1}} {
		if _, err := s.Groups(t.Context(), bad[0], bad[1], 1); err == nil {
			t.Errorf("%d groups of %d are made", bad[1], bad[0])
		}
	}
}

func TestImpossibleScansAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Size = 15 }, "size = 15: must be even"},
		{func(o *Options) { o.ObjectSize = 31 }, "object_size = 31: must be from 2·size, 32"},
		{func(o *Options) { o.Positions = 0 }, "positions = 0"},
		{func(o *Options) { o.Photons = math.NaN() }, "photons = NaN"},
		{func(o *Options) { o.Curvature = 11 }, "probe_curvature = 11: must be from -10 to 10"},
	} {
		o := small
		c.change(&o)
		if _, err := Simulate(t.Context(), o, backend(t, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", o, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Simulate(ctx, small, backend(t, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := (&Scan{Size: 2, Diffraction: make([]float32, 4), X: []float64{0}}).Normalisation(); err == nil {
		t.Error("a dark scan is normalised")
	}
}

func TestSamplesKeepTheOrder(t *testing.T) {
	s := &Scan{Size: 1}
	for i := range 30 {
		s.X, s.Y, s.Diffraction = append(s.X, float64(i)), append(s.Y, float64(-i)), append(s.Diffraction, float32(i))
	}
	part, err := s.Sample(10, 3)
	if err != nil || len(part.X) != 10 || !slices.IsSorted(part.X) || len(slices.Compact(slices.Clone(part.X))) != 10 {
		t.Fatalf("%v, %v", part, err)
	}
	for i, x := range part.X {
		if part.Y[i] != -x || part.Pattern(i)[0] != float32(x) {
			t.Errorf("position %g has the pattern %g", x, part.Pattern(i)[0])
		}
	}
	if all, err := s.Sample(30, 3); err != nil || all != s {
		t.Errorf("all positions: %v", err)
	}
	for _, bad := range []int{0, 31} {
		if _, err := s.Sample(bad, 1); err == nil {
			t.Errorf("%d of 30 positions are drawn", bad)
		}
	}
}

// The grid finds the neighbours that a look at all positions finds, also where positions coincide, lie on a
// line or in clusters.
func TestNearestPositionsAreThoseOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for name, place := range map[string]func(i int) (x, y float64){
		"random":   func(int) (float64, float64) { return 100 * r.Float64(), 60 * r.Float64() },
		"regular":  func(i int) (float64, float64) { return float64(i % 17), float64(i / 17) },
		"a line":   func(int) (float64, float64) { return 3, 1e6 * r.Float64() },
		"a point":  func(int) (float64, float64) { return 3, 4 },
		"clusters": func(i int) (float64, float64) { return float64(i%3)*1e4 + r.Float64(), float64(i%2)*1e3 + r.Float64() },
		"pairs":    func(i int) (float64, float64) { return float64(i / 2 % 11), float64(i / 22) },
	} {
		s := &Scan{}
		for i := range 289 {
			x, y := place(i)
			s.X, s.Y = append(s.X, x), append(s.Y, y)
		}
		c := newCells(s.X, s.Y)
		for at := range s.X {
			var all []candidate
			for i := range s.X {
				if i != at {
					all = append(all, candidate{i, math.Hypot(s.X[i]-s.X[at], s.Y[i]-s.Y[at])})
				}
			}
			slices.SortFunc(all, nearer)
			for _, count := range []int{1, 4, 16} {
				for k, got := range c.nearest(at, count) {
					if got != all[k].index {
						t.Fatalf("%s: neighbour %d of %d among %d is %d, want %d", name, k, at, count, got, all[k].index)
					}
				}
				if n := len(c.nearest(at, count)); n != count {
					t.Fatalf("%s: %d of %d neighbours", name, n, count)
				}
			}
		}
	}
}

// A square of a blurred plane is the plane blurred by the definition, at the edges too.
func TestBlurredIsAGaussianMean(t *testing.T) {
	const side, sigma = 24, 2.0
	r := rand.New(rand.NewPCG(7, 8))
	plane := make([]float64, side*side)
	for i := range plane {
		plane[i] = r.Float64()
	}
	reflect := func(i int) int {
		if i < 0 {
			return -1 - i
		}
		return min(i, 2*side-1-i)
	}
	for _, part := range [][2]int{{0, side}, {5, 19}} {
		got, err := blurred(t.Context(), plane, side, sigma, part[0], part[1])
		if err != nil {
			t.Fatal(err)
		}
		width := part[1] - part[0]
		for at, v := range got {
			sum, total := 0.0, 0.0
			for i := -8; i <= 8; i++ {
				for k := -8; k <= 8; k++ {
					w := math.Exp(-float64(i*i+k*k) / (2 * sigma * sigma))
					sum += w * plane[reflect(part[0]+at/width+i)*side+reflect(part[0]+at%width+k)]
					total += w
				}
			}
			if math.Abs(v-sum/total) > 1e-12 {
				t.Fatalf("%v: pixel %d is %g, want %g", part, at, v, sum/total)
			}
		}
	}
}

// counted is a context that ends when it has been asked some times.
type counted struct {
	context.Context
	left int
}

func (c *counted) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Drawing and grouping end with their context, in the middle.
func TestLongLoopsEndWithTheirContext(t *testing.T) {
	if _, err := lines(&counted{t.Context(), 100}, 64, true, rand.New(rand.NewPCG(1, 2))); !errors.Is(err, context.Canceled) {
		t.Errorf("drawing: %v", err)
	}
	s := &Scan{X: make([]float64, 50), Y: make([]float64, 50)}
	for _, channels := range []int{1, 4} {
		if _, err := s.Groups(&counted{t.Context(), 20}, channels, 40, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("groups of %d: %v", channels, err)
		}
	}
}
