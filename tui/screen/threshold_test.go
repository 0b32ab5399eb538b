package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
	"prismtop/tui/words"
)

// bound returns a run whose threshold is bound to its loss.
func bound(t *testing.T) *profiles.Snapshot {
	s := whole(t)
	s.Settings = s.Settings.Settled()
	return s
}

func find(m *Model, key string) { settingsIn(m).Select(key) }

// The answer to the key that suspends the threshold says so, as do the Loss pane and the settings
// pane until the loss is restored.
func TestASuspendedThresholdIsSaidEverywhere(t *testing.T) {
	s := bound(t)
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if frame := seen(m); !strings.Contains(frame, "stop 0.005") || strings.Contains(frame, "suspended") {
		t.Fatalf("a threshold in force:\n%s", frame)
	}
	press(m, "k")
	if got, want := m.status.text, "loss: l1 → l2; threshold 0.005 was for l1: suspended until T sets one for l2"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	s = obeyed(m, s)
	if frame := seen(m); !strings.Contains(frame, "threshold 0.005 suspended: for normalised l1") || strings.Contains(frame, "╌ stop") {
		t.Errorf("the Loss pane of a suspended threshold:\n%s", frame)
	}
	press(m, ",")
	find(m, "threshold")
	m.Update(snapshotMsg{s})
	for _, want := range []string{"0.005      suspended", "suspended: was for l1; l2 is old 4.2e-03, new 1.4e-02 now · enter sets one for it"} {
		if frame := seen(m); !strings.Contains(frame, want) {
			t.Errorf("the settings lack %q:\n%s", want, frame)
		}
	}
	press(m, ",", "T")
	if frame := seen(m); !strings.Contains(frame, "suspended: was for l1; l2 is old 4.2e-03, new 1.4e-02 now") {
		t.Errorf("the field of the threshold:\n%s", frame)
	}
	press(m, "esc", "u")
	if got := m.status.text; got != "undone: loss l2 → l1; threshold 0.005 is in force again" {
		t.Errorf("undo says %q", got)
	}
	obeyed(m, s)
	if frame := seen(m); !strings.Contains(frame, "╌ stop 0.005") {
		t.Errorf("the threshold is not back:\n%s", frame)
	}
	press(m, "N")
	if got, want := m.status.text, "normalised loss: on → off; threshold 0.005 was for normalised l1: suspended until T sets one for l1"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if got := r.Called(); !slices.Equal(got, []string{"Set loss l2", "Set loss l1", "Set normalize_loss false"}) {
		t.Errorf("called %q", got)
	}
}

// T and t with a suspended threshold ask for a number for the loss in use, and undo restores that
// of the other loss.
func TestASuspendedThresholdIsWrittenAnew(t *testing.T) {
	for _, key := range []string{"T", "t"} {
		s := bound(t)
		m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
		press(m, "k")
		s = obeyed(m, s)
		press(m, key)
		if !lies[*typing](m) || over[*typing](m).input.Value() != "" {
			t.Fatalf("%s begins with %+v", key, over[*typing](m))
		}
		press(m, "1", "e", "-", "4", "enter")
		if got := m.status.text; got != "threshold: 0.005 for normalised l1 → 1e-4" {
			t.Errorf("%s says %q", key, got)
		}
		s = obeyed(m, s)
		if _, _, suspended := s.Settings.Suspended("threshold"); suspended || len(m.wishes) != 0 {
			t.Errorf("suspended %v, wishes %v", suspended, m.wishes)
		}
		press(m, "u")
		s = obeyed(m, s)
		press(m, "u")
		s = obeyed(m, s)
		if s.Settings.InForce("threshold") != 0.005 || s.Settings.Text("loss") != "l1" {
			t.Errorf("after undoing both: %+v", s.Settings)
		}
		want := []string{"Set loss l2", "Set threshold 0.0001", "Set threshold 0.005 for normalised l1", "Set loss l1"}
		if got := r.Called(); !slices.Equal(got, want) {
			t.Errorf("called %q, want %q", got, want)
		}
	}
}

// A threshold of 0 has no double and no half: T and t ask for a number.
func TestAThresholdOfNeverIsWritten(t *testing.T) {
	s := bound(t)
	tuitest.Set(s, "threshold", "0")
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "k", "T", "ctrl+u", ".", "1", "enter")
	if got := r.Called(); !slices.Equal(got, []string{"Set loss l2", "Set threshold 0.1"}) || strings.Contains(m.status.text, "suspended") {
		t.Errorf("called %q, says %q", got, m.status.text)
	}
}

// Keys pressed before the run responds start from the requested values.
func TestThresholdsOfLossesThatAreAskedFor(t *testing.T) {
	s := bound(t)
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "k", "T") // suspended before the run reports it
	if !lies[*typing](m) {
		t.Fatalf("T called %q", r.Called())
	}
	press(m, "3", "enter", "k") // for l2, and then ssim
	if got := m.asked("threshold"); got != "3 for normalised l2" {
		t.Errorf("asked for %q", got)
	}
	press(m, "K", "T")
	if got := r.Called(); got[len(got)-1] != "Set threshold 6" {
		t.Errorf("called %q", got)
	}
	obeyed(m, s)
	if len(m.wishes) != 0 {
		t.Errorf("the run obeyed, and still wanted are %v", m.wishes)
	}
}

// A bookmark restores its loss together with its threshold, suspended or not, and switches back.
func TestBookmarksKeepWhoseTheThresholdIs(t *testing.T) {
	s := bound(t)
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "b", "1", "k")
	s = obeyed(m, s)
	press(m, "b", "2", "T", "2", "enter", ",")
	s = obeyed(m, s)
	for _, step := range []struct {
		key, loss string
		inForce   float64
	}{{"1", "l1", 0.005}, {"2", "l2", 0}, {"1", "l1", 0.005}, {"1", "l2", 0}, {"2", "l1", 0.005}} {
		press(m, step.key)
		s = obeyed(m, s)
		if s.Settings.Text("loss") != step.loss || s.Settings.InForce("threshold") != step.inForce {
			t.Errorf("%s: %s with %g in force (%s), want %s with %g", step.key, s.Settings.Text("loss"), s.Settings.InForce("threshold"),
				s.Settings.Get("threshold"), step.loss, step.inForce)
		}
	}
}

// During the initialisation another loss changes nothing, so the threshold remains.
func TestTheInitialisationKeepsItsThreshold(t *testing.T) {
	s := bound(t)
	s.Kind = prism.KindInitialisation
	tuitest.Set(s, "loss", "l2")
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "╌ stop 0.005") {
		t.Errorf("the Loss pane of the initialisation:\n%s", frame)
	}
}

func TestNamesOfLossesAreAsShortAsKeepsThemApart(t *testing.T) {
	for _, tt := range [][4]string{
		{"normalised l1", "normalised l2", "l1", "l2"},
		{"normalised l1", "l1", "normalised l1", "l1"},
		{"normalised l1", "composite 0.7/0/0.3", "l1", "composite"},
		{"composite 0.8/0/0.2", "composite 0.7/0/0.3", "composite 0.8/0/0.2", "composite 0.7/0/0.3"},
	} {
		if a, b := words.LossNames(tt[0], tt[1]); a != tt[2] || b != tt[3] {
			t.Errorf("%s, %s: %q, %q", tt[0], tt[1], a, b)
		}
	}
}
