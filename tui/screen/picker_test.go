package screen

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/sim/prism"
	"prismtop/tui/keys"
)

// Every value of every listed setting can be selected directly, and the list cycles through the
// settings in both directions.
func TestTheListOfValuesReachesEveryValue(t *testing.T) {
	picks := keys.Listed(prism.Table)
	for at, key := range picks {
		k, _ := prism.Table.Lookup(key)
		for i, value := range k.Allowed {
			s := whole(t)
			m, r := screen(t, 60, 15, Options{}, colorprofile.ANSI256, s)
			press(m, ".")
			for range at {
				m.Update(rightKey)
			}
			checkFrame(t, m, 60, 15)
			lamp := "○"
			switch {
			case value == s.Settings.Get(key):
				lamp = "●"
			case s.Run.Unavailable(key, value, s.Settings) != "":
				lamp = "–"
			}
			if frame := seen(m); !strings.Contains(frame, strconv.Itoa(i+1)+" "+lamp+" "+value) {
				t.Errorf("the list lacks %q:\n%s", value, frame)
			}
			press(m, strconv.Itoa(i+1))
			want := []string{"Set " + key + " " + value}
			if value == s.Settings.Get(key) {
				want = nil
			}
			if got := r.Called(); !slices.Equal(got, want) || lies[*valueList](m) {
				t.Errorf("%s %d called %q, want %q", key, i+1, got, want)
			}
			if lastLine(m) == "" || m.status.text == "" {
				t.Errorf("%s %d has no answer", key, i+1)
			}
		}
	}
}

func TestTheListOfValuesGoesUpAndDown(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t)) // amp is bf16
	press(m, ".")
	m.Update(upKey)
	press(m, "enter")
	m.knobs.list(m.keys.picks)
	m.Update(leftKey) // wraps around to the schedule
	m.Update(downKey)
	press(m, "space")
	m.knobs.list(m.keys.picks)
	m.Update(rightKey)
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnd})
	press(m, "enter")
	for _, key := range []string{"esc", ".", "q", "?"} {
		m.knobs.list(m.keys.picks)
		press(m, "m", "9", key) // letters and digits without a value do nothing
		if lies[*valueList](m) || m.help.page != noHelp || lies[quitting](m) {
			t.Errorf("%s does not just close the list", key)
		}
	}
	want := []string{"Set amp off", "Set scheduler plateau", "Set loss composite"}
	if got := r.Called(); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	if press(m, ".", "ctrl+c"); !m.interrupted {
		t.Error("ctrl+c does not leave the list and the screen")
	}
}

// Enter in the settings pane lists the values of a setting, also for the next run.
func TestEnterListsTheValuesOfASetting(t *testing.T) {
	m, r := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
	press(m, ",")
	for key, digit := range map[string]string{"amp": "4", "sampling": "2", "aperture": "2", "output_activation": "7"} {
		settingsIn(m).Select(key)
		press(m, "enter")
		if !lies[*valueList](m) || over[*valueList](m).key() != key {
			t.Fatalf("enter on %s lists %+v", key, over[*valueList](m))
		}
		m.Update(rightKey) // no effect
		checkFrame(t, m, 80, 24)
		press(m, digit)
	}
	got := r.Called()
	slices.Sort(got)
	if want := []string{"Set amp fp16", "Set aperture hexagonal", "Set output_activation tanh", "Set sampling random"}; !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	clickOn(m, 5, 5)
	m.knobs.list(m.keys.picks)
	clickOn(m, 5, 5)
	if lies[*valueList](m) {
		t.Error("a click does not close the list")
	}
}
