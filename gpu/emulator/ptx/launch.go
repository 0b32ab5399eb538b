package ptx

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/gpu/emulator/memory"
)

// A launch: its checks, its blocks and their threads, and what ends it.

// Checks chooses what a launch checks besides bounds, alignment and convergence.
type Checks struct {
	Uninitialised bool // reads of memory that was never written
	Races         bool // between the threads of a block; several times slower
}

// Launch is a kernel with its grid and parameters.
type Launch struct {
	Kernel  *Kernel
	Module  *Loaded
	Memory  *memory.Space
	Grid    [3]uint32
	Block   [3]uint32
	Shared  int    // dynamic shared memory in bytes
	Param   []byte // the parameters in their memory layout
	Checks  Checks
	Workers int           // goroutines that run blocks; 0 means one per processor
	Steps   uint64        // thread instructions of a block after which it ends with Timeout; 0 means 10^10
	Clock   func() uint64 // nanoseconds, for %globaltimer; nil means the host's clock
	Pool    *Pool         // nil for none

	values []uint64 // of the kernel's constants
}

func (x *Launch) clock() uint64 {
	if x.Clock != nil {
		return x.Clock()
	}
	return uint64(time.Now().UnixNano())
}

// defaultSteps bounds the thread instructions of a block.
const defaultSteps = 1e10

