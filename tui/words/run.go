// Package words describes a run in text: its numbers, settings, effects, caches and losses, as
// shown by the line mode, the panes and the screen. It draws nothing.
package words

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/monospace"
)

// This file describes a run, its progress and its log.

// CatchingUp is shown while an attached screen has the run's present, but not yet its past.
const CatchingUp = "catching up"

// Ended reports whether a run in this state is over.
func Ended(s profiles.State) bool {
	return s == profiles.Finished || s == profiles.Stopped || s == profiles.Failed
}

// Ran says how long a run has gone on: "00:00:05", of one that was resumed "00:00:05, 00:01:05 in all".
func Ran(s *profiles.Snapshot) string {
	text := unit.Clock(s.Elapsed)
	if all := s.InAll(); all > 0 {
		text += ", " + unit.Clock(all) + " in all"
	}
	return text
}

// Yet returns " yet" for a run that is not over, to follow something missing so far.
func Yet(s *profiles.Snapshot) string {
	if Ended(s.State) {
		return ""
	}
	return " yet"
}

// WhileRunning returns advice if the run is not over.
func WhileRunning(s *profiles.Snapshot, advice string) string {
	if Ended(s.State) {
		return ""
	}
	return advice
}

// OnCPU returns why a run whose device is auto is computed on the CPU: "no CUDA device: libcuda.so.1 not found". It
// is "" for a run on a GPU, and for one that was given its device.
func OnCPU(s *profiles.Snapshot) string {
	if v := SettingsOf(s); s.Run.Device != "cpu" || !v.Has(settings.Device) || v.Text(settings.Device) != "auto" {
		return ""
	}
	return s.Run.GPUReason
}

// PhaseName returns a phase's name in the schema.
func PhaseName(s *profiles.Snapshot, p profiles.Phase) string {
	if all := s.Run.Schema.Phases; int(p) < len(all) {
		return all[p].Name
	}
	return ""
}

// Precision describes the arithmetic of the run: fp32, or the AMP mode, with the gradient scaling
// of fp16 if w cells are enough. It is "" if the workload offers no choice.
func Precision(s *profiles.Snapshot, w int) string {
	precision := SettingsOf(s).Table().Roles().Precision
	if SettingsOf(s).Table() != nil && precision == "" {
		return ""
	}
	switch amp := SettingsOf(s).Text(precision); amp {
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

// OthersTook describes the share of the processors used by other programs.
func OthersTook(share float64) string {
	return fmt.Sprintf("others took %.0f %% of the processors", 100*share)
}

// NewLines returns the lines of the log in now that are newer than those in before.
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

// Printed makes a text safe to print: control characters are escaped, and characters that
// terminals would join with others are removed, as on the screen.
func Printed(text string) string {
	return strings.Map(func(r rune) rune {
		if monospace.RuneWidth(r) == 0 {
			return -1
		}
		return r
	}, visible.Text(text))
}

// FirstLine returns the first line of a text, safe to print.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return visible.Text(line)
}

// Exported says where the files of an export are, or why there are none.
func Exported(format string, paths []string, err error) string {
	text := "exported " + strings.Join(paths, ", ")
	if len(paths) == 0 {
		text = "no " + format + " was exported"
	}
	if err != nil {
		text += ": " + err.Error()
	}
	return text
}
