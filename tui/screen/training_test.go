package screen

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/tuitest"
)

// The training of a ptychographic network on the screen: both parts of its complex object, its
// own metrics, phases and units.
func TestGoldenTraining(t *testing.T) {
	for _, tt := range []struct {
		name string
		w, h int
		keys []string
	}{
		{"training-80x24", 80, 24, nil},
		{"training-120x40", 120, 40, nil},
		{"training-200x60", 200, 60, nil},
		{"training-quality-120x40", 120, 40, []string{"w", "w", "w"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, Options{Settings: tuitest.Training().Settings}, colorprofile.ANSI256)
			m.Update(snapshotMsg{tuitest.Training()})
			for _, k := range tt.keys {
				m.Update(pressed(k))
			}
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}
