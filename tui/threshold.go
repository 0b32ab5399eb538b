package tui

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/preset"
)

// This file is what the screen says of a threshold that is suspended, because it was given
// for another loss.

// suspended says whether the threshold that is asked for is for another loss than that
// which is asked for.
func (m *Model) suspended() bool {
	all := m.wanted()
	_, suspended := all.ThresholdSuspended()
	return suspended
}

// thresholdText follows a change that suspends the threshold, or brings it back; before
// are the settings that were asked for until then.
func (m *Model) thresholdText(before *preset.Settings) string {
	_, was := before.ThresholdSuspended()
	after := m.wanted()
	switch loss, is := after.ThresholdSuspended(); {
	case is && !was:
		given, now := lossNames(loss, after.LossName())
		return fmt.Sprintf("; threshold %g was for %s: suspended until T sets one for %s", after.Threshold, given, now)
	case was && !is && before.Threshold == after.Threshold:
		return fmt.Sprintf("; threshold %g is in force again", after.Threshold)
	}
	return ""
}

// lossNames are the names of two losses, as short as keeps them apart.
func lossNames(a, b string) (string, string) {
	short := func(name string) string {
		name = strings.TrimPrefix(name, "normalised ")
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	if short(a) != short(b) {
		return short(a), short(b)
	}
	return a, b
}

// whySuspended says that the threshold is suspended, and for which loss it was given; ""
// where it is in force.
func whySuspended(s *profiles.Snapshot) string {
	loss, suspended := s.Settings.ThresholdSuspended()
	if !suspended || !s.InUnits() {
		return ""
	}
	return fmt.Sprintf("threshold %.2g suspended: for %s", s.Settings.Threshold, loss)
}

// thresholdOf is the threshold that ends what is trained now, 0 for none. The
// initialisation has a loss of its own, which no other one replaces.
func thresholdOf(s *profiles.Snapshot) float64 {
	if !s.InUnits() {
		return s.Settings.Threshold
	}
	return s.Settings.ThresholdInForce()
}
