package experiment

import (
	"context"
	"fmt"
	"strconv"
	"time"

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
	// Open opens the device of the settings.
	Open func(v settings.Values) (nn.Backend, error)

	// Kernels returns an error if this machine does not have the kernels.
	Kernels func(name string) error

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

// Check returns an error if this machine does not have the kernels.
func (m Maker) Check(v settings.Values, key string) error {
	if key == "kernels" {
		return m.Kernels(v.Text(key))
	}
	return nil
}

// FitsBeside reports whether a run fits into memory in addition to the given number of
// bytes.
func (Maker) FitsBeside(v settings.Values, held int64) bool {
	s := From(v)
	return s.fitsBeside(held)
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
	replicas := 1
	if s.Mode == Train {
		replicas = s.Replicas
	}
	model := &Model{}
	err := model.open(m, v, &s, replicas)
	if err == nil {
		err = model.prepare(ctx, &s)
	}
	if err != nil {
		model.Close()
		return nil, err
	}
	return model, nil
}

// Begin is New with a model, which it closes on an error.
func (m Maker) Begin(ctx context.Context, v settings.Values, in *Inputs, model *Model) (workload.Task, error) {
	s := From(v)
	if s.Mode == Predict {
		p, err := startPrediction(ctx, s, in, model, m)
		if err != nil {
			model.Close()
			return nil, err
		}
		return p, nil
	}
	t, err := startTraining(ctx, s, in, model)
	if err != nil {
		model.Close()
		return nil, err
	}
	t.leave = m.Trained
	return t, nil
}

// Model is a network with its variables on a device.
type Model struct {
	backend nn.Backend
	network *cyto.Network
	state   nn.State
	others  []nn.Backend // of further replicas
}

// open opens a device for each replica, which share the threads of the settings.
func (m *Model) open(maker Maker, v settings.Values, s *Settings, replicas int) (err error) {
	if replicas > 1 {
		if v, err = v.Set(settings.Threads, strconv.Itoa(share(s.Threads, replicas))); err != nil {
			return err
		}
	}
	if m.backend, err = maker.Open(v); err != nil {
		return err
	}
	for len(m.others) < replicas-1 {
		other, err := maker.Open(v)
		if err != nil {
			return err
		}
		m.others = append(m.others, other)
	}
	return nil
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
	for _, b := range append([]nn.Backend{m.backend}, m.others...) {
		b.SetThreads(share(threads, replicas))
	}
}

// notes describes replicas.
func (m *Model) notes() []string {
	if len(m.others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d replicas with %s each; their gradients are averaged", 1+len(m.others),
		unit.Plural(m.backend.Threads(), "thread", "threads"))}
}

func (m *Model) prepare(ctx context.Context, s *Settings) (err error) {
	if m.network, err = cyto.New(s.network()); err != nil {
		return err
	}
	variables, err := m.network.Model().InitialVariables(ctx)
	if err != nil {
		return err
	}
	m.state, err = m.backend.NewState(ctx, variables)
	return err
}

// Close frees the variables and the device.
func (m *Model) Close() {
	if m.state != nil {
		m.state.Close()
	}
	for _, b := range append([]nn.Backend{m.backend}, m.others...) {
		if b != nil {
			b.Close()
		}
	}
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

// startFrom gives the network the weights of a file, and returns lines for the log about it.
func (m *Model) startFrom(ctx context.Context, path string) (said []string, err error) {
	read, said, err := m.network.ReadWeights(ctx, path)
	if err != nil {
		return nil, err
	}
	return said, m.network.SetWeights(m.state, read)
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
