package screen

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

var (
	upKey    = tea.KeyPressMsg{Code: tea.KeyUp}
	downKey  = tea.KeyPressMsg{Code: tea.KeyDown}
	rightKey = tea.KeyPressMsg{Code: tea.KeyRight}
	leftKey  = tea.KeyPressMsg{Code: tea.KeyLeft}
)

// obeyed returns the run's next snapshot, with all requests in force.
func obeyed(m *Model, s *profiles.Snapshot) *profiles.Snapshot {
	next := *s
	next.Settings = next.Settings.Settled()
	for key, w := range m.wishes {
		next.Settings, _ = next.Settings.Set(key, w.value)
		if key == "learning_rate" {
			tuitest.Latest(&next, prism.SeriesLearningRate, parseNumber(w.value))
		}
	}
	next.Settings = next.Settings.Settled()
	m.Update(snapshotMsg{&next})
	return &next
}

// whole returns a running run with the settings of a preset, all of which are valid.
func whole(t testing.TB) *profiles.Snapshot {
	t.Helper()
	s := tuitest.Running()
	baseline, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{prism.Presets()}, Preset: "baseline", Sets: []string{"amp=bf16", "pattern=remeasure", "mask_cache=false", "threads=2"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Settings = baseline
	tuitest.Latest(s, prism.SeriesLearningRate, baseline.Number("learning_rate"))
	return s
}

func TestTuningKeysAskTheRun(t *testing.T) {
	for _, tt := range []struct {
		keys  []string
		calls []string
	}{
		{[]string{"k", "k"}, []string{"Set loss l2", "Set loss ssim"}},
		{[]string{"k", "K", "K"}, []string{"Set loss l2", "Set loss l1", "Set loss composite"}},
		{[]string{"N"}, []string{"Set normalize_loss false"}},
		{[]string{"t", "t"}, []string{"Set threshold 0.0025", "Set threshold 0.00125"}},
		{[]string{"T"}, []string{"Set threshold 0.01"}},
		{[]string{"H"}, []string{"Set scheduler plateau"}},
		{[]string{"[", "]"}, []string{"Set iterations 500", "Set iterations 1000"}},
		{[]string{"j", "j", "J", "J", "J"}, []string{"Set max_samples 99", "Set max_samples 98", "Set max_samples 99", "Set max_samples 0"}},
		{[]string{"S", "F", "e", "y"}, []string{"Set shared_spectrum false", "Set fused_telescope false", "Set pruned_fft false", "Set layer_profile true"}},
		{[]string{"U"}, []string{"Set device cuda"}},
		{[]string{"O", "ctrl+u", "7", "enter"}, []string{"Set cycles 7"}},
		{[]string{"G", "ctrl+u", "6", "4", "enter"}, []string{"Set measurement_cache_mb 64"}},
		{[]string{"Z", "ctrl+u", "9", "0", "esc"}, nil},
		{[]string{"A"}, nil},
		{[]string{"A", "esc"}, nil},
		{[]string{"A", "enter"}, []string{"StartAblation"}},
		{[]string{"A", "A", "A"}, []string{"StartAblation", "StopAblation"}},
		{[]string{"A", "enter", "esc"}, []string{"StartAblation", "StopAblation"}},
		{[]string{"A", "down", "enter"}, []string{"StartFactorial caches fused_telescope pruned_fft amp=bf16"}},
		{[]string{"A", "down", "A", "esc"}, []string{"StartFactorial caches fused_telescope pruned_fft amp=bf16", "StopAblation"}},
		{[]string{"*"}, []string{"Replicate [{measurement_cache false} {fft_cache false} {mask_cache false} {shared_spectrum false} {fused_telescope false} {pruned_fft false} {fused_optimizer false}] from -1"}},
		{[]string{"A", "down", "down", "space", "down", "space", "enter"}, []string{"StartFactorial measurement_cache fused_telescope pruned_fft amp=bf16"}},
	} {
		m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
		press(m, tt.keys...)
		if got := r.Called(); !slices.Equal(got, tt.calls) {
			t.Errorf("%v called %q, want %q", tt.keys, got, tt.calls)
		}
		checkFrame(t, m, 120, 40)
	}
}

// The weights of the composite loss sum to 1: changing one changes all three together.
func TestWeightsChangeTogether(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "W", "ctrl+u", "0", ".", "5", "enter")
	calls := r.Called()
	if len(calls) != 1 || !strings.HasPrefix(calls[0], "SetMany composite_l1=0.5 ") {
		t.Fatalf("called %q", calls)
	}
	sum := 0.0
	for _, w := range prism.Table.Roles().Weights {
		sum += parseNumber(m.asked(w))
	}
	if math.Abs(sum-1) > 0.01 {
		t.Errorf("the weights sum to %g: %s", sum, calls[0])
	}
}

