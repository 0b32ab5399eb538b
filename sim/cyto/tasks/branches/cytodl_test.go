//go:build unix

package branches

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/sim/cyto/tasks"
)

// checkout makes a repository with a branch like cyto-dl's.
func checkout(t *testing.T, change func(folder string)) *Repository {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	folder := filepath.Join(t.TempDir(), "cyto-dl")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "cyto-dl"))); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(folder)
	}
	gitIn(t, folder, "init", "-q", "-b", "main")
	gitIn(t, folder, "add", "-A")
	gitIn(t, folder, "commit", "-q", "-m", "start")
	return open(t, folder, func(o *Options) { o.Command = "" })
}

// modules has Python find the modules of the tests.
func modules(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("skipped: there is no python3 on this machine")
	}
	path, err := filepath.Abs(filepath.Join("testdata", "python"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", path)
}

// prediction returns an inference of cyto-dl.
func prediction(t *testing.T, weights string) *tasks.Task {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's epoch=9.ckpt")
	if err := os.WriteFile(path, []byte(weights), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tasks.Task{Kind: tasks.Inference, Branch: "main", Experiment: tasks.Segmentation, Trainer: "cpu", Batch: 4, Checkpoint: path, Limits: tasks.DefaultLimits()}
}

// A training of cyto-dl gives every number of the document. The names of the documents are
// understood, the sections _aux removed, and the model is called by Lightning alone.
func TestCytoDLTrains(t *testing.T) {
	modules(t)
	r := checkout(t, nil)
	training := task("main")
	training.Checkpoint, training.Limits.Train = "", 2
	training.Overrides = []tasks.Override{{Raw: "datamodule.batch_size=4"}, {Raw: "trainer.limit_val_batches=3"}, {Raw: "data._aux.patch_shape=[8,16,16]"}}
	out := r.Run(t.Context(), training, 1, 1)
	if !out.Round.Success {
		t.Fatalf("%s\n%s", value(out.Round.Error), out.Round.Output)
	}
	m := out.Round.Metrics.Training
	b := m.EpochBreakdown
	for name, timer := range map[string]*tasks.Timer{
		"model_initialization": m.ModelInitialization, "config_loading": m.ConfigLoading, "data_setup": m.DataSetup, "model_setup": m.ModelSetup, "trainer_setup": m.TrainerSetup,
		"full_training": m.FullTraining, "total_training": m.TotalTraining,
		"first_epoch": b.FirstEpoch, "first_batch": b.FirstBatch, "data_loading": b.DataLoadingFirstBatch, "forward": b.ModelForwardFirstBatch,
	} {
		if timer == nil || timer.ElapsedSeconds <= 0 || !timer.Awaited || timer.Partial || timer.PeakMemoryMB != nil || timer.MemoryReason != "no CUDA device computes this task" {
			t.Errorf("%s: %+v", name, timer)
		}
	}
	if m.TotalTraining.ElapsedSeconds < m.FullTraining.ElapsedSeconds || b.FirstEpoch.ElapsedSeconds < b.FirstBatch.ElapsedSeconds || b.FirstBatch.ElapsedSeconds < b.ModelForwardFirstBatch.ElapsedSeconds {
		t.Error("a part takes longer than the whole")
	}
	if *m.Samples != (tasks.Samples{Processed: 5 * 2 * 4, Batches: 5 * 2}) || m.Throughput == nil || m.FinalMetrics["train/loss"] != 0.5 {
		t.Errorf("%+v, %v", m.Samples, m.FinalMetrics)
	}
	if *m.DatasetInfo != (tasks.DatasetInfo{NumTrainBatches: 2, BatchSize: 8, AvailableTrainBatches: 3, LimitTrainBatches: 2, LimitValBatches: 5}) {
		t.Errorf("%+v", m.DatasetInfo)
	}
	for _, name := range []string{"label_free", "segmentation"} {
		training.Experiment = name
		if out := r.Run(t.Context(), training, 1, 1); !out.Round.Success {
			t.Errorf("%s: %s", name, value(out.Round.Error))
		}
	}
	clean(t, r)
}

// A prediction of cyto-dl counts what it did, with weights that are loaded strictly.
func TestCytoDLPredicts(t *testing.T) {
	modules(t)
	r := checkout(t, nil)
	out := r.Run(t.Context(), prediction(t, `{"state_dict": {"weight": 1}}`), 1, 1)
	if !out.Round.Success {
		t.Fatalf("%s\n%s", value(out.Round.Error), out.Round.Output)
	}
	m := out.Round.Metrics.Inference
	b := m.BatchBreakdown
	for name, timer := range map[string]*tasks.Timer{
		"checkpoint_loading": m.CheckpointLoading, "full_prediction": m.FullPrediction, "total_inference": m.TotalInference,
		"loading": b.FirstBatchLoading, "to_device": b.FirstBatchToDevice, "forward": b.FirstBatchForward, "postprocess": b.FirstBatchPostprocess, "processing": b.FirstBatchProcessing,
	} {
		if timer == nil || timer.ElapsedSeconds <= 0 || timer.Partial {
			t.Errorf("%s: %+v", name, timer)
		}
	}
	if i := m.InferenceInfo; i.NumBatches != 3 || i.SamplesProcessed != 4+4+1 || i.NumOutputs != 3 || i.AvailableBatches != 3 || *i.Throughput*m.FullPrediction.ElapsedSeconds < 8.99 {
		t.Errorf("%+v", i)
	}
	clean(t, r)
}

// What cannot run says why, and keeps what it measured.
func TestCytoDLSaysWhatIsWrong(t *testing.T) {
	modules(t)
	r := checkout(t, nil)
	gpu, unknown, ddp, other := task("main"), task("main"), task("main"), task("main")
	other.Experiment, other.Checkpoint, other.Overrides = "im2im/none", "", nil
	gpu.Trainer, gpu.Checkpoint, gpu.Overrides = "gpu", "", nil
	ddp.Trainer, ddp.Checkpoint, ddp.Overrides = "ddp", "", nil
	unknown.Checkpoint, unknown.Overrides = "", []tasks.Override{{Raw: "no.such.key=1"}}
	absent := prediction(t, "")
	absent.Checkpoint = "path/to/checkpoint.ckpt"
	for _, c := range []struct {
		task *tasks.Task
		want string
	}{
		{gpu, "the trainer gpu needs a CUDA device, and PyTorch finds none: use cpu"},
		{ddp, "the trainer ddp runs in several processes"},
		{other, "the branch has no experiment im2im/none: there is no file configs/experiment/im2im/none.yaml"},
		{unknown, "ValueError: Could not override 'no.such.key'"},
		{prediction(t, `{"state_dict": {"bias": 1}}`), "RuntimeError: Error(s) in loading state_dict"},
		{absent, "Checkpoint not found: "},
	} {
		out := r.Run(t.Context(), c.task, 1, 1)
		if got := value(out.Round.Error); out.Round.Success || !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		if c.task == unknown {
			m := out.Round.Metrics.Training
			if m == nil || m.ConfigLoading == nil || !m.ConfigLoading.Partial || m.TotalTraining == nil || !m.TotalTraining.Partial || m.DataSetup != nil {
				t.Errorf("%+v", m)
			}
		}
	}
}

// Without Python, torch or cyto-dl, the task says what to do.
func TestWithoutPythonOrTorch(t *testing.T) {
	r := checkout(t, nil)
	run := func() string {
		t.Helper()
		training := task("main")
		training.Checkpoint, training.Overrides = "", nil
		return value(r.Run(t.Context(), training, 1, 1).Round.Error)
	}
	if _, err := exec.LookPath(python); err == nil {
		t.Setenv("PYTHONPATH", t.TempDir())
		t.Setenv("PYTHONNOUSERSITE", "1")
		if got := run(); strings.Contains(got, "has no") && !strings.Contains(got, "activate the environment of cyto-dl") {
			t.Error(got)
		} else if !strings.Contains(got, "has no ") {
			t.Logf("this machine's Python has everything: %s", got)
		}
	}
	// A python3 that writes what ours would.
	folder := t.TempDir()
	write(t, filepath.Join(folder, python), `#!/bin/sh
case "$1" in *cytodl.py) ;; *) exit 9;; esac
grep -q Clock "$1" || exit 8
grep -q '"kind": "training"' "$2" || exit 7
echo '{"success":false,"error":"python3 has no torch: activate the environment of cyto-dl","metrics":{}}' > "$TASK_OUTPUT"
exit 3
`)
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	if got := run(); got != "python3 has no torch: activate the environment of cyto-dl" {
		t.Error(got)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	only := t.TempDir()
	if err := os.Symlink(git, filepath.Join(only, "git")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", only)
	if got := run(); !strings.HasPrefix(got, "python3 is not in PATH: activate the environment that has cyto-dl, or give the command of the branches with --command") {
		t.Error(got)
	}
	clean(t, r)
}

// Every branch runs its own code, not one that was imported before or is installed.
func TestBranchesImportTheirOwnCode(t *testing.T) {
	modules(t)
	installed := t.TempDir()
	if err := os.CopyFS(installed, os.DirFS(filepath.Join("testdata", "cyto-dl"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", os.Getenv("PYTHONPATH")+":"+installed)
	r := checkout(t, nil)
	training := task("main")
	training.Checkpoint, training.Overrides = "", nil
	if out := r.Run(t.Context(), training, 1, 1); !out.Round.Success {
		t.Errorf("%s\n%s", value(out.Round.Error), out.Round.Output)
	}
	bare := checkout(t, func(folder string) {
		if err := os.RemoveAll(filepath.Join(folder, "cyto_dl")); err != nil {
			t.Fatal(err)
		}
	})
	if got := value(bare.Run(t.Context(), training, 1, 1).Round.Error); !strings.HasPrefix(got, "cyto_dl is imported from "+installed) || !strings.Contains(got, "not from the branch in") {
		t.Error(got)
	}
}
