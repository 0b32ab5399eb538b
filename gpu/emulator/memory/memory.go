// Package memory is the emulated memory of a device: allocations far apart, so that an access outside of one never hits
// another, each with a shadow that marks the bytes that were written.
package memory

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// Allocation is a piece of device memory. Its fields do not change after it was made, the bytes behind them do.
type Allocation struct {
	Base     uint64
	Size     uint64
	Data     []byte
	Written  []byte // 1 for each byte that was written; nil where that is not tracked
	Name     string // of a variable of a module, "" for others
	Host     bool   // page-locked memory of the host
	ReadOnly bool
}

// Space is the address space of a device.
type Space struct {
	live atomic.Pointer[[]*Allocation] // by ascending address; the slice is replaced, never changed

	mu    sync.Mutex
	next  uint64
	used  int64
	limit int64
	freed []Allocation // without data, by ascending time, for messages
}

const (
	first = 0x7_0000_0000 // address of the first allocation
	gap   = 64 << 20      // bytes between two allocations at least
	grain = 2 << 20       // bases are a multiple of this plus 512, so that nothing is aligned by chance
)

// ErrOutOfMemory is the error of an allocation beyond the limit of the space.
var ErrOutOfMemory = errors.New("out of memory")

// NewSpace returns an empty space that holds at most limit bytes of device memory.
func NewSpace(limit int64) *Space {
	s := &Space{next: first, limit: limit}
	s.live.Store(new([]*Allocation))
	return s
}

// Alloc adds an allocation of device memory whose bytes count as never written.
func (s *Space) Alloc(bytes int64, name string) (*Allocation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > s.limit-s.used {
		return nil, ErrOutOfMemory
	}
	s.used += bytes
	a := &Allocation{Size: uint64(bytes), Data: make([]byte, bytes), Written: make([]byte, bytes), Name: name}
	s.place(a)
	return a, nil
}

// Map adds memory of the host at an address of the device. What the host writes is not seen, so all of it counts as
// written.
func (s *Space) Map(data []byte) *Allocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &Allocation{Size: uint64(len(data)), Data: data, Host: true}
	s.place(a)
	return a
}

// place gives an allocation its address and publishes it.
func (s *Space) place(a *Allocation) {
	a.Base = s.next + 512
	s.next = (a.Base + a.Size + max(gap, a.Size) + grain - 1) / grain * grain
	live := append(slices.Clone(*s.live.Load()), a)
	s.live.Store(&live)
}

// Free removes the allocation that begins at an address.
func (s *Space) Free(base uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := *s.live.Load()
	i := sort.Search(len(live), func(i int) bool { return live[i].Base >= base })
	if i == len(live) || live[i].Base != base {
		return fmt.Errorf("address %#x is not the begin of an allocation: %s", base, s.describe(base))
	}
	a := live[i]
	if !a.Host {
		s.used -= int64(a.Size)
	}
	s.freed = append(s.freed, Allocation{Base: a.Base, Size: a.Size, Name: a.Name, Host: a.Host})
	rest := slices.Delete(slices.Clone(live), i, i+1)
	s.live.Store(&rest)
	return nil
}

// Live returns the allocations by ascending address. The slice must not be changed.
func (s *Space) Live() []*Allocation { return *s.live.Load() }

// Used returns the bytes of device memory in use.
func (s *Space) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Find returns the allocation that holds an address, nil if none does.
func (s *Space) Find(address uint64) *Allocation { return Find(*s.live.Load(), address) }

// Find returns the one of allocations, which are by ascending address, that holds an address.
func Find(live []*Allocation, address uint64) *Allocation {
	lo, hi := 0, len(live)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if live[m].Base <= address {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 || address-live[lo-1].Base >= live[lo-1].Size {
		return nil
	}
	return live[lo-1]
}

// Range returns the allocation and the offset in it of a range of bytes, which must lie in one allocation.
func (s *Space) Range(address uint64, bytes int64) (*Allocation, uint64, error) {
	a := s.Find(address)
	if a == nil || bytes < 0 || uint64(bytes) > a.Size-(address-a.Base) {
		return nil, 0, fmt.Errorf("%d bytes at %#x: %s", bytes, address, s.Describe(address))
	}
	return a, address - a.Base, nil
}

// Mark records that a range of bytes was written.
func (a *Allocation) Mark(offset, bytes uint64) {
	if a.Written != nil {
		shadow := a.Written[offset : offset+bytes]
		for i := range shadow {
			shadow[i] = 1
		}
	}
}

// String names the allocation by its variable or address and its size.
func (a *Allocation) String() string {
	kind := "allocation"
	if a.Host {
		kind = "host memory"
	}
	if a.Name != "" {
		return fmt.Sprintf("variable %s (%#x, %d bytes)", a.Name, a.Base, a.Size)
	}
	return fmt.Sprintf("%s %#x of %d bytes", kind, a.Base, a.Size)
}

// Describe says where an address lies with respect to the nearest allocation, live or freed.
func (s *Space) Describe(address uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.describe(address)
}

func (s *Space) describe(address uint64) string {
	for i := len(s.freed) - 1; i >= 0; i-- {
		if f := &s.freed[i]; address-f.Base < f.Size {
			return fmt.Sprintf("%d bytes into the freed %v", address-f.Base, f)
		}
	}
	var nearest *Allocation
	best := ^uint64(0)
	for _, a := range *s.live.Load() {
		if d := distance(a, address); d < best || nearest == nil {
			nearest, best = a, d
		}
	}
	switch {
	case nearest == nil:
		return "there is no allocation"
	case address < nearest.Base:
		return fmt.Sprintf("%d bytes before %v", best, nearest)
	case address-nearest.Base >= nearest.Size:
		return fmt.Sprintf("%d bytes after the end of %v", best, nearest)
	}
	return fmt.Sprintf("%d bytes into %v", address-nearest.Base, nearest)
}

// distance returns the bytes between an address and an allocation.
func distance(a *Allocation, address uint64) uint64 {
	switch {
	case address < a.Base:
		return a.Base - address
	case address >= a.Base+a.Size:
		return address - (a.Base + a.Size)
	}
	return 0
}
