package ptx

import (
	"fmt"
	"slices"
	"strings"
)

// Compilation of a kernel's instructions to ops: operands, registers and destinations.

// op is an instruction ready to run.
type op struct {
	run        func(w *warp, o *op)
	kind       opKind
	save       bank  // of the destination, for computing ops
	guard      int32 // predicate register, −1 without
	invert     uint32
	d, a, b, c int32 // slots of registers
	target     int32 // of branches
	line       int32
	index      int32
	size       uint8 // bytes of an element in memory
	vector     uint8 // elements of an access
	space      space
	signed     bool
	strong     bool       // an access that takes part in synchronisation: no race
	list       []register // of vectors, by role
	value      uint64     // the offset of an address, or a modifier
}

// opKind says how an op treats the lanes that do not run.
type opKind uint8

const (
	computes opKind = iota // run computes every lane, the others' results are dropped
	masks                  // run looks at warp.active
	jumps
	exits
	gathers // run needs all lanes of warp.members
)

// blockBarrier marks in op.size a barrier of the block.
const blockBarrier = 255

// space is a state space of memory.
type space uint8

const (
	generic space = iota
	globalSpace
	sharedSpace
	localSpace
	paramSpace
	constSpace
)

var spaces = map[string]space{"global": globalSpace, "shared": sharedSpace, "local": localSpace, "param": paramSpace,
	"const": constSpace}

// extent is a variable in the layout of shared memory.
type extent struct{ offset, bytes int }

// assembly turns the instructions of a kernel into ops.
type assembly struct {
	kernel       *Kernel
	instructions []instruction
	constants    map[constant]register
	specials     map[string]register
	shared       map[string]symbol // variables of the module in shared memory that the kernel uses
	line         int
	name         string   // of the current opcode
	words        []string // of the current opcode that no one has asked for yet
	args         []operand
}

// fresh returns a new register.
func (f *assembly) fresh(b bank) register {
	n := f.kernel.counts[b]
	if n >= maxRegisters {
		panic(parseError{f.line, "too many registers"})
	}
	f.kernel.counts[b]++
	return register{b, int32(n)}
}

func (f *assembly) fail(format string, args ...any) {
	panic(parseError{f.line, f.name + ": " + fmt.Sprintf(format, args...)})
}

// finish assembles the instructions.
func (f *assembly) finish() {
	k := f.kernel
	k.Instructions = len(f.instructions)
	k.code = make([]op, 0, len(f.instructions)+1)
	for i := range f.instructions {
		in := &f.instructions[i]
		f.line, f.words, f.args = in.line, slices.Clone(in.opcode[1:]), in.args
		o := op{guard: -1, line: int32(in.line), index: int32(i)}
		if in.guarded {
			o.guard = in.guard.slot
			if in.negated {
				o.invert = ^uint32(0)
			}
		}
		f.name = strings.Join(in.opcode, ".")
		build, ok := builders[in.opcode[0]]
		if !ok {
			f.fail("the instruction is not supported")
		}
		build(f, in, &o)
		if len(f.words) > 0 {
			f.fail("the modifier .%s is not supported", f.words[0])
		}
		k.code = append(k.code, o)
		k.opcodes = append(k.opcodes, f.name)
	}
	k.code = append(k.code, op{kind: exits, guard: -1, line: int32(f.line), index: int32(len(k.code))})
	k.opcodes = append(k.opcodes, "ret")
	k.Registers = f.liveness() + 2
	for key, r := range f.constants {
		key.register = r
		k.constants = append(k.constants, key)
	}
	slices.SortFunc(k.constants, func(a, b constant) int {
		return 8*int(a.register.bank) + int(a.register.slot) - 8*int(b.register.bank) - int(b.register.slot)
	})
	for name, r := range f.specials {
		k.specials = append(k.specials, special{r, name})
	}
}

