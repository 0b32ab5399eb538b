package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/page"
	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

// shelf is a source that records what it is asked for.
type shelf struct {
	called []string
	taken  []string
	refuse error
}

func (s *shelf) Folder() string                      { return "~/.local/state/prismtop/runs" }
func (s *shelf) Watch(context.Context) <-chan Update { return nil }
func (s *shelf) note(text string, more ...any) {
	s.called = append(s.called, fmt.Sprintf(text, more...))
}
func (s *shelf) Targets() []Target {
	return []Target{{"chrome", "a timeline", ".json"}, {"csv", "tables", ".csv"}, {"tensorboard", "scalars, in a folder", ".tensorboard"}}
}
func (s *shelf) Taken(string, string) ([]string, error) { return s.taken, s.refuse }

func (s *shelf) Describe(_ context.Context, path, key, text string) error {
	s.note("%s of %s: %s", key, filepath.Base(path), text)
	return s.refuse
}

func (s *shelf) Delete(_ context.Context, path string) error {
	s.note("delete %s", filepath.Base(path))
	if strings.Contains(path, "gone") {
		return fs.ErrNotExist
	}
	return s.refuse
}

func (s *shelf) Export(_ context.Context, path, format, to string) ([]string, error) {
	s.note("export %s as %s to %s", filepath.Base(path), format, to)
	return []string{to}, s.refuse
}

// run returns a run that ended, n days before the newest.
func run(n int, name string) Run {
	began := time.Date(2026, 11, 22, 13, 57, 48, 0, time.Local).AddDate(0, 0, -n)
	file := began.Format("2006-01-02T15-04-05") + "-" + name
	return Run{Path: "/runs/" + file + ".sqlite", File: file, Bytes: 1_200_000 + int64(n)*100_000, Began: began, State: Ended, End: "finished",
		Preset: "baseline", Object: name, Length: time.Duration(n+1) * 100 * time.Second, Iterations: int64(4000 * (n + 1)),
		Median: 5.9e6 + float64(n)*1e5, Quality: 24.3 - float64(n), Metric: "PSNR", Measured: fmt.Sprintf("%.1f dB", 24.3-float64(n))}
}

// library returns one run of every kind.
func library() []Run {
	running, killed, failed, plain, damaged, named := run(0, "moon"), run(1, "europa"), run(2, "moon"), run(3, "moon"), run(4, "moon"), run(5, "europa")
	running.State, running.End = Running, "running"
	killed.State = Killed
	failed.End, failed.Err, failed.Quality, failed.Metric, failed.Measured = "failed", "loss is NaN at iteration 212", math.NaN(), "", ""
	plain.Preset, plain.Median, plain.Iterations = "resumed", math.NaN(), 0
	plain.State, plain.Err = CutShort, "no space left on device"
	damaged = Run{Path: damaged.Path, File: damaged.File, Bytes: 9000, Began: damaged.Began, State: Unread, Median: math.NaN(), Quality: math.NaN(),
		Err: "is damaged (database disk image is malformed (11)): sqlite3 FILE .recover may save parts of it"}
	named.Name, named.Note = "threshold 0, the good one", "before the fused telescope"
	return []Run{running, killed, failed, plain, damaged, named}
}

// shown returns a table of the given size with runs.
func shown(t testing.TB, w, h int, o page.Options, runs ...Run) (*Table, *shelf) {
	t.Helper()
	s := &shelf{}
	at := time.Unix(1e9, 0)
	o.Now = func() time.Time { return at }
	if o.On.Environ == nil {
		o.On.Environ = []string{"TERM=xterm-256color"}
	}
	m := New(s, o)
	m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m.tell(Update{All: true, Runs: runs, Files: len(runs), Read: len(runs)})
	return m, s
}

func (t *Table) tell(u Update) { t.Update(updateMsg{Update: u}) }

