package tui

import (
	"time"

	"prismtop/profiles"
)

// overAfter300 is a run that a limit ended amid its fourth sample, and amid an effect.
func overAfter300() *profiles.Snapshot {
	s := incomparableRun()
	s.State, s.Index, s.Sample, s.InSample, s.Results = profiles.Finished, 300, 3, 41, s.Results[:3]
	s.Load = profiles.LoadView{}
	s.Effects[5] = profiles.Effect{Change: change("fft_cache", "true", "false", 295), Needed: 20, NBefore: 200, Closed: true, Ended: true}
	s.Phases[profiles.Backward] = profiles.PhaseView{}
	s.Phases[profiles.Optimizer], s.Whole.Phases[profiles.Optimizer] = profiles.PhaseView{}, profiles.PhaseView{}
	s.Caches[profiles.FFTPlans] = profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true}}
	s.Memory.Trend = profiles.MemoryTrend{Needed: 12 * time.Second}
	return s
}
