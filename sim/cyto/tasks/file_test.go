package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func timer(seconds float64) *Timer {
	return &Timer{ElapsedSeconds: seconds, Awaited: true, MemoryReason: "no CUDA device"}
}

// trainings returns a round of a training that took a time.
func trainings(round int, seconds float64) Round {
	m := &TrainingMetrics{
		ModelInitialization: timer(0.5), ConfigLoading: timer(0.1), DataSetup: timer(0.1), ModelSetup: timer(0.1), TrainerSetup: timer(0.1),
		EpochBreakdown: &EpochBreakdown{DataLoadingFirstBatch: timer(0.01), ModelForwardFirstBatch: timer(0.02), FirstEpoch: timer(seconds / 4), FirstBatch: timer(0.03)},
		FullTraining:   timer(seconds - 1), FinalMetrics: FinalMetrics{"train/loss": 0.5, "val/loss": math.NaN()},
		DatasetInfo:   &DatasetInfo{NumTrainBatches: 10, BatchSize: 8, AvailableTrainBatches: 100, LimitTrainBatches: 10, LimitValBatches: 5},
		TotalTraining: timer(seconds), Samples: &Samples{Processed: 400, Batches: 50},
	}
	m.SetThroughput()
	return Round{Round: round, Position: 1, Timestamp: "2025-11-24T12:00:00.000000", Success: true, Metrics: Metrics{Training: m}}
}

// inferences returns a round of an inference that took a time.
func inferences(round int, seconds float64) Round {
	m := &InferenceMetrics{
		ModelInitialization: timer(0.5), ConfigLoading: timer(0.1), DataSetup: timer(0.1), ModelSetup: timer(0.1), CheckpointLoading: timer(0.1), TrainerSetup: timer(0.1),
		BatchBreakdown: &BatchBreakdown{FirstBatchLoading: timer(0.01), FirstBatchToDevice: timer(0.001), FirstBatchForward: timer(seconds / 10), FirstBatchPostprocess: timer(0.02), FirstBatchProcessing: timer(seconds / 8)},
		FullPrediction: timer(seconds - 1), TotalInference: timer(seconds),
		InferenceInfo: &InferenceInfo{NumBatches: 10, BatchSize: 16, NumOutputs: 150, SamplesProcessed: 150, AvailableBatches: 1000, LimitPredictBatches: 10},
	}
	m.SetThroughput()
	return Round{Round: round, Position: 1, Timestamp: "2025-11-24T12:00:00.000000", Success: true, Metrics: Metrics{Inference: m}}
}

// keysOf lists the keys of an object and of those in it.
func keysOf(v any, at string) (all []string) {
	if m, ok := v.(map[string]any); ok {
		for k, inner := range m {
			all = append(all, at+k)
			all = append(all, keysOf(inner, at+k+".")...)
		}
	}
	return all
}

// The file has the keys of the documents and of CytoDL's script.
func TestFilesHaveTheDocumentedKeys(t *testing.T) {
	task := trained(t, header+"main,segmentation,cpu,5,8,\n", ReadOptions{})[0]
	result := task.Result([]Round{trainings(1, 8)})
	result.GitInfo = &GitInfo{"main", "abc123", "2025-11-24 12:00:00 +0000"}
	inference := Task{Kind: Inference, Branch: "main", Experiment: Segmentation, Row: Row{{"branch", "main"}}}
	path := filepath.Join(t.TempDir(), "results", "train_benchmark.json")
	if err := WriteResults(path, []Result{result, inference.Result([]Round{inferences(1, 5)})}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("[\n  {\n    \"branch\": \"main\",\n    \"experiment\": \"im2im/segmentation\",\n    \"task_config\": {\n      \"branch\": \"main\",\n")) {
		t.Errorf("%.200s", text)
	}
	var all []map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"branch experiment task_config task_config.max_epochs timestamp success error git_info.branch git_info.commit_hash git_info.commit_date " +
			"metrics.model_initialization metrics.config_loading metrics.data_setup metrics.model_setup metrics.trainer_setup " +
			"metrics.epoch_breakdown.data_loading_first_batch.elapsed_seconds metrics.epoch_breakdown.model_forward_first_batch metrics.epoch_breakdown.first_epoch.elapsed_seconds " +
			"metrics.full_training metrics.final_metrics.train/loss metrics.dataset_info.num_train_batches metrics.dataset_info.batch_size " +
			"metrics.total_training.elapsed_seconds metrics.total_training.memory_delta_mb metrics.total_training.peak_memory_mb",
		"metrics.model_initialization metrics.config_loading metrics.data_setup metrics.model_setup metrics.checkpoint_loading metrics.trainer_setup " +
			"metrics.batch_breakdown.first_batch_loading metrics.batch_breakdown.first_batch_to_device metrics.batch_breakdown.first_batch_forward " +
			"metrics.batch_breakdown.first_batch_postprocess metrics.batch_breakdown.first_batch_processing metrics.full_prediction " +
			"metrics.inference_info.num_batches metrics.inference_info.batch_size metrics.inference_info.num_outputs metrics.inference_info.avg_time_per_batch " +
			"metrics.inference_info.throughput_samples_per_sec metrics.total_inference",
	} {
		got := keysOf(all[i], "")
		for _, key := range strings.Fields(want) {
			if !slices.Contains(got, key) {
				t.Errorf("no %s", key)
			}
		}
	}
	m := all[0]["metrics"].(map[string]any)
	if loss := m["final_metrics"].(map[string]any)["val/loss"]; loss != nil {
		t.Errorf("a loss that is no number is %v", loss)
	}
	if all[0]["error"] != nil || all[0]["success"] != true {
		t.Errorf("%v", all[0])
	}
	back, err := Decode(text)
	if err != nil || len(back) != 2 {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, back), encoded(t, []Result{result, inference.Result([]Round{inferences(1, 5)})})) {
		t.Error("read back, the results differ")
	}
}

