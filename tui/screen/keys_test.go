package screen

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/sim/curve"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/prism"
	"prismtop/sim/ptycho/inference"
	"prismtop/sim/ptycho/training"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// press presses keys and runs the commands that they return.
func press(m *Model, keys ...string) (quits bool) {
	for _, k := range keys {
		_, cmd := m.Update(pressed(k))
		if cmd == nil {
			continue
		}
		switch msg := cmd().(type) {
		case tea.QuitMsg:
			quits = true
		default:
			m.Update(msg)
		}
	}
	return quits
}

func TestKeysAskTheRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		snap  *profiles.Snapshot
		keys  []string
		calls []string
	}{
		{"measurement cache", tuitest.Running(), []string{"m"}, []string{"Set measurement_cache false"}},
		{"FFT cache", tuitest.Running(), []string{"f"}, []string{"Set fft_cache false"}},
		{"mask cache", tuitest.Running(), []string{"g"}, []string{"Set mask_cache true"}},
		{"checkpointing", tuitest.Running(), []string{"c"}, []string{"Set checkpointing true"}},
		{"fused optimizer", tuitest.Running(), []string{"o"}, []string{"Set fused_optimizer true"}},
		{"AMP goes off, and on again", tuitest.Running(), []string{"a", "a"}, []string{"Set amp off", "Set amp bf16"}},
		{"AMP goes on, and off again", tuitest.Trainer(), []string{"a", "a"}, []string{"Set amp bf16", "Set amp off"}},
		{"AMP is any mode in two presses, which a then knows", tuitest.Trainer(), []string{".", "4", "a", "a"},
			[]string{"Set amp fp16", "Set amp off", "Set amp fp16"}},
		{"pattern", tuitest.Running(), []string{"p", "p"}, []string{"Set pattern trainer", "Set pattern remeasure"}},
		{"learning rate down twice", tuitest.Running(), []string{"l", "l"}, []string{"Set learning_rate 0.0005", "Set learning_rate 0.00025"}},
		{"learning rate up", tuitest.Running(), []string{"L"}, []string{"Set learning_rate 0.002"}},
		{"a switch there and back", tuitest.Running(), []string{"m", "m"}, []string{"Set measurement_cache false", "Set measurement_cache true"}},
		{"threads up", tuitest.Running(), []string{"+", "="}, []string{"Set threads 3", "Set threads 4"}},
		{"threads up to two for each processor", tuitest.Running(), []string{"+", "+", "+", "+"}, []string{"Set threads 3", "Set threads 4"}},
		{"threads down to one", tuitest.Running(), []string{"-", "-"}, []string{"Set threads 1"}},
		{"pause and go on", tuitest.Running(), []string{"space", "space"}, []string{"Pause", "Resume"}},
		{"go on", tuitest.Paused(), []string{"space"}, []string{"Resume"}},
		{"step", tuitest.Paused(), []string{"n", "n"}, []string{"Step", "Step"}},
		{"step after pausing", tuitest.Running(), []string{"space", "n"}, []string{"Pause", "Step"}},
		{"no step of a running run", tuitest.Running(), []string{"n"}, nil},
		{"no pause of a finished run", tuitest.Finished(), []string{"space"}, nil},
		{"save", tuitest.Running(), []string{"s"}, []string{"Save"}},
		{"checkpoint", tuitest.Running(), []string{"d"}, []string{"Checkpoint"}},
		{"clear the caches", tuitest.Running(), []string{"$"}, []string{"Clear"}},
		{"restart asks", tuitest.Running(), []string{"R"}, nil},
		{"restart pressed twice asks still", tuitest.Running(), []string{"R", "R"}, nil},
		{"restart, yes", tuitest.Paused(), []string{"R", "y"}, []string{"Restart"}},
		{"restart, any other key", tuitest.Running(), []string{"R", "m", "m"}, []string{"Set measurement_cache false"}},
		{"restart, save first", tuitest.Finished(), []string{"R", "s", "y"}, []string{"Save", "Restart"}},
		{"restart of what has not begun", tuitest.Preparing(), []string{"R"}, []string{"Restart"}},
		{"interrupt the question before a restart", tuitest.Running(), []string{"R", "ctrl+c"}, []string{"Stop"}},
		{"quit asks", tuitest.Running(), []string{"q"}, nil},
		{"quit, no", tuitest.Running(), []string{"q", "n"}, nil},
		{"quit, esc, then a key", tuitest.Running(), []string{"q", "esc", "m"}, []string{"Set measurement_cache false"}},
		{"any other key stays, and does nothing else", tuitest.Running(), []string{"q", "m", "a"}, []string{"Set amp off"}},
		{"quit, yes", tuitest.Running(), []string{"q", "y"}, []string{"Stop"}},
		{"quit twice", tuitest.Running(), []string{"q", "q"}, []string{"Stop"}},
		{"quit a finished run", tuitest.Finished(), []string{"q"}, []string{"Stop"}},
		{"quit a failed run", tuitest.Failed(), []string{"q"}, []string{"Stop"}},
		{"interrupt", tuitest.Running(), []string{"ctrl+c"}, []string{"Stop"}},
		{"interrupt the question", tuitest.Running(), []string{"q", "ctrl+c"}, []string{"Stop"}},
		{"keys act under the help", tuitest.Running(), []string{"?", "m"}, []string{"Set measurement_cache false"}},
		{"unknown keys do nothing", tuitest.Running(), []string{"x", "1", "enter", "ctrl+z"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tt.snap)
			press(m, tt.keys...)
			if got := r.Called(); !slices.Equal(got, tt.calls) {
				t.Errorf("%v called %q, want %q", tt.keys, got, tt.calls)
			}
		})
	}
}

