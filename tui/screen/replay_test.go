package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/recording/replay"
	"prismtop/tui/tuitest"
)

// replayed is a replay that records what it is asked.
type replayed struct {
	tuitest.Spectacle
	at    profiles.Position
	calls []string
}

func (p *replayed) Position() profiles.Position { return p.at }

func (p *replayed) Able(*profiles.Snapshot) profiles.Kinds { return new(replay.Player).Able(nil) }

func (p *replayed) Do(c profiles.Command) error {
	switch c.Kind {
	case profiles.PlayCommand:
		p.at.Playing = !p.at.Playing
		p.call("Play", p.at.Playing)
	case profiles.SpeedCommand:
		p.call("Faster", c.At)
	case profiles.SkipCommand:
		p.call("Step", c.At)
	case profiles.SeekCommand:
		p.call("Seek", time.Duration(c.At))
	}
	return nil
}

func (p *replayed) call(what ...any) {
	p.calls = append(p.calls, strings.TrimSpace(fmt.Sprintln(what...)))
}

// replaying returns a screen of a replay a quarter into ten minutes.
func replaying(t *testing.T, w, h int, s *profiles.Snapshot) (*Model, *replayed) {
	t.Helper()
	p := &replayed{at: profiles.Position{
		At: 151 * time.Second, From: time.Second, To: 601 * time.Second, Playing: true, Speed: 4,
		Marks: []profiles.Mark{
			{At: 100 * time.Second, Kind: profiles.ChangeMark, Text: "amp: off → bf16"},
			{At: 300 * time.Second, Kind: profiles.ChangeMark, Text: "amp: bf16 → off"},
			{At: 400 * time.Second, Kind: profiles.AlertMark, Text: "No iteration ended for more than 2s."},
			{At: 500 * time.Second, Kind: profiles.NoteMark, Text: "pts/1: flat"},
		},
	}}
	at := time.Unix(1e9, 0)
	m := New(p, Options{Cores: 2, Settings: tuitest.Running().Settings, Now: func() time.Time { return at }})
	m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m.Update(snapshotMsg{s})
	if m.crash != nil {
		t.Fatal(m.crash)
	}
	return m, p
}

// A replay shows where it is, and its keys go through it.
func TestAReplayHasTransportKeys(t *testing.T) {
	m, p := replaying(t, 120, 40, tuitest.Running())
	foot := footerOf(m)
	for _, want := range []string{"▶ 4×", "00:02:30 of 00:10:00", "◆", "▴", "#", "space play, pause"} {
		if !strings.Contains(foot, want) {
			t.Errorf("the footer lacks %q:\n%s", want, foot)
		}
	}
	for key, want := range map[string]string{
		"space": "Play false", "]": "Faster 1", "[": "Faster -1", "n": "Step 1", "N": "Step -1", "<": "Seek 2m21s", ">": "Seek 2m41s",
		"}": "Seek 5m0s", "{": "Seek 1m40s", ")": "Seek 6m40s", "'": "Seek 8m20s", "5": "Seek 5m1s", "0": "Seek 1s",
	} {
		p.calls = nil
		press(m, key)
		if !slices.Equal(p.calls, []string{want}) {
			t.Errorf("%s asks %q, want %q", key, p.calls, want)
		}
	}
	p.calls = nil
	press(m, "(")
	if len(p.calls) > 0 || !strings.Contains(m.status.text, "no earlier alert") {
		t.Errorf("( asks %q and says %q", p.calls, m.status.text)
	}
	press(m, "\"")
	if len(p.calls) > 0 || !strings.Contains(m.status.text, "no earlier note") {
		t.Errorf("\" asks %q and says %q", p.calls, m.status.text)
	}
	if foot := footerOf(m); !strings.Contains(foot, "‖ 4×") {
		t.Errorf("it does not say that it is paused:\n%s", foot)
	}
}

// Keys that would change a run say that this is a recording.
func TestAReplayCannotBeChanged(t *testing.T) {
	m, p := replaying(t, 120, 40, tuitest.Running())
	for _, key := range []string{"a", "m", "A", "R", "s", "u", "l", "E"} {
		press(m, key)
		if !strings.Contains(m.status.text, "this is a recording") {
			t.Errorf("%s says %q", key, m.status.text)
		}
	}
	press(m, "~")
	if !strings.Contains(m.status.text, "has no meaning here") {
		t.Errorf("~ says %q", m.status.text)
	}
	if len(p.calls) > 0 {
		t.Errorf("it was asked %q", p.calls)
	}
	if !press(m, "q") {
		t.Error("q asks before it leaves a replay")
	}
}