// Run executes the launch and returns the number of thread instructions. The error is a *Fault, of the first block by
// number that has one, or says what is wrong with the launch.
func (x *Launch) Run() (steps uint64, err error) {
	if err := x.Check(); err != nil {
		return 0, err
	}
	n := int64(x.Grid[0]) * int64(x.Grid[1]) * int64(x.Grid[2])
	workers := x.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = int(min(int64(workers), n))
	var next, failed atomic.Int64
	failed.Store(math.MaxInt64)
	var mu sync.Mutex
	var fault *Fault
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			b := newBlock(x)
			defer func() {
				x.Pool.put(b)
				mu.Lock()
				steps += b.total
				mu.Unlock()
			}()
			for i := next.Add(1) - 1; i < n && i < failed.Load(); i = next.Add(1) - 1 {
				f := b.run(i)
				if f == nil {
					continue
				}
				mu.Lock()
				if i < failed.Load() {
					failed.Store(i)
					fault = f
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if fault != nil {
		return steps, fault
	}
	return steps, nil
}

// Check validates a launch before it runs, and computes the values of the constants.
func (x *Launch) Check() error {
	k := x.Kernel
	threads := uint64(x.Block[0]) * uint64(x.Block[1]) * uint64(x.Block[2])
	switch {
	case len(x.Param) != k.ParamBytes:
		return fmt.Errorf("kernel %s takes %d bytes of parameters, not %d", k.Name, k.ParamBytes, len(x.Param))
	case threads == 0 || threads > 1024:
		return fmt.Errorf("kernel %s: a block of %v threads", k.Name, x.Block)
	case k.MaxThreads > 0 && threads > uint64(k.MaxThreads):
		return fmt.Errorf("kernel %s: a block of %v threads, more than its bound of %d", k.Name, x.Block, k.MaxThreads)
	case uint64(x.Grid[0])*uint64(x.Grid[1])*uint64(x.Grid[2]) == 0 || x.Grid[0] > math.MaxInt32 || x.Grid[1] > 65535 ||
		x.Grid[2] > 65535:
		return fmt.Errorf("kernel %s: a grid of %v blocks", k.Name, x.Grid)
	case x.Shared < 0:
		return fmt.Errorf("kernel %s: %d bytes of shared memory", k.Name, x.Shared)
	}
	x.values = make([]uint64, len(k.constants))
	for i, c := range k.constants {
		v := c.value
		if c.symbol != "" {
			v += x.Module.Addresses[c.symbol].Base
		}
		if c.dynamic {
			v += uint64(align(k.sharedExtent, 16))
		}
		x.values[i] = v
	}
	return nil
}

// block is a block of threads while it runs. A worker uses one for all its blocks.
type block struct {
	launch    *Launch
	at        [3]uint32
	threads   int
	warps     []*warp
	shared    []byte
	states    []byte // of the bytes of shared memory
	clean     []byte // states at the begin of a block
	sharedEnd int
	live      []*memory.Allocation
	cache     []*memory.Allocation // by op: the allocation it accessed last
	expected  [barriers]int        // threads that a barrier waits for, 0 for all
	races     *races
	steps     uint64
	budget    uint64
	total     uint64
}

func newBlock(x *Launch) *block {
	k := x.Kernel
	b := &block{launch: x, threads: int(x.Block[0] * x.Block[1] * x.Block[2]), live: x.Memory.Live(), budget: x.Steps}
	if b.budget == 0 {
		b.budget = defaultSteps
	}
	start := align(k.sharedExtent, 16)
	b.sharedEnd = start + x.Shared
	b.shared, b.states, b.clean = make([]byte, b.sharedEnd), make([]byte, b.sharedEnd), make([]byte, b.sharedEnd)
	for i := range start {
		b.clean[i] = guarded
	}
	for _, e := range k.sharedVariables {
		clear(b.clean[e.offset : e.offset+e.bytes])
	}
	b.cache = make([]*memory.Allocation, len(k.code))
	if x.Checks.Races {
		b.races = x.Pool.races()
		b.races.attach(b)
	}
	for first := 0; first < b.threads; first += 32 {
		w := x.Pool.warp(k)
		w.block, w.first, w.absent = b, first, 0
		if n := b.threads - first; n < 32 {
			w.absent = ^uint32(0) << n
		}
		b.warps = append(b.warps, w)
	}
	return b
}

// thread returns the coordinates of a thread by its number.
func (b *block) thread(n int) [3]uint32 {
	x, y := b.launch.Block[0], b.launch.Block[1]
	i := uint32(n)
	return [3]uint32{i % x, i / x % y, i / x / y}
}

// describeShared names the offset of an address between the variables of shared memory.
func (b *block) describeShared(address uint64) string {
	for _, e := range b.launch.Kernel.sharedVariables {
		if end := uint64(e.offset + e.bytes); address+16 >= end && address < end+sharedGap {
			return fmt.Sprintf("beyond the variable of %d bytes at %d", e.bytes, e.offset)
		}
	}
	return "between variables"
}

// run executes a block by its number.
func (b *block) run(n int64) *Fault {
	g := b.launch.Grid
	b.at = [3]uint32{uint32(n % int64(g[0])), uint32(n / int64(g[0]) % int64(g[1])),
		uint32(n / int64(g[0]) / int64(g[1]))}
	copy(b.states, b.clean)
	b.steps = 0
	clear(b.expected[:])
	if b.races != nil {
		b.races.advance()
	}
	for _, w := range b.warps {
		w.begin()
	}
	defer func() { b.total += b.steps }()
	for {
		ran, live := false, false
		for _, w := range b.warps {
			ran = w.run() || ran
			if w.fault != nil {
				return w.fault
			}
			live = live || w.live != 0
		}
		if !live {
			return nil
		}
		if !b.release() && !ran {
			return b.stuck()
		}
	}
}

// begin prepares a warp for a block.
func (w *warp) begin() {
	b := w.block
	k := b.launch.Kernel
	clear(w.narrow)
	clear(w.wide)
	clear(w.predicates)
	clear(w.local)
	w.pc, w.async = [32]int32{}, [32]asyncCopies{}
	w.live, w.waiting, w.arrived, w.epoch, w.fault = ^w.absent, 0, 0, 0, nil
	for i, c := range k.constants {
		for l := range 32 {
			w.set(c.register.bank, c.register.slot, l, b.launch.values[i])
		}
	}
	for _, s := range k.specials {
		for l := range 32 {
			w.set(s.register.bank, s.register.slot, l, w.special(s.name, l))
		}
	}
}

// special returns the value of a special register in a lane.
func (w *warp) special(name string, l int) uint64 {
	b := w.block
	axis := 0
	if n := len(name); name[n-2] == '.' {
		axis = int(name[n-1] - 'x')
		name = name[:n-2]
	}
	switch name {
	case "%tid":
		return uint64(b.thread(w.first + l)[axis])
	case "%ntid":
		return uint64(b.launch.Block[axis])
	case "%ctaid":
		return uint64(b.at[axis])
	case "%nctaid":
		return uint64(b.launch.Grid[axis])
	case "%laneid":
		return uint64(l)
	case "%warpid":
		return uint64(w.first / 32)
	case "%nwarpid":
		return uint64(len(b.warps))
	case "%nsmid":
		return 1
	case "%lanemask_eq":
		return 1 << l
	case "%lanemask_le":
		return 2<<l - 1
	case "%lanemask_lt":
		return 1<<l - 1
	case "%lanemask_ge":
		return uint64(^uint32(0) << l)
	case "%lanemask_gt":
		return uint64(^uint32(0) << l << 1)
	case "%dynamic_smem_size":
		return uint64(b.launch.Shared)
	case "%total_smem_size":
		return uint64(b.launch.Shared + b.launch.Kernel.SharedBytes)
	}
	return 0
}

// release opens the barriers that all their threads have reached and reports whether there was one.
func (b *block) release() bool {
	live := 0
	var count [barriers]int
	for _, w := range b.warps {
		live += bits.OnesCount32(w.live)
		for m := w.arrived; m != 0; m &= m - 1 {
			count[w.barrier[bits.TrailingZeros32(m)]]++
		}
	}
	released := false
	for id, n := range count {
		expected := b.expected[id]
		if expected == 0 {
			expected = live
		}
		if n == 0 || n < expected {
			continue
		}
		released = true
		b.expected[id] = 0
		for _, w := range b.warps {
			for m := w.arrived; m != 0; m &= m - 1 {
				if l := bits.TrailingZeros32(m); int(w.barrier[l]) == id {
					w.arrived &^= 1 << l
				}
			}
		}
	}
	if released {
		if b.races != nil {
			b.races.advance()
		}
	}
	return released
}

// stuck explains why a block cannot go on.
func (b *block) stuck() *Fault {
	for _, w := range b.warps {
		if w.waiting != 0 {
			l := bits.TrailingZeros32(w.waiting)
			o := &b.launch.Kernel.code[w.pc[l]]
			w.fail(Divergence, o, l, "lanes %#x wait for the others of the warp: %s", w.waiting, w.others())
			return w.fault
		}
	}
	for _, w := range b.warps {
		if w.arrived != 0 {
			l := bits.TrailingZeros32(w.arrived)
			o := &b.launch.Kernel.code[w.pc[l]-1]
			w.fail(Deadlock, o, l, "the barrier waits for threads that do not come: %s", b.census())
			return w.fault
		}
	}
	return nil
}

// others says where the lanes of a warp are that do not wait at a warp-wide instruction.
func (w *warp) others() string {
	text := ""
	if gone := ^w.live &^ w.absent; gone != 0 {
		text = fmt.Sprintf("%#x exited", gone)
	}
	if w.absent != 0 {
		text = fmt.Sprintf("the block has no threads for %#x%s", w.absent, prefixed(text))
	}
	code := w.block.launch.Kernel.code
	for m := w.waiting | w.arrived; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		if l == bits.TrailingZeros32(w.waiting) {
			continue
		}
		pc := w.pc[l]
		if w.arrived>>l&1 != 0 {
			pc--
		}
		if w.waiting>>l&1 != 0 && pc == w.pc[bits.TrailingZeros32(w.waiting)] {
			continue
		}
		return fmt.Sprintf("lane %d waits at line %d%s", l, code[pc].line, prefixed(text))
	}
	return text
}

// prefixed returns a text after a comma, nothing for none.
func prefixed(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}

// census counts the threads at each barrier and the exited ones.
func (b *block) census() string {
	lines := map[int32]int{}
	exited := b.threads
	code := b.launch.Kernel.code
	for _, w := range b.warps {
		exited -= bits.OnesCount32(w.live)
		for m := w.arrived; m != 0; m &= m - 1 {
			lines[code[w.pc[bits.TrailingZeros32(m)]-1].line]++
		}
	}
	text := ""
	for i := range code {
		if n := lines[code[i].line]; n > 0 {
			text += fmt.Sprintf("%d at line %d, ", n, code[i].line)
			delete(lines, code[i].line)
		}
	}
	return text + fmt.Sprintf("%d exited of %d", exited, b.threads)
}
