package inference

import (
	"errors"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/workload"
)

// withGPU is a maker whose device cuda is a GPU of the tests, whose operations may fail.
func withGPU(t testing.TB, fault func(operation string) error) Maker {
	m := maker(t)
	m.GPUReason = func(string) string { return "" }
	m.Open = func(v settings.Values) (learning.Device, error) {
		host, err := cpu.New(cpu.Options{Threads: 1})
		if err != nil {
			return learning.Device{}, err
		}
		open := func(device string) (nn.Backend, string, error) {
			if device == "cpu" {
				return host, "", nil
			}
			inner, err := cpu.New(cpu.Options{Threads: 1})
			if err != nil {
				return nil, "", err
			}
			if fault != nil {
				if err := fault("open"); err != nil {
					inner.Close()
					return nil, "", err
				}
			}
			return &beside.Backend{Backend: inner, Fault: fault}, "", nil
		}
		resolve := func(device string) string {
			if device == "cpu" {
				return "cpu"
			}
			return "cuda:0"
		}
		return learning.Start(host, v.Text(settings.Device), open, resolve)
	}
	return m
}

// iterate computes a batch.
func iterate(t *testing.T, task *Task) (rec profiles.Iteration) {
	t.Helper()
	if _, err := task.Iterate(t.Context(), &rec); err != nil {
		t.Fatal(err)
	}
	return rec
}

// An inference moves between devices with its weights, and its first batch there counts as warm-up.
func TestAnInferenceMovesBetweenDevices(t *testing.T) {
	v := resolved(t, "device=cpu", "weights=seeded")
	task := start(t, withGPU(t, nil), v)
	iterate(t, task)
	for _, device := range []string{"cuda", "cuda", "cpu", "auto"} {
		v = set(t, v, settings.Device, device)
		if err := task.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if got, want := task.Device().Device(), map[bool]string{true: "cpu", false: "cuda"}[device == "cpu"]; got != want {
			t.Errorf("device = %s: on %s", device, got)
		}
		iterate(t, task)
	}
	want := start(t, maker(t), resolved(t, "device=cpu", "weights=seeded"))
	for range 5 {
		iterate(t, want)
	}
	for i, z := range want.current() {
		if z != task.current()[i] {
			t.Fatalf("pixel %d is %v, want %v", i, task.current()[i], z)
		}
	}
}

// What a GPU cannot do is refused, and the inference goes on where it was; under auto it begins on the processor.
func TestAGPUThatIsShortOfMemoryIsRefused(t *testing.T) {
	short := func(operation string) error {
		if operation == "load" {
			return &beside.MemoryError{}
		}
		return nil
	}
	v := resolved(t, "device=cpu", "weights=seeded")
	task := start(t, withGPU(t, short), v)
	err := task.Apply(t.Context(), set(t, v, settings.Device, "cuda"))
	if !workload.Refused(err) || !strings.Contains(err.Error(), "a smaller batch needs less") {
		t.Errorf("the error is %v", err)
	}
	iterate(t, task)
	m, v := withGPU(t, short), resolved(t, "device=cuda", "weights=seeded")
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	var lacking *workload.LackingError
	if _, err := m.New(t.Context(), v, in); !errors.As(err, &lacking) {
		t.Errorf("device = cuda: %v", err)
	}
	auto := start(t, m, resolved(t, "device=auto", "weights=seeded"))
	if info := auto.Info(); auto.Device().Device() != "cpu" || !strings.Contains(info.GPUReason, "too little memory") {
		t.Errorf("device = auto: on %s, %q", auto.Device().Device(), info.GPUReason)
	}
}

// After its GPU is lost, an inference goes on on the processor with the batch that failed.
func TestAnInferenceOutlivesItsGPU(t *testing.T) {
	runs := 0
	m := withGPU(t, func(operation string) error {
		if operation == "run" {
			if runs++; runs > 2 {
				return &beside.LostError{During: "a kernel"}
			}
		}
		return nil
	})
	v := resolved(t, "device=cuda", "weights=seeded")
	task := start(t, m, v)
	iterate(t, task)
	iterate(t, task)
	var rec profiles.Iteration
	_, err := task.Iterate(t.Context(), &rec)
	sets, ok := task.Fallback(err, v)
	if !nn.Lost(err) || !ok {
		t.Fatalf("%v, %v", err, ok)
	}
	if v, err = v.With(sets...); err == nil {
		_, err = task.Recover(t.Context(), v)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := task.next
	iterate(t, task)
	if task.Device().Device() != "cpu" || task.next != before+4 {
		t.Errorf("on %s, group %d after %d", task.Device().Device(), task.next, before)
	}
}
