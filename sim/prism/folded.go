package prism

import (
	"context"
	"errors"
	"fmt"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
	"prismtop/sim/nn/fold"
	"prismtop/sim/tensor"
)

// Form is how a trained decoder computes its output, in float32 and without training.
//
// PRISM never leaves training mode (spec/prism.md §1.3): its reconstruction is normalised with the statistics of
// the batch, one picture. The decoder has no input, so that with fixed weights these are constants and can be
// folded into the convolutions like the running ones, which evaluation mode uses.
type Form uint8

// The forms.
const (
	TrainingForm         Form = iota // the batch's statistics: the reconstruction
	EvaluationForm                   // the running statistics: PyTorch's eval()
	FoldedTrainingForm               // TrainingForm with the normalisations folded into the convolutions
	FoldedEvaluationForm             // EvaluationForm likewise
	Forms                            // the number of them
)

// String returns the form's name.
func (f Form) String() string {
	return [...]string{"training mode", "evaluation mode", "training mode, folded", "evaluation mode, folded"}[f]
}

// Folded reports whether the normalisations are folded, and Unfolded returns the form with the same statistics in
// which they are not.
func (f Form) Folded() bool { return f == FoldedTrainingForm || f == FoldedEvaluationForm }

// Unfolded returns the form whose output a folded one has.
func (f Form) Unfolded() Form {
	return map[Form]Form{FoldedTrainingForm: TrainingForm, FoldedEvaluationForm: EvaluationForm}[f]
}

// FoldTolerance bounds how far the outputs of a folded form and of the unfolded one may lie apart, relative to the
// largest magnitude. Both round to float32 in every layer, in another order.
const FoldTolerance = 1e-5

// Apart returns the largest difference of two outputs relative to the largest magnitude of the second; it is not
// finite if they are not.
func Apart(got, want []float32) float64 {
	worst, largest := 0.0, 0.0
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return math.Inf(1)
		}
		worst, largest = max(worst, d), max(largest, math.Abs(float64(want[i])))
	}
	if worst == 0 {
		return 0
	}
	return worst / largest
}

// trainedValues are a trained decoder's weights and running statistics by the names of its variables.
type trainedValues map[string][]float32

// finalOptions are the plan options of a final pass.
func finalOptions(running bool) PlanOptions {
	return PlanOptions{AMP: tensor.Float32, Apertures: 1, RunningStatistics: running}
}

// newFinal makes the forward pass of trained values in a form, on a backend that it does not own.
func newFinal(ctx context.Context, d *Decoder, values trainedValues, form Form, backend nn.Backend) (*Forward, error) {
	running := form == EvaluationForm || form == FoldedEvaluationForm
	if !form.Folded() {
		frozen, err := declareDecoder(d.config, true, false)
		if err != nil {
			return nil, err
		}
		return newPass(ctx, frozen, values, finalOptions(running), backend)
	}
	statistics := runningStatistics
	if !running {
		passed, _, err := batchStatistics(ctx, d, values, backend)
		if err != nil {
			return nil, err
		}
		statistics = passed
	}
	return newFolded(ctx, d, values, statistics, backend)
}

// newFolded makes the forward pass of the folded decoder.
func newFolded(ctx context.Context, d *Decoder, values trainedValues, of statistics, backend nn.Backend) (*Forward,
	error) {
	folded, all, err := d.fold(values, of)
	if err != nil {
		return nil, err
	}
	return newPass(ctx, folded, all, finalOptions(true), backend)
}

// newPass binds the plan of an evaluation to a state of given values.
func newPass(ctx context.Context, d *Decoder, values trainedValues, o PlanOptions, backend nn.Backend) (*Forward,
	error) {
	plan, err := d.EvaluationPlan(ctx, o)
	if err != nil {
		return nil, err
	}
	variables := append([]nn.Variable(nil), d.model.Variables()...)
	for i := range variables {
		variables[i].Initial = values[variables[i].Name]
	}
	state, err := backend.NewState(ctx, variables)
	if err != nil {
		return nil, err
	}
	return bindForward(ctx, d, plan, state, backend)
}

// statistics returns mean and variance of the channels of a layer's convolution.
type statistics func(values trainedValues, layer int) (mean, variance []float64)

// runningStatistics are those of evaluation mode; their variance is the unbiased one.
func runningStatistics(values trainedValues, layer int) (mean, variance []float64) {
	for _, v := range values[fmt.Sprintf("bn%d.running_mean", layer)] {
		mean = append(mean, float64(v))
	}
	for _, v := range values[fmt.Sprintf("bn%d.running_var", layer)] {
		variance = append(variance, float64(v))
	}
	return mean, variance
}

