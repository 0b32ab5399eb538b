package benchmark_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/workloads"
)

// tiny are overrides of a task of a few hundredths of a second.
const tiny = `"axes=2,patch=16x16,side=32,cells=4,volumes=4,held_out=4,patches_per_image=1"`

func configured(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{benchmark.Presets()}, Sets: append([]string{"threads=2"}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// list writes a list of tasks and returns its path.
func list(t testing.TB, rows ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.csv")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	trainingHeader  = "branch,experiment,trainer,max_epochs,batch_size,overrides"
	inferenceHeader = "branch,experiment,checkpoint_path,data_path,trainer,batch_size,overrides"
)

// worked is what a run of a list left.
type worked struct {
	err     error
	results []tasks.Result
	newest  *profiles.Tasks
	units   []profiles.UnitResult
	log     string
	kinds   map[profiles.Kind]int
}

// work runs a list to its end.
func work(t testing.TB, v settings.Values) (w worked) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	maker := benchmark.Maker{Experiments: workloads.Cyto(workloads.Devices{}), Report: func(r []tasks.Result) { w.results = r }}
	events := stream.New(1 << 12)
	follow := events.Follow()
	r, err := sim.New(t.Context(), sim.Options{Maker: maker, Settings: v, Stream: events})
	if err != nil {
		return worked{err: err}
	}
	r.Start(t.Context())
	w.err = r.Wait()
	r.Close()
	w.kinds = map[profiles.Kind]int{}
	follow.Drain(func(e *profiles.Event) {
		switch b := e.Body.(type) {
		case *profiles.Iteration:
			w.kinds[b.Kind]++
		case *profiles.Tasks:
			w.newest = b
		case *profiles.UnitResult:
			w.units = append(w.units, *b)
		case *profiles.LogEntry:
			w.log += b.Text + "\n"
		}
	})
	return w
}

// A list of trainings runs to its end: every task's rounds, with the times, losses and counts of
// what was really processed, and the speed-ups of the later tasks.
func TestAListOfTrainings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results", "train_benchmark.json")
	w := work(t, configured(t, "output="+path, "rounds=2", "tasks="+list(t, trainingHeader,
		"main,im2im/segmentation,cpu,2,2,"+tiny, "phase3,im2im/segmentation,cpu,2,2,"+tiny)))
	if w.err != nil {
		t.Fatal(w.err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	results, err := tasks.Decode(data)
	if err != nil || len(results) != 2 || len(w.units) != 4 {
		t.Fatalf("%d results, %v; %d units", len(results), err, len(w.units))
	}
	for i, r := range results {
		m := r.Metrics.Training
		if !r.Success || len(r.Rounds) != 2 || m == nil || r.Device == "" || r.GitInfo == nil || r.Settings["batch"] != "2" {
			t.Fatalf("%+v", r)
		}
		if m.Samples.Processed != 8 || m.Samples.Batches != 4 || m.DatasetInfo.NumTrainBatches != 2 || m.DatasetInfo.AvailableTrainBatches != 2 || !(*m.Throughput > 0) {
			t.Errorf("task %d processed %+v of %+v", i, m.Samples, m.DatasetInfo)
		}
		if len(m.FinalMetrics) != 3 || !(m.FinalMetrics["train/loss"] > 0) || !(m.FinalMetrics["val/loss"] > 0) {
			t.Errorf("task %d: final metrics %v", i, m.FinalMetrics)
		}
		whole := 0.0
		for name, timer := range map[string]*tasks.Timer{"initialization": m.ModelInitialization, "training": m.FullTraining} {
			if timer == nil || timer.Partial || !timer.Awaited || !(timer.ElapsedSeconds > 0) {
				t.Fatalf("task %d: %s %+v", i, name, timer)
			}
			whole += timer.ElapsedSeconds
		}
		if first := m.EpochBreakdown.FirstEpoch.ElapsedSeconds; m.TotalTraining.ElapsedSeconds < whole || first > m.FullTraining.ElapsedSeconds ||
			m.EpochBreakdown.FirstBatch.ElapsedSeconds > first {
			t.Errorf("task %d takes %v s in all, its parts %v s", i, m.TotalTraining.ElapsedSeconds, whole)
		}
		if state := w.newest.List[i]; state.State != profiles.TaskDone || state.Done != 2 || state.Iterations != 5 || !(state.Loss > 0) || !(state.Seconds > 0) || !(state.PerSecond > 0) {
			t.Errorf("task %d: %+v", i, state)
		}
	}
	if base, other := w.newest.List[0], w.newest.List[1]; !base.Baseline || other.Baseline || !(other.SpeedUp > 0) {
		t.Errorf("%+v, %+v", base, other)
	}
	if w.kinds[benchmark.KindPreparation] != 4 || w.kinds[benchmark.Kind(0)] != 8 || w.kinds[benchmark.Kind(1)] != 8 {
		t.Errorf("iterations by kind: %v", w.kinds)
	}
}
