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
	if got := tell("sample 3 cleared after 8 s"); got != "mixed precision: bf16" {
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

// The outcome of a request may come with news of something else, in one snapshot or in a later one, and after the
// announcement has expired.
func TestAnOutcomeAmongOtherNews(t *testing.T) {
	const other, outcome = "slowdown: cleared after 4 s", "pts/2 wants control; pts/1 has it"
	long := strings.Repeat(other+", ", 4)
	for name, snapshots := range map[string][][]string{
		"in one snapshot":       {{other, outcome}},
		"in a later one":        {{other}, {outcome}},
		"before the other":      {{outcome}, {other}},
		"behind what is long":   {{long, outcome}},
		"before what is long":   {{outcome, long}},
		"before it, later":      {{outcome}, {long}},
		"behind many lines":     {{other}, {other}, {other}, {other}, {other, outcome}},
		"behind many at a time": {{other, other, other, other, other, outcome}},
	} {
		for _, wait := range []time.Duration{0, statusLife + time.Second, outcomeLife - time.Second} {
			at := time.Unix(1e9, 0)
			m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
			m.say("asked to operate the run, and I takes it at once …")
			at = at.Add(wait)
			m.Update(secondMsg{})
			for _, lines := range snapshots {
				m.Update(snapshotMsg{withLog(m.snap, lines...)})
			}
			shown := false
			for range mostHeard {
				shown = shown || strings.Contains(footerOf(m), outcome)
				at = at.Add(pageLife)
				m.Update(snapshotMsg{withLog(m.snap)})
			}
			if !shown {
				t.Errorf("%s, after %v: the footer lacks the outcome:\n%s", name, wait, footerOf(m))
			}
		}
	}
}

// withLog returns a snapshot with more lines in its log.
func withLog(s *profiles.Snapshot, lines ...string) *profiles.Snapshot {
	now := *s
	now.Log = s.Log[:len(s.Log):len(s.Log)]
	for _, text := range lines {
		now.Log = append(now.Log, profiles.LogLine{At: time.Hour + time.Duration(len(now.Log)), Text: text})
	}
	return &now
}

// News is an outcome for a limited time, and not once another key was answered.
func TestAnOutcomeIsAwaitedForALimitedTime(t *testing.T) {
	for name, then := range map[string]func(m *Model, at *time.Time){
		"later":          func(_ *Model, at *time.Time) { *at = at.Add(outcomeLife) },
		"another answer": func(m *Model, at *time.Time) { m.say("mixed precision: bf16"); *at = at.Add(answerLife) },
	} {
		at := time.Unix(1e9, 0)
		m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
		m.say("saving …")
		then(m, &at)
		m.Update(snapshotMsg{withLog(m.snap, "sample 4 over")})
		if m.status.text != "sample 4 over" || !m.status.news {
			t.Errorf("%s: %+v", name, m.status)
		}
	}
}
