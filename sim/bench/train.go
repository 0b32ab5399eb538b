package bench

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// middle prepares a reconstruction of the settings' object and takes it to the middle of
// the pattern, where the accumulated mask has its usual size. The samples before are
// trained for one iteration each. It also gives the settings under which no sample ends.
func (m *measurement) middle(device prism.Device, s preset.Settings) (*prism.Reconstruction, preset.Settings, error) {
	s.InitIterations, s.InitCycles = 0, 0
	s.Threshold, s.Iterations, s.Cycles = 0, 1, 1
	object, err := sim.LoadObject(m.ctx, &s)
	if err != nil {
		return nil, s, err
	}
	task, err := prism.New(m.ctx, s, object, device)
	if err != nil {
		return nil, s, err
	}
	m.report.Run = task.Info()
	m.report.Sample = m.report.Run.Samples / 2
	for range m.report.Sample {
		if err := m.iterate(task, &row{}); err != nil {
			task.Close()
			return nil, s, err
		}
	}
	s.Iterations = math.MaxInt32
	return task, s, nil
}

// train measures iterations of the progressive phase.
func (m *measurement) train(device prism.Device) error {
	task, s, err := m.middle(device, m.report.Options.Settings)
	if err != nil {
		return err
	}
	defer task.Close()
	if err := task.Apply(m.ctx, s); err != nil {
		return err
	}
	for range max(m.report.Options.Warmup, 1) {
		if err := m.iterate(task, &row{}); err != nil {
			return err
		}
	}
	m.report.Warmup = max(m.report.Options.Warmup, 1)
	steps, _ := task.Steps()
	m.describe(steps)
	err = m.run(func(r *row) error { return m.iterate(task, r) })
	m.report.Memory = task.Memory()
	return err
}

// iterate runs one iteration as the run's loop does.
func (m *measurement) iterate(task *prism.Reconstruction, r *row) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	var rec profiles.Iteration
	start := time.Now()
	if _, err := task.Iterate(m.ctx, &rec); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	r.total, r.phases = int64(time.Since(start)), rec.Phases
	if len(r.steps) > 0 {
		_, nanos := task.Steps()
		copy(r.steps, nanos)
	}
	m.report.LossOld, m.report.LossNew, m.report.Caches = rec.LossOld, rec.LossNew, rec.Caches
	return nil
}

// describe makes room for the steps' times.
func (m *measurement) describe(steps []nn.Step) {
	m.steps = len(steps)
	m.report.Steps = make([]StepTimes, len(steps))
	for i := range steps {
		s := &steps[i]
		m.report.Steps[i] = StepTimes{Name: s.Name, Phase: prism.RecordedPhase(s.Phase), FLOPs: s.FLOPs, Bytes: s.Bytes}
	}
}

// forward measures the decoder's forward pass with the running statistics, as
// inference uses it.
func (m *measurement) forward(device prism.Device) error {
	s := &m.report.Options.Settings
	pass, err := prism.NewForward(m.ctx, s, device.Backend)
	if err != nil {
		return err
	}
	defer pass.Close()
	m.report.Run = profiles.RunInfo{Parameters: pass.Parameters(), Seed: s.Seed, Size: s.Size, ObjectSize: s.ObjectSize}
	for range m.report.Options.Warmup {
		if err := pass.Run(m.ctx); err != nil {
			return err
		}
	}
	m.report.Warmup = m.report.Options.Warmup
	steps, _ := pass.Steps()
	m.describe(steps)
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
			r.phases[prism.RecordedPhase(steps[i].Phase)] += n
		}
		return nil
	})
}
