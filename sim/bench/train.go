package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
)

// Middle makes a run of the options and advances it to the middle of the pattern, where
// the accumulated mask has its typical size. Earlier samples are trained for one
// iteration each, and the sample there never ends.
func Middle(ctx context.Context, o sim.Options) (*sim.Run, error) {
	return advanced(ctx, o, math.MaxInt)
}

// advanced is Middle that advances by so many samples at most.
func advanced(ctx context.Context, o sim.Options, most int) (*sim.Run, error) {
	units := settings.MaxUnits("samples")
	v, err := having(o.Settings, []settings.Assignment{
		{Key: "init_iterations", Value: "0"}, {Key: "init_cycles", Value: "0"},
		{Key: "threshold", Value: "0"}, {Key: "iterations", Value: "1"}, {Key: "cycles", Value: "1"},
		{Key: settings.MaxIterations, Value: "0"}, {Key: units, Value: "0"}, {Key: settings.MaxSeconds, Value: "0"},
	})
	if err != nil {
		return nil, err
	}
	o.Settings = v
	run, err := sim.New(ctx, o)
	if err != nil {
		return nil, err
	}
	for range min(run.Info().Units/2, most) {
		if err == nil {
			_, _, err = run.Next(ctx)
		}
	}
	if err == nil && v.Has("iterations") {
		err = run.Set("iterations", strconv.Itoa(math.MaxInt32))
	}
	if err != nil {
		run.Close()
		return nil, fmt.Errorf("bench: %w", err)
	}
	return run, nil
}

// middle is Middle for a measurement.
func (m *measurement) middle(maker workload.Maker, v settings.Values) (*sim.Run, error) {
	run, err := Middle(m.ctx, sim.Options{Maker: maker, Settings: v, Stream: stream.New(2)})
	if err == nil {
		m.report.Run = run.Info()
		m.report.Sample = m.report.Run.Units / 2
	}
	return run, err
}

// having returns v with those assignments whose keys it has.
func having(v settings.Values, sets []settings.Assignment) (settings.Values, error) {
	return v.With(slices.DeleteFunc(sets, func(a settings.Assignment) bool { return !v.Has(a.Key) })...)
}

// train measures iterations of the progressive phase.
func (m *measurement) train(maker prism.Maker) error {
	run, err := m.middle(maker, m.report.Options.Settings.Values())
	if err != nil {
		return err
	}
	defer run.Close()
	m.report.Threads = run.Threads()
	for range max(m.report.Options.Warmup, 1) {
		if err := m.iterate(run, &row{}); err != nil {
			return err
		}
	}
	m.report.Warmup = max(m.report.Options.Warmup, 1)
	steps, _ := run.Steps()
	m.describe(steps)
	err = m.run(func(r *row) error { return m.iterate(run, r) })
	m.report.Memory = run.Memory()
	return err
}

// iterate runs one iteration.
func (m *measurement) iterate(run *sim.Run, r *row) error {
	rec, _, err := run.Next(m.ctx)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r.total, r.phases = rec.Total, rec.Phases
	steps, nanos := run.Steps() // none where this iteration did not time every step
	if m.steps == 0 && m.report.Warmup > 0 {
		m.describe(steps)
	}
	if r.steps = r.steps[:0]; len(nanos) == m.steps {
		r.steps = append(r.steps, nanos...)
	}
	m.report.Kind, m.report.Series, m.report.Caches = rec.Kind, rec.Series, rec.Caches
	return nil
}

// describe allocates the steps' times.
func (m *measurement) describe(steps []profiles.Layer) {
	m.steps = len(steps)
	m.report.Steps = make([]StepTimes, len(steps))
	for i := range steps {
		s := &steps[i]
		m.report.Steps[i] = StepTimes{Name: s.Name, Kernel: s.Kernel, Phase: s.Phase, FLOPs: s.FLOPs, Bytes: s.Bytes}
	}
}

// forward measures the decoder's forward pass with the running statistics, as in
// inference.
func (m *measurement) forward(maker prism.Maker) error {
	s := &m.report.Options.Settings
	device, err := maker.Open(s)
	if err != nil {
		return err
	}
	defer device.Close()
	m.report.Threads = device.Backend.Threads()
	pass, err := prism.NewForward(m.ctx, s, device.Backend)
	if err != nil {
		return err
	}
	defer pass.Close()
	m.report.Run = profiles.RunInfo{
		Schema: prism.Schema(), Parameters: pass.Parameters(), Seed: s.Seed,
		Device: device.Backend.Device(), Kernels: device.Backend.Kernels(),
		Sampling: &profiles.Sampling{Size: s.Size, ObjectSize: s.ObjectSize},
	}
	m.report.Kind = prism.KindLaterSample
	for range m.report.Options.Warmup {
		if err := pass.Run(m.ctx); err != nil {
			return err
		}
	}
	m.report.Warmup = m.report.Options.Warmup
	steps, _ := pass.Steps()
	if !pass.Beside() { // else phases are timed, not every step
		m.describe(steps)
	}
	m.report.Memory = pass.Memory()
	return m.run(func(r *row) error {
		start := time.Now()
		if err := pass.Run(m.ctx); err != nil {
			return err
		}
		r.total = int64(time.Since(start))
		_, nanos := pass.Steps()
		copy(r.steps, nanos)
		for i, n := range nanos {
			r.phases[steps[i].Phase] += n
		}
		return nil
	})
}