// On a terminal that is too small for the panes, no key changes the run unseen.
func TestKeysOnATerminalThatIsTooSmall(t *testing.T) {
	for _, size := range [][2]int{{59, 20}, {40, 5}, {1, 1}} {
		m, r := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tuitest.Running())
		for _, k := range []string{"m", "a", "space", "R", "y", "+", "s", "d", "$", "u", "A", "n", "D", "I"} {
			if press(m, k) || len(r.Called()) > 0 {
				t.Fatalf("%v: %s calls %q", size, k, r.Called())
			}
		}
		if press(m, "q") {
			t.Fatalf("%v: q quits without asking", size)
		}
		if got := m.View().Content; size[0] >= 40 && !strings.Contains(ansi.Strip(got), "Quit? y or q quits, other keys stay") {
			t.Errorf("%v: q shows\n%s", size, got)
		}
		if press(m, "m", "q") || len(r.Called()) > 0 {
			t.Fatalf("%v: after another key, q quits without asking", size)
		}
		if !press(m, "q") {
			t.Errorf("%v: q twice does not quit", size)
		}
	}
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "R")
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 5})
	if press(m, "y"); len(r.Called()) > 0 {
		t.Errorf("a question that is not shown is answered: %q", r.Called())
	}
}

// A key of a setting does not end a comparison that was asked for, but says what does; one for the next run is taken.
func TestASettingDoesNotEndAComparison(t *testing.T) {
	s := tuitest.Running()
	s.Ablation = &profiles.Ablation{Running: true, Groups: 96, Base: s.Settings}
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	m.tuning.set("seed", "7")
	if got := m.status.text; !strings.Contains(got, "next run") || strings.Contains(got, "ended") {
		t.Errorf("the seed of the next run: %q", got)
	}
	press(m, "m")
	if got := m.status.text; got != "meas. cache stays on: ablation is under way: A stops it" || !slices.Equal(r.Called(), []string{"Set seed 7"}) {
		t.Errorf("m says %q, called %q", got, r.Called())
	}
	press(m, "A")
	if got := r.Called(); got[len(got)-1] != "StopAblation" {
		t.Errorf("A called %q", got)
	}

	s.Ablation.Tuning = &profiles.Tuning{}
	m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if press(m, "m"); m.status.text != "meas. cache: on → off; auto-tuner ended" || len(r.Called()) != 1 {
		t.Errorf("under the tuner m says %q, called %q", m.status.text, r.Called())
	}

	s.Ablation = nil
	s.Effects = append(slices.Clone(s.Effects), profiles.Effect{Change: profiles.Change{Key: "amp", Before: "off", After: "bf16"}, Fork: &profiles.Fork{Running: true, Key: "amp"}})
	m, r = screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if press(m, "m"); m.status.text != "meas. cache stays on: fork of amp is under way: A stops it" || len(r.Called()) != 0 {
		t.Errorf("under a fork m says %q, called %q", m.status.text, r.Called())
	}
	if press(m, "A"); m.status.text != forkStops || !slices.Equal(r.Called(), []string{"StopAblation"}) {
		t.Errorf("under a fork A says %q, called %q", m.status.text, r.Called())
	}

	over := *s
	over.Effects = slices.Clone(s.Effects)
	over.Effects[len(over.Effects)-1].Fork = &profiles.Fork{Key: "amp", Arm: 50, Done: 8, Ended: "complete",
		Rows: []profiles.ForkRow{{Series: over.Run.Schema.SeriesNamed(over.Run.Schema.Quality), Equal: true}}}
	m.Update(snapshotMsg{&over})
	if want := "AMP: Forked 8 times over 50 iterations: PSNR the same bits"; m.status.text != want {
		t.Errorf("at the end of a fork %q, want %q", m.status.text, want)
	}
}

