package im2im

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cyto"
	"prismtop/sim/learning"
	"prismtop/sim/nn"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// Maker makes trainings and predictions: it implements the workload "cyto".
type Maker struct {
	learning.Machine

	// Open opens the device of the settings.
	Open func(v settings.Values) (learning.Device, error)

	// Trained returns the path of the file in which a complete training leaves its weights,
	// and in which a prediction looks for them.
	Trained func(experiment string, c cyto.Config) (string, error)

	// Since, unless it is zero, is when a run that predicts the same images several times
	// began: prediction files that are newer are its own, and written again each time.
	Since time.Time
}

// Load draws the synthetic images of the settings, or lists the files that they name.
func (m Maker) Load(ctx context.Context, v settings.Values) (workload.Inputs, error) {
	s := From(v)
	return s.load(ctx)
}

// SameInputs reports whether two settings name the same images.
func (Maker) SameInputs(a, b settings.Values) bool {
	s, t := From(a), From(b)
	return s.inputs() == t.inputs()
}

// Reads reports whether the images are read from files.
func (Maker) Reads(v settings.Values) bool { return v.Text("data") != "" }

// FitsBeside reports whether a run fits into memory in addition to the given number of
// bytes.
func (Maker) FitsBeside(v settings.Values, held int64) bool {
	s := From(v)
	left, known := machine.ReadMemory().Beside(held)
	return !known || s.leastMemory() <= float64(left)
}

// Most returns the minibatches of all epochs, or the batches of all passes, of synthetic images; how many images of
// the user's there are is not in the settings.
func (Maker) Most(v settings.Values) (iterations int64, sooner bool) {
	s := From(v)
	if s.Data != "" {
		return 0, false
	}
	units, many := s.Epochs, "epochs"
	each, limit := batches(s.Volumes*s.Patches, s.Batch), s.TrainLimit
	if s.Mode == Predict {
		units, many = s.passes(), "passes"
		each, limit = batches(s.HeldOut, s.Batch), s.passLimit()
	}
	if limit > 0 {
		each = min(each, limit)
	}
	return workload.IterationsWithin(v, float64(workload.UnitsWithin(v, int64(units), many))*float64(each)), false
}

// New prepares a training or a prediction on its own device, which Close closes too.
func (m Maker) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	model, err := m.Model(ctx, v)
	if err != nil {
		return nil, err
	}
	return m.Begin(ctx, v, in.(*Inputs), model)
}

// Model makes the network of the settings with its first weights, on its own device. Begin
// takes it over.
func (m Maker) Model(ctx context.Context, v settings.Values) (*Model, error) {
	s := From(v)
	model := &Model{}
	if err := model.open(m, v, &s); err != nil {
		return nil, err
	}
	_, err := learning.Begin(ctx, &model.device, model.wanted(&s), func() (*Model, error) {
		return model, model.prepare(ctx, &s)
	})
	if err != nil {
		model.closeOthers()
		return nil, err
	}
	return model, nil
}

// Begin is New with a model, which it closes on an error.
func (m Maker) Begin(ctx context.Context, v settings.Values, in *Inputs, model *Model) (workload.Task, error) {
	s := From(v)
	task, err := learning.Begin(ctx, &model.device, model.wanted(&s), func() (task workload.Task, err error) {
		if model.state == nil { // it was on a GPU that failed
			if err := model.prepare(ctx, &s); err != nil {
				return nil, err
			}
		}
		if s.Mode == Predict {
			task, err = startPrediction(ctx, s, in, model, m)
		} else {
			task, err = startTraining(ctx, s, in, model, m.Trained)
		}
		if err != nil {
			model.free()
		}
		return task, err
	})
	if err != nil {
		model.closeOthers()
		return nil, err
	}
	return task, nil
}

// Model is a network with its variables on a device.
type Model struct {
	device  learning.Device
	network *cyto.Network
	state   nn.State
	others  []learning.Device // of further replicas
}

// open opens a device for each replica. Replicas on the processor share the threads of the settings, others have a GPU
// each.
func (m *Model) open(maker Maker, v settings.Values, s *Settings) (err error) {
	replicas := s.replicas()
	if replicas > 1 {
		if v, err = v.Set(settings.Threads, strconv.Itoa(share(s.Threads, replicas))); err != nil {
			return err
		}
	}
	if m.device, err = maker.Open(v); err != nil {
		return err
	}
	for i := 1; i < replicas && err == nil; i++ {
		of := v
		if m.device.Beside() {
			of, err = v.Set(settings.Device, nextCard(m.device.Resolve(s.Device), i))
		}
		var other learning.Device
		if err == nil {
			other, err = maker.Open(of)
		}
		if err == nil {
			m.others = append(m.others, other)
		}
	}
	if err == nil {
		return nil
	}
	beside := m.device.Beside()
	m.Close()
	*m = Model{}
	if s.Device != "auto" || !beside {
		return &settings.KeyError{Key: "replicas", Err: &workload.LackingError{
			Err: fmt.Errorf("replicas = %d: each needs a GPU of its own: %w", replicas, err)}}
	}
	if v, err = v.Set(settings.Device, "cpu"); err != nil {
		return err
	}
	return m.open(maker, v, s)
}

// nextCard is the device i after one: "cuda:2" is 1 after "cuda:1".
func nextCard(device string, i int) string {
	_, number, _ := strings.Cut(device, ":")
	n, _ := strconv.Atoi(number) // 0 for "cuda"
	return fmt.Sprintf("cuda:%d", n+i)
}

// wanted is the device that the settings ask for: one of them, if there are replicas, for
// they go nowhere else together.
func (m *Model) wanted(s *Settings) string {
	if len(m.others) > 0 {
		return "cuda"
	}
	return s.Device
}