// The state of a replay fits every size, also with an error and while the run goes on.
func TestTheTransportFits(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		for _, s := range []*profiles.Snapshot{tuitest.Running(), tuitest.Finished(), tuitest.Failed()} {
			m, p := replaying(t, size[0], size[1], s)
			for _, change := range []func(*profiles.Position){
				func(*profiles.Position) {},
				func(at *profiles.Position) { at.Seeking, at.Speed = true, 0.125 },
				func(at *profiles.Position) { at.Growing, at.Following, at.Seeking = true, true, false },
				func(at *profiles.Position) { at.Err = "run.sqlite: a block is damaged: it ends too early" },
				func(at *profiles.Position) { *at = profiles.Position{} },
			} {
				change(&p.at)
				m.Update(snapshotMsg{s})
				checkFrame(t, m, size[0], size[1])
				if frame := frameOf(m); strings.Contains(frame, "R restarts") || m.help.page != noHelp {
					t.Errorf("%v: a replay offers a restart:\n%s", size, frame)
				}
			}
		}
	}
}

// What a key said is gone with the next.
func TestAnAnswerOfTheTransportIsOfOneKey(t *testing.T) {
	m, _ := replaying(t, 120, 40, tuitest.Running())
	press(m, "}")
	if m.status.text != "amp: bf16 → off" {
		t.Fatalf("} says %q", m.status.text)
	}
	press(m, "<")
	if m.status.text != "" {
		t.Errorf("after < it still says %q", m.status.text)
	}
}

// The bar has room for what is missing on the smallest usual screen.
func TestTheTransportSaysWhatIsMissing(t *testing.T) {
	m, p := replaying(t, 80, 24, tuitest.Running())
	p.at.Err = "123456 iterations missing"
	m.Update(snapshotMsg{tuitest.Running()})
	if foot := footerOf(m); !strings.Contains(foot, p.at.Err) {
		t.Errorf("the footer:\n%s", foot)
	}
}

// The bar says why a recording ends before its run.
func TestTheTransportSaysWhyARecordingEnds(t *testing.T) {
	for _, size := range [][2]int{{60, 24}, {80, 24}, {120, 40}} {
		m, p := replaying(t, size[0], size[1], tuitest.Running())
		p.at.Ending = "the run was killed"
		m.Update(snapshotMsg{tuitest.Running()})
		if foot := footerOf(m); !strings.Contains(foot, "the run was killed") {
			t.Errorf("%v: the footer:\n%s", size, foot)
		}
	}
	m, p := replaying(t, 120, 40, tuitest.Running())
	p.at.Ending, p.at.Err = "the run was killed", "3 iterations missing"
	m.Update(snapshotMsg{tuitest.Running()})
	if foot := footerOf(m); !strings.Contains(foot, "the run was killed · 3 iterations missing") {
		t.Errorf("the footer:\n%s", foot)
	}
}

// Going back in a replay is no news.
func TestGoingBackIsNoNews(t *testing.T) {
	now := tuitest.Running()
	now.Log = []profiles.LogLine{{Text: "first"}, {Text: "second"}}
	m, _ := replaying(t, 120, 40, now)
	m.status = status{}
	before := tuitest.Running()
	before.Index, before.Log = now.Index-100, []profiles.LogLine{{Text: "first"}}
	m.Update(snapshotMsg{before})
	if m.status.text != "" {
		t.Errorf("it says %q", m.status.text)
	}
	m.Update(snapshotMsg{now})
	if m.status.text != "second" {
		t.Errorf("it says %q", m.status.text)
	}
}

// The header shows that a run is recorded, and not that it was.
func TestTheHeaderShowsTheRecording(t *testing.T) {
	for _, c := range []struct {
		state     profiles.State
		recording profiles.RecordingState
		want      string
	}{
		{profiles.Running, profiles.RecordingState{}, "● running"},
		{profiles.Running, profiles.RecordingState{Path: "x"}, "● rec"},
		{profiles.Running, profiles.RecordingState{Path: "x", Err: "the disk is full"}, "● running"},
		{profiles.Paused, profiles.RecordingState{Path: "x"}, "‖ paused"},
		{profiles.Finished, profiles.RecordingState{Path: "x"}, "✓ finished"},
	} {
		s := tuitest.Running()
		s.State, s.Recording = c.state, c.recording
		m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, s)
		if head, _, _ := strings.Cut(frameOf(m), "\n"); !strings.Contains(head, c.want) {
			t.Errorf("%v, recorded as %v: %s", c.state, c.recording, head)
		}
	}
}