// A key without a meaning in an open list says so, and the list stays open.
func TestAListAnswersEveryKey(t *testing.T) {
	const key = "="
	for _, action := range []profiles.Action{"ablate", "choose", "panes"} {
		m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
		open := m.keys.Of(action)
		if press(m, open); !m.listing() {
			t.Fatalf("%s opens no list", open)
		}
		press(m, key)
		if got := m.status.text; got != key+" has no meaning in this list: esc leaves it" || m.top() == nil || len(r.Called()) != 0 {
			t.Errorf("%s %s: %q, called %q", open, key, got, r.Called())
		}
		if press(m, "down"); strings.Contains(m.status.text, "down") {
			t.Errorf("%s down: %q", open, m.status.text)
		}
	}
}

// Leaving waits for the end of a run that was stopped, but no longer than the whole takes.
func TestTheWaitForTheEndOfTheRun(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	now := time.Now()
	if got := m.lastWait(now); got != lastLimit {
		t.Errorf("%v for a run that was not stopped", got)
	}
	press(m, "q", "y")
	for after, want := range map[time.Duration]time.Duration{0: stopLimit, time.Second: lastLimit, time.Minute: lastLimit} {
		if got := m.lastWait(m.stopped.Add(after)); got != want {
			t.Errorf("%v after the key: %v, want %v", after, got, want)
		}
	}
}

func TestQuittingEndsTheProgram(t *testing.T) {
	for _, tt := range []struct {
		snap *profiles.Snapshot
		keys []string
		ends bool
	}{
		{tuitest.Running(), []string{"q"}, false}, {tuitest.Running(), []string{"q", "n"}, false}, {tuitest.Running(), []string{"q", "y"}, true},
		{tuitest.Running(), []string{"q", "enter"}, false}, {tuitest.Paused(), []string{"q"}, false}, {tuitest.Finished(), []string{"q"}, true},
		{tuitest.Running(), []string{"ctrl+c"}, true}, {nil, []string{"q"}, true},
	} {
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256)
		if tt.snap != nil {
			m.Update(snapshotMsg{tt.snap})
		}
		if got := press(m, tt.keys...); got != tt.ends {
			t.Errorf("%v: program ends: %v, want %v", tt.keys, got, tt.ends)
		}
	}
}

func lastLine(m *Model) string {
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	return lines[len(lines)-1]
}

func TestARefusalIsShownWithItsReason(t *testing.T) {
	at := time.Unix(1000, 0)
	m, r := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
	r.Refuse = errors.New("this CPU has no fp16")
	press(m, "a")
	if got := lastLine(m); !strings.Contains(got, "AMP stays bf16: this CPU has no fp16") {
		t.Errorf("the footer says %q", got)
	}
	if v, pending := m.value("amp"); v != "bf16" || pending {
		t.Errorf("AMP counts as %s (pending %v) after the refusal", v, pending)
	}
	at = at.Add(statusLife + time.Second)
	m.Update(secondMsg(at))
	if got := lastLine(m); !strings.Contains(got, "space pause") {
		t.Errorf("after some seconds the footer says %q", got)
	}
	press(m, "s")
	if got := lastLine(m); !strings.Contains(got, "not saved: this CPU has no fp16") {
		t.Errorf("after a failed save the footer says %q", got)
	}
}

// Settings changed after a run's end apply to the next, which R starts.
func TestSettingsOfARunThatEndedCountForTheNext(t *testing.T) {
	stopped := tuitest.Running()
	stopped.State = profiles.Stopped
	for _, snap := range []*profiles.Snapshot{tuitest.Finished(), stopped, tuitest.Failed()} {
		for _, b := range bindingsOf(prism.Table, everyKind(), nil).Rows(keys.Settings) {
			m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, snap)
			press(m, b.Keys[0])
			if got := r.Called(); len(got) != 1 || !strings.HasPrefix(got[0], "Set ") {
				t.Errorf("%v: %s called %q", snap.State, b.Keys[0], got)
			}
			if got := lastLine(m); !strings.Contains(got, "for the next run: R starts it") {
				t.Errorf("%v: after %s the footer says %q", snap.State, b.Keys[0], got)
			}
		}
	}
	at := time.Unix(1000, 0)
	m, r := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
	press(m, "a")
	s := tuitest.Finished()
	tuitest.Set(s, "amp", "bf16")
	m.Update(snapshotMsg{s}) // before the change
	told := *s
	next := tuitest.Having(s.Settings, "amp", "off", "max_seconds", "1")
	told.Next = &next
	m.Update(snapshotMsg{&told})
	if v, pending := m.value("amp"); v != "off" || !pending || len(m.wishes) != 0 {
		t.Errorf("AMP is %s, pending %v, of the next run; still asked for %v", v, pending, m.wishes)
	}
	at = at.Add(statusLife + time.Second)
	m.Update(secondMsg(at))
	if got := lastLine(m); !strings.Contains(got, "R starts the next run with") || !strings.Contains(got, "AMP off") {
		t.Errorf("the footer says %q", got)
	}
	press(m, "X", "ctrl+u", "0", "enter", "u")
	if got := r.Called(); !slices.Equal(got[len(got)-2:], []string{"Set max_seconds 0", "Set max_seconds 1"}) {
		t.Errorf("a limit, taken back and undone, called %q", got)
	}
}

