package screen

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/layout"
	"prismtop/tui/ptytest"
	"prismtop/tui/tuitest"
)

// passSecond runs the screen's once-a-second work, including the commands it starts.
func (m *Model) passSecond(t *testing.T) {
	t.Helper()
	if cmd := m.keeper.begin(m.keep); cmd != nil {
		m.Update(cmd())
	}
}

func TestWhatIsRememberedComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prismtop", "screen.toml")
	m, _ := screen(t, 120, 40, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	m.passSecond(t)
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written though nothing changed")
	}
	press(m, "P", "4", "8", "esc", "M", "w")
	m.passSecond(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mouse = true", "[panes.everything]", "hide = ['loss', 'memory']"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "timing") {
		t.Errorf("the arrangement is remembered:\n%s", text)
	}
	again, _ := screen(t, 120, 40, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	if again.arrangement().Name != "overview" {
		t.Errorf("the screen starts with %s", again.arrangement().Name)
	}
	arrange(again, "everything")
	if !reflect.DeepEqual(again.keep, m.keep) || again.View().Content == "" {
		t.Errorf("remembered %+v, came back %+v", m.keep, again.keep)
	}
	if again.View().MouseMode != tea.MouseModeCellMotion || !again.layout.Panes[idLoss].Empty() {
		t.Errorf("the screen is not as it was left: mouse %v, loss %+v", again.View().MouseMode, again.layout.Panes[idLoss])
	}
	if frame := frameOf(again); !strings.Contains(frame, "4 panes hidden") {
		t.Errorf("the screen does not say what is hidden:\n%s", frame)
	}
	press(again, "w", "w", "w", "w", "w")
	if !again.layout.Panes[idMemory].Empty() {
		t.Error("a hidden pane came back")
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("beside the file lies %v", entries)
	}
}

// Older files name their last arrangement, which would hide panes at the next start.
func TestTheArrangementOfAnOlderFileIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.toml")
	if err := os.WriteFile(path, []byte("preset = 'memory'\nmouse = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := screen(t, 120, 40, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	if m.help.note != "" || !m.mouse.on || m.layout.Panes[idPhases].Empty() {
		t.Errorf("note %q, mouse %v, phases %+v", m.help.note, m.mouse.on, m.layout.Panes[idPhases])
	}
	press(m, "w", "w", "M")
	m.passSecond(t)
	if text, _ := os.ReadFile(path); strings.Contains(string(text), "preset") {
		t.Errorf("the file is now %q", text)
	}
}

// Over SSH the mouse is off, whatever is remembered.
func TestTheMouseIsOffOverSSH(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.toml")
	if err := (remembered{Mouse: true}).save(path); err != nil {
		t.Fatal(err)
	}
	o := Options{Remember: path, Environ: []string{"SSH_CONNECTION=10.0.0.1 1 10.0.0.2 22"}}
	m, _ := screen(t, 120, 40, o, colorprofile.ANSI256, tuitest.Running())
	if m.View().MouseMode != tea.MouseModeNone {
		t.Error("the mouse is on")
	}
	press(m, "M", "M")
	m.passSecond(t)
	if r, err := (&keeper{path: path, deck: deck}).open(); err != nil || !r.Mouse {
		t.Errorf("another place's mouse was forgotten: %+v %v", r, err)
	}
}

// A file that cannot be parsed completely is reported by name and key, and left unchanged.
func TestABrokenFileIsLeftAlone(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"syntax", "mouse = yes\n", "line 1"},
		{"unknown key", "mouse = true\ncolour = 'red'\n", `unknown key "colour"`},
		{"wrong type", "mouse = 'yes'\n", "mouse"},
		{"unknown pane", "[panes.timing]\nhide = ['clock']\n", `panes.timing: no pane "clock"`},
		{"unknown layout", "[panes.tiny]\nhide = ['log']\n", "panes.tiny: no such layout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "screen.toml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := (&keeper{path: path, deck: deck}).open()
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("loading says %v, want %q", err, tt.says)
			}
			m, _ := screen(t, 200, 60, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
			if got := lastLine(m); !strings.Contains(got, "screen.toml: ") || !strings.Contains(got, tt.says) {
				t.Errorf("the footer says %q", got)
			}
			var told strings.Builder
			for _, l := range m.help.noteLines(50) {
				told.WriteString(l.Text + " ")
			}
			if !strings.Contains(told.String(), "nothing is remembered until") {
				t.Errorf("the help does not tell of it: %s", told.String())
			}
			press(m, "w", "M")
			m.passSecond(t)
			m.keeper.finish(m.keep)
			if text, _ := os.ReadFile(path); string(text) != tt.text {
				t.Errorf("the file is now %q", text)
			}
		})
	}
}

// Anything but a regular file is neither read, which could block forever, nor overwritten.
func TestWhatIsNoFileIsLeftAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(path string) error
		says string
	}{
		"pipe":      {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "screen.toml: is a pipe: must be a file"},
		"device":    {func(path string) error { return os.Symlink("/dev/zero", path) }, "screen.toml: is a device: must be a file"},
		"folder":    {func(path string) error { return os.Mkdir(path, 0o700) }, "screen.toml: is a folder: must be a file"},
		"too large": {func(path string) error { return os.WriteFile(path, make([]byte, largestRemembered+1), 0o600) }, "screen.toml: is larger than 64 KiB"},
		"UTF-16":    {func(path string) error { return os.WriteFile(path, []byte("\xff\xfem\x00"), 0o600) }, "screen.toml: is in UTF-16: must be in UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "screen.toml")
			if err := tt.make(path); err != nil {
				t.Skip(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				m, _ := screen(t, 200, 60, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
				if got := lastLine(m); !strings.Contains(got, tt.says) {
					t.Errorf("the footer says %q, want %q", got, tt.says)
				}
				press(m, "w", "M")
				m.passSecond(t)
				m.keeper.finish(m.keep)
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("the screen still waits for it after 30 s")
			}
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("it was replaced: %v, %v", after, err)
			}
		})
	}
}

