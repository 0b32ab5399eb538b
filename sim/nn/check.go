package nn

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prismtop/sim/tensor"
)

// The check of a plan's operands: of operators that graphs have by what they infer, of the others by a form.

// Check checks that the operands of every step fit its operator: their number and shapes, and which are complex or
// updated in place. Compile makes no others. A backend checks a plan before it binds it, and relies on that; which
// element types its kernels take is its own matter. The error names the step.
func (p *Plan) Check() error {
	for i := range p.Steps {
		s := &p.Steps[i]
		if err := p.checkStep(s); err != nil {
			return fmt.Errorf("step %d %q (%T): %w", i, s.Name, s.Op, err)
		}
	}
	return nil
}

func (p *Plan) checkStep(s *Step) error {
	for _, id := range slices.Concat(s.In, s.Out) {
		if id < 0 || int(id) >= len(p.Buffers) {
			return fmt.Errorf("no buffer %d", id)
		}
	}
	if s.Op == nil {
		return errors.New("no operator")
	}
	in, out := p.specs(s.In), p.specs(s.Out)
	if form, fits := ruleOf(s.Op, len(in)); form != "" {
		if err := match(form, s, in, out); err != nil || fits == nil {
			return err
		}
		return fits(in, out)
	}
	o, ok := s.Op.(operator)
	if !ok {
		return nil
	}
	for i, x := range in {
		if x.dtype == tensor.Complex64 && !takesComplex(o, i) {
			return fmt.Errorf("operand %d is complex", i)
		}
	}
	want, err := o.infer(in)
	if err != nil {
		return err
	}
	return sameResults(want, s, out)
}

// takesComplex reports whether operand i of an operator that a graph has may be complex.
func takesComplex(o operator, i int) bool {
	switch o.(type) {
	case Add, Scale:
		return true
	case MaskMultiply, ModulusFlip, Intensity, ProbeMultiply, DivideByCoverage:
		return i == 0
	}
	return false
}

// sameResults checks the results of an operator that a graph has.
func sameResults(want []result, s *Step, out []spec) error {
	if len(out) != len(want) {
		return fmt.Errorf("has %d results, not %d", len(out), len(want))
	}
	for i, w := range want {
		switch {
		case w.inPlace && (s.Out[i] != s.In[w.operand] || out[i].dtype != tensor.Float32):
			return fmt.Errorf("result %d is not operand %d, float32 and updated in place", i, w.operand)
		case !sameShape(w.shape, out[i].shape) || w.reals() != out[i].reals():
			return fmt.Errorf("makes %v %v, not %v %v", w.dtype, w.shape, out[i].dtype, out[i].shape)
		}
	}
	return nil
}

// sameShape reports whether shapes are equal, or both of a scalar.
func sameShape(a, b tensor.Shape) bool {
	return a.Equal(b) || a.Elements() == 1 && b.Elements() == 1
}

// gives checks that an operator's first result for operands would have the shape of y.
func gives(o operator, y spec, in ...spec) error {
	r, err := o.infer(in)
	if err == nil && !sameShape(r[0].shape, y.shape) {
		err = fmt.Errorf("operands of %v and %v do not fit %v", in[0].shape, in[len(in)-1].shape, y.shape)
	}
	return err
}

// match checks the operands and results of a step against a form, which has a word for each: a letter or digit for
// every axis, "." for any number of leading ones, "s" for a scalar, "_" for any shape. A letter is the same number in
// all of them. A type may follow a colon: f for float32, z for complex64, and ? for any; other words are of real
// numbers. "!2" at the end means operand 2, updated in place.
func match(form string, s *Step, in, out []spec) error {
	before, after, _ := strings.Cut(form, "->")
	operands, results := strings.Fields(before), strings.Fields(after)
	if len(in) != len(operands) || len(out) != len(results) {
		return fmt.Errorf("has %d operands and %d results, not %d and %d", len(in), len(out), len(operands),
			len(results))
	}
	axes := map[rune]tensor.Shape{}
	for i, word := range slices.Concat(operands, results) {
		word, place, inPlace := strings.Cut(word, "!")
		if of, err := strconv.Atoi(place); inPlace && (err != nil || s.Out[i-len(in)] != s.In[of]) {
			return fmt.Errorf("result %d is not operand %s, updated in place", i-len(in), place)
		}
		x := slices.Concat(in, out)[i]
		shape, kind, _ := strings.Cut(word, ":")
		if !matchShape(axes, shape, x.shape) || !matchType(kind, x) {
			return fmt.Errorf("operands do not fit: %v %v where %s is %s", x.dtype, x.shape, form, word)
		}
	}
	return nil
}

// matchShape matches a shape with the axes of a word, and keeps their numbers.
func matchShape(axes map[rune]tensor.Shape, word string, shape tensor.Shape) bool {
	switch word {
	case "_":
		return true
	case "s":
		return shape.Elements() == 1
	}
	trailing := len(strings.TrimPrefix(word, "."))
	leading := len(shape) - trailing
	if leading < 0 || leading > 0 && trailing == len(word) || shape.Elements() < 1 {
		return false
	}
	for _, axis := range word {
		part := shape[:leading]
		if axis != '.' {
			part = shape[leading : leading+1]
			leading++
		}
		have, known := axes[axis]
		if axis >= '0' && axis <= '9' {
			have, known = tensor.Shape{int(axis - '0')}, true
		}
		if known && !have.Equal(part) {
			return false
		}
		axes[axis] = part
	}
	return true
}