func TestTheQuestionFitsWhatTheRunDoes(t *testing.T) {
	for _, tt := range []struct {
		snap *profiles.Snapshot
		asks string
	}{
		{tuitest.Running(), "Quit? The run stops after this iteration."}, {tuitest.Paused(), "Quit? The run ends here."}, {tuitest.Preparing(), "Quit? The run ends here."},
	} {
		m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tt.snap)
		press(m, "q")
		if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, tt.asks) {
			t.Errorf("%v: the screen does not ask %q:\n%s", tt.snap.State, tt.asks, frame)
		}
	}
}

// Where the run writes no checkpoint at its end, the question says that its weights go, and the key that saves them works.
func TestTheQuestionSaysWhatIsLost(t *testing.T) {
	kept, resumed := tuitest.Running(), tuitest.Running()
	kept.Run.Checkpoint, resumed.Run.Resumed = "run.npz", resumed.Index
	for name, tt := range map[string]struct {
		snap  *profiles.Snapshot
		loses bool
	}{"none": {tuitest.Running(), true}, "written at the end": {kept, false}, "no iterations yet": {tuitest.Preparing(), false}, "just resumed": {resumed, false}} {
		m, _ := screen(t, 60, 15, Options{}, colorprofile.ANSI256, tt.snap)
		press(m, "q")
		if frame := ansi.Strip(m.View().Content); strings.Contains(frame, "Its weights go unless d writes them to a checkpoint.") != tt.loses {
			t.Errorf("%s: says that weights go: %v:\n%s", name, !tt.loses, frame)
		}
		press(m, "d")
		if asked := strings.Contains(ansi.Strip(m.View().Content), "writing a checkpoint"); asked != tt.loses || lies[quitting](m) {
			t.Errorf("%s: d asked for a checkpoint: %v", name, asked)
		}
	}
}

func TestSmallThingsReadWell(t *testing.T) {
	s := tuitest.Paused()
	s.NonFinite = 1
	s.Effects = []profiles.Effect{{Change: profiles.Change{Key: "threads", Before: "0", After: "3"}}}
	at := time.Unix(1000, 0)
	m, _ := screen(t, 120, 40, Options{ASCII: true, Now: func() time.Time { return at }}, colorprofile.ANSI256, s)
	m.skipped, m.skippedAt = 1, at
	m.Update(pressed("n"))
	frame := ansi.Strip(m.View().Content)
	for _, want := range []string{"|| paused", "1 frame skipped", "1 loss was not finite", "threads 2>3"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the screen lacks %q:\n%s", want, frame)
		}
	}
}

func TestTheLogIsToldOnce(t *testing.T) {
	at := time.Unix(1000, 0)
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
	press(m, "s")
	s := tuitest.Running()
	s.Log = []profiles.LogLine{{At: time.Second, Text: "saved moon.npy"}, {At: time.Second, Text: "saved moon-000412.png"}}
	m.Update(snapshotMsg{s})
	if got := lastLine(m); !strings.Contains(got, "saved moon.npy · saved moon-000412.png") {
		t.Errorf("the footer says %q", got)
	}
	at = at.Add(statusLife + time.Second)
	m.Update(secondMsg(at))
	again := tuitest.Running()
	again.Log = s.Log
	m.Update(snapshotMsg{again})
	if got := lastLine(m); strings.Contains(got, "saved moon") {
		t.Errorf("the footer says again %q", got)
	}
}

