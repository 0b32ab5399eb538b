package gpu_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/gpu"
	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/gpu/emulator"
	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/nn"
	"prismtop/sim/verify"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// cells are a training of CytoDL's network that an emulated GPU iterates in tenths of a second.
var cells = []string{"axes=2", "patch=8x8", "side=16", "cells=4", "volumes=2", "held_out=1", "batch=2", "patches_per_image=1", "epochs=2", "learning_rate=0.003",
	"limit_train_batches=2", "limit_val_batches=1", "window_batch=4", "overlap=0", "threads=1"}

// machineOf are the devices of a machine with emulated GPUs, each of which one backend opens.
func machineOf(o emulator.Options) (workloads.Devices, *emulator.Driver) {
	d := emulator.New(o)
	found := gpu.ProbeWith(func() (driver.Driver, error) { return d, nil })
	return workloads.Devices{
		GPUReason: func(device string) string { _, reason := gpu.Ordinal(found, device); return reason },
		Ordinal:   func(device string) int { n, _ := gpu.Ordinal(found, device); return n },
		GPU: func(device string) (nn.Backend, error) {
			n, reason := gpu.Ordinal(found, device)
			if reason != "" {
				return nil, errors.New(reason)
			}
			b, err := cuda.Open(d, cuda.Options{Ordinal: n})
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	}, d
}

// cellsOf prepares a task of CytoDL's network.
func cellsOf(t *testing.T, d workloads.Devices, sets ...string) (workload.Task, settings.Values, error) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{im2im.Presets()}, Sets: append(cells[:len(cells):len(cells)], sets...)})
	if err != nil {
		t.Fatal(err)
	}
	maker := workloads.Cyto(d)
	in, err := maker.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	task, err := maker.New(t.Context(), v, in)
	if err != nil {
		return nil, v, err
	}
	t.Cleanup(task.Close)
	return task, v, nil
}

// cellLosses runs iterations and returns their losses, and the quality at the end of the last epoch.
func cellLosses(t *testing.T, task workload.Task, most int) (all []float64) {
	t.Helper()
	for range most {
		var rec profiles.Iteration
		out, err := task.Iterate(t.Context(), &rec)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec.Series[im2im.SeriesLoss])
		for _, phase := range []profiles.Phase{im2im.PhaseForward, im2im.PhaseBackward, im2im.PhaseOptimizer} {
			if rec.Phases[phase] <= 0 {
				t.Errorf("phase %d has no time", phase)
			}
		}
		if out.Finished {
			return append(all, out.Measured[im2im.SeriesSimilarity])
		}
	}
	return all
}

