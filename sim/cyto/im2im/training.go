package im2im

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/cyto"
	"prismtop/sim/cyto/loader"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// errDiverged ends a training whose loss is no longer finite.
var errDiverged = fmt.Errorf("%w; a lower learning_rate may help", workload.ErrDiverged)

// training is a network being trained, a minibatch an iteration.
type training struct {
	*Model
	settings Settings
	inputs   *Inputs
	// where complete trainings leave their weights; nil for nowhere
	leave    func(experiment string, c cyto.Config) (string, error)
	learner  learner
	train    *loader.Loader
	validate *loader.Loader
	heldOut  *heldOut

	epoch, inEpoch int
	began          time.Time // the epoch
	done           bool
	fresh          bool // the plan has not run yet, or settings changed since the last iteration
	learned        int  // minibatches
	measured       bool // the held-out volumes were predicted
	values         profiles.Values

	marked *mark
	kept   learning.Kept[position]
	keeper learning.Keeper
}

// startTraining prepares a training, which leaves its weights where leave says. On an error
// the caller closes the model.
func startTraining(ctx context.Context, s Settings, in *Inputs, m *Model,
	leave func(string, cyto.Config) (string, error)) (*training, error) {
	t := &training{Model: m, settings: s, inputs: in, leave: leave, began: time.Now()}
	err := t.prepare(ctx)
	if err != nil {
		t.release()
		return nil, err
	}
	return t, nil
}

func (t *training) prepare(ctx context.Context) (err error) {
	background := context.WithoutCancel(ctx)
	if t.train, err = loader.New(background, t.inputs.train, t.settings.trainingBatches()); err != nil {
		return err
	}
	if t.validate, err = loader.New(background, t.inputs.heldOut, t.settings.validationBatches()); err != nil {
		return err
	}
	if t.heldOut, err = newHeldOut(ctx, &t.settings, t.inputs, t.Model); err != nil {
		return err
	}
	return t.load(ctx)
}

// load compiles and loads the training plan.
func (t *training) load(ctx context.Context) (err error) {
	t.unload()
	t.learner, err = t.learns(ctx, &t.settings)
	return err
}

// learns compiles and loads the training plan of settings.
func (m *Model) learns(ctx context.Context, s *Settings) (learner, error) {
	o := s.trainingPlan()
	if s.Replicas > 1 {
		r, err := newReplicas(ctx, o, m)
		if err != nil {
			return nil, err // a nil *replicas would be a learner that is not nil
		}
		return r, nil
	}
	plan, err := m.network.Plan(ctx, o)
	if err != nil {
		return nil, err
	}
	p, err := load(ctx, plan, m)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// unload frees the plan.
func (t *training) unload() {
	if t.learner != nil {
		t.learner.close()
		t.learner = nil
	}
	t.fresh = true
}

// release frees everything but the model.
func (t *training) release() {
	t.unload()
	for _, l := range []*loader.Loader{t.train, t.validate} {
		if l != nil {
			l.Close()
		}
	}
	if t.heldOut != nil {
		t.heldOut.close()
	}
}

// Close frees the memory and the device.
func (t *training) Close() {
	t.release()
	t.Model.Close()
}

// Device returns the device of the training.
func (t *training) Device() workload.Device { return t.device.Backend }

// Info describes the run.
func (t *training) Info() profiles.RunInfo {
	s := &t.settings
	return profiles.RunInfo{
		Schema: schemaOf(s), Object: t.inputs.Name(), Parameters: t.parameters(), Seed: s.Seed, Units: s.Epochs,
		GPUReason: t.device.Note,
		Notes: append(t.notes(), fmt.Sprintf("%s to learn from, %s held out; %s of %d patches an epoch",
			unit.Plural(t.inputs.train.Len(), "image", "images"),
			unit.Plural(t.inputs.heldOut.Len(), "image", "images"),
			unit.Plural(t.train.Batches(), "minibatch", "minibatches"), s.Batch)),
	}
}

// Iterate learns from one minibatch.
func (t *training) Iterate(ctx context.Context, rec *profiles.Iteration) (out workload.Outcome, err error) {
	if t.done {
		return workload.Outcome{Finished: true}, nil
	}
	began := time.Now()
	rec.Kind, rec.Unit, rec.InUnit = KindMinibatch, int32(t.epoch), int32(t.inEpoch)
	rec.Series = profiles.NoValues()
	if t.fresh {
		rec.Flags |= profiles.Warmup
		t.fresh = false
	}
	if t.marked == nil || !t.kept.Has() { // what follows a mark is undone
		if err := t.kept.Keep(ctx, &t.device, t.variables(), t.position(), rec); err != nil {
			return out, err
		}
	}
	if t.learner.begin(t.settings.LayerProfile) {
		rec.Flags |= profiles.Warmup
	}
	if err := t.learn(ctx, rec, began); err != nil {
		return out, err
	}
	t.learned++
	rec.Series[SeriesThroughput] = float64(t.settings.Batch) / time.Since(began).Seconds()
	if t.inEpoch++; t.inEpoch >= t.train.Batches() && t.marked == nil {
		if err := t.endEpoch(ctx, rec, &out); err != nil {
			return out, err
		}
	}
	t.kept.Since++
	return out, nil
}

// learn runs the plan on the next minibatch.
func (t *training) learn(ctx context.Context, rec *profiles.Iteration, began time.Time) error {
	batch, err := t.train.Next(ctx)
	if err != nil {
		return &dataError{err}
	}
	loaded := time.Now()
	rate := cyto.RateAt(t.settings.LearningRate, t.epoch)
	t.learner.feed(batch.Images, batch.Targets)
	rec.Phases[PhaseLoad], rec.Phases[PhaseToDevice] = int64(loaded.Sub(began)), int64(time.Since(loaded))
	rec.Series[SeriesLoading], rec.Series[SeriesLearningRate] = batch.Worked.Seconds()*1e3, rate

	loss, err := t.learner.forward(ctx, &rec.Phases)
	if err == nil {
		err = t.device.Failure()
	}
	if err != nil {
		return err
	}
	rec.Series[SeriesLoss] = loss
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		rec.Flags |= profiles.NonFinite
		t.done = true
		return errDiverged
	}
	t.keeper.Keep(t.variables(), t.network)
	return t.keeper.Updated(t.learner.update(ctx, rate, &rec.Phases))
}

