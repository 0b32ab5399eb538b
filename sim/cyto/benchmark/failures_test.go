package benchmark_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// states returns the states of a list's tasks.
func states(t *profiles.Tasks) (all []profiles.TaskState) {
	for i := range t.List {
		all = append(all, t.List[i].State)
	}
	return all
}

// rows are five trainings of which the second needs a GPU and the third data that do not exist.
var rows = []string{trainingHeader,
	"main,im2im/segmentation,cpu,1,2," + tiny, "phase1,im2im/segmentation,gpu,1,2," + tiny,
	`phase2,im2im/segmentation,cpu,1,2,"data=/nowhere,patch=16x16,axes=2"`, "phase3,im2im/segmentation,ddp_sim,1,2," + tiny, "main,im2im/labelfree,cpu,1,2," + tiny}

// The first task that cannot run ends the list, unless failed tasks are skipped: then every other
// task runs. Without a GPU a task for one is unavailable; its time is never that of a processor,
// but for a fallback that says so.
func TestFailedTasks(t *testing.T) {
	const done, failed, waiting, unavailable = profiles.TaskDone, profiles.TaskFailed, profiles.TaskWaiting, profiles.TaskUnavailable
	path := list(t, rows...)
	w := work(t, configured(t, "tasks="+path))
	if w.err != nil || !slices.Equal(states(w.newest), []profiles.TaskState{done, unavailable, waiting, waiting, waiting}) || len(w.results) != 2 {
		t.Errorf("%v, %v, %d results", w.err, states(w.newest), len(w.results))
	}
	if why := w.newest.List[1].Why; !strings.Contains(why, "trainer gpu is not available: this program has no backend for GPUs") {
		t.Errorf("why: %s", why)
	}
	if !strings.Contains(w.log, "1 of 5 tasks done, 1 unavailable, 3 not run after a failed one") {
		t.Errorf("the log says %s", w.log)
	}

	w = work(t, configured(t, "tasks="+path, "skip_failed=true"))
	if w.err != nil || !slices.Equal(states(w.newest), []profiles.TaskState{done, unavailable, failed, done, done}) || len(w.results) != 5 {
		t.Fatalf("%v, %v, %d results", w.err, states(w.newest), len(w.results))
	}
	if r := w.results[1]; r.Success || r.Device != "" || r.Metrics.Training == nil || r.Metrics.Training.FullTraining != nil || !r.Metrics.Training.TotalTraining.Partial {
		t.Errorf("the task without a GPU: %+v", r)
	}
	if r := w.results[2]; r.Success || r.Error == nil || !strings.Contains(*r.Error, "/nowhere") {
		t.Errorf("the task without data: %+v", r)
	}
	if r := w.results[3]; !r.Success || !strings.Contains(r.Device, "2 replicas") {
		t.Errorf("two replicas: %+v", r)
	}
	if w.units[1].Unit != 1 || len(w.units) != 5 || !math.IsNaN(w.newest.List[1].Seconds) {
		t.Errorf("units %+v, %+v", w.units, w.newest.List[1])
	}

	w = work(t, configured(t, "tasks="+list(t, rows[0], rows[2]), "cpu_fallback=true"))
	if r := w.results[0]; !r.Success || !strings.HasPrefix(r.Device, "cpu ") || !strings.Contains(r.Warning, "trainer gpu is not available") || !strings.Contains(r.Warning, "computed on the processor") {
		t.Errorf("the fallback: %+v", r)
	}
}

// A list with a mistake runs nothing, and every mistake has its place.
func TestAListIsCheckedFirst(t *testing.T) {
	for row, want := range map[string]string{
		"main,im2im/segmentation,tpu,1,2,":                               `tasks.csv:2:25: column trainer: "tpu": must be`,
		"main,im2im/segmentation,cpu,1,2,volumes=none":                   "tasks.csv:2:33: column overrides: volumes: ",
		`main,im2im/segmentation,cpu,1,2,"axes=2,patch=16x16,side=8"`:    "tasks.csv:2: main im2im/segmentation: side = 8: must be at least 16, the patch",
		"main,im2im/segmentation,cpu,1,3,replicas=2":                     "batch = 3: must be a multiple of the 2 replicas",
		"nobranch,im2im/segmentation,cpu,1,2,\nmain,im2im/gan,cpu,1,2,x": "nobranch",
	} {
		w := work(t, configured(t, "tasks="+list(t, trainingHeader, row)))
		if w.err == nil || !strings.Contains(w.err.Error(), want) || len(w.results) > 0 {
			t.Errorf("%s: %v, want %s", row, w.err, want)
		}
	}
	if w := work(t, configured(t, "tasks=/nowhere/tasks.csv")); w.err == nil || !strings.Contains(w.err.Error(), "/nowhere/tasks.csv: ") {
		t.Errorf("no list: %v", w.err)
	}
}

