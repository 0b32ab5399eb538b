package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	plan "prismtop/profiles/sweep"
	"prismtop/tui/page"
	"prismtop/tui/tuitest"
)

// view is a sweep with a run of every state.
func view(arms int) *View {
	f := &plan.Folder{Path: "/data/sw", Frozen: &plan.Frozen{Reference: "plain", Replicates: 3}}
	for i := range arms {
		name := []string{"plain", "fused", "amp bf16 of a long name, which goes on", "broken"}[min(i, 3)]
		if i > 3 {
			name = fmt.Sprintf("arm %d", i)
		}
		f.Arms = append(f.Arms, plan.FrozenArm{Name: name, Kind: "settings", Iterations: 2000})
	}
	var all []plan.Status
	runs := make([][]Run, arms)
	for _, c := range f.Cells() {
		s := plan.Status{State: plan.Waiting}
		ms, quality := 5.9-0.8*float64(c.Arm%3)+0.01*float64(c.Replicate), 24.3+0.1*float64(c.Arm)+0.01*float64(c.Replicate*(c.Arm+1))
		if c.Arm < 3 || c.Arm > 3 && c.Replicate == 1 {
			s = plan.Status{State: plan.Done, Attempt: 1, Host: "login", Node: "n1", Job: "4711_3", Iterations: 2000, Seconds: 2 * ms, MS: &ms, Quality: &quality,
				QualityIs: "PSNR", QualityUnit: "dB", CPUSeconds: 20 * ms, Recordings: []string{"recording.sqlite"}}
		}
		switch {
		case c.Arm == 2 && c.Replicate == 3:
			s.State, s.Iterations, s.Seconds, s.Session, s.At = plan.Running, 731, 4, "k3f9w", time.Now()
		case c.Arm == 1 && c.Replicate == 3:
			s.State, s.Iterations, s.Attempt = plan.Interrupted, 1200, 2
		case c.Arm == 3 && c.Replicate == 1:
			s = plan.Status{State: plan.Failed, Error: "out of memory\nsecond line", Attempt: 1, Host: "n2", Iterations: 3}
		}
		all = append(all, s)
		r := Run{Status: s}
		if s.State == plan.Waiting {
			r.Queued = "PENDING (Resources)"
		}
		runs[c.Arm] = append(runs[c.Arm], r)
	}
	return &View{Table: plan.Make(f, all, nil), Runs: runs}
}

// shown returns a screen of the given size with a view.
func shown(t testing.TB, w, h int, v *View) *Screen {
	t.Helper()
	o := page.Options{Now: func() time.Time { return time.Unix(1e9, 0) }}
	o.On.Environ = []string{"TERM=xterm-256color"}
	s := New("/data/sw", func(context.Context) (*View, error) { return v, nil }, false, o)
	s.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	s.Update(tea.WindowSizeMsg{Width: w, Height: h})
	if v != nil {
		s.Update(viewMsg{view: v})
	}
	return s
}

// press presses keys.
func press(s *Screen, keys ...string) {
	for _, name := range keys {
		k := tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		if special, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "tab": tea.KeyTab}[name]; ok {
			k = tea.KeyPressMsg{Code: special}
		}
		s.Update(k)
	}
}

// frame returns the text of a frame, after checking its size.
func frame(t testing.TB, s *Screen, w, h int) string {
	t.Helper()
	if err := s.Failure(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(s.View().Content, "\n")
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != w {
			t.Fatalf("%dx%d: line %d is %d wide: %q", w, h, i, got, l)
		}
	}
	return tuitest.Shown(tuitest.Cells(s.View().Content, w, h))
}

func TestGoldenScreens(t *testing.T) {
	for _, c := range []struct {
		name string
		w, h int
		keys string
	}{
		{"sweep-60x15", 60, 15, ""}, {"sweep-80x24", 80, 24, "down down"}, {"sweep-120x40", 120, 40, "down tab tab"}, {"sweep-200x60", 200, 60, "down down down"},
		{"filter-80x24", 80, 24, "/ f u s"}, {"sorted-120x40", 120, 40, "s s s"}, {"help-80x24", 80, 24, "?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shown(t, c.w, c.h, view(6))
			press(s, strings.Fields(c.keys)...)
			tuitest.Golden(t, c.name, frame(t, s, c.w, c.h))
		})
	}
	s := shown(t, 80, 24, nil)
	if text := frame(t, s, 80, 24); !strings.Contains(text, "reading the folder") {
		t.Errorf("before it is read:\n%s", text)
	}
	s.Update(viewMsg{err: errors.New("plan.json: gone")})
	if text := frame(t, s, 80, 24); !strings.Contains(text, "plan.json: gone") {
		t.Errorf("what cannot be read:\n%s", text)
	}
}

func TestARunIsOpened(t *testing.T) {
	s := shown(t, 120, 40, view(4))
	press(s, "down", "down") // of the third arm, the run that goes on
	press(s, "enter")
	if want := (Choice{Arm: 2, Replicate: 3}); s.chosen != want {
		t.Errorf("%+v, want %+v", s.chosen, want)
	}
	s = shown(t, 120, 40, view(4))
	press(s, "end", "tab", "enter")
	if text := frame(t, s, 120, 40); s.chosen.Replicate != 0 || !strings.Contains(text, "it has not begun") {
		t.Errorf("a run that waits: %+v\n%s", s.chosen, text)
	}
}

// The selected arm stays selected while others change their places.
func TestTheSelectionStays(t *testing.T) {
	s := shown(t, 120, 40, view(6))
	press(s, "down", "s")
	if i := s.selected(); s.view.Table.Arms[i].Name != "fused" {
		t.Errorf("%s is selected", s.view.Table.Arms[i].Name)
	}
	s.Update(viewMsg{view: view(9)})
	if i := s.selected(); s.view.Table.Arms[i].Name != "fused" {
		t.Errorf("%s is selected", s.view.Table.Arms[i].Name)
	}
}

// Any keys and sizes leave a frame.
func TestAnySizeIsDrawn(t *testing.T) {
	for w := 20; w < 230; w += 13 {
		for h := 4; h < 70; h += 7 {
			s := shown(t, w, h, view(40))
			press(s, "end", "tab", "s", "/", "x", "esc", "S")
			frame(t, s, w, h)
		}
	}
}

func BenchmarkAThousandArms(b *testing.B) {
	v := view(1000)
	s := shown(b, 200, 60, v)
	for b.Loop() {
		s.Update(viewMsg{view: v})
	}
}