func TestEveryLiveSettingHasAKeyAndARow(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	p := settingsIn(m)
	for _, k := range prism.Table.Keys() {
		if p.Select(k.Name); p.Selected() != k.Name {
			t.Errorf("%s has no row", k.Name)
		}
		keys := strings.NewReplacer("−", "-").Replace(m.keys.Changes(k.Name))
		if k.Live && keys == "" {
			t.Errorf("%s has no key", k.Name)
		}
		for _, key := range strings.Fields(keys) {
			m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
			press(m, key)
			if lies[*typing](m) {
				if over[*typing](m).key.Name != k.Name || m.focus != layout.None {
					t.Errorf("%s opens %q", key, over[*typing](m).key.Name)
				}
			} else if calls := r.Called(); key != "J" && (len(calls) != 1 || !strings.Contains(calls[0], "Set "+k.Name+" ")) {
				t.Errorf("%s of %s called %q", key, k.Name, calls)
			}
		}
	}
}

func TestSettingsPaneSelectsAndChanges(t *testing.T) {
	s := whole(t)
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, r := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		press(m, ",")
		p := settingsIn(m)
		for _, k := range []string{"fused_telescope", "amp", "threshold", "size"} {
			p.Select(k)
			checkFrame(t, m, size[0], size[1])
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, k) {
				t.Errorf("%v: %s is not in view:\n%s", size, k, frame)
			}
			m.Update(rightKey)
			m.Update(leftKey)
		}
		want := []string{"Set fused_telescope false", "Set fused_telescope true", "Set amp bf16x3", "Set amp bf16", "Set threshold 0.01", "Set threshold 0.005",
			"Set size 1024", "Set size 512"}
		if got := r.Called(); !slices.Equal(got, want) {
			t.Errorf("%v: called %q, want %q", size, got, want)
		}
		if got := lastLine(m); !strings.Contains(got, "size: 1024 → 512, as this run has it") {
			t.Errorf("%v: the footer says %q", size, got)
		}
		for range 100 {
			m.Update(downKey)
		}
		for range 100 {
			m.Update(upKey)
		}
		checkFrame(t, m, size[0], size[1])
		press(m, ",")
		if m.focus != layout.None || m.zoomed {
			t.Errorf("%v: , leaves the settings open", size)
		}
	}
}

// An invalid value stays for correction, with the key and the valid values shown; keys of the
// screen are letters while a value is typed.
func TestAWrongValueSaysWhatWouldBeRight(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, ",")
	p := settingsIn(m)
	p.Select("learning_rate")
	press(m, "enter", "ctrl+u", "-", "3", "enter")
	frame := ansi.Strip(m.View().Content)
	if !strings.Contains(frame, "learning_rate = -3: must be a number above 0") || !p.Editing() {
		t.Errorf("the pane says:\n%s", frame)
	}
	r.Refuse = errors.New("the machine says no")
	press(m, "ctrl+u", "0", ".", "0", "2", "enter")
	if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "the machine says no") {
		t.Errorf("the pane says:\n%s", frame)
	}
	r.Refuse = nil
	press(m, "ctrl+u", "1", "q", "space", "esc")
	if p.Editing() || lies[quitting](m) {
		t.Error("esc did not leave the value, or q quit")
	}
	press(m, "enter", "ctrl+u", "0", ".", "0", "2", "enter")
	if got := r.Called(); got[len(got)-1] != "Set learning_rate 0.02" || p.Editing() {
		t.Errorf("called %q", got)
	}
	if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "→ 2.0e-02") {
		t.Errorf("what was asked for is not shown:\n%s", frame)
	}
}

