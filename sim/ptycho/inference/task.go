package inference

import (
	"context"
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// Task is an inference, a batch an iteration. It is not safe for concurrent use.
type Task struct {
	v       settings.Values
	scan    *scan.Scan
	device  learning.Device
	network *ptycho.Network
	state   nn.State
	of      string // where the weights are from; empty if the run has named their file
	caveat  profiles.Caution
	scale   float64 // from the scan's amplitudes to the network's input

	programs []*program // the newest used first

	groups  []scan.Group
	offsets []float32        // of every group
	centres [][2]float64     // of every group
	kept    []weights.Tensor // of a device that can fail; else nil
	next    int              // group
	pass    int
	batches int       // of the pass so far
	began   time.Time // of the pass
	changed bool      // settings changed since the last iteration
	runs    int64     // iterations on the device
	timed   bool      // the newest iteration timed every step

	canvas
	first  map[ptycho.Precision]*results
	needed int64 // memory of the settings in force
	patch  [patchPixels]complex64
}

const patchPixels = ptycho.PatchSide * ptycho.PatchSide

// results are the first object of each group under a precision: its central patch.
type results struct {
	patches []complex64
	known   []bool
}

// prepare makes everything but the device and the scan.
func (t *Task) prepare(ctx context.Context, trained func(ptycho.Config) (string, error)) (err error) {
	if t.network, err = ptycho.New(config(t.v)); err != nil {
		return err
	}
	variables, err := t.network.Model().InitialVariables(ctx)
	if err != nil {
		return err
	}
	if t.state, err = t.device.Backend.NewState(ctx, variables); err != nil {
		return err
	}
	first, err := t.firstWeights(ctx, trained)
	if err != nil {
		return err
	}
	if err := t.setWeights(first); err != nil {
		return err
	}
	if t.groups, err = t.scan.Groups(ctx, channels(t.v), groupCount(t.v), seed(t.v)); err != nil {
		return err
	}
	for _, g := range t.groups {
		t.offsets = append(t.offsets, t.scan.Offsets(g)...)
		t.centres = append(t.centres, [2]float64{g.X, g.Y})
	}
	t.first = map[ptycho.Precision]*results{}
	t.expect(t.v)
	if err := t.spreadOut(t.scan.Object, t.centres); err != nil {
		return err
	}
	t.began = time.Now()
	return t.use(ctx, t.v)
}

// setWeights gives the network weights, which have the factor of its input.
func (t *Task) setWeights(all []weights.Tensor) error {
	if err := t.network.SetWeights(t.state, all); err != nil {
		return err
	}
	t.keep(all)
	factor, err := t.scan.Normalisation()
	if err != nil {
		return err
	}
	t.scale = factor * ptycho.ScaleOf(all)
	return nil
}

// expect makes room for the first results under the precision of the settings.
func (t *Task) expect(v settings.Values) {
	if p := precision(v); t.first[p] == nil {
		t.first[p] = &results{make([]complex64, len(t.groups)*patchPixels), make([]bool, len(t.groups))}
	}
}

// Info describes the run.
func (t *Task) Info() profiles.RunInfo {
	info := profiles.RunInfo{
		Schema: Schema(), Caveat: t.caveat, Object: fmt.Sprintf("N=%d C=%d", t.v.Int("size"), channels(t.v)),
		Parameters: t.network.Parameters(),
		Seed:       seed(t.v), Units: t.v.Int("passes"), GPUReason: t.device.Note,
		Cautions: ptycho.Cautions(t.device.Backend.Device(), t.device.Backend.Kernels()),
	}
	if t.of != "" {
		info.Notes = []string{t.of}
	}
	info.Notes = append(append(info.Notes, t.scan.Notes...), t.Remarks()...)
	if t.unknown {
		for _, id := range []int{seriesPSNR, seriesRMSE, seriesPhaseError} {
			info.Schema.Series[id].Absent = noTruth
		}
	}
	if t.caveat.Text != "" {
		for _, id := range []int{seriesPSNR, seriesRMSE, seriesPhaseError} {
			info.Schema.Series[id].Absent = t.caveat.Text
		}
	}
	return info
}

// Device returns the device that computes the network.
func (t *Task) Device() workload.Device { return t.device.Backend }

// Remarks returns what a user should know of the device in use.
func (t *Task) Remarks() []string { return t.device.Remarks() }

// Apply obeys the live settings.
func (t *Task) Apply(ctx context.Context, v settings.Values) error {
	moved, err := t.move(ctx, v)
	if err != nil {
		return err
	}
	t.device.SetThreads(threads(v))
	before := t.v
	t.v = v
	t.expect(v)
	if err := t.use(ctx, v); err != nil {
		if ctx.Err() != nil || nn.Lost(err) || !t.device.Beside() {
			return err
		}
		t.v = before
		return &workload.RefusedError{Err: learning.Advised(err)}
	}
	t.changed = t.changed || moved || planOptions(v) != planOptions(before)
	return nil
}

// Close frees everything.
func (t *Task) Close() {
	t.free()
	t.device.Close()
}

// free frees what is on the device.
func (t *Task) free() {
	for _, p := range t.programs {
		p.exe.Close()
	}
	t.programs = nil
	if t.state != nil {
		t.state.Close()
		t.state = nil
	}
}

// Steps returns the steps of the plan and their times; none if the newest iteration did not time every step.
func (t *Task) Steps() ([]profiles.Layer, []int64) {
	if !t.timed {
		return nil, nil
	}
	return t.programs[0].layers, t.programs[0].exe.StepNanos()
}

// timeSteps decides whether the next iteration times every step. On a device that computes
// beside the host, one in some does, which takes longer.
func (t *Task) timeSteps(rec *profiles.Iteration) {
	wanted := t.v.On(settings.LayerProfile) && learning.Detailed(t.runs)
	beside := t.programs[0].exe.Detail(wanted)
	if t.timed = wanted || !beside; beside && wanted {
		rec.Flags |= profiles.Warmup
	}
	t.runs++
}

// stopwatch adds times to the phases of a record.
type stopwatch struct {
	rec  *profiles.Iteration
	last time.Time
}

func (w *stopwatch) spend(phase profiles.Phase) {
	now := time.Now()
	w.rec.Phases[phase] += int64(now.Sub(w.last))
	w.last = now
}

// Iterate computes a batch. One that begins in a pass may end in the next.
func (t *Task) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	start := time.Now()
	p, watch := t.programs[0], stopwatch{rec, start}
	rec.Unit, rec.InUnit = int32(t.pass), int32(t.batches)
	if t.changed {
		rec.Flags |= profiles.Warmup
		t.changed = false
	}
	t.timeSteps(rec)
	t.gather(p)
	watch.spend(phaseLoad)
	t.distances(p)
	watch.spend(phaseGroup)
	in := p.exe.Patterns()
	factor := float32(t.scale)
	for i := range in {
		in[i] *= factor
	}
	watch.spend(phaseNormalise)
	if err := p.exe.Run(ctx); err != nil {
		return workload.Outcome{}, err
	}
	watch.spend(phasePredict)
	t.batches++
	out, difference, err := t.reassemble(p, &watch)
	if err != nil {
		return out, err
	}
	rate := float64(p.options.Batch) / time.Since(start).Seconds()
	rec.Series[seriesThroughput], rec.Series[seriesDifference] = rate, difference
	rec.Series[seriesEfficiency] = rate / (float64(t.needed) / 1e6)
	return out, nil
}

