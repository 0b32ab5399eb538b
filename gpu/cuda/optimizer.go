package cuda

import (
	"slices"
	"strconv"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Adam and the gradient scaler: the updates of a segment, launched together at its end, and
// the chunks into which a launch divides arrays.

// update is one parameter array that Adam updates at the end of a segment.
type update struct {
	Gradient, Value, Moment, Second, Most driver.Pointer // Most is 0 without AMSGrad
	N                                     int64

	op                nn.Adam
	rate, step, found driver.Pointer // found is 0 without a gradient scaler
	index             int            // of the plan's step
}

// updateP is Update of optimizer.cu.
type updateP struct {
	Gradient, Value, Moment, Second, Most driver.Pointer
	N                                     int64
}

// adamP is AdamP of adam.h.
type adamP struct {
	Updates, Chunks              driver.Pointer
	Rate, Step, Found            driver.Pointer
	Beta1, Beta2                 float64
	Beta1f, Rate1, Beta2f, Rate2 float32
	Eps, Decay                   float32
}

// update collects an Adam update with a gradient that stays where it is until the end of the segment. scalars are the
// learning rate, the step counter and with a gradient scaler found; state is p, m, v and with AMSGrad vmax, which the
// current step must have in place.
func (b *builder) update(op nn.Adam, gradient driver.Pointer, scalars, state []operand) error {
	if err := mustBe(tensor.Float32, scalars...); err != nil {
		return err
	}
	u := update{Gradient: gradient, Value: state[0].at, Moment: state[1].at, Second: state[2].at, N: state[0].n(),
		op: op, rate: scalars[0].at, step: scalars[1].at, index: b.index}
	if op.AMSGrad {
		u.Most = state[3].at
	}
	if op.Scaler {
		u.found = scalars[2].at
	}
	b.adams = append(b.adams, u)
	return nil
}

func (b *builder) adam(op nn.Adam) error {
	in, out := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, in[0]); err != nil {
		return err
	}
	return b.update(op, in[0].at, slices.Concat(in[1:3], in[3+len(out):]), out)
}

