package screen

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/control"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// operator is a run with several screens.
type operator struct {
	*tuitest.Recorder
	operates bool
	asked    []bool
	viewer   bool     // its role
	asks     string   // who asks to operate
	holder   string   // who operates
	noted    []string // notes
	refused  error    // of notes
}

func (o *operator) Control() profiles.Control {
	return profiles.Control{Operates: o.operates, Operator: o.holder, Asks: o.asks}
}

func (o *operator) Able(s *profiles.Snapshot) (able profiles.Kinds) {
	if o.operates {
		able = slices.Clone(s.Able())
	}
	if !o.viewer {
		able = append(able.Without(profiles.NoteCommand), profiles.NoteCommand, profiles.OperateCommand, profiles.HandOverCommand)
	}
	return able
}

func (o *operator) Do(c profiles.Command) error {
	switch c.Kind {
	case profiles.OperateCommand, profiles.HandOverCommand:
		o.asked = append(o.asked, c.Kind == profiles.OperateCommand)
		return nil
	case profiles.NoteCommand:
		o.noted = append(o.noted, c.Text)
		return o.refused
	}
	return o.Recorder.Do(c)
}

// farewell is what a screen prints that leaves its run going.
const farewell = "the run goes on\n"

// shared returns the screen of a run that can go on without it.
func shared(w, h int, run *operator) *Model {
	m := New(run, Options{Cores: 2, Settings: tuitest.Running().Settings, Leave: Leave{Text: farewell, Greeting: "since you left: 2 changes, 1 alert"}})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m.Update(snapshotMsg{tuitest.Running()})
	return m
}

// D leaves the run going, also as the answer to the question of q; the run is not stopped.
func TestLeavingTheRunGoing(t *testing.T) {
	for _, keys := range [][]string{{"D"}, {"q", "D"}} {
		run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
		m := shared(120, 40, run)
		press(m, keys...)
		select {
		case <-m.left:
		default:
			t.Errorf("%q does not leave", keys)
		}
		if err := m.Failure(); err != control.ErrDetached {
			t.Errorf("%q ends with %v", keys, err)
		}
		if called := run.Called(); len(called) != 0 {
			t.Errorf("%q called %q", keys, called)
		}
		if text := m.LastWords(); !strings.Contains(text, "the run goes on") || strings.Contains(text, "iterations") {
			t.Errorf("%q prints %q", keys, text)
		}
	}
}

// The question of q names the key that leaves the run going; q twice ends it.
func TestTheQuestionNamesD(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
	m := shared(60, 15, run)
	press(m, "q")
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "D leaves it going") {
		t.Errorf("the question:\n%s", text)
	}
	press(m, "q")
	if called := run.Called(); len(called) != 1 || called[0] != "Stop" {
		t.Errorf("q twice called %q", called)
	}
}

// A screen that only watches has no keys that change the run, says so in the header, and gets them
// back with the lease.
func TestAScreenThatOnlyWatches(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder()}
	m := shared(120, 40, run)
	brand := func() string { return strings.Fields(ansi.Strip(headerLine(m)))[0] }
	if text := ansi.Strip(frameOf(m)); brand() != "watching" || !strings.Contains(text, "since you left: 2 changes") {
		t.Errorf("the screen shows neither that it watches nor what it missed:\n%s", text)
	}
	for _, key := range []string{"a", "space", "n", "s", "d", "R", "A", "E", "u", "b", "U", "m"} {
		press(m, key)
		if m.crash != nil {
			t.Fatal(m.crash)
		}
	}
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "m (measurement cache): this screen only watches; I asks for control") {
		t.Errorf("a key that would change the run is not answered:\n%s", text)
	}
	press(m, "q") // leaves at once
	if called := run.Called(); len(called) != 0 {
		t.Errorf("the keys of a viewer called %q", called)
	}
	if err := m.Failure(); err != control.ErrDetached {
		t.Errorf("q of a viewer ends with %v", err)
	}

	m = shared(120, 40, run)
	press(m, "I")
	run.operates = true
	m.Update(snapshotMsg{tuitest.Running()})
	press(m, "a", "I")
	if called := run.Called(); len(called) != 1 || !strings.Contains(called[0], "amp") {
		t.Errorf("a called %q", called)
	}
	if len(run.asked) != 2 || !run.asked[0] || run.asked[1] {
		t.Errorf("I asked for %v", run.asked)
	}
	if brand() != "prismtop" {
		t.Error("the header still says that it watches")
	}
}

