package aggregate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"prismtop/profiles"
)

func TestCurveKeepsEveryValueWhileThereIsRoom(t *testing.T) {
	var s series
	for i := range int64(100) {
		s.add(i, float64(i*i))
	}
	c := s.curve()
	if len(c) != 100 {
		t.Fatalf("%d points, want 100", len(c))
	}
	for i, p := range c {
		v := float64(i * i)
		if !reflect.DeepEqual(p, profiles.Point{First: int64(i), Last: int64(i), Min: v, Max: v, Mean: v}) {
			t.Errorf("point %d is %+v", i, p)
		}
	}
}

// A million iterations fit into the bound, and every spike, the mean and the
// range of indices survive, whether or not somebody looks in between.
func TestCurveIsBoundedAndLosesNoExtreme(t *testing.T) {
	for _, look := range []int64{0, 1, 37, 4096} {
		const n = 1_000_000
		spikes := map[int64]float64{0: -50, 123_456: 900, 123_457: -901, 700_001: 1e6, n - 1: 77}
		r := rand.New(rand.NewPCG(1, uint64(look)))
		var s series
		sum := 0.0
		for i := range int64(n) {
			v, spike := spikes[i]
			if !spike {
				v = r.Float64()
			}
			sum += v
			s.add(i, v)
			if look > 0 && i%look == 0 {
				s.curve()
			}
		}
		c := s.curve()
		if len(c) > maxPoints || len(c) < maxPoints/8 || cap(s.points) > maxPoints {
			t.Fatalf("look %d: %d points of at most %d", look, len(c), maxPoints)
		}
		total := 0.0
		for i, p := range c {
			if i > 0 && p.First != c[i-1].Last+1 {
				t.Fatalf("look %d: point %d starts at %d after %d", look, i, p.First, c[i-1].Last)
			}
			total += p.Mean * float64(p.Last-p.First+1)
		}
		if c[0].First != 0 || c[len(c)-1].Last != n-1 {
			t.Errorf("look %d: covers %d to %d", look, c[0].First, c[len(c)-1].Last)
		}
		// 1e-9 relative: a million roundings of running means.
		if math.Abs(total-sum) > 1e-9*math.Abs(sum) {
			t.Errorf("look %d: means add up to %v, want %v", look, total, sum)
		}
		for at, v := range spikes {
			i := slices.IndexFunc(c, func(p profiles.Point) bool { return p.First <= at && at <= p.Last })
			if p := c[i]; p.Min > v || p.Max < v {
				t.Errorf("look %d: the spike %v at %d is not in %+v", look, v, at, p)
			}
		}
	}
}

func TestSparseCurveIsBounded(t *testing.T) {
	var s series
	for i := range int64(50_000) {
		s.add(i*1000, 1)
		s.curve()
	}
	if n := len(s.curve()); n > maxPoints {
		t.Errorf("%d points", n)
	}
}

func TestCurveLeavesGapsForWhatIsNotFinite(t *testing.T) {
	var s series
	for i, v := range []float64{1, math.NaN(), math.Inf(1), 4, math.Inf(-1)} {
		s.add(int64(i), v)
	}
	c := s.curve()
	if len(c) != 2 || c[0].First != 0 || c[1].First != 3 {
		t.Errorf("%+v, want the values at 0 and 3", c)
	}
}

func TestPublishedCurvesAreNotWrittenAgain(t *testing.T) {
	var s series
	type published struct{ curve, copied profiles.Curve }
	var all []published
	for i := range int64(20_000) {
		s.add(i, float64(i%97))
		if i%61 == 0 {
			c := s.curve()
			all = append(all, published{c, slices.Clone(c)})
		}
	}
	for i, p := range all {
		if !reflect.DeepEqual(p.curve, p.copied) {
			t.Fatalf("publication %d changed", i)
		}
	}
}

func BenchmarkCurveAddAndPublish(b *testing.B) {
	var s series
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		for range 20 {
			s.add(i, float64(i&1023))
			i++
		}
		s.curve()
	}
}

func TestACurveKeepsItsQuantilesThroughEveryMerge(t *testing.T) {
	s := series{binned: true}
	random := rand.New(rand.NewPCG(7, 1))
	var values []float64
	for i := range 40_000 {
		v := math.Exp(random.NormFloat64())
		values = append(values, v)
		s.add(int64(i), v)
		if i%37 == 0 {
			s.curve()
		}
	}
	for _, p := range s.curve() {
		part := slices.Clone(values[p.First : p.Last+1])
		slices.Sort(part)
		for _, q := range []float64{0.1, 0.9} {
			want := part[int(q*float64(len(part)-1))]
			if got := p.Bins.Quantile(q); math.Abs(got/want-1) > 0.0101 {
				t.Fatalf("iterations %d to %d: quantile %g is %g, want %g", p.First, p.Last, q, got, want)
			}
		}
	}
}
