package prism_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/npy/npytest"
	"prismtop/sim/prism"
	"prismtop/sim/weights"
)

// decoderSettings make decoders of all kinds of layers; the second is without normalisation, the
// third crops.
var decoderSettings = []string{
	"size=64 object_size=32 output_activation=sigmoid",
	"size=32 object_size=16 batch_norm=false output_activation=none",
	"size=64 object_size=24 channels=16,8,8,6,3,1 init_iterations=3",
}

// trained runs a reconstruction for some iterations and returns the weights of its checkpoint.
func trained(t *testing.T, s prism.Settings, r *prism.Reconstruction) []weights.Tensor {
	t.Helper()
	for range 5 {
		iterate(t, r, new(profiles.Iteration))
	}
	tensors, err := prism.Maker{}.Weights(s.Values(), checkpointOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return tensors
}

// checkpointOf writes and reads a checkpoint of a reconstruction.
func checkpointOf(t *testing.T, r *prism.Reconstruction) *checkpoint.Checkpoint {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.npz")
	state, err := r.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Write(path, &checkpoint.Run{}, state); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// decoded returns the decoder's output from weights of a file, with the running statistics or
// those of the batch.
func decoded(t *testing.T, s prism.Settings, path string, running bool) []float32 {
	t.Helper()
	d, err := prism.NewDecoder(prism.DecoderConfig{
		Size: s.Size, ObjectSize: s.ObjectSize, Channels: s.Channels, BatchNorm: s.BatchNorm, Activation: s.OutputActivation, Seed: 99,
	})
	if err != nil {
		t.Fatal(err)
	}
	tensors, _, err := weights.Read(t.Context(), path, weights.Network{Arrays: d.StateDict(), Ignored: prism.CountedBatches})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := d.EvaluationPlan(t.Context(), prism.PlanOptions{Apertures: 1, RunningStatistics: running})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	variables, err := d.Model().InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := backend.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	for i, name := range d.Variables() {
		v, _ := d.Model().Index(name)
		state.Write(v, tensors[i].Values)
	}
	exe, err := backend.Load(t.Context(), plan, state)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	if err := exe.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	output, _ := plan.Output(prism.ReconstructionOutput)
	pixels := make([]float32, s.Size*s.Size)
	exe.Read(output, pixels)
	return pixels
}

// python returns an interpreter with PyTorch, and skips the test without one.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import torch, numpy").Run() == nil {
			return name
		}
	}
	t.Skip("skipped: neither python3 nor /usr/bin/python3 has torch and numpy")
	return ""
}

// job is one for testdata/decoder.py.
type job struct {
	Draw    bool           `json:"draw"`
	Weights string         `json:"weights"`
	Outputs string         `json:"outputs"`
	Decoder map[string]any `json:"decoder"`

	settings prism.Settings
	unfolded string // the weights before they were folded; empty for a decoder with its normalisations
	running  bool   // folded with the running statistics
}

// jobOf returns a job with a decoder of the settings.
func jobOf(t *testing.T, s prism.Settings, draw bool, extension string) job {
	t.Helper()
	d, err := prism.NewDecoder(prism.DecoderConfig{Size: s.Size, ObjectSize: s.ObjectSize, Channels: s.Channels, BatchNorm: s.BatchNorm})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	return job{Draw: draw, Weights: filepath.Join(folder, "weights"+extension), Outputs: filepath.Join(folder, "outputs.npz"), Decoder: map[string]any{
		"size": s.Size, "object_size": s.ObjectSize, "channels": d.Channels(), "batch_norm": s.BatchNorm, "sigmoid": s.OutputActivation == "sigmoid",
	}, settings: s}
}

// foldedJob returns a job with folded weights of a trained reconstruction.
func foldedJob(t *testing.T, s prism.Settings, r *prism.Reconstruction, unfolded string, running bool) job {
	t.Helper()
	maker := prism.Maker{Open: func(*prism.Settings) (prism.Device, error) { return device(t), nil }}
	folded, err := maker.FoldedWeights(t.Context(), s.Values(), checkpointOf(t, r), running)
	if err != nil {
		t.Fatal(err)
	}
	j := jobOf(t, s, false, ".safetensors")
	if err := weights.Write(j.Weights, folded); err != nil {
		t.Fatal(err)
	}
	j.Decoder["folded"], j.unfolded, j.running = true, unfolded, running
	return j
}

