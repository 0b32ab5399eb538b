package suite_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/criteria"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/history"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/bench"
	"prismtop/sim/bench/suite"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
)

// small returns options whose workloads are PRISM's in small.
func small(t *testing.T) suite.Options {
	t.Helper()
	return suite.Options{
		Maker: workloads.PRISM(workloads.Devices{}), Build: history.Build{Version: "test"}, Processor: machine.CPU{Model: "a processor"}, GPUReason: "no GPU here",
		Rounds: 6, Time: 50 * time.Millisecond,
		Settings: func(name string, sets []settings.Assignment) (settings.Values, error) {
			v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: name, Sets: []string{
				"size=64", "object_size=16", "radius=6", "samples=4", "iterations=" + map[bool]string{true: "10", false: "1"}[name == "phase5"]}})
			if err != nil {
				return v, err
			}
			return v.With(sets...)
		},
	}
}

// whole runs the whole suite in small.
func whole(t *testing.T) *suite.Report {
	t.Helper()
	s := suite.New(small(t))
	var events int
	s.Side("standard", suite.Documented, suite.Baseline, 1)
	s.Side("standard", suite.Documented, suite.Optimized, 1)
	s.Profile(func(*profiles.Event) { events++ }, 1)
	s.Model(1)
	s.Compare("standard", suite.Documented, 1)
	s.Compare("standard", suite.Everything, 1)
	s.Compare("phase5", suite.Documented, 1)
	s.Cached(1)
	s.Inference("ten-samples", 1)
	s.AMP(smallAMP(), 1)
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if events == 0 {
		t.Error("the tape got no event")
	}
	return r
}

func TestTheSuiteCountsWhatTheDocumentsDescribe(t *testing.T) {
	r := whole(t)
	hits := func(v *suite.Result) (hits, misses int64) {
		c := v.Caches["measurement"]
		return c.Hits, c.Misses
	}
	if h, m := hits(r.Baseline); h != 0 || m != 4 {
		t.Errorf("the baseline hits %d and misses %d, want 0 and 4: it is cleared after each sample", h, m)
	}
	if h, m := hits(r.Optimized); h != 0 || m != 4 {
		t.Errorf("the standard workload hits %d and misses %d, want 0 and 4: each centre is measured once", h, m)
	}
	// Five measurements beforehand at four centres, and ten of each sample.
	for side, want := range [2][2]int64{{1, 44}, {41, 4}} {
		for _, v := range r.Comparisons[2].Results[side] {
			h, m := hits(&v)
			if side == 0 {
				h, want[0] = 0, 0 // the fifth beforehand hits: nothing is cleared before the run
				m, want[1] = h+m, 44
			}
			if h != want[0] || m != want[1] {
				t.Errorf("phase5 %s: %d hits, %d misses, want %v", v.Side, h, m, want)
			}
		}
	}
	if r.Model.Experiment.Samples != 4 || r.Model.Parameters == 0 || r.Model.ForwardFPS <= 0 || r.Profile.Iterations != 4 || len(r.Profile.Steps) == 0 {
		t.Errorf("%+v, %+v", r.Model, r.Profile)
	}
	if c := &r.Comparisons[0]; c.Rounds != 6 || c.Speedup.Low == nil || c.PSNR.Value != 0 {
		t.Errorf("%+v", c)
	}
	for _, v := range r.Comparisons[0].Results[0] {
		if v.MSE == nil || v.Correlation == nil || *v.Correlation < -1 || *v.Correlation > 1 || v.Caches["masks"].Enabled {
			t.Errorf("%+v", v)
		}
	}
	checkInference(t, r.Inference)
	checkAMP(t, r)
	checkVerdicts(t, r)
	checkEntries(t, r)
	checkFiles(t, r)
}

// checkInference checks the forms of the trained decoder: the folded ones put out the same, and none has
// gradients or moments.
func checkInference(t *testing.T, n *suite.Inference) {
	t.Helper()
	if len(n.Forms) != 4 || len(n.Folds) != 2 || n.Iterations != 4 || n.AMP != "off" {
		t.Fatalf("%+v", n)
	}
	for i, f := range n.Forms {
		if f.MS.N < 24 || f.MS.Median <= 0 || f.MemoryBytes <= 0 || f.MemoryBytes >= n.TrainingMemory || f.PSNR == nil {
			t.Errorf("%+v, the run takes %d bytes", f, n.TrainingMemory)
		}
		if base := n.Forms[i%2]; math.Abs(*f.PSNR-*base.PSNR) > 1e-3 {
			t.Errorf("%s has a PSNR of %g, %s of %g", f.Name, *f.PSNR, base.Name, *base.PSNR)
		}
	}
	if *n.Forms[0].PSNR == *n.Forms[1].PSNR {
		t.Error("running statistics are those of the batch")
	}
	if n.Metrics != nil {
		t.Errorf("metrics on the GPU of a run on a processor: %+v", n.Metrics)
	}
	for _, f := range n.Folds {
		if !(f.Apart <= f.Tolerance) || f.Speedup.Low == nil {
			t.Errorf("%+v", f)
		}
	}
}

