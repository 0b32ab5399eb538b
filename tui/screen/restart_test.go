package screen

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

func seen(m *Model) string { return ansi.Strip(m.View().Content) }

// A restart states what is lost and what the next run has, at every size.
func TestARestartSaysWhatIsLost(t *testing.T) {
	for _, size := range [][2]int{{layout.MinWidth, layout.MinHeight}, {80, 24}, {120, 40}, {200, 60}} {
		s := whole(t)
		next := tuitest.Having(s.Settings, "radius", "24", "samples", "50")
		s.Next = &next
		m, r := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		press(m, "R")
		checkFrame(t, m, size[0], size[1])
		for _, want := range []string{"Restart? This run loses:", "4120 iterations, their weights and the picture", "3 effects",
			"The next run has radius 24, samples 50.", "y restart", "s save the picture first", "any other key"} {
			if frame := seen(m); !strings.Contains(frame, want) {
				t.Errorf("%v: the question lacks %q:\n%s", size, want, frame)
			}
		}
		press(m, "esc")
		if frame := seen(m); strings.Contains(frame, "Restart?") || !strings.Contains(lastLine(m), "not restarted") {
			t.Errorf("%v: esc leaves\n%s", size, frame)
		}
		press(m, "R", "R", "y")
		if got := r.Called(); !slices.Equal(got, []string{"Restart"}) || !strings.Contains(lastLine(m), "restarting") {
			t.Errorf("%v: called %q and says %q", size, got, lastLine(m))
		}
	}
}

// What a checkpoint has, a restart does not lose, nor does the end of the run.
func TestTheQuestionsKnowWhatACheckpointHas(t *testing.T) {
	at := func(kept int64, run string) *profiles.Snapshot {
		s := tuitest.Paused()
		if s.Run.Checkpoint = run; kept > 0 {
			s.Kept = profiles.Kept{Path: "moon.checkpoint.npz", Iterations: kept}
		}
		return s
	}
	n := tuitest.Paused().Index
	for _, tt := range []struct {
		s             *profiles.Snapshot
		restart, quit string
	}{
		{at(0, ""), "iterations, their weights and the picture", "Its weights go unless d writes them to a checkpoint."},
		{at(n-20, ""), "20 iterations since its checkpoint, and the picture",
			fmt.Sprintf("Its weights since iteration %d go unless d writes them.", n-20)},
		{at(n, ""), "the picture on the screen", ""},
		{at(0, "run.npz"), "the picture on the screen", ""},
	} {
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tt.s)
		press(m, "R")
		frame := seen(m)
		if !strings.Contains(frame, tt.restart) || strings.Contains(frame, "moon.checkpoint.npz has its first") != (tt.s.Kept.Path != "") {
			t.Errorf("%+v: R asks\n%s", tt.s.Kept, frame)
		}
		press(m, "esc", "q")
		if frame := seen(m); !strings.Contains(frame, "Quit?") || tt.quit == "" && strings.Contains(frame, "weights go") || !strings.Contains(frame, tt.quit) {
			t.Errorf("%+v: q asks\n%s", tt.s.Kept, frame)
		}
	}
}

// The question closes once there is nothing left to lose.
func TestTheQuestionBeforeARestartGoesWithTheRestart(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "R")
	m.Update(snapshotMsg{tuitest.Preparing()})
	if lies[*restarting](m) {
		t.Error("the question outlives what would be lost")
	}
	m.Update(snapshotMsg{tuitest.Running()})
	press(m, "R")
	clickOn(m, 5, 5)
	if !lies[*restarting](m) {
		t.Error("a click answers the question")
	}
}

// If no run is left, nothing is restarted, and the answer says so without a question.
func TestARestartOfARunThatIsGoneSaysSo(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Failed())
	r.Gone = errors.New("the run is over for good")
	press(m, "R")
	if got := lastLine(m); lies[*restarting](m) || len(r.Called()) != 0 || !strings.Contains(got, "not restarted: the run is over for good") {
		t.Errorf("asks: %v, called %q, says %q", lies[*restarting](m), r.Called(), got)
	}
	r.Gone, r.Refuse = nil, errors.New("it went meanwhile")
	press(m, "R", "R", "y")
	if got := lastLine(m); !strings.Contains(got, "not restarted: it went meanwhile") {
		t.Errorf("the footer says %q", got)
	}
}

// A later refusal by the run is shown as the answer to the key.
func TestARefusalThatComesLaterIsTold(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "R", "R", "y")
	s := tuitest.Running()
	s.Log = append(s.Log, profiles.LogLine{Text: "not restarted: picture x.png: no such file", Refused: true}, profiles.LogLine{Text: "ablation began"})
	m.Update(snapshotMsg{s})
	if got := lastLine(m); !strings.Contains(got, "not restarted: picture x.png: no such file") || !m.status.bad {
		t.Errorf("the footer says %q", got)
	}
}

