package prism

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
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
		for _, kind := range []string{"weight", "bias"} {
			all = append(all, stateName{fmt.Sprintf("conv%d.%s", i, kind), fmt.Sprintf("decoder.%d.%s", module, kind)})
		}
		for _, kind := range []string{"weight", "bias", "running_mean", "running_var"} {
			all = append(all, stateName{fmt.Sprintf("bn%d.%s", i, kind),
				fmt.Sprintf("decoder.%d.main.%s", module+1, kind)})
		}
		if module++; i <= d.upsampling || d.normalized(i) {
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

// inFiles is what the decoder takes from files.
func (d *Decoder) inFiles() weights.Network {
	return weights.Network{Arrays: d.StateDict(), Ignored: countedBatches}
}

// countedBatches reports whether a name is PyTorch's count of the batches that a normalisation
// saw, on which no result depends here: it is neither read nor written, and PyTorch does without.
func countedBatches(name string) bool { return strings.HasSuffix(name, ".num_batches_tracked") }

// StartFrom gives a new reconstruction the weights of a file, instead of those drawn from the
// seed. There is no initialisation phase: it only prepares drawn weights.
func (r *Reconstruction) StartFrom(ctx context.Context, path string) (said []string, err error) {
	read, said, err := weights.Read(ctx, path, r.decoder.inFiles())
	if err != nil {
		return nil, cmp.Or(r.decoder.refuseFolded(ctx, path), err)
	}
	for i, n := range r.decoder.stateNames() {
		v, _ := r.decoder.Model().Index(n.variable)
		r.state.Write(v, read[i].Values)
	}
	r.initial = false
	return said, r.load(ctx)
}

// refuseFolded returns an error if the file has the decoder's weights with its normalisations folded into the
// convolutions.
func (d *Decoder) refuseFolded(ctx context.Context, path string) error {
	folded, err := declareDecoder(d.config, true, true)
	if err != nil || !d.config.BatchNorm {
		return nil
	}
	if _, _, err := weights.Read(ctx, path, folded.inFiles()); err != nil {
		return nil
	}
	return fmt.Errorf("weights %s: the normalisations are folded into the convolutions, for inference only: must be "+
		"weights exported without --fold", path)
}

// Weights returns the weights of a checkpoint by their names in PyTorch.
func (m Maker) Weights(v settings.Values, c *checkpoint.Checkpoint) ([]weights.Tensor, error) {
	s := From(v)
	d, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		return nil, err
	}
	values, err := trainedOf(d, c)
	if err != nil {
		return nil, err
	}
	return d.namedTensors(values), nil
}

// namedTensors returns the weights and statistics by their names in PyTorch.
func (d *Decoder) namedTensors(values trainedValues) []weights.Tensor {
	all := d.StateDict()
	for i, n := range d.stateNames() {
		all[i].Values = values[n.variable]
	}
	return all
}

// FoldedWeights returns the weights of a checkpoint with the normalisations folded into the convolutions: with the
// running statistics, or with those of the batch, one picture. The names are those of the same sequence in
// PyTorch, whose convolutions have a bias and whose normalisations are left out.
func (m Maker) FoldedWeights(ctx context.Context, v settings.Values, c *checkpoint.Checkpoint,
	running bool) ([]weights.Tensor, error) {
	s := From(v)
	if !s.BatchNorm {
		return nil, errors.New("the decoder has no normalisations to fold: batch_norm = false")
	}
	d, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		return nil, err
	}
	values, err := trainedOf(d, c)
	if err != nil {
		return nil, err
	}
	device, err := m.Open(&s)
	if err != nil {
		return nil, err
	}
	defer device.Close()
	form := FoldedTrainingForm
	if running {
		form = FoldedEvaluationForm
	}
	if err := checkFold(ctx, d, values, form, device.processor()); err != nil {
		return nil, err
	}
	of := runningStatistics
	if !running {
		if of, _, err = batchStatistics(ctx, d, values, device.processor()); err != nil {
			return nil, err
		}
	}
	folded, all, err := d.fold(values, of)
	if err != nil {
		return nil, err
	}
	return folded.namedTensors(all), nil
}

// checkFold returns an error if a folded form puts out something else than the unfolded one.
func checkFold(ctx context.Context, d *Decoder, values trainedValues, form Form, backend nn.Backend) error {
	var outputs [2][]float32
	for i, form := range []Form{form, form.Unfolded()} {
		f, err := newFinal(ctx, d, values, form, backend)
		if err != nil {
			return err
		}
		err = f.Run(ctx)
		outputs[i] = f.Output()
		f.Close()
		if err != nil {
			return err
		}
	}
	if apart := Apart(outputs[0], outputs[1]); !(apart <= FoldTolerance) {
		return fmt.Errorf("the folded decoder puts out something else: %.2g apart, must be %g at most", apart,
			FoldTolerance)
	}
	return nil
}
