// Package tuitest provides test fixtures for the packages below tui: runs in every state, a
// source that records its calls, and golden files.
package tuitest

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/theme"
)

// Recorder is a source with every capability. It records its calls, refuses those it is told to,
// and delivers the snapshots it is given.
type Recorder struct {
	mu     sync.Mutex
	calls  []string
	Refuse error
	Gone   error // no run is left
	Wrong  error // the error found by Check
	hung   bool  // Step never returns
	Feed   chan *profiles.Snapshot
}

// NewRecorder returns a source that refuses nothing.
func NewRecorder() *Recorder {
	return &Recorder{Feed: make(chan *profiles.Snapshot, 1)}
}

func (r *Recorder) note(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

// Change lets f change the recorder while it may be in use.
func (r *Recorder) Change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// Called returns the calls so far.
func (r *Recorder) Called() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.calls...)
}

// Able returns what the run of a snapshot is able to do.
func (r *Recorder) Able(s *profiles.Snapshot) profiles.Kinds { return s.Able() }

// Do records a command, and refuses it if Refuse, for a try Wrong or Gone, is set. A change of settings is recorded
// alike whether it is a press of a key or not.
func (r *Recorder) Do(c profiles.Command) error {
	r.mu.Lock()
	refuse, wrong, gone, hung := r.Refuse, r.Wrong, r.Gone, r.hung
	r.mu.Unlock()
	switch {
	case c.Kind == profiles.AttendCommand:
		return nil
	case c.Kind == profiles.RestartCommand && c.Try:
		return gone
	}
	call := map[profiles.CommandKind]string{
		profiles.SetCommand: "Set", profiles.DecideCommand: "Set", profiles.PauseCommand: "Pause",
		profiles.ResumeCommand: "Resume", profiles.StepCommand: "Step", profiles.RestartCommand: "Restart",
		profiles.AblateCommand: "StartAblation", profiles.StopAblationCommand: "StopAblation",
		profiles.ReplicateCommand: "Replicate", profiles.ForkCommand: "Fork",
		profiles.SaveCommand: "Save", profiles.CheckpointCommand: "Checkpoint", profiles.ClearCommand: "Clear",
		profiles.NoteCommand: "Annotate " + c.Text, profiles.StopCommand: "Stop",
	}[c.Kind]
	switch c.Kind {
	case profiles.SetCommand, profiles.DecideCommand:
		if c.Long() {
			for _, a := range c.Settings {
				r.note("Check " + a.Key + " " + a.Value)
			}
			return wrong
		}
		if len(c.Settings) == 1 {
			call += " " + c.Settings[0].Key + " " + c.Settings[0].Value
			break
		}
		call += "Many"
		for _, a := range c.Settings {
			call += " " + a.Key + "=" + a.Value
		}
	case profiles.AblateCommand:
		if len(c.Factors) > 0 {
			call = "StartFactorial"
		}
		for _, f := range c.Factors {
			call += " " + f.Name
		}
	case profiles.ReplicateCommand, profiles.ForkCommand:
		call += fmt.Sprint(" ", c.Settings, " from ", c.At)
	}
	r.note(call)
	switch c.Kind {
	case profiles.PauseCommand, profiles.ResumeCommand, profiles.StopCommand, profiles.StopAblationCommand:
		return nil
	case profiles.StepCommand:
		if hung {
			select {}
		}
		return nil
	}
	return refuse
}

// Hang makes the next step never return.
func (r *Recorder) Hang() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hung = true
}

// Formats lists two formats.
func (r *Recorder) Formats() []control.Format {
	return []control.Format{{Name: "chrome", About: "a timeline"}, {Name: "csv", About: "tables"}}
}

// Export records the request, and reports a file.
func (r *Recorder) Export(format string) ([]string, error) {
	r.note("Export " + format)
	if r.Refuse != nil {
		return nil, r.Refuse
	}
	return []string{"run." + format}, nil
}

// Snapshots delivers the snapshots sent to Feed.
func (r *Recorder) Snapshots() <-chan *profiles.Snapshot { return r.Feed }

// Noise returns the i-th element of a fixed sequence between 0 and 1.
func Noise(i int) float64 {
	v := math.Sin(float64(i)*12.9898) * 43758.5453
	return v - math.Floor(v)
}