// A requested setting is shown as requested until the run reports it; if the run never does, its
// actual value is shown again.
func TestWishesSettle(t *testing.T) {
	at := time.Unix(1000, 0)
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
	press(m, "a")
	m.Update(snapshotMsg{tuitest.Running()}) // still bf16
	if v, pending := m.value("amp"); v != "off" || !pending {
		t.Fatalf("AMP is %s, pending %v", v, pending)
	}
	s := tuitest.Running()
	tuitest.Set(s, "amp", "off")
	m.Update(snapshotMsg{s})
	if v, pending := m.value("amp"); v != "off" || pending {
		t.Fatalf("AMP is %s, pending %v, after the run reported it", v, pending)
	}
	press(m, "m")
	at = at.Add(wishLife + time.Second)
	m.Update(snapshotMsg{s})
	if v, pending := m.value("measurement_cache"); v != "true" || pending {
		t.Errorf("the cache is %s, pending %v, after the run did not follow", v, pending)
	}
}

func TestHelpListsEveryBinding(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, size := range [][2]int{{layout.MinWidth, layout.MinHeight}, {80, 24}, {120, 40}, {200, 60}} {
		m := shared(size[0], size[1], &operator{Recorder: tuitest.NewRecorder(), operates: true})
		press(m, "?")
		seen := ansi.Strip(m.View().Content)
		for range 100 { // scrolled to its end
			m.Update(tea.KeyPressMsg{Code: tea.KeyDown})
			checkFrame(t, m, size[0], size[1])
			seen += ansi.Strip(m.View().Content)
		}
		for _, b := range allKeys() {
			if b.Command == profiles.TraceCommand { // of runs of a program that has a profiler
				continue
			}
			if line := b.Name() + " " + b.Help; !strings.Contains(seen, line) {
				t.Errorf("%v: the help lacks %q", size, line)
			}
		}
		press(m, "esc")
		if strings.Contains(ansi.Strip(m.View().Content), "─ Keys ─") {
			t.Errorf("%v: esc leaves the help open", size)
		}
	}
}

// Every action of tui/keys does something on this screen.
func TestEveryActionIsDone(t *testing.T) {
	for _, table := range []*settings.Table{prism.Table, training.Table, im2im.Table, benchmark.Table} {
		b := bindingsOf(table, append(everyKind(), profiles.PlayCommand), nil)
		for _, section := range ownSections {
			if got, want := len(b.Rows(section)), len(b.all.Rows(section)); got != want {
				t.Errorf("%s: %d of %d actions of %q are done", table.Workload, got, want, section.Title())
			}
		}
	}
}

// The footer offers six keys in one row, those that matter most of the run's own, and the screen's cost.
func TestTheFooterOffersSixKeys(t *testing.T) {
	for _, tt := range []struct {
		w, h int
		snap *profiles.Snapshot
		keys []string
	}{
		{120, 40, tuitest.Running(), []string{"m measurement cache ●", "a AMP bf16", "A ablate", "space pause", "? every key", "q quit", "watching 0.8 % [0.3, 1.4]"}},
		{80, 24, tuitest.Running(), []string{"m meas. cache ●", "a AMP bf16", "A ablate", "space pause", "? help", "q quit", "ui 0.8 %"}},
		{120, 40, tuitest.Paused(), []string{"m measurement cache ●", "a AMP bf16", "A ablate", "space go on", "? every key", "q quit", "watching 0.8 % [0.3, 1.4]"}},
		{120, 40, tuitest.Finished(), []string{"next run:", "m measurement cache ●", "a AMP bf16", "s save", "R restart", "? every key", "q quit", "watching 0.8 % [0.3, 1.4]"}},
		{120, 40, sorting(), []string{"m order plain", "f stable order ○", "space pause", "? every key", "tab pane", "q quit", "watching 0.8 % [0.3, 1.4]"}},
	} {
		m, _ := screen(t, tt.w, tt.h, Options{}, colorprofile.ANSI256, tt.snap)
		lines := strings.Split(frameOf(m), "\n")
		if got, want := strings.Fields(lines[tt.h-1]), strings.Fields(strings.Join(tt.keys, " ")); !slices.Equal(got, want) || !strings.HasPrefix(lines[tt.h-2], "╰") {
			t.Errorf("%dx%d: the footer is\n%s\nwant the keys\n%s", tt.w, tt.h, strings.Join(lines[tt.h-2:], "\n"), strings.Join(tt.keys, "  "))
		}
	}
	m, _ := replaying(t, 120, 40, tuitest.Running())
	want := "space play, pause > on ] faster } change ? every key q quit"
	if got := strings.Join(strings.Fields(lastLine(m)), " "); !strings.HasPrefix(got, want) || !strings.Contains(footerOf(m), "00:02:30 of 00:10:00") {
		t.Errorf("a replay's footer is\n%s", footerOf(m))
	}
}

func TestDroppedRecordsAreOnScreen(t *testing.T) {
	s := tuitest.Running()
	s.Own.Dropped = 17
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if got := lastLine(m); !strings.Contains(got, "17 dropped") {
		t.Errorf("the footer says %q", got)
	}
}

