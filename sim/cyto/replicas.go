package cyto

import (
	"context"
	"fmt"

	"prismtop/sim/nn"
)

// Replicas train a network on several backends at the same time. Each replica has weights,
// moments and a plan of its own, and computes the gradients of an equal share of the
// batch; the gradients are averaged, in the order of the replicas, and every replica makes
// the same step of Adam. So all weights stay the same bits, and differ from those of one
// plan for the whole batch by rounding only: instance norms know no other item of a batch,
// and both losses are means over the items.
type Replicas struct {
	network   *Network
	replicas  []*replica
	sides     int // voxels of an image
	share     int // images of a replica
	gradients []int
	all       [][]float32 // of the replicas, one after another
}

// replica is one of them.
type replica struct {
	state     nn.State
	owned     bool
	plan      *nn.Plan
	exe, adam nn.Executable
	rate      nn.BufferID
	image     nn.BufferID
	target    nn.BufferID
	fallible  nn.Fallible // of a device that can fail; else nil
	err       chan error
}

// NewReplicas makes a replica for each backend, which no other one may use. state is the
// first replica's, on the first backend, and stays the caller's; the others start from
// its variables. o.Batch is the batch of all together, a multiple of their number; o has a
// loss. When ctx ends, its error is returned. Close frees the replicas.
func NewReplicas(ctx context.Context, n *Network, backends []nn.Backend, state nn.State, o PlanOptions) (*Replicas,
	error) {
	count := len(backends)
	switch {
	case count < 1:
		return nil, fmt.Errorf("cyto replicas: no backend")
	case o.Batch < count || o.Batch%count != 0:
		return nil, fmt.Errorf("cyto replicas: a batch of %d: must be a multiple of the %d replicas", o.Batch, count)
	}
	for i, b := range backends {
		for _, other := range backends[:i] {
			if b == other {
				return nil, fmt.Errorf("cyto replicas: replica %d has another's backend", i+1)
			}
		}
	}
	r := &Replicas{network: n, share: o.Batch / count, sides: o.Sides[0] * o.Sides[1] * o.Sides[2]}
	o.Batch, o.Train, o.gradientsOnly = r.share, true, true
	plan, err := n.Plan(ctx, o)
	if err != nil {
		return nil, err
	}
	optimizer, err := nn.CompileOptimizer(ctx, n.model, adam)
	if err != nil {
		return nil, fmt.Errorf("cyto replicas: %w", err)
	}
	for i, b := range backends {
		p := &replica{state: state, plan: plan, err: make(chan error, 1)}
		p.fallible, _ = b.(nn.Fallible)
		r.replicas = append(r.replicas, p)
		if i > 0 {
			p.state, err = b.NewState(ctx, n.model.Variables())
			p.owned = err == nil
		}
		if err == nil {
			err = p.load(ctx, b, optimizer)
		}
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("cyto replica %d: %w", i+1, err)
		}
	}
	for i, v := range n.model.Variables() {
		values := make([]float32, v.Shape.Elements())
		if v.Category == nn.Gradients {
			r.gradients, r.all = append(r.gradients, i), append(r.all, make([]float32, count*len(values)))
			continue
		}
		state.Read(i, values)
		for _, p := range r.replicas[1:] {
			p.state.Write(i, values)
		}
	}
	return r, nil
}

// load loads the plans of a replica.
func (p *replica) load(ctx context.Context, b nn.Backend, optimizer *nn.Plan) (err error) {
	if p.exe, err = b.Load(ctx, p.plan, p.state); err != nil {
		return err
	}
	if p.adam, err = b.Load(ctx, optimizer, p.state); err != nil {
		return err
	}
	p.rate, _ = optimizer.Input(nn.LearningRateInput)
	p.image, _ = p.plan.Input(ImageInput)
	p.target, _ = p.plan.Input(TargetInput)
	return nil
}

// Count is the number of replicas.
func (r *Replicas) Count() int { return len(r.replicas) }

// Share is the number of images that a replica computes of a batch.
func (r *Replicas) Share() int { return r.share }

// Plan is the plan of every replica, of its share of the batch. Its steps are those up to
// the gradients.
func (r *Replicas) Plan() *nn.Plan { return r.replicas[0].plan }

// Executable is the plan as loaded by a replica, for the times of its steps and its
// outputs.
func (r *Replicas) Executable(replica int) nn.Executable { return r.replicas[replica].exe }

