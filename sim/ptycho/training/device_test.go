package training_test

import (
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/ptycho/training"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// lent are devices with a GPU of the tests, whose operations may fail.
func lent(fault func(operation string) error) workloads.Devices {
	return workloads.Devices{GPU: func(string) (nn.Backend, error) {
		inner, err := cpu.New(cpu.Options{Threads: 2})
		if err != nil {
			return nil, err
		}
		return &beside.Backend{Backend: inner, Fault: fault}, nil
	}}
}

// A training moves to a GPU and back with its weights and moments: its losses are those of one that stays.
func TestATrainingMovesBetweenDevices(t *testing.T) {
	v := configured(t, append(tiny, "device=cpu")...)
	losses := func(devices ...string) (all []float64) {
		m := workloads.Of(v).Maker(lent(nil))
		begin(t, v) // the scan that tests share
		task, err := m.New(t.Context(), v, scans[v.Get("gridsize")])
		if err != nil {
			t.Fatal(err)
		}
		defer task.Close()
		for _, device := range devices {
			on, err := v.Set(settings.Device, device)
			if err == nil {
				err = task.Apply(t.Context(), on)
			}
			if err != nil {
				t.Fatal(err)
			}
			if name := task.Device().Device(); name != device {
				t.Errorf("device = %s: on %s", device, name)
			}
			var rec profiles.Iteration
			if _, err := task.Iterate(t.Context(), &rec); err != nil {
				t.Fatal(err)
			}
			all = append(all, rec.Series[training.SeriesPoisson])
		}
		return all
	}
	want, got := losses("cpu", "cpu", "cpu", "cpu"), losses("cpu", "cuda", "cuda", "cpu")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("loss %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// After its GPU is lost, a training goes on on the processor from the state that it kept, with the losses of one that never left.
func TestATrainingOutlivesItsGPU(t *testing.T) {
	begin(t, configured(t, append(tiny, "device=cpu")...)) // the scan that tests share
	runs := 0
	v := configured(t, append(tiny, "device=cuda")...)
	m := workloads.Of(v).Maker(lent(func(operation string) error {
		if operation == "run" {
			if runs++; runs > 20 {
				return &beside.LostError{During: "a kernel"}
			}
		}
		return nil
	}))
	task, err := m.New(t.Context(), v, scans[v.Get("gridsize")])
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	recoverer := task.(workload.Recoverer)
	var rec profiles.Iteration
	done := 0
	for ; err == nil; done++ {
		_, err = task.Iterate(t.Context(), &rec)
	}
	sets, ok := recoverer.Fallback(err, v)
	if !nn.Lost(err) || !ok {
		t.Fatalf("%v, %v", err, ok)
	}
	if v, err = v.With(sets...); err != nil {
		t.Fatal(err)
	}
	from, err := recoverer.Recover(t.Context(), v)
	if err != nil || from.Lost < 0 || from.Lost >= int64(done) {
		t.Fatalf("%+v of %d, %v", from, done, err)
	}
	rec = profiles.Iteration{}
	if _, err := task.Iterate(t.Context(), &rec); err != nil || task.Device().Device() != "cpu" || rec.InUnit != int32(done-1)-int32(from.Lost) {
		t.Errorf("on %s, minibatch %d after %d, %+v: %v", task.Device().Device(), rec.InUnit, done, from, err)
	}
}

// A change for which the GPU has too little memory is refused, and the training goes on as before.
func TestATrainingRefusesAPlanWithoutMemory(t *testing.T) {
	short := false
	v := configured(t, append(tiny, "device=cuda")...)
	m := workloads.Of(v).Maker(lent(func(operation string) error {
		if short && operation == "load" {
			short = false // the plan before fits again
			return &beside.MemoryError{}
		}
		return nil
	}))
	begin(t, configured(t, append(tiny, "device=cpu")...)) // the scan that tests share
	task, err := m.New(t.Context(), v, scans[v.Get("gridsize")])
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	short = true
	next, err := v.Set("amp", "bf16")
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Apply(t.Context(), next); !workload.Refused(err) || !strings.Contains(err.Error(), "a smaller batch needs less") {
		t.Errorf("the error is %v", err)
	}
	var rec profiles.Iteration
	if _, err := task.Iterate(t.Context(), &rec); err != nil {
		t.Errorf("after the refusal: %v", err)
	}
}
