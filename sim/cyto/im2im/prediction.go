package im2im

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/cyto"
	"prismtop/sim/cyto/loader"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/npy"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// prediction predicts whole images, a batch an iteration.
type prediction struct {
	*Model
	settings Settings
	inputs   *Inputs
	of       string // where the weights are from; empty if the run has named their file
	weights  []weights.Tensor
	windows  *cyto.Windows
	layers   []profiles.Layer // of the windows' plan
	images   *loader.Loader

	pass, inPass int
	began        time.Time // the pass
	fresh        bool      // the plan has not run yet, or settings changed
	runs         int64     // iterations on the device
	untimed      bool      // the newest iteration did not time every step
	batches      int       // so far
	samples      int       // so far
	sum          similarities
	newest       profiles.Values
	shown        slice
	files        *files     // nil without
	predicted    cyto.Image // the first image of the newest batch
	processed    []uint8    // the newest image, after the post-processing
}

// similarities are those of the images of a pass that have targets.
type similarities struct {
	images int
	total  float64
}

// startPrediction prepares a prediction. On an error the caller closes the model.
func startPrediction(ctx context.Context, s Settings, in *Inputs, m *Model, maker Maker) (*prediction, error) {
	p := &prediction{Model: m, settings: s, inputs: in, began: time.Now(), newest: profiles.NoValues()}
	err := p.prepare(ctx, maker)
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

func (p *prediction) prepare(ctx context.Context, maker Maker) (err error) {
	if p.of, err = p.firstWeights(ctx, maker.Trained); err != nil {
		return err
	}
	if p.images, err = loader.New(context.WithoutCancel(ctx), p.inputs.heldOut,
		p.settings.predictionBatches()); err != nil {
		return err
	}
	if p.settings.Predictions != "" {
		if p.files, err = newFiles(&p.settings, p.inputs, maker.Since); err != nil {
			return &settings.KeyError{Key: "predictions", Err: fmt.Errorf("predictions = %s: %w",
				p.settings.Predictions, err)}
		}
	}
	first, err := p.inputs.pairs(ctx, 1)
	if err != nil {
		return err
	}
	p.shown = sliceOf(first[0])
	return p.load(ctx)
}

// firstSeed is the seed of the weights of a network that was not trained (§B2.3).
const firstSeed = 12345

// firstWeights gives the network the weights of the settings, and returns where they come
// from.
func (p *prediction) firstWeights(ctx context.Context, leave func(string, cyto.Config) (string, error)) (string,
	error) {
	random := p.network.Seeded(firstSeed)
	if p.settings.Weights == seeded || leave == nil {
		return "seeded weights", p.setWeights(random)
	}
	path, err := leave(p.settings.Experiment, p.network.Config())
	if err != nil {
		return "", err
	}
	_, err = p.startFrom(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "seeded weights: the network is not trained, and what it predicts means nothing",
			p.setWeights(random)
	case err != nil:
		return "", fmt.Errorf("trained weights: %w; weights = seeded goes without them", err)
	}
	return "trained weights of " + path, nil
}

// StartFrom replaces the weights by those of a file.
func (p *prediction) StartFrom(ctx context.Context, path string) (said []string, err error) {
	p.of = ""
	return p.startFrom(ctx, path)
}

// startFrom gives the network the weights of a file, and returns lines for the log about it.
func (p *prediction) startFrom(ctx context.Context, path string) (said []string, err error) {
	all, said, err := p.network.ReadWeights(ctx, path)
	if err != nil {
		return nil, err
	}
	return said, p.setWeights(all)
}

// setWeights gives the network weights, and keeps them in case its device fails.
func (p *prediction) setWeights(all []weights.Tensor) error {
	p.weights = all
	return p.network.SetWeights(p.state, all)
}

// load compiles and loads the plan of the windows.
func (p *prediction) load(ctx context.Context) (err error) {
	if p.windows != nil {
		p.windows.Close()
		p.windows = nil
	}
	windows, err := p.Model.windows(ctx, &p.settings)
	if err != nil {
		return err
	}
	p.begin(windows)
	return nil
}

// begin goes on with another plan of windows.
func (p *prediction) begin(windows *cyto.Windows) {
	p.windows, p.layers, p.fresh = windows, learning.LayersOf(windows.Plan(), &recordedPhases), true
}

func (p *prediction) release() {
	if p.windows != nil {
		p.windows.Close()
	}
	if p.images != nil {
		p.images.Close()
	}
}

// Close frees the memory and the device.
func (p *prediction) Close() {
	p.release()
	p.Model.Close()
}

// Device returns the device of the prediction.
func (p *prediction) Device() workload.Device { return p.device.Backend }

// Info describes the run.
func (p *prediction) Info() profiles.RunInfo {
	info := profiles.RunInfo{
		Schema: schemaOf(&p.settings), Object: p.inputs.Name(), Parameters: p.parameters(), Seed: p.settings.Seed,
		Units: p.settings.passes(), GPUReason: p.device.Note,
		Notes: []string{fmt.Sprintf("%s to predict, %s a pass",
			unit.Plural(p.inputs.heldOut.Len(), "image", "images"),
			unit.Plural(p.images.Batches(), "batch", "batches"))},
	}
	if p.of != "" {
		info.Notes = append(info.Notes, p.of)
	}
	info.Notes = append(info.Notes, p.Remarks()...)
	return info
}

// Iterate predicts a batch of images.
func (p *prediction) Iterate(ctx context.Context, rec *profiles.Iteration) (out workload.Outcome, err error) {
	began := time.Now()
	rec.Kind, rec.Unit, rec.InUnit = KindPrediction, int32(p.pass), int32(p.inPass)
	rec.Series = profiles.NoValues()
	if p.files != nil && !p.files.checked {
		done, err := p.resumeFiles(ctx, &out)
		if err != nil {
			return out, &dataError{err}
		}
		if done {
			return out, nil
		}
	}
	if p.fresh {
		rec.Flags |= profiles.Warmup
		p.fresh = false
	}
	detail := p.settings.LayerProfile && learning.Detailed(p.runs)
	beside := p.windows.Detail(detail)
	p.runs, p.untimed = p.runs+1, beside && !detail
	if beside && detail {
		rec.Flags |= profiles.Warmup
	}
	batch, err := p.images.Next(ctx)
	if err != nil {
		return out, &dataError{err}
	}
	rec.Phases[PhaseLoad] = int64(time.Since(began))
	rec.Series[SeriesLoading] = batch.Worked.Seconds() * 1e3
	compared, before := time.Duration(0), p.sum
	for i := range batch.Pairs {
		took, err := p.predict(ctx, &batch.Pairs[i], batch.Items[i], i == 0, rec)
		if err != nil {
			p.sum = before // if the run goes on, it predicts the batch again
			return out, err
		}
		compared += took
	}
	rec.Phases[PhaseCompare] += int64(compared)
	p.batches, p.samples = p.batches+1, p.samples+len(batch.Pairs)
	rec.Series[SeriesThroughput] = float64(len(batch.Pairs)) / (time.Since(began) - compared).Seconds()
	if p.inPass++; batch.Last {
		p.endPass(rec, &out)
	}
	return out, nil
}

// predict predicts an image, the item of that number, and returns the time that its
// comparison with the target took. The first of a batch is shown.
func (p *prediction) predict(ctx context.Context, pair *cyto.Pair, item int, show bool,
	rec *profiles.Iteration) (compared time.Duration, err error) {
	output, err := p.windows.Predict(ctx, pair.Image, p.settings.Overlap)
	if err != nil {
		return 0, err
	}
	spent := p.windows.Spent()
	done := time.Now()
	p.processed = postprocess(p.processed, p.settings.Experiment, output.Values)
	if p.files != nil {
		if err := p.files.write(ctx, &p.settings, item, pair, output); err != nil {
			return 0, &dataError{err}
		}
	}
	compare := time.Now()
	rec.Phases[PhaseToDevice] += int64(spent.ToDevice)
	rec.Phases[PhaseForward] += int64(spent.Forward)
	rec.Phases[PhasePostprocess] += int64(spent.Blending + compare.Sub(done))
	if len(pair.Target.Values) > 0 {
		p.sum.total += similarityOf(&p.settings, output.Values, pair.Target.Values)
		p.sum.images++
	}
	if show {
		p.shown = sliceOf(*pair)
		p.shown.predicted(&p.settings, output)
		p.predicted = output
	}
	return time.Since(compare), nil
}

// postprocess writes to dst, if it has the size, the bytes of a network's output, as CytoDL's do: of a segmentation's
// probabilities or of a signal, from its smallest value to its largest (§B2).
func postprocess(dst []uint8, experiment string, output []float32) []uint8 {
	if len(dst) != len(output) {
		dst = make([]uint8, len(output))
	}
	low, high := extent(output)
	value := func(v float32) float32 { return v }
	if experiment == Segmentation { // the sigmoid keeps the order
		value = sigmoid
		low, high = sigmoid(low), sigmoid(high)
	}
	if !(high > low) {
		clear(dst)
		return dst
	}
	for i, v := range output {
		dst[i] = uint8(math.Floor(float64(255 * (value(v) - low) / (high - low))))
	}
	return dst
}

// endPass ends a pass over the images.
func (p *prediction) endPass(rec *profiles.Iteration, out *workload.Outcome) {
	p.newest = profiles.NoValues()
	if p.sum.images > 0 {
		p.newest[SeriesSimilarity] = p.sum.total / float64(p.sum.images)
	}
	out.UnitEnded, out.Measured = true, p.newest
	out.Result = profiles.UnitResult{Unit: rec.Unit, Iterations: int32(p.inPass), Values: rec.Series,
		Elapsed: time.Since(p.began)}
	p.pass++
	out.Finished = p.pass == p.settings.passes()
	p.inPass, p.sum, p.began = 0, similarities{}, time.Now()
}

// Progress counts the images since the prediction began.
func (p *prediction) Progress() Progress {
	s := &p.settings
	return Progress{
		Batches: p.batches, Samples: p.samples, Outputs: p.samples, EpochBatches: p.images.Batches(),
		Available: batches(p.inputs.heldOut.Len(), s.Batch), Iterations: s.passes() * p.images.Batches(),
	}
}

// Quality returns the similarity of the newest complete pass.
func (p *prediction) Quality(context.Context) (profiles.Values, error) { return p.newest, nil }

// Picture returns a picture of the first image of the newest batch.
func (p *prediction) Picture(id int) *profiles.Picture { return p.shown.picture(id) }

// Apply applies changed settings. Only live ones may differ from the previous ones.
func (p *prediction) Apply(ctx context.Context, v settings.Values) error {
	s, old := From(v), p.settings
	moved, err := p.move(ctx, &s)
	if err != nil {
		return err
	}
	if s.Threads != old.Threads {
		p.setThreads(s.Threads, 1)
	}
	p.settings, p.fresh = s, true
	if s.lane() != old.lane() {
		if err := p.images.Set(s.lane()); err != nil {
			return err
		}
	}
	if moved || s.windows() == old.windows() {
		return nil
	}
	if err := p.load(ctx); err != nil {
		if ctx.Err() != nil || nn.Lost(err) || !p.device.Beside() {
			return err
		}
		p.settings = old // they fit
		if again := p.load(ctx); again != nil {
			return errors.Join(err, again)
		}
		return &workload.RefusedError{Err: learning.Advised(err)}
	}
	return nil
}

// Steps returns the steps of the plan and their times for the newest windows; none if they were not timed.
func (p *prediction) Steps() ([]profiles.Layer, []int64) {
	if p.untimed {
		return nil, nil
	}
	return p.layers, p.windows.StepNanos()
}

// Memory returns the memory of the run by category.
func (p *prediction) Memory() profiles.Memory {
	plan := p.windows.Plan()
	u, own := plan.VariableUsage(p.network.Model().Variables()), plan.ArenaUsage()
	m := profiles.Memory{Parts: [profiles.MaxMemory]int64{
		MemoryWeights: u[nn.Weights], MemoryActivations: plan.ArenaBytes - own[nn.Inputs] - own[nn.Scratch],
		MemoryInputs: own[nn.Inputs], MemoryScratch: u[nn.Scratch] + own[nn.Scratch] +
			p.windows.Bytes() - plan.ArenaBytes,
	}}
	if !p.inputs.files && p.settings.CacheImages {
		m.Parts[MemoryImages] = int64(p.settings.dataBytes())
	}
	m.Device = p.memory(&m)
	return m
}

// Save writes the image of the newest batch's first prediction to base.npz, as the array
// prediction of bytes, and the shown plane to base.png: both or neither.
func (p *prediction) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	return learning.Saving(base, func() ([]string, error) {
		if len(p.predicted.Values) == 0 {
			return nil, errors.New("nothing was predicted yet")
		}
		var data bytes.Buffer
		w := npy.NewWriter(&data)
		if err := npy.Add(w, "prediction", p.predicted.Sides[:],
			postprocess(nil, p.settings.Experiment, p.predicted.Values)); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return writeBeside(ctx, base, fresh, data.Bytes(), p.Picture(PicturePrediction))
	})
}
