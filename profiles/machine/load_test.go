package machine

import "testing"

func TestForeignIsWhatWasNeitherIdleNorOurs(t *testing.T) {
	first, second := Load{Busy: 10, Own: 4, Passed: 100}, Load{Busy: 11.5, Own: 5, Passed: 102}
	if got := second.Since(first).Foreign(); got != 0.25 {
		t.Errorf("foreign %g, want 0.5 s of 2", got)
	}
	// The kernel counts the machine's time in ticks and ours exactly.
	if got := (Load{Busy: 1, Own: 1.01, Passed: 1}).Foreign(); got != 0 {
		t.Errorf("foreign %g of a machine that is all ours", got)
	}
	if got := first.Since(first).Foreign(); got != 0 {
		t.Errorf("foreign %g of no time", got)
	}
}
