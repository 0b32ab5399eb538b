package cuda

import (
	"unsafe"

	"prismtop/gpu/driver"
)

// Copies between host and device through a ring of page-locked memory, and the memory of slices and parameters.

// stagingBytes is the size of one slot of page-locked memory.
const stagingBytes = 1 << 20

// stagingSlots is the number of slots: copies in flight before the host waits.
const stagingSlots = 4

// staging is a ring of page-locked memory through which arrays pass between host and device.
type staging struct {
	slots [stagingSlots]struct {
		memory []byte
		event  driver.Event
		busy   bool
	}
	next int
}

// slot returns the memory of the next slot, once the device no longer uses it.
func (s *staging) slot(b *Backend) (i int, err error) {
	i = s.next
	s.next = (s.next + 1) % stagingSlots
	slot := &s.slots[i]
	if slot.memory == nil {
		var memory []byte
		err := b.freeing(func() (err error) {
			memory, err = b.driver.MemHostAlloc(stagingBytes)
			return err
		})
		if err != nil {
			return 0, b.check("copies between host and device", err)
		}
		if slot.event, err = b.driver.EventCreate(false); err != nil {
			_ = b.driver.MemHostFree(memory) // the event's error matters more
			return 0, b.check("an event", err)
		}
		slot.memory = memory
		b.counts.pinned += stagingBytes
	}
	if slot.busy {
		if err := b.driver.EventSynchronize(slot.event); err != nil {
			return 0, b.check("a copy", err)
		}
		slot.busy = false
	}
	return i, nil
}

// close frees the ring.
func (s *staging) close(b *Backend) {
	for i := range s.slots {
		if slot := &s.slots[i]; slot.memory != nil {
			_ = b.driver.MemHostFree(slot.memory)
			_ = b.driver.EventDestroy(slot.event)
			*slot = struct {
				memory []byte
				event  driver.Event
				busy   bool
			}{}
		}
	}
}

// upload enqueues a copy of src to the device. src may change once it returns.
func (b *Backend) upload(dst driver.Pointer, src []byte) error {
	for len(src) > 0 {
		i, err := b.staging.slot(b)
		if err != nil {
			return err
		}
		slot := &b.staging.slots[i]
		n := copy(slot.memory, src)
		if err := b.driver.MemcpyHtoDAsync(dst, slot.memory[:n], b.stream); err != nil {
			return b.check("a copy to the device", err)
		}
		if err := b.driver.EventRecord(slot.event, b.stream); err != nil {
			return b.check("a copy to the device", err)
		}
		slot.busy = true
		src, dst = src[n:], dst+driver.Pointer(n)
	}
	return nil
}

// download copies from the device once everything enqueued on a stream before is done, and waits for that.
func (b *Backend) download(dst []byte, src driver.Pointer, stream driver.Stream) error {
	type part struct {
		slot int
		to   []byte
	}
	var parts [stagingSlots]part
	for len(dst) > 0 {
		n := 0
		for n < stagingSlots && len(dst) > 0 {
			i, err := b.staging.slot(b)
			if err != nil {
				return err
			}
			slot, size := &b.staging.slots[i], min(len(dst), stagingBytes)
			if err := b.driver.MemcpyDtoHAsync(slot.memory[:size], src, stream); err != nil {
				return b.check("a copy from the device", err)
			}
			if err := b.driver.EventRecord(slot.event, stream); err != nil {
				return b.check("a copy from the device", err)
			}
			slot.busy = true
			parts[n] = part{i, dst[:size]}
			dst, src = dst[size:], src+driver.Pointer(size)
			n++
		}
		for _, p := range parts[:n] {
			slot := &b.staging.slots[p.slot]
			if err := b.driver.EventSynchronize(slot.event); err != nil {
				return b.check("a copy from the device", err)
			}
			slot.busy = false
			copy(p.to, slot.memory)
		}
	}
	return nil
}

// bytesOf returns the memory of a slice of numbers.
func bytesOf[T float32 | uint16 | uint64 | int32](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// parameter returns the memory of a kernel's parameter, a struct without Go pointers.
func parameter[P any](p *P) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
}

// structs returns the memory of a slice of structs without Go pointers.
func structs[T any](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}
