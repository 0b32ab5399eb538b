package prism

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/picture"
	"prismtop/sim/workload"
)

// ErrDiverged ends a reconstruction whose loss is no longer a number. PRISM
// aborts the whole run then (spec/prism.md §5.3).
var ErrDiverged = fmt.Errorf("%w; a lower learning_rate may help", workload.ErrDiverged)

// Device is where a reconstruction is computed.
type Device struct {
	Backend nn.Backend

	// Host computes what is beside the plans. Its FFT plans are those that the backend
	// asks for as well.
	Host optics.Host
}

// Reconstruction is PRISM's progressive reconstruction (spec/prism.md §5), one
// iteration at a time. It is used by one goroutine.
//
// What takes long ends early with the error of its context once that is done. Then
// nothing is left to do but to look at the newest whole output and to close.
type Reconstruction struct {
	settings Settings
	owned    bool // the device is closed with it
	object   *picture.Object
	device   Device
	decoder  *Decoder
	state    nn.State
	system   *MeasurementSystem
	masks    *optics.MaskCache
	samples  [][]optics.Point
	newMasks []string // the plans' inputs for a sample's masks
	program  *program
	planned  profiles.Memory // of the newest plan, caches left out
	metrics  optics.Metrics

	initial   bool    // the initialisation is under way
	sample    int     // counted over all passes; −1 while initialising
	inSample  int     // iterations of the sample so far
	lr        float64 // Adam's step, as the scheduler left it
	plateau   plateau
	threshold float64 // of the initialisation, see initialThreshold
	stop      float64 // threshold of the samples where it is in force, else 0
	began     time.Time
	done      bool

	disc       []float32 // target of the initialisation
	current    []float32 // reconstruction at the start of the sample, [N, N]
	hasCurrent bool
	output     []float32 // newest output of the decoder, [N, N]
	hasOutput  bool
	whole      bool      // there is an output of a whole forward pass
	keep       bool      // outputs for the case that a pass is cut short
	passed     time.Time // when the newest pass began
	targetOld  []float32 // beside a plan, whose own are the newest where Map gives them
	targetNew  []float32
	changed    bool  // settings changed since the last iteration
	marked     *mark // to go back to; nil for none
}

// New prepares a reconstruction of an object. Errors name the setting.
func New(ctx context.Context, s Settings, object *picture.Object, device Device) (*Reconstruction, error) {
	decoder, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		return nil, err
	}
	samples, err := samplePattern(ctx, &s)
	if err != nil {
		return nil, err
	}
	masks := optics.NewMaskCache(s.Size, maskLimit, s.MaskCache, nil)
	system, err := newSystem(&s, object, device, masks)
	if err != nil {
		return nil, err
	}
	state, err := newState(ctx, decoder, device.Backend)
	if err != nil {
		return nil, err
	}
	plane := s.Size * s.Size
	both, err := touched(ctx, 2*plane)
	if err != nil {
		state.Close()
		return nil, err
	}
	r := &Reconstruction{
		settings: s, object: object, device: device, decoder: decoder, state: state,
		system: system, masks: masks, samples: samples,
		metrics: device.Host.Metrics(), sample: -1, lr: s.LearningRate, plateau: newPlateau(), began: time.Now(), stop: s.ThresholdInForce(),
		current: both[:plane:plane], output: both[plane:],
		targetOld: make([]float32, plane), targetNew: make([]float32, plane),
	}
	for k := range samples[0] {
		r.newMasks = append(r.newMasks, MaskNewInput(k, len(samples[0])))
	}
	r.switchCaches()
	if s.InitIterations == 0 || s.InitCycles == 0 {
		r.initial = false
	} else {
		r.initial = true
		err = r.prepareInitialisation(ctx)
	}
	if err == nil {
		err = r.warmUpMeasurements(ctx)
	}
	if err == nil {
		err = r.load(ctx)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// touched is memory that is there: the system gives it page by page at the first touch,
// which for a large field takes longer than what is done with it. The error is that of a
// context that ends before.
func touched(ctx context.Context, n int) ([]float32, error) {
	const part = 1 << 22
	x := make([]float32, n)
	for part := range slices.Chunk(x, part) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clear(part)
	}
	return x, nil
}

// newState draws the decoder's first weights and puts them on the device.
func newState(ctx context.Context, d *Decoder, backend nn.Backend) (nn.State, error) {
	variables, err := d.Model().InitialVariables(ctx)
	if err != nil {
		return nil, err
	}
	return backend.NewState(ctx, variables)
}

// Close frees the memory on the device.
func (r *Reconstruction) Close() {
	r.unload()
	r.state.Close()
	if r.owned {
		r.device.Backend.Close()
	}
}

