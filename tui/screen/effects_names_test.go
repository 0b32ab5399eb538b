package screen

import (
	"strings"
	"testing"

	"prismtop/tui/tuitest"
)

// A row of several settings keeps their names, their count and its number.
func TestARowOfSeveralSettingsNamesThem(t *testing.T) {
	s := tuitest.Together()
	for _, size := range [][2]int{{35, 5}, {38, 11}, {60, 8}, {80, 24}, {120, 40}} {
		p := paneOf(t, idEffects, size[0], size[1], s)
		text := tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(p), "\n"), size[0], size[1]))
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
