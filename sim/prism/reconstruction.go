package prism

import (
	"context"
	"errors"
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

// ErrDiverged ends a reconstruction whose loss is no longer finite. PRISM aborts
// the whole run in this case (spec/prism.md §5.3).
var ErrDiverged = fmt.Errorf("%w; a lower learning_rate may help", workload.ErrDiverged)

// Reconstruction is PRISM's progressive reconstruction (spec/prism.md §5), one
// iteration at a time. It is not safe for concurrent use.
//
// Long operations end early with the error of their context once that is done.
// After that, only the newest complete output can be read and the reconstruction
// closed.
type Reconstruction struct {
	settings Settings
	owned    bool // close the device with the reconstruction
	object   *picture.Object
	device   Device
	decoder  *Decoder
	state    nn.State
	system   *MeasurementSystem
	masks    *optics.MaskCache
	samples  [][]optics.Point
	newMasks []string // names of the plans' inputs for a sample's masks
	program  *program
	planned  profiles.Memory // of the newest plan, without caches
	metrics  optics.Metrics

	initial   bool    // the initialisation is under way
	sample    int     // counted over all passes; −1 during the initialisation
	inSample  int     // iterations of the sample so far
	lr        float64 // Adam's step size, as set by the scheduler
	plateau   plateau
	threshold float64 // of the initialisation, see initialThreshold
	stop      float64 // threshold of the samples if it is in force, else 0
	began     time.Time
	done      bool
	failed    bool // an iteration failed or was cut short: no weights to go on from

	disc       []float32 // target of the initialisation
	current    []float32 // reconstruction at the start of the sample, [N, N]
	hasCurrent bool
	output     []float32 // newest output of the decoder, [N, N]
	hasOutput  bool
	held       bool      // output has that of the pass before the newest
	whole      bool      // an output of a complete forward pass exists
	keep       bool      // outputs kept in case a pass is cut short
	passed     time.Time // start of the newest pass
	targetOld  []float32 // kept outside a plan; if Map is supported, the plan's own are the newest
	targetNew  []float32
	gradients  []float32 // work space of GradientNorm
	changed    bool      // settings changed since the last iteration
	marked     *mark     // to go back to; nil for none

	pictureHash string // of the object, for checkpoints; empty until the first
	kept        kept   // to continue from if the device fails
	unreported  error  // of an operation of the device that could not return it
	skipped     int    // updates that the gradient scaler skipped and no record shows yet
}

// New prepares a reconstruction of an object. Errors name the setting.
func New(ctx context.Context, s Settings, object *picture.Object, device Device) (*Reconstruction, error) {
	if err := admits(device.Backend, &s); err != nil {
		return nil, err
	}
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

// touched returns memory whose pages are already mapped: the system maps pages at the
// first touch, which for a large field takes longer than the computation. The only error
// is that of a context that ends first.
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

// newState draws the decoder's initial weights and copies them to the device.
func newState(ctx context.Context, d *Decoder, backend nn.Backend) (nn.State, error) {
	variables, err := d.Model().InitialVariables(ctx)
	if err != nil {
		return nil, err
	}
	state, err := backend.NewState(ctx, variables)
	if err != nil {
		return nil, &deviceError{err}
	}
	return state, nil
}

// Close frees the memory on the device.
func (r *Reconstruction) Close() {
	r.unload()
	r.state.Close()
	if r.owned {
		r.device.Close()
	}
}

// Iterate runs one iteration and fills in the record's measured fields. It must
// not be called after Finished or an error. On a working device the only errors
// are ErrDiverged and the context's.
func (r *Reconstruction) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if r.done {
		return workload.Outcome{Finished: true}, nil
	}
	loaded := r.program != nil
	if err := r.load(ctx); err != nil {
		return workload.Outcome{}, err
	}
	if err := r.keepState(ctx, rec); err != nil {
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
	r.recordSkipped(rec)
	r.changed, r.failed = false, err != nil
	out.MemoryChanged = !loaded // the next plan's buffers are not known before it is compiled
	r.countCaches(rec)
	rec.Retimed = r.retimed() - before
	if r.marked == nil && err == nil {
		r.kept.since++
	}
	return out, err
}

// retimed returns the time spent recomputing cached results.
func (r *Reconstruction) retimed() int64 { return r.system.Cache().Retimed() + r.masks.Retimed() }

// describe fills in the position of an iteration in the run.
func (r *Reconstruction) describe(rec *profiles.Iteration) {
	rec.Unit, rec.InUnit = int32(r.sample), int32(r.inSample)
	if !r.initial && r.sample < 0 {
		rec.Unit = 0
	}
	rec.Kind = r.kind(int(rec.Unit))
	rec.Series[SeriesLearningRate], rec.Series[SeriesGradientScale] = r.lr, 0
	rec.Series[SeriesLossOld] = math.NaN()
	detailed := r.program.begin(r.settings.LayerProfile && rec.Flags&profiles.Unwatched == 0)
	if r.program.fresh || r.changed || detailed {
		rec.Flags |= profiles.Warmup
	}
	r.program.fresh = false
}

// kind returns the kind of an iteration of a sample.
func (r *Reconstruction) kind(sample int) profiles.Kind {
	switch {
	case r.initial:
		return KindInitialisation
	case sample == 0:
		return KindFirstSample
	}
	return KindLaterSample
}

// load compiles and loads the plan for the next iteration.
func (r *Reconstruction) load(ctx context.Context) error {
	kind := r.nextProgram()
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

// nextProgram returns the kind of plan of the next iteration.
func (r *Reconstruction) nextProgram() programKind {
	switch {
	case r.initial:
		return initialisationProgram
	case r.system.Samples() == 0:
		return firstSampleProgram
	}
	return progressiveProgram
}

func (r *Reconstruction) unload() {
	if r.program != nil {
		r.program.close()
		r.program = nil
	}
}

// update runs the backward pass and Adam at the current learning rate. Where Run does not wait, the gradient scale is
// that before the update, and a skipped step is in the record of a later iteration.
func (r *Reconstruction) update(ctx context.Context, rec *profiles.Iteration) error {
	p := r.program
	p.writeScalar(nn.LearningRateInput, r.lr)
	if p.detailer != nil && p.scaled {
		r.settleScaler()
		rec.Series[SeriesGradientScale] = p.scalar(p.scale)
		if err := r.failure(); err != nil {
			return err
		}
	}
	if err := p.run(ctx, nn.SegmentUpdate); err != nil {
		return err
	}
	if p.unread = p.scaled; p.scaled && p.detailer == nil {
		r.settleScaler()
		rec.Series[SeriesGradientScale] = p.scalar(p.scale)
	}
	return p.account(ctx, &rec.Phases)
}

// settleScaler counts the newest update if its step was skipped and it was not counted yet.
func (r *Reconstruction) settleScaler() {
	p := r.program
	if p == nil || !p.unread {
		return
	}
	p.unread = false
	overflow := p.scalar(p.overflow)
	if err := r.failure(); err != nil {
		r.report(err)
	} else if overflow != 0 {
		r.skipped++
	}
}

// recordSkipped shows a skipped step in a record, which has room for one. Where the last two steps of a run are skipped on
// a GPU, one remains.
func (r *Reconstruction) recordSkipped(rec *profiles.Iteration) {
	if r.skipped > 0 {
		r.skipped--
		rec.Flags |= profiles.SkippedStep
	}
}

// GradientNorm returns the Euclidean norm of all gradients of the newest update, without the factor of the gradient
// scaler. A fused optimiser stores no gradients of convolutions. If the device fails, the norm is unknown and the next
// operation returns the error.
func (r *Reconstruction) GradientNorm() (norm float64, known bool) {
	if r.program == nil || r.settings.FusedOptimizer && !r.program.scaled {
		return 0, false
	}
	sum := 0.0
	for i, v := range r.decoder.Model().Variables() {
		if v.Category != nn.Gradients {
			continue
		}
		n := v.Shape.Elements()
		if len(r.gradients) < n {
			r.gradients = make([]float32, n)
		}
		r.state.Read(i, r.gradients[:n])
		for _, x := range r.gradients[:n] {
			sum += float64(x) * float64(x)
		}
	}
	if err := r.failure(); err != nil {
		r.report(err)
		return 0, false
	}
	return math.Sqrt(sum), true
}

// evaluate runs the forward pass and the losses, and reads them.
func (r *Reconstruction) evaluate(ctx context.Context, rec *profiles.Iteration) error {
	if err := r.pass(ctx); err != nil {
		return err
	}
	if err := r.program.run(ctx, nn.SegmentEvaluate); err != nil {
		return err
	}
	start := time.Now()
	if r.program.detailer != nil { // the losses are read without ctx
		if err := r.program.detailer.Settle(ctx); err != nil {
			r.spoil()
			return err
		}
	}
	rec.Series[SeriesLossNew] = r.program.scalar(r.program.lossNew)
	if r.program.hasLossOld {
		rec.Series[SeriesLossOld] = r.program.scalar(r.program.lossOld)
	}
	if err := r.failure(); err != nil {
		return err // the losses were not read
	}
	if r.program.detailer == nil { // else it is the time of the steps, which the host waits for
		rec.Phases[PhaseLoss] += int64(time.Since(start))
	}
	if !finite(rec.Series[SeriesLossNew]) || (r.program.hasLossOld && !finite(rec.Series[SeriesLossOld])) {
		rec.Flags |= profiles.NonFinite
		r.done = true
		if err := r.program.account(ctx, &rec.Phases); err != nil {
			return err
		}
		return ErrDiverged
	}
	return nil
}

// reconstruct runs the forward pass with the newest weights and keeps the result
// as the reconstruction from which the next sample's old target is measured.
func (r *Reconstruction) reconstruct(ctx context.Context, stepped bool) error {
	if stepped {
		if err := r.pass(ctx); err != nil {
			return err
		}
	}
	output, err := r.newest()
	if err != nil {
		return err
	}
	copy(r.current, output)
	r.hasCurrent = true
	r.settleScaler() // the plan may be unloaded
	return r.failure()
}

// quickPass is the duration up to which an iteration is not cut short: stopping a run
// lets it finish.
const quickPass = 50 * time.Millisecond

// KeepOutput preserves an output in case a forward pass is cut short: before a pass
// that may take long, the previous output is copied.
func (r *Reconstruction) KeepOutput() { r.keep = true }

// pass runs the forward pass.
func (r *Reconstruction) pass(ctx context.Context) error {
	now := time.Now()
	if r.keep && now.Sub(r.passed) > quickPass {
		r.Output()
	}
	r.passed = now
	if err := r.program.run(ctx, nn.SegmentForward); err != nil {
		r.spoil()
		return err
	}
	r.held, r.hasOutput, r.whole = r.hasOutput, false, true
	return nil
}

// spoil marks the device's output as lost. The copy of an earlier one remains, or
// else the reconstruction at the start of the current sample.
func (r *Reconstruction) spoil() {
	if r.hasOutput = r.hasOutput || r.held; r.hasOutput {
		return
	}
	copy(r.output, r.current)
	r.hasOutput, r.whole = true, r.hasCurrent
}

// Reconstructed reports whether Output is that of a complete forward pass.
func (r *Reconstruction) Reconstructed() bool { return r.whole }

// Output returns the decoder's newest output, [N, N], row by row; the slice is
// reused. If the device fails it is an older one, and the next operation returns the error.
func (r *Reconstruction) Output() []float32 {
	if _, err := r.newest(); err != nil {
		r.report(err)
	}
	return r.output
}

// newest is Output with the error of a device that fails.
func (r *Reconstruction) newest() ([]float32, error) {
	if !r.hasOutput && r.program != nil {
		r.program.exe.Read(r.program.reconstruction, r.output)
		if err := r.failure(); err != nil {
			return nil, err
		}
		r.hasOutput = true
	}
	return r.output, nil
}

// outlive copies from the plan what outlives it: the newest output and the targets.
func (r *Reconstruction) outlive() error {
	r.keepTargets()
	_, err := r.newest()
	return err
}

// Apply applies changed settings. Only live settings may differ from the previous
// ones. After a workload.RefusedError the reconstruction goes on under the previous ones.
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
	moved, err := r.move(ctx, &s, options)
	if err != nil {
		return err
	}
	rate, best := r.lr, r.plateau
	r.adopt(&s)
	if moved || reflect.DeepEqual(options, before) { // one plan serves both
		return nil
	}
	if err := r.outlive(); err != nil {
		return err
	}
	r.settleScaler()
	r.unload()
	if err := r.load(ctx); err != nil {
		if ctx.Err() != nil || nn.Lost(err) {
			return err
		}
		r.adopt(&old)
		r.lr, r.plateau = rate, best
		if again := r.load(ctx); again != nil {
			return errors.Join(err, again)
		}
		return &workload.RefusedError{Err: advised(err)}
	}
	return nil
}

// adopt changes what depends on settings and is no plan.
func (r *Reconstruction) adopt(s *Settings) {
	old := r.settings
	if s.Threads != old.Threads {
		r.device.setThreads(threads(s.Threads))
	}
	r.settings, r.stop = *s, s.ThresholdInForce()
	r.changed = true
	if s.LearningRate != old.LearningRate {
		r.lr, r.plateau = s.LearningRate, newPlateau()
	}
	if !r.initial && s.LossName() != old.LossName() { // the best loss so far is on another scale
		r.plateau = newPlateau()
	}
	if r.initial {
		r.threshold = r.initialThreshold()
	}
	r.switchCaches()
	r.system.SetTransforms(transforms(s))
	if s.Threads != old.Threads || transforms(s) != transforms(&old) {
		r.system.Cache().Reprice()
		r.masks.Reprice()
	}
}

func (r *Reconstruction) switchCaches() {
	s := &r.settings
	r.system.Cache().SetEnabled(s.MeasurementCache)
	r.system.Cache().SetLimit(int64(s.MeasurementCacheMB) << 20)
	r.device.Host.Plans().SetEnabled(s.FFTCache)
	r.masks.SetEnabled(s.MaskCache)
}

// ClearCache drops the entries of a cache. PRISM's benchmark clears that of measurements after each of them. The next
// iteration counts as one after a change.
func (r *Reconstruction) ClearCache(id profiles.CacheID) {
	switch id {
	case CacheMeasurement:
		r.system.Cache().Clear()
	case CacheFFTPlans:
		r.device.Host.Plans().Clear()
	case CacheMasks:
		r.masks.Clear()
	}
	r.changed = true
}

func (r *Reconstruction) countCaches(rec *profiles.Iteration) {
	rec.Caches[CacheMeasurement] = r.system.Cache().Counters()
	rec.Caches[CacheFFTPlans] = r.device.Host.Plans().Counters()
	rec.Caches[CacheMasks] = r.masks.Counters()
}

// Memory returns the memory of the run by category; scratch includes the planes and
// the work space outside the plan. Between two plans, while the next one's buffers
// are not known yet, it returns that of the previous plan.
func (r *Reconstruction) Memory() profiles.Memory {
	if r.program != nil {
		r.planned = r.program.memory(r.decoder.Model().Variables())
	}
	m := r.planned
	m.Device = r.device.memory(&r.planned)
	m.Parts[MemoryScratch] += r.kept.bytes()
	m.Parts[MemoryScratch] += r.system.Bytes() + 4*int64(len(r.current)+len(r.output)+len(r.targetOld)+len(r.targetNew)+len(r.disc))
	for _, c := range []profiles.CacheCounters{
		r.system.Cache().Counters(), r.device.Host.Plans().Counters(), r.masks.Counters(),
	} {
		m.Caches += c.Bytes
	}
	return m
}

// Info describes the run for its observers.
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
	info.Notes, info.GPUReason = append(info.Notes, r.Remarks()...), r.device.Note
	if d := r.Device(); d != nil {
		info.Cautions = Cautions(d.Device(), d.Kernels())
	}
	for _, sample := range r.samples {
		for _, c := range sample {
			info.Centres = append(info.Centres, [2]float64{float64(c.Y), float64(c.X)})
		}
	}
	return info
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
