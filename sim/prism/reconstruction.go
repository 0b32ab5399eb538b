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
	*trainer          // the decoder, on a device
	estimate          // its output
	progress          // where the algorithm is
	settings Settings // in force

	truth          truth
	samples        sampling
	system         *MeasurementSystem
	caches         cacheSet
	initialisation initialisation
	targets        targets

	newMasks []string        // names of the plans' inputs for a sample's masks
	planned  profiles.Memory // of the newest plan, without caches
	stop     float64         // threshold of the samples if it is in force, else 0
	done     bool
	failed   bool            // an iteration failed or was cut short: no weights to go on from
	changed  bool            // settings changed since the last iteration
	marked   *mark           // to go back to; nil for none
	kept     kept            // to continue from if the device fails
	saved    profiles.Values // the quality of what was saved
}

// newReconstruction prepares a reconstruction of an object or of measurements. Errors name the setting.
func newReconstruction(ctx context.Context, s Settings, in Inputs, device Device) (*Reconstruction, error) {
	if err := admits(device.Backend, &s); err != nil {
		return nil, err
	}
	decoder, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		return nil, err
	}
	var samples sampling
	if in.Measured != nil {
		samples = in.Measured.samples()
	} else if samples, err = samplePattern(ctx, &s); err != nil {
		return nil, err
	}
	masks := optics.NewMaskCache(s.Size, maskLimit, s.MaskCache, nil)
	system, err := newSystem(&s, in, device, masks)
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
	t := &trainer{device: device, decoder: decoder, state: state}
	r := &Reconstruction{
		trainer: t, estimate: estimate{trainer: t, current: both[:plane:plane], output: both[plane:]},
		progress: progress{sample: -1, lr: s.LearningRate, plateau: newPlateau(), began: time.Now()}, settings: s,
		truth: truth{object: in.Object, measured: in.Measured, metrics: device.Host.Metrics()}, samples: samples,
		system:  system,
		caches:  cacheSet{system.Cache(), device.Host.Plans(), masks},
		targets: targets{make([]float32, plane), make([]float32, plane)},
		stop:    s.ThresholdInForce(),
	}
	for k := range samples[0] {
		r.newMasks = append(r.newMasks, MaskNewInput(k, len(samples[0])))
	}
	r.caches.set(&r.settings)
	if s.InitIterations == 0 || s.InitCycles == 0 {
		r.initial = false
	} else {
		r.initial = true
		err = r.initialisation.prepare(ctx, &r.settings, r.decoder)
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
	before := r.caches.retimed()
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
	r.caches.count(rec)
	rec.Retimed = r.caches.retimed() - before
	if r.marked == nil && err == nil {
		r.kept.since++
	}
	return out, err
}

// describe fills in the position of an iteration in the run.
func (r *Reconstruction) describe(rec *profiles.Iteration) {
	rec.Unit, rec.InUnit = int32(r.sample), int32(r.inSample)
	if !r.initial && r.sample < 0 {
		rec.Unit = 0
	}
	rec.Kind = r.kind(int(rec.Unit))
	rec.Series[SeriesLearningRate] = r.lr
	rec.Series[SeriesLossOld], rec.Series[SeriesGradientScale] = math.NaN(), math.NaN()
	detailed := r.program.begin(r.settings.LayerProfile && rec.Flags&profiles.Unwatched == 0)
	if r.program.fresh || r.changed || detailed {
		rec.Flags |= profiles.Warmup
	}
	r.program.fresh = false
}

// nextProgram returns the kind of plan of the next iteration.
func (r *Reconstruction) nextProgram() programKind { return r.programWith(r.system.Samples()) }

// load compiles and loads the plan for the next iteration.
func (r *Reconstruction) load(ctx context.Context) error {
	kind := r.nextProgram()
	if r.program != nil && r.program.kind == kind {
		return nil
	}
	options, err := planOptions(&r.settings, len(r.samples[0]))
	if err == nil {
		err = r.trainer.load(ctx, kind, options)
	}
	if err == nil {
		err = r.prepareComparer(ctx)
	}
	if err == nil {
		r.planned = r.program.memory(r.decoder.Model().Variables())
	}
	return err
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

// GradientNorm returns the Euclidean norm of all gradients of the newest update, see gradientNorm.
func (r *Reconstruction) GradientNorm() (norm float64, known bool) {
	return r.gradientNorm(r.settings.FusedOptimizer)
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
		r.restart(s.LearningRate)
	}
	if !r.initial && s.LossName() != old.LossName() { // the best loss so far is on another scale
		r.plateau = newPlateau()
	}
	if r.initial {
		r.initialisation.judge(&r.settings, r.decoder)
	}
	r.caches.set(&r.settings)
	r.system.SetTransforms(transforms(s))
	if s.Threads != old.Threads || transforms(s) != transforms(&old) {
		r.caches.reprice()
	}
}

// ClearCache drops the entries of a cache. PRISM's benchmark clears that of measurements after each of them. The next
// iteration counts as one after a change.
func (r *Reconstruction) ClearCache(id profiles.CacheID) {
	r.caches.drop(id)
	r.changed = true
}

// Memory returns the memory of the run by category; scratch includes the planes and
// the work space outside the plan. Between two plans, while the next one's buffers
// are not known yet, it returns that of the previous plan.
func (r *Reconstruction) Memory() profiles.Memory {
	if r.program != nil {
		r.planned = r.program.memory(r.decoder.Model().Variables())
	}
	m := r.planned
	m.Parts[MemoryScratch] += r.comparer.bytes()
	m.Device = r.device.memory(&m)
	m.Parts[MemoryScratch] += r.kept.bytes()
	m.Parts[MemoryScratch] += r.system.Bytes() +
		4*int64(len(r.current)+len(r.output)+len(r.targets.old)+len(r.targets.new)+len(r.initialisation.disc))
	m.Caches += r.caches.bytes()
	return m
}

// Info describes the run for its observers.
func (r *Reconstruction) Info() profiles.RunInfo {
	s := &r.settings
	info := profiles.RunInfo{
		Schema: Schema(), Object: r.truth.object.Name, Parameters: r.decoder.Parameters(), Seed: s.Seed,
		Units: len(r.samples), Passes: s.Passes, Notes: append([]string(nil), r.truth.object.Notes...),
		Sampling: &profiles.Sampling{Size: s.Size, ObjectSize: s.ObjectSize, PerSample: len(r.samples[0]),
			Radius: s.Radius},
	}
	if r.truth.unknown() {
		for _, id := range []int{SeriesPSNR, SeriesSSIM, SeriesRMSE} {
			info.Schema.Series[id].Absent = noTruth
		}
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
			info.Sampling.Centres = append(info.Sampling.Centres, [2]float64{float64(c.Y), float64(c.X)})
		}
	}
	return info
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
