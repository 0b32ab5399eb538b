package screen

import (
	"strings"

	"prismtop/profiles"
	"prismtop/tui/words"
)

// troubles returns the active alerts of a run, worst first, preceded by the failure if the run failed. The header
// counts them, and the help lists them.
func troubles(s *profiles.Snapshot, b *bindings) []profiles.Alert {
	if s == nil {
		return nil
	}
	if s.State != profiles.Failed {
		return s.Alerts
	}
	failure := profiles.Alert{Severity: profiles.Critical, Since: s.Elapsed, Iteration: s.Index,
		What: "The run failed: " + words.FirstLine(s.Err),
		Try:  afterFailure(b)}
	return append([]profiles.Alert{failure}, s.Alerts...)
}

// afterFailure describes what helps after a failure.
func afterFailure(b *bindings) profiles.Advice {
	var ways []string
	switch {
	case b.can(profiles.RestartCommand, profiles.SetCommand):
		ways = append(ways, "{restart|a restart} begins again from the first weights, and {settings|the list of "+
			"settings} changes them before that")
	case b.can(profiles.RestartCommand):
		ways = append(ways, "{restart|a restart} begins again from the first weights")
	}
	if b.can(profiles.SaveCommand) {
		ways = append(ways, "{save|saving} keeps the last reconstruction")
	}
	return profiles.Advice(strings.Join(append(ways, "{quit|quitting} leaves prismtop."), "; "))
}