// group returns the index of the i-th group of a batch.
func (t *Task) group(i int) int { return (t.next + i) % len(t.groups) }

// gather copies the patterns of a batch to the network's input.
func (t *Task) gather(p *program) {
	in, n := p.exe.Patterns(), t.scan.Size*t.scan.Size
	for i := range p.options.Batch {
		for c, at := range t.groups[t.group(i)].Positions {
			copy(in[(i*channels(t.v)+c)*n:][:n], t.scan.Pattern(at))
		}
	}
}

// distances copies the distances of a batch's positions from the centres of their groups.
func (t *Task) distances(p *program) {
	each := 2 * channels(t.v)
	for i := range p.options.Batch {
		copy(p.exe.Offsets()[i*each:][:each], t.offsets[t.group(i)*each:][:each])
	}
}

// reassemble adds the objects of a batch to the canvas, and ends passes. It returns the largest
// difference from the first results of the same groups, NaN if there are none.
func (t *Task) reassemble(p *program, watch *stopwatch) (out workload.Outcome, difference float64, err error) {
	difference = math.NaN()
	objects, plane := p.exe.Objects(), 2*t.scan.Size*t.scan.Size
	for i := range p.options.Batch {
		t.cut(objects[i*plane:][:plane])
		d, err := t.same(t.next)
		if err != nil {
			return out, d, err
		}
		if !(d <= difference) && !math.IsNaN(d) {
			difference = d
		}
		if err := t.assembly.Add(t.patch[:], ptycho.PatchSide); err != nil {
			return out, d, err
		}
		if t.next++; t.next < len(t.groups) {
			continue
		}
		watch.spend(phaseReassemble)
		if out, err = t.endPass(); err != nil {
			return out, d, err
		}
		watch.spend(phaseMetrics)
	}
	watch.spend(phaseReassemble)
	return out, difference, nil
}

// cut copies the central patch of an object of the network.
func (t *Task) cut(object []float32) {
	ptycho.CentralPatch(t.patch[:], object, t.scan.Size)
}

// same compares the patch of a group with its first result under this precision, and keeps the
// first. The difference is NaN for that. A larger difference than the tolerance is an error.
func (t *Task) same(group int) (difference float64, err error) {
	rounding := precision(t.v)
	first := t.first[rounding]
	kept := first.patches[group*patchPixels:][:patchPixels]
	if !first.known[group] {
		first.known[group] = true
		copy(kept, t.patch[:])
		return math.NaN(), nil
	}
	for i, z := range t.patch {
		d := complex128(z - kept[i])
		if m := math.Hypot(real(d), imag(d)); !(m <= difference) {
			difference = m
		}
	}
	if tolerance := rounding.Tolerance(); !(difference <= tolerance) {
		return difference, fmt.Errorf("the object of group %d in a batch of %d differs from its first result by %.2g: "+
			"must be at most %g",
			group, t.programs[0].options.Batch, difference, tolerance)
	}
	return difference, nil
}

// endPass ends a pass: its canvas is complete.
func (t *Task) endPass() (out workload.Outcome, err error) {
	if err := t.finish(t.centres); err != nil {
		return out, err
	}
	now := time.Now()
	out.UnitEnded, out.Measured = true, t.quality()
	out.Result = profiles.UnitResult{Unit: int32(t.pass), Iterations: int32(t.batches), Values: profiles.NoValues(),
		Elapsed: now.Sub(t.began)}
	t.next, t.batches, t.began = 0, 0, now
	t.pass++
	out.Finished = t.pass == t.v.Int("passes")
	return out, nil
}

// Quality compares the newest complete canvas with the truth.
func (t *Task) Quality(context.Context) (profiles.Values, error) { return t.quality(), nil }

func (t *Task) quality() profiles.Values {
	v := profiles.NoValues()
	if t.caveat.Text == "" {
		v[seriesPSNR], v[seriesRMSE], v[seriesPhaseError] = t.compare()
	}
	return v
}
