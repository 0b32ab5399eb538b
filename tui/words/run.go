// Package words is how a run is told in words: its numbers, settings, effects, caches and losses as
// lines of text, panes and the screen have them. It draws nothing.
package words

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/monospace"
)

// This file is how a run, its progress and its log are told.

// Ended says whether a run in this state will do nothing more.
func Ended(s profiles.State) bool {
	return s == profiles.Finished || s == profiles.Stopped || s == profiles.Failed
}

// Yet follows what is missing so far; nothing of a run that is over.
func Yet(s *profiles.Snapshot) string {
	if Ended(s.State) {
		return ""
	}
	return " yet"
}

// WhileRunning is advice for a run that goes on; nothing for one that is over.
func WhileRunning(s *profiles.Snapshot, advice string) string {
	if Ended(s.State) {
		return ""
	}
	return advice
}

// PhaseName is a phase's name in the schema.
func PhaseName(s *profiles.Snapshot, p profiles.Phase) string {
	if all := s.Run.Schema.Phases; int(p) < len(all) {
		return all[p].Name
	}
	return ""
}

// Precision is the arithmetic of the run: fp32, or the AMP mode, with what is told of
// fp16's gradients as far as w cells hold it. It is empty where a workload has no choice.
func Precision(s *profiles.Snapshot, w int) string {
	if v := SettingsOf(s); v.Table() != nil && !v.Has("amp") {
		return ""
	}
	switch amp := SettingsOf(s).Text("amp"); amp {
	case "", "off":
		return "fp32"
	case "fp16":
		scale, skipped := "", ""
		if s.Of(profiles.GradientScale).Latest > 0 && !math.IsInf(s.Of(profiles.GradientScale).Latest, 0) {
			scale = fmt.Sprintf(" scale %.0f", s.Of(profiles.GradientScale).Latest)
		}
		if s.SkippedSteps > 0 {
			skipped = " " + unit.Count(s.SkippedSteps) + " skipped"
		}
		if skipped != "" {
			return FittingOrLast(w, amp+scale+skipped, amp+skipped, amp)
		}
		return FittingOrLast(w, amp+scale, amp)
	default:
		return amp
	}
}

// OthersTook is a share of the processors in words.
func OthersTook(share float64) string {
	return fmt.Sprintf("others took %.0f %% of the processors", 100*share)
}

// NewLines are the lines of the log after the newest one that was seen.
func NewLines(before, now *profiles.Snapshot) []profiles.LogLine {
	if before == nil || len(before.Log) == 0 {
		return now.Log
	}
	seen := before.Log[len(before.Log)-1]
	for i := len(now.Log) - 1; i >= 0; i-- {
		if now.Log[i] == seen {
			return now.Log[i+1:]
		}
	}
	return now.Log
}

// Printed is a text as it may be printed: control characters are written out, and
// what terminals would join with other characters is left out, as on the screen.
func Printed(text string) string {
	return strings.Map(func(r rune) rune {
		if monospace.RuneWidth(r) == 0 {
			return -1
		}
		return r
	}, visible.Text(text))
}

// FirstLine is the first line of a text, as it may be printed.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return visible.Text(line)
}