// A pipe that replaces the file in the meantime is left alone.
func TestAFileThatBecomesAPipeIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.toml")
	m, _ := screen(t, 200, 60, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	press(m, "M")
	m.passSecond(t)
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("it was replaced: %v, %v", info, err)
	}
	if got := lastLine(m); !strings.Contains(got, "screen.toml: is a pipe") {
		t.Errorf("the footer says %q", got)
	}
}

func TestAMarkInFrontOfTheFileIsNoText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.toml")
	if err := os.WriteFile(path, []byte("\xef\xbb\xbfmouse = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := screen(t, 200, 60, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	if !m.mouse.on {
		t.Errorf("the mouse is off, and the screen says %q", lastLine(m))
	}
}

// A file damaged while the screen runs is not overwritten either.
func TestAFileBrokenMeanwhileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.toml")
	m, _ := screen(t, 200, 60, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	press(m, "M")
	m.passSecond(t)
	if err := os.WriteFile(path, []byte("preset ="), 0o600); err != nil {
		t.Fatal(err)
	}
	press(m, "M")
	m.passSecond(t)
	if text, _ := os.ReadFile(path); string(text) != "preset =" {
		t.Errorf("the file is now %q", text)
	}
	if got := lastLine(m); !strings.Contains(got, "not remembered") || !strings.Contains(got, "screen.toml") {
		t.Errorf("the footer says %q", got)
	}
}

// A write error is reported once, and the program continues.
func TestAnUnwritableFolderIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.keeper = &keeper{deck: deck, path: filepath.Join(file, "prismtop", "screen.toml")}
	press(m, "M")
	m.passSecond(t)
	if got := lastLine(m); !strings.Contains(got, "not remembered") {
		t.Errorf("the footer says %q", got)
	}
	if m.keeper.begin(m.keep) != nil {
		t.Error("the same is tried again and again")
	}
}

func FuzzRemembered(f *testing.F) {
	f.Add("preset = 'timing'\nmouse = true\n[panes.everything]\nhide = ['log']\n")
	f.Add("panes = 3")
	f.Add("[panes]\neverything = {show = ['loss', 'loss'], hide = ['loss']}")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRemembered("screen.toml", []byte(text), deck)
		for _, a := range deck.Arrangements {
			r.choice(deck, a.Name) // must not refer to a missing pane
		}
		if err != nil {
			return
		}
		out, err := r.text()
		if err != nil {
			t.Fatal(err)
		}
		back, err := parseRemembered("screen.toml", out, deck)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if again, _ := back.text(); string(again) != string(out) {
			t.Errorf("%q became %q and then %q", text, out, again)
		}
	})
}

// On a real terminal: the file is written even if the screen is left immediately, and the mouse
// is switched off at the end.
func TestLeavingRemembersAndRestoresTheMouse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prismtop", "screen.toml")
	x := open(t, 120, 40, Options{Remember: path})
	x.show(tuitest.Running())
	x.See("Phases")
	x.Press("wP4")
	x.See("○ loss")
	x.Press("\x1bM")
	x.See("mouse on")
	ptytest.Eventually(t, "mouse", func() bool { return strings.Contains(x.Received(), ansi.SetModeMouseButtonEvent) })
	x.Press("\x03")
	select {
	case <-x.ended:
	case <-time.After(time.Minute):
		t.Fatal("the screen does not end")
	}
	ptytest.Eventually(t, "what is remembered", func() bool { // the program waits only briefly at its end
		r, err := (&keeper{path: path, deck: deck}).open()
		return err == nil && slices.Equal(r.Panes["everything"].Hide, []string{"loss"}) && r.Mouse
	})
	ptytest.Eventually(t, "the mouse off", func() bool {
		raw := x.Received()
		return strings.LastIndex(raw, ansi.ResetModeMouseButtonEvent) > strings.LastIndex(raw, ansi.SetModeMouseButtonEvent)
	})
}

// Panes that were added on a large terminal do not crowd out those of a small one, which may show them as well.
func TestPanesOfALargeTerminalDoNotCrowdASmallOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prismtop", "screen.toml")
	plain, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	m, _ := screen(t, 120, 40, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	var added []layout.Pane
	for id := range layout.Pane(len(Panes)) {
		if m.layout.Panes[id].Empty() && !m.without[id] && len(added) < 3 {
			showOrHide(m, id)
			added = append(added, id)
		}
	}
	m.passSecond(t)
	small, _ := screen(t, 80, 24, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	checkFrame(t, small, 80, 24)
	for id := range layout.Pane(len(Panes)) {
		if !plain.layout.Panes[id].Empty() && small.layout.Panes[id].Empty() {
			t.Errorf("%s made room for what was added at 120x40", deck.Panes[id].Name)
		}
	}
	large, _ := screen(t, 120, 40, Options{Remember: path}, colorprofile.ANSI256, tuitest.Running())
	for _, id := range added {
		if large.layout.Panes[id] != m.layout.Panes[id] {
			t.Errorf("%s is not where it was at 120x40", deck.Panes[id].Name)
		}
	}
	showOrHide(small, added[0])
	if small.layout.Panes[added[0]].Empty() {
		t.Error("what is added at 80x24 is not shown there")
	}
}