// Throughput is of the samples that were processed, not of those that there were.
func TestThroughputIsOfWhatWasProcessed(t *testing.T) {
	i := inferences(1, 6).Metrics.Inference.InferenceInfo
	if *i.Throughput != 150.0/5 || *i.AvgTimePerBatch != 0.5 {
		t.Errorf("%g samples/s, %g s a batch", *i.Throughput, *i.AvgTimePerBatch)
	}
	if m := trainings(1, 5).Metrics.Training; *m.Throughput != 100 {
		t.Errorf("%g samples/s", *m.Throughput)
	}
	nothing := InferenceMetrics{FullPrediction: timer(1), InferenceInfo: &InferenceInfo{}}
	if nothing.SetThroughput(); nothing.InferenceInfo.Throughput != nil {
		t.Errorf("%g samples/s of none", *nothing.InferenceInfo.Throughput)
	}
}

func TestFilesAreWrittenWholeOrNotAtAll(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a", "b", "results.json")
	if err := WriteResults(path, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "[]\n" {
		t.Errorf("%q, %v", text, err)
	}
	bad := []Result{{Metrics: Metrics{Training: &TrainingMetrics{TotalTraining: timer(math.NaN())}}}}
	if err := WriteResults(path, bad); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "[]\n" {
		t.Errorf("the file has changed: %q, %v", text, err)
	}
	blocked := filepath.Join(path, "c.json") // whose folder is a file
	if err := WriteResults(blocked, nil); err == nil || !strings.Contains(err.Error(), blocked) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// Files of CytoDL's script, of one task or of a program of another make are read.
func TestOtherFilesAreRead(t *testing.T) {
	for text, want := range map[string]int{
		`[]`: 0,
		`{"branch":"main","success":true,"metrics":{"total_inference":{"elapsed_seconds":3,"memory_delta_mb":null,"peak_memory_mb":1}}}`:                              1,
		` [{"branch":"a","task_config":{"batch_size":8,"overrides":""},"error":"x","warning":"y"},{"branch":"b","metrics":{"total_training":{"elapsed_seconds":1}}}]`: 2,
		`[1]`: -1, `{"metrics":[]}`: -1, `{"task_config":[]}`: -1, ``: -1, `[{}`: -1,
	} {
		all, err := Decode([]byte(text))
		if want < 0 != (err != nil) || err == nil && len(all) != want {
			t.Errorf("%s: %d results, %v", text, len(all), err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "must be a list of results as JSON") {
			t.Error(err)
		}
		if len(all) == 2 && (!slices.Equal(all[0].TaskConfig, Row{{"batch_size", "8"}, {"overrides", ""}}) || all[1].Metrics.Training == nil || all[0].Warning != "y") {
			t.Errorf("%+v", all)
		}
		if strings.Contains(text, "inference") && all[0].Metrics.Inference == nil {
			t.Errorf("%+v", all[0])
		}
	}
}

// The rounds of a task become one result: that of the median time, and the first error.
func TestRoundsAreJoined(t *testing.T) {
	task := Task{Kind: Training, Branch: "b", Experiment: Segmentation, Variant: "phase1"}
	r := task.Result([]Round{trainings(3, 9), trainings(1, 7), trainings(4, 6), trainings(2, 8)})
	if total, _ := r.Metrics.total(); total != 7 || !r.Success || r.Error != nil || r.Rounds[0].Round != 1 || r.Variant != "phase1" || r.Kind != "training" {
		t.Errorf("%+v", r)
	}
	part := Round{Round: 2, Timestamp: "later", Metrics: Metrics{Training: &TrainingMetrics{ConfigLoading: timer(0.1)}}}
	part = Failed(part, errors.New("out of \x1bmemory"))
	r = task.Result([]Round{trainings(1, 7), part})
	if total, _ := r.Metrics.total(); total != 7 || r.Success || *r.Error != `round 2: out of \x1bmemory` || r.Timestamp != "2025-11-24T12:00:00.000000" {
		t.Errorf("%+v, %s", r, *r.Error)
	}
	r = task.Result([]Round{part})
	if r.Success || *r.Error != `out of \x1bmemory` || r.Metrics.Training.ConfigLoading == nil {
		t.Errorf("what a failed task measured is lost: %+v", r)
	}
	if r = task.Result(nil); r.Success || *r.Error != "the task was not run" {
		t.Errorf("%+v", r)
	}
	if got := Stamp(time.Date(2025, 11, 24, 12, 0, 0, 5000, time.Local)); got != "2025-11-24T12:00:00.000005" {
		t.Error(got)
	}
}

func TestMetricsOfOthersAreChecked(t *testing.T) {
	for _, c := range []struct {
		m       Metrics
		kind    Kind
		success bool
		want    string
	}{
		{trainings(1, 1).Metrics, Training, true, ""},
		{inferences(1, 1).Metrics, Inference, true, ""},
		{Metrics{}, Training, false, ""},
		{Metrics{}, Training, true, "total_training is missing"},
		{Metrics{Inference: &InferenceMetrics{}}, Inference, true, "total_inference is missing"},
		{trainings(1, 1).Metrics, Inference, true, "must be those of inference"},
		{Metrics{Inference: &InferenceMetrics{BatchBreakdown: &BatchBreakdown{FirstBatchForward: timer(-1)}}}, Inference, false, "below 0"},
	} {
		if err := c.m.Check(c.kind, c.success); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.m, err, c.want)
		}
	}
}

func TestSummaries(t *testing.T) {
	task := Task{Kind: Training, Branch: "main", Experiment: Segmentation}
	peak := 4096.25
	with := trainings(1, 120.5)
	with.Metrics.Training.TotalTraining.PeakMemoryMB = &peak
	host := inferences(1, 6)
	host.Metrics.Inference.TotalInference.HostPeakMB = &peak
	inference := Task{Kind: Inference, Branch: "claude/all-optimizations-combined-014", Experiment: Segmentation}
	failed := task.Result([]Round{Failed(Round{Round: 1}, errors.New("out of memory"))})
	failed.Warning = "reduce batch_size"
	var b strings.Builder
	if err := Summary(&b, []Result{task.Result([]Round{with}), task.Result([]Round{trainings(1, 2)}), inference.Result([]Round{host}), failed}); err != nil {
		t.Fatal(err)
	}
	const want = `✓ main                           im2im/segmentation             total 120.50 s  first epoch 30.12 s  peak 4096.2 MB
✓ main                           im2im/segmentation             total 2.00 s  first epoch 0.50 s  peak unknown
✓ claude/all-optimizations-combined-014 im2im/segmentation             total 6.00 s  first forward 0.6000 s  30.00 samples/s  host peak 4096.2 MB
✗ main                           im2im/segmentation
  error: out of memory
  warning: reduce batch_size
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// What programs on git branches write cannot do harm.
func FuzzResults(f *testing.F) {
	f.Add([]byte(`[{"branch":"a","success":true,"task_config":{"x":1},"metrics":{"total_training":{"elapsed_seconds":1}},"rounds":[{"round":1,"success":true}]},{"success":true,"metrics":{"total_inference":{"elapsed_seconds":1e308}}}]`))
	f.Add([]byte(`{"metrics":{"batch_breakdown":{},"inference_info":{"throughput_samples_per_sec":-1}},"success":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Decode(data)
		if err != nil {
			return
		}
		for i := range all {
			_ = all[i].Metrics.Check(Training, all[i].Success)
			_ = all[i].Metrics.Check(Inference, all[i].Success)
		}
		for _, rule := range []Rule{FirstTask, FastestTask} {
			c := Compare(all, rule)
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
			if err := c.Write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		if err := Summary(io.Discard, all); err != nil {
			t.Fatal(err)
		}
		text, err := Encode(all)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode(text); err != nil || len(again) != len(all) {
			t.Fatalf("%d of %d results, %v", len(again), len(all), err)
		}
	})
}
