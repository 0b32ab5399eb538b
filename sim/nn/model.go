package nn

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"prismtop/sim/tensor"
)

// A Model is the registry of the arrays that outlive plans: parameters with their
// gradients and Adam moments, running statistics, the step counter and the
// gradient scaler. Several graphs declare their parameters in one Model, by name,
// and so share them; every plan of those graphs runs on one State.
type Model struct {
	seed      uint64
	amsgrad   bool
	sealed    bool
	variables []Variable
	inits     map[int]Init // of variables whose values have yet to be drawn
	index     map[string]int
	params    []*parameter
	byName    map[string]*parameter

	step, scale, good int
}

// parameter holds the variable indices of one trainable array.
type parameter struct {
	name               string
	value, grad        int
	moment, second, vm int // vm is −1 without AMSGrad
}

// The names of variables that belong to no parameter.
const (
	StepVariable  = "adam.step"    // Adam's step counter
	ScaleVariable = "scaler.scale" // the gradient scaler's factor
	GoodVariable  = "scaler.good"  // steps since the factor last changed
)

// InitialScale is the gradient scaler's first factor, PyTorch's default
// (spec/prism.md §5.7).
const InitialScale = 65536

// ModelOptions are fixed for the life of a model.
type ModelOptions struct {
	Seed    uint64 // of the initial parameters
	AMSGrad bool   // Adam keeps the running maximum of its second moments
}

// NewModel makes an empty registry.
func NewModel(o ModelOptions) *Model {
	m := &Model{seed: o.Seed, amsgrad: o.AMSGrad, inits: map[int]Init{}, index: map[string]int{},
		byName: map[string]*parameter{}}
	m.step = m.add(Variable{Name: StepVariable, Category: Moments})
	m.scale = m.add(Variable{Name: ScaleVariable, Category: Scratch, Initial: []float32{InitialScale}})
	m.good = m.add(Variable{Name: GoodVariable, Category: Scratch})
	return m
}

// Variables lists every array of the model, without the initial values of the
// parameters; a Variable's index is its position in the list. The model accepts no
// new parameters afterwards, because States are allocated from the list.
func (m *Model) Variables() []Variable {
	m.sealed = true
	return m.variables
}

// InitialVariables is Variables with the initial values, which every call draws
// again from the seed: they are needed only to create a State. It returns the error
// of ctx if that ends first.
func (m *Model) InitialVariables(ctx context.Context) ([]Variable, error) {
	const atOnce = 1 << 20 // numbers drawn between checks of the context
	all := slices.Clone(m.Variables())
	for i, init := range m.inits {
		v := &all[i]
		v.Initial = make([]float32, v.Shape.Elements())
		random := stream(m.seed, v.Name)
		for part := range slices.Chunk(v.Initial, atOnce) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			init(random, part)
		}
	}
	return all, nil
}

// Index finds a variable by its name: a parameter "conv0.weight", its
// "conv0.weight.grad", ".m", ".v" and with AMSGrad ".vmax", a running statistic
// "bn0.running_mean", or one of the constants above.
func (m *Model) Index(name string) (int, bool) { i, ok := m.index[name]; return i, ok }

// ParameterNames lists the trainable arrays in the order of their declaration.
func (m *Model) ParameterNames() []string {
	names := make([]string, len(m.params))
	for i, p := range m.params {
		names[i] = p.name
	}
	return names
}

// ParameterCount returns the number of trainable numbers.
func (m *Model) ParameterCount() int {
	n := 0
	for _, p := range m.params {
		n += m.variables[p.value].Shape.Elements()
	}
	return n
}

// ResetMoments resets Adam's moments and step counter to zero, as at the start of
// every sample (spec/prism.md §5.3). The gradient scaler, one per run, keeps its
// state.
func (m *Model) ResetMoments(ctx context.Context, s State) error {
	for i, v := range m.variables {
		if v.Category != Moments {
			continue
		}
		if err := s.Zero(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) add(v Variable) int {
	i := len(m.variables)
	m.variables = append(m.variables, v)
	m.index[v.Name] = i
	return i
}

// parameter returns the trainable array of that name, and declares it if needed.
func (m *Model) parameter(name string, shape tensor.Shape, init Init) (*parameter, error) {
	if p, ok := m.byName[name]; ok {
		if have := m.variables[p.value].Shape; !have.Equal(shape) {
			return nil, fmt.Errorf("parameter %q has shape %v, not %v", name, have, shape)
		}
		return p, nil
	}
	if err := m.free(name, shape); err != nil {
		return nil, err
	}
	p := &parameter{name: name, vm: -1}
	p.value = m.add(Variable{Name: name, Shape: shape, Category: Weights})
	m.inits[p.value] = init
	p.grad = m.add(Variable{Name: name + ".grad", Shape: shape, Category: Gradients})
	p.moment = m.add(Variable{Name: name + ".m", Shape: shape, Category: Moments})
	p.second = m.add(Variable{Name: name + ".v", Shape: shape, Category: Moments})
	if m.amsgrad {
		p.vm = m.add(Variable{Name: name + ".vmax", Shape: shape, Category: Moments})
	}
	m.params = append(m.params, p)
	m.byName[name] = p
	return p, nil
}

// statistic returns the variable of that name, which gets no gradient.
func (m *Model) statistic(name string, shape tensor.Shape, init Init) (int, error) {
	if i, ok := m.index[name]; ok {
		if have := m.variables[i].Shape; !have.Equal(shape) {
			return 0, fmt.Errorf("statistic %q has shape %v, not %v", name, have, shape)
		}
		return i, nil
	}
	if err := m.free(name, shape); err != nil {
		return 0, err
	}
	i := m.add(Variable{Name: name, Shape: shape, Category: Weights})
	m.inits[i] = init
	return i, nil
}

// free reports whether a variable of that name and shape can be declared.
func (m *Model) free(name string, shape tensor.Shape) error {
	if _, taken := m.index[name]; taken {
		return fmt.Errorf("parameter %q: the name is taken", name)
	}
	if m.sealed {
		return fmt.Errorf("parameter %q: declared after the model's variables were listed", name)
	}
	for _, d := range shape {
		if d < 1 {
			return fmt.Errorf("parameter %q: shape %v has an empty axis", name, shape)
		}
	}
	return nil
}

// Init fills a parameter with its initial values. Each parameter has its own
// generator, seeded by the model's seed and the parameter's name, so that a layer
// starts from the same numbers whatever else the network contains. A long
// parameter is filled part by part, in order.
type Init func(r *rand.Rand, dst []float32)

// Constant sets every element to v.
func Constant(v float32) Init {
	return func(_ *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = v
		}
	}
}

// Normal draws from the normal distribution of mean 0 and variance 1.
func Normal() Init {
	return func(r *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = float32(r.NormFloat64())
		}
	}
}

// FanInUniform draws from U(−b, b) with b = 1/√fanIn, PyTorch's default for the
// weights and biases of convolutions (spec/prism.md §1.3). fanIn is in·k² for
// Conv2D and out·k² for ConvTranspose2D.
func FanInUniform(fanIn int) Init {
	b := 1 / math.Sqrt(float64(fanIn))
	return func(r *rand.Rand, dst []float32) {
		for i := range dst {
			dst[i] = float32((2*r.Float64() - 1) * b)
		}
	}
}

// stream returns the generator of one parameter.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
