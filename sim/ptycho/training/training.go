package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/workload"
)

// errDiverged ends a training whose loss is no longer finite.
var errDiverged = fmt.Errorf("%w; a lower learning_rate may help", workload.ErrDiverged)

// Device is the device on which a network is trained.
type Device struct {
	learning.Device

	// Metrics compares amplitudes with the truth.
	Metrics optics.Metrics
}

// training is a network being trained, a minibatch an iteration.
type training struct {
	settings Settings
	leave    func(ptycho.Config) (string, error) // where complete trainings leave their weights; nil for nowhere
	device   Device
	network  *ptycho.Network
	state    nn.State
	groups   *groups
	truth    *ptycho.Truth
	program  *program // training
	objects  *program // inference, for the test groups

	epoch, inEpoch int
	order          []int   // of the epoch's training groups
	batch          []group // the newest minibatch
	rate           [1]float32
	lr             float64
	plateau        plateau
	began          time.Time // the epoch
	done           bool
	changed        bool // settings changed since the last iteration

	kept   learning.Kept[position]
	result *result // newest evaluation; nil for none
	keeper learning.Keeper
}

// start prepares a training.
func start(ctx context.Context, s Settings, from *scan.Scan, d Device) (*training, error) {
	network, err := ptycho.New(s.network())
	if err != nil {
		return nil, err
	}
	g, err := divide(ctx, &s, from)
	if err != nil {
		return nil, err
	}
	truth, err := ptycho.NewTruth(from.Object, s.Size, g.centres())
	if err != nil {
		return nil, &settings.KeyError{Key: "positions", Err: fmt.Errorf("positions = %d: %w", s.Positions, err)}
	}
	variables, err := network.Model().InitialVariables(ctx)
	if err != nil {
		return nil, err
	}
	state, err := d.Backend.NewState(ctx, variables)
	if err != nil {
		return nil, err
	}
	network.SetScale(state, ptycho.IntensityScale(s.Photons, s.Size))
	t := &training{
		settings: s, device: d, network: network, state: state, groups: g, truth: truth,
		batch: make([]group, s.Batch), lr: s.LearningRate, plateau: newPlateau(), began: time.Now(),
	}
	if err := t.load(ctx); err != nil {
		t.unload()
		t.state.Close()
		return nil, err
	}
	return t, nil
}

// load compiles and loads both plans.
func (t *training) load(ctx context.Context) (err error) {
	t.unload()
	t.program, t.objects, err = t.programs(ctx, t.settings.plan(), t.device.Backend, t.state)
	return err
}

func (t *training) unload() {
	t.program.close()
	t.objects.close()
	t.program, t.objects = nil, nil
}

// Close frees the memory and the device.
func (t *training) Close() {
	t.unload()
	t.state.Close()
	t.device.Close()
}

// Device returns the device of the training.
func (t *training) Device() workload.Device { return t.device.Backend }

// Info describes the run.
func (t *training) Info() profiles.RunInfo {
	s := &t.settings
	schema := Schema()
	if t.truth.Unknown {
		for _, id := range []int{SeriesPSNR, SeriesSSIM, SeriesRMSE, SeriesPhaseError, SeriesObjectError} {
			schema.Series[id].Absent = noTruth
		}
	}
	info := profiles.RunInfo{
		Schema: schema, Object: s.object(), Parameters: t.network.Parameters(), Seed: s.Seed, Units: s.Epochs,
		GPUReason: t.device.Note, Cautions: ptycho.Cautions(t.device.Backend.Device(), t.device.Backend.Kernels()),
		Notes: append(slices.Clone(t.groups.scan.Notes),
			fmt.Sprintf("%d groups to learn from and %d for testing, each of %s of %d×%[4]d pixels",
				len(t.groups.train), len(t.groups.test), unit.Plural(s.network().Channels(), "pattern", "patterns"),
				s.Size)),
	}
	info.Notes = append(info.Notes, t.Remarks()...)
	return info
}

// Iterate learns from one minibatch.
func (t *training) Iterate(ctx context.Context, rec *profiles.Iteration) (out workload.Outcome, err error) {
	if t.done {
		return workload.Outcome{Finished: true}, nil
	}
	rec.Kind, rec.Unit, rec.InUnit = KindMinibatch, int32(t.epoch), int32(t.inEpoch)
	rec.Series = profiles.NoValues()
	rec.Series[SeriesLearningRate] = t.lr
	if t.program.fresh || t.changed {
		rec.Flags |= profiles.Warmup
	}
	t.program.fresh, t.changed = false, false
	if err := t.kept.Keep(ctx, &t.device.Device, t.variables(), t.position(), rec); err != nil {
		return out, err
	}
	if t.program.Begin(t.settings.LayerProfile) {
		rec.Flags |= profiles.Warmup
	}
	if t.result == nil { // the picture that the first weights give
		if err := t.timed(ctx, rec, t.evaluate); err != nil {
			return out, err
		}
	}
	if err := t.learn(ctx, rec); err != nil {
		return out, err
	}
	if t.inEpoch++; t.inEpoch == t.settings.batches() {
		if err := t.endEpoch(ctx, rec, &out); err != nil {
			return out, err
		}
	}
	t.kept.Since++
	return out, nil
}

