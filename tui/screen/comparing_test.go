package screen

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/tui/tuitest"
)

// combined returns a run with a factorial ablation after a number of rounds, of times with little
// noise in which pruning works only with the fused telescope, or on its own.
func combined(t testing.TB, rounds int, interact, running bool, names ...string) *profiles.Snapshot {
	t.Helper()
	s := whole(t)
	factors, err := s.Settings.Table().ParseFactors(names)
	if err != nil {
		t.Fatal(err)
	}
	effects := map[string]float64{"caches": 0.88, "fused_telescope": 0.62, "pruned_fft": 0.81, "amp=bf16": 1.27, "checkpointing": 1.08}
	random := rand.New(rand.NewPCG(2, 4))
	times := make([][]float64, rounds)
	for r := range times {
		times[r] = make([]float64, 1<<len(factors))
		for on := range times[r] {
			ms, fused := 9.4, false
			for i, f := range factors {
				if on>>i&1 == 0 {
					continue
				}
				fused = fused || f.Name == "fused_telescope"
				if f.Name != "pruned_fft" || fused || !interact {
					ms *= 1 + (effects[f.Name]-1)*math.Pow(0.98, float64(i))
				}
			}
			times[r][on] = 1e6 * ms * math.Exp(0.006*random.NormFloat64())
		}
	}
	table := ablation.Analyse(factors, times)
	table.Notes, table.Final = make([]string, len(factors)), !running
	table.Notes[0] = "asked once per sample in the trainer pattern"
	cells := 1 << len(factors)
	s.Ablation = &profiles.Ablation{
		Running: running, Base: s.Settings, Work: "later samples", Rounds: 24, Done: rounds*cells + 3, Groups: 24 * cells, Now: 3, Warmup: 3,
		Spent: time.Duration(rounds) * 2 * time.Second, Left: time.Duration(24-rounds) * 2 * time.Second, LeftKnown: true, Factorial: &table,
	}
	if !running {
		s.Ablation.Ended, s.Ablation.Now, s.Ablation.Done = "complete", -1, rounds*cells
	}
	return s
}

