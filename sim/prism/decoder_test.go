package prism

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The table of spec/prism.md §1.5, and the figures its text gives.
func TestParameterCounts(t *testing.T) {
	table := map[int][]int{ // by N: S = N, N/2, N/4, …
		64:   {43855, 43799, 43575},
		128:  {175119, 175063, 174839, 173943},
		256:  {699791, 699735, 699511, 698615, 695031},
		512:  {2797711, 2797655, 2797431, 2796535, 2792951},
		1024: {11187855, 11187799, 11187575, 11186679, 11183095},
		2048: {44745359, 44745303, 44745079, 44744183, 44740599},
	}
	for n, counts := range table {
		for i, want := range counts {
			checkParameters(t, DecoderConfig{Size: n, ObjectSize: n >> i, BatchNorm: true}, want)
		}
	}
	checkParameters(t, DecoderConfig{Size: 512, ObjectSize: 128}, 2796921)
	checkParameters(t, DecoderConfig{Size: 1024, ObjectSize: 512, Latent: 512, BatchNorm: true}, 2797711)
	for _, s := range []int{65, 73, 100, 127} {
		checkParameters(t, DecoderConfig{Size: 512, ObjectSize: s, BatchNorm: true}, 2797431)
		checkParameters(t, DecoderConfig{Size: 256, ObjectSize: s, Latent: 512, BatchNorm: true}, 2797431)
	}
}

func checkParameters(t *testing.T, c DecoderConfig, want int) {
	t.Helper()
	d, err := NewDecoder(c)
	if err != nil {
		t.Errorf("%+v: %v", c, err)
		return
	}
	if got := d.Parameters(); got != want {
		t.Errorf("%d/%d latent %d: %d parameters, want %d", c.Size, c.ObjectSize, c.Latent, got, want)
	}
}

// A small decoder's count by the general formula of spec/prism.md §1.5.
func TestParameterCountsOfCustomChannels(t *testing.T) {
	// Latent 10, channels 6, 5 (upsampling), 3 (refining), 1 (last).
	const convolutions = 16*10*6 + 16*6*5 + 9*5*3 + 9*3
	c := DecoderConfig{Size: 16, ObjectSize: 8, Latent: 10, Channels: []int{6, 5, 3, 1}, BatchNorm: true}
	checkParameters(t, c, 10+convolutions+2*(6+5+3)+1)
	c.BatchNorm = false
	checkParameters(t, c, 10+convolutions+6+5+3+1)
}

func TestDefaultChannels(t *testing.T) {
	cases := []struct {
		config DecoderConfig
		want   []int
	}{
		{DecoderConfig{Size: 64, ObjectSize: 32}, []int{32, 16, 8, 4, 2, 1}},
		{DecoderConfig{Size: 64, ObjectSize: 4}, []int{32, 16, 8, 4, 2, 1}},
		{DecoderConfig{Size: 4}, []int{2, 1}},
		{DecoderConfig{Size: 64, ObjectSize: 16, Latent: 100}, []int{50, 25, 12, 6, 3, 1}},
		{DecoderConfig{Size: 64, ObjectSize: 16, Latent: 8}, []int{4, 2, 1}}, // no refining layer
	}
	for _, c := range cases {
		d, err := NewDecoder(c.config)
		if err != nil {
			t.Errorf("%+v: %v", c.config, err)
			continue
		}
		if got := d.Channels(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: channels %v, want %v", c.config, got, c.want)
		}
	}
}

func TestDecoderErrorsNameTheField(t *testing.T) {
	cases := []struct {
		config DecoderConfig
		want   string
	}{
		{DecoderConfig{Size: 500}, "size = 500"},
		{DecoderConfig{Size: 0}, "size = 0"},
		{DecoderConfig{Size: 2}, "size = 2"},
		{DecoderConfig{Size: -64}, "size = -64"},
		{DecoderConfig{Size: 64, ObjectSize: 65}, "object_size = 65"},
		{DecoderConfig{Size: 64, ObjectSize: -1}, "object_size = -1"},
		{DecoderConfig{Size: 64, Latent: -4}, "latent = -4"},
		{DecoderConfig{Size: 64, ObjectSize: 64, Latent: 16}, "latent = 16"},
		{DecoderConfig{Size: 64, Channels: []int{8, 4, 2}}, "must end in 1"},
		{DecoderConfig{Size: 64, Channels: []int{1}}, "two entries"},
		{DecoderConfig{Size: 64, Channels: []int{8, 1}}, "too short"},
		{DecoderConfig{Size: 8, Channels: []int{8, 0, 1}}, "must be positive"},
		{DecoderConfig{Size: 8, Activation: "identity"}, "output_activation"},
	}
	for _, c := range cases {
		_, err := NewDecoder(c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.config, err, c.want)
		}
	}
}

