package prism

import (
	"context"
	"errors"
	"math"

	"prismtop/profiles"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// trainer trains the decoder on a device: it has the weights and moments there, the plan of the next iteration, and
// what an operation of the device could not return.
type trainer struct {
	device     Device
	owned      bool // close the device with the trainer
	decoder    *Decoder
	state      nn.State
	program    *program  // nil between two plans
	unreported error     // of an operation of the device that could not return it
	skipped    int       // updates that the gradient scaler skipped and no record shows yet
	gradients  []float32 // work space of gradientNorm
	comparer   *comparer // where the output is; nil for none
}

// Close frees the memory on the device.
func (t *trainer) Close() {
	t.unload()
	t.closeComparer()
	t.state.Close()
	if t.owned {
		t.device.Close()
	}
}

func (t *trainer) unload() {
	if t.program != nil {
		t.program.close()
		t.program = nil
	}
}

// Device returns the device of the reconstruction.
func (t *trainer) Device() workload.Device { return t.device.Backend }

// Remarks returns what a user should know of the device in use.
func (t *trainer) Remarks() []string {
	var all []string
	if t.device.Note != "" {
		all = append(all, "computed on the CPU: "+t.device.Note)
	}
	if f, ok := t.device.Backend.(nn.Fallible); ok {
		all = append(all, f.Remarks()...)
	}
	return all
}

// failure returns the error of an operation of the device that could not return it, once unless the device is lost; nil
// for none.
func (t *trainer) failure() error {
	err := t.unreported
	if t.unreported = nil; err == nil {
		err = failure(t.device.Backend)
	}
	return err
}

// report leaves an error for the next call of failure.
func (t *trainer) report(err error) { t.unreported = err }

// load compiles and loads a plan in place of the one before.
func (t *trainer) load(ctx context.Context, kind programKind, o PlanOptions) (err error) {
	t.unload()
	t.program, err = loadProgram(ctx, kind, t.decoder, o, t.device.Backend, t.state)
	return err
}

// update runs the backward pass and Adam at a learning rate. Where Run does not wait, the gradient scale is
// that before the update, and a skipped step is in the record of a later iteration.
func (t *trainer) update(ctx context.Context, rec *profiles.Iteration, rate float64) error {
	p := t.program
	p.writeScalar(nn.LearningRateInput, rate)
	if p.detailer != nil && p.scaled {
		t.settleScaler()
		rec.Series[SeriesGradientScale] = p.scalar(p.scale)
		if err := t.failure(); err != nil {
			return err
		}
	}
	if err := p.run(ctx, nn.SegmentUpdate); err != nil {
		return err
	}
	if p.unread = p.scaled; p.scaled && p.detailer == nil {
		t.settleScaler()
		rec.Series[SeriesGradientScale] = p.scalar(p.scale)
	}
	return p.account(ctx, &rec.Phases)
}

// settleScaler counts the newest update if its step was skipped and it was not counted yet.
func (t *trainer) settleScaler() {
	p := t.program
	if p == nil || !p.unread {
		return
	}
	p.unread = false
	overflow := p.scalar(p.overflow)
	if err := t.failure(); err != nil {
		t.report(err)
	} else if overflow != 0 {
		t.skipped++
	}
}

// recordSkipped shows a skipped step in a record, which has room for one. Where the last two steps of a run are
// skipped on a GPU, one remains.
func (t *trainer) recordSkipped(rec *profiles.Iteration) {
	if t.skipped > 0 {
		t.skipped--
		rec.Flags |= profiles.SkippedStep
	}
}

// gradientNorm returns the Euclidean norm of all gradients of the newest update, without the factor of the gradient
// scaler. A fused optimiser stores no gradients of convolutions. If the device fails, the norm is unknown and the next
// operation returns the error.
func (t *trainer) gradientNorm(fused bool) (norm float64, known bool) {
	if t.program == nil || fused && !t.program.scaled {
		return 0, false
	}
	sum := 0.0
	for i, v := range t.decoder.Model().Variables() {
		if v.Category != nn.Gradients {
			continue
		}
		n := v.Shape.Elements()
		if len(t.gradients) < n {
			t.gradients = make([]float32, n)
		}
		t.state.Read(i, t.gradients[:n])
		for _, x := range t.gradients[:n] {
			sum += float64(x) * float64(x)
		}
	}
	if err := t.failure(); err != nil {
		t.report(err)
		return 0, false
	}
	return math.Sqrt(sum), true
}

// trained copies the weights and running statistics of the reconstruction.
func (t *trainer) trained() (trainedValues, error) {
	values := trainedValues{}
	for i, v := range t.decoder.Model().Variables() {
		if v.Category == nn.Weights {
			x := make([]float32, v.Shape.Elements())
			t.state.Read(i, x)
			values[v.Name] = x
		}
	}
	return values, t.failure()
}

// Steps returns the steps of the current plan and the nanoseconds each took in
// its last run; both are empty between two plans, and where the newest iteration did not
// time every step. The slices are reused.
func (t *trainer) Steps() ([]profiles.Layer, []int64) {
	if t.program == nil {
		return nil, nil
	}
	return t.program.steps()
}

// carryTo makes a copy of the variables on another backend, with a program.
func (t *trainer) carryTo(ctx context.Context, backend nn.Backend, kind programKind, o PlanOptions) (state nn.State,
	p *program, err error) {
	variables := t.decoder.Model().Variables()
	if state, err = backend.NewState(ctx, variables); err != nil {
		return nil, nil, err
	}
	var values []float32
	for i, v := range variables {
		if v.Category == nn.Gradients {
			continue
		}
		n := v.Shape.Elements()
		if len(values) < n {
			values = make([]float32, n)
		}
		t.state.Read(i, values[:n])
		if err = t.failure(); err != nil {
			break
		}
		state.Write(i, values[:n])
		if err = errors.Join(failure(backend), ctx.Err()); err != nil {
			break
		}
	}
	if err == nil {
		p, err = loadProgram(ctx, kind, t.decoder, o, backend, state)
	}
	if err != nil {
		state.Close()
		return nil, nil, err
	}
	return state, p, nil
}

// moveTo goes on with what carryTo has made on another backend.
func (t *trainer) moveTo(backend nn.Backend, note string, state nn.State, p *program) {
	t.settleScaler()
	t.unload()
	t.closeComparer()
	t.state.Close()
	t.device.leave()
	t.device.Backend, t.device.Note = backend, note
	t.state, t.program = state, p
}

// retreat goes on with a state on the processor, after the device has failed.
func (t *trainer) retreat(state nn.State) {
	t.unload()
	t.closeComparer()
	t.state.Close()
	t.device.leave()
	t.device.Backend, t.device.Note, t.state = t.device.Processor, "", state
	t.unreported, t.skipped = nil, 0
}