func TestGoldenFactorials(t *testing.T) {
	refused := combined(t, 0, false, false, "caches", "amp")
	refused.Ablation.Ended = "amp = bf16: this machine has no such kernels"
	for _, tt := range []struct {
		name string
		w, h int
		snap *profiles.Snapshot
	}{
		{"factorial-begun-80x24", 80, 24, combined(t, 0, true, true, "default")},
		{"factorial-running-80x24", 80, 24, combined(t, 6, true, true, "default")},
		{"factorial-80x24", 80, 24, combined(t, 24, true, false, "default")},
		{"factorial-120x40", 120, 40, combined(t, 24, true, false, "default")},
		{"factorial-200x60", 200, 60, combined(t, 24, true, false, "default")},
		{"factorial-multiplies-80x24", 80, 24, combined(t, 24, false, false, "caches", "fused_telescope", "amp=bf16")},
		{"factorial-multiplies-120x40", 120, 40, combined(t, 24, false, false, "caches", "fused_telescope", "amp=bf16")},
		{"factorial-five-80x24", 80, 24, combined(t, 24, true, false, "caches", "fused_telescope", "pruned_fft", "amp", "checkpointing")},
		{"factorial-refused-80x24", 80, 24, refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, Options{}, colorprofile.ANSI256, tt.snap)
			m.openPane(idAblation)
			m.compose()
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

// After a comparison of everything the pane of the ablation has the acceptance list, with reasons where there is
// room for all of them.
func TestGoldenAcceptanceLists(t *testing.T) {
	for _, tt := range []struct {
		name string
		w, h int
		zoom bool
	}{{"acceptance-60x15", 60, 15, true}, {"acceptance-80x24", 80, 24, true}, {"acceptance-120x40", 120, 40, false}, {"acceptance-200x60", 200, 60, true}} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, Options{}, colorprofile.ANSI256, tuitest.Switched())
			m.openPane(idAblation)
			if tt.zoom && !m.zoomed {
				press(m, "z")
			}
			m.compose()
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

// The list of ablations has the settings of the run's table, and holds every size.
func TestGoldenListOfAblations(t *testing.T) {
	for _, tt := range []struct {
		name string
		w, h int
		keys []string
	}{
		{"ablations-80x24", 80, 24, []string{"A"}},
		{"ablations-120x40", 120, 40, []string{"A", "down", "down", "space", "down", "space"}},
		{"ablations-60x15", 60, 15, []string{"A", "up"}},
		{"ablations-note-60x15", 60, 15, []string{"A", "down"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, Options{}, colorprofile.ANSI256, whole(t))
			press(m, tt.keys...)
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

// Every size holds the table of a factorial, in every state.
func TestFactorialsHoldEverySize(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	for _, s := range []*profiles.Snapshot{combined(t, 0, true, true, "default"), combined(t, 24, true, false, "default"),
		combined(t, 12, true, true, "caches", "fused_telescope", "pruned_fft", "amp", "checkpointing")} {
		for w := 1; w <= 210; w += 13 {
			for h := 1 + 7*(w%oneOf(3)); h <= 70; h += 7 * oneOf(3) {
				m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, s)
				m.openPane(idAblation)
				m.compose()
				checkFrame(t, m, w, h)
				press(m, "?")
				checkFrame(t, m, w, h)
			}
		}
	}
}

// A factorial has two to five settings, no two of which switch the same one; the chosen ones are
// remembered when it starts.
func TestSettingsOfAFactorialAreChosen(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	press(m, "A")
	if !strings.Contains(frameOf(m), "all combinations of 4") {
		t.Errorf("the default is not chosen:\n%s", frameOf(m))
	}
	for range 2 {
		press(m, "down")
	}
	press(m, "space") // without the caches
	for range 5 {     // to fused_telescope
		press(m, "down")
	}
	press(m, "space", "down", "space", "enter") // amp alone is left
	if got := m.status.text; !strings.Contains(got, "choose 2 to 5 settings") || !lies[*comparing](m) || r.Called() != nil {
		t.Errorf("says %q, called %q", got, r.Called())
	}
	press(m, "down", "space", "down", "space", "enter") // fused_optimizer and checkpointing
	want := "StartFactorial fused_optimizer checkpointing amp=bf16"
	if got := r.Called(); !slices.Equal(got, []string{want}) || lies[*comparing](m) || m.focus != idAblation {
		t.Errorf("called %q, want %q", got, want)
	}
	press(m, "A", "A", "down", "enter")
	if got := r.Called(); got[len(got)-1] != want {
		t.Errorf("again called %q, want %q", got, want)
	}
	text, err := m.keep.text()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := parseRemembered("screen.toml", text, m.deck); err != nil || !slices.Equal(back.Factorial["prism"], []string{"fused_optimizer", "checkpointing", "amp=bf16"}) {
		t.Errorf("remembered %v, %v", back.Factorial, err)
	}
}

// At most five settings are chosen, and another value of one replaces the first.
func TestAFactorialIsBounded(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	m.keep.chooseFactorial("prism", []string{"amp=bf16", "no such setting"})
	press(m, "A", "up", "space") // amp=fp16 instead of bf16
	for range 5 {                // up to pruned_fft
		press(m, "up", "space")
	}
	if want, got := []string{"pruned_fft", "fused_optimizer", "checkpointing", "amp=bf16"}, over[*comparing](m).Names(); !slices.Equal(got, want) {
		t.Errorf("chosen %q, want %q", got, want)
	}
	press(m, "up", "space", "up", "space")
	if got := m.status.text; !strings.Contains(got, "at most 5") {
		t.Errorf("says %q with %q", got, over[*comparing](m).Names())
	}
	press(m, "enter")
	if got := r.Called(); len(got) != 1 || len(strings.Fields(got[0])) != 1+settings.MostFactors {
		t.Errorf("called %q", got)
	}
}

// A refusal is shown, and the list of a run that ends closes.
func TestAFactorialIsRefused(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, whole(t))
	r.Refuse = errors.New("amp = bf16: not on this machine")
	press(m, "A", "down", "enter")
	if got := m.status.text; got != "no ablation: amp = bf16: not on this machine" || m.experiments.running() {
		t.Errorf("says %q", got)
	}
	press(m, "A")
	m.Update(snapshotMsg{tuitest.Finished()})
	if lies[*comparing](m) {
		t.Error("the list of a run that is over is open")
	}
}
