// Package ptx parses PTX, the assembly text of CUDA kernels, and executes it on the host, warp by warp. It covers what
// clang writes for sm_75 and sm_80; an instruction outside of that is an error of Parse that names it with its line.
//
// Beyond the results it checks what hardware leaves undefined: accesses outside of allocations, unaligned ones, reads
// of memory that was never written, races between the threads of a block, warp-wide instructions that some lanes never
// reach and barriers that deadlock. Each ends the launch as a Fault that names kernel, line and thread.
//
// Not modelled: time, races between the blocks of a grid, the order in which stores become visible, what the assembler
// of a real driver refuses, and the last bits of the approximate functions, which are computed in float64 and rounded.
package ptx

import "prismtop/gpu/emulator/memory"

// Parsed modules: variables, kernels, instructions and their operands; a module loaded into memory.

// Module is parsed PTX.
type Module struct {
	Version   int // 10·major + minor of the PTX language: 70 for 7.0
	Target    int // 80 for sm_80
	Kernels   map[string]*Kernel
	Variables []*Variable // .global and .const, in the order of the text
}

// Variable is a variable of a module in global or constant memory.
type Variable struct {
	Name     string
	Align    int
	Data     []byte // its initial bytes
	Constant bool
}

// Kernel is an entry of a module.
type Kernel struct {
	Name            string
	ParamBytes      int // size of the parameters in their memory layout
	SharedBytes     int // static shared memory of a block
	LocalBytes      int // local memory of a thread
	MaxThreads      int // .maxntid or .reqntid as one number, 0 without
	MinBlocks       int // .minnctapersm, 0 without
	Registers       int // estimate of the 32-bit registers of a thread: the most that hold a value at once
	Instructions    int
	sharedVariables []extent
	sharedExtent    int // static shared memory with guard gaps between the variables
	code            []op
	counts          [3]int // registers by bank
	constants       []constant
	specials        []special
	opcodes         []string
}

// constant is a register that holds a constant: an immediate operand or an address.
type constant struct {
	register register
	value    uint64
	symbol   string // of a variable, whose address is added at load
	dynamic  bool   // the begin of the dynamic shared memory is added at launch
}

// special is a register that holds a special register such as %tid.x, set when a warp begins.
type special struct {
	register register
	name     string
}

// Loaded is a module whose variables have addresses in a memory.
type Loaded struct {
	Module    *Module
	Addresses map[string]*memory.Allocation
}

// Load allocates and initialises the variables of a module.
func (m *Module) Load(space *memory.Space) (*Loaded, error) {
	l := &Loaded{Module: m, Addresses: map[string]*memory.Allocation{}}
	for _, v := range m.Variables {
		a, err := space.Alloc(int64(len(v.Data)), v.Name)
		if err != nil {
			l.Unload(space)
			return nil, err
		}
		a.ReadOnly = v.Constant
		copy(a.Data, v.Data)
		a.Mark(0, a.Size)
		l.Addresses[v.Name] = a
	}
	return l, nil
}

// Unload frees the variables of a module.
func (l *Loaded) Unload(space *memory.Space) {
	for _, a := range l.Addresses {
		space.Free(a.Base)
	}
	l.Addresses = nil
}

// bank is a kind of registers.
type bank uint8

const (
	narrow    bank = iota // 16 and 32 bits
	wide                  // 64 bits
	predicate             // a bit per lane
)

// register names a register by its bank and its number there.
type register struct {
	bank bank
	slot int32
}

// scope holds the names of a pair of braces.
type scope struct {
	outer *scope
	names map[string]symbol
}

func (s *scope) find(name string) (symbol, bool) {
	for ; s != nil; s = s.outer {
		if x, ok := s.names[name]; ok {
			return x, true
		}
	}
	return symbol{}, false
}

// symbol is what a name stands for.
type symbol struct {
	kind     symbolKind
	register register // of inRegister
	value    int64    // an address in its space, −1 before it has one; or the number of an instruction
	size     int
	align    int
}

type symbolKind uint8

const (
	inRegister symbolKind = iota
	inShared
	inDynamicShared
	inLocal
	inParam
	inGlobal // .global and .const
	atLabel
)

// operand is an operand of an instruction.
type operand struct {
	kind   operandKind
	reg    register
	value  uint64 // of numbers; the offset of addresses and symbols
	name   string // of symbols and special registers
	list   []operand
	negate bool // a predicate with !
}

type operandKind uint8

const (
	registerOperand operandKind = iota
	integerOperand
	float32Operand // value holds the bits
	float64Operand
	symbolOperand
	specialOperand
	vectorOperand  // {a, b}: list
	addressOperand // [base+value]: list holds the base, empty for none
	pairOperand    // p|q: list
	sinkOperand    // _
)

// instruction is an instruction as parsed.
type instruction struct {
	line    int
	opcode  []string // split at its points
	args    []operand
	guarded bool
	guard   register
	negated bool // the guard
	scope   *scope
}
