package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
)

// small is a reconstruction whose iteration takes a millisecond.
func small(t *testing.T, sets ...string) prism.Settings {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "baseline", Sets: append([]string{
		"size=64", "object_size=32", "radius=10", "samples=5", "threads=1"}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	return prism.From(v)
}

func TestIterationsAreTheTrainersOwn(t *testing.T) {
	r, err := Run(context.Background(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Warmup: 3, Iterations: 25})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Total) != 25 || r.Sample != 2 || r.Warmup != 3 || r.Run.Units != 5 {
		t.Errorf("%d iterations of sample %d of %d after %d", len(r.Total), r.Sample, r.Run.Units, r.Warmup)
	}
	if !(r.Series[prism.SeriesLossOld] > 0 && r.Series[prism.SeriesLossNew] > 0) {
		t.Errorf("losses %g and %g: nothing was trained", r.Series[prism.SeriesLossOld], r.Series[prism.SeriesLossNew])
	}
	for _, p := range []profiles.Phase{prism.PhaseForward, prism.PhaseTelescope, prism.PhaseLoss, prism.PhaseBackward, prism.PhaseOptimizer} {
		if len(r.Phases[p]) != 25 {
			t.Errorf("%v ran %d times", p, len(r.Phases[p]))
		}
	}
	for i := range r.Total {
		var steps int64
		for _, s := range r.Steps {
			steps += s.Nanos[i]
		}
		if steps <= 0 || steps > r.Total[i] {
			t.Fatalf("iteration %d took %d ns, its steps %d", i, r.Total[i], steps)
		}
	}
	if r.RSSReason == "" && r.PeakRSS < r.Memory.Parts[prism.MemoryWeights] {
		t.Errorf("peak RSS %d is below the weights, %d", r.PeakRSS, r.Memory.Parts[prism.MemoryWeights])
	}
}

func TestForwardTrainsNothing(t *testing.T) {
	r, err := Run(context.Background(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Forward: true, Iterations: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Total) != 10 || len(r.Phases[prism.PhaseForward]) != 10 || len(r.Phases[prism.PhaseBackward]) != 0 {
		t.Errorf("%d runs, forward %d, backward %d", len(r.Total), len(r.Phases[prism.PhaseForward]), len(r.Phases[prism.PhaseBackward]))
	}
	for _, s := range r.Steps {
		if strings.Contains(s.Name, "grad") || strings.Contains(s.Name, "Adam") {
			t.Errorf("the forward pass has a step %q", s.Name)
		}
	}
}

func TestTimeBoundsAMeasurement(t *testing.T) {
	r, err := Run(context.Background(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Time: time.Millisecond})
	if err != nil || len(r.Total) == 0 { // without a bound it would not return
		t.Errorf("%d iterations, %v", len(r.Total), err)
	}
	if _, err := Run(context.Background(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t)}); err == nil {
		t.Error("a measurement without an end was begun")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Time: time.Hour}); err == nil {
		t.Error("a measurement that was stopped has a report")
	}
}

