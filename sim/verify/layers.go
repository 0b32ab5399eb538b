package verify

import (
	"fmt"
	"slices"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// batchNorm checks a batch normalisation: training mode with its gradients and
// the running statistics after it, and evaluation with those before it. Eps and
// momentum are PyTorch's defaults (spec/prism.md §1.3).
func batchNorm(g group) error {
	x, err := g.takeReal(g.member("x"), 4)
	if err != nil {
		return err
	}
	gy, err := g.takeReal(g.member("gy"), 4)
	if err != nil {
		return err
	}
	channels := tensor.Shape{x.shape[1]}
	var perChannel [4]*array
	for i, member := range []string{"gamma", "beta", "rm0", "rv0"} {
		a, err := g.takeReal(g.member(member), 1)
		if err != nil {
			return err
		}
		if !a.shape.Equal(channels) {
			return fmt.Errorf("%s has the shape %v, x has %d channels", member, a.shape, x.shape[1])
		}
		perChannel[i] = a
	}
	if !gy.shape.Equal(x.shape) || x.shape.Elements()/x.shape[1] < 2 {
		return fmt.Errorf("x %v and gy %v: want one shape with two values per channel", x.shape, gy.shape)
	}
	if err := g.batchNormTraining(x, gy, perChannel); err != nil {
		return err
	}
	return g.batchNormEvaluation(x, perChannel)
}

func (g group) batchNormTraining(x, gy *array, perChannel [4]*array) error {
	gamma, beta, rm0, rv0 := perChannel[0], perChannel[1], perChannel[2], perChannel[3]
	var s script
	xb, gyb, gammab := s.operand(x), s.operand(gy), s.operand(gamma)
	rm, rv := s.operand(rm0), s.operand(rv0)
	y, mean, inverseStd := s.like(x), s.like(gamma), s.like(gamma)
	gx, ggamma, gbeta := s.like(x), s.like(gamma), s.like(gamma)
	s.step(nn.BatchNorm{Eps: bnEps, Momentum: bnMomentum, Train: true},
		[]nn.BufferID{xb, gammab, s.operand(beta), rm, rv}, y, mean, inverseStd, rm, rv)
	s.step(nn.BatchNormGrad{}, []nn.BufferID{xb, gyb, gammab, mean, inverseStd}, gx, ggamma, gbeta)
	values, err := s.run(g.backend, y, gx, ggamma, gbeta, rm, rv)
	if err != nil {
		return err
	}
	for i, member := range []string{"y", "gx", "ggamma", "gbeta", "rm1", "rv1"} {
		g.compare(g.member(member), values[i])
	}
	return nil
}

func (g group) batchNormEvaluation(x *array, perChannel [4]*array) error {
	var s script
	in := []nn.BufferID{s.operand(x)}
	for _, a := range perChannel {
		in = append(in, s.operand(a))
	}
	y := s.like(x)
	s.step(nn.BatchNorm{Eps: bnEps, Momentum: bnMomentum}, in, y)
	values, err := s.run(g.backend, y)
	if err != nil {
		return err
	}
	g.compare(g.member("yeval"), values[0])
	return nil
}

const (
	bnEps      = 1e-5
	bnMomentum = 0.1
)

// activationKinds are the activations by the names of their results.
var activationKinds = map[string]nn.ActivationKind{
	"relu": nn.ReLU, "leaky": nn.LeakyReLU, "sigmoid": nn.Sigmoid,
	"hardsigmoid": nn.HardSigmoid, "scalesigmoid": nn.ScaleSigmoid, "tanh": nn.Tanh,
}

// activations lists the functions whose results the case has.
func (g group) activations() []string {
	var names []string
	for name := range activationKinds {
		if g.holds(name + "_64") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// activation checks functions of x and their gradients for gy.
func activation(g group) error {
	pair, err := g.takeAll(g.member("x"), g.member("gy"))
	if err != nil {
		return err
	}
	x, gy := pair[0], pair[1]
	if x.complex || gy.complex || !x.shape.Equal(gy.shape) {
		return fmt.Errorf("x %v and gy %v: want real numbers of one shape", x.shape, gy.shape)
	}
	for _, name := range g.activations() {
		kind := activationKinds[name]
		var s script
		y, gx := s.like(x), s.like(x)
		s.step(nn.Activation{Kind: kind}, []nn.BufferID{s.operand(x)}, y)
		s.step(nn.ActivationGrad{Kind: kind}, []nn.BufferID{y, s.operand(gy)}, gx)
		values, err := s.run(g.backend, y, gx)
		if err != nil {
			return err
		}
		g.compare(g.member(name), values[0])
		g.compare(g.member(name+"_gx"), values[1])
	}
	return nil
}

// padding checks an image in the middle of a larger frame of zeros, the smaller
// half before it (spec/prism.md §1.4).
func padding(g group) error {
	x, err := g.takeReal(g.member("x"), 2)
	if err != nil {
		return err
	}
	y, err := g.takeReal(g.member("y"), 2)
	if err != nil {
		return err
	}
	top, left := (y.shape[0]-x.shape[0])/2, (y.shape[1]-x.shape[1])/2
	if y.shape[0] < x.shape[0] || y.shape[1] < x.shape[1] {
		return fmt.Errorf("x %v is larger than its frame %v", x.shape, y.shape)
	}
	var s script
	out := s.like(y)
	s.step(nn.Place{Top: top, Left: left}, []nn.BufferID{s.operand(x)}, out)
	values, err := s.run(g.backend, out)
	if err != nil {
		return err
	}
	g.exact(g.member("y"), values[0])
	return nil
}