// A cancelled task ends at the next iteration, one whose turn has not come is left out, and the
// others run.
func TestCancelledTasks(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var results []tasks.Result
	maker := benchmark.Maker{Experiments: workloads.Cyto(workloads.Devices{}), Report: func(r []tasks.Result) { results = r }}
	v := configured(t, "tasks="+list(t, trainingHeader, "main,im2im/segmentation,cpu,9,2,"+tiny, "phase3,im2im/segmentation,cpu,1,2,"+tiny, "main,im2im/labelfree,cpu,1,2,"+tiny))
	r, err := sim.New(t.Context(), sim.Options{Maker: maker, Settings: v, Stream: stream.New(1 << 10)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := 0; ; i++ {
		if i == 3 {
			if err := r.Do(profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{{Key: "cancelled", Value: "1,2"}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, done, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		} else if done {
			break
		}
	}
	if len(results) != 2 || results[0].Success || *results[0].Error != "cancelled" || results[0].Metrics.Training.Samples.Batches != 2 || !results[1].Success {
		t.Errorf("%+v", results)
	}
}

// An interrupted list keeps what was measured, also of the task under way.
func TestAnInterruptedList(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "r.json")
	v := configured(t, "output="+path, "tasks="+list(t, trainingHeader, "main,im2im/segmentation,cpu,1,2,"+tiny, "phase1,im2im/segmentation,cpu,50,2,"+tiny, "phase3,im2im/segmentation,cpu,1,2,"+tiny))
	m := workloads.Of(v).Maker(workloads.Devices{})
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.New(t.Context(), v, in)
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		var rec profiles.Iteration
		if _, err := task.Iterate(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
	}
	if p := task.(workload.Imager).Picture(0); len(p.Pixels) != p.Width*p.Height {
		t.Errorf("a picture of %d by %d has %d pixels", p.Width, p.Height, len(p.Pixels))
	}
	task.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	results, err := tasks.Decode(data)
	if err != nil || len(results) != 2 || !results[0].Success || results[1].Success || *results[1].Error != "interrupted" {
		t.Fatalf("%v, %+v", err, results)
	}
	if m := results[1].Metrics.Training; m.Samples.Batches != 4 || !m.FullTraining.Partial || m.EpochBreakdown.FirstEpoch.Partial {
		t.Errorf("%+v", m)
	}
}

// Predictions take the weights of their checkpoint, and count what they processed, with any
// limit of batches.
func TestAListOfInferences(t *testing.T) {
	w := work(t, configured(t, "kind=inference", "tasks="+list(t, inferenceHeader,
		"main,im2im/segmentation,,,cpu,3,"+tiny, "phase3,im2im/segmentation,/nowhere.npz,,cpu,3,"+tiny, `combined,im2im/segmentation,,,cpu,1,"axes=2,patch=16x16,side=32,cells=4,held_out=4,trainer.limit_predict_batches=2"`), "skip_failed=true"))
	if w.err != nil || len(w.results) != 3 {
		t.Fatalf("%v, %+v", w.err, w.results)
	}
	for i, want := range []struct{ batches, samples, available int }{{2, 4, 2}, {}, {2, 2, 4}} {
		r := w.results[i]
		m := r.Metrics.Inference
		if i == 1 {
			if r.Success || !strings.Contains(*r.Error, "checkpoint_path") || m.InferenceInfo != nil {
				t.Errorf("a checkpoint that is not there: %+v", r)
			}
			continue
		}
		info := m.InferenceInfo
		if !r.Success || info.NumBatches != want.batches || info.SamplesProcessed != want.samples || info.NumOutputs != want.samples || info.AvailableBatches != want.available {
			t.Errorf("task %d: %+v, %+v", i, r.Error, info)
		}
		if want := float64(info.SamplesProcessed) / m.FullPrediction.ElapsedSeconds; math.Abs(*info.Throughput/want-1) > 1e-9 {
			t.Errorf("task %d: throughput %v, want %v", i, *info.Throughput, want)
		}
		first := m.BatchBreakdown
		parts := first.FirstBatchLoading.ElapsedSeconds + first.FirstBatchToDevice.ElapsedSeconds + first.FirstBatchForward.ElapsedSeconds + first.FirstBatchPostprocess.ElapsedSeconds
		if !(first.FirstBatchPostprocess.ElapsedSeconds > 0) || parts > first.FirstBatchProcessing.ElapsedSeconds || m.CheckpointLoading == nil {
			t.Errorf("task %d: %+v", i, first)
		}
		if !strings.Contains(r.Warning, "random ones") {
			t.Errorf("task %d: warning %q", i, r.Warning)
		}
	}
}

// A task of a git branch is a program in a process of its own, which shows as one external phase;
// what it writes is its result. A variant runs beside it.
func TestATaskOfAGitBranch(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("git is not installed")
	}
	git("init", "-q", "-b", "main")
	script := "printf '{\"success\": true, \"metrics\": {\"total_training\": {\"elapsed_seconds\": 2.5}}}' > \"$1\"\n"
	if err := os.WriteFile(filepath.Join(repo, "bench.sh"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-q", "-m", "one")
	w := work(t, configured(t, "skip_failed=true", "repo="+repo, "command=sh bench.sh {output}", "tasks="+list(t, trainingHeader,
		"main,im2im/segmentation,cpu,1,2,", "nowhere,im2im/segmentation,cpu,1,2,", "variant:main,im2im/segmentation,cpu,1,2,"+tiny)))
	if w.err != nil || len(w.results) != 3 {
		t.Fatalf("%v, %+v", w.err, w.results)
	}
	if r := w.results[0]; !r.Success || r.Metrics.Training.TotalTraining.ElapsedSeconds != 2.5 || len(r.GitInfo.CommitHash) != 40 || r.Device != "" {
		t.Errorf("%+v", r)
	}
	if r := w.results[1]; r.Success || !strings.Contains(*r.Error, "nowhere") {
		t.Errorf("%+v", r)
	}
	if r := w.results[2]; !r.Success || r.Settings["batch"] != "2" {
		t.Errorf("%+v", r)
	}
	if w.newest.List[0].Seconds != 2.5 || w.kinds[benchmark.Kind(0)] == 0 {
		t.Errorf("%+v, %v", w.newest.List[0], w.kinds)
	}
}
