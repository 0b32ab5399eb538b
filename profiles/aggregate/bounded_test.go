package aggregate

import (
	"fmt"
	"runtime"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// A run of a million iterations takes no more memory to watch than one of a
// hundred thousand.
func TestAMillionIterationsTakeNoMoreMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: takes seconds")
	}
	r := newRig()
	r.start()
	var heap [2]uint64
	points := [2]int{}
	for i, until := range []int64{100_000, 1_000_000} {
		for r.it.Index < until {
			r.it.Unit = int32(r.it.Index / 2000)
			r.it.Series[prism.SeriesLossNew] = 1 / float64(1+r.it.Index%977)
			r.iterate(100)
			r.Measure(prismtest.ComparedAll(r.it.Index-1, 20, 0.5, 4))
			r.tick()
		}
		s := r.tick()
		points[i] = len(s.IterationTime)
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		heap[i] = m.HeapAlloc
	}
	told := fmt.Sprintf("heap %d KB after 100,000 iterations, %d KB after 1,000,000; %d and %d points of a curve",
		heap[0]>>10, heap[1]>>10, points[0], points[1])
	t.Log(told)
	if heap[1] > heap[0]+heap[0]/10+1<<20 || points[1] > 2*points[0] {
		t.Error(told)
	}
}

// Nor do samples take memory for ever: their results are counted once there are newer ones.
func TestSamplesTakeNoMoreMemoryForEver(t *testing.T) {
	r := newRig()
	r.start()
	r.it.Unit = 0
	var heap [2]uint64
	for i, until := range []int32{5_000, 50_000} {
		for r.it.Unit < until {
			r.iterate(1)
			r.UnitDone(profiles.UnitResult{Unit: r.it.Unit, Iterations: 1, Converged: true, Values: profiles.NoValues()})
			if r.it.Unit++; r.it.Unit%100 == 0 {
				r.tick()
			}
		}
		if s := r.tick(); s.UnitsEnded() != int(until) {
			t.Fatalf("%d samples ended, want %d", s.UnitsEnded(), until)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		heap[i] = m.HeapAlloc
		runtime.KeepAlive(r)
	}
	told := fmt.Sprintf("heap %d KB after 5,000 samples, %d KB after 50,000", heap[0]>>10, heap[1]>>10)
	t.Log(told)
	if heap[1] > heap[0]+2<<20 { // 47 bytes a sample; a result has more than a hundred
		t.Error(told)
	}
	if late := New(r.Follow(), Options{}).Tick(r.now); late.UnitsEnded() != 50_000 {
		t.Errorf("a late reader counts %d samples", late.UnitsEnded())
	}
}
