package verify

import (
	"errors"
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// convCase is a convolution with its operands and gradients. Images are NCHW.
type convCase struct {
	x, w, b, gy            *array // b is nil without bias
	stride, pad, outputPad int
	y, gx, gw, gb          []float32
	transposed             bool
}

// convolution checks a conv2d or conv_transpose2d. The shapes decide which:
// conv2d weights are [out, in, kh, kw] and transposed ones [in, out, kh, kw]. If
// both fit, as with equal channels and a 3×3 kernel with padding 1, the one whose
// output is closer to y_64 is chosen.
func convolution(g group) error {
	c, err := g.readConv()
	if err != nil {
		return err
	}
	plain, transposed := c.fitsPlain(), c.fitsTransposed()
	if !plain && !transposed {
		return fmt.Errorf("x %v, w %v and gy %v under stride %d, padding %d, output padding %d are neither conv2d nor "+
			"conv_transpose2d",
			c.x.shape, c.w.shape, c.gy.shape, c.stride, c.pad, c.outputPad)
	}
	c.transposed = transposed
	if err := c.compute(g.backend); err != nil {
		return err
	}
	if plain && transposed {
		other := c
		other.transposed = false
		if err := other.compute(g.backend); err != nil {
			return err
		}
		if truth := g.arrays[g.member("y_64")]; truth != nil && farthest(truth, other.y) < farthest(truth, c.y) {
			c = other
		}
	}
	g.compare(g.member("y"), c.y)
	g.compare(g.member("gx"), c.gx)
	g.compare(g.member("gw"), c.gw)
	if c.b != nil {
		g.compare(g.member("gb"), c.gb)
	}
	return nil
}

func (g group) readConv() (convCase, error) {
	var c convCase
	var err error
	if c.x, err = g.takeReal(g.member("x"), 4); err != nil {
		return c, err
	}
	if c.w, err = g.takeReal(g.member("w"), 4); err != nil {
		return c, err
	}
	if c.gy, err = g.takeReal(g.member("gy"), 4); err != nil {
		return c, err
	}
	if g.holds("b") {
		if c.b, err = g.takeReal(g.member("b"), 1); err != nil {
			return c, err
		}
		if c.b.shape[0] != c.gy.shape[1] {
			return c, fmt.Errorf("bias %v for %d channels", c.b.shape, c.gy.shape[1])
		}
	}
	geom, err := g.takeReal(g.member("geom"), 1)
	if err != nil {
		return c, err
	}
	if len(geom.values) != 3 {
		return c, errors.New("geom: must be stride, padding, output padding")
	}
	const most = 1 << 10 // larger than any image here
	for i, least := range []float64{1, 0, 0} {
		if v := geom.values[i]; !(v >= least && v <= most) {
			return c, fmt.Errorf("geom: %v: must be stride, padding, output padding", geom.values)
		}
	}
	c.stride, c.pad, c.outputPad = int(geom.values[0]), int(geom.values[1]), int(geom.values[2])
	return c, nil
}

func (c *convCase) fitsPlain() bool {
	x, w, y := c.x.shape, c.w.shape, c.gy.shape
	side := func(axis int) bool {
		free := x[axis] + 2*c.pad - w[axis]
		return free >= 0 && y[axis] == free/c.stride+1
	}
	return c.outputPad == 0 && x[0] == y[0] && w[1] == x[1] && w[0] == y[1] && side(2) && side(3)
}

func (c *convCase) fitsTransposed() bool {
	x, w, y := c.x.shape, c.w.shape, c.gy.shape
	side := func(axis int) bool {
		return y[axis] == (x[axis]-1)*c.stride-2*c.pad+w[axis]+c.outputPad
	}
	return (c.outputPad == 0 || c.outputPad < c.stride) && x[0] == y[0] && w[0] == x[1] && w[1] == y[1] && side(2) &&
		side(3)
}

// compute runs the layer and its gradients.
func (c *convCase) compute(backend device) error {
	var forward, gradInput, gradWeight nn.Op = nn.Conv2D{Stride: c.stride, Pad: c.pad},
		nn.Conv2DGradInput{Stride: c.stride, Pad: c.pad}, nn.Conv2DGradWeight{Stride: c.stride, Pad: c.pad}
	if c.transposed {
		forward = nn.ConvTranspose2D{Stride: c.stride, Pad: c.pad, OutputPad: c.outputPad}
		gradInput = nn.ConvTranspose2DGradInput{Stride: c.stride, Pad: c.pad}
		gradWeight = nn.ConvTranspose2DGradWeight{Stride: c.stride, Pad: c.pad}
	}
	var s script
	x, w, gy := s.operand(c.x), s.operand(c.w), s.operand(c.gy)
	y, gx, gw := s.like(c.gy), s.like(c.x), s.like(c.w)
	in := []nn.BufferID{x, w}
	results := []nn.BufferID{y, gx, gw}
	if c.b != nil {
		in = append(in, s.operand(c.b))
		gb := s.result(tensor.Float32, c.b.shape...)
		s.step(nn.BiasGrad{}, []nn.BufferID{gy}, gb)
		results = append(results, gb)
	}
	s.step(forward, in, y)
	s.step(gradInput, []nn.BufferID{gy, w}, gx)
	s.step(gradWeight, []nn.BufferID{x, gy}, gw)
	values, err := s.run(backend, results...)
	if err != nil {
		return err
	}
	c.y, c.gx, c.gw = values[0], values[1], values[2]
	if c.b != nil {
		c.gb = values[3]
	}
	return nil
}

// farthest returns the largest difference of a result from an array; infinite if
// their sizes differ.
func farthest(truth *array, got []float32) float64 {
	if len(truth.values) != len(got) {
		return inf
	}
	m := 0.0
	for i := 0; i < len(got); i += truth.step() {
		m = maxOrNaN(m, distance(truth, i, func(k int) float64 { return float64(got[k]) }))
	}
	return m
}
