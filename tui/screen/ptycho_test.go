package screen

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/ptycho/inference"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// inferring is an inference whose auto-tuner has compared a few batch sizes, with a limit of memory.
func inferring(t *testing.T, sets ...string) *profiles.Snapshot {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{inference.Presets()}, Preset: "ptycho", Sets: append(sets, "memory_limit_mb=128")})
	if err != nil {
		t.Fatal(err)
	}
	running := tuitest.Running()
	s := &profiles.Snapshot{
		Run: profiles.RunInfo{
			Schema: inference.Schema(), Object: "N=64 C=1", Device: "cpu", Kernels: "avx512", GPUReason: "no CUDA device", Parameters: 2331772,
			Seed: 42, Units: 10000, Able: profiles.Every().Without(profiles.TraceCommand, profiles.ForkCommand, profiles.CheckpointCommand, profiles.ClearCommand),
		},
		Settings: v, State: profiles.Running, Elapsed: 83 * time.Second, Index: 412, Unit: 27, InUnit: 3, Rate: 3.1,
		Total: running.Total, IterationTime: running.IterationTime, Clock: running.Clock, Log: []profiles.LogLine{{Text: "auto-tuner began at batch_size = 32"}},
	}
	for i := range s.Series {
		s.Series[i].Latest = math.NaN()
	}
	tuitest.Latest(s, s.Run.Schema.SeriesNamed("images_per_s"), 96.4)
	tuitest.Latest(s, s.Run.Schema.SeriesNamed("psnr_db"), 10.3)
	tuitest.Latest(s, s.Run.Schema.SeriesNamed("rmse_percent"), 49.5)
	tuitest.Latest(s, s.Run.Schema.SeriesNamed("phase_error_rad"), 0.412)
	for p, share := range []float64{0.001, 0, 0.001, 0.993, 0.003, 0.002} {
		s.Phases[p] = profiles.PhaseView{Spread: profiles.Spread{Median: 330e6 * share, Mean: 330e6 * share, P95: 360e6 * share, N: 40}, Share: share}
	}
	s.Total.Median, s.Total.P95 = 330e6, 360e6
	for i, size := range []int{1, 4, 8, 16, 32, 48, 64} {
		rate := 100 * (1 - math.Exp(-float64(size)/6))
		b := profiles.BatchView{Size: size, Iterations: 90, Stretches: 12, PerSecond: rate, Low: 0.97 * rate, High: 1.02 * rate,
			Latency: float64(size) / rate * 1e9, Bytes: int64(20+2*size) << 20}
		if i == 0 {
			b.Stretches, b.Low, b.High = 2, 0, math.Inf(1)
		}
		s.Batches = append(s.Batches, b)
	}
	s.Memory.Parts = [profiles.MaxMemory]int64{9 << 20, 66 << 20, 1 << 20, 1 << 20, 8 << 20, 2 << 20, 34 << 20}
	s.Memory.RSS, s.Memory.PeakRSS = 160<<20, 171<<20
	row := func(off, on, groups int, effect float64) profiles.AblationRow {
		return profiles.AblationRow{Key: settings.BatchSize, Off: fmt.Sprint(off), On: fmt.Sprint(on), OffNS: 10.4e6, OnNS: 10.4e6 * (1 + effect), Effect: effect,
			Low: effect - 0.01, High: effect + 0.01, Groups: groups, Sequential: true, Iterations: 6 * groups, OffBytes: 84 << 20, OnBytes: 116 << 20, HasMemory: true,
			Quality: math.NaN(), QualityLow: math.Inf(-1), QualityHigh: math.Inf(1)}
	}
	s.Ablation = &profiles.Ablation{
		Running: true, Base: v, Rounds: 120, Groups: 120, Done: 7, Now: 1, Warmup: 1, Work: "batches", Spent: 40 * time.Second,
		Rows:   []profiles.AblationRow{row(16, 32, 12, -0.04), row(32, 64, 7, 0.003)},
		Tuning: &profiles.Tuning{From: 16, Best: 32, Candidate: 64, FlatFrom: 32, FlatTo: 32, Refused: "batch_size = 768: too many"},
	}
	s.Ablation.Rows[0].Final = true
	side := 16
	picture := func(id int) *profiles.Picture {
		p := &profiles.Picture{ID: id, Width: side, Height: side, Pixels: make([]float32, side*side)}
		for i := range p.Pixels {
			p.Pixels[i] = float32(i%side) / float32(side)
		}
		return p
	}
	for id := range s.Run.Schema.Pictures {
		s.Pictures[id] = picture(id)
	}
	return s
}

