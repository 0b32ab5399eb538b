package ptycho

import (
	"context"
	"slices"

	"prismtop/sim/nn"
)

// microbatchPixels is the size of a microbatch, in pixels of its objects, unless
// PlanOptions.Microbatch says otherwise: 32 groups of 64×64.
const microbatchPixels = 32 * 64 * 64

// mostElements is the size of an activation that kernels of GPUs can count.
const mostElements = 1<<29 - 1

// microbatch returns the most groups that a network computes at a time.
func (c Config) microbatch(o PlanOptions) int {
	switch {
	case o.Microbatch > 0:
		return o.Microbatch
	case o.Large:
		_, border := c.border()
		widest := max(FirstFilters(c.Size)*c.FiltersScale, border) * c.Size * c.Size
		return max(mostElements/widest, 1)
	}
	return max(microbatchPixels/(c.Size*c.Size), 1)
}

// A BatchPlan is the inference of a batch, compiled as microbatches that are computed one after
// the other: activations take the memory of a microbatch, and only what goes in and comes out
// that of the batch. The objects do not depend on the division.
type BatchPlan struct {
	batch  int
	shares []share

	// Numbers of a group: of its patterns, its offsets, and its object's real and imaginary parts.
	pattern, offset, object int
}

// share is a number of microbatches of the same size.
type share struct {
	plan   *nn.Plan
	groups int // of a microbatch
	times  int
}

// BatchPlan compiles the inference of a batch.
func (n *Network) BatchPlan(ctx context.Context, o PlanOptions) (*BatchPlan, error) {
	c := n.config
	plane := c.Size * c.Size
	b := &BatchPlan{batch: o.Batch, pattern: c.Channels() * plane, offset: 2 * c.Channels(), object: 2 * plane}
	for _, s := range divide(o.Batch, c.microbatch(o)) {
		o.Batch = s.groups
		plan, err := n.InferencePlan(ctx, o)
		if err != nil {
			return nil, err
		}
		s.plan = plan
		b.shares = append(b.shares, s)
	}
	return b, nil
}

// divide divides a batch into microbatches of most groups, and one of the rest.
func divide(batch, most int) (all []share) {
	if times := batch / most; times > 0 {
		all = append(all, share{groups: most, times: times})
	}
	if rest := batch % most; rest > 0 || batch < 1 {
		all = append(all, share{groups: rest, times: 1})
	}
	return all
}

// Microbatch returns the number of groups that are computed at a time.
func (b *BatchPlan) Microbatch() int { return b.shares[0].groups }

// Variables returns the memory of the network's variables with this plan loaded. The moments of a
// training are never touched, and take none.
func (b *BatchPlan) Variables(n *Network) nn.Usage {
	u := b.shares[0].plan.VariableUsage(n.model.Variables())
	u[nn.Moments] = 0
	return u
}

// Usage returns the memory of the batch by category on a device that maps inputs: the arena of a
// microbatch, in which the rest is computed too, and the batch's patterns, offsets and objects,
// which count as inputs.
func (b *BatchPlan) Usage() nn.Usage {
	u := b.shares[0].plan.ArenaUsage()
	floats := b.batch * (b.offset + b.object)
	if !b.whole() {
		floats += b.batch * b.pattern
	}
	u[nn.Inputs] += 4 * int64(floats)
	return u
}

// Arena returns the memory of the batch on a device of its own: the arena of a microbatch.
func (b *BatchPlan) Arena() nn.Usage { return b.shares[0].plan.ArenaUsage() }

// whole reports whether the batch is a single microbatch.
func (b *BatchPlan) whole() bool { return len(b.shares) == 1 && b.shares[0].times == 1 }

// Steps returns the steps of a microbatch with the operations and the traffic of the whole batch.
func (b *BatchPlan) Steps() []nn.Step {
	all := slices.Clone(b.shares[0].plan.Steps)
	for i := range all {
		all[i].FLOPs, all[i].Bytes = 0, 0
		for _, s := range b.shares {
			step := &s.plan.Steps[i] // the steps are the same for every size
			all[i].FLOPs += int64(s.times) * step.FLOPs
			all[i].Bytes += int64(s.times) * step.Bytes
		}
	}
	return all
}

// A Predictor computes batches. It is used by one goroutine at a time.
type Predictor struct {
	*BatchPlan
	parts    []part
	device   attacher    // nil if it has no threads to keep
	fallible nn.Fallible // nil if it cannot fail
	patterns []float32   // of the batch; nil if Patterns maps the device's
	offsets  []float32
	objects  []float32
	nanos    []int64
}

