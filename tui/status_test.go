package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
)

// News of the run wait until an answer to a key was there to be read.
func TestNewsDoNotReplaceAFreshAnswer(t *testing.T) {
	at := time.Unix(1e9, 0)
	first := running()
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, first)
	tell := func(text string) string {
		s := running()
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
