package profiles

import "testing"

// Whatever the number of results, at least KeptResults and at most twice as many are kept, and all are counted.
func TestResultsAreThinnedAndCounted(t *testing.T) {
	var s Snapshot
	for unit := range int32(5*KeptResults + 7) {
		before, at := s.Results, len(s.Results)-1
		s.Results = s.Earlier.Thin(s.Results, &UnitResult{Unit: unit, Iterations: 3, Converged: unit%4 != 0, Threshold: 1})
		if at >= 0 && before[at].Unit != unit-1 {
			t.Fatalf("unit %d modifies a published result", unit)
		}
		if n := len(s.Results); n > 2*KeptResults || int(unit) >= KeptResults && n < KeptResults || s.Results[n-1].Unit != unit || s.UnitsEnded() != int(unit)+1 {
			t.Fatalf("unit %d: %d results to unit %d, %d in all", unit, n, s.Results[n-1].Unit, s.UnitsEnded())
		}
	}
	units := 5*KeptResults + 7
	all, failed := s.Ended(), (units+3)/4
	if all.Units != units || all.Iterations != 3*int64(units) || all.Converged != units-failed || len(all.Failed) != failed || all.Failed[failed-1] != int32(4*(failed-1)) {
		t.Errorf("%d units, %d iterations, %d converged, %d failed to %d", all.Units, all.Iterations, all.Converged, len(all.Failed), all.Failed[len(all.Failed)-1])
	}
	if again := s.Ended(); len(again.Failed) != failed || len(s.Earlier.Failed) >= failed {
		t.Error("counting changes the counts")
	}
}
