package gpu_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/profilestest"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/ptycho/trial"
	"prismtop/sim/verify"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// The reference vectors of PtychoPINN's network, where they are next to a checkout, on an emulated GPU.
func TestReferenceVectorsOfPtychoPINN(t *testing.T) {
	slow(t)
	path := filepath.Join("..", "..", "shared", "golden-workloads", "ptycho_n64_g1_s1.npz")
	if _, err := os.Stat(path); err != nil {
		t.Skip("there are no reference vectors of PtychoPINN's network: ", err)
	}
	b, err := cuda.Open(emulator.New(emulator.Options{}), cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	report, err := verify.File(t.Context(), path, b)
	if err != nil || !report.OK {
		t.Errorf("%+v, %v", report, err)
	}
}

// slow leaves out a test that emulates a whole network where tests are to be short, and not exhaustive.
func slow(t *testing.T) {
	t.Helper()
	profilestest.OnlyExhaustive(t)
	if testing.Short() {
		t.Skip("an emulated network takes seconds")
	}
}

// stepped returns a task of PtychoPINN's workloads on devices.
func stepped(t *testing.T, d workloads.Devices, name string, sets ...string) workload.Task {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: name,
		Sets: append([]string{"filters_scale=1", "positions=16", "object_size=128", "threads=2"}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	m := workloads.Of(v).Maker(d)
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

// An iteration of either workload on an emulated GPU has the processor's results: the objects of inference by the picture, a training's
// loss before and after an update.
func TestPtychographyOnAGPUFollowsTheProcessors(t *testing.T) {
	slow(t)
	for _, tt := range []struct {
		preset     string
		sets       []string
		iterations int
	}{
		{"ptycho", []string{"batch_size=1", "weights=seeded"}, 1},
		{"ptycho-train", []string{"batch=1", "test_share=0"}, 2},
	} {
		gpu, _ := emulated(emulator.Options{})
		tasks := []workload.Task{stepped(t, noGPUs, tt.preset, append(tt.sets, "device=cpu")...), stepped(t, gpu, tt.preset, append(tt.sets, "device=cuda")...)}
		if name := tasks[1].Device().Device(); name != "cuda" {
			t.Fatalf("%s: on %s", tt.preset, name)
		}
		for range tt.iterations {
			var recs [2]profiles.Iteration
			for i, task := range tasks {
				if _, err := task.Iterate(t.Context(), &recs[i]); err != nil {
					t.Fatalf("%s: %v", tt.preset, err)
				}
			}
			if tt.preset == "ptycho-train" {
				if a, b := recs[0].Series[0], recs[1].Series[0]; !(math.Abs(a-b) <= 1e-3*math.Abs(a)) {
					t.Errorf("%s: the loss is %g, on the processor %g", tt.preset, b, a)
				}
			}
		}
		m := tasks[1].Memory().Device
		if !m.Used() || m.Weights <= 0 || m.Activations <= 0 || m.Spare() < 0 {
			t.Errorf("%s: memory of the device: %+v", tt.preset, m)
		}
		pictures := [2]*profiles.Picture{}
		for i, task := range tasks {
			pictures[i] = task.(workload.Imager).Picture(0)
		}
		off, size := 0.0, 0.0
		for i, v := range pictures[0].Pixels {
			off, size = math.Max(off, math.Abs(float64(v-pictures[1].Pixels[i]))), math.Max(size, math.Abs(float64(v)))
		}
		if !(off <= 1e-4*size) || size == 0 {
			t.Errorf("%s: the pictures differ by %g of %g", tt.preset, off, size)
		}
	}
}

// onCard runs a trial in this process on an emulated GPU of a memory.
func onCard(ctx context.Context, j trial.Job, memory int64) (*trial.Result, error) {
	return j.Run(ctx, trial.Devices{Open: func(trial.Job) (nn.Backend, error) {
		d := emulator.New(emulator.Options{Devices: []emulator.DeviceOptions{{Memory: memory}}})
		b, err := cuda.Open(d, cuda.Options{})
		if err != nil {
			return nil, err
		}
		return b, nil
	}})
}

// A trial reports what it holds on the GPU, whose memory bounds the batch: one that needs more than there is ends for memory.
func TestTheEdgeOfASweepIsTheCards(t *testing.T) {
	slow(t)
	host := stepped(t, noGPUs, "ptycho", "device=cpu", "batch_size=1", "weights=seeded")
	data := filepath.Join(t.TempDir(), "scan.npz")
	simulated, err := scan.Simulate(t.Context(), scan.Options{Size: 64, ObjectSize: 128, Positions: 16, Photons: 1e9, Seed: 1}, host.Device().(nn.Backend))
	if err == nil {
		err = scan.Write(data, simulated)
	}
	if err != nil {
		t.Fatal(err)
	}
	job := trial.Job{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true, Data: data, Images: 1, Seed: 1, Device: "cuda:0", Batch: 1, Runs: 1}
	small, err := onCard(t.Context(), job, 256<<20)
	if err != nil || small.Card == "" || small.GPU <= 0 || small.PeakGPU < small.GPU {
		t.Fatalf("%+v, %v", small, err)
	}
	job.Limit = small.PeakGPU - 1
	if _, err := onCard(t.Context(), job, 256<<20); err == nil || !strings.HasPrefix(err.Error(), trial.Exceeded) {
		t.Errorf("beyond the limit: %v", err)
	}
	job.Limit, job.Batch = 0, 64
	if _, err := onCard(t.Context(), job, 64<<20); err == nil || !strings.HasPrefix(err.Error(), trial.Exceeded) {
		t.Errorf("beyond the card: %v", err)
	}
}
