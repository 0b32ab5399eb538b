package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

// A run of a list of tasks begins with the list: its states, the losses over each other, the slices.
func TestGoldenTasks(t *testing.T) {
	for _, tt := range []struct {
		name string
		w, h int
	}{{"tasks-80x24", 80, 24}, {"tasks-120x40", 120, 40}, {"tasks-200x60", 200, 60}} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, Options{Settings: tuitest.Tasks().Settings}, colorprofile.ANSI256)
			m.Update(snapshotMsg{tuitest.Tasks()})
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

// x cancels the selected task, unless it has ended, and takes that back before its turn.
func TestATaskIsCancelled(t *testing.T) {
	m, r := screen(t, 120, 40, Options{Settings: tuitest.Tasks().Settings}, colorprofile.ANSI256)
	m.Update(snapshotMsg{tuitest.Tasks()})
	m.setFocus(idTasks)
	before := len(r.Called())
	press(m, "home", "x")
	if !strings.Contains(m.status.text, "task 1 is done") {
		t.Errorf("a task that is done: %q", m.status.text)
	}
	press(m, "end", "x")
	press(m, "home", "down", "down", "x")
	want := []string{"Set cancelled 3,6", "Set cancelled 6"}
	if got := r.Called()[before:]; !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	if frame := frameOf(m); !strings.Contains(frame, "3: cancelled") {
		t.Errorf("the reason of the selected task is missing:\n%s", frame)
	}
	over := *tuitest.Tasks()
	over.State = profiles.Finished
	m.Update(snapshotMsg{&over})
	before = len(r.Called())
	press(m, "x")
	if got := r.Called()[before:]; len(got) != 0 {
		t.Errorf("after the end x calls %q", got)
	}
}
