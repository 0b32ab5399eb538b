package screen

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// sortTable is the settings of a run that shares few with PRISM.
var sortTable = settings.NewTable("sort", nil,
	settings.Text("How it sorts", "order", "order of the keys", "plain", "folded", "natural").Live().Called("order", 'm').
		Press("m", settings.MoveToggle, "order: plain or another").Foremost(1).
		Listed(1, "by bytes", "without case", "numbers by value"),
	settings.Switch("How it sorts", "stable", "keep equal keys in place").Live().Called("stable", 'f').
		Press("f", settings.MoveNext, "stable order").Foremost(2),
	settings.Integer("Limits", "max_files", "", "files to sort; 0 is all", 0, 1000).Live().Limit().Words("", "every one").
		Called("last file", 'j').Press("j", settings.MoveBefore, "one file less").Press("J", settings.MoveNext, "one file more"),
	settings.Text("The files", "folder", "where the files are").Words("this one", ""),
)

// sorting returns a run of another workload.
func sorting() *profiles.Snapshot {
	s := tuitest.Running()
	s.Run.Schema.Unit, s.Changes, s.Effects = profiles.Unit{One: "file", Many: "files"}, nil, nil
	s.Settings = tuitest.Having(sortTable.Zero(), "order", "plain")
	return s
}

// The keys are those of the run's settings, and change with the run on screen.
func TestKeysAreOfTheSettingsOfTheRun(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "m", "b", "1", ".")
	m.status = status{}
	s := sorting()
	m.Update(snapshotMsg{s})
	if lies[*valueList](m) || m.bookmarks.slots[0] != nil || len(m.wishes) != 0 {
		t.Error("what was asked of the run before outlives it")
	}
	footer := footerOf(m)
	for _, want := range []string{"m order plain", "f stable"} {
		if !strings.Contains(footer, want) {
			t.Errorf("the footer lacks %q: %s", want, footer)
		}
	}
	for _, gone := range []string{"lr", "threads", "AMP", "ablate"} {
		if strings.Contains(footer, gone) {
			t.Errorf("the footer offers %q: %s", gone, footer)
		}
	}
	before := len(r.Called())
	press(m, "m")
	m.Update(snapshotMsg{otherwise(s, "order", "folded")})
	press(m, "m")
	m.Update(snapshotMsg{otherwise(s, "order", "plain")})
	press(m, ".", "3")
	m.Update(snapshotMsg{otherwise(s, "order", "natural")})
	press(m, "m")
	m.Update(snapshotMsg{otherwise(s, "order", "plain")})
	press(m, "m", "f", "j", "J")
	want := []string{"Set order folded", "Set order plain", "Set order natural", "Set order plain", "Set order natural",
		"Set stable true", "Set max_files 99", "Set max_files 0"}
	if got := r.Called()[before:]; !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	if got := m.status.text; got != "last file: 99 → every one" {
		t.Errorf("the answer is %q", got)
	}
	for _, key := range []string{"a", "l", "A", "U", "+", "k"} {
		if press(m, key); !strings.Contains(m.status.text, key+" has no meaning here") {
			t.Errorf("%s says %q", key, m.status.text)
		}
	}
	m.Update(snapshotMsg{tuitest.Running()})
	if press(m, "l"); !strings.Contains(m.status.text, "lr: ") {
		t.Errorf("l of PRISM again says %q", m.status.text)
	}
}

// otherwise returns a snapshot of the same run with other settings.
func otherwise(s *profiles.Snapshot, pairs ...string) *profiles.Snapshot {
	other := *s
	tuitest.Set(&other, pairs...)
	return &other
}

// Every pane and list can be drawn for a run with other settings, and for one without any.
func TestPanesOfARunWithOtherSettings(t *testing.T) {
	profilestest.OneGoroutine(t)
	none := sorting()
	none.Settings = settings.Values{}
	for _, s := range []*profiles.Snapshot{sorting(), none} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
			m, _ := screen(t, size[0], size[1], Options{Settings: s.Settings}, colorprofile.ANSI256, s)
			if s == none { // for which screen would use PRISM's
				m = New(tuitest.NewRecorder(), Options{Now: m.now})
				m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				m.Update(snapshotMsg{s})
			}
			for id := range layout.Pane(len(Panes)) {
				m.openPane(layout.Pane(id))
				press(m, "enter", "right", "esc", "v", "?", "?", "?")
				checkFrame(t, m, size[0], size[1])
			}
			if m.crash != nil {
				t.Fatal(m.crash)
			}
		}
	}
	m, _ := screen(t, 120, 40, Options{Settings: sorting().Settings}, colorprofile.ANSI256, sorting())
	press(m, ",")
	frame := frameOf(m)
	for _, want := range []string{"How it sorts", "every one", "this one", "Read at the start"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the settings lack %q:\n%s", want, frame)
		}
	}
}

func TestTextsNameTheKeysOfTheRun(t *testing.T) {
	if got := bindingsOf(prism.Table, everyKind(), nil).Handy(); got != "m a f g p c" {
		t.Errorf("PRISM's are %q", got)
	}
	sort := bindingsOf(sortTable, everyKind(), nil)
	if got := sort.Handy(); got != "m f" {
		t.Errorf("others are %q", got)
	}
	if got := sort.Of("choose order"); got != "." {
		t.Errorf("the list's is %q", got)
	}
	if got := sort.Of("switch fft_cache"); got != "" {
		t.Errorf("a setting that is not there has %q", got)
	}
	for _, part := range sort.Manual() {
		for _, r := range part.Rows {
			if strings.Contains(r.Help, "ablation:") || strings.Contains(r.Help, "learning rate") {
				t.Errorf("the manual has %v: %s", r.Keys, r.Help)
			}
		}
	}
}
