package prism

import (
	"context"
	"math"
	"reflect"
	"sort"
	"strings"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

func newDecoder(t *testing.T, c DecoderConfig) *Decoder {
	t.Helper()
	d, err := NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func small(t *testing.T) *Decoder {
	return newDecoder(t, DecoderConfig{Size: 64, ObjectSize: 32, BatchNorm: true})
}

// The multiplications of spec/prism.md §1.6, in millions; backward has twice as
// many.
func TestForwardCost(t *testing.T) {
	for _, c := range []struct {
		size, object int
		want         float64
	}{{512, 128, 50.2}, {1024, 512, 266.8}, {1024, 73, 201.2}, {256, 128, 12.5}, {512, 512, 65.5}, {128, 64, 2.6}} {
		d := newDecoder(t, DecoderConfig{Size: c.size, ObjectSize: c.object, BatchNorm: true})
		p, err := d.ProgressivePlan(t.Context(), PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		macs := func(phase nn.Phase) (n float64) {
			for _, s := range p.Steps {
				if !strings.Contains(s.Name, " conv") || s.Phase != phase {
					continue
				}
				n += float64(s.FLOPs) / 2e6
				if len(s.In) == 3 { // the bias is added once to each pixel
					n -= float64(p.Buffers[s.Out[0]].Shape.Elements()) / 2e6
				}
			}
			return n
		}
		// The specification gives one decimal.
		if got := macs(nn.PhaseForward); math.Abs(got-c.want) > 0.05 {
			t.Errorf("%d/%d: %.2f million, want %.1f", c.size, c.object, got, c.want)
		}
		if got := macs(nn.PhaseBackward); math.Abs(got-2*c.want) > 0.1 {
			t.Errorf("%d/%d: %.2f million backward, want twice %.1f", c.size, c.object, got, c.want)
		}
	}
}

// countFFTs counts transforms forward and backward (spec/prism.md §3.3).
func countFFTs(p *nn.Plan) (forward, backward int) {
	for _, s := range p.Steps {
		if _, ok := s.Op.(nn.FFT); ok && s.Phase == nn.PhaseBackward {
			backward++
		} else if ok {
			forward++
		}
	}
	return forward, backward
}

func TestTransformsPerIteration(t *testing.T) {
	d := small(t)
	for _, c := range []struct {
		name    string
		compile func(context.Context, PlanOptions) (*nn.Plan, error)
		options PlanOptions
		want    int
	}{
		{"initialisation", d.InitialisationPlan, PlanOptions{}, 0},
		{"first", d.FirstSamplePlan, PlanOptions{}, 2},
		{"first, shared", d.FirstSamplePlan, PlanOptions{SharedSpectrum: true}, 2},
		{"progressive", d.ProgressivePlan, PlanOptions{}, 4},
		{"progressive, shared", d.ProgressivePlan, PlanOptions{SharedSpectrum: true}, 3},
		{"three apertures", d.ProgressivePlan, PlanOptions{Apertures: 3}, 8},
		{"three apertures, shared", d.ProgressivePlan, PlanOptions{Apertures: 3, SharedSpectrum: true}, 5},
	} {
		p, err := c.compile(t.Context(), c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f, b := countFFTs(p); f != c.want || b != c.want {
			t.Errorf("%s: %d transforms forward and %d backward, want %d", c.name, f, b, c.want)
		}
	}
}

func TestInputsAndOutputs(t *testing.T) {
	d := small(t)
	allInputs := []string{"lr", "target", "mask_old", "mask_new", "mask_new_0", "mask_new_1", "target_old", "target_new"}
	allOutputs := []string{"reconstruction", "loss", "loss_old", "loss_new", "gradient_scale", "overflow", "act.conv0", "act.bn4", "act.conv5", "measured_new"}
	for _, c := range []struct {
		name            string
		compile         func(context.Context, PlanOptions) (*nn.Plan, error)
		options         PlanOptions
		inputs, outputs []string
	}{
		{"initialisation", d.InitialisationPlan, PlanOptions{}, []string{"lr", "target"}, []string{"reconstruction", "loss", "loss_new"}},
		{"first", d.FirstSamplePlan, PlanOptions{}, []string{"lr", "mask_new", "target_new"}, []string{"reconstruction", "loss", "loss_old", "loss_new"}},
		{"progressive fp16", d.ProgressivePlan, PlanOptions{AMP: tensor.Float16, Apertures: 2},
			[]string{"lr", "mask_old", "mask_new_0", "mask_new_1", "target_old", "target_new"},
			[]string{"reconstruction", "loss", "loss_old", "loss_new", "gradient_scale", "overflow"}},
		{"layers", d.FirstSamplePlan, PlanOptions{Layers: true}, []string{"lr", "mask_new", "target_new"},
			[]string{"reconstruction", "loss", "loss_old", "loss_new", "act.conv0", "act.bn4", "act.conv5", "measured_new"}},
		{"evaluation", d.EvaluationPlan, PlanOptions{}, nil, []string{"reconstruction"}},
	} {
		p, err := c.compile(t.Context(), c.options)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := present(allInputs, p.Input); !reflect.DeepEqual(got, sorted(c.inputs)) {
			t.Errorf("%s: inputs %v, want %v", c.name, got, c.inputs)
		}
		if got := present(allOutputs, p.Output); !reflect.DeepEqual(got, sorted(c.outputs)) {
			t.Errorf("%s: outputs %v, want %v", c.name, got, c.outputs)
		}
	}
}

func present(names []string, find func(string) (nn.BufferID, bool)) []string {
	var have []string
	for _, n := range names {
		if _, ok := find(n); ok {
			have = append(have, n)
		}
	}
	return sorted(have)
}

func sorted(s []string) []string {
	s = append([]string{}, s...)
	sort.Strings(s)
	return s
}

func TestLosses(t *testing.T) {
	d := small(t)
	for _, c := range []struct {
		name      string
		normalize bool
		weights   CompositeWeights
		want      []nn.Loss
	}{
		{"l1", true, CompositeWeights{}, []nn.Loss{{Kind: nn.L1, Normalize: true}}},
		{"l1", false, CompositeWeights{}, []nn.Loss{{Kind: nn.L1}}},
		{"l2", true, CompositeWeights{}, []nn.Loss{{Kind: nn.L2, Normalize: true}}},
		{"ssim", true, CompositeWeights{}, []nn.Loss{{Kind: nn.SSIM}}},
		{"ms-ssim", true, CompositeWeights{}, []nn.Loss{{Kind: nn.MSSSIM}}},
		{"composite", true, CompositeWeights{0.3, 0.2, 0.5}, []nn.Loss{{Kind: nn.L1}, {Kind: nn.L2}, {Kind: nn.SSIM}}},
		{"composite", true, CompositeWeights{SSIM: 1}, []nn.Loss{{Kind: nn.SSIM}}},
	} {
		spec, err := ParseLoss(c.name, c.normalize, c.weights)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		p, err := d.FirstSamplePlan(t.Context(), PlanOptions{Loss: spec})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []nn.Loss
		for _, s := range p.Steps {
			if l, ok := s.Op.(nn.Loss); ok {
				got = append(got, l)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: losses %v, want %v", c.name, got, c.want)
		}
	}
	for name, w := range map[string]CompositeWeights{
		"huber": {}, "composite": {L1: 0.5, L2: 0.4},
	} {
		if _, err := ParseLoss(name, true, w); err == nil || !strings.Contains(err.Error(), "loss = ") {
			t.Errorf("%s %v: error %v", name, w, err)
		}
	}
	for _, w := range []CompositeWeights{{L1: 2, L2: -1}, {L1: math.NaN()}, {}} {
		if _, err := ParseLoss("composite", true, w); err == nil {
			t.Errorf("weights %v are accepted", w)
		}
	}
}

// The figures of spec/prism.md §1.6: parameters, gradients and both moments.
func TestMemoryOfTheBaseline(t *testing.T) {
	d := newDecoder(t, DecoderConfig{Size: 512, ObjectSize: 128, BatchNorm: true})
	u := nn.VariableUsage(d.Model().Variables())
	p := int64(4 * d.Parameters())
	if u[nn.Gradients] != p || u[nn.Moments] != 2*p+4 || u[nn.Weights] != p+4*2*510 {
		t.Errorf("variables take %v bytes, parameters %d", u, p)
	}
}