// endEpoch measures the result of an epoch.
func (t *training) endEpoch(ctx context.Context, rec *profiles.Iteration, out *workload.Outcome) error {
	began := time.Now()
	loss, err := t.validationLoss(ctx)
	if err == nil {
		err = t.evaluate(ctx)
	}
	rec.Phases[PhaseValidate] += int64(time.Since(began))
	if err != nil {
		return err
	}
	out.Measured = t.values
	out.Measured[SeriesValLoss], rec.Series[SeriesValLoss] = loss, loss
	t.epoch++
	t.done = t.epoch == t.settings.Epochs
	out.UnitEnded, out.Finished = true, t.done
	out.Result = profiles.UnitResult{Unit: rec.Unit, Iterations: int32(t.inEpoch), Values: rec.Series,
		Elapsed: time.Since(t.began)}
	t.inEpoch, t.began = 0, time.Now()
	return nil
}

// Progress counts the minibatches since the training began, or went on.
func (t *training) Progress() Progress {
	s := &t.settings
	return Progress{
		Batches: t.learned, Samples: t.learned * s.Batch, EpochBatches: t.train.Batches(),
		Available: batches(t.inputs.train.Len()*s.Patches, s.Batch), Iterations: s.Epochs * t.train.Batches(),
	}
}

// validationLoss returns the mean loss of held-out patches, the same in every epoch.
func (t *training) validationLoss(ctx context.Context) (loss float64, err error) {
	if err := t.validate.Seek(0, 0); err != nil {
		return 0, err
	}
	n := t.validate.Batches()
	for range n {
		batch, err := t.validate.Next(ctx)
		if err != nil {
			return 0, &dataError{err}
		}
		t.learner.feed(batch.Images, batch.Targets)
		one, err := t.learner.forward(ctx, nil)
		if err != nil {
			return 0, err
		}
		loss += one
	}
	return loss / float64(n), t.device.Failure()
}

// evaluate predicts the held-out volumes and compares them with their targets.
func (t *training) evaluate(ctx context.Context) error {
	similarity, err := t.heldOut.evaluate(ctx)
	if err != nil {
		return err
	}
	t.values, t.measured = profiles.NoValues(), true
	t.values[SeriesSimilarity] = similarity
	return nil
}

// Quality predicts the held-out volumes with the newest weights and compares them with
// their targets.
func (t *training) Quality(ctx context.Context) (profiles.Values, error) {
	if err := t.evaluate(ctx); err != nil {
		return profiles.NoValues(), err
	}
	return t.values, nil
}

// Picture returns a copy of a picture.
func (t *training) Picture(id int) *profiles.Picture { return t.heldOut.picture(id) }

// Apply applies changed settings. Only live ones may differ from the previous ones.
func (t *training) Apply(ctx context.Context, v settings.Values) error {
	s, old := From(v), t.settings
	moved, err := t.move(ctx, &s)
	if err != nil {
		return err
	}
	if s.Threads != old.Threads {
		t.setThreads(s.Threads, s.Replicas)
	}
	t.settings, t.fresh = s, true
	if s.lane() != old.lane() {
		if err := t.train.Set(s.lane()); err != nil {
			return err
		}
	}
	if moved {
		return nil
	}
	if err := t.adjust(ctx, &s, &old); err != nil {
		if ctx.Err() != nil || nn.Lost(err) || !t.device.Beside() {
			return err
		}
		t.settings = old // they fit
		if again := t.adjust(ctx, &old, &s); again != nil {
			return errors.Join(err, again)
		}
		return &workload.RefusedError{Err: learning.Advised(err)}
	}
	return nil
}

// adjust loads the plans that differ from those of the settings before.
func (t *training) adjust(ctx context.Context, s, before *Settings) error {
	if err := t.heldOut.apply(ctx, s); err != nil {
		return err
	}
	if t.learner != nil && s.trainingPlan() == before.trainingPlan() {
		return nil
	}
	return t.load(ctx)
}

// Steps returns the steps of the training plan and their times in the newest iteration; of
// replicas, those of the first. There are none if that did not time every step.
func (t *training) Steps() ([]profiles.Layer, []int64) { return t.learner.steps() }

// Memory returns the memory of the run by category; the windows of the held-out volumes
// count as activations.
func (t *training) Memory() (m profiles.Memory) {
	t.learner.memory(&m, t.network.Model().Variables())
	m.Parts[MemoryActivations] += t.heldOut.bytes()
	m.Parts[MemoryImages] = t.heldOut.imageBytes()
	m.Device = t.memory(&m)
	return m
}