func TestUndoGoesBackOneChangeAfterAnother(t *testing.T) {
	s := whole(t)
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "u")
	if got := lastLine(m); !strings.Contains(got, "nothing to undo") {
		t.Errorf("the footer says %q", got)
	}
	press(m, "m")
	s = obeyed(m, s)
	press(m, ".", "3", ".", "4")
	s = obeyed(m, s)
	s.Run.PriorStarts++ // a restart keeps the settings and the undo history
	m.Update(snapshotMsg{s})
	var said []string
	for range 3 {
		press(m, "u")
		said = append(said, lastLine(m))
		s = obeyed(m, s)
	}
	for i, want := range []string{"undone: AMP fp16 → bf16x3", "undone: AMP bf16x3 → bf16", "undone: meas. cache off → on"} {
		if !strings.Contains(said[i], want) {
			t.Errorf("undo %d says %q, want %q", i+1, said[i], want)
		}
	}
	want := []string{"Set measurement_cache false", "Set amp bf16x3", "Set amp fp16", "Set amp bf16x3", "Set amp bf16", "Set measurement_cache true"}
	if got := r.Called(); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	press(m, "m")
	refusal := *s // that the run finds only when it is to obey
	refusal.Log = append(slices.Clone(s.Log), profiles.LogLine{At: s.Elapsed, Text: "measurement_cache stays true: no", Refused: true})
	m.Update(snapshotMsg{&refusal})
	press(m, "u")
	if got := lastLine(m); !strings.Contains(got, "nothing to undo") {
		t.Errorf("after a refusal by the run the footer says %q", got)
	}
	r.Refuse = errors.New("no")
	press(m, "m", "u")
	if got := lastLine(m); !strings.Contains(got, "nothing to undo") {
		t.Errorf("after a refusal the footer says %q", got)
	}
}

func TestBookmarksFlipBetweenTwoConfigurations(t *testing.T) {
	s := whole(t)
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "3")
	if got := lastLine(m); !strings.Contains(got, "bookmark 3 is empty; b 3 keeps the present settings there") {
		t.Errorf("the footer says %q", got)
	}
	press(m, "b", "1")
	press(m, ".", "3", "m", "f")
	s = obeyed(m, s)
	for i, want := range []string{
		"SetMany measurement_cache=true fft_cache=true amp=bf16",
		"SetMany measurement_cache=false fft_cache=false amp=bf16x3",
		"SetMany measurement_cache=true fft_cache=true amp=bf16",
	} {
		press(m, "1")
		s = obeyed(m, s)
		if calls := r.Called(); calls[len(calls)-1] != want {
			t.Errorf("press %d called %q, want %q", i+1, calls[len(calls)-1], want)
		}
	}
	press(m, "u") // all changes together
	if calls := r.Called(); !strings.HasPrefix(calls[len(calls)-1], "SetMany measurement_cache=false") {
		t.Errorf("undo called %q", calls[len(calls)-1])
	}
	before := len(r.Called())
	press(m, "b", "m", "2") // another key cancels
	if got := r.Called(); len(got) != before+1 || m.bookmarks.slots[1] != nil {
		t.Errorf("called %q", got[before:])
	}
}

// ablated returns a run with an ablation, under way or ended.
func ablated(t testing.TB, running bool) *profiles.Snapshot {
	s := whole(t)
	inf := math.Inf(1)
	a := &profiles.Ablation{
		Running: running, Base: s.Settings, Work: "later samples", Rounds: 8, Done: 37, Groups: 88, Now: 4, Warmup: 3,
		Spent: 21 * time.Second, Left: 29 * time.Second, LeftKnown: true, Quality: s.Run.Schema.QualityInfo(),
	}
	row := func(key, off, on string, offMS, effect, low, high float64, groups int, memory int64, note string) {
		a.Rows = append(a.Rows, profiles.AblationRow{
			Key: key, Off: off, On: on, OffNS: offMS * 1e6, OnNS: offMS * (1 + effect) * 1e6, Effect: effect, Low: low, High: high,
			Groups: groups, Iterations: 40 * groups, OffBytes: 50e6, OnBytes: 50e6 + memory, HasMemory: groups > 0,
			Quality: 0.012, QualityLow: -0.1, QualityHigh: 0.1, QualityGroups: groups, Note: note,
		})
	}
	row("measurement_cache", "false", "true", 5.91, -0.24, -0.26, -0.22, 8, 1<<20, "")
	row("fft_cache", "false", "true", 5.5, 0.001, -0.012, 0.011, 8, 8192, "")
	row("fused_telescope", "false", "true", 9.8, -0.45, -0.47, -0.42, 7, 786432, "")
	row("checkpointing", "false", "true", 5.4, 0.14, 0.12, 0.17, 6, -2.8e6, "")
	row("amp", "off", "bf16", 5.4, 0.31, -inf, inf, 4, 11e6, "")
	row("amp", "off", "fp16", math.NaN(), math.NaN(), -inf, inf, 0, 0, "")
	row("pruned_fft", "false", "true", 5.4, 0, -0.001, 0.001, 8, 0, "only the fused telescope prunes, and it is off")
	if !running {
		a.Ended, a.Now, a.Done = "complete", -1, 88
	}
	s.Ablation = a
	return s
}

