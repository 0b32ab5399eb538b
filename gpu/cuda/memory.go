package cuda

import (
	"errors"
	"fmt"

	"prismtop/gpu/driver"
	"prismtop/profiles/unit"
)

// The device's memory: what the backend holds of it, allocations, the error of too little,
// and slabs that executables share.

// alignment of buffers on the device, in bytes.
const alignment = 256

// footprint is what the backend holds, in bytes.
type footprint struct {
	allocated int64 // on the device
	most      int64 // the most of it since ResetPeak
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

func (e *MemoryError) Error() string {
	asked := ""
	if e.Asked > 0 {
		asked = unit.Size(e.Asked) + " asked for, "
	}
	return fmt.Sprintf("%s has too little memory for %s: %s%s free", e.Device, e.For, asked, unit.Size(e.Free))
}

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
	b.counts.most = max(b.counts.most, b.counts.allocated)
	return p, nil
}

// PeakMemory returns the memory that is allocated on the device, and the most since the last ResetPeak.
func (b *Backend) PeakMemory() (allocated, most int64) { return b.counts.allocated, b.counts.most }

// ResetPeak makes the memory that is allocated now the most.
func (b *Backend) ResetPeak() { b.counts.most = b.counts.allocated }

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