// batchStatistics runs a pass in training mode and returns the statistics of its batch, whose variance is the
// biased one, and its output.
func batchStatistics(ctx context.Context, d *Decoder, values trainedValues, backend nn.Backend) (statistics,
	[]float32, error) {
	frozen, err := declareDecoder(d.config, true, false)
	if err != nil {
		return nil, nil, err
	}
	o := finalOptions(false)
	o.Layers = true
	f, err := newPass(ctx, frozen, values, o, backend)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if err := f.Run(ctx); err != nil {
		return nil, nil, err
	}
	means, variances := make([][]float64, len(d.channels)), make([][]float64, len(d.channels))
	for i := range d.channels {
		id, there := f.plan.Output(fmt.Sprintf("act.conv%d", i))
		if !there || !d.normalized(i) {
			continue
		}
		x := make([]float32, f.plan.Buffers[id].Shape.Elements())
		f.exe.Read(id, x)
		for plane := range d.channels[i] {
			n := len(x) / d.channels[i]
			mean, variance := moments(x[plane*n:][:n])
			means[i], variances[i] = append(means[i], mean), append(variances[i], variance)
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	output := f.Output()
	if err := failure(backend); err != nil {
		return nil, nil, err
	}
	return func(_ trainedValues, layer int) ([]float64, []float64) { return means[layer], variances[layer] }, output,
		nil
}

// moments returns the mean and the biased variance.
func moments(x []float32) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(x))
}

// fold returns the decoder with its normalisations folded into the convolutions, and the values of its variables.
// Without normalisations it is the same network, frozen.
func (d *Decoder) fold(values trainedValues, of statistics) (*Decoder, trainedValues, error) {
	folded, err := declareDecoder(d.config, true, true)
	if err != nil {
		return nil, nil, err
	}
	all := trainedValues{"latent": values["latent"]}
	for i := range d.channels {
		conv, bn := fmt.Sprintf("conv%d.", i), fmt.Sprintf("bn%d.", i)
		weight, bias := values[conv+"weight"], values[conv+"bias"]
		if d.normalized(i) {
			axis := 0
			if i <= d.upsampling {
				axis = 1
			}
			id, _ := folded.model.Index(conv + "weight")
			mean, variance := of(values, i)
			weight, bias, err = fold.Convolution(weight, folded.model.Variables()[id].Shape, axis, bias,
				fold.Normalisation{
					Gamma: values[bn+"weight"], Beta: values[bn+"bias"], Mean: mean, Variance: variance,
					Eps: float64(batchNorm.Eps)})
			if err != nil {
				return nil, nil, fmt.Errorf("layer %d: %w", i+1, err)
			}
		}
		all[conv+"weight"], all[conv+"bias"] = weight, bias
	}
	return folded, all, nil
}

// trainedOf takes them from a checkpoint.
func trainedOf(d *Decoder, c *checkpoint.Checkpoint) (trainedValues, error) {
	values := trainedValues{}
	for _, a := range c.Arrays {
		values[a.Name] = a.Float32
	}
	for _, v := range d.model.Variables() {
		if v.Category == nn.Weights && len(values[v.Name]) != v.Shape.Elements() {
			return nil, fmt.Errorf("the array %s is missing, or not of the shape %v", v.Name, v.Shape)
		}
	}
	return values, nil
}

// Final returns the decoder's forward pass with its weights as they are now, in a form. It has its own copy of
// them and must be closed before the reconstruction.
func (r *Reconstruction) Final(ctx context.Context, form Form) (*Forward, error) {
	if r.failed {
		return nil, errors.New("the newest iteration failed: there are no sound weights")
	}
	values, err := r.trained()
	if err != nil {
		return nil, err
	}
	return newFinal(ctx, r.decoder, values, form, r.device.Backend)
}

// finalOutput returns what is saved: the output of the newest weights in float32, computed by the folded decoder
// with the statistics of the batch. It is that of training mode to FoldTolerance, which every call checks; else it
// is training mode's own. After an iteration that failed or was cut short, and where memory is short, it is the
// newest output of the run.
func (r *Reconstruction) finalOutput(ctx context.Context) ([]float32, error) {
	if r.failed {
		return r.Output(), nil
	}
	if !roomForFinal(r.Memory(), len(r.output)) {
		return r.newest()
	}
	values, err := r.trained()
	if err != nil {
		return nil, err
	}
	batch, want, err := batchStatistics(ctx, r.decoder, values, r.device.processor())
	if err != nil {
		return nil, err
	}
	f, err := newFolded(ctx, r.decoder, values, batch, r.device.processor())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	got := f.Output()
	if !(Apart(got, want) <= FoldTolerance) {
		return want, nil
	}
	return got, nil
}

// roomForFinal reports whether there is memory for a final pass beside a run that holds m: three more copies of the
// weights (folded, packed and those of the file), the results of all layers before and after their packing, and two
// planes. Where the system does not say, there is.
func roomForFinal(m profiles.Memory, pixels int) bool {
	free, known := machine.ReadMemory().Usable()
	if !known {
		return true
	}
	need := 3*m.Parts[MemoryWeights] + 2*m.Parts[MemoryActivations] + 8*int64(pixels)
	return need < free/2
}