// PyTorch and this program read each other's weights and put out the same, in both formats and
// with both kinds of statistics. From folded weights PyTorch puts out what the unfolded ones do.
func TestPyTorchPutsOutTheSameFromTheSameWeights(t *testing.T) {
	interpreter := python(t)
	var jobs []job
	for _, sets := range decoderSettings {
		s, object := resolved(t, "", slices.Concat(steadySettings, strings.Fields(sets))...)
		r := prepared(t, s, object, 2)
		ours := trained(t, s, r)
		for _, extension := range weights.Extensions {
			load := jobOf(t, s, false, extension)
			if err := weights.Write(load.Weights, ours); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, load, jobOf(t, s, true, extension))
			if s.BatchNorm && extension == ".npz" {
				jobs = append(jobs, foldedJob(t, s, r, load.Weights, true), foldedJob(t, s, r, load.Weights, false))
			}
		}
	}
	list, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(interpreter, filepath.Join("testdata", "decoder.py"), string(list)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, j := range jobs {
		g := npytest.OpenGolden(t, filepath.Dir(j.Outputs), filepath.Base(j.Outputs))
		for name, running := range map[string]bool{"eval": true, "train": false} {
			from := j.Weights
			if j.unfolded != "" {
				from, running = j.unfolded, j.running
			}
			want, got := npytest.Read[float32](g, name), decoded(t, j.settings, from, running)
			worst, largest := 0.0, 0.0
			for i := range want {
				worst = max(worst, math.Abs(float64(got[i]-want[i])))
				largest = max(largest, math.Abs(float64(want[i])))
			}
			what := fmt.Sprintf("%v, drawn by PyTorch %v, %s, %s", j.Decoder, j.Draw, filepath.Ext(j.Weights), name)
			if !(worst <= 1e-5) || largest < 1e-3 {
				t.Errorf("%s: off by %g in outputs up to %g", what, worst, largest)
			}
			t.Logf("%s: off by %.2g in outputs up to %.2g", what, worst, largest)
		}
	}
}

// A reconstruction that starts from weights has the output of the one that they are from, and no
// initialisation phase.
func TestAReconstructionStartsFromWeights(t *testing.T) {
	for _, sets := range decoderSettings {
		s, object := resolved(t, "", slices.Concat(steadySettings, []string{"amp=off"}, strings.Fields(sets))...)
		path := filepath.Join(t.TempDir(), "w.npz")
		if err := weights.Write(path, trained(t, s, prepared(t, s, object, 2))); err != nil {
			t.Fatal(err)
		}
		s.Seed++
		r := prepared(t, s, object, 2)
		if _, err := r.StartFrom(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		var rec profiles.Iteration
		iterate(t, r, &rec)
		if rec.Kind != prism.KindFirstSample {
			t.Errorf("%s: the first iteration is of kind %d", sets, rec.Kind)
		}
		if want := decoded(t, s, path, false); !slices.Equal(r.Output(), want) {
			t.Errorf("%s: the first output is not that of the weights", sets)
		}
	}
}

// Names and shapes of PRISM's decoder for 512/128 (spec/prism.md §1.2).
func TestTheNamesArePRISMs(t *testing.T) {
	d, err := prism.NewDecoder(prism.DecoderConfig{Size: 512, ObjectSize: 128, BatchNorm: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range d.StateDict() {
		got = append(got, fmt.Sprint(w.Name, w.Shape))
	}
	for _, want := range []string{
		"input_vec[1 512 1 1]", "decoder.0.weight[512 256 4 4]", "decoder.1.main.weight[256]", "decoder.1.main.running_var[256]",
		"decoder.15.weight[16 8 4 4]", "decoder.18.weight[4 8 3 3]", "decoder.22.main.bias[2]", "decoder.24.weight[1 2 3 3]", "decoder.24.bias[1]",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %v", want, got)
		}
	}
	if want := 1 + 9 + 8*4 + 1; len(got) != want {
		t.Errorf("%d arrays, want %d", len(got), want)
	}
}

func TestWeightsOfAnotherDecoderAreRefused(t *testing.T) {
	s, object := resolved(t, "", steadySettings...)
	tensors := trained(t, s, prepared(t, s, object, 1))
	for _, test := range []struct {
		change func([]weights.Tensor) []weights.Tensor
		want   string
	}{
		{func(w []weights.Tensor) []weights.Tensor { return w[1:] }, "has other names than the network: missing: input_vec (1, 32, 1, 1)"},
		{func(w []weights.Tensor) []weights.Tensor { w[1].Name = "decoder.1.weight"; return w }, "has other names than the network: missing: decoder.0.weight (32, 16, 4, 4); not of this network: decoder.1.weight"},
		{func(w []weights.Tensor) []weights.Tensor { w[0].Shape = []int{32}; return w }, "input_vec has the shape (32), must be (1, 32, 1, 1)"},
	} {
		path := filepath.Join(t.TempDir(), "w.safetensors")
		if err := weights.Write(path, test.change(slices.Clone(tensors))); err != nil {
			t.Fatal(err)
		}
		_, err := prepared(t, s, object, 1).StartFrom(t.Context(), path)
		if err == nil || err.Error() != "weights "+path+": "+test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}
