// Package curve is the smallest possible workload: a template for others, and the proof that a
// run, the screen, an ablation and JSON do not depend on PRISM. It fits a polynomial to Runge's
// function, 1/(1 + 25 x²), by gradient descent. Outside this folder only one line in package
// workloads mentions it.
package curve

import (
	"context"
	"embed"
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cache"
	"prismtop/sim/checkpoint"
	"prismtop/sim/workload"
)

// The problem: the number of points from −1 to 1, whose basis is computed a block at a
// time.
const (
	points    = 4096
	block     = 64
	stepSize  = 0.25  // of the gradient descent
	perEpoch  = 100   // iterations
	allEpochs = 10000 // of a run
)

// Table declares the settings.
var Table = settings.NewTable("curve", nil,
	settings.Integer("The curve", "degree", "", "degree of the polynomial", 1, 64),
	settings.Switch("How it is computed", "basis_cache", "keep the basis polynomials' values at the points").
		Live().Touches("basis").Revertible().Called("basis cache", 'm').Compared(1, "false", "true").
		Factor("basis_cache", "true").
		Press("m", settings.MoveNext, "basis cache").Foremost(1),
	settings.Switch("How it is computed", "fused_residue",
		"add a point's gradient while its basis values are at hand, not in a second pass over the block").
		Live().Touches("residue").Revertible().Called("fused residue", 'F').Compared(2, "false", "true").
		Factor("fused_residue", "true").
		Press("F", settings.MoveNext, "fused residue").Foremost(2),
	settings.Deciding("How it is computed"),
	settings.IterationLimit("Limits of the run"),
	settings.TimeLimit("Limits of the run"),
)

//go:embed curve.toml
var embedded embed.FS

// Presets returns the named sets of settings.
func Presets() preset.Shelf { return preset.Shelf{Table: Table, Files: embedded, Default: "curve"} }

// The phases of an iteration.
const (
	phaseBasis   profiles.Phase = iota // values of the basis polynomials
	phaseResidue                       // prediction minus curve, and its gradient
	phaseDescent                       // the step
)

// Schema describes the records of a fit.
func Schema() profiles.Schema {
	return profiles.Schema{
		Workload: "curve", Unit: profiles.Unit{One: "epoch", Many: "epochs"},
		Stages: []string{"fitting"}, Kinds: []profiles.KindInfo{{Name: "steps", Units: true}},
		Phases: []profiles.PhaseInfo{phaseBasis: {Name: "basis"}, phaseResidue: {Name: "residue"}, phaseDescent: {Name: "descent"}},
		Caches: []profiles.CacheInfo{{Name: "basis", Title: "basis", Long: "basis cache", Setting: "basis_cache"}},
		Series: []profiles.SeriesInfo{{Name: "rms", Title: "RMS error", Better: profiles.LessIsBetter,
			Scale: profiles.Logarithmic, Group: profiles.Losses, Each: true}},
		Memory: []profiles.MemoryInfo{{Name: "coefficients", Parameters: true}, {Name: "scratch"}},
	}
}

// Maker makes fits: it implements the workload "curve".
type Maker struct{}

type runge struct{}

// Name returns the curve's name.
func (runge) Name() string { return "Runge's function" }

// Load has nothing to read: the curve is computed.
func (Maker) Load(context.Context, settings.Values) (workload.Inputs, error) { return runge{}, nil }

// SameInputs returns true: there is only one curve.
func (Maker) SameInputs(_, _ settings.Values) bool { return true }

// Reads returns false: no file is read.
func (Maker) Reads(settings.Values) bool { return false }

// Check accepts every setting.
func (Maker) Check(settings.Values, string) error { return nil }

// FitsBeside returns true: a fit takes two megabytes.
func (Maker) FitsBeside(settings.Values, int64) bool { return true }

// Most returns the iterations of a fit.
func (Maker) Most(v settings.Values) (iterations int64, sooner bool) {
	return workload.IterationsWithin(v, allEpochs*perEpoch), false
}

// New prepares a fit.
func (Maker) New(_ context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	terms := v.Int("degree") + 1
	return &fit{
		name: in.Name(), coefficients: make([]float64, terms), gradient: make([]float64, terms),
		scratch: make([]float64, block*terms), fused: v.On("fused_residue"),
		bases: cache.New[int](cache.Options[[]float64]{Disabled: !v.On("basis_cache")}), began: time.Now(),
	}, nil
}

// fit is a polynomial being fitted: coefficients of the Chebyshev polynomials T₀, T₁, …
type fit struct {
	name                            string
	coefficients, gradient, scratch []float64
	fused                           bool
	distances                       [block]float64               // of a block that is not fused
	bases                           *cache.Cache[int, []float64] // by block
	iterations                      int
	began                           time.Time // the current epoch
}

// Info describes the run.
func (f *fit) Info() profiles.RunInfo {
	return profiles.RunInfo{Schema: Schema(), Object: f.name, Parameters: len(f.coefficients), Units: allEpochs}
}

// Device returns nil: a fit runs on the run's goroutine.
func (f *fit) Device() workload.Device { return nil }

// Apply applies the switches.
func (f *fit) Apply(_ context.Context, v settings.Values) error {
	f.fused = v.On("fused_residue")
	f.bases.SetEnabled(v.On("basis_cache"))
	return nil
}

// ClearCache drops the basis polynomials' values.
func (f *fit) ClearCache(profiles.CacheID) { f.bases.Clear() }

