package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"runtime/debug"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/cyto/tasks/branches"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// trial is one round of one task. Its program is written as one function, which times nested
// sections; it is resumed for every iteration of the run, and suspended in between.
type trial struct {
	bench *benchmark
	task  *tasks.Task
	index int // of the task
	round tasks.Round

	clock   *tasks.Clock
	idle    time.Duration // suspended so far
	paused  time.Time     // since when it is suspended
	resume  func() (struct{}, bool)
	stop    func()
	suspend func(struct{}) bool
	began   time.Time

	values  settings.Values
	warning string
	on      string        // the device and its kernels, once they are known
	cards   []nn.Backend  // the GPUs that it is computed on, while they are open
	work    workload.Task // the experiment
	total   int           // iterations of the round, with the preparation
	count   int           // so far
	newest  profiles.Values
	git     *tasks.GitInfo // of a git branch that was found

	// Of the iteration under way.
	ctx    context.Context
	rec    *profiles.Iteration
	out    workload.Outcome
	cancel bool // the round is to end

	err error // that it ended with
}

// newTrial begins a round of a task; position is its place in the order of the round.
func newTrial(b *benchmark, index, round, position int) *trial {
	debug.FreeOSMemory() // what earlier tasks left is not this one's
	now := time.Now()
	u := &trial{
		bench: b, task: &b.list[index], index: index, began: now, paused: now, newest: profiles.NoValues(),
		round: tasks.Round{Round: round + 1, Position: position + 1, Timestamp: tasks.Stamp(now), Success: true},
	}
	u.clock = tasks.NewClock(tasks.ClockOptions{
		Device: u.meter(), Host: tasks.HostMeter{},
		Now: func() time.Time { return time.Now().Add(-u.idle) },
	})
	u.resume, u.stop = iter.Pull(func(suspend func(struct{}) bool) {
		u.suspend = suspend
		u.err = u.run()
	})
	return u
}

// meter returns what reads the memory of the task's GPUs.
func (u *trial) meter() tasks.Meter {
	if u.task.Variant == "" {
		return tasks.NoMeter("the task is computed in another process")
	}
	if u.task.Trainer == tasks.GPU || u.task.Trainer == tasks.DDP {
		_, _, reason := u.bench.maker.cards(u.bench.values.Text(settings.Device))
		if reason == "" {
			return cardMeter{u}
		}
	}
	return tasks.NoMeter("the task is computed on the processor")
}

// cardMeter reads the memory of the GPU that has most allocated, of those of a trial; none before they are opened.
type cardMeter struct{ of *trial }

// Memory reads the memory.
func (m cardMeter) Memory() (used, peak int64, reason string) {
	for _, b := range m.of.cards {
		holder, ok := b.(workload.PeakHolder)
		if !ok {
			return 0, 0, "the task is computed on the processor"
		}
		now, most := holder.PeakMemory()
		used, peak = max(used, now), max(peak, most)
	}
	return used, peak, ""
}

// ResetPeak begins a new peak.
func (m cardMeter) ResetPeak() string {
	for _, b := range m.of.cards {
		if holder, ok := b.(workload.PeakHolder); ok {
			holder.ResetPeak()
		}
	}
	return ""
}

// iterate resumes the unit for an iteration. It returns true if the unit has ended.
func (u *trial) iterate(ctx context.Context, rec *profiles.Iteration, cancel bool) (ended bool) {
	u.ctx, u.rec, u.out, u.cancel = ctx, rec, workload.Outcome{}, cancel
	u.idle += time.Since(u.paused)
	_, more := u.resume()
	u.paused = time.Now()
	u.count++
	return !more
}

// interrupt ends the unit between two iterations.
func (u *trial) interrupt() {
	u.idle += time.Since(u.paused)
	u.stop()
	u.close()
}

// close frees the experiment.
func (u *trial) close() {
	if u.work != nil {
		u.work.Close()
		u.work, u.cards = nil, nil
	}
}

// wait ends an iteration, and returns when the next one begins.
func (u *trial) wait() error {
	switch {
	case !u.suspend(struct{}{}):
		return errInterrupted
	case u.cancel:
		return errCancelled
	}
	return nil
}

// run is the program of the unit.
func (u *trial) run() error {
	if u.cancel {
		return errCancelled
	}
	if u.task.Variant == "" {
		return u.external()
	}
	if u.task.Kind == tasks.Inference {
		m := &tasks.InferenceMetrics{}
		u.round.Metrics.Inference = m
		return u.clock.Time(&m.TotalInference, func() error { return u.infer(m) })
	}
	m := &tasks.TrainingMetrics{}
	u.round.Metrics.Training = m
	if err := u.clock.Time(&m.TotalTraining, func() error { return u.train(m) }); err != nil {
		return err
	}
	return u.keep()
}

// keep keeps the weights of a complete training, if the list does.
func (u *trial) keep() error {
	path := u.bench.weightsOf(u.index)
	if path == "" {
		return nil
	}
	said, err := u.work.(workload.Finisher).Finish(u.ctx)
	if err == nil {
		u.round.Checkpoint = path
		u.out.Said = append(u.out.Said, profiles.LogEntry{Text: said})
	}
	return err
}

