package tui

import (
	"fmt"

	"prismtop/profiles/settings"
)

// This file is what the screen says of a threshold that is suspended, because it was given
// for another loss.

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