// flushUpdates launches the collected steps and updates.
func (b *builder) flushUpdates() error {
	if err := b.flushProgram(); err != nil {
		return err
	}
	if err := b.flushUnscaled(); err != nil {
		return err
	}
	if err := b.flushSums(); err != nil {
		return err
	}
	for all := b.adams; len(all) > 0; {
		n := 1
		for n < len(all) && all[n].alike(&all[0]) {
			n++
		}
		if err := b.launchUpdates(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	b.adams = nil
	return nil
}

// alike reports whether updates can share a launch.
func (u *update) alike(v *update) bool {
	return u.op == v.op && u.rate == v.rate && u.step == v.step && u.found == v.found
}

// launchUpdates launches updates that are alike.
func (b *builder) launchUpdates(all []update) error {
	arrays, sizes := make([]updateP, len(all)), make([]int64, len(all))
	for i, u := range all {
		arrays[i] = updateP{u.Gradient, u.Value, u.Moment, u.Second, u.Most, u.N}
		sizes[i] = u.N
	}
	u := all[0]
	p := adamParameter(u.op, u.rate, u.step, u.found)
	p.Updates = b.table(structs(arrays))
	var blocks int
	p.Chunks, blocks = b.chunks(sizes)
	name := "adam_update"
	if u.op.AMSGrad {
		name = "adam_most"
	}
	return b.launchFor(u.index, u.index, true, name, blocks, parameter(&p))
}

// adamParameter returns what the kernels need besides the arrays.
func adamParameter(op nn.Adam, rate, step, found driver.Pointer) adamP {
	beta1, beta2 := decimal(op.Beta1), decimal(op.Beta2)
	return adamP{Rate: rate, Step: step, Found: found, Beta1: beta1, Beta2: beta2,
		Beta1f: float32(beta1), Rate1: float32(1 - beta1), Beta2f: float32(beta2), Rate2: float32(1 - beta2),
		Eps: op.Eps, Decay: op.Decay}
}

// settle launches the collected updates before a step that reads what they write, or writes what they read.
func (b *builder) settle() error {
	for i := range b.adams {
		u := &b.adams[i]
		array := func(at driver.Pointer, n int64) operand { return operand{at, tensor.Shape{int(n)}, tensor.Float32} }
		written := []operand{array(u.Value, u.N), array(u.Moment, u.N), array(u.Second, u.N)}
		if u.Most != 0 {
			written = append(written, array(u.Most, u.N))
		}
		read := append(written, array(u.Gradient, u.N), array(u.rate, 1), array(u.step, 1))
		if u.found != 0 {
			read = append(read, array(u.found, 1))
		}
		if anyOverlap(b.ins(), written) || anyOverlap(b.outs(), read) {
			return b.flushUpdates()
		}
	}
	return nil
}

// anyOverlap reports whether operands of two lists share memory.
func anyOverlap(x, y []operand) bool {
	for _, o := range x {
		if slices.ContainsFunc(y, o.overlaps) {
			return true
		}
	}
	return false
}

// decimal recovers the decimal value of a float32 constant: 0.999, not 0.99900001. Without
// it the bias corrections 1−β^k lose five digits.
func decimal(x float32) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	if err != nil {
		return float64(x)
	}
	return v
}

// gradientP is Gradient of optimizer.cu.
type gradientP struct {
	G driver.Pointer
	N int64
}

// unscaleP is UnscaleP of optimizer.cu.
type unscaleP struct{ Gradients, Chunks, Scale, Found driver.Pointer }

// unscaled collects gradients that one launch divides by the gradient scaler's scale.
type unscaled struct {
	p           unscaleP
	arrays      []gradientP
	first, last int // steps
}

// unscaleGradient collects a gradient.
func (b *builder) unscaleGradient() error {
	x := b.ins()
	if err := mustBe(tensor.Float32, x...); err != nil {
		return err
	}
	if err := b.flushProgram(); err != nil {
		return err
	}
	u, with := &b.unscaled, unscaleP{Scale: x[1].at, Found: x[2].at}
	if len(u.arrays) > 0 && with != u.p {
		if err := b.flushUnscaled(); err != nil {
			return err
		}
	}
	if len(u.arrays) == 0 {
		u.p, u.first = with, b.index
	}
	u.arrays, u.last = append(u.arrays, gradientP{x[0].at, x[0].n()}), b.index
	return nil
}

// flushUnscaled launches what was collected.
func (b *builder) flushUnscaled() error {
	u := b.unscaled
	if len(u.arrays) == 0 {
		return nil
	}
	b.unscaled = unscaled{}
	sizes := make([]int64, len(u.arrays))
	for i, g := range u.arrays {
		sizes[i] = g.N
	}
	var blocks int
	u.p.Gradients = b.table(structs(u.arrays))
	u.p.Chunks, blocks = b.chunks(sizes)
	return b.launchFor(u.first, u.last, false, "unscale", blocks, parameter(&u.p))
}

// launchFor launches a kernel of blockThreads threads for steps that may lie before the current one. joins makes it
// wait for the second lane, whatever these steps read and write.
func (b *builder) launchFor(first, last int, joins bool, name string, blocks int, parameter []byte) error {
	index, aside := b.index, b.aside
	b.index, b.aside = last, false
	before := len(b.launches)
	err := b.launch(name, driver.X(blocks), driver.X(blockThreads), 0, parameter)
	b.index, b.aside = index, aside
	if err == nil && len(b.launches) > before {
		l := &b.launches[len(b.launches)-1]
		l.first, l.joins = first, joins
	}
	return err
}

// chunk is Chunk of optimizer.cu: part of one of the arrays that a launch has.
type chunk struct{ Array, N int32 }

// chunkSize is CHUNK of optimizer.cu.
const chunkSize = 2048

// chunks returns a table of the chunks of arrays of these sizes, and their number.
func (b *builder) chunks(sizes []int64) (driver.Pointer, int) {
	var all []chunk
	for i, n := range sizes {
		for k := range (n + chunkSize - 1) / chunkSize {
			all = append(all, chunk{int32(i), int32(k)})
		}
	}
	return b.table(structs(all)), len(all)
}