func TestAPanicWhileDrawingEndsTheProgram(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.panes[idLoss] = nil // drawing the next snapshot panics
	_, cmd := m.Update(snapshotMsg{tuitest.Running()})
	if m.crash == nil || cmd == nil {
		t.Fatalf("crash %v, command %v", m.crash, cmd)
	}
	if _, ok := cmd().(tea.QuitMsg); !ok {
		t.Error("the program does not quit")
	}
	m.View()
}

// The footer shows the cost of watching with its interval, says when it is not known, and names a
// thinned screen; nothing else in the row moves.
func TestTheFooterShowsTheCostOfWatching(t *testing.T) {
	known := profiles.WatchingCost{Measured: true, Known: true, Value: 0.008, Low: 0.003, High: 0.014, Budget: 0.01}
	thin, slow := known, profiles.WatchingCost{Measured: true, Reason: "iterations of 2 s are too long"}
	thin.Thinned, thin.Low = true, 0.011
	for _, tt := range []struct {
		w    int
		cost profiles.WatchingCost
		want string
	}{
		{200, profiles.WatchingCost{}, "watching: not measured"},
		{200, profiles.WatchingCost{Measured: true}, "watching: measuring"},
		{200, slow, "watching: not measured"},
		{200, known, "watching 0.8 % [0.3, 1.4]"},
		{120, known, "watching 0.8 % [0.3, 1.4]"},
		{80, profiles.WatchingCost{Measured: true}, "ui: –"},
		{200, thin, "thinned 0.8 % [1.1, 1.4]"},
		{80, known, "ui 0.8 %"},
		{80, thin, "thinned 0.8 %"},
		{220, known, "watching 0.8 % [0.3, 1.4]      – KB/s   – fps"},
	} {
		s := tuitest.Running()
		s.Own.Watching = tt.cost
		m, _ := screen(t, tt.w, 40, Options{}, colorprofile.ANSI256, s)
		if got := strings.TrimRight(lastLine(m), " "); !strings.HasSuffix(got, tt.want) {
			t.Errorf("%d columns, %+v: the footer ends in %q, want %q", tt.w, tt.cost, got, tt.want)
		}
	}
	for _, s := range []*profiles.Snapshot{tuitest.Paused(), tuitest.Finished()} {
		s.Own.Watching = profiles.WatchingCost{Measured: true}
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
		if got := strings.TrimRight(lastLine(m), " "); !strings.HasSuffix(got, "watching: –") {
			t.Errorf("%s: the footer ends in %q", s.State, got)
		}
		if notes := strings.Join(m.cost.notes(), " "); !strings.Contains(notes, "only while a run computes") {
			t.Errorf("%s: the help says %q", s.State, notes)
		}
	}
}