// press presses keys, and hands the messages of operations back.
func press(m *Table, keys ...string) {
	for _, name := range keys {
		k := tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		if special, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "home": tea.KeyHome,
			"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace}[name]; ok {
			k = tea.KeyPressMsg{Code: special}
		} else if name == "space" {
			k = tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
		} else if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
			k = tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
		}
		for _, cmd := m.Update(k); cmd != nil; {
			msg := cmd()
			cmd = nil
			switch msg.(type) {
			case doneMsg, takenMsg:
				_, cmd = m.Update(msg)
			}
		}
	}
}

// frame returns the text of a table's frame, after checking its size.
func frame(t testing.TB, m *Table, w, h int) string {
	t.Helper()
	if err := m.Failure(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(m.View().Content, "\n")
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != w {
			t.Fatalf("%dx%d: line %d is %d wide: %q", w, h, i, got, l)
		}
	}
	return tuitest.Shown(tuitest.Cells(m.View().Content, w, h))
}

func TestGoldenTables(t *testing.T) {
	for _, tt := range []struct {
		name string
		w, h int
		o    page.Options
		keys string
	}{
		{"runs-60x15", 60, 15, page.Options{}, ""},
		{"runs-80x24", 80, 24, page.Options{}, ""},
		{"runs-120x40", 120, 40, page.Options{}, "down space down space"},
		{"runs-200x60", 200, 60, page.Options{}, "end"},
		{"ascii-80x24", 80, 24, page.Options{ASCII: true}, "down down down down"},
		{"filter-80x24", 80, 24, page.Options{Colours: terminal.NoColours}, "/ e u r o"},
		{"delete-80x24", 80, 24, page.Options{}, "space down down space down space space d"},
		{"delete-60x15", 60, 15, page.Options{}, "space space space space space space d"},
		{"format-80x24", 80, 24, page.Options{}, "down x down"},
		{"path-60x15", 60, 15, page.Options{}, "down x 2"},
		{"rename-80x24", 80, 24, page.Options{Colours: terminal.LightColours}, "end r"},
		{"help-80x24", 80, 24, page.Options{}, "?"},
		{"help-60x15", 60, 15, page.Options{}, "?"},
		{"small-40x10", 40, 10, page.Options{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := shown(t, tt.w, tt.h, tt.o, library()...)
			press(m, strings.Fields(tt.keys)...)
			tuitest.Golden(t, tt.name, frame(t, m, tt.w, tt.h))
		})
	}
}

// Names of pictures take the width that names of runs leave.
func TestPicturesAreWholeWhereNamesLeaveRoom(t *testing.T) {
	r := run(1, "short")
	r.Object = "titan_temperate_lakes.png"
	m, _ := shown(t, 120, 24, page.Options{}, r)
	if text := frame(t, m, 120, 24); !strings.Contains(text, r.Object+" ") {
		t.Errorf("the picture is cut:\n%s", text)
	}
	r.Name = strings.Repeat("long", 12)
	m, _ = shown(t, 120, 24, page.Options{}, r)
	if text := frame(t, m, 120, 24); strings.Contains(strings.Split(text, "\n")[2], r.Object) {
		t.Errorf("the name makes no room:\n%s", text)
	}
}

// The cursor stays on its run, and a scrolled row in its place, when runs come and go.
func TestTheCursorStaysOnItsRun(t *testing.T) {
	var runs []Run
	for i := range 100 {
		runs = append(runs, run(i+10, "moon"))
	}
	m, _ := shown(t, 80, 24, page.Options{}, runs...)
	press(m, "pgdown", "pgdown", "pgdown")
	want, row := m.selected().Path, m.list.At-m.first
	m.tell(Update{Runs: []Run{run(0, "new"), run(1, "new")}, Files: 102, Read: 102})
	if got := m.selected().Path; got != want || m.list.At-m.first != row {
		t.Errorf("the cursor is on %s in row %d, was on %s in row %d", got, m.list.At-m.first, want, row)
	}
	next := m.rows[m.list.At+1].Path
	m.tell(Update{Gone: []string{want}, Files: 101, Read: 101})
	if got := m.selected().Path; got != next {
		t.Errorf("after its run was deleted the cursor is on %s, want the next, %s", got, next)
	}
	m.tell(Update{All: true})
	if m.selected() != nil || !strings.Contains(frame(t, m, 80, 24), "no run was recorded here") {
		t.Error("an empty folder has a selected run")
	}
}

