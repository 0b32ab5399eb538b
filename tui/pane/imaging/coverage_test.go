package imaging

import (
	"math"
	"testing"

	"prismtop/tui/tuitest"
)

// covered returns the share of the grid under an aperture.
func covered(v *coverage) float64 {
	n := 0
	for _, c := range v.counts {
		if c > 0 {
			n++
		}
	}
	return float64(n) / float64(len(v.counts))
}

func TestCoverageIsTheAreaOfTheApertures(t *testing.T) {
	s := tuitest.Running()
	s.Run.Sampling.Radius, s.Run.Sampling.Centres = 40, [][2]float64{{0, 0}, {100, 0}, {100, 20}}
	s.Run.Units = 3
	var v coverage
	v.count(s, 512, 1)
	if got, want := covered(&v), math.Pi*40*40/(512*512); math.Abs(got-want) > 0.02*want {
		t.Errorf("one aperture covers %.5f, want %.5f", got, want)
	}
	if share := v.rings(); share[2] != 1 || share[15] != 0 {
		t.Errorf("rings %v", share)
	}
	v.count(s, 512, 3) // the others are added, and overlap
	if v.most != 2 {
		t.Errorf("measured at most %.0f times, want 2", v.most)
	}
	both := covered(&v)
	if lens := 3 * math.Pi * 40 * 40 / (512 * 512); both >= lens*0.99 {
		t.Errorf("overlapping apertures cover %.5f, as much as apart", both)
	}
	if y, x := gridSide/2+25, gridSide/2; v.counts[y*gridSide+x] == 0 || v.counts[x*gridSide+y] != 0 {
		t.Error("the first coordinate does not grow downwards")
	}
	v.count(s, 512, 1) // a restart
	if v.most != 1 {
		t.Error("a run that went back keeps its counts")
	}
	s.Run.Sampling.PerSample = 3 // a line: several centres per sample
	v.count(s, 512, 1)
	if got := covered(&v); got != both {
		t.Errorf("a sample of three centres covers %.5f, want %.5f", got, both)
	}
}

// The coverage reported by the run is close to that of the map.
func TestTheMapAgreesWithTheRunsCoverage(t *testing.T) {
	s := tuitest.Finished()
	var v coverage
	v.count(s, 512, 100)
	want := math.Min(1, 100*math.Pi*20*20/(512*512)) // few apertures of europa overlap
	if got := covered(&v); got > want*1.02 || got < want*0.6 {
		t.Errorf("the map covers %.3f of k-space, the apertures' areas sum up to %.3f", got, want)
	}
}

func TestScalesAreRound(t *testing.T) {
	for v, want := range map[float64]float64{0.011: 0.02, 0.02: 0.02, 0.3: 0.5, 0.7: 1, 1: 1, 4: 5, 0: 1e-12} {
		if got := roundUp(v); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%g becomes %g, want %g", v, got, want)
		}
	}
}