// Moon returns a half-lit disc with craters, blurred like an early reconstruction.
func Moon(size int, detail float64) *profiles.Picture {
	p := &profiles.Picture{Iteration: 411, Width: size, Height: size, Pixels: make([]float32, size*size)}
	for y := range size {
		for x := range size {
			u, v := 2.2*(float64(x)+0.5)/float64(size)-1.1, 2.2*(float64(y)+0.5)/float64(size)-1.1
			d := u*u + v*v
			if d > 1 {
				continue
			}
			w := math.Max(0, 0.75*math.Sqrt(1-d)+0.55*u-0.2*v)
			for i := range 14 {
				cx, cy, r := 1.6*Noise(i)-0.8, 1.6*Noise(i+50)-0.8, 0.05+0.16*Noise(i+90)
				if q := math.Hypot(u-cx, v-cy) / r; q < 1.2 {
					w *= 1 + detail*0.5*(q*q-0.8)
				}
			}
			p.Pixels[y*size+x] = float32(math.Min(w, 1))
		}
	}
	return p
}

// Pictures are immutable once published: all snapshots share these two.
var (
	BlurredMoon = sync.OnceValue(func() *profiles.Picture { return Moon(128, 0.4) })
	SharpMoon   = sync.OnceValue(func() *profiles.Picture { return Moon(128, 1) })
)

// fermat returns n aperture centres on a disc (spec/prism.md §4).
func fermat(n int, reach float64) [][2]float64 {
	c := make([][2]float64, n)
	for k := range c {
		r, phi := reach/math.Sqrt(float64(n))*math.Sqrt(float64(k)), float64(k)*137.508*math.Pi/180
		c[k] = [2]float64{r * math.Sin(phi), r * math.Cos(phi)}
	}
	return c
}

// Curve returns a curve of buckets points, each covering a number of iterations.
func Curve(buckets, each int, f func(i int) (low, mean, high float64)) profiles.Curve {
	c := make(profiles.Curve, buckets)
	for i := range c {
		low, mean, high := f(i)
		c[i] = profiles.Point{First: int64(i * each), Last: int64((i+1)*each - 1), Min: low, Mean: mean, Max: high}
	}
	return c
}

func spread(ms float64) profiles.Spread {
	return profiles.Spread{Last: ms * 1.02e6, Mean: ms * 1.01e6, Median: ms * 1e6, P10: ms * 0.97e6, P95: ms * 1.16e6,
		P90: ms * 1.1e6, N: 400}
}

// Latest sets the latest value of a series in a snapshot.
func Latest(s *profiles.Snapshot, series int, v float64) {
	s.Series[series].Latest, s.Series[series].Has, s.Series[series].Iteration = v, true, s.Index-1
}

// LossesOf returns values of only the two losses.
func LossesOf(old, newest float64) profiles.Values {
	v := profiles.NoValues()
	v[prism.SeriesLossOld], v[prism.SeriesLossNew] = old, newest
	return v
}