// A machine that is never quiet ends the measurement all the same, and the report
// says so.
func TestDisturbedBatchesAreLeftOutOrTold(t *testing.T) {
	quiet, noisy := machine.Load{Busy: 1, Own: 0.99, Passed: 1}, machine.Load{Busy: 1, Own: 0.5, Passed: 1}
	batchOf := func(l machine.Load, n int) rows {
		b := rows{load: l}
		for range n {
			b.list = append(b.list, row{total: 1})
		}
		return b
	}
	measure := func(batches ...rows) *Report {
		m := &measurement{report: &Report{Options: Options{Maker: workloads.PRISM(workloads.Devices{}), MaxForeign: 0.1}}}
		for _, b := range batches {
			m.sort(b)
		}
		m.finish()
		return m.report
	}
	if r := measure(batchOf(noisy, 50), batchOf(quiet, 30)); !r.Clean || r.Dropped != 1 || len(r.Total) != 30 || r.Foreign > 0.02 {
		t.Errorf("clean %v, %d dropped, %d kept, foreign %g", r.Clean, r.Dropped, len(r.Total), r.Foreign)
	}
	if r := measure(batchOf(noisy, 50), batchOf(quiet, 5)); r.Clean || r.Dropped != 1 || len(r.Total) != 55 || r.Foreign < 0.2 {
		t.Errorf("clean %v, %d dropped, %d kept, foreign %g", r.Clean, r.Dropped, len(r.Total), r.Foreign)
	}
	m := &measurement{report: &Report{Options: Options{Maker: workloads.PRISM(workloads.Devices{}), MaxForeign: 0.1, Iterations: 10}}}
	m.sort(batchOf(noisy, 39))
	if m.enough(0) {
		t.Error("gave up early")
	}
	m.sort(batchOf(noisy, 1))
	if !m.enough(0) {
		t.Error("waits for a quiet machine for ever")
	}
}

func TestLayersAreKernelsSortedByTime(t *testing.T) {
	r := &Report{Options: Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t)}, Total: []int64{60, 60}, Run: profiles.RunInfo{Schema: prism.Schema(), Parameters: 1, Sampling: &profiles.Sampling{Size: 64, ObjectSize: 32}}, Threads: 1}
	r.Run.Kernels = "go"
	r.Steps = []StepTimes{
		{Name: "short", FLOPs: 100, Bytes: 10, Nanos: []int64{10, 10}},
		{Name: "long", Phase: prism.PhaseTelescope, FLOPs: 100, Bytes: 5000, Nanos: []int64{20, 20}},
		{Name: "long's loss", Phase: prism.PhaseLoss, Nanos: []int64{30, 30}},
	}
	s := r.Summary("1.0", "", machine.CPU{})
	r.AddLayers(s, &roof.Roofs{GFLOPS: 20, Levels: []roof.Level{{Bytes: 1 << 20, Read: 200, Update: 100}}})
	b := s.Benchmark
	if len(b.Layers) != 2 || b.Layers[0].Name != "long" || b.Layers[0].MedianMS != 50e-6 || r.Steps[1].Nanos[0] != 20 {
		t.Fatalf("%+v", b.Layers)
	}
	if l := b.Layers[0]; l.GFLOPS != 2 || l.GBs != 100 || l.ComputeShare != 0.1 || l.MemoryShare != 0.5 || l.Bound != "memory" {
		t.Errorf("%+v", l)
	}
	if l := b.Layers[1]; l.ComputeShare != 0.5 || l.Bound != "compute" {
		t.Errorf("%+v", l)
	}
	var text strings.Builder
	if err := WriteText(&text, s); err != nil || !strings.Contains(text.String(), "50 %   memory  long") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestSummaryHasTheBenchmark(t *testing.T) {
	r, err := Run(context.Background(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Iterations: 12})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Summary("1.0", "baseline", machine.CPU{Model: "Test"})
	if s.IterationMS == nil || s.IterationMS.N != 12 || s.PhasesMS.Of("backward") == nil || s.PhasesMS.Of("metrics") != nil {
		t.Fatalf("%+v", s.IterationMS)
	}
	b := s.Benchmark
	if min := b.MinMS["iteration"]; !(min > 0 && min <= s.IterationMS.P10 && s.IterationMS.P10 <= s.IterationMS.Median) {
		t.Errorf("min %g, p10 %g, median %g", min, s.IterationMS.P10, s.IterationMS.Median)
	}
	if (b.ForeignCPU == nil) == (b.ForeignCPUReason == "") {
		t.Errorf("foreign CPU %v, reason %q", b.ForeignCPU, b.ForeignCPUReason)
	}
	var text strings.Builder
	if err := WriteText(&text, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"64/32", "backward", "total", "other programs"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}