// parts are the timers of a preparation.
type parts struct{ all, config, data, model, checkpoint, trainer **tasks.Timer }

// prepare makes the experiment, which takes the first iteration.
func (u *trial) prepare(t parts) error {
	maker := u.bench.maker.Experiments
	var in workload.Inputs
	var model *im2im.Model
	err := u.clock.Time(t.all, func() error {
		if err := u.clock.Time(t.config, u.configure); err != nil {
			return err
		}
		err := u.clock.Time(t.data, func() (err error) {
			if err := u.task.CheckFiles(); err != nil {
				return err
			}
			in, err = maker.Load(u.ctx, u.values)
			return err
		})
		if err != nil {
			return err
		}
		if err = u.clock.Time(t.model, func() (err error) {
			if model, err = maker.Model(u.ctx, u.values); err != nil {
				return err
			}
			u.on, u.cards = u.described(model.Backends())
			return nil
		}); err != nil {
			return err
		}
		if path := u.bench.weightsOf(u.index); path != "" {
			maker.Trained = func(string, cyto.Config) (string, error) { return path, nil }
		}
		if err := u.clock.Time(t.trainer, func() (err error) {
			if u.work, err = maker.Begin(u.ctx, u.values, in.(*im2im.Inputs), model); err != nil {
				u.cards = nil // they are closed
			}
			return err
		}); err != nil || t.checkpoint == nil {
			return err
		}
		return u.clock.Time(t.checkpoint, u.startFrom)
	})
	if err != nil {
		return err
	}
	u.total = u.work.(im2im.Counter).Progress().Iterations + 1
	u.out.TasksChanged, u.out.MemoryChanged = true, true
	return u.wait()
}

// configure finds the settings of the task and its device.
func (u *trial) configure() (err error) {
	base, err := experiments(u.bench.values)
	if err != nil {
		return err
	}
	if u.values, err = of(base, u.task, u.bench.filesOf(u.index)); err != nil {
		return err
	}
	u.values, u.warning, err = u.bench.maker.onTrainer(u.values, u.task.Trainer, u.bench.values.Text(settings.Device),
		u.bench.values.On(fallbackKey))
	return err
}

// described returns the name of what a task is computed on, and its GPUs.
func (u *trial) described(backends []nn.Backend) (name string, cards []nn.Backend) {
	first := backends[0]
	if first.Device() == "cpu" {
		name = fmt.Sprintf("cpu %s ×%d", u.bench.device.kernels, u.bench.device.threads)
	} else {
		name, cards = first.Name(), backends
	}
	if n := len(backends); n > 1 {
		name += fmt.Sprintf(", %d replicas", n)
	}
	return name, cards
}

// startFrom gives the network the weights of the task's checkpoint, or those that a training
// left.
func (u *trial) startFrom() error {
	path := u.task.Checkpoint
	if path == "" {
		s := im2im.From(u.values)
		var err error
		if path, err = u.bench.maker.Experiments.Trained(s.Experiment, cyto.DefaultConfig(s.Axes)); err != nil {
			return err
		}
	}
	_, err := u.work.(workload.Starter).StartFrom(u.ctx, path)
	switch {
	case err != nil && u.task.Checkpoint == "" && errors.Is(err, fs.ErrNotExist):
		u.warn("no checkpoint, and no training has left weights: predicted with random ones")
		return nil
	case err != nil:
		return fmt.Errorf("checkpoint %s (column checkpoint_path): %w", path, err)
	}
	return nil
}

// step runs an iteration of the experiment; done is true after its last one, which does not
// wait for another.
func (u *trial) step() (done bool, err error) {
	kept := *u.rec
	out, err := u.work.Iterate(u.ctx, u.rec)
	ended := out.UnitEnded
	u.rec.Kind, u.rec.Unit, u.rec.InUnit = Kind(u.index), kept.Unit, kept.InUnit
	if err != nil {
		return false, err
	}
	for i, v := range u.rec.Series {
		if !math.IsNaN(v) {
			u.newest[i] = v
		}
	}
	u.out = workload.Outcome{MemoryChanged: out.MemoryChanged, Said: out.Said}
	if left, ok := u.work.(interface{ Left() string }); ok && len(out.Said) > 0 {
		if text := left.Left(); text != "" {
			u.warn(text + ", so times are of the others")
		}
	}
	if ended {
		u.out.Measured, u.out.Measures = out.Measured, true
		for i, v := range out.Measured {
			if !math.IsNaN(v) {
				u.newest[i] = v
			}
		}
	}
	return out.Finished, nil
}

// warn adds a warning to the results.
func (u *trial) warn(text string) {
	if u.warning != "" {
		text = u.warning + "; " + text
	}
	u.warning = text
}

// finish runs the rest of the experiment.
func (u *trial) finish(done bool) error {
	for !done {
		if err := u.wait(); err != nil {
			return err
		}
		var err error
		if done, err = u.step(); err != nil {
			return err
		}
	}
	return nil
}

