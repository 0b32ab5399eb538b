package sim

import (
	"time"

	"prismtop/profiles"
	"prismtop/sim/workload"
)

// The layer profile: the times of a plan's steps, summed and published.

// layersEvery is the interval at which the layer profile is published: often enough
// for a screen, rarely enough that an iteration costs only one addition per step.
const layersEvery = 500 * time.Millisecond

// layerProfile sums the times of a plan's steps between two publications. At the boundary it reads the timed steps of
// the iteration, and returns the layers to publish when they are due; it changes nothing.
type layerProfile struct {
	plan      *profiles.Layer  // the first step of the summed plan, which identifies it
	kernels   []profiles.Layer // without times
	of        []int            // the kernel of each step
	nanos     []int64          // of each kernel
	n         int64            // iterations summed
	since     time.Time        // start of the first of them
	published bool             // once since the plan began
	judge     workload.Judge   // nil if no roofs were measured
	shown     *profiles.Roofs  // the same, as published
}

// add adds one iteration that ran the whole plan.
func (p *layerProfile) add(steps []profiles.Layer, nanos []int64, now time.Time) {
	if len(steps) == 0 {
		return
	}
	if p.plan != &steps[0] {
		p.begin(steps)
	}
	if p.n == 0 {
		p.since = now
	}
	for i, k := range p.of {
		p.nanos[k] += nanos[i]
	}
	p.n++
}

// begin switches to another plan. A step without operations and bytes reports a share
// of the time of the preceding kernel.
func (p *layerProfile) begin(steps []profiles.Layer) {
	*p = layerProfile{plan: &steps[0], of: make([]int, len(steps)), judge: p.judge, shown: p.shown}
	for i := range steps {
		s := &steps[i]
		if s.FLOPs > 0 || s.Bytes > 0 || len(p.kernels) == 0 {
			p.kernels = append(p.kernels, *s)
		}
		p.of[i] = len(p.kernels) - 1
	}
	p.nanos = make([]int64, len(p.kernels))
}

// observe adds one iteration and returns the layers to publish; nil if they are not due. sparse thins them.
func (p *layerProfile) observe(steps []profiles.Layer, nanos []int64, now time.Time, sparse int) []profiles.Layer {
	p.add(steps, nanos, now)
	if !p.due(now, sparse) {
		return nil
	}
	return p.take()
}

// due reports whether there is something to publish.
func (p *layerProfile) due(now time.Time, sparse int) bool {
	return p.n > 0 && now.Sub(p.since) >= layersEvery*time.Duration(sparse)
}

// take returns the kernels with their mean times, and resets the sums.
func (p *layerProfile) take() []profiles.Layer {
	layers := make([]profiles.Layer, len(p.kernels))
	copy(layers, p.kernels)
	for i := range layers {
		l := &layers[i]
		l.Nanos = float64(p.nanos[i]) / float64(p.n)
		if p.judge != nil {
			l.Compute, l.Memory = p.judge.Shares(l.FLOPs, l.Bytes, time.Duration(l.Nanos))
			l.Judged = true
		}
	}
	clear(p.nanos)
	p.n, p.published = 0, true
	return layers
}

// last returns the layers of a plan that ran for less than the interval, for the end of a run; nil if there are none.
func (p *layerProfile) last() []profiles.Layer {
	if p.n == 0 || p.published {
		return nil
	}
	return p.take()
}

// profileLayers adds an iteration to the profile, if the settings ask for one.
// Iterations that ended a sample early did not run the whole plan.
func (l *loop) profileLayers(rec *profiles.Iteration) {
	profiler, ok := l.work.(workload.Profiler)
	if !ok || !l.reads.layers || rec.Flags&(profiles.Converged|profiles.NonFinite) != 0 {
		return
	}
	if watched, sparse := l.run.stream.Watched(); watched {
		steps, nanos := profiler.Steps()
		l.publishLayers(l.layers.observe(steps, nanos, time.Now(), sparse))
	}
}

// publishLayers publishes layers, if there are some.
func (l *loop) publishLayers(layers []profiles.Layer) {
	if layers != nil {
		l.run.stream.Layers(layers, l.layers.shown)
	}
}

// judgeLayers begins a profile that is judged by the roofs of the kernels and threads in use.
func (l *loop) judgeLayers() {
	l.layers = layerProfile{}
	device := l.work.Device()
	if roofs := l.run.options.Roofs; roofs != nil && device != nil && l.reads.layers {
		if l.layers.judge = roofs(device.Kernels(), device.Threads()); l.layers.judge != nil {
			l.layers.shown = l.layers.judge.Roofs()
		}
	}
}