// A training on a GPU follows the processor's, as one plan and as a replica on each of two GPUs; a prediction, too.
func TestCellsOnAGPUFollowTheProcessors(t *testing.T) {
	slow(t)
	onCPU, _, err := cellsOf(t, workloads.Devices{}, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	want := cellLosses(t, onCPU, 9)
	for _, sets := range [][]string{{"device=cuda"}, {"device=cuda:1", "amp=bf16"}, {"device=auto", "replicas=2"}} {
		d, _ := machineOf(emulator.Options{Devices: []emulator.DeviceOptions{{Name: "First"}, {Name: "Second"}}})
		task, _, err := cellsOf(t, d, sets...)
		if err != nil {
			t.Fatal(sets, err)
		}
		if got := cellLosses(t, task, 9); !(apart(got, want) < 0.05) {
			t.Errorf("%v: %v, want %v", sets, got, want)
		}
		if task.Device().Device() != "cuda" {
			t.Errorf("%v: on %s", sets, task.Device().Device())
		}
		if m := task.Memory(); !strings.HasPrefix(m.Device.Device, "GPU-") || m.Device.Weights <= 0 || m.Device.Activations <= 0 || m.Device.Allocated < m.Device.Weights+m.Device.Moments {
			t.Errorf("%v: memory of the device: %+v", sets, m.Device)
		}
	}
	similarity := func(d workloads.Devices, device string) float64 {
		task, _, err := cellsOf(t, d, "mode=predict", "weights=seeded", "passes=1", "device="+device)
		if err != nil {
			t.Fatal(err)
		}
		var rec profiles.Iteration
		out, err := task.Iterate(t.Context(), &rec)
		if err != nil || !out.UnitEnded {
			t.Fatal(out, err)
		}
		return out.Measured[im2im.SeriesSimilarity]
	}
	d, _ := machineOf(emulator.Options{})
	if got, want := similarity(d, "cuda"), similarity(d, "cpu"); math.Abs(got-want) > 0.02 {
		t.Errorf("a prediction's similarity is %v, want %v", got, want)
	}
}

// A training moves to a GPU and back with its weights and moments; what the GPU cannot take is refused.
func TestCellsMoveBetweenDevices(t *testing.T) {
	onCPU, _, err := cellsOf(t, workloads.Devices{}, "device=cpu", "epochs=9")
	if err != nil {
		t.Fatal(err)
	}
	want := cellLosses(t, onCPU, 3)
	d, driver := machineOf(emulator.Options{})
	task, v, err := cellsOf(t, d, "device=cpu", "epochs=9")
	if err != nil {
		t.Fatal(err)
	}
	got := cellLosses(t, task, 1)
	for _, device := range []string{"cuda", "cpu"} {
		next, err := v.Set("device", device)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Apply(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if kind, _, _ := strings.Cut(device, ":"); task.Device().Device() != kind {
			t.Errorf("device = %s: on %s", device, task.Device().Device())
		}
		got = append(got, cellLosses(t, task, 1)...)
	}
	if !(apart(got, want) < 0.02) {
		t.Errorf("%v, want %v", got, want)
	}
	driver.Inject(emulator.Fault{Call: "cuMemAlloc", N: 3, Result: 2})
	next, err := v.Set("device", "cuda")
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Apply(t.Context(), next); !workload.Refused(err) || task.Device().Device() != "cpu" {
		t.Errorf("a GPU without memory: %v, on %s", err, task.Device().Device())
	}
	cellLosses(t, task, 1)
}

// A card that fails while it trains or predicts ends its part in the run, not the run: that goes on on the processor and says so.
func TestCellsOutliveTheirGPU(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sets  []string
		after int // iterations
		fault emulator.Fault
		says  string
	}{
		{"an overrun in a training", nil, 0, emulator.Fault{Call: "cuGraphLaunch", N: 9, Result: 700}, "(700)"},
		{"memory of a training", nil, 0, emulator.Fault{Call: "cuGraphLaunch", N: 9, Result: 2}, "has too little memory for a segment of the plan: "},
		{"the copy of a result", nil, 1, emulator.Fault{Call: "cuMemcpyDtoHAsync", N: 1, Result: 719}, "(719)"},
		{"a card of several", []string{"replicas=2"}, 0, emulator.Fault{Call: "cuGraphLaunch", N: 15, Result: 700}, "(700)"},
		{"an overrun in a prediction", []string{"mode=predict", "weights=seeded", "passes=5"}, 0, emulator.Fault{Call: "cuGraphLaunch", N: 2, Result: 700}, "(700)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			d, driver := machineOf(emulator.Options{Devices: make([]emulator.DeviceOptions, 2)})
			v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{im2im.Presets()}, Sets: slices.Concat(cells, tt.sets, []string{"device=cuda"})})
			if err != nil {
				t.Fatal(err)
			}
			events := stream.New(1 << 10)
			r, err := sim.New(t.Context(), sim.Options{Maker: workloads.Cyto(d), Settings: v, Stream: events})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			a := aggregate.New(events.Follow(), aggregate.Options{})
			for i, done := 0, false; !done; i++ {
				if i == tt.after {
					driver.Inject(tt.fault)
				}
				if _, done, err = r.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			text, s := logged(a)
			if s.Run.Device != "cpu" || s.Settings.Text(settings.Device) != "cpu" || s.Settings.Int("replicas") != 1 {
				t.Errorf("on %s with %s", s.Run.Device, s.Settings.Get("replicas"))
			}
			if !strings.Contains(s.Run.Failed, tt.says) || !strings.Contains(s.Run.Failed, "continuing on the CPU") || !strings.Contains(text, s.Run.Failed) {
				t.Errorf("failed %q: %s", s.Run.Failed, text)
			}
		})
	}
}

// What a training needs of GPUs is named where it is missing; under auto it is on the processor.
func TestCellsWithoutTheirGPU(t *testing.T) {
	two := []string{"device=cuda", "replicas=2"}
	for _, tt := range []struct {
		o    emulator.Options
		sets []string
		want string
	}{
		{emulator.Options{}, two, "replicas = 2: each needs a GPU of its own: device = cuda:1: no such GPU: the driver lists 1"},
		{emulator.Options{Faults: []emulator.Fault{{Call: "cuMemAlloc", N: 2, Result: 2}}}, []string{"device=cuda"}, "device = cuda: Emulated GPU has too little memory for the weights"},
	} {
		d, _ := machineOf(tt.o)
		_, _, err := cellsOf(t, d, tt.sets...)
		var lacking *workload.LackingError
		if !errors.As(err, &lacking) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %s", tt.sets, err, tt.want)
		}
		d, _ = machineOf(tt.o)
		task, _, err := cellsOf(t, d, append(tt.sets, "device=auto")...)
		if err != nil {
			t.Fatal(err)
		}
		if cellLosses(t, task, 1); task.Device().Device() != "cpu" {
			t.Errorf("auto: on %s", task.Device().Device())
		}
	}
}

