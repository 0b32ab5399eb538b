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

// measuredSamples is how many places of the pattern were trained or passed, which one is
// being trained and which is next, −1 for none. Of a run that is over none is next, and
// one that was being trained was cut off.
func measuredSamples(s *profiles.Snapshot) (done, current, next int) {
	current, pass := s.Run.Place(s.Unit)
	done, next = max(current, 0), current+1
	if next == s.Run.Units {
		if next = -1; s.Unit+1 < s.Run.AllUnits() {
			next = 0
		}
	}
	if ended(s.State) {
		next = -1
		if s.Unit < len(s.Results) {
			done, current = min(len(s.Results), s.Run.Units), -1
		}
	}
	if pass > 0 {
		done = s.Run.Units
	}
	return min(done, s.Run.Units), current, next
}
