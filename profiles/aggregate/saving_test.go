package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/profiles"
)

// A cache whose hits are worth no more than its lookups cost, in windows that now and then
// contain a lookup delayed by an interrupt: negligible, whichever side of 0 the value is on.
func TestSavingsWithinNoiseAreNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const runs = 400
	wrong, signs := 0, [2]int{}
	for range runs {
		v := profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true, Price: 1000, PriceLow: 1000, PriceHigh: 1000, PricedBy: 15}}
		for range windowSize {
			cost := 700 + 60*random.NormFloat64()
			if random.IntN(500) == 0 {
				cost += 150_000 // a third of a microsecond of each lookup
			}
			v.Hits, v.Priced, v.Gross = v.Hits+1, v.Priced+1, v.Gross+v.Price
			v.Spent, v.SpentSquares = v.Spent+int64(cost), v.SpentSquares+cost*cost
		}
		v.Saved = v.Gross - v.Spent
		recent(&v, &lookups{}, windowSize)
		s, ok := v.PerIteration()
		if !ok || !s.Bounded || !(s.Low <= s.Value && s.Value <= s.High) {
			t.Fatalf("%+v", s)
		}
		if s.Value < 0 {
			signs[0]++
		} else {
			signs[1]++
		}
		if s.Value < 0 && !s.Nothing(0) { // seen as a cost, which on average it is not
			wrong++
		}
	}
	if signs[0] < runs/10 || signs[1] < runs/10 {
		t.Fatalf("%d of %d windows lose: the noise is not what was meant", signs[0], runs)
	}
	if wrong > runs/20 {
		t.Errorf("%d of %d windows show a cost that is noise", wrong, runs)
	}
}

// The price's error is that of every hit; lookups' errors cancel.
func TestASavingsIntervalHasBothErrors(t *testing.T) {
	v := profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true, Hits: 1000, Priced: 1000, Price: 50_000, PriceLow: 47_000, PriceHigh: 54_000,
		PricedBy: 15, Gross: 50e6, GrossLow: 47e6, GrossHigh: 54e6, Spent: 10e6, Saved: 40e6}}
	v.SpentSquares = 1000 * (10_000*10_000 + 30_000*30_000) // a standard deviation of 30 µs
	noise := 1.96 * math.Sqrt(1000) * 30_000
	recent(&v, &lookups{}, 500)
	s, _ := v.PerIteration()
	// 1 ns: the ends are whole nanoseconds of the window.
	if want := (40e6 - math.Hypot(3e6, noise)) / 500; s.Value != 80_000 || math.Abs(s.Low-want) > 30 {
		t.Errorf("%+v, want 80 µs, from %.0f ns on", s, want)
	}
	if want := (40e6 + math.Hypot(4e6, noise)) / 500; math.Abs(s.High-want) > 30 {
		t.Errorf("%+v, want up to %.0f ns", s, want)
	}
	if total := v.Total(); total.Value != 40e6 || math.Abs(total.Low-500*s.Low) > 2 || math.Abs(total.High-500*s.High) > 2 {
		t.Errorf("in all %+v", total)
	}
	if s.Nothing(1e6) || !s.Nothing(100e6) {
		t.Error("80 µs are nothing of 100 ms, and something of 1 ms")
	}
	v.PricedBy = profiles.PriceLeast - 1
	if s, _ := v.PerIteration(); s.Bounded {
		t.Error("four computations give no interval")
	}
	v.RecentIterations = 0
	if _, ok := v.PerIteration(); ok {
		t.Error("no iteration, and a saving")
	}
}

// A cache that never hits costs for certain, whatever a hit would be worth.
func TestACacheThatNeverHitsCosts(t *testing.T) {
	v := profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true, Misses: 20, Spent: 20 * 400_000, SpentSquares: 20 * 400_000 * 400_000, Saved: -20 * 400_000}}
	recent(&v, &lookups{}, 500)
	if s, ok := v.PerIteration(); !ok || s.Nothing(5e6) || s.High >= 0 || !s.Bounded {
		t.Errorf("%+v", s)
	}
}