// The layers, raw sizes and rows of spec/prism.md §1.2 and §1.4.
func TestOutputShapes(t *testing.T) {
	configs := []DecoderConfig{
		{Size: 64, ObjectSize: 64}, {Size: 64, ObjectSize: 32}, {Size: 64, ObjectSize: 37}, {Size: 64, ObjectSize: 33},
		{Size: 64, ObjectSize: 1}, {Size: 64, ObjectSize: 3}, {Size: 4},
		{Size: 64, ObjectSize: 16, Channels: []int{4, 2, 1}},          // last layer a transposed one
		{Size: 64, ObjectSize: 16, Channels: []int{4, 2, 1, 1, 3, 1}}, // one channel between
	}
	for _, c := range configs {
		for _, c.BatchNorm = range []bool{true, false} {
			d, err := NewDecoder(c)
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			p, err := d.EvaluationPlan(t.Context(), PlanOptions{})
			if err != nil {
				t.Errorf("%+v: %v", c, err)
				continue
			}
			id, _ := p.Output(ReconstructionOutput)
			if got, want := p.Buffers[id].Shape, (tensor.Shape{1, 1, c.Size, c.Size}); !got.Equal(want) {
				t.Errorf("%+v: output %v, want %v", c, got, want)
			}
		}
	}
}

func TestSameSeedSameWeights(t *testing.T) {
	initial := func(c DecoderConfig, name string) []float32 {
		d, err := NewDecoder(c)
		if err != nil {
			t.Fatal(err)
		}
		i, ok := d.Model().Index(name)
		if !ok {
			t.Fatalf("no variable %q", name)
		}
		variables, err := d.Model().InitialVariables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return variables[i].Initial
	}
	base := DecoderConfig{Size: 64, ObjectSize: 32, BatchNorm: true, Seed: 7}
	other := base
	other.BatchNorm, other.AMSGrad = false, true // more variables in another order
	for _, name := range []string{"latent", "conv0.weight", "conv4.weight", "conv5.bias"} {
		if !reflect.DeepEqual(initial(base, name), initial(other, name)) {
			t.Errorf("%s differs with another network around it", name)
		}
	}
	other.Seed = 8
	if reflect.DeepEqual(initial(base, "conv0.weight"), initial(other, "conv0.weight")) {
		t.Error("another seed gives the same weights")
	}
}

// forwardOps lists a decoder's operators in short.
func forwardOps(t *testing.T, c DecoderConfig) string {
	t.Helper()
	d, err := NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.EvaluationPlan(t.Context(), PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var ops []string
	for _, s := range p.Steps {
		bias := ""
		if len(s.In) == 3 {
			bias = "+b"
		}
		switch o := s.Op.(type) {
		case nn.ConvTranspose2D:
			ops = append(ops, fmt.Sprintf("T%d%d%s", o.Stride, o.Pad, bias))
			if o.ReLU {
				ops = append(ops, "relu")
			}
		case nn.Conv2D:
			ops = append(ops, fmt.Sprintf("C%d%d%s", o.Stride, o.Pad, bias))
		case nn.BatchNorm:
			ops = append(ops, "bn")
			if o.ReLU {
				ops = append(ops, "relu")
			}
		case nn.Activation:
			ops = append(ops, [...]string{"relu", "leaky", "sigmoid", "hard", "scale", "tanh"}[o.Kind])
		case nn.Place:
			ops = append(ops, fmt.Sprintf("at%d", o.Top))
		}
	}
	return strings.Join(ops, " ")
}

// The layer list of spec/prism.md §1.2 and its consequences.
func TestLayers(t *testing.T) {
	cases := []struct {
		name   string
		config DecoderConfig
		want   string
	}{
		{"default", DecoderConfig{Size: 32, ObjectSize: 8, BatchNorm: true, Activation: "sigmoid"},
			"T10 bn relu T21 bn relu C11 bn relu C11 bn relu C10+b sigmoid at1 at12"},
		{"without normalisation refining is linear", DecoderConfig{Size: 32, ObjectSize: 8},
			"T10+b relu T21+b relu C11+b C11+b C10+b at1 at12"},
		{"no refining layer", DecoderConfig{Size: 32, ObjectSize: 8, Channels: []int{3, 1}, BatchNorm: true},
			"T10 bn relu T21 bn relu at12"},
		{"one channel between", DecoderConfig{Size: 32, ObjectSize: 8, Channels: []int{3, 2, 1, 4, 1}, BatchNorm: true, Activation: "tanh"},
			"T10 bn relu T21 bn relu C11+b C11 bn relu C10+b tanh at1 at12"},
		{"cropped window", DecoderConfig{Size: 16, ObjectSize: 5, Channels: []int{3, 2, 1}, BatchNorm: true},
			"T10 bn relu T21 bn relu C10+b at-1 at5"},
		{"window of the whole field", DecoderConfig{Size: 8, BatchNorm: true},
			"T10 bn relu T21 bn relu C10+b at1"},
	}
	for _, c := range cases {
		if got := forwardOps(t, c.config); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}
