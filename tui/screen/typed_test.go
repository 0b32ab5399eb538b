package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// A character that a number cannot contain is refused aloud and does nothing, whether something was typed before it or not, in the
// field of a key and in that of the settings pane.
func TestAFieldRefusesCharactersOutsideItsValue(t *testing.T) {
	characters := strings.Split("abcdfghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ/?[]<>=$%:;'\"!#&()*_{}|~^@`,é", "")
	for _, opens := range [][]string{{"O"}, {"Z"}, {"%"}, {"G"}, {"X"}, {"Z", "2"}, {"Z", "ctrl+u"}, {",", "enter"}, {",", "enter", "2"}} {
		m, r := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
		if opens[0] == "," {
			press(m, ",")
			settingsIn(m).Select("max_iterations")
			press(m, opens[1:]...)
		} else {
			press(m, opens...)
		}
		if footer := footerOf(m); !strings.Contains(footer, "enter sets") {
			t.Fatalf("%v: no field is open: %s", opens, footer)
		}
		panes := func() string { return strings.TrimSuffix(frameOf(m), lastLine(m)) } // without the footer
		before := panes()
		for _, key := range append(characters, "space") {
			m.status = status{}
			press(m, key)
			if got := footerOf(m); !strings.Contains(got, key+" is not part of") {
				t.Errorf("%v, %s: the footer says %q", opens, key, got)
			}
		}
		if after := panes(); after != before || r.Called() != nil || m.bookmarks.storing || m.help.page != noHelp {
			t.Errorf("%v: characters called %q and changed the screen to\n%s", opens, r.Called(), after)
		}
	}
}

// Keys that are no characters close a field in which nothing was typed and do what they do elsewhere. None of these is swallowed.
func TestKeysLeaveAFieldInWhichNothingWasTyped(t *testing.T) {
	for _, opener := range []string{"O", "Z", "%", "W", "G", "X"} {
		for _, key := range []string{"tab", "shift+tab"} {
			m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
			press(m, opener)
			if !lies[*typing](m) || !strings.Contains(frameOf(m), "typing: "+over[*typing](m).key.Name) || !strings.Contains(footerOf(m), "typing: ") {
				t.Fatalf("%s: no field is seen:\n%s", opener, frameOf(m))
			}
			m.Update(named(key))
			if lies[*typing](m) {
				t.Errorf("%s %s: the field stays open", opener, key)
			}
			plain, want := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
			plain.Update(named(key))
			if got := r.Called(); !slices.Equal(got, want.Called()) || m.View().Content != plain.View().Content {
				t.Errorf("%s %s calls %q, and %s alone %q", opener, key, got, key, want.Called())
			}
		}
	}
}

// A slip while a number is typed is refused aloud and changes nothing; one esc leads back.
func TestANumberTakesNoLetters(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "Z", "2", "k", "5", "q")
	if got := m.status.text; !strings.Contains(got, "q is not part of max_iterations") || !strings.Contains(got, "esc leaves") || !m.status.bad {
		t.Errorf("after a letter the footer says %q", got)
	}
	press(m, "enter")
	if got := r.Called(); len(got) != 1 || got[0] != "Set max_iterations 25" {
		t.Errorf("called %q", got)
	}
	for _, from := range [][]string{nil, {"tab"}, {"tab", "z"}, {"w"}} {
		m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
		for _, k := range from {
			m.Update(named(k))
		}
		before := m.View().Content
		press(m, "O", "7", "esc")
		if m.View().Content != before || r.Called() != nil {
			t.Errorf("after %v, O, 7 and esc:\n%s", from, frameOf(m))
		}
	}
}

// A key without a meaning gets an answer, so that the previous answer is not mistaken for its
// own.
func TestAKeyWithoutAMeaningIsAnswered(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "m", "I")
	if got := m.status.text; !strings.Contains(got, "I has no meaning here") || len(r.Called()) != 1 {
		t.Errorf("the footer says %q, called %q", got, r.Called())
	}
}