// timed counts the time of f to the metrics.
func (t *training) timed(ctx context.Context, rec *profiles.Iteration, f func(context.Context) error) error {
	began := time.Now()
	err := f(ctx)
	rec.Phases[PhaseMetrics] += int64(time.Since(began))
	return err
}

// learn runs the plan on the next minibatch.
func (t *training) learn(ctx context.Context, rec *profiles.Iteration) error {
	began := time.Now()
	if t.order == nil {
		t.order = t.groups.order(t.settings.Seed, t.epoch)
	}
	for i := range t.batch {
		t.batch[i] = t.groups.train[t.order[t.inEpoch*len(t.batch)+i]]
	}
	least := t.program.feed(t.groups, t.batch)
	t.rate[0] = float32(t.lr)
	t.program.write(nn.LearningRateInput, t.rate[:])
	rec.Phases[PhaseLoad] = int64(time.Since(began))

	for _, segment := range []nn.Segment{nn.SegmentForward, nn.SegmentEvaluate} {
		if err := t.program.Run(ctx, segment, &rec.Phases); err != nil {
			return err
		}
	}
	loss := t.program.Scalar(ptycho.LossOutput)
	if err := t.device.Failure(); err != nil {
		return err
	}
	rec.Series[SeriesPoisson], rec.Series[SeriesLoss] = loss, loss-least
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		rec.Flags |= profiles.NonFinite
		t.done = true
		return errDiverged
	}
	t.keeper.Keep(t.variables(), t.network)
	return t.keeper.Updated(t.program.Run(ctx, nn.SegmentUpdate, &rec.Phases))
}

// endEpoch measures the result of an epoch and decides how to go on.
func (t *training) endEpoch(ctx context.Context, rec *profiles.Iteration, out *workload.Outcome) error {
	var loss float64
	err := t.timed(ctx, rec, func(ctx context.Context) (err error) {
		if err = t.evaluate(ctx); err == nil {
			loss, err = t.testLoss(ctx)
		}
		return err
	})
	if err != nil {
		return err
	}
	out.Measured = t.result.values
	out.Measured[SeriesTestLoss] = loss
	rec.Series[SeriesTestLoss] = loss
	t.epoch++
	t.lr = t.plateau.step(loss, t.lr, t.settings.Scheduler)
	t.done = t.epoch == t.settings.Epochs || t.settings.Patience > 0 && t.plateau.stale >= t.settings.Patience
	out.UnitEnded, out.Finished = true, t.done
	out.Result = profiles.UnitResult{Unit: rec.Unit, Iterations: int32(t.inEpoch), Values: rec.Series,
		Elapsed: time.Since(t.began)}
	t.inEpoch, t.order, t.began = 0, nil, time.Now()
	return nil
}

// Apply applies changed settings. Only live ones may differ from the previous ones.
func (t *training) Apply(ctx context.Context, v settings.Values) error {
	s, old := From(v), t.settings
	moved, err := t.move(ctx, &s)
	if err != nil {
		return err
	}
	if s.Threads != old.Threads {
		t.device.SetThreads(threads(s.Threads))
	}
	rate := t.lr
	if s.LearningRate != old.LearningRate { // half is half of the present one, which the plateau may have lowered
		t.lr, t.plateau.bad = t.lr*(s.LearningRate/old.LearningRate), 0
	}
	t.settings, t.changed = s, true
	if moved || s.plan() == old.plan() { // one plan serves both
		return nil
	}
	if err := t.load(ctx); err != nil {
		if ctx.Err() != nil || nn.Lost(err) || !t.device.Beside() {
			return err
		}
		t.settings, t.lr = old, rate
		if again := t.load(ctx); again != nil {
			return errors.Join(err, again)
		}
		return &workload.RefusedError{Err: learning.Advised(err)}
	}
	return nil
}

// threads returns the effective number of threads: 0 means one per processor.
func threads(setting int) int {
	if setting == 0 {
		return machine.Processors()
	}
	return setting
}

// Steps returns the steps of the training plan and their times in the newest iteration.
func (t *training) Steps() ([]profiles.Layer, []int64) {
	return t.program.Steps()
}

// Memory returns the memory of the run by category; the inference plan of the test groups
// counts as activations.
func (t *training) Memory() profiles.Memory {
	variables, own, beside := t.network.Model().Variables(), t.program.Plan.ArenaUsage(), t.objects.Plan.ArenaUsage()
	u := t.program.Plan.VariableUsage(variables)
	inputs, scratch := own[nn.Inputs]+beside[nn.Inputs], own[nn.Scratch]+beside[nn.Scratch]
	m := profiles.Memory{Parts: [profiles.MaxMemory]int64{
		MemoryWeights: u[nn.Weights], MemoryGradients: u[nn.Gradients], MemoryMoments: u[nn.Moments],
		MemoryActivations: t.program.Plan.ArenaBytes + t.objects.Plan.ArenaBytes - inputs - scratch,
		MemoryInputs:      inputs,
		MemoryScratch:     u[nn.Scratch] + scratch + t.program.Exe.ScratchBytes() + t.objects.Exe.ScratchBytes(),
		MemoryScan:        t.groups.bytes(),
	}}
	m.Device = t.device.Memory(profiles.DeviceMemory{
		Weights: u[nn.Weights], Gradients: u[nn.Gradients], Moments: u[nn.Moments],
		Activations: m.Parts[MemoryActivations], Inputs: inputs, Workspace: m.Parts[MemoryScratch],
	})
	return m
}
