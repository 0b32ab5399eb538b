package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/profiles/unit"
)

// alignment of buffers on the device, in bytes.
const alignment = 256

// footprint is what the backend holds, in bytes.
type footprint struct {
	allocated int64 // on the device
	pinned    int64 // page-locked memory of the host
	context   int64 // what the driver took on the device for the context; 0 if that was not measured
	kernels   int64 // likewise for kernels and graphs; what the driver reserves for itself is in neither
}

// unaccounted returns the memory in use on the device that allocate has not counted, that of other processes included.
func (b *Backend) unaccounted() (int64, error) {
	free, total, err := b.driver.MemGetInfo()
	if err != nil {
		return 0, b.check("the device's memory", err)
	}
	return total - free - b.counts.allocated, nil
}

// measured calls do, and adds the change of free memory that allocate and free do not account for: kernels, graphs, and
// what allocations are rounded up by. If other processes freed more than that, nothing is added.
func (b *Backend) measured(do func() error) error {
	before, err := b.unaccounted()
	if err != nil {
		return err
	}
	was := b.counts.kernels
	failed := do()
	after, err := b.unaccounted()
	if err == nil { // do may have called released
		b.counts.kernels += max(after-before-(b.counts.kernels-was), 0)
	}
	if failed != nil {
		return failed
	}
	return err
}

// released calls do, which frees memory, and subtracts the change that free does not account for. It calls do even if
// the memory cannot be measured.
func (b *Backend) released(do func()) error {
	before, err := b.unaccounted()
	do()
	if err != nil {
		return err
	}
	after, err := b.unaccounted()
	if err == nil {
		b.counts.kernels = max(b.counts.kernels+min(after-before, 0), 0)
	}
	return err
}

// MemoryError reports that the device has too little memory.
type MemoryError struct {
	Device      string
	For         string
	Asked, Free int64 // bytes; Asked is 0 if the driver asked for its own use
	Err         error
}

// Error names the bytes asked for, if known, and the free ones.
func (e *MemoryError) Error() string {
	asked := ""
	if e.Asked > 0 {
		asked = unit.Size(e.Asked) + " asked for, "
	}
	return fmt.Sprintf("%s has too little memory for %s: %s%s free", e.Device, e.For, asked, unit.Size(e.Free))
}

// Unwrap returns the driver's error.
func (e *MemoryError) Unwrap() error { return e.Err }

// short returns the *MemoryError of an error: err itself if it has one. asked is in bytes, 0 if unknown.
func (b *Backend) short(purpose string, asked int64, err error) error {
	var found *MemoryError
	if errors.As(err, &found) {
		return err
	}
	free, _, _ := b.driver.MemGetInfo() // err matters more
	return &MemoryError{Device: b.name, For: purpose, Asked: asked, Free: free, Err: err}
}

// allocate returns memory on the device for a purpose.
func (b *Backend) allocate(bytes int64, purpose string) (driver.Pointer, error) {
	var p driver.Pointer
	err := b.freeing(func() (err error) {
		p, err = b.driver.MemAlloc(bytes)
		return err
	})
	if driver.As(err) == driver.OutOfMemory {
		return 0, b.short(purpose, bytes, err)
	}
	if err != nil {
		return 0, b.check("memory for "+purpose, err)
	}
	b.counts.allocated += bytes
	return p, nil
}

// free frees memory; 0 is ignored.
func (b *Backend) free(p driver.Pointer, bytes int64) {
	if p == 0 {
		return
	}
	b.counts.allocated -= bytes
	if b.dead == nil {
		_ = b.check("freeing memory", b.driver.MemFree(p)) // a sticky error is kept by check
	}
}

// slab is memory on the device that several executables share.
type slab struct {
	at      driver.Pointer
	bytes   int64
	need    int64 // of the users, bytes
	users   int   // open executables
	keepers int   // kept ones
}

// use adds a user that needs some of the bytes.
func (s *slab) use(need int64) {
	s.users++
	s.need = max(s.need, need)
}

// leave ends use.
func (s *slab) leave() {
	if s.users--; s.users == 0 {
		s.need = 0
	}
}

// release frees the memory that has neither users nor keepers.
func (s *slab) release(b *Backend) {
	if s.users == 0 && s.keepers == 0 {
		b.free(s.at, s.bytes)
		*s = slab{}
	}
}

// roundUp rounds up to the alignment.
func roundUp(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

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