// Iterate runs one iteration and fills in the record's measured fields. After
// Finished, or an error, there is nothing more to iterate. The only errors of a
// sound device are ErrDiverged and the context's.
func (r *Reconstruction) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if r.done {
		return workload.Outcome{Finished: true}, nil
	}
	loaded := r.program != nil
	if err := r.load(ctx); err != nil {
		return workload.Outcome{}, err
	}
	r.describe(rec)
	before := r.retimed()
	var out workload.Outcome
	var err error
	if r.initial {
		out, err = r.initialise(ctx, rec)
	} else {
		out, err = r.train(ctx, rec)
	}
	r.changed = false
	out.MemoryChanged = !loaded // the next plan's buffers are not known before it is there
	r.countCaches(rec)
	rec.Retimed = r.retimed() - before
	return out, err
}

// retimed is the time that went into computing again what the caches had.
func (r *Reconstruction) retimed() int64 { return r.system.Cache().Retimed() + r.masks.Retimed() }

// describe fills in where an iteration stands.
func (r *Reconstruction) describe(rec *profiles.Iteration) {
	rec.Unit, rec.InUnit = int32(r.sample), int32(r.inSample)
	if !r.initial && r.sample < 0 {
		rec.Unit = 0
	}
	rec.Kind = r.kind(int(rec.Unit))
	rec.Series[SeriesLearningRate], rec.Series[SeriesGradientScale] = r.lr, 0
	rec.Series[SeriesLossOld] = math.NaN()
	if r.program.fresh || r.changed {
		rec.Flags |= profiles.Warmup
	}
	r.program.fresh = false
}

// kind is what an iteration of a sample computes.
func (r *Reconstruction) kind(sample int) profiles.Kind {
	switch {
	case r.initial:
		return KindInitialisation
	case sample == 0:
		return KindFirstSample
	}
	return KindLaterSample
}

// load compiles and loads the plan that the coming iteration needs.
func (r *Reconstruction) load(ctx context.Context) error {
	kind := initialisationProgram
	if !r.initial {
		kind = progressiveProgram
		if r.system.Samples() == 0 {
			kind = firstSampleProgram
		}
	}
	if r.program != nil && r.program.kind == kind {
		return nil
	}
	r.unload()
	options, err := planOptions(&r.settings, len(r.samples[0]))
	if err != nil {
		return err
	}
	r.program, err = loadProgram(ctx, kind, r.decoder, options, r.device.Backend, r.state)
	if err != nil {
		return err
	}
	r.planned = r.program.memory(r.decoder.Model().Variables())
	return nil
}

func (r *Reconstruction) unload() {
	if r.program != nil {
		r.program.close()
		r.program = nil
	}
}

// update runs the backward pass and Adam at the present learning rate.
func (r *Reconstruction) update(ctx context.Context, rec *profiles.Iteration) error {
	r.program.writeScalar(nn.LearningRateInput, r.lr)
	if err := r.program.run(ctx, nn.SegmentUpdate, &rec.Phases); err != nil {
		return err
	}
	if r.program.scaled {
		rec.Series[SeriesGradientScale] = r.program.scalar(r.program.scale)
		if r.program.scalar(r.program.overflow) != 0 {
			rec.Flags |= profiles.SkippedStep
		}
	}
	return nil
}

// evaluate runs the forward pass and the losses, and reads them.
func (r *Reconstruction) evaluate(ctx context.Context, rec *profiles.Iteration) error {
	if err := r.pass(ctx, &rec.Phases); err != nil {
		return err
	}
	if err := r.program.run(ctx, nn.SegmentEvaluate, &rec.Phases); err != nil {
		return err
	}
	start := time.Now()
	rec.Series[SeriesLossNew] = r.program.scalar(r.program.lossNew)
	if r.program.hasLossOld {
		rec.Series[SeriesLossOld] = r.program.scalar(r.program.lossOld)
	}
	rec.Phases[PhaseLoss] += int64(time.Since(start))
	if !finite(rec.Series[SeriesLossNew]) || (r.program.hasLossOld && !finite(rec.Series[SeriesLossOld])) {
		rec.Flags |= profiles.NonFinite
		r.done = true
		return ErrDiverged
	}
	return nil
}

// reconstruct runs the forward pass with the newest weights and keeps the result
// as the reconstruction that the next sample's old target is measured from.
func (r *Reconstruction) reconstruct(ctx context.Context, stepped bool) error {
	if stepped {
		if err := r.pass(ctx, nil); err != nil {
			return err
		}
	}
	copy(r.current, r.Output())
	r.hasCurrent = true
	return nil
}

// quickPass is how long an iteration lasts that is not cut short: who stops a run lets
// it end.
const quickPass = 50 * time.Millisecond

// KeepOutput makes sure that an output stays when a forward pass is cut short: before
// a pass that may take long it copies that of the one before.
func (r *Reconstruction) KeepOutput() { r.keep = true }