// tuned is inferring after the search.
func tuned(t *testing.T) *profiles.Snapshot {
	s := inferring(t)
	a := *s.Ablation
	tuning := *a.Tuning
	a.Running, a.Ended, a.Now, a.Tuning = false, "flat from 32 to 64: takes 32", -1, &tuning
	tuning.Chosen, tuning.Candidate, tuning.FlatTo = 32, 0, 64
	s.Ablation = &a
	return s
}

// untrained is inferring with seeded weights, whose pictures are compared with nothing.
func untrained(t *testing.T) *profiles.Snapshot {
	s := inferring(t)
	s.Run.Caveat = profiles.Caution{Text: "seeded weights: no reconstruction", Remedy: "prismtop ptycho train trains them"}
	for _, name := range []string{"psnr_db", "rmse_percent", "phase_error_rad"} {
		s.Series[s.Run.Schema.SeriesNamed(name)] = profiles.SeriesView{Latest: math.NaN()}
	}
	return s
}

// A run of seeded weights says so beside its pictures, and how to train them, at every size.
func TestSeededWeightsAreNoReconstruction(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		s := untrained(t)
		m, _ := screen(t, size[0], size[1], Options{Settings: s.Settings}, colorprofile.ANSI256, s)
		for id, want := range map[layout.Pane]string{idPicture: "seeded weights", idPhase: "seeded weights", idQuality: "prismtop ptycho train"} {
			m.setFocus(id)
			m.toggleZoom()
			m.panes[id].Press("v")
			m.Update(snapshotMsg{s})
			checkFrame(t, m, size[0], size[1])
			if text := ansi.Strip(m.View().Content); !strings.Contains(text, want) || strings.Contains(text, "PSNR 10") {
				t.Errorf("%v: %s does not say %q:\n%s", size, deck.Panes[id].Name, want, text)
			}
			m.toggleZoom()
		}
	}
}

func TestGoldenInferences(t *testing.T) {
	for _, tt := range []struct {
		name string
		w, h int
		snap *profiles.Snapshot
	}{
		{"ptycho-80x24", 80, 24, inferring(t)}, {"ptycho-120x40", 120, 40, inferring(t)}, {"ptycho-200x60", 200, 60, inferring(t)},
		{"ptycho-tuned-120x40", 120, 40, tuned(t)}, {"ptycho-untrained-80x24", 80, 24, untrained(t)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, Options{Settings: tt.snap.Settings}, colorprofile.ANSI256, tt.snap)
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

// Every view of the panes of batches fits into every size, and the keys of the batch size ask for
// the double and the half of it.
func TestPanesOfBatchesFit(t *testing.T) {
	for _, name := range []string{"throughput", "footprint"} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
			for _, s := range []*profiles.Snapshot{inferring(t), tuned(t), inferring(t, "auto_tune=true")} {
				m, _ := screen(t, size[0], size[1], Options{Settings: s.Settings}, colorprofile.ANSI256, s)
				m.openPane(deck.Find(name))
				m.toggleZoom()
				for range 5 {
					checkFrame(t, m, size[0], size[1])
					m.Update(pressed("v"))
				}
			}
		}
	}
	s := tuned(t)
	m, r := screen(t, 120, 40, Options{Settings: s.Settings}, colorprofile.ANSI256, s)
	for _, key := range []string{"]", "t"} {
		m.Update(pressed(key))
	}
	if got, want := r.Called(), []string{"Set batch_size 64", "Set auto_tune true"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the keys ask for %q, want %q", got, want)
	}
}