func TestTheFilterMatchesEveryWord(t *testing.T) {
	m, _ := shown(t, 120, 40, page.Options{}, library()...)
	for filter, want := range map[string]int{"": 6, "europa": 2, "EUROPA killed": 1, "good one": 1, "fused": 1, "unreadable": 1, "malformed": 1, "11-21": 1, "nothing": 0} {
		press(m, "/", "ctrl+u")
		m.Paste(filter)
		press(m, "enter")
		if len(m.rows) != want {
			t.Errorf("%q: %d rows, want %d", filter, len(m.rows), want)
		}
	}
	press(m, "esc")
	if len(m.rows) != 6 {
		t.Error("esc leaves the filter")
	}
}

// Each order has its natural direction, and what is not known comes last in it.
func TestOrders(t *testing.T) {
	m, _ := shown(t, 120, 40, page.Options{}, library()...)
	for o, want := range map[Order]string{
		ByTime: "0 1 2 3 4 5", ByLength: "5 3 2 1 0 4", ByIterations: "5 2 1 0 3 4", ByMedian: "0 1 2 5 3 4", ByQuality: "0 1 3 5 2 4", BySize: "5 3 2 1 0 4", ByState: "0 2 5 1 3 4",
	} {
		for m.order != o {
			press(m, "s")
		}
		var got []string
		for _, r := range m.rows {
			got = append(got, fmt.Sprint(slices.IndexFunc(library(), func(l Run) bool { return l.Path == r.Path })))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %v, want %s", o, got, want)
		}
	}
}

// The oldest of the marked runs is the base, whatever the order of the table.
func TestComparingTakesTheOldestFirst(t *testing.T) {
	m, _ := shown(t, 80, 24, page.Options{}, library()...)
	press(m, "c")
	if m.action != Quit || !strings.Contains(frame(t, m, 80, 24), "mark two runs") {
		t.Error("nothing is marked, and it is compared")
	}
	press(m, "space", "c") // the marked one with the one below
	if want := []string{library()[1].Path, library()[0].Path}; m.action != Compare || !slices.Equal(m.paths, want) {
		t.Errorf("compares %v, want %v", m.paths, want)
	}
	m, _ = shown(t, 80, 24, page.Options{}, library()...)
	press(m, "space", "end", "up", "space", "c")
	if m.action != Quit || !strings.Contains(frame(t, m, 80, 24), "cannot be compared") {
		t.Error("a damaged file is compared")
	}
}

func TestOpeningARun(t *testing.T) {
	m, _ := shown(t, 80, 24, page.Options{}, library()...)
	press(m, "end", "up", "enter")
	if m.action != Quit || !strings.Contains(frame(t, m, 80, 24), "cannot be opened: is damaged") {
		t.Error("a damaged file is opened")
	}
	press(m, "home", "enter")
	if m.action != Open || m.paths[0] != library()[0].Path {
		t.Errorf("opens %v", m.paths)
	}
}

