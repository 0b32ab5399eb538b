package screen

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/tuitest"
)

// A run is written in the format that is selected, and the log says where.
func TestARunIsExportedByKey(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {120, 40}} {
		m, run := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tuitest.Running())
		press(m, "r")
		if frame := frameOf(m); !strings.Contains(frame, "chrome") || !strings.Contains(frame, "a timeline") {
			t.Errorf("%v: the list is not open:\n%s", size, frame)
		}
		checkFrame(t, m, size[0], size[1])
		press(m, "down", "enter")
		if !slices.Equal(run.Called(), []string{"Export csv"}) || m.status.text != "exported run.csv" || m.status.bad || m.listing() {
			t.Errorf("%v: asked for %v, says %q", size, run.Called(), m.status.text)
		}
		run.Change(func() { run.Refuse = errors.New("the run is not recorded") })
		press(m, "r", "1")
		if want := "no chrome was exported: the run is not recorded"; m.status.text != want || !m.status.bad {
			t.Errorf("%v: says %q, want %q", size, m.status.text, want)
		}
		log := m.within(m.snap).Log
		if n := len(log); n < 2 || log[n-2].Text != "exported run.csv" || !log[n-1].Refused {
			t.Errorf("%v: the log ends with %v", size, log)
		}
		press(m, "r", "esc")
		if m.listing() || len(run.Called()) != 2 {
			t.Errorf("%v: esc asked for %v", size, run.Called())
		}
	}
}

// A source that cannot be exported has no key for it.
func TestASourceThatCannotBeExported(t *testing.T) {
	m := watching(t, 120, 40, tuitest.Running())
	press(m, "r")
	if m.listing() || !strings.Contains(m.status.text, "no meaning here") {
		t.Errorf("r says %q", m.status.text)
	}
}