// While a comparison that makes way switches settings, the screen shows the user's settings, and keys start from those.
func TestKeysCountFromTheUsersSettingsDuringAComparison(t *testing.T) {
	s := ablated(t, true)
	s.Ablation.Tuning = &profiles.Tuning{}
	tuitest.Set(s, "measurement_cache", "false", "amp", "fp16")
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	press(m, "m", "a")
	if got := r.Called(); !slices.Equal(got, []string{"Set measurement_cache false", "Set amp off"}) {
		t.Errorf("called %q", got)
	}
	press(m, "A")
	if got := r.Called(); got[len(got)-1] != "StopAblation" {
		t.Errorf("called %q", got)
	}
}

func TestGoldenTuningScreens(t *testing.T) {
	changed := whole(t)
	changed.Changes = append(changed.Changes, profiles.Change{Key: "threshold", Before: "0.005", After: "0.0025", Iteration: 4100})
	for _, tt := range []struct {
		name string
		w, h int
		o    Options
		snap *profiles.Snapshot
		keys []string
	}{
		{"settings-80x24", 80, 24, Options{}, changed, []string{","}},
		{"settings-120x40", 120, 40, Options{Origins: settings.Origins{"amp": "flag --set"}}, changed, []string{",", ".", "3"}},
		{"settings-edit-80x24", 80, 24, Options{ASCII: true}, changed, []string{"G", "ctrl+u", "x", "enter"}},
		{"ablation-80x24", 80, 24, Options{}, ablated(t, true), []string{"A"}},
		{"ablation-120x40", 120, 40, Options{}, ablated(t, false), []string{"A"}},
		{"ablation-empty-80x24", 80, 24, Options{}, changed, []string{"A"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, tt.o, colorprofile.ANSI256, tt.snap)
			if strings.HasPrefix(tt.name, "ablation-") {
				m.openPane(idAblation)
				m.compose()
			} else {
				press(m, tt.keys...)
			}
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

func TestTuningPanesHoldEverySize(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	for _, s := range []*profiles.Snapshot{whole(t), ablated(t, true), tuitest.Preparing(), tuitest.Failed(), {}} {
		for w := 1; w <= 210; w += 13 {
			for h := 1 + 7*(w%oneOf(3)); h <= 70; h += 7 * oneOf(3) {
				m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, s)
				for _, id := range []layout.Pane{idSettings, idAblation} {
					m.openPane(id)
					m.compose()
					checkFrame(t, m, w, h)
				}
				press(m, ",", "enter", "9", "enter", "?")
				checkFrame(t, m, w, h)
			}
		}
	}
}

// However a value is typed, it is recognised in the form in which the run reports it.
func TestWhatWasAskedForIsKnownAgain(t *testing.T) {
	s := whole(t)
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	for range 12 { // the threshold becomes smaller than it is displayed
		press(m, "t")
	}
	press(m, ",")
	settingsIn(m).Select("learning_rate")
	press(m, "enter", "ctrl+u", "1", "e", "-", "5", "enter")
	settingsIn(m).Select("iterations")
	press(m, "enter", "ctrl+u", "2", "e", "3", "enter")
	if len(m.wishes) != 3 {
		t.Fatalf("asked for %v", m.wishes)
	}
	obeyed(m, s)
	if len(m.wishes) != 0 {
		t.Errorf("the run obeyed, and still wanted are %v", m.wishes)
	}
}

// A key at the end of a setting's range requests nothing and says so.
func TestANumberAtTheEndOfItsRangeStays(t *testing.T) {
	for value, key := range map[int]string{1: "[", math.MaxInt32: "]"} {
		s := whole(t)
		tuitest.Set(s, "iterations", strconv.Itoa(value))
		m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
		press(m, key)
		if got := r.Called(); got != nil {
			t.Errorf("%s at %d called %q", key, value, got)
		}
		if got, want := lastLine(m), fmt.Sprintf("iterations stays %d: must be a whole number", value); !strings.Contains(got, want) {
			t.Errorf("%s at %d: %q", key, value, got)
		}
	}
}
