package tui

import "prismtop/profiles"

// This file is what panes say of a run that is over: they promise nothing to come.

// yet follows what is missing so far; nothing of a run that is over.
func yet(s *profiles.Snapshot) string {
	if ended(s.State) {
		return ""
	}
	return " yet"
}

// whileRunning is advice for a run that goes on; nothing for one that is over.
func whileRunning(s *profiles.Snapshot, advice string) string {
	if ended(s.State) {
		return ""
	}
	return advice
}

// measuredSamples is how many samples were trained to their end, or passed, and which
// one was being trained, −1 for none. Of a run that is over it was cut off.
func measuredSamples(s *profiles.Snapshot) (done, current int) {
	if !ended(s.State) {
		return min(max(s.Sample, 0), s.Run.Samples), s.Sample
	}
	done = min(max(s.Sample, len(s.Results), 0), s.Run.Samples)
	if s.Sample >= len(s.Results) && s.Sample < s.Run.Samples {
		return done, s.Sample
	}
	return done, -1
}
