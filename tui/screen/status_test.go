package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

// Control characters in file names and library messages are escaped on the screen.
func TestNothingThatIsSaidSteersTheScreen(t *testing.T) {
	const name, shown = "x\x1b[2J\u202e\n.png", `x\x1b[2J\u202e\n.png`
	s := tuitest.Failed()
	s.Run.Object, s.Err = name, "diverged: "+strings.ReplaceAll(name, "\n", "")
	s.Log = []profiles.LogLine{{At: time.Second, Text: "saved " + name}}
	m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, s)
	see := func(want string) {
		t.Helper()
		if got := ansi.Strip(m.View().Content); !strings.Contains(got, want) {
			t.Errorf("the screen lacks %q:\n%s", want, got)
		}
	}
	see("saved " + shown)
	see(`failed: diverged: x\x1b[2J\u202e.png`)
	see(`  x\x1b[2J\u202e`)
	m.complain("not saved: " + name)
	m.stale = true
	m.Update(secondMsg{})
	see("not saved: " + shown)
}

// News of the run waits until the answer to a key has been shown long enough to read.
func TestNewsDoNotReplaceAFreshAnswer(t *testing.T) {
	at := time.Unix(1e9, 0)
	first := tuitest.Running()
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, first)
	tell := func(text string) string {
		s := tuitest.Running()
		s.Log = append(m.snap.Log[:len(m.snap.Log):len(m.snap.Log)], profiles.LogLine{At: time.Hour, Text: text})
		m.Update(snapshotMsg{s})
		return m.status.text
	}
	m.say("mixed precision: bf16")
	if got := tell("sample 3 over after 8 s"); got != "mixed precision: bf16" {
		t.Errorf("at once: %q", got)
	}
	at = at.Add(answerLife)
	if got := tell("sample 4 over"); got != "sample 4 over" {
		t.Errorf("after %v: %q", answerLife, got)
	}
	if got := tell("sample 5 over"); got != "sample 5 over" {
		t.Errorf("news after news: %q", got)
	}
	m.say("saving …")
	if got := tell("saved moon.png"); got != "saved moon.png" {
		t.Errorf("what was waited for: %q", got)
	}
	m.complain("no such thing")
	if got := tell("sample 6 over"); !strings.Contains(got, "no such thing") {
		t.Errorf("over a refusal: %q", got)
	}
}