// Running returns a run in the middle of the europa preset, after three changes.
func Running() *profiles.Snapshot {
	s := &profiles.Snapshot{
		Run: profiles.RunInfo{
			Object: "europa", Device: "cpu", Kernels: "avx512",
			GPUReason: "libcuda.so.1 not found",
			Schema:    prism.Schema(), Parameters: 2797431, Seed: 1, Units: 100,
			Able:     profiles.Every().Without(profiles.TraceCommand),
			Sampling: &profiles.Sampling{Size: 512, ObjectSize: 128, Centres: fermat(100, 256), PerSample: 1, Radius: 20},
			Notes:    []string{"europa.jpg: 900x700 padded to a square"},
			Cautions: prism.Cautions("cpu", "avx512"),
		},
		Settings: (&prism.Settings{
			Size: 512, ObjectSize: 128, Threshold: 5e-3, LearningRate: 1e-3, Pattern: "remeasure",
			MeasurementCache: true, FFTCache: true, AMP: "bf16", Threads: 2, Aperture: "circular",
		}).Values(),
		State: profiles.Running, Kind: prism.KindLaterSample,
		Elapsed: 102 * time.Second, ETA: 171 * time.Second, ETAKnown: true,
		Index: 4120, Unit: 37, InUnit: 12, Rate: 184.2,
		Pictures: [profiles.MaxPictures]*profiles.Picture{BlurredMoon(), SharpMoon()},
		Own: profiles.OwnCost{Aggregator: 0.001, Watching: profiles.WatchingCost{
			Measured: true, Known: true, Value: 0.0082, Low: 0.0031, High: 0.0138, Budget: 0.01,
			Period: 100 * time.Millisecond, Sparse: 1}},
	}
	Latest(s, prism.SeriesLossOld, 4.21e-3)
	Latest(s, prism.SeriesLossNew, 1.38e-2)
	Latest(s, prism.SeriesLearningRate, 1e-3)
	Latest(s, prism.SeriesPSNR, 24.31)
	Latest(s, prism.SeriesSSIM, 0.812)
	Latest(s, prism.SeriesRMSE, 11.4)
	Latest(s, prism.SeriesCoverage, 0.184)
	for id, ms := range []float64{1.21, 0.62, 0.18, 2.43, 1.02, 0.05} {
		s.Phases[id] = profiles.PhaseView{Spread: spread(ms), Share: ms / 5.51}
		s.Whole.Phases[id] = profiles.PhaseView{Spread: spread(1.3 * ms), Share: ms / 5.51}
	}
	s.Total, s.Whole.Total = spread(5.43), spread(1.3*5.43)
	s.Whole.Total.N = 4100
	s.IterationTime = Curve(206, 20, func(i int) (float64, float64, float64) {
		base := 7.9
		if i > 60 {
			base = 7.0
		}
		if i > 120 {
			base = 5.4
		}
		mean := base * (1 + 0.06*(Noise(i)-0.5))
		high := mean * (1.05 + 0.3*Noise(i+7)*Noise(i+3))
		if i == 88 {
			high = 41
		}
		return mean * (0.97 - 0.02*Noise(i+1)), mean, high
	})
	s.Series[prism.SeriesLossOld].Curve = Curve(206, 20, func(i int) (float64, float64, float64) {
		v := 0.09*math.Exp(-float64(i)/50) + 4e-3
		return v * 0.93, v * (1 + 0.1*Noise(i)), v * 1.2
	})
	s.Series[prism.SeriesLossNew].Curve = Curve(206, 20, func(i int) (float64, float64, float64) {
		v := (0.3*math.Exp(-float64(i)/60) + 1e-2) * (1 - 0.75*float64(i%8)/8)
		return v * 0.9, v, v * 1.2
	})
	s.Caches[prism.CacheMeasurement] = profiles.CacheView{CacheCounters: profiles.CacheCounters{
		Enabled: true, Hits: 985, Misses: 20, Entries: 20, Bytes: 20_971_520, Saved: 1_940e6}, RecentRate: 1,
		RecentN: 800}
	s.Caches[prism.CacheFFTPlans] = profiles.CacheView{CacheCounters: profiles.CacheCounters{
		Enabled: true, Hits: 16480, Misses: 1, Entries: 1, Bytes: 8192, Saved: 310e6}, RecentRate: 1, RecentN: 3200}
	s.Caches[prism.CacheMasks] = profiles.CacheView{CacheCounters: profiles.CacheCounters{Hits: 3000, Misses: 38,
		Entries: 38, Bytes: 38 << 18}}
	s.Memory = profiles.MemoryView{
		Memory: profiles.Memory{Parts: [profiles.MaxMemory]int64{11_189_724, 11_189_724, 22_379_448, 9_312_000,
			4_194_304, 3_145_728},
			Caches: 20_979_712},
		RSS: 212e6, PeakRSS: 240e6, GPUReason: "libcuda.so.1 not found",
	}
	s.Changes = []profiles.Change{
		{Key: "measurement_cache", Before: "false", After: "true", Iteration: 1210},
		{Key: "amp", Before: "off", After: "bf16", Iteration: 2410},
		{Key: "mask_cache", Before: "true", After: "false", Iteration: 4000},
	}
	s.Effects = []profiles.Effect{
		{Change: s.Changes[0], Enough: true, BeforeNS: 7.9e6, AfterNS: 7.0e6, Shift: -0.114, Low: -0.12, High: -0.10,
			NBefore: 400, NAfter: 400, QualityDrift: 0.31, HasQuality: true, Closed: true,
			Confounded: "sample advanced 9 → 10", Briefly: "sample advanced"},
		{Change: s.Changes[1], Enough: true, BeforeNS: 7.0e6, AfterNS: 5.4e6, Shift: -0.229, Low: -0.24, High: -0.22,
			NBefore: 400, NAfter: 412, QualityDrift: -0.002, HasQuality: true, Closed: true},
		{Change: s.Changes[2], Needed: 38, NBefore: 400, NAfter: 62},
	}
	return s
}

