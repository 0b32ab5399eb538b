package screen

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/control"
	"prismtop/tui/tuitest"
)

// exported is a source that records the formats in which it is written.
type exported struct {
	tuitest.Spectacle
	asked []string
	err   error
}

func (*exported) Formats() []control.Format {
	return []control.Format{{Name: "chrome", About: "a timeline"}, {Name: "csv", About: "tables"}}
}

func (x *exported) Export(format string) ([]string, error) {
	x.asked = append(x.asked, format)
	if x.err != nil {
		return nil, x.err
	}
	return []string{"run." + format}, nil
}

// A run is written in the format that is selected, and the log says where.
func TestARunIsExportedByKey(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {120, 40}} {
		x := &exported{}
		at := time.Unix(1e9, 0)
		m := New(x, Options{Cores: 2, Settings: tuitest.Running().Settings, Now: func() time.Time { return at }})
		m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		m.Update(snapshotMsg{tuitest.Running()})
		press(m, "r")
		if frame := frameOf(m); !strings.Contains(frame, "chrome") || !strings.Contains(frame, "a timeline") {
			t.Errorf("%v: the list is not open:\n%s", size, frame)
		}
		checkFrame(t, m, size[0], size[1])
		press(m, "down", "enter")
		if !slices.Equal(x.asked, []string{"csv"}) || m.status.text != "exported run.csv" || m.status.bad || m.listing() {
			t.Errorf("%v: asked for %v, says %q", size, x.asked, m.status.text)
		}
		x.err = errors.New("the run is not recorded")
		press(m, "r", "1")
		if want := "no chrome was exported: the run is not recorded"; m.status.text != want || !m.status.bad {
			t.Errorf("%v: says %q, want %q", size, m.status.text, want)
		}
		log := m.withPrinted(m.snap).Log
		if n := len(log); n < 2 || log[n-2].Text != "exported run.csv" || !log[n-1].Refused {
			t.Errorf("%v: the log ends with %v", size, log)
		}
		press(m, "r", "esc")
		if m.listing() || len(x.asked) != 2 {
			t.Errorf("%v: esc asked for %v", size, x.asked)
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
