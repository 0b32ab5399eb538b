package im2im_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// lent begins a task on GPUs of the tests, whose operations may fail.
func lent(t *testing.T, v settings.Values, fault func(operation string) error) workload.Task {
	t.Helper()
	m := workloads.Of(v).Maker(workloads.Devices{GPU: func(string) (nn.Backend, error) {
		inner, err := cpu.New(cpu.Options{Threads: 2})
		if err != nil {
			return nil, err
		}
		return &beside.Backend{Backend: inner, Fault: fault}, nil
	}})
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.New(t.Context(), v, in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(task.Close)
	return task
}

// outlive iterates until the GPU fails, and lets the task go on as a run does.
func outlive(t *testing.T, task workload.Task, v settings.Values) (before []profiles.Iteration, from workload.Recovered, next settings.Values) {
	t.Helper()
	recoverer := task.(workload.Recoverer)
	var err error
	for err == nil {
		var rec profiles.Iteration
		if _, err = task.Iterate(t.Context(), &rec); err == nil {
			before = append(before, rec)
		}
	}
	sets, ok := recoverer.Fallback(err, v)
	if !nn.Lost(err) || !ok {
		t.Fatalf("%v, %v", err, ok)
	}
	if next, err = v.With(sets...); err != nil {
		t.Fatal(err)
	}
	if from, err = recoverer.Recover(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if task.Device().Device() != "cpu" {
		t.Errorf("it goes on on %s", task.Device().Device())
	}
	return before, from, next
}

// A training whose GPU is lost goes on on the processor from the state that it kept, with the losses of one that never left it; so do
// replicas, as one.
func TestATrainingOutlivesItsGPU(t *testing.T) {
	for _, more := range []string{"replicas=1", "replicas=2"} {
		want := iterate(t, begin(t, configured(t, append(small, more, "device=cpu")...)), 1<<20)
		v := configured(t, append(small, more, "device=cuda")...)
		runs, last := 0, 60 // in the third epoch, or in the second of replicas
		task := lent(t, v, func(operation string) error {
			if operation == "run" {
				if runs++; runs > last {
					return &beside.LostError{During: "a kernel"}
				}
			}
			return nil
		})
		before, from, next := outlive(t, task, v)
		if next.Int("replicas") != 1 || from.Lost < 0 || from.Lost > int64(len(before)) || len(before) < 4 {
			t.Fatalf("%s: %+v after %d iterations, %d replicas", more, from, len(before), next.Int("replicas"))
		}
		var rec profiles.Iteration
		if _, err := task.Iterate(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
		again := len(before) - int(from.Lost)
		if rec.Unit != from.Unit || int(rec.Unit)*4+int(rec.InUnit) != again {
			t.Errorf("%s: minibatch %d of epoch %d follows %d with %d lost", more, rec.InUnit, rec.Unit, len(before), from.Lost)
		}
		rest := iterate(t, task, 1<<20)
		got := append([]float64{rec.Series[im2im.SeriesLoss]}, rest.loss...)
		if len(got) != len(want.loss)-again {
			t.Fatalf("%s: %d iterations follow %d, want %d in all", more, len(got), again, len(want.loss))
		}
		for i, loss := range got {
			if w := want.loss[again+i]; more == "replicas=1" && loss != w || !(math.Abs(loss-w) <= 0.05*w) {
				t.Errorf("%s: loss %d is %v, want %v", more, again+i, loss, w)
			}
		}
		if a, b := rest.last.Measured[im2im.SeriesSimilarity], want.last.Measured[im2im.SeriesSimilarity]; math.Abs(a-b) > 0.05 {
			t.Errorf("%s: similarity %v, want %v", more, a, b)
		}
	}
}

// A prediction whose GPU is lost predicts the batch again on the processor: its files and its similarity are those of one that never
// left it.
func TestAPredictionOutlivesItsGPU(t *testing.T) {
	predicted := func(device string, fault func(string) error) (similarity float64, files map[string]string) {
		folder := t.TempDir()
		v := configured(t, append(small, "mode=predict", "weights=seeded", "held_out=5", "batch=2", "predictions="+folder, "device="+device)...)
		task := lent(t, v, fault)
		if fault != nil {
			before, from, _ := outlive(t, task, v)
			if len(before) != 1 || from != (workload.Recovered{}) {
				t.Errorf("%+v after %d batches", from, len(before))
			}
		}
		r := iterate(t, task, 9)
		files = map[string]string{}
		names, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = string(data)
		}
		return r.last.Measured[im2im.SeriesSimilarity], files
	}
	want, wanted := predicted("cpu", nil)
	runs := 0
	got, files := predicted("cuda", func(operation string) error {
		if operation == "run" {
			if runs++; runs > 3 { // in the second image of the second batch
				return &beside.LostError{During: "a kernel"}
			}
		}
		return nil
	})
	if got != want || len(files) != 5 {
		t.Errorf("similarity %v in %d files, want %v in 5", got, len(files), want)
	}
	for name, data := range wanted {
		if files[name] != data {
			t.Errorf("%s differs", name)
		}
	}
}

// What is wrong with images is not the GPU's fault: the run ends, for it would end on the processor, too.
func TestAFileThatCannotBeWrittenIsNotTheGPUs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "predictions")
	v := configured(t, append(small, "mode=predict", "weights=seeded", "predictions="+folder, "device=cuda")...)
	task := lent(t, v, nil)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var rec profiles.Iteration
	_, err := task.Iterate(t.Context(), &rec)
	sets, ok := task.(workload.Recoverer).Fallback(err, v)
	if err == nil || ok {
		t.Errorf("%v: falls back to %v", err, sets)
	}
	if sets, ok = task.(workload.Recoverer).Fallback(errors.New("of the GPU"), v); !ok || !slices.Equal(sets, []settings.Assignment{{Key: settings.Device, Value: "cpu"}}) {
		t.Errorf("an error of the GPU: %v, %v", sets, ok)
	}
	if !strings.Contains(err.Error(), "predictions") {
		t.Errorf("the error is %v", err)
	}
}
