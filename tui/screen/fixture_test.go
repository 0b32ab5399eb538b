package screen

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/tuitest"
)

// deck holds the panes of the screen, followed by their indices in it.
var (
	deck = pane.NewDeck(Panes)

	idPhases        = deck.Find("phases")
	idPicture       = deck.Find("reconstruction")
	idCaches        = deck.Find("caches")
	idLoss          = deck.Find("loss")
	idEffects       = deck.Find("effects")
	idIterationTime = deck.Find("iteration time")
	idKSpace        = deck.Find("k-space")
	idMemory        = deck.Find("memory")
	idQuality       = deck.Find("quality")
	idSamples       = deck.Find("samples")
	idLog           = deck.Find("log")
	idSettings      = deck.Find("settings")
	idAblation      = deck.Find("ablation")
	idThroughput    = deck.Find("throughput")
	idFootprint     = deck.Find("footprint")
	idPhase         = deck.Find("phase")
	idSlices        = deck.Find("slices")
	idRaw           = deck.Find("raw")
	idTasks         = deck.Find("task list")
	idTaskLosses    = deck.Find("task losses")
	idDiffraction   = deck.Find("diffraction")
	idGPU           = deck.Find("gpu")
	idProgress      = deck.Find("quality and loss")
	idOutput        = deck.Find("output")
	idRanks         = deck.Find("ranks")
)

// screen returns a model of the given size that has received snapshots.
func screen(t testing.TB, w, h int, o Options, profile colorprofile.Profile, snaps ...*profiles.Snapshot) (*Model, *tuitest.Recorder) {
	t.Helper()
	r := tuitest.NewRecorder()
	if o.Now == nil {
		at := time.Unix(1e9, 0)
		o.Now = func() time.Time { return at }
	}
	o.Cores = 2
	if o.Settings.Table() == nil {
		o.Settings = tuitest.Running().Settings
	}
	m := New(r, o)
	m.Update(tea.ColorProfileMsg{Profile: profile})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	for _, s := range snaps {
		m.Update(snapshotMsg{s})
	}
	if m.crash != nil {
		t.Fatal(m.crash)
	}
	return m, r
}

// pressed returns a key press as Bubble Tea delivers it.
func pressed(name string) tea.KeyPressMsg {
	switch name {
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "up":
		return upKey
	case "down":
		return downKey
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: rune(name[0]), Text: name}
}

// settingsUnderTest is the interface of the settings pane used by tests.
type settingsUnderTest interface {
	pane.Pane
	pane.Editor
	Select(key string)
	Selected() string
	Written() string
}

// settingsIn returns the settings pane of a screen.
func settingsIn(m *Model) settingsUnderTest { return m.panes[idSettings].(settingsUnderTest) }

// arrange changes to an arrangement of panes.
func arrange(m *Model, name string) {
	m.preset = name
	m.relay()
	m.stale = true
	m.Update(secondMsg{})
}

// showOrHide does to a pane what its key in the list of panes does.
func showOrHide(m *Model, id layout.Pane) {
	c := newChooser(&m.tiling, &m.answers, m.keys)
	c.row = int(id)
	c.showOrHide()
}

// over returns the open overlay of a kind, its zero value if there is none.
func over[T overlay](m *Model) T {
	o, _ := opened[T](&m.overlays)
	return o
}

// lies reports whether an overlay of a kind is open.
func lies[T overlay](m *Model) bool {
	_, open := opened[T](&m.overlays)
	return open
}

// oneOf returns n where tests are not exhaustive, which then take one of n sizes, panes or keys, and else 1.
func oneOf(n int) int {
	if profilestest.Exhaustive() {
		return 1
	}
	return n
}