// Deleting asks, keeps runs that go on, deletes as many as it can, and says what it did.
func TestDeleting(t *testing.T) {
	m, s := shown(t, 80, 24, page.Options{}, library()...)
	press(m, "d")
	if m.ask != nil || len(s.called) > 0 {
		t.Error("a run that goes on can be deleted")
	}
	press(m, "down", "d", "n")
	if len(s.called) > 0 || len(m.all) != 6 {
		t.Errorf("n deletes: %v", s.called)
	}
	press(m, "home", "space", "space", "down", "space", "d", "y") // one that goes on, two that do not
	name := func(i int) string { return filepath.Base(library()[i].Path) }
	if want := []string{"delete " + name(3), "delete " + name(1)}; !slices.Equal(s.called, want) && !slices.Equal(s.called, []string{want[1], want[0]}) {
		t.Errorf("asked for %v, want %v", s.called, want)
	}
	if len(m.all) != 4 || len(m.marked) != 1 || !strings.Contains(frame(t, m, 80, 24), "deleted 2 runs, 2.80 MB") {
		t.Errorf("%d runs are left, %d marked:\n%s", len(m.all), len(m.marked), frame(t, m, 80, 24))
	}
	s.refuse = errors.New("the disk is read-only")
	press(m, "esc", "end", "d", "y")
	if len(m.all) != 4 || !strings.Contains(frame(t, m, 80, 24), "deleted 0 of 1: the disk is read-only") {
		t.Error("what was not deleted is gone from the table, or it does not say so")
	}
}

// An export asks again before it replaces a file.
func TestExporting(t *testing.T) {
	m, s := shown(t, 80, 24, page.Options{}, library()...)
	press(m, "down", "x", "2", "enter")
	want := "export " + filepath.Base(library()[1].Path) + " as csv to " + library()[1].File + ".csv"
	if !slices.Equal(s.called, []string{want}) || m.exporting != "" || !strings.Contains(frame(t, m, 80, 24), "exported ") {
		t.Errorf("asked for %v, want %v\n%s", s.called, want, frame(t, m, 80, 24))
	}
	s.called, s.taken = nil, []string{"here/a.json"}
	press(m, "x", "enter", "a", "enter")
	if len(s.called) > 0 || !strings.Contains(frame(t, m, 80, 24), "a.json exists: enter again replaces it") {
		t.Errorf("a file is replaced without a question: %v", s.called)
	}
	press(m, "b", "enter")
	if len(s.called) > 0 {
		t.Errorf("another name was not looked at: %v", s.called)
	}
	press(m, "enter")
	if len(s.called) != 1 || !strings.HasSuffix(s.called[0], " to ab") {
		t.Errorf("asked for %v", s.called)
	}
}

func TestNamesAndNotes(t *testing.T) {
	m, s := shown(t, 80, 24, page.Options{}, library()...)
	press(m, "end", "r", "g", "o", "enter", "n", "ctrl+u", "enter")
	name := filepath.Base(library()[5].Path)
	if want := []string{"name of " + name + ": go", "note of " + name + ": "}; !slices.Equal(s.called, want) {
		t.Errorf("asked for %q, want %q", s.called, want)
	}
	press(m, "up", "r")
	if m.ask != nil {
		t.Error("a damaged file can be renamed")
	}
}

// Whatever files and users call things, nothing steers the terminal, and nothing breaks the table.
func TestTextFromFilesIsEscaped(t *testing.T) {
	const hostile = "x\x1b]0;owned\a\u202e\u009b2J\r\ny 月光"
	runs := library()
	for i := range runs {
		r := &runs[i]
		r.File, r.Preset, r.Object, r.Name, r.Note, r.End, r.Metric, r.Measured = hostile, hostile, hostile, hostile, hostile, hostile, hostile, hostile
		if r.Err != "" {
			r.Err = hostile
		}
	}
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, s := shown(t, size[0], size[1], page.Options{}, runs...)
		for _, keys := range []string{"", "down", "end up", "d", "esc home down r", "esc x", "1", "esc"} {
			press(m, strings.Fields(keys)...)
			for _, c := range ansi.Strip(m.View().Content) {
				if c != '\n' && !unicode.IsGraphic(c) {
					t.Fatalf("%v after %q: %q is on the screen", size, keys, c)
				}
			}
			frame(t, m, size[0], size[1])
		}
		s.refuse = errors.New(hostile)
		press(m, "home", "down", "r", "enter")
		frame(t, m, size[0], size[1])
	}
}