// Having returns settings with other values for some keys.
func Having(v settings.Values, pairs ...string) settings.Values {
	for i := 0; i < len(pairs); i += 2 {
		var err error
		if v, err = v.Set(pairs[i], pairs[i+1]); err != nil {
			panic(err)
		}
	}
	return v
}

// Set changes settings of a snapshot.
func Set(s *profiles.Snapshot, pairs ...string) { s.Settings = Having(s.Settings, pairs...) }

// Preparing returns a run that has not started.
func Preparing() *profiles.Snapshot {
	s := &profiles.Snapshot{Run: Running().Run, Settings: Running().Settings, State: profiles.Preparing, Unit: -1}
	for i := range s.Series {
		s.Series[i].Latest = math.NaN()
	}
	return s
}

// Paused returns Running, paused.
func Paused() *profiles.Snapshot {
	s := Running()
	s.State = profiles.Paused
	return s
}

// Finished returns Running at its end.
func Finished() *profiles.Snapshot {
	s := Running()
	s.State, s.Unit, s.Index = profiles.Finished, 99, 9876
	s.Effects[2].Closed, s.Effects[2].Ended = true, true
	for i := range 100 {
		s.Results = append(s.Results, profiles.UnitResult{Unit: int32(i), Converged: i%7 != 0, Threshold: 0.005})
	}
	Latest(s, prism.SeriesCoverage, 0.475)
	return s
}

// Failed returns Running, ended by an error.
func Failed() *profiles.Snapshot {
	s := Running()
	s.State, s.Err = profiles.Failed, "sample 37: the loss is not finite\ngoroutine 1 [running]:"
	s.Effects[2].Closed, s.Effects[2].Ended = true, true
	s.NonFinite = 3
	return s
}

// Trainer returns a run with a pattern for which the measurement cache cannot hit.
func Trainer() *profiles.Snapshot {
	s := Running()
	Set(s, "pattern", "trainer", "amp", "off")
	s.Caches[prism.CacheMeasurement].Hits, s.Caches[prism.CacheMeasurement].Misses = 0, 38
	s.Caches[prism.CacheMeasurement].Saved = -1.2e6
	s.Caches[prism.CacheMeasurement].RecentRate = 0
	s.Changes, s.Effects = nil, nil
	return s
}

// Cells returns the cells that a terminal of that size shows for a frame.
func Cells(frame string, w, h int) uv.ScreenBuffer {
	b := uv.NewScreenBuffer(w, h)
	uv.NewStyledString(frame).Draw(b, b.Bounds())
	return b
}

// Lines returns a pane's rows in 256 colours on a dark background.
func Lines(p interface{ Cells() *chart.Canvas }) []string {
	return p.Cells().Lines(theme.New(colorprofile.ANSI256, true, false))
}

var update = flag.Bool("update", false, "write the golden screens anew")

