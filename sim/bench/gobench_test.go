package bench

import (
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/sim/prism"
)

// An iteration, its phases, the points of a scaling and the blocks of an ablation are benchmarks, their settings comments.
func TestBenchmarksInTheFormatOfGo(t *testing.T) {
	v := prism.Table.Zero()
	s := &export.Summary{Version: "1.2", Settings: &v}
	r := &Report{Threads: 2}
	r.Run.Schema = prism.Schema()
	for i := range 25 {
		r.Total = append(r.Total, int64(1000+i))
	}
	r.Phases[prism.PhaseLoss] = []int64{7, 9}
	var model, scaling, ablation strings.Builder
	if err := WriteGo(&model, r, s); err != nil {
		t.Fatal(err)
	}
	if err := WriteScalingGo(&scaling, []Point{{Size: 64, Object: 16, Threads: 2, Nanos: []int64{1, 3}}, {Size: 64, Object: 16, Threads: 1, Nanos: []int64{5}}}, "1.2", "cpu", v); err != nil {
		t.Fatal(err)
	}
	rows := []profiles.AblationRow{{Key: "amp", Iterations: 80, OffBlocks: []float64{10, 12}, OnBlocks: []float64{5, 7}}, {Key: "device", Note: "left out"}}
	if err := WriteAblationGo(&ablation, &profiles.Ablation{Rows: rows}, "1.2", "cpu", v); err != nil {
		t.Fatal(err)
	}
	for want, in := range map[string]string{
		"# prismtop 1.2, kernels unknown\n": model.String(), "\n# size = 0\n": model.String(), "\nBenchmarkIteration-2\t2\t1000.5 ns/op\n": model.String(),
		"\nBenchmarkIteration/phase=loss-2\t1\t9.0 ns/op\n":      model.String(),
		"BenchmarkIteration/size=64/object=16-2\t1\t3.0 ns/op\n": scaling.String(), "BenchmarkIteration/size=64/object=16-1\t1\t5.0 ns/op\n": scaling.String(),
		"\ncpu: cpu\n# prismtop 1.2\n":            ablation.String(),
		"BenchmarkAblation/setting=amp/side=off-": ablation.String(), "/side=on-": ablation.String(), "\t20\t7.0 ns/op\n": ablation.String(),
	} {
		if !strings.Contains(in, want) {
			t.Errorf("no %q in\n%s", want, in)
		}
	}
	if strings.Contains(ablation.String(), "device=") || strings.Count(ablation.String(), "Benchmark") != 4 {
		t.Errorf("ablation:\n%s", ablation.String())
	}
}
