package screen

import (
	"strings"
	"testing"

	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
	"prismtop/tui/words"
)

// A row of several settings keeps their names and how many they are, and its number.
func TestARowOfSeveralSettingsNamesThem(t *testing.T) {
	s := tuitest.Together()
	e := &s.Effects[2]
	for w, want := range map[int]string{
		60: "threads 2→1 + lr 1.0e-03→5.0e-04 + loss l1→ssim",
		40: "threads 1 + lr 5.0e-04 + loss ssim (3)",
		25: "threads + lr + loss (3)",
		18: "threads + lr (3)",
		12: "threads (3)",
		10: "3 settings",
	} {
		if got := words.ChangedIn(prism.Table, e, 2, w); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
	for _, size := range [][2]int{{35, 5}, {38, 11}, {60, 8}, {80, 24}, {120, 40}} {
		p := paneOf(t, idEffects, size[0], size[1], s)
		text := tuitest.Shown(tuitest.Cells(strings.Join(p.Lines(), "\n"), size[0], size[1]))
		row := ""
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "threads") {
				row = line
				break
			}
		}
		if !strings.Contains(row, "(3)") && !strings.Contains(row, "loss l1→ssim") || !strings.Contains(row, "needs 12 more") {
			t.Errorf("%v: %q in\n%s", size, row, text)
		}
	}
}