// Tasks of the trainers gpu and ddp run on GPUs, with the peaks of their memory; ddp on one GPU says what it needs.
func TestTasksOnGPUs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const small = `"axes=2,patch=8x8,side=16,cells=4,volumes=2,held_out=1,patches_per_image=1,trainer.limit_train_batches=1"`
	path := filepath.Join(t.TempDir(), "tasks.csv")
	rows := "branch,experiment,trainer,max_epochs,batch_size,overrides\n"
	for _, trainer := range []string{"cpu", "gpu", "ddp"} {
		rows += fmt.Sprintf("main,im2im/segmentation,%s,1,2,%s\n", trainer, small)
	}
	if err := os.WriteFile(path, []byte(rows), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, cards := range []int{1, 2} {
		d, _ := machineOf(emulator.Options{Devices: make([]emulator.DeviceOptions, cards)})
		v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{benchmark.Presets()}, Sets: []string{"threads=1", "tasks=" + path, "skip_failed=true"}})
		if err != nil {
			t.Fatal(err)
		}
		maker := workloads.CytoTasks(d)
		var results []tasks.Result
		maker.Report = func(r []tasks.Result) { results = r }
		r, err := sim.New(t.Context(), sim.Options{Maker: maker, Settings: v, Stream: stream.New(1 << 10)})
		if err != nil {
			t.Fatal(err)
		}
		r.Start(t.Context())
		if err := r.Wait(); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if len(results) != 3 {
			t.Fatalf("%d results", len(results))
		}
		onCPU, onGPU, onSeveral := results[0], results[1], results[2]
		if m := onCPU.Metrics.Training.TotalTraining; m.PeakMemoryMB != nil || m.MemoryReason == "" || !strings.HasPrefix(onCPU.Device, "cpu ") {
			t.Errorf("on the processor: %+v on %s", m, onCPU.Device)
		}
		m := onGPU.Metrics.Training
		if !onGPU.Success || onGPU.Device != "cuda Emulated GPU sm_80" || m.TotalTraining.PeakMemoryMB == nil || !(*m.TotalTraining.PeakMemoryMB > 4*120e3*3/(1<<20)) ||
			*m.FullTraining.PeakMemoryMB > *m.TotalTraining.PeakMemoryMB || *m.ConfigLoading.PeakMemoryMB != 0 {
			t.Errorf("on the GPU: %+v %s on %q", m.TotalTraining, why(onGPU), onGPU.Device)
		}
		if a, b := onCPU.Metrics.Training.FinalMetrics["val/loss"], m.FinalMetrics["val/loss"]; math.Abs(a-b) > 0.01*a {
			t.Errorf("the losses are %v and %v", a, b)
		}
		if cards == 2 {
			if !onSeveral.Success || onSeveral.Device != "cuda Emulated GPU sm_80, 2 replicas" || onSeveral.Settings["replicas"] != "2" {
				t.Errorf("on two GPUs: %s on %q", why(onSeveral), onSeveral.Device)
			}
		} else if onSeveral.Success || !strings.Contains(why(onSeveral), "trainer ddp is not available: it needs a second GPU: cuda:1: no such GPU: the driver lists 1") {
			t.Errorf("ddp on one GPU: %s", why(onSeveral))
		}
	}
}

// why is the error of a task, empty for none.
func why(r tasks.Result) string {
	if r.Error == nil {
		return ""
	}
	return *r.Error
}

// The reference vectors of CytoDL's networks, made by another program, hold on an emulated GPU: the output, the losses, every
// gradient and the weights after a step, and of planes the loss after it. Those of later steps would take it a minute.
func TestCellsReferenceVectors(t *testing.T) {
	const folder = "../../shared/golden-workloads"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("there are no reference vectors: ", err)
	}
	slow(t)
	for _, path := range []string{without(t, filepath.Join(folder, "dynunet_2d.npz"), "loss.step5"), without(t, filepath.Join(folder, "dynunet_3d.npz"), "loss.step1", "loss.step5")} {
		b, err := cuda.Open(emulator.New(emulator.Options{}), cuda.Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := verify.File(t.Context(), path, b)
		if b.Close(); err != nil || !report.OK {
			t.Errorf("%s: %+v, %v", path, report, err)
		}
	}
}

// without copies an archive but for the arrays whose names begin so.
func without(t *testing.T, path string, prefixes ...string) string {
	t.Helper()
	from, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	for _, file := range from.File {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(file.Name, p) }) {
			continue
		}
		if err := w.Copy(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}
