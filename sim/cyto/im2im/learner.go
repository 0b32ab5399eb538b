package im2im

import (
	"context"
	"time"

	"prismtop/profiles"
	"prismtop/sim/cyto"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
)

// A learner computes the steps of a training: one plan, or replicas.
type learner interface {
	// begin begins an iteration, some of which time every step where that is wanted; it returns whether this one takes
	// longer for it than others.
	begin(detail bool) (slower bool)
	// feed takes a batch. It may keep the slices until update.
	feed(images, targets []float32)
	// forward computes the loss of the batch.
	forward(ctx context.Context, phases *[profiles.MaxPhases]int64) (loss float64, err error)
	// update makes a step of Adam at a learning rate.
	update(ctx context.Context, rate float64, phases *[profiles.MaxPhases]int64) error
	// steps are those of the plan, and their times in the newest step; none if they were not timed.
	steps() ([]profiles.Layer, []int64)
	// memory adds what it holds to the categories of the schema.
	memory(m *profiles.Memory, variables []nn.Variable)
	close()
}

// addMemory adds the memory of a number of plans with their variables.
func addMemory(m *profiles.Memory, plan *nn.Plan, scratch int64, variables []nn.Variable, plans int64) {
	u, own := plan.VariableUsage(variables), plan.ArenaUsage()
	m.Parts[MemoryWeights] += plans * u[nn.Weights]
	m.Parts[MemoryGradients] += plans * u[nn.Gradients]
	m.Parts[MemoryMoments] += plans * u[nn.Moments]
	m.Parts[MemoryActivations] += plans * (plan.ArenaBytes - own[nn.Inputs] - own[nn.Scratch])
	m.Parts[MemoryInputs] += plans * own[nn.Inputs]
	m.Parts[MemoryScratch] += plans * (u[nn.Scratch] + own[nn.Scratch] + scratch)
}

// replicas is a learner of several plans, each with a part of the minibatch.
type replicas struct {
	*cyto.Replicas
	layers          []profiles.Layer
	images, targets []float32
	beside          bool // on devices that compute beside the host, where steps are not timed one by one
}

// newReplicas loads the plans on the backends of a model.
func newReplicas(ctx context.Context, o cyto.PlanOptions, m *Model) (*replicas, error) {
	r, err := cyto.NewReplicas(ctx, m.network, m.Backends(), m.state, o)
	if err != nil {
		return nil, err
	}
	return &replicas{Replicas: r, layers: learning.LayersOf(r.Plan(), &recordedPhases), beside: m.device.Beside()}, nil
}

func (r *replicas) begin(bool) bool { return false }

func (r *replicas) feed(images, targets []float32) { r.images, r.targets = images, targets }

// forward also copies the replicas' parts to their inputs, at the same time. The times of
// the phases are those of the first replica.
func (r *replicas) forward(ctx context.Context, phases *[profiles.MaxPhases]int64) (float64, error) {
	began := time.Now()
	loss, err := r.Forward(ctx, r.images, r.targets)
	if err != nil || phases == nil {
		return loss, err
	}
	before := *phases
	nanos := r.Executable(0).StepNanos()
	learning.AddTimes(phases, r.Plan(), r.layers, nanos, nn.SegmentForward)
	learning.AddTimes(phases, r.Plan(), r.layers, nanos, nn.SegmentEvaluate)
	steps := int64(0)
	for i, v := range phases {
		steps += v - before[i]
	}
	phases[PhaseToDevice] += max(int64(time.Since(began))-steps, 0)
	return loss, nil
}

// update averages the gradients, which counts as backward.
func (r *replicas) update(ctx context.Context, rate float64, phases *[profiles.MaxPhases]int64) error {
	began := time.Now()
	if err := r.Backward(ctx); err != nil {
		return err
	}
	averaged := time.Now()
	phases[PhaseBackward] += int64(averaged.Sub(began))
	err := r.Update(ctx, rate)
	phases[PhaseOptimizer] += int64(time.Since(averaged))
	return err
}

func (r *replicas) steps() ([]profiles.Layer, []int64) {
	if r.beside {
		return nil, nil
	}
	return r.layers, r.Executable(0).StepNanos()
}

func (r *replicas) memory(m *profiles.Memory, variables []nn.Variable) {
	addMemory(m, r.Plan(), r.Executable(0).ScratchBytes(), variables, int64(r.Count()))
}

func (r *replicas) close() { r.Close() }
