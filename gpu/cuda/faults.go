package cuda

import (
	"context"
	"slices"

	"prismtop/profiles"
)

// What the backend reports of itself besides results: failures, remarks and memory.

// Failure returns the sticky error, or that of an operation that returns none, once.
func (b *Backend) Failure() error {
	if b.dead != nil {
		return b.dead
	}
	err := b.pending
	b.pending = nil
	return err
}

// Remarks returns what a user should know.
func (b *Backend) Remarks() []string { return slices.Clone(b.Notes) }

// DeviceMemory returns what the backend has allocated, without its division.
func (b *Backend) DeviceMemory() profiles.DeviceMemory {
	m := profiles.DeviceMemory{Device: b.name, Allocated: b.counts.allocated, Kept: b.keptBytes(),
		Pinned: b.counts.pinned}
	if b.uuid != "" {
		m.Device = b.uuid
	}
	if b.counts.context > 0 {
		m.Context = b.counts.context + b.counts.kernels
	}
	return m
}

// MemoryInUse returns the device's memory in use by all programs, without what is kept for other plans, and all of it.
func (b *Backend) MemoryInUse() (used, all int64, known bool) {
	if err := b.enter(); err != nil {
		return 0, 0, false
	}
	defer b.leave()
	free, all, err := b.driver.MemGetInfo()
	return all - free - b.keptBytes(), all, err == nil
}

// Short marks the error for package nn: it returns the bytes asked for and free.
func (e *MemoryError) Short() (asked, free int64) { return e.Asked, e.Free }

// Settle waits until every segment that was run has ended.
func (x *executable) Settle(ctx context.Context) error {
	b := x.backend
	if err := b.enter(); err != nil {
		return err
	}
	defer b.leave()
	for s := range x.segments {
		if err := x.segments[s].newest().wait(ctx, b); err != nil {
			return err
		}
	}
	return nil
}
