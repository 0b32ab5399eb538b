package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// Keys with a meaning elsewhere are rejected in a number: the answer explains it, so that the
// user does not believe that they had their usual effect.
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

// A key without a meaning gets an answer, so that the previous answer is not mistaken for its
// own.
func TestAKeyWithoutAMeaningIsAnswered(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "m", "I")
	if got := m.status.text; !strings.Contains(got, "I has no meaning here") || len(r.Called()) != 1 {
		t.Errorf("the footer says %q, called %q", got, r.Called())
	}
}
