package prism_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/await/awaittest"
	"prismtop/sim/prism"
)

// final returns the output of the newest weights in a form.
func final(t *testing.T, r *prism.Reconstruction, form prism.Form) []float32 {
	t.Helper()
	f, err := r.Final(t.Context(), form)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := f.Memory(); m.Parts[prism.MemoryGradients] != 0 {
		t.Errorf("%v: gradients take %d bytes", form, m.Parts[prism.MemoryGradients])
	}
	return f.Output()
}

// The form of training puts out what the next iteration does, bit for bit, and both folded forms what theirs do.
func TestAFoldedDecoderPutsOutTheSame(t *testing.T) {
	for _, sets := range append([]string{"size=128 object_size=64 amp=bf16", "size=64 object_size=24 channels=16,8,8,6,1"}, decoderSettings...) {
		s, object := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=60"}, strings.Fields(sets))...)
		r := prepared(t, s, object, 2)
		var rec profiles.Iteration
		for range 50 {
			iterate(t, r, &rec)
		}
		training, evaluation := final(t, r, prism.TrainingForm), final(t, r, prism.EvaluationForm)
		if apart := prism.Apart(evaluation, training); s.BatchNorm && !(apart > prism.FoldTolerance) {
			t.Errorf("%s: the running statistics are those of the batch: %.2g apart", sets, apart)
		}
		for form, want := range map[prism.Form][]float32{prism.FoldedTrainingForm: training, prism.FoldedEvaluationForm: evaluation} {
			got := final(t, r, form)
			if apart := prism.Apart(got, want); !(apart <= prism.FoldTolerance/10) || slices.Max(want) <= 0 {
				t.Errorf("%s, %v: %.2g apart", sets, form, apart)
			} else {
				t.Logf("%s, %v: %.2g apart", sets, form, apart)
			}
		}
		iterate(t, r, &rec)
		if s.AMP == "off" && !slices.Equal(r.Output(), training) {
			t.Errorf("%s: the form of training puts out something else than training", sets)
		}
	}
}

// saved returns the pixels of a saved array.
func saved(t *testing.T, ctx context.Context, r *prism.Reconstruction, side int) []float32 {
	t.Helper()
	base := filepath.Join(t.TempDir(), "x")
	if _, err := r.Save(ctx, base, false); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(base + ".npy")
	if err != nil {
		t.Fatal(err)
	}
	pixels := make([]float32, side*side)
	for i := range pixels {
		pixels[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[len(data)-4*len(pixels)+4*i:]))
	}
	return pixels
}

// What is saved is the newest weights' output in float32, whatever the run computes in.
func TestWhatIsSavedIsTheFoldedOutputInFloat32(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"size=64", "object_size=32", "iterations=60", "amp=bf16"})...)
	r := prepared(t, s, object, 2)
	var rec profiles.Iteration
	for range 40 {
		iterate(t, r, &rec)
	}
	window := func(plane []float32) (pixels []float32) {
		for row := 16; row < 48; row++ {
			pixels = append(pixels, plane[row*64+16:][:32]...)
		}
		return pixels
	}
	got := saved(t, t.Context(), r, 32)
	if want := window(final(t, r, prism.FoldedTrainingForm)); !slices.Equal(got, want) {
		t.Error("the saved picture is not the folded decoder's")
	}
	if want := window(final(t, r, prism.TrainingForm)); !(prism.Apart(got, want) <= prism.FoldTolerance) {
		t.Errorf("the saved picture is %.2g from training's", prism.Apart(got, want))
	}
	iterate(t, r, &rec)
	if apart := prism.Apart(got, window(r.Output())); apart < 1e-3 {
		t.Errorf("bf16's output is only %.2g from float32's", apart)
	}
}

// After an iteration that was cut short the weights are lost, and the newest whole output is saved.
func TestAfterACutTheKeptOutputIsSaved(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=100"})...)
	r := prepared(t, s, object, 1)
	var rec profiles.Iteration
	for range 3 {
		iterate(t, r, &rec)
	}
	r.Output()
	if _, err := r.Iterate(awaittest.After(0), &rec); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := r.Final(t.Context(), prism.TrainingForm); err == nil || !strings.Contains(err.Error(), "no sound weights") {
		t.Error(err)
	}
	want := r.Picture(prism.PictureReconstruction).Pixels
	if got := saved(t, t.Context(), r, 16); !slices.Equal(got, want) {
		t.Error("the saved picture is not the one that was kept")
	}
}

// A folded export has PyTorch's names with a bias for every convolution, and none of the normalisations'.
func TestFoldedWeightsHaveTheNamesOfTheSameSequence(t *testing.T) {
	s, object := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=60"})...)
	r := prepared(t, s, object, 1)
	var rec profiles.Iteration
	for range 10 {
		iterate(t, r, &rec)
	}
	c := checkpointOf(t, r)
	maker := prism.Maker{Open: func(*prism.Settings) (prism.Device, error) { return device(t), nil }}
	whole, err := maker.Weights(s.Values(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, running := range []bool{true, false} {
		folded, err := maker.FoldedWeights(t.Context(), s.Values(), c, running)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, w := range folded {
			names = append(names, w.Name)
		}
		var want []string
		for _, w := range whole {
			switch {
			case strings.Contains(w.Name, ".main."):
			case strings.HasSuffix(w.Name, ".weight") && !slices.Contains(want, w.Name):
				want = append(want, w.Name, strings.TrimSuffix(w.Name, "weight")+"bias")
			case !slices.Contains(want, w.Name):
				want = append(want, w.Name)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%v, want %v", names, want)
		}
	}
	s.BatchNorm = false
	if _, err := maker.FoldedWeights(t.Context(), s.Values(), c, true); err == nil || !strings.Contains(err.Error(), "no normalisations") {
		t.Error(err)
	}
}
