package kineto

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made returns a trace of steps of 10 ms, whose phases are known; a GPU's kernels run later than they are launched.
func made(steps int, device bool) string {
	var b strings.Builder
	b.WriteString(`{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A card"}], "distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2}, "traceEvents": [` + "\n")
	b.WriteString(`{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}`)
	event := func(cat, name string, at, took float64) {
		fmt.Fprintf(&b, ",\n"+`{"ph": "X", "cat": %q, "name": %q, "pid": 1, "tid": 1, "ts": %.3f, "dur": %.3f, "args": {"External id": 3, "correlation": 0}}`, cat, name, at, took)
	}
	for i := steps - 1; i >= 0; i-- { // the order of a file says nothing
		at := 1e12 + 1e4*float64(i)
		event("cpu_op", "autograd::engine::evaluate_function: MmBackward0", at+5000, 1000)
		event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", at+6500, 1500)
		event("user_annotation", fmt.Sprintf("ProfilerStep#%d", i+3), at, 9999)
		event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 1000)
		event("user_annotation", "Optimizer.zero_grad#AdamW.zero_grad", at+1500, 500)
		event("user_annotation", "Optimizer.step#AdamW.step", at+8200, 800)
		event("cpu_op", "aten::add_", at+8300, 100)
		for k := range 8 { // a few operators may follow
			event("cpu_op", "aten::item", at+9100+10*float64(k), 5)
		}
		event("cpu_op", "aten::addcdiv_", at+8500, 400) // what follows in the optimizer's range is the range's own end
		event("cpu_op", "aten::linear", at+2100, 800)
		event("cpu_op", "aten::ones_like", at+4900, 50)
		event("cpu_op", "aten::ones_like", at+2200, 50)
		if device {
			for j, launch := range []float64{2500, 5500, 8300} {
				id := 10*i + j + 1
				fmt.Fprintf(&b, `,{"ph": "X", "cat": "kernel", "name": "gemm%d", "ts": "%.3f", "dur": 700, "args": {"correlation": %d}}`, j, at+launch+400, id)
				fmt.Fprintf(&b, `,{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": %.3f, "dur": 5, "args": {"correlation": %d}}`, at+launch, id)
			}
		}
	}
	b.WriteString("\n]}")
	return b.String()
}

// written writes a file and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if strings.HasSuffix(name, ".gz") {
		z := gzip.NewWriter(f)
		defer z.Close()
		_, err = z.Write([]byte(text))
	} else {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATraceIsStepsAndPhases(t *testing.T) {
	for _, name := range []string{"trace.json", "trace.json.gz"} {
		trace, err := Read(context.Background(), written(t, name, made(12, false)))
		if err != nil {
			t.Fatal(err)
		}
		if len(trace.Steps) != 12 || trace.Device || trace.Rank != 1 || trace.World != 2 {
			t.Fatalf("%+v", trace)
		}
		want := [Phases]int64{1e6, 1e6, 2.9e6, 3.1e6, 0.2e6, 0.7e6, 1.099e6}
		for i, s := range trace.Steps {
			if s.Number != int64(i+3) || s.Start != int64(i)*1e7 || s.Total != 9_999_000 || s.Phases != want {
				t.Errorf("step %d: %+v, want %v", i, s, want)
			}
		}
	}
}

func TestKernelsBelongToThePhaseThatLaunchedThem(t *testing.T) {
	trace, err := Read(context.Background(), written(t, "trace.json", made(10, true)))
	if err != nil {
		t.Fatal(err)
	}
	if !trace.Device || trace.Card != "A card" || len(trace.Longest) != 3 || trace.Longest[0].Calls != 10 {
		t.Fatalf("%+v", trace)
	}
	for _, s := range trace.Steps {
		if s.Phases != [Phases]int64{Forward: 7e5, Backward: 7e5, Optimizer: 7e5, Other: 9_999_000 - 21e5} || s.Kernels != 3 {
			t.Errorf("%+v", s)
		}
	}
}

func TestWhatIsNoTraceSaysSo(t *testing.T) {
	whole := made(4, true)
	for text, want := range map[string]string{
		"":                    "no trace of torch.profiler",
		"[1, 2]":              "no trace of torch.profiler",
		`{"a": 1}`:            "no trace of torch.profiler",
		`{"traceEvents": 3}`:  "no trace of torch.profiler",
		`{"traceEvents": []}`: "no ProfilerStep annotations",
		whole[:len(whole)/2]:  "ends in the middle",
		`{"traceEvents": [{"ph": "X", "name": "` + strings.Repeat("x", mostEvent+2) + `"}]}`: "more than 4 MB",
	} {
		if _, err := Read(context.Background(), written(t, "trace.json", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Read(ctx, written(t, "trace.json", whole)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// FuzzTraces reads anything: it fails or gives steps whose phases add up.
func FuzzTraces(f *testing.F) {
	f.Add(made(3, true))
	f.Add(made(2, false))
	f.Add(`{"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 1e300, "dur": -4}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := Read(context.Background(), written(t, "trace.json", text))
		if err != nil {
			return
		}
		for _, s := range trace.Steps {
			sum := int64(0)
			for _, ns := range s.Phases {
				sum += ns
				if ns < 0 {
					t.Fatalf("%+v", s)
				}
			}
			if sum != s.Total || s.Start < 0 {
				t.Fatalf("%+v", s)
			}
		}
	})
}