// A screen that catches up with its run says so, and takes no key that changes it: what it shows of the past is not there yet.
func TestAScreenThatCatchesUpChangesNothing(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
	m := shared(120, 40, run)
	behind := *tuitest.Running()
	behind.CatchingUp = true
	m.Update(snapshotMsg{&behind})
	for _, key := range []string{"a", "space", "n", "s", "d", "R", "A", "E", "u", "b", "U", "m", "*", "$"} {
		press(m, key)
		if m.crash != nil {
			t.Fatal(m.crash)
		}
	}
	if called := run.Called(); len(called) != 0 {
		t.Errorf("the keys called %q", called)
	}
	press(m, "m")
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "catching up") || !strings.Contains(text, "m (measurement cache): not yet: the screen is catching up with the run") {
		t.Errorf("the screen says neither that it catches up nor why a key does nothing:\n%s", text)
	}
	rate := unit.Rate(tuitest.Running().Rate)
	if text := ansi.Strip(headerLine(m)); strings.Contains(text, rate) || !strings.Contains(text, unit.Rate(math.NaN())) {
		t.Errorf("the header shows a rate: %s", text)
	}
	m.Update(snapshotMsg{tuitest.Running()})
	press(m, "a")
	if called := run.Called(); len(called) != 1 || !strings.Contains(called[0], "amp") || strings.Contains(ansi.Strip(headerLine(m)), "catching up") {
		t.Errorf("caught up, a called %q under %q", called, headerLine(m))
	}
}

// While a screen catches up, the panes of what is measured over the past say so in every view, and nothing else.
func TestPanesOfThePastWaitForIt(t *testing.T) {
	behind := *tuitest.Running()
	behind.CatchingUp = true
	for _, id := range []layout.Pane{idCaches, idEffects} {
		for _, size := range [][2]int{{34, 5}, {60, 9}, {160, 45}} {
			p := paneOf(t, id, size[0], size[1], &behind)
			for range 2 {
				inside := strings.Join(tuitest.Lines(p)[1:size[1]-1], "")
				if words := strings.Fields(strings.ReplaceAll(ansi.Strip(inside), "│", " ")); !slices.Equal(words, []string{"catching", "up"}) {
					t.Errorf("pane %d of %v: %q", id, size, words)
				}
				p.Press("v")
			}
			if p.Update(tuitest.Running()); strings.Contains(strings.Join(tuitest.Lines(p), ""), "catching") {
				t.Errorf("pane %d of %v still catches up", id, size)
			}
		}
	}
}

// The keys of an attached screen that ends otherwise leave the run going, too.
func TestCtrlCLeavesARunInAnotherProcess(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
	m := shared(120, 40, run)
	m.leave.Always = true
	press(m, "ctrl+c")
	if called := run.Called(); len(called) != 0 {
		t.Errorf("ctrl+c called %q", called)
	}
	if err := m.Failure(); err != control.ErrInterrupted {
		t.Errorf("ctrl+c ends with %v", err)
	}
	if text := m.LastWords(); !strings.Contains(text, "the run goes on") {
		t.Errorf("it prints %q", text)
	}
}

// The key that asks whether to quit does not answer where the run goes on without the screen: pressed twice, it would end it.
func TestQTwiceDoesNotEndARunInAnotherProcess(t *testing.T) {
	for _, always := range []bool{true, false} {
		run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
		m := shared(120, 40, run)
		m.leave.Always = always
		press(m, "q")
		if text := ansi.Strip(frameOf(m)); strings.Contains(text, "q y quit") == always {
			t.Errorf("always %v: the question is\n%s", always, text)
		}
		press(m, "q")
		if called := run.Called(); slices.Contains(called, "Stop") == always {
			t.Errorf("always %v: q q called %q", always, called)
		}
		if !always {
			continue
		}
		press(m, "q", "y")
		if called := run.Called(); !slices.Contains(called, "Stop") {
			t.Errorf("q y called %q", called)
		}
	}
}

// A note is written in a line by a screen that operates the run, and by one that only watches; a
// pasted one too. What is no note is said, and nothing is lost by that.
func TestWritingANote(t *testing.T) {
	for _, operates := range []bool{true, false} {
		run := &operator{Recorder: tuitest.NewRecorder(), operates: operates}
		m := shared(120, 40, run)
		press(m, "#")
		m.Update(tea.PasteMsg{Content: "loss is fl\nat"})
		press(m, "!", "left", "a")
		if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "Note at iteration") || !strings.Contains(text, "loss is flata!") {
			t.Errorf("the line is not shown:\n%s", text)
		}
		noted(m)
		press(m, "#", "x", "esc", "#", "enter")
		if len(run.noted) != 1 || run.noted[0] != "loss is flata!" || len(run.Called()) != 0 {
			t.Errorf("operates %v: noted %q, called %q", operates, run.noted, run.Called())
		}
	}
	run := &operator{Recorder: tuitest.NewRecorder(), operates: true, refused: errors.New("too many notes")}
	m := shared(120, 40, run)
	press(m, "#")
	m.Update(tea.PasteMsg{Content: strings.Repeat("x", profiles.LongestNote+1)})
	noted(m)
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "at most 200 characters") || !lies[noting](m) || len(run.noted) != 0 {
		t.Errorf("a note that is too long: %q\n%s", run.noted, text)
	}
	press(m, "backspace")
	noted(m)
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "no note: too many notes") || len(run.noted) != 1 {
		t.Errorf("a note that is refused: %q\n%s", run.noted, text)
	}
}