// checkVerdicts checks the acceptance list: of one pass nothing can hit, of phase5 nearly all do.
func checkVerdicts(t *testing.T, r *suite.Report) {
	t.Helper()
	got := map[string]suite.Criterion{}
	for _, k := range r.Checklist {
		got[k.Preset+" "+string(k.Set)+" "+k.Name] = k
		if k.Reason == "" || k.Verdict == "" {
			t.Errorf("%+v", k)
		}
	}
	if len(r.Checklist) != 15 {
		t.Errorf("%d criteria, want 5 of each of 3 comparisons", len(r.Checklist))
	}
	if k := got["standard prism cache hit rate"]; k.Verdict != criteria.Impossible || !strings.Contains(k.Reason, "passes=5") {
		t.Errorf("%+v", k)
	}
	if k := got["phase5 prism cache hit rate"]; k.Verdict != criteria.Pass {
		t.Errorf("%+v", k)
	}
	if k := got["standard prism no quality regression"]; k.Verdict != criteria.Pass {
		t.Errorf("%+v", k)
	}
	for _, c := range r.Claims {
		if c.ID == "optimized.hits" && (c.Measured == nil || c.Measured.Value != 0 || !strings.HasPrefix(c.Verdict, "less than claimed")) {
			t.Errorf("%+v", c)
		}
		if c.ID == "fft" && (c.Measured != nil || c.Where != "not measured") { // no ablation was made
			t.Errorf("%+v", c)
		}
	}
}

// checkEntries checks what the history gets.
func checkEntries(t *testing.T, r *suite.Report) {
	t.Helper()
	var works []string
	for _, e := range r.Entries() {
		works = append(works, e.Work+" "+e.Preset)
		if e.Find(history.Iteration).Value <= 0 || e.Find(history.Memory).Value <= 0 || e.Settings["size"] != "64" || e.Settings["seed"] != "" || e.Build.Version != "test" || e.Machine.CPU != "a processor" {
			t.Errorf("%+v", e)
		}
	}
	if want := []string{"performance standard", "baseline standard", "optimized standard", "compare prism standard", "compare all standard", "compare prism phase5"}; !slices.Equal(works, want) {
		t.Errorf("the history gets %q, want %q", works, want)
	}
}

// checkFiles opens every file.
func checkFiles(t *testing.T, r *suite.Report) {
	t.Helper()
	names, data, err := r.Files(true)
	if err != nil || len(names) != len(suite.FileNames(true))-1 { // that of a GPU's memory
		t.Fatalf("%v, %v", names, err)
	}
	for i, name := range names {
		switch text := string(data[i]); {
		case strings.HasSuffix(name, ".json"):
			if err := schematest.Validate("benchmark", data[i]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case strings.HasSuffix(name, ".html"):
			if !strings.HasSuffix(text, "</html>\n") || strings.Count(text, "<table") != strings.Count(text, "</table>") || !strings.Contains(text, "cannot be met in this pattern") {
				t.Errorf("%s: %.300s", name, text)
			}
		case !strings.Contains(text, "a processor") || strings.Contains(text, "NaN") || strings.Contains(text, "%!d") || strings.Contains(text, "%!s") || strings.Contains(text, "%!("):
			t.Errorf("%s: %s", name, text)
		}
	}
	var claims bytes.Buffer
	if err := suite.Text("Claims", suite.TheClaims)(r, &claims); err != nil {
		t.Fatal(err)
	}
	for _, f := range suite.Figures() {
		if !strings.Contains(claims.String(), f.Text) {
			t.Errorf("%s is missing", f.ID)
		}
	}
}

func TestWhatWasMeasuredBeforeAnInterruptionIsKept(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	o := small(t)
	o.Progress = func(what string, _ float64, _ time.Duration) {
		if strings.HasPrefix(what, "compare phase5") {
			stop()
		}
	}
	s := suite.New(o)
	s.Side("standard", suite.Documented, suite.Baseline, 1)
	s.Compare("phase5", suite.Documented, 1)
	r, err := s.Run(ctx)
	if entries := r.Entries(); len(entries) != 1 || entries[0].Work != "baseline" {
		t.Errorf("the history gets %+v", entries)
	}
	if !errors.Is(err, context.Canceled) || r.Complete || r.Ended != "interrupted" || r.Baseline == nil || len(r.Comparisons) != 0 {
		t.Errorf("%v, %+v", err, r)
	}
	names, data, err := r.Files(true)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if !bytes.Contains(data[i], []byte("interrupted")) {
			t.Errorf("%s does not say that it is not complete", name)
		}
	}
}