// matchType matches an element type.
func matchType(kind string, x spec) bool {
	switch kind {
	case "f":
		return x.dtype == tensor.Float32
	case "z":
		return x.dtype == tensor.Complex64
	case "?":
		return true
	}
	return x.dtype != tensor.Complex64
}

// repeated returns a word n times.
func repeated(word string, n int) string { return strings.Repeat(" "+word, max(n, 0)) }

// when returns a word if it is wanted.
func when(wanted bool, word string) string {
	if wanted {
		return word
	}
	return ""
}

// updated returns the words of arrays that an Adam updates, from operand first on.
func (o Adam) updated(word string, first int) string {
	words := ""
	for i := range o.arrays() {
		words += fmt.Sprintf(" %s:f!%d", word, first+i)
	}
	return words
}

// arrays is the number of arrays that an Adam updates.
func (o Adam) arrays() int {
	if o.AMSGrad {
		return 4
	}
	return 3
}

// ruleOf returns the form of an operator with a number of operands, and what else must hold if that is matched; "" for
// an operator of which a backend may know more.
func ruleOf(op Op, operands int) (form string, fits func(in, out []spec) error) {
	switch op := op.(type) {
	case FFT:
		return ".hw:? -> .hw:?", func(in, out []spec) error {
			return unless(in[0].reals()+out[0].reals() > 2, "of real numbers makes complex ones")
		}
	case Conv2DGradInput:
		return "_ _ -> _", func(in, out []spec) error {
			return gives(Conv2D{Stride: op.Stride, Pad: op.Pad}, in[0], out[0], in[1])
		}
	case Conv2DGradWeight:
		return "_ _ -> _", func(in, out []spec) error {
			return gives(Conv2D{Stride: op.Stride, Pad: op.Pad}, in[1], in[0], out[0])
		}
	case ConvTranspose2DGradInput:
		return "_ _ -> _", func(in, out []spec) error {
			return gives(Conv2D{Stride: op.Stride, Pad: op.Pad}, out[0], in[0], in[1])
		}
	case ConvTranspose2DGradWeight:
		return "_ _ -> _", func(in, out []spec) error {
			return gives(Conv2D{Stride: op.Stride, Pad: op.Pad}, in[0], in[1], out[0])
		}
	case ConvAdam:
		n := op.Update.arrays()
		return "_ _ s s" + repeated("_:f", n) + when(op.GradInput, repeated("_", operands-4-n)) + " -> " +
			op.Update.updated("_", 4) + when(op.GradInput, " _"), op.fits
	case BiasGrad:
		return "nchw -> c", nil
	case BatchNormGrad:
		return "nchw nchw c c c" + when(op.ReLU, " c") + " -> nchw c c", nil
	case ActivationGrad:
		return ". . -> .", func(_, _ []spec) error { return op.Kind.check() }
	case SoftplusGrad, SwishGrad:
		return ". . -> .", nil
	case Place:
		return ".hw -> .ij", nil
	case Channels:
		return "nchw -> nkhw", func(in, out []spec) error {
			return unless(op.From >= 0 && op.From+out[0].shape[1] <= in[0].shape[1], "of channels that are not there")
		}
	case ModulusFlipGrad, IntensityGrad:
		return ".hw:z .hw -> .hw:z", nil
	case LossGrad:
		return ". . n s -> .", func(in, out []spec) error {
			r, err := Loss(op).infer(in[:2])
			if err != nil {
				return err
			}
			return unless(r[1].shape.Equal(in[2].shape), "of what another loss saved")
		}
	case Seed:
		return when(operands > 0, "s") + " -> s", nil
	case Unscale:
		return ". s s -> .:f!0 s:f!2", nil
	case Fill:
		return "-> .", nil
	case AdamStep:
		return "s" + when(operands > 1, " s") + " -> s:f!0", nil
	case Adam:
		return ". s s" + repeated(".:f", op.arrays()) + when(op.Scaler, " s") + " -> " + op.updated(".", 3), nil
	case ScalerUpdate:
		return "s s s -> s:f!1 s:f!2", nil
	case Conv3DGradInput:
		return "_ _ -> _", func(in, out []spec) error {
			w, x := in[1].shape, slices.Clone(out[0].shape)
			if len(w) < 4 || len(x) != 5 || op.First < 0 || op.First+x[4] > w[1] {
				return fmt.Errorf("channels from %d of weights %v are not those of %v", op.First, w, x)
			}
			x[4] = w[1]
			return gives(Conv3D{Stride: op.Stride}, in[0], in[1], spec{x, out[0].dtype})
		}
	case Conv3DGradWeight:
		return "ndhwo" + repeated("_", max(operands-1, 1)) + " -> _" + when(op.Bias, " o"), func(in, out []spec) error {
			return gives(Conv3D{Stride: op.Stride}, in[0], append([]spec{out[0]}, in[1:]...)...)
		}
	case ConvTranspose3DGradInput:
		return "_ _ -> _", func(in, out []spec) error { return gives(ConvTranspose3D{}, in[0], out[0], in[1]) }
	case ConvTranspose3DGradWeight:
		return "_ _ -> _", func(in, out []spec) error { return gives(ConvTranspose3D{}, in[1], in[0], out[0]) }
	case InstanceNormGrad:
		return "ndhwc ndhwc ndhwc c nc nc -> ndhwc c c" + when(op.Residual, " ndhwc"), func(_, _ []spec) error {
			return unless(op.Slope > 0 && op.Slope <= 1, "with a slope that is not from 0 to 1")
		}
	case DiceBCEGrad:
		return ". . n2 2 -> .", func(in, out []spec) error {
			return unless(len(in[0].shape) > 0 && in[0].shape[0] == in[2].shape[0], "of other items than its factors")
		}
	case SquaredErrorGrad:
		return ". . s -> .", nil
	case PoissonLossGrad:
		return ". . s -> .", func(_, _ []spec) error { return unless(op.Epsilon > 0, "without an epsilon") }
	case PolarGrad:
		return ". . .:z -> . .", nil
	case SumPatches:
		return "bcnn:z bc2 -> b1mm:z", func(in, out []spec) error { return centred(out[0], in[0]) }
	case ExtractPatches:
		return "b1mm:z bc2 -> bcnn:z", func(in, out []spec) error { return centred(in[0], out[0]) }
	case ExpScaleGrad:
		return ". . -> s", nil
	case MeasureGrad:
		return "_ n n" + repeated("hw", max(operands-3, 1)) + " -> .hw", func(in, out []spec) error {
			return op.fits(in, out, in[1].shape[0], len(in)-3)
		}
	case AmplitudesGrad:
		n, masks := len(op.Apertures), op.Masks()
		return "_" + repeated(".hw", n) + repeated("hw", masks) + " -> .hw", func(in, out []spec) error {
			return op.fits(in, out, masks, masks)
		}
	case ElementGrad:
		return "s -> n", func(_, out []spec) error {
			return unless(op.Index >= 0 && op.Index < out[0].shape[0], "of an element that is not there")
		}
	case MaxPoolGrad:
		return "_ _ -> _", func(in, out []spec) error {
			return errors.Join(gives(MaxPool{}, in[1], in[0]), gives(MaxPool{}, in[1], out[0]))
		}
	case UpsampleGrad:
		return "_ -> _", func(in, out []spec) error { return gives(Upsample{}, in[0], out[0]) }
	case InsetGrad:
		return ".hw -> .hw", func(in, _ []spec) error {
			h, w := in[0].shape.Plane()
			return unless(op.Top >= 0 && op.Left >= 0 && op.Height > 0 && op.Width > 0 && op.Top+op.Height <= h &&
				op.Left+op.Width <= w, "of a rectangle beyond the edge")
		}
	}
	return "", nil
}

