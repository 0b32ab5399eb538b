package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The lowering of a plan to launches: operands of a step, the memory that its kernels need, and their launches.

// launch is a kernel launch of an executable.
type launch struct {
	kernel      *kernel
	grid, block driver.Dim
	shared      int // dynamic shared memory, bytes
	parameter   []byte
	first, step int  // steps of the plan that it computes; its time is that of the second
	aside       bool // on the second lane
	joins       bool // waits for the second lane
}

// builder lowers the steps of a plan to launches: it has their operands, memory and launches, and those that it
// collects to launch together. The lowering of an operator is a method of its family that takes the operands'
// addresses and calls launch; it relies on nn.Plan.Check. Every plan is lowered twice: the first time to learn how much
// workspace and private memory its steps need, with addresses that do not matter.
type builder struct {
	backend *Backend
	plan    *nn.Plan
	at      []driver.Pointer // of the plan's buffers

	index    int // of the current step
	step     *nn.Step
	launches []launch
	program  program      // of scalar steps, launched before the next step that is none
	unscaled unscaled     // gradients, launched before the next step that is no Unscale
	sums     []partSum    // that are launched together before the updates, on the second lane
	adams    []update     // that are launched together at the end of the segment, and wait for the second lane
	done     map[int]bool // steps that an earlier launch computes

	unfinished *unfinished // launched before the next launch on the first lane, or one that has its result

	aside        bool // the current step's launches go to the second lane
	work         [2]workspace
	private      driver.Pointer
	privateBytes int64
	constants    []constant
}

// workspace is the memory of one lane that its steps use one after the other.
type workspace struct {
	at         driver.Pointer
	used, most int64 // by the current step; by any step
}

// constant is data that Load copies to private memory.
type constant struct {
	at   driver.Pointer
	data []byte
}

// errOperands is an error of a step for whose operands no kernel is built.
var errOperands = errors.New("no kernel for these operands")

// operandError explains operands that no kernel takes.
func operandError(format string, values ...any) error {
	return fmt.Errorf("%w: %s", errOperands, fmt.Sprintf(format, values...))
}

// operand is a buffer of the current step.
type operand struct {
	at    driver.Pointer
	shape tensor.Shape
	dtype tensor.DType
}

// n returns the number of elements.
func (o operand) n() int64 { return int64(o.shape.Elements()) }

// kind returns the element type as kernels number it.
func (o operand) kind() int32 { return int32(o.dtype) }

// real reports whether the elements are real numbers.
func (o operand) real() bool { return o.dtype != tensor.Complex64 }

// ins and outs return the operands and the results of the current step.
func (b *builder) ins() []operand  { return b.each(b.step.In) }
func (b *builder) outs() []operand { return b.each(b.step.Out) }

func (b *builder) each(ids []nn.BufferID) []operand {
	all := make([]operand, len(ids))
	for i, id := range ids {
		buffer := &b.plan.Buffers[id]
		all[i] = operand{b.at[id], buffer.Shape, buffer.DType}
	}
	return all
}

// detach sends the current step's launches to the second lane: nothing before the end of the segment waits for them but
// steps that use their results or overwrite their operands. It must be called before scratch and launch.
func (b *builder) detach() { b.aside = true }

// scratch returns memory that only the current step uses. Its contents are undefined.
func (b *builder) scratch(bytes int64) driver.Pointer {
	w := &b.work[0]
	if b.aside {
		w = &b.work[1]
	}
	at := w.at + driver.Pointer(w.used)
	w.used += roundUp(bytes)
	w.most = max(w.most, w.used)
	return at
}

// keep returns memory that belongs to the executable. Its contents are undefined.
func (b *builder) keep(bytes int64) driver.Pointer {
	at := b.private + driver.Pointer(b.privateBytes)
	b.privateBytes += roundUp(bytes)
	return at
}

// table returns the address of constant data on the device, which Load copies there.
func (b *builder) table(data []byte) driver.Pointer {
	for _, c := range b.constants {
		if bytes.Equal(c.data, data) {
			return c.at
		}
	}
	at := b.keep(int64(len(data)))
	b.constants = append(b.constants, constant{at, data})
	return at
}

// launch adds a launch of a kernel to the current step, after those that were collected;
// parameter is its parameter (see parameter).
func (b *builder) launch(name string, grid, block driver.Dim, shared int, parameter []byte) error {
	if left := b.unfinished; left != nil &&
		(!b.aside || anyOverlap(slices.Concat(b.ins(), b.outs()), []operand{left.y})) {
		if err := b.flushFinish(); err != nil {
			return err
		}
	}
	if err := b.flushProgram(); err != nil {
		return err
	}
	if err := b.flushUnscaled(); err != nil {
		return err
	}
	k, err := b.backend.kernel(name, shared)
	if err != nil {
		return err
	}
	if grid[0] == 0 || grid[1] == 0 || grid[2] == 0 {
		return nil
	}
	b.launches = append(b.launches, launch{kernel: k, grid: grid, block: block, shared: shared,
		parameter: append([]byte(nil), parameter...), first: b.index, step: b.index, aside: b.aside})
	return nil
}

// blockThreads is the number of threads of a block of kernels that loop over elements.
const blockThreads = 256

// over launches a kernel of blockThreads threads that loops over n elements.
func (b *builder) over(name string, n int64, parameter []byte) error {
	blocks := (n + blockThreads - 1) / blockThreads
	return b.launch(name, driver.X(int(min(blocks, int64(16*b.backend.multi)))), driver.X(blockThreads), 0, parameter)
}

// lowerAll lowers every step.
func (b *builder) lowerAll() error {
	b.done = map[int]bool{}
	for s := range nn.NumSegments {
		first, end := b.plan.Segments[s][0], b.plan.Segments[s][1]
		for i := first; i < end; i++ {
			b.begin(i)
			if err := b.lower(); err != nil {
				return fmt.Errorf("step %d %q (%T): %w", i, b.step.Name, b.step.Op, err)
			}
		}
		b.begin(b.index)
		if err := b.flushFinish(); err != nil {
			return err
		}
		if err := b.flushUpdates(); err != nil {
			return err
		}
	}
	return nil
}

// begin makes a step the current one.
func (b *builder) begin(step int) {
	b.index, b.aside, b.work[0].used, b.work[1].used = step, false, 0, 0
	if step < len(b.plan.Steps) {
		b.step = &b.plan.Steps[step]
	}
}