// Memory returns the memory held by the fit.
func (f *fit) Memory() profiles.Memory {
	m := profiles.Memory{Caches: f.bases.Counters().Bytes}
	m.Parts[0], m.Parts[1] = int64(8*len(f.coefficients)), int64(8*(len(f.gradient)+len(f.scratch)+len(f.distances)))
	return m
}

// Close does nothing.
func (f *fit) Close() {}

// basis returns Tₖ(x) for the points of a block, [block, terms], from the cache if it is on.
func (f *fit) basis(b int) []float64 {
	bytes := int64(8 * len(f.scratch))
	lookup := f.bases.Begin()
	if kept, ok := f.bases.Get(lookup, b); ok {
		if f.bases.Due(bytes) { // measure occasionally what a hit saves
			f.bases.Retime(bytes, f.compute(b, f.scratch))
		}
		return kept
	}
	values := f.scratch
	if f.bases.Enabled() {
		values = make([]float64, len(f.scratch))
	}
	f.bases.PutCost(b, values, bytes, f.compute(b, values))
	return values
}

// compute fills in a block's values and returns the nanoseconds it took.
func (f *fit) compute(b int, values []float64) int64 {
	start, terms := time.Now(), len(f.coefficients)
	for i := range block {
		x, row := place(b*block+i), values[i*terms:(i+1)*terms]
		row[0], row[1] = 1, x
		for k := 2; k < terms; k++ {
			row[k] = 2*x*row[k-1] - row[k-2]
		}
	}
	return int64(time.Since(start))
}

// place returns the x of a point, from −1 to 1.
func place(i int) float64 { return 2*float64(i)/(points-1) - 1 }

// Iterate takes one gradient descent step on the mean squared error.
func (f *fit) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return workload.Outcome{}, err
	}
	clear(f.gradient)
	squares, last := 0.0, time.Now()
	spend := func(phase profiles.Phase) {
		now := time.Now()
		rec.Phases[phase] += int64(now.Sub(last))
		last = now
	}
	retimed := f.bases.Retimed()
	for b := range points / block {
		basis := f.basis(b)
		spend(phaseBasis)
		squares += f.residue(b, basis)
		spend(phaseResidue)
	}
	for k, g := range f.gradient {
		f.coefficients[k] -= stepSize * g
	}
	spend(phaseDescent)
	rec.Retimed = f.bases.Retimed() - retimed
	rec.Phases[phaseBasis] -= rec.Retimed
	rec.Unit, rec.InUnit = int32(f.iterations/perEpoch), int32(f.iterations%perEpoch)
	rec.Series[0], rec.Caches[0] = math.Sqrt(squares/points), f.bases.Counters()
	f.iterations++
	var out workload.Outcome
	if f.iterations%perEpoch == 0 {
		out.UnitEnded, out.Measured = true, profiles.NoValues()
		out.Finished, out.MemoryChanged = f.iterations == perEpoch*allEpochs, f.iterations == perEpoch
		out.Result = profiles.UnitResult{Unit: rec.Unit, Iterations: perEpoch, Values: rec.Series,
			Elapsed: last.Sub(f.began)}
		f.began = last
	}
	return out, nil
}

// fitted is the part of a fit's state that is no array.
type fitted struct {
	Iterations int           `json:"iterations"`
	Elapsed    time.Duration `json:"elapsed_ns"` // of the epoch
}

// coefficientsArray is the name of a checkpoint's only array.
const coefficientsArray = "coefficients"

// Checkpoint returns the state of the fit.
func (f *fit) Checkpoint(context.Context) (*checkpoint.State, error) {
	return &checkpoint.State{
		Scalars: fitted{f.iterations, time.Since(f.began)},
		Arrays: []checkpoint.Array{{Name: coefficientsArray, Shape: []int{len(f.coefficients)},
			Float64: slices.Clone(f.coefficients)}},
	}, nil
}

// Resume puts a new fit into the state of a checkpoint.
func (f *fit) Resume(_ context.Context, c *checkpoint.Checkpoint) error {
	var p fitted
	if err := c.Scalars(&p); err != nil {
		return err
	}
	arrays, err := c.Take([]checkpoint.Array{{Name: coefficientsArray, Shape: []int{len(f.coefficients)},
		Float64: f.coefficients}})
	if err != nil {
		return err
	}
	if p.Iterations < 0 || p.Iterations >= perEpoch*allEpochs || p.Elapsed < 0 {
		return fmt.Errorf("%d iterations are more than a run has", p.Iterations)
	}
	copy(f.coefficients, arrays[coefficientsArray].Float64)
	f.iterations, f.began = p.Iterations, time.Now().Add(-p.Elapsed)
	return nil
}

// residue adds a block's share of the gradient and returns its sum of squared errors. Fused or not,
// it adds the same numbers in the same order.
func (f *fit) residue(b int, basis []float64) (squares float64) {
	terms := len(f.coefficients)
	for i := range block {
		row := basis[i*terms : (i+1)*terms]
		d := f.distance(place(b*block+i), row)
		squares += d * d
		if f.fused {
			f.descend(d, row)
		} else {
			f.distances[i] = d
		}
	}
	for i := 0; i < block && !f.fused; i++ {
		f.descend(f.distances[i], basis[i*terms:(i+1)*terms])
	}
	return squares
}

// distance returns the polynomial less the curve at x, whose basis values are in row.
func (f *fit) distance(x float64, row []float64) float64 {
	d := -1 / (1 + 25*x*x)
	for k, t := range row {
		d += f.coefficients[k] * t
	}
	return d
}

// descend adds a point's share of the gradient, given its distance and its basis values.
func (f *fit) descend(d float64, row []float64) {
	for k, t := range row {
		f.gradient[k] += 2 * d * t / points
	}
}