// Keys, sizes, clicks and updates at random leave a whole frame.
func TestEverySizeHoldsTheTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	keys := strings.Fields("up down pgup pgdown home end enter esc space c d y n r x X 1 2 / a s S ? M C backspace")
	for i := range 18 {
		var runs []Run
		for n := range random.IntN(80) {
			runs = append(runs, run(n, "moon"))
		}
		runs = append(runs, library()...)
		w, h := 1+random.IntN(300), 1+random.IntN(100)
		m, _ := shown(t, w, h, page.Options{ASCII: i%3 == 0, Colours: terminal.Colours(i % 4)}, runs...)
		for range 30 {
			switch random.IntN(8) {
			case 0:
				w, h = 1+random.IntN(300), 1+random.IntN(100)
				m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			case 1:
				m.Update(tea.MouseClickMsg{X: random.IntN(w), Y: random.IntN(h), Button: tea.MouseLeft})
			case 2:
				m.tell(Update{Gone: []string{runs[random.IntN(len(runs))].Path}, Runs: []Run{run(random.IntN(100), "new")}, Files: 9, Read: random.IntN(10)})
			default:
				press(m, keys[random.IntN(len(keys))])
			}
			text := frame(t, m, w, h)
			if i%3 == 0 && strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e }) {
				t.Fatalf("a character beyond 7 bits is on the ASCII screen:\n%s", text)
			}
		}
	}
}

// Everything known of the selected run is on the screen where there is room for it.
func TestDetailsAreWhole(t *testing.T) {
	r := run(0, "moon")
	r.Name, r.Note = "learning rate halved", "threshold 0 and the fused telescope, to be compared with Monday"
	r.State, r.Err = CutShort, "the file was deleted or moved meanwhile"
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, _ := shown(t, size[0], size[1], page.Options{}, r, run(1, "moon"), run(2, "moon"))
		text := strings.Join(strings.FieldsFunc(frame(t, m, size[0], size[1]), func(r rune) bool { return unicode.IsSpace(r) || r == '│' }), " ")
		for _, want := range []string{r.File, r.Name, r.Note, r.Err, "preset baseline", "4000 iterations", "5.90 ms", "PSNR 24.3 dB", "1.20 MB"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is missing in\n%s", size, want, frame(t, m, size[0], size[1]))
			}
		}
	}
	// A full list leaves the state and the beginning of the rest.
	runs := []Run{r}
	for n := range 50 {
		runs = append(runs, run(n+1, "moon"))
	}
	for _, size := range [][2]int{{60, 15}, {80, 24}} {
		m, _ := shown(t, size[0], size[1], page.Options{}, runs...)
		if text := frame(t, m, size[0], size[1]); !strings.Contains(text, "cut short: the file was") || !strings.Contains(text, "finished") {
			t.Errorf("%v: %s", size, text)
		}
	}
}

// A click on a heading sorts, one on a row selects it, and two open it.
func TestTheMouse(t *testing.T) {
	m, _ := shown(t, 80, 24, page.Options{}, library()...)
	heading := strings.Split(frame(t, m, 80, 24), "\n")[2]
	at := len([]rune(heading[:strings.Index(heading, "size")]))
	click := func(x, y int) { m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
	click(at, 2)
	if m.order != BySize || m.back {
		t.Errorf("sorted by %s", m.order)
	}
	click(at, 2)
	if !m.back {
		t.Error("a second click does not reverse the order")
	}
	click(10, 3+2)
	if m.list.At != 2 || m.action != Quit {
		t.Errorf("row %d is selected, want 2", m.list.At)
	}
	click(10, 3+2)
	if m.action != Open {
		t.Error("a double click does not open")
	}
}