// A part that fails is named in every file, and the others are measured all the same.
func TestAPartThatFailsDoesNotEndTheOthers(t *testing.T) {
	o := small(t)
	settle := o.Settings
	o.Settings = func(name string, sets []settings.Assignment) (settings.Values, error) {
		if name == "profiling" {
			return settings.Values{}, errors.New("a disk is full")
		}
		return settle(name, sets)
	}
	s := suite.New(o)
	s.Side("standard", suite.Documented, suite.Baseline, 1)
	s.Profile(nil, 1)
	s.Side("standard", suite.Documented, suite.Optimized, 1)
	r, err := s.Run(t.Context())
	if err == nil || err.Error() != "profile: a disk is full" || r.Complete || r.Ended != "1 of 3 parts failed" || len(r.Failures) != 1 || r.Failures[0] != (suite.Failure{Part: "profile", Error: "a disk is full"}) {
		t.Errorf("%v, %+v", err, r)
	}
	if r.Baseline == nil || r.Optimized == nil || r.Profile != nil {
		t.Error("the other parts were not measured")
	}
	names, data, err := r.Files(true)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if !bytes.Contains(data[i], []byte("a disk is full")) {
			t.Errorf("%s does not name the part that failed", name)
		}
	}
}

// The profile is of the settings that it names.
func TestTheProfileIsOfTheUsersSettings(t *testing.T) {
	steps := func(changed ...string) (names []string) {
		o := small(t)
		settle := o.Settings
		o.Changed = changed
		o.Settings = func(name string, sets []settings.Assignment) (settings.Values, error) {
			for _, set := range changed {
				key, value, _ := strings.Cut(set, "=")
				sets = append([]settings.Assignment{{Key: key, Value: value}}, sets...)
			}
			return settle(name, sets)
		}
		s := suite.New(o)
		s.Profile(nil, 1)
		r, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Profile.Steps {
			names = append(names, p.Name)
		}
		return names
	}
	fused, apart := steps(), steps("fused_telescope=false")
	if len(apart) <= len(fused) {
		t.Errorf("with the telescope fused %d steps %q, without %d %q", len(fused), fused, len(apart), apart)
	}
}

// The key * on the screen replicates the change of everything.
func TestEverythingIsSwitchedTogether(t *testing.T) {
	o := small(t)
	off, on := prism.Table.Everything()
	v, err := o.Settings("standard", on)
	if err != nil {
		t.Fatal(err)
	}
	run, err := bench.Middle(t.Context(), sim.Options{Maker: o.Maker, Settings: v, Stream: stream.New(2)})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if err := run.Do(profiles.Command{Kind: profiles.ReplicateCommand, Settings: off, At: -1}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, over, err := run.Next(t.Context()); over || err != nil {
			t.Fatal(over, err)
		}
		if a := run.Ablation(); a != nil && a.Done > 0 {
			if r := a.Rows[0]; r.Name() != "everything on" || r.OffNS <= 0 || r.OnNS <= 0 || a.Name() != "replication of everything" {
				t.Errorf("%+v", r)
			}
			return
		}
	}
}

func TestEveryFigureIsComparedOrSaysWhyNot(t *testing.T) {
	seen := map[string]bool{}
	empty := suite.New(suite.Options{})
	r, err := empty.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range suite.Figures() {
		if seen[f.ID] || f.ID == "" || f.Text == "" || f.Of == "" || f.Measure == "" && f.Absent == "" || f.High != nil && *f.High < f.Low {
			t.Errorf("%+v", f)
		}
		seen[f.ID] = true
		if c := r.Claims[i]; c.Measured != nil || c.Where == "" {
			t.Errorf("without a measurement: %+v", c)
		}
	}
	for _, id := range []string{"cache.measurement", "amp", "guide.a100", "create.memory.peak", "weights", "forward.time", "iteration.time", "optimized.hits", "results.hits", "results.speedup"} {
		if !seen[id] {
			t.Errorf("no figure %s", id)
		}
	}
}

func TestSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "benchmark", Title: "prismtop bench all, performance, baseline, optimized, compare, profile, amp, inference and claims --json, and their files", Value: suite.Report{}})
}
