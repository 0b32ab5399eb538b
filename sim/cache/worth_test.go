package cache

import (
	"math/rand/v2"
	"testing"
)

// One miss that met cold memory does not price hundreds of hits: not those to come, and
// not those that were counted before more was known.
func TestASlowFirstMissIsNotWhatHitsAreWorth(t *testing.T) {
	var k clock
	c := New[int](Options[int]{Clock: k.read})
	c.Get(c.Begin(), 1)
	k.now += 6_790_000
	c.Put(1, 1, 8)
	for range 300 {
		c.Get(c.Begin(), 1)
	}
	if n := c.Counters(); n.PricedBy != 1 || n.Saved != 300*6_790_000 {
		t.Fatalf("one miss alone: %+v", n)
	}
	for _, cost := range []int64{300_000, 310_000, 290_000} {
		c.Retime(8, cost)
	}
	want := int64(300_000) // the lower one of the two in the middle of four
	if n := c.Counters(); n.PricedBy != 4 || n.Price != want || n.Saved != 300*want || n.Gross != n.Saved || n.Priced != 300 {
		t.Errorf("three more computations: %+v, want 300 hits of %d", n, want)
	}
	if got := c.Retimed(); got != 900_000 {
		t.Errorf("%d ns went into timing, want 900000", got)
	}
}

// What the switched-off cache computes is the same work.
func TestComputingWhileOffIsTimedToo(t *testing.T) {
	c := New[int](Options[int]{Clock: func() int64 { return 0 }})
	c.PutCost(1, 1, 8, 9000)
	c.Get(c.Begin(), 1)
	c.SetEnabled(false)
	for _, cost := range []int64{100, 110, 90, 105} {
		if c.PutCost(1, 1, 8, cost) {
			t.Error("a disabled cache stored")
		}
	}
	if n := c.Counters(); n.PricedBy != 5 || n.Price != 105 || n.Saved != 105 {
		t.Errorf("%+v, want a hit of 105 from 5 computations", n)
	}
}

// What is computed only to be timed takes a thousandth of the time, but for the few
// computations that a price needs at first and after work became different.
func TestRetimingIsBounded(t *testing.T) {
	var k clock
	c := New[int](Options[int]{Clock: k.read})
	c.PutCost(1, 1, 8, 500_000)
	c.PutCost(2, 2, 4, 1) // smaller ones do not decide
	run := func(iterations int) (times int) {
		for range iterations {
			k.now += 5_000_000
			c.Get(c.Begin(), 2)
			if c.Due(4) {
				t.Fatal("a small entry is to be computed again")
			}
			if c.Get(c.Begin(), 1); c.Due(8) {
				k.now += 500_000
				c.Retime(8, 500_000)
				times++
			}
		}
		return times
	}
	if got := run(20); got < enough-1 || got > enough+1 {
		t.Errorf("%d computations in the first 0.1 s, want about the %d that make a price certain", got, enough)
	}
	before := c.Retimed()
	run(20_000)
	if share := float64(c.Retimed()-before) / float64(20_000*5_000_000); share > 1.001/usualShare || share < 0.9/usualShare {
		t.Errorf("%.4f %% of the time, want 0.1 %%", 100*share)
	}
	c.Reprice()
	if n := c.Counters(); n.PricedBy != 0 || n.Price != 500_000 {
		t.Errorf("after other settings: %+v", n)
	}
	if got := run(30); got < enough-1 || got > enough+1 {
		t.Errorf("%d computations after other settings", got)
	}
}

// Hits under other settings keep their value.
func TestRepricingLeavesEarlierHits(t *testing.T) {
	c := New[int](Options[int]{Clock: func() int64 { return 0 }})
	c.PutCost(1, 1, 8, 100)
	for range 10 {
		c.Get(c.Begin(), 1)
	}
	c.Reprice()
	for range 10 {
		c.Get(c.Begin(), 1)
	}
	c.Retime(8, 40)
	if got := c.Counters().Saved; got != 10*100+10*40 {
		t.Errorf("saved %d, want 1400", got)
	}
}

// A lookup on behalf of timing is none.
func TestUnseenLookupsChangeNothing(t *testing.T) {
	c := New[int](Options[int]{Limit: 2})
	c.Put(1, 10, 1)
	c.Put(2, 20, 1)
	before := c.Counters()
	c.SetUnseen(true)
	if v, ok := c.Get(c.Begin(), 1); !ok || v != 10 {
		t.Errorf("got %d, %v", v, ok)
	}
	if c.Due(1) {
		t.Error("what is computed for timing asks for more of it")
	}
	if _, ok := c.Get(c.Begin(), 3); ok || c.Put(3, 30, 1) || c.PutCost(3, 30, 1, 5) {
		t.Error("stored what was not to be seen")
	}
	c.SetUnseen(false)
	if after := c.Counters(); after != before {
		t.Errorf("counters moved from %+v to %+v", before, after)
	}
	c.Put(4, 40, 1)
	if _, ok := c.Get(c.Begin(), 1); ok {
		t.Error("an unseen lookup counted as use")
	}
}

func TestRetimingAllocatesNothing(t *testing.T) {
	c := New[int](Options[int]{})
	c.Put(1, 1, 8)
	if got := testing.AllocsPerRun(1000, func() { c.Get(c.Begin(), 1); c.Due(8); c.Retime(8, 5) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// The price's interval contains the true median in at least 95 % of trials, whatever
// the shape of the costs; chance allows 3 standard errors of 0.5 % below. Five
// computations give 93.75 %.
func TestThePricesIntervalHoldsTheMedian(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	const trials = 2000
	for n := 5; n <= window; n++ {
		held := 0
		for range trials {
			var w worth
			for range n {
				cost := 1000 + 500*random.Int64N(2)*random.Int64N(50) + random.Int64N(2001) - 1000
				if random.IntN(2) == 0 {
					cost = 2000 - cost // symmetric about 1000 but for its tails
				}
				w.learn(cost)
			}
			if w.low <= 1000 && 1000 <= w.high {
				held++
			}
			if w.low > w.median || w.median > w.high {
				t.Fatalf("%d computations: %+v", n, w.price)
			}
		}
		least := 0.95
		if n == 5 {
			least = 0.9375
		}
		if share := float64(held) / trials; share < least-0.015 {
			t.Errorf("%d computations: the interval holds the median in %.1f %%", n, 100*share)
		}
	}
}

// What hits are worth at either end of the interval follows them through other prices.
func TestHitsAreWorthTheirPricesInterval(t *testing.T) {
	c := New[int](Options[int]{Clock: func() int64 { return 0 }})
	for _, cost := range []int64{90, 100, 110, 120, 80} {
		c.PutCost(1, 1, 8, cost)
	}
	for range 10 {
		c.Get(c.Begin(), 1)
	}
	c.Reprice()
	for _, cost := range []int64{40, 50, 60} {
		c.Retime(8, cost)
	}
	for range 2 {
		c.Get(c.Begin(), 1)
	}
	n := c.Counters()
	if n.PriceLow != 40 || n.Price != 50 || n.PriceHigh != 60 || n.GrossLow != 10*80+2*40 || n.Gross != 10*100+2*50 || n.GrossHigh != 10*120+2*60 {
		t.Errorf("%+v", n)
	}
}