// pass runs the forward pass and adds its times to phases, if there are any.
func (r *Reconstruction) pass(ctx context.Context, phases *[profiles.MaxPhases]int64) error {
	now := time.Now()
	if r.keep && now.Sub(r.passed) > quickPass {
		r.Output()
	}
	r.passed = now
	if err := r.program.run(ctx, nn.SegmentForward, phases); err != nil {
		r.spoil()
		return err
	}
	r.hasOutput, r.whole = false, true
	return nil
}

// spoil says that the device's output is lost. What is left is the copy of an earlier
// one, or else what the present sample began with.
func (r *Reconstruction) spoil() {
	if r.hasOutput {
		return
	}
	copy(r.output, r.current)
	r.hasOutput, r.whole = true, r.hasCurrent
}

// Reconstructed tells whether Output is that of a whole forward pass.
func (r *Reconstruction) Reconstructed() bool { return r.whole }

// Output is the decoder's newest output, [N, N], row by row; the slice is reused.
func (r *Reconstruction) Output() []float32 {
	if !r.hasOutput && r.program != nil {
		r.program.exe.Read(r.program.reconstruction, r.output)
		r.hasOutput = true
	}
	return r.output
}

// Apply takes over settings that changed. Only live settings may differ from
// those before.
func (r *Reconstruction) Apply(ctx context.Context, v settings.Values) error {
	s, old := From(v), r.settings
	options, err := planOptions(&s, len(r.samples[0]))
	if err != nil {
		return err
	}
	before, err := planOptions(&old, len(r.samples[0]))
	if err != nil {
		return err
	}
	if s.Threads != old.Threads {
		r.device.Backend.SetThreads(threads(s.Threads))
	}
	r.settings, r.stop = s, s.ThresholdInForce()
	r.changed = true
	if s.LearningRate != old.LearningRate {
		r.lr, r.plateau = s.LearningRate, newPlateau()
	}
	if !r.initial && s.LossName() != old.LossName() { // the best so far is of another scale
		r.plateau = newPlateau()
	}
	if r.initial {
		r.threshold = r.initialThreshold()
	}
	r.switchCaches()
	r.system.SetTransforms(transforms(&s))
	if s.Threads != old.Threads || transforms(&s) != transforms(&old) {
		r.system.Cache().Reprice()
		r.masks.Reprice()
	}
	if reflect.DeepEqual(options, before) { // one plan serves both
		return nil
	}
	r.Output() // the newest output and the targets outlive the plan that has them
	if !r.initial && r.program != nil && r.program.fed {
		r.program.keep(TargetOldInput, r.targetOld)
		r.program.keep(TargetNewInput, r.targetNew)
	}
	r.unload()
	return r.load(ctx)
}

func (r *Reconstruction) switchCaches() {
	s := &r.settings
	r.system.Cache().SetEnabled(s.MeasurementCache)
	r.system.Cache().SetLimit(int64(s.MeasurementCacheMB) << 20)
	r.device.Host.Plans().SetEnabled(s.FFTCache)
	r.masks.SetEnabled(s.MaskCache)
}

func (r *Reconstruction) countCaches(rec *profiles.Iteration) {
	rec.Caches[CacheMeasurement] = r.system.Cache().Counters()
	rec.Caches[CacheFFTPlans] = r.device.Host.Plans().Counters()
	rec.Caches[CacheMasks] = r.masks.Counters()
}

// Memory is what the run holds, by category; scratch is also the planes and the work
// space beside the plan. Between two plans, when the next one's buffers are not known
// yet, it is that of the plan before.
func (r *Reconstruction) Memory() profiles.Memory {
	if r.program != nil {
		r.planned = r.program.memory(r.decoder.Model().Variables())
	}
	m := r.planned
	m.Parts[MemoryScratch] += r.system.Bytes() + 4*int64(len(r.current)+len(r.output)+len(r.targetOld)+len(r.targetNew)+len(r.disc))
	for _, c := range []profiles.CacheCounters{
		r.system.Cache().Counters(), r.device.Host.Plans().Counters(), r.masks.Counters(),
	} {
		m.Caches += c.Bytes
	}
	return m
}

// Info describes the run for those who watch it.
func (r *Reconstruction) Info() profiles.RunInfo {
	s := &r.settings
	info := profiles.RunInfo{
		Schema: Schema(), Object: r.object.Name, Parameters: r.decoder.Parameters(), Seed: s.Seed,
		Units: len(r.samples), Passes: s.Passes, Notes: append([]string(nil), r.object.Notes...),
		Sampling: profiles.Sampling{Size: s.Size, ObjectSize: s.ObjectSize, PerSample: len(r.samples[0]), Radius: s.Radius},
	}
	if s.FusedOptimizer && s.AMP == "fp16" {
		info.Notes = append(info.Notes, "the optimiser is not fused under fp16, which checks all gradients first")
	}
	for _, sample := range r.samples {
		for _, c := range sample {
			info.Centres = append(info.Centres, [2]float64{float64(c.Y), float64(c.X)})
		}
	}
	return info
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
