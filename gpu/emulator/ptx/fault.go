package ptx

import "fmt"

// Fault is the end of a launch by a mistake of the kernel or of its caller.
type Fault struct {
	Kind        FaultKind
	Kernel      string
	Line        int    // of the PTX text
	Instruction string // its opcode
	Block       [3]uint32
	Thread      [3]uint32
	Detail      string
}

// FaultKind is a kind of fault.
type FaultKind uint8

// The kinds.
const (
	OutOfBounds   FaultKind = iota + 1 // an access outside of every allocation, or to freed or read-only memory
	Misaligned                         // an address that is not a multiple of the access
	Uninitialised                      // a read of memory that was never written
	Race                               // two threads of a block, one of which writes, without a barrier between them
	Divergence                         // a warp-wide instruction that a part of its lanes cannot reach
	Deadlock                           // a barrier that a part of the block cannot reach
	Timeout                            // more steps than the launch may take
	Trap                               // the instruction trap
)

var faultNames = map[FaultKind]string{
	OutOfBounds: "access out of bounds", Misaligned: "misaligned access",
	Uninitialised: "read of memory that was never written", Race: "race", Divergence: "divergent warp",
	Deadlock: "deadlock", Timeout: "too many steps", Trap: "trap",
}

// String names the kind.
func (k FaultKind) String() string { return faultNames[k] }

func (e *Fault) Error() string {
	return fmt.Sprintf("kernel %s: %v at line %d (%s), block %v, thread %v: %s", e.Kernel, e.Kind, e.Line,
		e.Instruction, e.Block, e.Thread, e.Detail)
}

// fail ends the launch with a fault of a lane at an op.
func (w *warp) fail(kind FaultKind, o *op, l int, format string, args ...any) {
	if w.fault != nil {
		return
	}
	b := w.block
	w.fault = &Fault{
		Kind: kind, Kernel: b.launch.Kernel.Name, Line: int(o.line), Instruction: b.launch.Kernel.opcodes[o.index],
		Block: b.at, Thread: b.thread(w.first + l), Detail: fmt.Sprintf(format, args...),
	}
}
