package curve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/ablation"
	"prismtop/sim/curve"
	"prismtop/tui/lines"
)

// begin prepares a fit with some settings changed.
func begin(t *testing.T, sets ...string) (*sim.Run, *aggregate.Aggregator) {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{curve.Presets()}, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	events := stream.New(1 << 14)
	r, err := sim.New(t.Context(), sim.Options{Maker: curve.Maker{}, Settings: v, Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, aggregate.New(events.Follow(), aggregate.Options{})
}

// end runs to the end.
func end(t *testing.T, r *sim.Run, a *aggregate.Aggregator) *profiles.Snapshot {
	t.Helper()
	r.Start(context.Background())
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	return a.Tick(time.Now())
}

// A run drives any task: what it measured is in the snapshot, in JSON under the names of its
// schema, and in the summary.
func TestAFitRunsAsAnyWorkload(t *testing.T) {
	r, a := begin(t, "max_iterations=2000")
	s := end(t, r, a)
	if s.State != profiles.Finished || s.Index != 2000 || len(s.Results) != 20 || s.Stage() != "fitting" || s.Run.Device != "" {
		t.Errorf("%v after %d iterations in %d epochs, %q on %q", s.State, s.Index, len(s.Results), s.Stage(), s.Run.Device)
	}
	if v := s.Of("rms"); !(v.Latest < 0.02) || len(v.Curve) == 0 {
		t.Errorf("the error is %g, of %d points", v.Latest, len(v.Curve))
	}
	if c := s.Cache("basis_cache"); c.Hits != 64*1999 || c.Misses != 64 || c.Entries != 64 {
		t.Errorf("the cache: %+v", c.CacheCounters)
	}

	var b bytes.Buffer
	if err := export.WriteJSON(&b, export.Summarize(s, export.Source{Version: "test"})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Settings map[string]any
		Samples  struct{ Done int }
		Phases   map[string]any `json:"phases_ms"`
		Caches   map[string]any
		Quality  map[string]any
		Memory   map[string]any `json:"memory_bytes"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string]struct {
		have map[string]any
		want string
	}{
		"phases": {got.Phases, "basis descent residue"}, "caches": {got.Caches, "basis"}, "quality": {got.Quality, "rms"},
		"settings": {got.Settings, "basis_cache decide degree fused_residue max_iterations max_seconds"},
	} {
		if names := strings.Join(slices.Sorted(maps.Keys(pair.have)), " "); names != pair.want {
			t.Errorf("%s in JSON: %q, want %q", what, names, pair.want)
		}
	}
	if got.Samples.Done != 20 || got.Memory["coefficients"] != 200.0 {
		t.Errorf("%d units done, memory %v", got.Samples.Done, got.Memory)
	}

	summary := lines.SummaryWithin(s, 0)
	for _, want := range []string{"2000 in 20 of 10000 epochs", "RMS error", "basis", "residue", "descent", "fitting"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, summary)
		}
	}
	for _, not := range []string{"sample", "PSNR", "telescope", "measurement"} {
		if strings.Contains(summary, not) {
			t.Errorf("the summary speaks of %q:\n%s", not, summary)
		}
	}
}

// The switches are real: the error is the same bits with and without them, and without the cache
// nothing is looked up.
func TestTheSwitchesChangeNoResult(t *testing.T) {
	var errors []float64
	for _, sets := range [][2]string{{"false", "false"}, {"false", "true"}, {"true", "false"}, {"true", "true"}} {
		r, a := begin(t, "max_iterations=300", "basis_cache="+sets[0], "fused_residue="+sets[1])
		s := end(t, r, a)
		errors = append(errors, s.Of("rms").Latest)
		if hits := s.Cache("basis_cache").Hits; (hits > 0) != (sets[0] == "true") {
			t.Errorf("basis_cache = %s: %d hits", sets[0], hits)
		}
	}
	for _, e := range errors {
		if e != errors[0] || !(e > 0) {
			t.Errorf("the errors under the switches are %v", errors)
		}
	}
}

// ablated runs an ablation to its end.
func ablated(t *testing.T, r *sim.Run, o ablation.Options) *profiles.Ablation {
	t.Helper()
	before := r.Ablation()
	if err := r.Ablate(o); err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		if _, _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a := r.Ablation(); a != before && !a.Running {
			return a
		}
	}
	t.Fatal("the ablation does not end")
	return nil
}

// An ablation compares the switch of the workload's own table, and errors about settings name
// what would be right.
func TestAFitIsAblatedAndSet(t *testing.T) {
	r, a := begin(t)
	table := ablated(t, r, ablation.Options{Rounds: 2, Least: 4, Time: time.Millisecond})
	if rows := table.Rows; len(rows) != 2 || rows[0].Key != "basis_cache" || rows[1].Key != "fused_residue" || rows[0].Groups != 2 {
		t.Errorf("%+v", rows)
	}
	if title := table.QualityTitle(); title != "" {
		t.Errorf("a fit has no quality to compare, but %q", title)
	}
	factors, err := curve.Table.ParseFactors([]string{settings.DefaultFactors})
	if err != nil {
		t.Fatal(err)
	}
	table = ablated(t, r, ablation.Options{Factors: factors, Rounds: 9, Least: 4, Time: time.Millisecond})
	if f := table.Factorial; f.Rounds != 9 || len(f.CombinationNS) != 4 || !f.Excess.Known() || f.CombinationNS[1] >= f.CombinationNS[0] {
		t.Errorf("%+v", f)
	}
	if err := r.Set("degree", "0"); err == nil || err.Error() != "degree = 0: must be a whole number from 1 to 64" {
		t.Errorf("a degree of 0: %v", err)
	}
	if err := r.Set("loss", "l2"); err == nil || !strings.Contains(err.Error(), `unknown setting "loss"`) {
		t.Errorf("a setting of another workload: %v", err)
	}
	limit := strconv.FormatInt(int64(a.Tick(time.Now()).Index)+1, 10) // one that the run is not beyond
	if err := r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{{Key: "basis_cache", Value: "off"}, {Key: "max_iterations", Value: limit}}}); err != nil {
		t.Fatal(err)
	}
	if s := end(t, r, a); s.Settings.On("basis_cache") || s.EndedBy != "max_iterations = "+limit {
		t.Errorf("basis_cache %v, ended by %q", s.Settings.On("basis_cache"), s.EndedBy)
	}
}
