package cuda

import (
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Consecutive steps on scalars and short vectors as one program, which one kernel runs.

// Limits of a program of scalar operators, see program.cu.
const (
	programArrays = 24
	programLength = 24
	programLanes  = 32
)

// opcode is an instruction of program.cu.
type opcode int32

const (
	weighted opcode = iota
	element
	elementGrad
	constantly
	scaled
	count
	rescale
)

// instruction is Instruction of program.cu.
type instruction struct {
	Op       opcode
	To, From int32
	Index    int32
	Value    float32
	Unless   int32
}

// programArray is ProgramArray of program.cu.
type programArray struct {
	At     driver.Pointer
	N, Use int32
}

// Uses of an array by a program.
const (
	loads  = 1
	stores = 2
)

// programP is ProgramP of program.cu.
type programP struct {
	Arrays        [programArrays]programArray
	Code          [programLength]instruction
	Count, Length int32
}

// program collects consecutive steps on scalars and short vectors, which one kernel computes.
type program struct {
	p           programP
	first, step int // the oldest and the newest
}

// scalarStep adds the current step to the program if it is one on scalars and short vectors; ok is false for others.
func (b *builder) scalarStep() (ok bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.WeightedSum:
		return b.sum(op.Weights)
	case nn.Element:
		return b.instruct(instruction{Op: element, Index: int32(op.Index)}, false)
	case nn.ElementGrad:
		return b.instruct(instruction{Op: elementGrad, Index: int32(op.Index)}, false)
	case nn.Seed:
		if len(b.step.In) == 1 {
			return b.instruct(instruction{Op: scaled, Value: op.Weight}, false)
		}
		return b.instruct(instruction{Op: constantly, Value: op.Weight}, false)
	case nn.AdamStep:
		return b.instruct(instruction{Op: count}, true)
	case nn.ScalerUpdate:
		return true, b.rescale(op.Interval)
	case nn.Fill:
		if !b.short(b.outs()[0]) {
			return false, nil
		}
		return b.instruct(instruction{Op: constantly, Value: op.Value}, false)
	case nn.Add:
		if slices.ContainsFunc(slices.Concat(b.ins(), b.outs()), func(o operand) bool { return !b.short(o) }) {
			return false, nil
		}
		return b.sum(slices.Repeat([]float32{1}, len(b.step.In)))
	}
	return false, nil
}

// short reports whether an operand is a few float32.
func (b *builder) short(x operand) bool { return x.dtype == tensor.Float32 && x.n() <= programLanes }

// sum adds instructions for a weighted sum of arrays of equal length.
func (b *builder) sum(weights []float32) (bool, error) {
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, slices.Concat(x, y)...); err != nil {
		return true, err
	}
	if err := b.room(len(weights), len(weights)+1); err != nil {
		return true, err
	}
	program := &b.program.p
	for i, w := range weights {
		op := scaled
		if i > 0 {
			op = weighted
		}
		from := b.array(x[i], loads)
		program.Code[program.Length] = instruction{Op: op, To: b.array(y[0], stores), From: from, Value: w, Unless: -1}
		program.Length++
	}
	return true, nil
}

// instruct adds one instruction on the current step's operands. inPlace instructions read their result, and do nothing
// where a second operand says so.
func (b *builder) instruct(c instruction, inPlace bool) (bool, error) {
	x, y := b.ins(), b.outs()
	for _, o := range append(append([]operand{}, x...), y...) {
		if !b.short(o) {
			return true, operandError("%v %v: must be float32, at most %d", o.dtype, o.shape, programLanes)
		}
	}
	if err := b.room(1, 3); err != nil {
		return true, err
	}
	c.Unless = -1
	switch {
	case inPlace:
		c.To = b.array(y[0], loads|stores)
		c.From = c.To
		if len(x) == 2 {
			c.Unless = b.array(x[1], loads)
		}
	case len(x) == 1:
		c.From = b.array(x[0], loads)
		c.To = b.array(y[0], stores)
	default:
		c.To = b.array(y[0], stores)
		c.From = c.To
	}
	program := &b.program.p
	program.Code[program.Length] = c
	program.Length++
	return true, nil
}

// rescale adds the instruction of a gradient scaler.
func (b *builder) rescale(interval int) error {
	if err := mustBe(tensor.Float32, b.ins()...); err != nil {
		return err
	}
	if err := b.room(1, 3); err != nil {
		return err
	}
	x, program := b.ins(), &b.program.p
	program.Code[program.Length] = instruction{Op: rescale, From: b.array(x[0], loads), To: b.array(x[1], loads|stores),
		Index: b.array(x[2], loads|stores), Value: float32(interval), Unless: -1}
	program.Length++
	return nil
}

// room makes room for instructions and arrays, and notes the step.
func (b *builder) room(instructions, arrays int) error {
	if instructions > programLength || arrays > programArrays {
		return operandError("%d terms: at most %d", instructions, min(programLength, programArrays-1))
	}
	if err := b.flushUnscaled(); err != nil {
		return err
	}
	program := &b.program
	if int(program.p.Length)+instructions > programLength || int(program.p.Count)+arrays > programArrays ||
		b.aliased() {
		if err := b.flushProgram(); err != nil {
			return err
		}
	}
	if program.p.Length == 0 {
		program.first = b.index
	}
	program.step = b.index
	return nil
}

// aliased reports whether an operand shares memory with an array of the program without being that array: the program
// keeps them apart until its end.
func (b *builder) aliased() bool {
	for _, x := range slices.Concat(b.ins(), b.outs()) {
		for i := range b.program.p.Count {
			a := &b.program.p.Arrays[i]
			apart := x.at >= a.At+driver.Pointer(4*a.N) || a.At >= x.at+driver.Pointer(4*x.n())
			if !apart && (a.At != x.at || int64(a.N) != x.n()) {
				return true
			}
		}
	}
	return false
}

// array returns the index of an operand's array in the program. It is loaded only if nothing of the program wrote it
// before.
func (b *builder) array(x operand, use int32) int32 {
	program := &b.program.p
	for i := range program.Count {
		a := &program.Arrays[i]
		if a.At == x.at && int64(a.N) == x.n() {
			a.Use |= use & stores
			return i
		}
	}
	i := program.Count
	program.Arrays[i] = programArray{x.at, int32(x.n()), use}
	program.Count++
	return i
}

// flushProgram launches the collected steps.
func (b *builder) flushProgram() error {
	program := b.program
	if program.p.Length == 0 {
		return nil
	}
	b.program.p = programP{}
	index, aside := b.index, b.aside
	b.index, b.aside = program.step, false
	err := b.launch("program", driver.X(1), driver.X(programLanes), 0, parameter(&program.p))
	b.index, b.aside = index, aside
	if err != nil {
		return err
	}
	b.launches[len(b.launches)-1].first = program.first
	return nil
}