// share returns the threads of a replica: 0 means one per processor for all together.
func share(threads, replicas int) int {
	if threads == 0 {
		threads = machine.Processors()
	}
	return max(threads/replicas, 1)
}

// setThreads divides threads among the replicas.
func (m *Model) setThreads(threads, replicas int) {
	m.device.SetThreads(share(threads, replicas))
	for i := range m.others {
		m.others[i].SetThreads(share(threads, replicas))
	}
}

// Backends are those of all replicas.
func (m *Model) Backends() []nn.Backend {
	all := []nn.Backend{m.device.Backend}
	for i := range m.others {
		all = append(all, m.others[i].Backend)
	}
	return all
}

// notes describes the device and replicas.
func (m *Model) notes() []string {
	all := m.Remarks()
	switch count := 1 + len(m.others); {
	case count == 1:
	case m.device.Beside():
		all = append(all, fmt.Sprintf("%d replicas with a GPU each; their gradients are averaged on the host", count))
	default:
		all = append(all, fmt.Sprintf("%d replicas with %s each; their gradients are averaged", count,
			unit.Plural(m.device.Backend.Threads(), "thread", "threads")))
	}
	return all
}

// Remarks returns what a user should know of the device in use.
func (m *Model) Remarks() []string { return m.device.Remarks() }

func (m *Model) prepare(ctx context.Context, s *Settings) (err error) {
	if m.network, err = cyto.New(s.network()); err != nil {
		return err
	}
	variables, err := m.network.Model().InitialVariables(ctx)
	if err != nil {
		return err
	}
	m.state, err = m.device.Backend.NewState(ctx, variables)
	if err != nil {
		m.state = nil
	}
	return err
}

// elsewhere returns the model with its variables on the device of new settings; nil if it
// is there. use goes on with it, and refuse frees it.
func (m *Model) elsewhere(ctx context.Context, now, next string) (moved *Model, note string, err error) {
	if next == now {
		return nil, "", nil
	}
	if len(m.others) > 0 {
		return nil, "", &workload.RefusedError{Err: errors.New("each replica has a device of its own")}
	}
	backend, note, err := m.device.Elsewhere(now, next)
	if backend == nil {
		return nil, "", err
	}
	moved = &Model{device: m.device, network: m.network}
	moved.device.Backend = backend
	moved.state, err = backend.NewState(ctx, m.network.Model().Variables())
	if err != nil {
		return nil, "", m.device.Refuse(ctx, backend, err)
	}
	if err := m.variables().CopyTo(ctx, m.device.Backend, backend, moved.state); err != nil {
		return nil, "", m.refuse(ctx, moved, err)
	}
	return moved, note, nil
}

// refuse frees a model of elsewhere, and returns the error of the change.
func (m *Model) refuse(ctx context.Context, moved *Model, err error) error {
	moved.state.Close()
	return m.device.Refuse(ctx, moved.device.Backend, err)
}

// use goes on with a model of elsewhere.
func (m *Model) use(moved *Model, note string) {
	m.state.Close()
	m.state = moved.state
	m.device.Use(moved.device.Backend, note)
}

// free frees the variables.
func (m *Model) free() {
	if m.state != nil {
		m.state.Close()
		m.state = nil
	}
}

func (m *Model) closeOthers() {
	for i := range m.others {
		m.others[i].Close()
	}
	m.others = nil
}

// Close frees the variables and the devices.
func (m *Model) Close() {
	m.free()
	m.closeOthers()
	m.device.Close()
}

// memory returns what is held on the first replica's device, if that has memory of its own, given the memory of the
// plans and the variables of all.
func (m *Model) memory(planned *profiles.Memory) profiles.DeviceMemory {
	p := planned.Parts
	for i := range p {
		p[i] /= int64(1 + len(m.others))
	}
	return m.device.Memory(profiles.DeviceMemory{
		Weights: p[MemoryWeights], Gradients: p[MemoryGradients], Moments: p[MemoryMoments],
		Activations: p[MemoryActivations], Inputs: p[MemoryInputs], Workspace: p[MemoryScratch]})
}

// parameters is the number of trainable numbers.
func (m *Model) parameters() int { return parametersOf(m.network) }

// Parameters is the number of trainable numbers of the network of some settings.
func Parameters(v settings.Values) (int, error) {
	s := From(v)
	network, err := cyto.New(s.network())
	if err != nil {
		return 0, err
	}
	return parametersOf(network), nil
}

func parametersOf(network *cyto.Network) (n int) {
	for _, p := range network.Parameters() {
		each := 1
		for _, d := range p.Shape {
			each *= d
		}
		n += each
	}
	return n
}

// Weights returns the weights of a checkpoint by their names in files.
func (m Maker) Weights(v settings.Values, c *checkpoint.Checkpoint) ([]weights.Tensor, error) {
	s := From(v)
	network, err := cyto.New(s.network())
	if err != nil {
		return nil, err
	}
	return learning.WeightsOf(c, network.StateDict())
}

// Progress counts what a task has processed.
type Progress struct {
	Batches, Samples int // patches of training, or images predicted
	Outputs          int // images predicted

	// Batches of an epoch or pass, as limited, and without the limit.
	EpochBatches, Available int
	// Iterations of the whole task.
	Iterations int
}

// A Counter counts what it has processed, as trainings and predictions do.
type Counter interface{ Progress() Progress }

// batches is the number of batches that hold a number of samples.
func batches(samples, batch int) int { return (samples + batch - 1) / batch }

// Names returns the names that other programs have for the arrays of Weights.
func (m Maker) Names(v settings.Values) ([]weights.Names, error) {
	s := From(v)
	network, err := cyto.New(s.network())
	if err != nil {
		return nil, err
	}
	return network.Names(), nil
}
