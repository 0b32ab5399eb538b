package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/control"
	"prismtop/tui/tuitest"
)

// operator is a run with several screens.
type operator struct {
	*tuitest.Recorder
	operates bool
	asked    []bool
}

func (o *operator) Operates() bool   { return o.operates }
func (o *operator) MayOperate() bool { return true }
func (o *operator) Operate(on bool)  { o.asked = append(o.asked, on) }

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
	brand := func() string { return strings.Fields(ansi.Strip(m.header()[0]))[0] }
	if text := ansi.Strip(frameOf(m)); brand() != "watching" || !strings.Contains(text, "since you left: 2 changes") {
		t.Errorf("the screen shows neither that it watches nor what it missed:\n%s", text)
	}
	for _, key := range []string{"a", "m", "space", "n", "s", "d", "R", "A", "E", "u", "b", "U"} {
		press(m, key)
		if m.crash != nil {
			t.Fatal(m.crash)
		}
	}
	if text := ansi.Strip(frameOf(m)); !strings.Contains(text, "only watches: I takes the operation over") {
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

// The keys of an attached screen that ends otherwise leave the run going, too.
func TestCtrlCLeavesARunInAnotherProcess(t *testing.T) {
	run := &operator{Recorder: tuitest.NewRecorder(), operates: true}
	m := shared(120, 40, run)
	m.options.Leave.Always = true
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
