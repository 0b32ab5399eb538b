package verify

import (
	"fmt"
	"strings"

	"prismtop/sim/nn"
)

// Adam's constants in the reference vectors: PyTorch's defaults
// (spec/prism.md §5.4).
const adamRate = 1e-3

// adam checks the optimiser: parameters after every step, moments at the end.
// Its results have names like adam.p and amsgrad.p: "ams" in the name marks the
// second kind.
func adam(c *checker) error {
	if !c.has("p0") || !c.has("grads") {
		return nil
	}
	p0, err := c.takeReal("p0", 1)
	if err != nil {
		return err
	}
	grads, err := c.takeReal("grads", 2)
	if err != nil {
		return err
	}
	if grads.shape[1] != p0.shape[0] {
		return fmt.Errorf("grads %v for %d parameters", grads.shape, p0.shape[0])
	}
	for _, name := range c.suffixed(".p_64") {
		c.run("Adam", name, func() error {
			p, m, v, err := c.adamSteps(p0, grads, strings.Contains(strings.ToLower(name), "ams"))
			if err != nil {
				return err
			}
			c.compare(name+".p", p)
			c.compare(name+".m", m)
			c.compare(name+".v", v)
			return nil
		})
	}
	return nil
}

// adamSteps runs Adam once for each row of gradients. It returns the parameters
// after each step and the last moments.
func (c *checker) adamSteps(p0, grads *array, amsgrad bool) (history, m, v []float32, err error) {
	var s script
	g, lr, step, p := s.like(p0), s.scalar(adamRate), s.scalar(0), s.operand(p0)
	out := []nn.BufferID{p, s.zeros(p0), s.zeros(p0)}
	if amsgrad {
		out = append(out, s.zeros(p0))
	}
	s.step(nn.AdamStep{}, []nn.BufferID{step}, step)
	o := nn.DefaultAdam
	s.step(nn.Adam{Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, AMSGrad: amsgrad},
		append([]nn.BufferID{g, lr, step}, out...), out...)
	session, err := s.load(c.backend)
	if err != nil {
		return nil, nil, nil, err
	}
	defer session.close()
	all, n := grads.float32s(), p0.shape[0]
	for k := range grads.shape[0] {
		session.executable.Write(g, all[k*n:][:n])
		if err := session.run(nn.SegmentForward); err != nil {
			return nil, nil, nil, err
		}
		history = append(history, session.read(p)...)
	}
	return history, session.read(out[1]), session.read(out[2]), nil
}

// zeros returns an operand of zeros in an array's shape.
func (s *script) zeros(a *array) nn.BufferID {
	z := *a
	z.values = make([]float64, len(a.values))
	return s.operand(&z)
}
