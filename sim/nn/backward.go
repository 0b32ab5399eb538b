package nn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"prismtop/sim/tensor"
)

// backward is reverse-mode differentiation over the tape: each forward step, last
// first, turns the gradient of its result into gradients of its operands. A
// buffer with several consumers gets the sum of their gradients.
type backward struct {
	c     *compiler
	given map[BufferID][]BufferID // gradients contributed by a buffer's consumers
	bound map[BufferID]bool       // gradients bound to variables
	fused *updates                // for weights whose gradients are not stored, or nil
}

// update emits the gradients of the loss and the optimiser's steps.
func (c *compiler) update(ctx context.Context, loss BufferID) error {
	if !c.reached[loss] {
		return errors.New("no parameter leads to the loss")
	}
	b := &backward{c: c, given: map[BufferID][]BufferID{}, bound: map[BufferID]bool{}}
	scaler := c.newScaler()
	b.updatesAtOnce(scaler)
	b.seed(loss, scaler)
	for i := len(c.tape) - 1; i >= 0; i-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := &c.tape[i]
		if !b.reaches(t) {
			continue
		}
		if err := t.op.backward(b, t, b.gradient(t, 0)); err != nil {
			return fmt.Errorf("%s: %s %w", t.layer, t.op.opName(), err)
		}
	}
	parameters := b.parameters()
	if !c.options.GradientsOnly {
		c.optimize(parameters, scaler, b.fused)
	}
	return nil
}

// reaches reports whether a result of a step has a gradient.
func (b *backward) reaches(t *taped) bool {
	for _, x := range t.out[:t.results] {
		if len(b.given[x]) > 0 {
			return true
		}
	}
	return false
}

// gradient returns the gradient of a step's result, zeros if there is none.
func (b *backward) gradient(t *taped, result int) BufferID {
	x := t.out[result]
	if len(b.given[x]) == 0 {
		return b.emit(t, Fill{}, nil, b.like(x))
	}
	return b.sum(x, t.layer)
}

// seed emits the gradient of the loss by itself: 1, or the scaler's factor.
func (b *backward) seed(loss BufferID, s *scaler) {
	var in []BufferID
	if s != nil {
		in = []BufferID{s.scale}
	}
	t := &taped{}
	b.give(loss, b.emit(t, Seed{Weight: 1}, in, spec{nil, tensor.Float32}))
}

// wants reports whether a parameter is upstream of x.
func (b *backward) wants(x BufferID) bool { return b.c.reached[x] }

// give adds a term to the gradient of x, if x needs one.
func (b *backward) give(x, gradient BufferID) {
	if b.wants(x) {
		b.given[x] = append(b.given[x], gradient)
	}
}

func (b *backward) spec(x BufferID) spec          { return b.c.spec(x) }
func (b *backward) shape(x BufferID) tensor.Shape { return b.c.spec(x).shape }

// like returns the spec of x's gradient: the shape and type of x.
func (b *backward) like(x BufferID) spec { return b.c.spec(x) }

// float32Like returns the spec of a gradient that mixed precision keeps in
// float32.
func (b *backward) float32Like(x BufferID) spec { return spec{b.shape(x), tensor.Float32} }

// emit appends a step with one new result.
func (b *backward) emit(t *taped, op Op, in []BufferID, out spec) BufferID {
	return b.emitAll(t, op, in, out)[0]
}

// emitAll appends a step with new results.
func (b *backward) emitAll(t *taped, op Op, in []BufferID, out ...spec) []BufferID {
	what := op.opName()
	if _, seed := op.(Seed); !seed && !strings.HasSuffix(what, "grad") && !strings.HasSuffix(what, " dX") &&
		!strings.HasSuffix(what, " dW") {
		what += " grad"
	}
	name := b.c.name(t.layer, what)
	ids := make([]BufferID, len(out))
	for i, s := range out {
		ids[i] = b.c.allocate(Buffer{Name: name, Shape: s.shape, DType: s.dtype, Category: Gradients, Variable: -1})
	}
	b.c.step(name, op, PhaseBackward, in, ids)
	return ids
}

// sum returns the gradient of x: the sum of its consumers' gradients. If their
// types differ the sum is float32.
func (b *backward) sum(x BufferID, layer string) BufferID {
	given := b.given[x]
	if len(given) == 1 {
		return given[0]
	}
	t := &taped{layer: layer}
	specs := b.c.plan.specs(given)
	for i := range given {
		if want := widest.operandType(specs, i, tensor.Float32); want != specs[i].dtype {
			given[i] = b.emit(t, Cast{}, []BufferID{given[i]}, spec{specs[i].shape, want})
		}
	}
	return b.emit(t, Add{}, given, b.spec(given[0]))
}

// parameters returns every parameter reached by a gradient, and its gradient as
// the model's variable.
func (b *backward) parameters() []trained {
	var all []trained
	for v, value := range b.c.graph.values {
		id, used := b.c.buffers[v]
		if value.source != fromParameter || !used || len(b.given[id]) == 0 {
			continue
		}
		g := b.bind(b.sum(id, value.name), value.parameter.grad, value.name)
		all = append(all, trained{parameter: value.parameter, value: id, gradient: g})
	}
	return all
}

// bind binds the buffer of a gradient to the gradient's variable. A buffer that
// is already bound, or of another type, is copied.
func (b *backward) bind(g BufferID, variable int, name string) BufferID {
	if b.bound[g] || b.spec(g).dtype != tensor.Float32 {
		op := Op(Cast{})
		if b.spec(g).dtype == tensor.Float32 {
			op = Scale{Factor: 1}
		}
		g = b.emit(&taped{layer: name}, op, []BufferID{g}, spec{b.shape(g), tensor.Float32})
	}
	b.bound[g] = true
	v := b.c.graph.model.variables[variable]
	buffer := &b.c.plan.Buffers[g]
	buffer.Name, buffer.Category, buffer.Variable = v.Name, v.Category, variable
	return g
}
