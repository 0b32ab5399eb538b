package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// Keys that a number cannot contain close a field in which nothing was typed and do what they do elsewhere. None of
// these is swallowed.
func TestKeysLeaveAFieldInWhichNothingWasTyped(t *testing.T) {
	for _, opener := range []string{"O", "Z", "%", "W", "G", "X"} {
		for _, key := range strings.Fields("j J H N S F [ ] t T k K B M n space u h") {
			m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
			press(m, opener)
			if !lies[*typing](m) || !strings.Contains(frameOf(m), "typing: "+over[*typing](m).key.Name) || !strings.Contains(footerOf(m), "typing: ") {
				t.Fatalf("%s: no field is seen:\n%s", opener, frameOf(m))
			}
			press(m, key)
			if lies[*typing](m) {
				t.Errorf("%s %s: the field stays open", opener, key)
			}
			plain, want := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
			press(plain, key)
			if got := r.Called(); !slices.Equal(got, want.Called()) || m.View().Content != plain.View().Content {
				t.Errorf("%s %s calls %q, and %s alone %q", opener, key, got, key, want.Called())
			}
		}
	}
}

// A slip while a number is typed is refused aloud and changes nothing; space pauses; one esc leads back.
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
	m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "Z", "2", "space")
	if got := r.Called(); lies[*typing](m) || len(got) != 1 || got[0] != "Pause" {
		t.Errorf("space called %q", got)
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