// take removes a modifier from the opcode and reports whether it was there.
func (f *assembly) take(words ...string) bool {
	for i, w := range f.words {
		if slices.Contains(words, w) {
			f.words = slices.Delete(f.words, i, i+1)
			return true
		}
	}
	return false
}

// one removes the first modifier that is one of words and returns it, "" if there is none.
func (f *assembly) one(words ...string) string {
	for i, w := range f.words {
		if slices.Contains(words, w) {
			f.words = slices.Delete(f.words, i, i+1)
			return w
		}
	}
	return ""
}

// dtype removes the first type from the opcode.
func (f *assembly) dtype() dtype {
	for i, w := range f.words {
		if t, ok := dtypes[w]; ok {
			f.words = slices.Delete(f.words, i, i+1)
			return t
		}
	}
	f.fail("the instruction has no type")
	return dtype{}
}

// arguments checks the number of operands.
func (f *assembly) arguments(n int) {
	if len(f.args) != n {
		f.fail("the instruction has %d operands, not %d", len(f.args), n)
	}
}

// constant returns a register that holds a constant.
func (f *assembly) constant(b bank, c constant) int32 {
	c.register = register{bank: b}
	if r, ok := f.constants[c]; ok {
		return r.slot
	}
	r := f.fresh(b)
	f.constants[c] = r
	return r.slot
}

// source returns the slot of operand i read as a type.
func (f *assembly) source(i int, t dtype) int32 {
	if i >= len(f.args) {
		f.fail("operand %d is missing", i+1)
	}
	return f.read(f.args[i], t)
}

// read returns the slot of an operand read as a type.
func (f *assembly) read(o operand, t dtype) int32 {
	b := t.bank()
	if o.negate {
		f.fail("a negated predicate is not supported here")
	}
	switch o.kind {
	case registerOperand:
		if o.reg.bank != b {
			f.fail("a register does not have the size of .%s", t.name)
		}
		return o.reg.slot
	case integerOperand:
		if b == predicate {
			return f.constant(b, constant{value: -(o.value & 1) & 0xffffffff})
		}
		if t.class == float {
			f.fail("a whole number as .%s", t.name)
		}
		return f.constant(b, constant{value: t.cut(o.value)})
	case float32Operand:
		if t.size != 4 {
			f.fail("a float of 32 bits as .%s", t.name)
		}
		return f.constant(b, constant{value: o.value})
	case float64Operand:
		if t.size != 8 {
			f.fail("a float of 64 bits as .%s", t.name)
		}
		return f.constant(b, constant{value: o.value})
	case specialOperand:
		if isTimer(o.name) {
			f.fail("%s is only supported in mov", o.name)
		}
		if specialBank[o.name] != b {
			f.fail("%s does not have the size of .%s", o.name, t.name)
		}
		r, ok := f.specials[o.name]
		if !ok {
			r = f.fresh(b)
			f.specials[o.name] = r
		}
		return r.slot
	case symbolOperand:
		return f.constant(b, f.address(o.name, o.value))
	}
	f.fail("unexpected operand")
	return 0
}

// address returns the address of a variable plus an offset, in the variable's own space.
func (f *assembly) address(name string, offset uint64) constant {
	x, ok := f.scope().find(name)
	if !ok {
		f.fail("unknown name %s", name)
	}
	switch x.kind {
	case inShared:
		if x.value < 0 { // a variable of the module: each kernel that uses it has its own
			if y, ok := f.shared[name]; ok {
				x = y
			} else {
				x = f.share(x)
				f.shared[name] = x
			}
		}
		return constant{value: uint64(x.value) + offset}
	case inLocal, inParam:
		return constant{value: uint64(x.value) + offset}
	case inDynamicShared:
		return constant{value: offset, dynamic: true}
	case inGlobal:
		return constant{value: offset, symbol: name}
	}
	f.fail("%s is not a variable", name)
	return constant{}
}

// sharedGap is the guard gap between variables in shared memory, in bytes.
const sharedGap = 256