// attacher is a device that keeps its threads on their processors while a context is attached.
type attacher interface {
	Attach(ctx context.Context) (before context.Context)
}

// part is a loaded share.
type part struct {
	share
	exe                     nn.Executable
	input, offsets, objects nn.BufferID
}

// Load loads the plan on a device whose state has the network's variables.
func (b *BatchPlan) Load(ctx context.Context, device nn.Backend, state nn.State) (*Predictor, error) {
	keeps, _ := device.(attacher)
	fallible, _ := device.(nn.Fallible)
	p := &Predictor{BatchPlan: b, device: keeps, fallible: fallible, nanos: make([]int64, len(b.shares[0].plan.Steps))}
	for i, s := range b.shares {
		t, err := part{share: s}, error(nil)
		if i == 0 {
			t.exe, err = device.Load(ctx, s.plan, state)
		} else {
			t.exe, err = device.LoadBeside(ctx, s.plan, state, p.parts[0].exe)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
		t.input, _ = s.plan.Input(DiffractionInput)
		t.offsets, _ = s.plan.Input(OffsetsInput)
		t.objects, _ = s.plan.Output(ObjectOutput)
		p.parts = append(p.parts, t)
	}
	p.offsets, p.objects = make([]float32, b.batch*b.offset), make([]float32, b.batch*b.object)
	if !b.whole() || p.parts[0].exe.Map(p.parts[0].input) == nil {
		p.patterns = make([]float32, b.batch*b.pattern)
	}
	return p, nil
}

// Patterns returns the normalised and scaled amplitudes of the batch [B, C, N, N], which the
// caller fills before Run.
func (p *Predictor) Patterns() []float32 {
	if p.patterns == nil {
		return p.parts[0].exe.Map(p.parts[0].input)
	}
	return p.patterns
}

// Offsets returns the offsets of the batch [B, C, 2], which the caller fills before Run.
func (p *Predictor) Offsets() []float32 { return p.offsets }

// Objects returns the real and imaginary parts of the objects [B, N, N] of the last Run.
func (p *Predictor) Objects() []float32 { return p.objects }

// Run computes the objects of the batch. It allocates nothing.
func (p *Predictor) Run(ctx context.Context) error {
	if p.device != nil { // from one microbatch to the next
		defer p.device.Attach(p.device.Attach(ctx))
	}
	clear(p.nanos)
	from := 0
	for i := range p.parts {
		t := &p.parts[i]
		for range t.times {
			p.hand(t, from)
			if err := t.exe.Run(ctx, nn.SegmentForward); err != nil {
				return err
			}
			t.exe.Read(t.objects, p.objects[from*p.object:][:t.groups*p.object])
			if p.fallible != nil {
				if err := p.fallible.Failure(); err != nil {
					return err
				}
			}
			for step, n := range t.exe.StepNanos() {
				p.nanos[step] += n
			}
			from += t.groups
		}
	}
	return nil
}

// hand gives a microbatch its groups from one on.
func (p *Predictor) hand(t *part, from int) {
	t.exe.Write(t.offsets, p.offsets[from*p.offset:][:t.groups*p.offset])
	if p.patterns == nil {
		return // they are there
	}
	t.exe.Write(t.input, p.patterns[from*p.pattern:][:t.groups*p.pattern])
}

// Detail switches the timing of every step on or off, on a device that computes beside the host; see nn.Detailer.
// beside is false on one that always times them.
func (p *Predictor) Detail(on bool) (beside bool) {
	for i := range p.parts {
		if d, ok := p.parts[i].exe.(nn.Detailer); ok {
			d.Detail(on)
			beside = true
		}
	}
	return beside
}

// StepNanos returns the time that each of Steps took in the last Run, in nanoseconds; the slice is
// reused.
func (p *Predictor) StepNanos() []int64 { return p.nanos }

// Usage is that of the plan, with the patterns of a device that does not map them.
func (p *Predictor) Usage() nn.Usage {
	u := p.BatchPlan.Usage()
	if p.whole() {
		u[nn.Inputs] += 4 * int64(len(p.patterns))
	}
	return u
}

// ScratchBytes returns the memory that the device holds in addition to Usage.
func (p *Predictor) ScratchBytes() (all int64) {
	for i := range p.parts {
		all += p.parts[i].exe.ScratchBytes()
	}
	return all
}

// Close frees the memory of the device.
func (p *Predictor) Close() {
	for i := range p.parts {
		p.parts[i].exe.Close()
	}
	p.parts = nil
}
