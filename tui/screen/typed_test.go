package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// Keys that mean something elsewhere are not taken into a number: the answer says where they
// went instead of letting the user believe that they did what they usually do.
func TestANumberTakesNoLetters(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "Z", "k", "R", "space", "2", "5", "q", "enter")
	if got := r.Called(); len(got) != 1 || got[0] != "Set max_iterations 25" {
		t.Errorf("called %q", got)
	}
	press(m, "Z", "k")
	if got := m.status.text; !strings.Contains(got, "max_iterations is a whole number") || !strings.Contains(got, "esc") {
		t.Errorf("after a letter the footer says %q", got)
	}
}

// A key without a meaning is answered, so that the answer to the key before does not seem to
// be its own.
func TestAKeyWithoutAMeaningIsAnswered(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "m", "r")
	if got := m.status.text; !strings.Contains(got, "r has no meaning here") || len(r.Called()) != 1 {
		t.Errorf("the footer says %q, called %q", got, r.Called())
	}
}