// Settings that need a restart can be changed in the pane, are shown as pending, can be undone,
// and do not affect the run.
func TestSettingsOfTheStartWaitInThePane(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		s := whole(t)
		m, r := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		press(m, ",")
		settingsIn(m).Select("radius")
		press(m, "enter", "ctrl+u", "2", "4", "enter")
		if got := lastLine(m); !strings.Contains(got, "radius: 20 → 24, for the next run: R starts it") {
			t.Errorf("%v: the footer says %q", size, got)
		}
		next := tuitest.Having(s.Settings, "radius", "24")
		told := *s
		told.Next = &next
		m.Update(snapshotMsg{&told})
		if len(m.wishes) != 0 {
			t.Errorf("%v: still wished %v", size, m.wishes)
		}
		if frame := seen(m); !strings.Contains(frame, "→ 24") || !strings.Contains(frame, "next run: radius 24 (R) · must be a number above 0") {
			t.Errorf("%v: what waits is not shown:\n%s", size, frame)
		}
		checkFrame(t, m, size[0], size[1])
		press(m, "u")
		if got := lastLine(m); !strings.Contains(got, "undone: radius 24 → 20, as this run has it") {
			t.Errorf("%v: the footer says %q", size, got)
		}
		press(m, "enter", "ctrl+u", "-", "1", "enter")
		if frame := seen(m); !strings.Contains(frame, "radius = -1: must be a number above 0, at most 4096") {
			t.Errorf("%v: a wrong radius gives\n%s", size, frame)
		}
		if got, want := r.Called(), []string{"Set radius 24", "Set radius 20"}; !slices.Equal(got, want) {
			t.Errorf("%v: called %q, want %q", size, got, want)
		}
	}
}

// Live keys start from the run's value, independently of what waits for the next.
func TestLiveKeysGoOnBesideWhatWaits(t *testing.T) {
	s := whole(t)
	next := tuitest.Having(s.Settings, "radius", "24", "measurement_cache", "false") // possible in an intermediate snapshot
	s.Next = &next
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "m")
	if got := r.Called(); !slices.Equal(got, []string{"Set measurement_cache false"}) || strings.Contains(lastLine(m), "next run") {
		t.Errorf("called %q and says %q", got, lastLine(m))
	}
}

// A picture is read before it is requested: an unreadable one is marked invalid where it was
// typed, and one that was pasted and read waits for the next run.
func TestAPictureIsReadWhenItIsWritten(t *testing.T) {
	m, r := screen(t, 80, 24, Options{}, colorprofile.ANSI256, whole(t))
	press(m, ",")
	p := settingsIn(m)
	p.Select("image")
	press(m, "space")
	if got := lastLine(m); !strings.Contains(got, "image has no steps: enter writes a value") {
		t.Errorf("the footer says %q", got)
	}
	press(m, "enter", "ctrl+u")
	m.Update(tea.PasteMsg{Content: "/data/none\n.png\x1b"})
	r.Wrong = errors.New("picture /data/none.png: no such file or directory")
	press(m, "enter")
	if frame := seen(m); !strings.Contains(frame, "picture /data/none.png: no such file or directory") || !p.Editing() || p.Written() != "/data/none.png" {
		t.Errorf("a picture that is not there:\n%s", frame)
	}
	r.Wrong = nil
	press(m, "ctrl+u")
	path := "/" + strings.Repeat("long/", 30) + "europa.png"
	m.Update(tea.PasteMsg{Content: path})
	if frame := seen(m); !strings.Contains(frame, "europa.png_") {
		t.Errorf("the end of what is written is not in view:\n%s", frame)
	}
	checkFrame(t, m, 80, 24)
	_, cmd := m.Update(pressed("enter"))
	if !p.Editing() || !strings.Contains(lastLine(m), "reading /long") {
		t.Errorf("while the picture is read the footer says %q", lastLine(m))
	}
	m.Update(cmd())
	if p.Editing() || m.asked("image") != path {
		t.Errorf("after the picture was read: writing %v, asked for %q", p.Editing(), m.asked("image"))
	}
	press(m, "enter", "x", "enter")
	_, cmd = m.Update(pressed("enter"))
	press(m, "esc")
	if cmd != nil {
		m.Update(cmd())
	}
	want := []string{"Check image /data/none.png", "Check image " + path, "Set image " + path, "Check image " + path + "x"}
	if got := r.Called(); !slices.Equal(got[:3], want[:3]) || slices.Contains(got[3:], "Set image "+path) {
		t.Errorf("called %q, want %q", got, want)
	}
}

// Setting an object that is overridden by an image says so.
func TestAnObjectBesideAnImageSaysWhichWins(t *testing.T) {
	s := whole(t)
	tuitest.Set(s, "image", "europa.png")
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, ",")
	settingsIn(m).Select("object")
	press(m, "enter", "3")
	if got := lastLine(m); !strings.Contains(got, "object: moon → star, but the image wins while there is one, for the next run") {
		t.Errorf("the footer says %q", got)
	}
}

// A run of which only limits were changed does not say that nothing was.
func TestAChangedLimitIsAChange(t *testing.T) {
	s := tuitest.Finished()
	s.Effects = nil
	s.Changes = []profiles.Change{{Key: "max_iterations", Before: "400", After: "700", Iteration: 400, Limit: true}}
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if frame := seen(m); strings.Contains(frame, "No setting was changed") || !strings.Contains(frame, "only limits") {
		t.Error(frame)
	}
}