// Shown returns the text that a terminal shows for a frame.
func Shown(b uv.ScreenBuffer) string {
	var s strings.Builder
	for y := range b.Height() {
		for x := range b.Width() {
			if c := b.CellAt(x, y); c != nil && c.Width > 0 {
				s.WriteString(c.Content)
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// Golden compares a text with a golden file.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	Kept(t, filepath.Join("testdata", name+".golden"), got)
}

// Kept compares a text with a file, or writes the file with -update.
func Kept(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is another (go test -run '^%s$' -update writes it anew):\n%s", file,
			strings.Split(t.Name(), "/")[0], got)
	}
}

// Transcript records the output of Lines.
type Transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write records p.
func (w *Transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// String returns the recorded output.
func (w *Transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Layered returns a run with layer timing, trends and its latest iterations.
func Layered() *profiles.Snapshot {
	s := Running()
	Set(s, "layer_profile", "true")
	s.Roofs = &profiles.Roofs{GFLOPS: 142, Levels: []profiles.RoofLevel{
		{Bytes: 256 << 10, GBs: 140}, {Bytes: 2 << 20, GBs: 96}, {Bytes: 16 << 20, GBs: 44},
		{Bytes: 128 << 20, GBs: 13},
	}}
	layer := func(name string, p profiles.Phase, ms float64, flops, bytes int64) {
		gbs := float64(bytes) / (ms * 1e6)
		top := 0.0
		for _, l := range s.Roofs.Levels {
			top = l.GBs
			if l.Bytes >= bytes {
				break
			}
		}
		s.Layers = append(s.Layers, profiles.Layer{Name: name, Phase: p, Nanos: ms * 1e6, FLOPs: flops, Bytes: bytes,
			Compute: float64(flops) / (ms * 1e6) / 142, Memory: gbs / top, Judged: true})
	}
	for i := range 7 {
		n := int64(i + 1)
		layer(fmt.Sprintf("layer %d convT", n), prism.PhaseForward, 0.12+0.02*float64(i), 9_000_000+n*400_000,
			600_000/n+200_000)
		layer(fmt.Sprintf("layer %d BN, ReLU", n), prism.PhaseForward, 0.011*float64(n), 40_000<<i, 32_000<<i)
	}
	layer("telescope, field", prism.PhaseTelescope, 0.3, 11_000_000, 3_000_000)
	layer("telescope, apertures", prism.PhaseTelescope, 0.31, 9_000_000, 4_000_000)
	layer("losses", prism.PhaseLoss, 0.17, 2_100_000, 2_100_000)
	for i := 6; i >= 0; i-- {
		n := int64(i + 1)
		layer(fmt.Sprintf("layer %d convT dx", n), prism.PhaseBackward, 0.11+0.01*float64(i), 9_000_000+n*400_000,
			600_000/n+200_000)
		layer(fmt.Sprintf("layer %d convT dW", n), prism.PhaseBackward, 0.2/float64(n)+0.1, 9_000_000, 8_000_000/n)
	}
	layer("copy moments", prism.PhaseOptimizer, 0.04, 0, 900_000)
	layer("Adam", prism.PhaseOptimizer, 0.97, 28_000_000, 12_000_000)
	for i := range int64(200) {
		it := profiles.Timing{Index: 3920 + i, Start: i * 5e6, Total: 60_000}
		for p, ms := range []float64{1.21, 0.62, 0.18, 2.43, 0.98, 0} {
			it.Phases[p] = int64(ms * 1e6 * (1 + 0.05*Noise(int(i)+p)))
			it.Total += it.Phases[p]
		}
		it.Total += int64(1e5 * Noise(int(i)))
		s.Recent = append(s.Recent, it)
	}
	s.Trends = new(profiles.Trends)
	phases := len(s.Run.Schema.Phases)
	for p := range phases + 1 {
		base, trend := s.Total.Median, &s.Trends[profiles.WholeIteration]
		if p < phases {
			base, trend = s.Phases[p].Median, &s.Trends[p]
		}
		for i := range 21 {
			v := base * (1 + 0.05*Noise(i+p))
			if i < 9 {
				v *= 1.3
			}
			trend.Bins = append(trend.Bins, v)
		}
		trend.HasChange, trend.Change = true, []float64{0.01, -0.08, 0.12, -0.2, 0, 0.5, -0.09}[p]
	}
	s.Clock = make(profiles.Curve, len(s.IterationTime))
	for i, p := range s.IterationTime {
		at := float64(p.First) * 0.0062
		if i > 150 {
			at += 9 // a pause
		}
		s.Clock[i] = profiles.Point{First: p.First, Last: p.Last, Min: at, Mean: at + 0.06, Max: at + 0.118}
	}
	return s
}

// Steady returns a run of n iterations of 5 ms each, with a pause of a minute before iteration
// pause.
func Steady(n, pause int) *profiles.Snapshot {
	s := Running()
	s.Changes = nil
	s.IterationTime, s.Clock, s.Series = nil, nil, [profiles.MaxSeries]profiles.SeriesView{}
	for i := range int64(n) {
		at := float64(i) * 0.005
		if i >= int64(pause) {
			at += 60
		}
		s.IterationTime = append(s.IterationTime, profiles.Point{First: i, Last: i, Min: 5, Mean: 5, Max: 5})
		s.Clock = append(s.Clock, profiles.Point{First: i, Last: i, Min: at, Mean: at, Max: at})
	}
	s.Index = int64(n)
	return s
}

// Spectacle is a source that can only be watched.
type Spectacle chan *profiles.Snapshot

// Able returns none.
func (Spectacle) Able(*profiles.Snapshot) profiles.Kinds { return nil }

// Do refuses every command.
func (Spectacle) Do(c profiles.Command) error {
	return errors.New(string(c.Kind) + ": only to be watched")
}

// Snapshots delivers the snapshots sent to w.
func (w Spectacle) Snapshots() <-chan *profiles.Snapshot { return w }

// Reset discards the recorded output.
func (w *Transcript) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Reset()
}