// unless returns an error unless a condition holds.
func unless(holds bool, message string) error {
	if holds {
		return nil
	}
	return errors.New(message)
}

// centred checks that a canvas and its patches have the same centre.
func centred(canvas, patches spec) error {
	a, b := canvas.shape[3], patches.shape[3]
	return unless((a-b)%2 == 0, fmt.Sprintf("of %d and %d pixels, which have different centres", a, b))
}

// fits checks the gradient of measurements: n, with a number of masks and saved fields.
func (o MeasureFrame) fits(in, out []spec, n, masks int) error {
	if err := o.frames(out[0]); err != nil {
		return err
	}
	h, w := out[0].shape.Plane()
	return unless(n > 0 && n == masks && in[0].shape.Elements() == n*MeasureSaved(h, w),
		fmt.Sprintf("of %d measurements with %d masks and %v saved", n, masks, in[0].shape))
}

// fits checks the convolution of a fused update, and the image's gradient with it.
func (o ConvAdam) fits(in, out []spec) error {
	n := o.Update.arrays()
	_, gradient := ruleOf(o.gradient(), 2)
	switch {
	case o.Update.Scaler:
		return errors.New("needs all gradients for a scaler before the first update")
	case o.Update.Decay != 0:
		return errors.New("with a decay needs the gradient before the update")
	case o.GradInput && !(o.Outer(in[0].shape) && len(in[1].shape) == 4 && in[1].shape[2:].Equal(in[4].shape[2:])):
		return errors.New("has the image's gradient only where that of the weights is an outer product")
	case o.GradInput && !out[n].shape.Equal(in[0].shape):
		return fmt.Errorf("has a gradient %v of %v", out[n].shape, in[0].shape)
	case len(in) > 5+n:
		return fmt.Errorf("has %d operands", len(in))
	}
	for _, x := range in[5:] {
		if !x.shape.Equal(in[4].shape) {
			return fmt.Errorf("of %v and %v", in[4].shape, x.shape)
		}
	}
	return gradient(in[:2], in[4:5])
}