// The seconds of a followed run draw nothing: the next snapshot does.
func TestASecondDrawsNothingWhileSnapshotsArrive(t *testing.T) {
	at := time.Unix(1000, 0)
	m, _ := screen(t, 120, 40, Options{Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
	m.frame = chart.Canvas{}
	m.Update(secondMsg(at))
	if _, h := m.frame.Size(); h != 0 {
		t.Error("a second of a running run was drawn")
	}
	at = at.Add(time.Minute) // no snapshot arrives any more
	m.Update(secondMsg(at))
	if _, h := m.frame.Size(); h == 0 {
		t.Error("a second without snapshots was not drawn")
	}
}

// Every input of the user, and nothing else, is reported to the source.
func TestInputIsReported(t *testing.T) {
	a := &attended{Recorder: tuitest.NewRecorder()}
	m := New(a, Options{Settings: tuitest.Running().Settings})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	a.n = 0
	m.Update(snapshotMsg{tuitest.Running()})
	m.Update(secondMsg(time.Now()))
	if a.n != 0 {
		t.Errorf("%d inputs without any", a.n)
	}
	for i, msg := range []tea.Msg{pressed("?"), tea.MouseClickMsg{}, tea.MouseWheelMsg{}, tea.PasteMsg{}, tea.WindowSizeMsg{Width: 90, Height: 30}} {
		if m.Update(msg); a.n != i+1 {
			t.Errorf("%T was not reported", msg)
		}
	}
}

// attended counts the inputs that are reported to it.
type attended struct {
	*tuitest.Recorder
	n int
}

func (a *attended) Do(c profiles.Command) error {
	if c.Kind == profiles.AttendCommand {
		a.n++
	}
	return a.Recorder.Do(c)
}

// allKeys returns all rows of a run of PRISM.
func allKeys() (all []keys.Row) {
	b := bindingsOf(prism.Table, everyKind(), nil)
	for _, section := range ownSections {
		all = append(all, b.Rows(section)...)
	}
	return all
}

// The manual's page of keys is written from the table of bindings.
func TestTheManualListsTheKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Which keys are there?\n\nWritten from the table of `tui/keys` (`go test ./tui/screen -run Manual -update`). " +
		"A line in `keys.toml` of prismtop's configuration folder gives an action another key, such as `pause = \"z\"`; [own keys](#your-own-keys).\n\n")
	all, err := keys.For(prism.Table, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range all.Manual() {
		b.WriteString("## " + part.Title + "\n\n| key | action | what it does |\n|---|---|---|\n")
		for _, r := range part.Rows {
			action := "fixed"
			if !r.Fixed {
				action = "`" + keys.Path(r.Action) + "`"
			}
			b.WriteString("| `" + strings.Join(r.Keys, "` `") + "` | " + action + " | " + r.Help + " |\n")
		}
		b.WriteString("\n")
	}
	b.WriteString(keysByWorkload())
	b.WriteString(ownKeys)
	b.WriteString("`q` asks only while the run can go on; a run that is finished, stopped or failed is left at once.\n")
	tuitest.Kept(t, filepath.Join("..", "..", "docs", "keys.md"), b.String())
}

// ownKeys describes the user's file.
const ownKeys = `## Your own keys

` + "`prismtop/keys.toml`" + ` in the configuration folder (` + "`$XDG_CONFIG_HOME`, or `~/.config`" + `) has a line for each action that is to have another key:

` + "```toml" + `
pause = "z"
restart = "ctrl+r"
switch.amp = "&"
previous.change = "f2"

[outside.raise]      # settings of a loop in another process
lr = "l"
` + "```" + `

The names of actions are above, and ` + "`prismtop help keys`" + ` lists those in force. A key is a character, ` + "`ctrl+` or `alt+`" + ` with one, ` + "`space`, `tab`, `shift+tab`, `backspace`, `delete`, `insert` or `f1` to `f12`" + `.
The keys marked fixed and digits are reserved. An action that has the key by default loses it: a setting gets the next free letter, any other
action must have a second key, a line of its own, or part in a swap: ` + "`pause = \"z\"` with `zoom = \"space\"` gives `play`, which has `space` alone, `z`" + `. A file with an unknown action, a key given twice on one screen, or one that no terminal
sends is refused with its line. Footer, help, manual page and every sentence name the keys in force; an attached screen uses the file of
its own user.

`

// What the page shows as a file of one's own keys is one that is taken.
func TestTheExampleOfOwnKeysIsTaken(t *testing.T) {
	_, example, _ := strings.Cut(ownKeys, "```toml\n")
	example, _, found := strings.Cut(example, "```")
	if !found {
		t.Fatal("no example")
	}
	for _, text := range []string{example, `pause = "z"`, "pause = \"z\"\nzoom = \"space\""} {
		if _, err := keys.Parse("keys.toml", []byte(text), prism.Table, inference.Table, training.Table, im2im.Table, benchmark.Table, curve.Table); err != nil {
			t.Errorf("%v of\n%s", err, text)
		}
	}
}

// keysByWorkload returns the table of the keys of settings, a column for each workload.
func keysByWorkload() string {
	tables := []*settings.Table{prism.Table, inference.Table, training.Table, im2im.Table, benchmark.Table, curve.Table}
	var b strings.Builder
	b.WriteString("## The keys of settings in every workload\n\n`prismtop help keys --workload NAME` lists all keys of one.\n\n| key |")
	rule := "|---|"
	does := map[string][]string{}
	var all []string
	for i, table := range tables {
		b.WriteString(" " + table.Workload + " |")
		rule += "---|"
		of, _ := keys.For(table, nil)
		for _, r := range slices.Concat(of.Rows(keys.Settings), of.Rows(keys.Tuning)) {
			if r.Setting == nil {
				continue
			}
			key := r.Keys[0]
			if does[key] == nil {
				does[key], all = make([]string, len(tables)), append(all, key)
			}
			does[key][i] = r.Help
		}
	}
	slices.Sort(all)
	b.WriteString("\n" + rule + "\n")
	for _, key := range all {
		b.WriteString("| `" + key + "` | " + strings.Join(does[key], " | ") + " |\n")
	}
	return b.String() + "\n"
}

// The optimiser is not fused under fp16, and the answer to the key says why.
func TestFusedOptimizerSaysWhereItCannotBe(t *testing.T) {
	const why = "not under fp16, which checks all gradients first"
	for amp, told := range map[string]bool{"off": false, "bf16": false, "bf16x3": false, "fp16": true} {
		s := tuitest.Running()
		tuitest.Set(s, "amp", amp)
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
		press(m, "o")
		if got := lastLine(m); !strings.Contains(got, "fused optimizer: off → on") || strings.Contains(got, why) != told {
			t.Errorf("%s: the footer says %q", amp, got)
		}
	}
}

// If AMP costs time, the screen says so in the answer to the key, and in the help beforehand.
func TestAMPSaysWhereItIsEmulated(t *testing.T) {
	const slower = "slower: emulated without AMX"
	const neither = "slower: emulated by these kernels"
	for _, tt := range []struct {
		kernels, device, amp, keys, want, not string
	}{
		{"avx512", "cpu", "off", "a", "AMP: off → bf16, " + neither, ""},
		{"avx512-bf16", "cpu", "off", "a", "AMP: off → bf16", "emulated"},
		{"avx2", "cpu", "bf16", ". 3", "AMP: bf16 → bf16x3, " + slower, ""},
		{"amx", "cpu", "bf16", ". 3", "AMP: bf16 → bf16x3", "emulated"},
		{"amx", "cpu", "bf16x3", ". 4", "AMP: bf16x3 → fp16, slower: emulated on CPUs", ""},
		{"avx512", "cpu", "fp16", "a", "AMP: fp16 → off", "emulated"},
		{"ptx", "cuda", "off", "a", "AMP: off → bf16", "emulated"},
	} {
		s := tuitest.Running()
		s.Run.Kernels, s.Run.Device, s.Run.Cautions = tt.kernels, tt.device, prism.Cautions(tt.device, tt.kernels)
		tuitest.Set(s, "amp", tt.amp)
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
		press(m, strings.Fields(tt.keys)...)
		if got := lastLine(m); !strings.Contains(got, tt.want) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s %s: the footer says %q, want %q", tt.kernels, tt.amp, got, tt.want)
		}
		press(m, "?")
		help := ansi.Strip(m.View().Content)
		bf16, split := strings.Contains(help, "AMP bf16 is slower: emulated"), strings.Contains(help, "AMP bf16x3 is slower: emulated")
		if bf16 != (tt.kernels == "avx512" || tt.kernels == "avx2") ||
			split != (tt.device == "cpu" && tt.kernels != "amx") {
			t.Errorf("%s on %s: the help tells of emulation of bf16: %v, of bf16x3: %v", tt.kernels, tt.device, bf16, split)
		}
	}
}

