package tui

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

// ended says whether a run in this state will do nothing more.
func ended(s profiles.State) bool {
	return s == profiles.Finished || s == profiles.Stopped || s == profiles.Failed
}

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

// phaseName is a phase's name in the schema.
func phaseName(s *profiles.Snapshot, p profiles.Phase) string {
	if all := s.Run.Schema.Phases; int(p) < len(all) {
		return all[p].Name
	}
	return ""
}

// precision is the arithmetic of the run: fp32, or the AMP mode, with what is told of
// fp16's gradients as far as w cells hold it. It is empty where a workload has no choice.
func precision(s *profiles.Snapshot, w int) string {
	if v := settingsOf(s); v.Table() != nil && !v.Has("amp") {
		return ""
	}
	switch amp := settingsOf(s).Text("amp"); amp {
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
			return fittingOrLast(w, amp+scale+skipped, amp+skipped, amp)
		}
		return fittingOrLast(w, amp+scale, amp)
	default:
		return amp
	}
}

// othersTook is a share of the processors in words.
func othersTook(share float64) string {
	return fmt.Sprintf("others took %.0f %% of the processors", 100*share)
}

// newLines are the lines of the log after the newest one that was seen.
func newLines(before, now *profiles.Snapshot) []profiles.LogLine {
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

// printed is a text as it may be printed: control characters are written out, and
// what terminals would join with other characters is left out, as on the screen.
func printed(text string) string {
	return strings.Map(func(r rune) rune {
		if monospace.RuneWidth(r) == 0 {
			return -1
		}
		return r
	}, visible.Text(text))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return visible.Text(line)
}