// share places a variable in the kernel's shared memory.
func (f *assembly) share(x symbol) symbol {
	k := f.kernel
	k.SharedBytes = align(k.SharedBytes, x.align) + x.size
	x.value = int64(align(k.sharedExtent, max(x.align, 16)))
	k.sharedVariables = append(k.sharedVariables, extent{int(x.value), x.size})
	k.sharedExtent = int(x.value) + x.size + sharedGap
	return x
}

// scope returns the scope of the current instruction.
func (f *assembly) scope() *scope { return f.instructions[len(f.kernel.code)].scope }

// destination returns the slot of operand i written as a type, a register that no one reads for _.
func (f *assembly) destination(i int, t dtype) int32 {
	if i >= len(f.args) {
		f.fail("operand %d is missing", i+1)
	}
	return f.write(f.args[i], t)
}

func (f *assembly) write(o operand, t dtype) int32 {
	switch o.kind {
	case sinkOperand:
		return f.fresh(t.bank()).slot
	case registerOperand:
		if o.reg.bank != t.bank() {
			f.fail("a register does not have the size of .%s", t.name)
		}
		return o.reg.slot
	}
	f.fail("the destination is not a register")
	return 0
}

// elements returns the operands of a vector, or the operand itself.
func elements(o operand) []operand {
	if o.kind == vectorOperand {
		return o.list
	}
	return []operand{o}
}

// vector returns the registers of a vector operand of n elements.
func (f *assembly) vector(i, n int, t dtype, write bool) []register {
	if i >= len(f.args) {
		f.fail("operand %d is missing", i+1)
	}
	list := elements(f.args[i])
	if len(list) != n {
		f.fail("operand %d has %d elements, not %d", i+1, len(list), n)
	}
	var regs []register
	for _, e := range list {
		if write {
			regs = append(regs, register{t.bank(), f.write(e, t)})
		} else {
			regs = append(regs, register{t.bank(), f.read(e, t)})
		}
	}
	return regs
}

// builders make the op of an instruction by the first word of its opcode.
var builders = map[string]func(f *assembly, in *instruction, o *op){
	"add": buildArithmetic, "sub": buildArithmetic, "mul": buildArithmetic, "mad": buildArithmetic,
	"fma": buildArithmetic, "div": buildArithmetic, "rem": buildArithmetic, "abs": buildArithmetic,
	"neg": buildArithmetic, "min": buildArithmetic, "max": buildArithmetic, "sqrt": buildArithmetic,
	"rsqrt": buildArithmetic, "rcp": buildArithmetic, "ex2": buildArithmetic, "lg2": buildArithmetic,
	"sin": buildArithmetic, "cos": buildArithmetic, "tanh": buildArithmetic, "copysign": buildArithmetic,
	"testp": buildTest,
	"and":   buildLogic, "or": buildLogic, "xor": buildLogic, "not": buildLogic, "cnot": buildLogic,
	"shl": buildShift, "shr": buildShift, "shf": buildFunnel, "lop3": buildLop3,
	"bfe": buildBits, "bfi": buildBits, "brev": buildBits, "clz": buildBits, "popc": buildBits, "prmt": buildBits,
	"bfind": buildBits,
	"setp":  buildCompare, "set": buildSet, "selp": buildSelect, "slct": buildSlct,
	"mov": buildMove, "cvt": buildConvert, "cvta": buildAddress, "isspacep": buildSpaceTest,
	"ld": buildLoad, "ldu": buildLoad, "st": buildStore, "prefetch": buildNothing, "prefetchu": buildNothing,
	"cp": buildAsync, "ldmatrix": buildLdmatrix, "mma": buildMMA,
	"shfl": buildShuffle, "vote": buildVote, "activemask": buildActiveMask,
	"bar": buildBarrier, "barrier": buildBarrier, "membar": buildNothing, "fence": buildNothing,
	"bra": buildBranch, "ret": buildExit, "exit": buildExit, "trap": buildTrap, "nanosleep": buildNothing,
}