// train is the program of a training task.
func (u *trial) train(m *tasks.TrainingMetrics) error {
	if err := u.prepare(parts{&m.ModelInitialization, &m.ConfigLoading, &m.DataSetup, &m.ModelSetup, nil,
		&m.TrainerSetup}); err != nil {
		return err
	}
	s, counter := im2im.From(u.values), u.work.(im2im.Counter)
	p := counter.Progress()
	m.DatasetInfo = &tasks.DatasetInfo{NumTrainBatches: p.EpochBatches, BatchSize: s.Batch,
		AvailableTrainBatches: p.Available,
		LimitTrainBatches:     s.TrainLimit, LimitValBatches: s.ValLimit}
	first := &tasks.EpochBreakdown{}
	m.EpochBreakdown = first
	defer func() {
		p := counter.Progress()
		m.Samples = &tasks.Samples{Processed: p.Samples, Batches: p.Batches}
		m.SetThroughput()
		m.FinalMetrics = u.finals()
	}()
	return u.clock.Time(&m.FullTraining, func() error {
		done := false
		err := u.clock.Time(&first.FirstEpoch, func() error {
			for i := range p.EpochBatches {
				if i > 0 {
					if err := u.wait(); err != nil {
						return err
					}
				}
				var err error
				if done, err = u.step(); err != nil {
					return err
				}
				if i == 0 {
					load, forward := u.rec.Phases[im2im.PhaseLoad], u.rec.Phases[im2im.PhaseForward]
					first.DataLoadingFirstBatch, first.ModelForwardFirstBatch = recorded(load), recorded(forward)
					first.FirstBatch = recorded(load + u.rec.Phases[im2im.PhaseToDevice] + forward)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return u.finish(done)
	})
}

// recorded is a section that an iteration's record has timed.
func recorded(nanos int64) *tasks.Timer {
	const reason = "not read within an iteration"
	return &tasks.Timer{ElapsedSeconds: float64(nanos) / 1e9, MemoryReason: reason, HostReason: reason, Awaited: true}
}

// finals are a training's last values, by CytoDL's names.
func (u *trial) finals() tasks.FinalMetrics {
	all := tasks.FinalMetrics{}
	for i, info := range u.bench.schema.Series {
		name := map[string]string{"loss": "train/loss", "val_loss": "val/loss", "dice": "val/dice",
			"correlation": "val/correlation"}[info.Name]
		if name != "" && !math.IsNaN(u.newest[i]) {
			all[name] = u.newest[i]
		}
	}
	return all
}

// infer is the program of an inference task.
func (u *trial) infer(m *tasks.InferenceMetrics) error {
	if err := u.prepare(parts{&m.ModelInitialization, &m.ConfigLoading, &m.DataSetup, &m.ModelSetup,
		&m.CheckpointLoading, &m.TrainerSetup}); err != nil {
		return err
	}
	counter := u.work.(im2im.Counter)
	first := &tasks.BatchBreakdown{}
	m.BatchBreakdown = first
	defer func() {
		s, p := im2im.From(u.values), counter.Progress()
		m.InferenceInfo = &tasks.InferenceInfo{NumBatches: p.Batches, BatchSize: s.Batch, NumOutputs: p.Outputs,
			SamplesProcessed: p.Samples,
			AvailableBatches: p.Available, LimitPredictBatches: s.PredictLimit}
		m.SetThroughput()
	}()
	return u.clock.Time(&m.FullPrediction, func() error {
		done := false
		err := u.clock.Time(&first.FirstBatchProcessing, func() (err error) {
			done, err = u.step()
			return err
		})
		if err != nil {
			return err
		}
		phases := &u.rec.Phases
		first.FirstBatchLoading, first.FirstBatchToDevice = recorded(phases[im2im.PhaseLoad]),
			recorded(phases[im2im.PhaseToDevice])
		first.FirstBatchForward, first.FirstBatchPostprocess = recorded(phases[im2im.PhaseForward]),
			recorded(phases[im2im.PhasePostprocess])
		return u.finish(done)
	})
}

// externalPoll is the longest iteration of a program on a git branch: after it the run can be
// paused, stopped, or the task cancelled. The program itself continues.
const externalPoll = 250 * time.Millisecond

// external is the program of a task on a git branch, which runs in a process of its own.
func (u *trial) external() error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(u.ctx))
	defer cancel()
	var out branches.Outcome
	done := make(chan struct{})
	go func() {
		defer close(done)
		out = u.bench.repository.Run(ctx, u.task, u.round.Round, u.round.Position)
	}()
	var stopped error
	for ended := false; !ended && stopped == nil; {
		u.rec.Kind = Kind(u.index)
		began := time.Now()
		select {
		case <-done:
			ended = true
		case <-u.ctx.Done():
			ended = true
		case <-time.After(externalPoll):
		}
		u.rec.Phases[external(u.task.Kind)] = int64(time.Since(began))
		if !ended {
			stopped = u.wait()
		}
	}
	cancel()
	<-done // its worktree is removed
	u.round, u.git = out.Round, out.Git
	if stopped == nil && !out.Round.Success && out.Round.Error != nil {
		stopped = errors.New(*out.Round.Error)
	}
	return stopped
}
