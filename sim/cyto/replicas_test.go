package cyto

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

// Two replicas train as one plan of the whole batch does, but for rounding, and stay the
// same bits as each other.
func TestReplicasTrainAsOne(t *testing.T) {
	sides, config := [3]int{4, 8, 8}, Config{Axes: 3, Filters: []int{8, 16}, Seed: 2}
	const batch, voxels, steps = 4, 4 * 8 * 8, 3
	image, target := goldenData()
	image, target = image[:batch*voxels], target[:batch*voxels]
	for _, loss := range []Loss{DiceBCE, MeanSquare} {
		options := PlanOptions{Batch: batch, Sides: sides, Loss: loss}
		whole := options
		whole.Train = true
		one := load(t, config, whole, cpu.Options{Threads: 1})
		two := load(t, config, PlanOptions{Batch: 1, Sides: sides}, cpu.Options{Threads: 1})
		second, err := cpu.New(cpu.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		r, err := NewReplicas(t.Context(), two.net, []nn.Backend{two.Backend, second}, two.State, options)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for step := range steps {
			one.Write(ImageInput, image)
			one.Write(TargetInput, target)
			one.Write(nn.LearningRateInput, []float32{LearningRate})
			one.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
			got, err := r.Step(t.Context(), image, target, LearningRate)
			if err != nil {
				t.Fatal(err)
			}
			if want := one.Scalar(LossOutput); math.Abs(got-want) > 1e-5*want {
				t.Errorf("loss %d, step %d: %g, want %g", loss, step, got, want)
			}
			for i, want := range one.net.Gradients(one.State) {
				g := two.net.Gradients(two.State)[i]
				difference := make([]float32, len(g.Values))
				for k, v := range g.Values {
					difference[k] = v - want.Values[k]
				}
				// Gradients of a convolution of one channel before a norm are rounding.
				if step == 0 && norm(difference) > 1e-5*norm(want.Values)+1e-7 {
					t.Errorf("loss %d: the gradient of %s differs by %g of %g", loss, g.Name, norm(difference), norm(want.Values))
				}
			}
		}
		for i, w := range two.net.Weights(two.State) {
			if other := two.net.Weights(r.replicas[1].state)[i]; !slices.Equal(w.Values, other.Values) {
				t.Errorf("loss %d: %s differs between the replicas", loss, w.Name)
			}
			// Adam moves a weight by the learning rate at most, even for the smallest gradient.
			for k, want := range one.net.Weights(one.State)[i].Values {
				if d := math.Abs(float64(w.Values[k] - want)); d > 2*steps*LearningRate {
					t.Fatalf("loss %d: %s[%d] differs by %g", loss, w.Name, k, d)
				}
			}
		}
		if r.Share() != batch/2 || r.Count() != 2 || len(r.Executable(1).StepNanos()) != len(r.Plan().Steps) {
			t.Errorf("%d replicas of %d images", r.Count(), r.Share())
		}
	}
}

func TestImpossibleReplicasAreRefused(t *testing.T) {
	p := load(t, DefaultConfig(2), PlanOptions{Batch: 1, Sides: [3]int{1, 8, 8}}, cpu.Options{Threads: 1})
	good := PlanOptions{Batch: 2, Sides: [3]int{1, 8, 8}, Loss: DiceBCE}
	odd := good
	odd.Batch = 3
	other, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []struct {
		backends []nn.Backend
		options  PlanOptions
		want     string
	}{
		{nil, good, "no backend"},
		{[]nn.Backend{p.Backend, p.Backend}, good, "replica 2 has another's backend"},
		{[]nn.Backend{p.Backend, other}, odd, "a batch of 3: must be a multiple of the 2 replicas"},
		{[]nn.Backend{p.Backend, other}, PlanOptions{Batch: 2, Sides: [3]int{1, 8, 8}}, "training needs a loss"},
	} {
		if _, err := NewReplicas(t.Context(), p.net, c.backends, p.State, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	r, err := NewReplicas(t.Context(), p.net, []nn.Backend{p.Backend, other}, p.State, good)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Step(t.Context(), make([]float32, 7), make([]float32, 7), 1); err == nil || !strings.Contains(err.Error(), "7 voxels and 7 targets for a batch of 128") {
		t.Errorf("%v, want an error that gives both sizes", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := r.Step(ended, make([]float32, 128), make([]float32, 128), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}
