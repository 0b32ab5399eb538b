package prism

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/weights"
)

// stateName is a weight or a statistic of the decoder.
type stateName struct {
	variable string // its name in the model
	torch    string // its name in the state_dict of PRISM's decoder (spec/prism.md §1.2)
}

// stateNames lists the weights and the running statistics. In PRISM's decoder a growing layer is
// three modules of a sequence, convolution, normalisation and ReLU, and so is a refining one with
// normalisation; other refining layers are the convolution alone.
func (d *Decoder) stateNames() []stateName {
	all := []stateName{{"latent", "input_vec"}}
	for i, module := 0, 0; i < len(d.channels); i++ {
		growing := i <= d.upsampling
		normalized := d.config.BatchNorm && (growing || d.channels[i] > 1)
		for _, kind := range []string{"weight", "bias"} {
			all = append(all, stateName{fmt.Sprintf("conv%d.%s", i, kind), fmt.Sprintf("decoder.%d.%s", module, kind)})
		}
		for _, kind := range []string{"weight", "bias", "running_mean", "running_var"} {
			all = append(all, stateName{fmt.Sprintf("bn%d.%s", i, kind), fmt.Sprintf("decoder.%d.main.%s", module+1, kind)})
		}
		if module++; growing || normalized {
			module += 2
		}
	}
	return slices.DeleteFunc(all, func(n stateName) bool { // those of layers without bias or normalisation
		_, there := d.model.Index(n.variable)
		return !there
	})
}

// StateDict lists the weights and the running statistics by their names and in their order in
// PyTorch, without their numbers.
func (d *Decoder) StateDict() []weights.Tensor {
	var all []weights.Tensor
	for _, n := range d.stateNames() {
		v, _ := d.model.Index(n.variable)
		all = append(all, weights.Tensor{Name: n.torch, Shape: slices.Clone([]int(d.model.Variables()[v].Shape))})
	}
	return all
}

// countedBatches reports whether a name is PyTorch's count of the batches that a normalisation
// saw, on which no result depends here: it is neither read nor written, and PyTorch does without.
func countedBatches(name string) bool { return strings.HasSuffix(name, ".num_batches_tracked") }

// StartFrom gives a new reconstruction the weights of a file, instead of those drawn from the
// seed. There is no initialisation phase: it only prepares drawn weights.
func (r *Reconstruction) StartFrom(ctx context.Context, path string) error {
	read, err := weights.Read(ctx, path, r.decoder.StateDict(), countedBatches)
	if err != nil {
		return err
	}
	for i, n := range r.decoder.stateNames() {
		v, _ := r.decoder.Model().Index(n.variable)
		r.state.Write(v, read[i].Values)
	}
	r.initial = false
	return r.load(ctx)
}

// Weights returns the weights of a checkpoint by their names in PyTorch.
func (m Maker) Weights(v settings.Values, c *checkpoint.Checkpoint) ([]weights.Tensor, error) {
	s := From(v)
	d, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		return nil, err
	}
	values := map[string]checkpoint.Array{}
	for _, a := range c.Arrays {
		values[a.Name] = a
	}
	all := d.StateDict()
	for i, n := range d.stateNames() {
		a, ok := values[n.variable]
		if !ok || !slices.Equal(a.Shape, all[i].Shape) || a.Float32 == nil {
			return nil, fmt.Errorf("the array %s is missing, or not of the shape %v", n.variable, all[i].Shape)
		}
		all[i].Values = a.Float32
	}
	return all, nil
}
