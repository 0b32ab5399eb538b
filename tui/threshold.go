package tui

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file is what the screen says of a threshold that is suspended, because it was given
// for another loss.

// thresholdKey is the loss below which units end.
const thresholdKey = "threshold"

// suspended says whether the threshold that is asked for is for another loss than that
// which is asked for.
func (m *Model) suspended() bool {
	_, _, suspended := m.wanted().Suspended(thresholdKey)
	return suspended
}

// thresholdText follows a change that suspends the threshold, or brings it back; before
// are the settings that were asked for until then.
func (m *Model) thresholdText(before settings.Values) string {
	_, _, was := before.Suspended(thresholdKey)
	after := m.wanted()
	threshold := after.Number(thresholdKey)
	switch given, now, is := after.Suspended(thresholdKey); {
	case is && !was:
		given, now = lossNames(given, now)
		return fmt.Sprintf("; threshold %g was for %s: suspended until T sets one for %s", threshold, given, now)
	case was && !is && before.Number(thresholdKey) == threshold:
		return fmt.Sprintf("; threshold %g is in force again", threshold)
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
	loss, _, suspended := s.Settings.Suspended(thresholdKey)
	if !suspended || !s.InUnits() {
		return ""
	}
	return fmt.Sprintf("threshold %.2g suspended: for %s", s.Settings.Number(thresholdKey), loss)
}

// thresholdOf is the threshold that ends what is trained now, 0 for none. The
// initialisation has a loss of its own, which no other one replaces.
func thresholdOf(s *profiles.Snapshot) float64 {
	if !s.InUnits() {
		return s.Settings.Number(thresholdKey)
	}
	return s.Settings.InForce(thresholdKey)
}
