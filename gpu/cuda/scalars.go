package cuda

import (
	"context"
	"math"
	"sync/atomic"
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The scalar outputs of a plan, which reach the host in page-locked memory.

// gatherP is GatherP of elementwise.cu.
type gatherP struct {
	From [maxScalars]driver.Pointer
	To   driver.Pointer
	N    int32
}

// maxScalars is the number of scalars that one kernel gathers.
const maxScalars = 16

// scalars are the plan's scalar outputs, such as losses. The last kernel of a segment that writes one copies all to
// page-locked memory, where the host reads them without a copy of its own.
type scalars struct {
	ids    []nn.BufferID
	of     []*segment // whose newest run gathered each; nil if none did, or the host wrote it since
	memory []byte
	kernel *kernel
	to     driver.Pointer // the memory on the device
}

// find lists the scalar outputs of the plan.
func (c *scalars) find(x *executable) error {
	b := x.backend
	for i := range x.plan.Buffers {
		buffer := &x.plan.Buffers[i]
		named := buffer.Pinned && buffer.Category != nn.Inputs
		if named && buffer.DType == tensor.Float32 && buffer.Shape.Elements() == 1 && len(c.ids) < maxScalars {
			c.ids = append(c.ids, nn.BufferID(i))
		}
	}
	if len(c.ids) == 0 {
		return nil
	}
	var err error
	if c.memory, err = b.driver.MemHostAlloc(4 * maxScalars); err != nil {
		return b.check("the losses on the host", err)
	}
	b.counts.pinned += 4 * maxScalars
	c.of = make([]*segment, len(c.ids))
	if c.to, err = b.driver.MemHostDevicePointer(c.memory); err != nil {
		return b.check("the losses on the host", err)
	}
	c.kernel, err = b.kernel("gather", 0)
	return err
}

// writtenIn lists the addresses of the scalars that steps of [first, end) write; any is false if there are none.
func (c *scalars) writtenIn(x *executable, first, end int) (from [maxScalars]driver.Pointer, any bool) {
	for _, step := range x.plan.Steps[first:end] {
		for _, id := range step.Out {
			for i, s := range c.ids {
				if x.at[id] == x.at[s] {
					from[i], any = x.at[s], true
				}
			}
		}
	}
	return from, any
}

// gather enqueues the copy of the scalars that a segment writes.
func (c *scalars) gather(b *Backend, s *segment) error {
	p := gatherP{From: s.scalars, To: c.to, N: int32(len(c.ids))}
	return b.driver.LaunchKernel(c.kernel.function, driver.X(1), driver.X(32), 0, b.stream, parameter(&p))
}

// gathered notes that a segment was enqueued.
func (c *scalars) gathered(s *segment) {
	for i := range c.ids {
		if s.scalars[i] != 0 {
			c.of[i] = s
		}
	}
}

// forget notes that the host wrote a buffer.
func (c *scalars) forget(id nn.BufferID) {
	for i, s := range c.ids {
		if s == id {
			c.of[i] = nil
		}
	}
}

// read reads a scalar that was gathered, once its segment has ended; known is false for other buffers.
func (c *scalars) read(x *executable, id nn.BufferID, dst []float32) (known bool, err error) {
	for i, s := range c.ids {
		if s == id && c.of[i] != nil {
			if err := c.of[i].newest().wait(context.Background(), x.backend); err != nil {
				return true, err
			}
			word := (*uint32)(unsafe.Pointer(&c.memory[4*i]))
			dst[0] = math.Float32frombits(atomic.LoadUint32(word))
			return true, nil
		}
	}
	return false, nil
}

// close frees the memory.
func (c *scalars) close(b *Backend) {
	if c.memory != nil && b.dead == nil {
		_ = b.driver.MemHostFree(c.memory)
		b.counts.pinned -= 4 * maxScalars
	}
	*c = scalars{}
}