// A key of a setting waits for the run to begin: before that its value is not known.
func TestSettingsHaveNoKeyBeforeTheRunBegins(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, &profiles.Snapshot{State: profiles.Preparing})
	for _, key := range []string{"p", "a", "m"} {
		press(m, key)
		if !strings.Contains(m.status.text, "has not begun") || len(r.Called()) > 0 {
			t.Errorf("%s: %q, called %v", key, m.status.text, r.Called())
		}
	}
}

// The help is searched by words: keys and explanations that have all of them are listed, and typing presses no other key.
func TestTheHelpCanBeSearched(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "?", "/")
	if frame := frameOf(m); !strings.Contains(frame, "Search the help") || !strings.Contains(frame, "Type words") {
		t.Fatalf("no search:\n%s", frame)
	}
	for _, key := range "learning" {
		press(m, string(key))
	}
	frame := frameOf(m)
	for _, want := range []string{"learning_", "halve learning rate", "double learning rate"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
	if strings.Contains(frame, "pause or go on") || len(r.Called()) > 0 {
		t.Errorf("other keys are listed, or were pressed (%v):\n%s", r.Called(), frame)
	}
	press(m, "ctrl+u")
	for _, key := range "whisker p95" {
		press(m, strings.ReplaceAll(string(key), " ", "space"))
	}
	if frame := frameOf(m); !strings.Contains(frame, "ends at p95") || !strings.Contains(frame, "phases") {
		t.Errorf("the explanation of phases is not found:\n%s", frame)
	}
	press(m, "q", "q")
	if frame := frameOf(m); !strings.Contains(frame, "Nothing has these words.") {
		t.Errorf("q is not typed:\n%s", frame)
	}
	if frame := frameOf(m); !strings.Contains(frame, "esc clears the search first · esc closes") {
		t.Errorf("the first esc is not explained:\n%s", frame)
	}
	press(m, "esc")
	if frame := frameOf(m); !strings.Contains(frame, "Search the help") || !strings.Contains(frame, "Type words") || strings.Contains(frame, "first") {
		t.Errorf("esc does not clear the search:\n%s", frame)
	}
	press(m, "esc")
	if frame := frameOf(m); strings.Contains(frame, "Search the help") || strings.Contains(frame, "esc closes") {
		t.Errorf("the second esc does not close the help:\n%s", frame)
	}
}