// Close frees the plans, and all states but the first replica's.
func (r *Replicas) Close() {
	for _, p := range r.replicas {
		for _, exe := range []nn.Executable{p.exe, p.adam} {
			if exe != nil {
				exe.Close()
			}
		}
		if p.owned {
			p.state.Close()
		}
	}
}

// Step is Forward, Backward and Update.
func (r *Replicas) Step(ctx context.Context, image, target []float32, rate float64) (loss float64, err error) {
	if loss, err = r.Forward(ctx, image, target); err != nil {
		return loss, err
	}
	if err := r.Backward(ctx); err != nil {
		return loss, err
	}
	return loss, r.Update(ctx, rate)
}

// Forward computes the loss of a batch of images [B, Z, Y, X] and targets of the same
// shape. When ctx ends, Forward, Backward and Update return its error, and the replicas
// must be closed.
func (r *Replicas) Forward(ctx context.Context, image, target []float32) (loss float64, err error) {
	size := r.share * r.sides
	if len(image) != len(r.replicas)*size || len(target) != len(image) {
		return 0, fmt.Errorf("cyto replicas: %d voxels and %d targets for a batch of %d", len(image), len(target),
			len(r.replicas)*size)
	}
	err = r.each(func(i int, p *replica) error {
		p.exe.Write(p.image, image[i*size:][:size])
		p.exe.Write(p.target, target[i*size:][:size])
		if err := run(ctx, p.exe, nn.SegmentForward); err != nil {
			return err
		}
		return run(ctx, p.exe, nn.SegmentEvaluate)
	})
	if err != nil {
		return 0, err
	}
	return r.Mean(LossOutput), nil
}

// Mean is the mean over the replicas of a scalar output: a loss of the whole batch.
func (r *Replicas) Mean(output string) float64 {
	id, ok := r.replicas[0].plan.Output(output)
	if !ok {
		return 0
	}
	sum, value := 0.0, make([]float32, 1)
	for _, p := range r.replicas {
		p.exe.Read(id, value)
		sum += float64(value[0])
	}
	return sum / float64(len(r.replicas))
}

// Backward computes the gradients of the last Forward and their mean over the replicas,
// which all of them then have.
func (r *Replicas) Backward(ctx context.Context) error {
	err := r.each(func(i int, p *replica) error {
		if err := run(ctx, p.exe, nn.SegmentUpdate); err != nil {
			return err
		}
		for k, v := range r.gradients {
			n := len(r.all[k]) / len(r.replicas)
			p.state.Read(v, r.all[k][i*n:][:n])
		}
		return nil
	})
	if err != nil {
		return err
	}
	count := len(r.replicas)
	for _, all := range r.all {
		n := len(all) / count
		for i := range n {
			sum := 0.0
			for replica := range count {
				sum += float64(all[replica*n+i])
			}
			all[i] = float32(sum / float64(count))
		}
	}
	return r.each(func(_ int, p *replica) error {
		for k, v := range r.gradients {
			p.state.Write(v, r.all[k][:len(r.all[k])/count])
		}
		return nil
	})
}

// Update makes a step of Adam with the gradients of Backward.
func (r *Replicas) Update(ctx context.Context, rate float64) error {
	return r.each(func(_ int, p *replica) error {
		p.adam.Write(p.rate, []float32{float32(rate)})
		return run(ctx, p.adam, nn.SegmentUpdate)
	})
}

// run executes a segment and waits for the device.
func run(ctx context.Context, exe nn.Executable, s nn.Segment) error {
	err := exe.Run(ctx, s)
	if beside, ok := exe.(nn.Detailer); ok && err == nil {
		err = beside.Settle(ctx)
	}
	return err
}

// each runs a function for all replicas at the same time, and returns the first
// replica's error.
func (r *Replicas) each(do func(i int, p *replica) error) (first error) {
	for i, p := range r.replicas[1:] {
		go func() { p.err <- p.checked(i+1, do) }()
	}
	first = r.replicas[0].checked(0, do)
	for _, p := range r.replicas[1:] {
		if err := <-p.err; first == nil {
			first = err
		}
	}
	return first
}

// checked runs a function, and returns an error that its device could not return.
func (p *replica) checked(i int, do func(i int, p *replica) error) error {
	err := do(i, p)
	if err == nil && p.fallible != nil {
		err = p.fallible.Failure()
	}
	return err
}
