package sim

import (
	"context"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/sim/workloads"
)

// A paused run gives its processors away: its workers do not spin, and nothing is watched that does not move. Waking up
// for the frames takes 0.3 to 2 % of a processor, depending on the machine; a worker that spins takes all of it.
// Several spans are looked at because the garbage of the iterations may still be collected in the first.
func TestAPausedRunUsesNoProcessorTime(t *testing.T) {
	s := configured(t, append(small, "iterations=1000000", "threshold=0", "threads=2")...)
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 20 })
	do(t, r, profiles.PauseCommand)
	until(t, a, "the pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	ctx, cancel := context.WithCancel(t.Context())
	go a.Run(ctx, 0)
	defer func() {
		cancel()
		for range a.Snapshots() {
		}
	}()
	least := 1.0
	for range 20 {
		before := machine.ReadLoad()
		began := time.Now()
		time.Sleep(300 * time.Millisecond)
		used := machine.ReadLoad().Since(before)
		if used.Reason != "" {
			t.Skip("skipped: ", used.Reason)
		}
		if least = min(least, used.Own/time.Since(began).Seconds()); least < 0.05 {
			return
		}
	}
	t.Errorf("a paused run uses %.1f %% of a processor", 100*least)
}