// noted presses enter and delivers the answer.
func noted(m *Model) {
	if _, cmd := m.Update(tea.KeyPressMsg{Code: tea.KeyEnter}); cmd != nil {
		m.Update(cmd())
	}
}

// A screen whose role is a viewer's has neither the keys that ask for the operation nor those of notes.
func TestAViewersKeys(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder(), viewer: true}
	m := shared(120, 40, run)
	press(m, "a")
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "a (mixed precision: on, off): your role, viewer, may only watch") || strings.Contains(text, "I asks") {
		t.Errorf("a key that would change the run:\n%s", text)
	}
	for _, key := range []string{"I", "#"} {
		if press(m, key); !strings.Contains(footerOf(m), "your role, viewer, may only watch") {
			t.Errorf("%s: %s", key, footerOf(m))
		}
	}
	press(m, "x", "enter")
	if lies[noting](m) || len(run.asked) != 0 || len(run.noted) != 0 || len(run.Called()) != 0 {
		t.Errorf("asked for %v, noted %q, called %q", run.asked, run.noted, run.Called())
	}
}

// The operator is told once who asks, and hands over.
func TestAScreenThatAsksToOperate(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
	m := shared(120, 40, run)
	run.asks = "pts/2"
	m.Update(snapshotMsg{tuitest.Running()})
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "pts/2 wants control; I hands it over") {
		t.Errorf("the request is not shown:\n%s", text)
	}
	m.say("something else")
	m.Update(snapshotMsg{tuitest.Running()})
	if text := ansi.Strip(frameOf(m)); strings.Contains(text, "wants control") {
		t.Errorf("the request is shown again:\n%s", text)
	}
	press(m, "I")
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "handed control to pts/2") || len(run.asked) != 1 || run.asked[0] {
		t.Errorf("I asked for %v:\n%s", run.asked, text)
	}
}

// What is said of a request to operate the run goes once it is decided.
func TestADecidedRequestToOperate(t *testing.T) {
	taken := func(run *operator) { run.operates, run.holder, run.asks = false, "pts/2", "" }
	for name, c := range map[string]struct {
		asks   string
		decide func(*operator)
		want   string
	}{
		"taken over":  {"pts/2", taken, "pts/2 has control"},
		"taken back":  {"pts/2", func(run *operator) { run.asks = "" }, ""},
		"handed over": {"", func(run *operator) { run.operates = true }, "you have control"},
	} {
		run := &operator{Recorder: tuitest.NewRecorder(), operates: c.asks != "", asks: c.asks}
		m := shared(120, 40, run)
		if c.asks == "" {
			press(m, "I")
		}
		if !strings.Contains(m.status.text, "control") {
			t.Fatalf("%s: before, the footer says %q", name, m.status.text)
		}
		c.decide(run)
		m.Update(snapshotMsg{tuitest.Running()})
		if m.status.text != c.want {
			t.Errorf("%s: the footer says %q, want %q", name, m.status.text, c.want)
		}
	}
}

// The part of an answer that says what to do is shown on the narrowest screens, too.
func TestAnswersFitNarrowScreens(t *testing.T) {
	for _, w := range []int{60, 80} {
		m := shared(w, 24, &operator{Recorder: tuitest.NewRecorder()})
		for _, key := range []string{"m", "a", "9"} {
			if press(m, key); !strings.Contains(footerOf(m), "this screen only watches; I asks for control") {
				t.Errorf("%d columns: %s: %s", w, key, footerOf(m))
			}
		}
		m, _ = screen(t, w, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
		press(m, "+", "+", "+", "+")
		if got := footerOf(m); !strings.Contains(got, "threads stays 4") || !strings.Contains(got, "key , sets more") {
			t.Errorf("%d columns: +: %s", w, got)
		}
		press(m, "M")
		if got := footerOf(m); !strings.Contains(got, "mouse on") || !strings.Contains(got, "shift selects text") {
			t.Errorf("%d columns: M: %s", w, got)
		}
	}
}
