package emulator

import (
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/memory"
)

// Memory of the device and of the host, copies between them, and fills.

// MemAlloc allocates device memory whose bytes count as never written.
func (d *Driver) MemAlloc(bytes int64) (driver.Pointer, error) {
	const call = "cuMemAlloc"
	c, err := d.uncaptured(call)
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if bytes <= 0 {
		return 0, fail(call, 1, "%d bytes", bytes)
	}
	if limit := d.options.AllocLimit; limit > 0 && bytes > limit {
		return 0, fail(call, driver.OutOfMemory, "%d bytes, more than the injected limit of %d", bytes, limit)
	}
	a, err := c.memory.Alloc(bytes, "")
	if err != nil {
		return 0, fail(call, driver.OutOfMemory, "%d bytes, %d of %d are free", bytes, c.device.Memory-c.memory.Used(),
			c.device.Memory)
	}
	return driver.Pointer(a.Base), nil
}

// MemFree frees device memory after all work in the context is done.
func (d *Driver) MemFree(p driver.Pointer) error {
	const call = "cuMemFree"
	c, err := d.uncaptured(call)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	if err := d.drainAll(call, c); err != nil {
		return err
	}
	if a := c.memory.Find(uint64(p)); a != nil && (a.Host || a.Name != "") {
		return fail(call, 1, "%v was not allocated with cuMemAlloc", a)
	}
	if err := c.memory.Free(uint64(p)); err != nil {
		return fail(call, 1, "%v", err)
	}
	return nil
}

// MemHostAlloc allocates memory of the host that kernels can address.
func (d *Driver) MemHostAlloc(bytes int) ([]byte, error) {
	const call = "cuMemHostAlloc"
	c, err := d.uncaptured(call)
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return nil, fail(call, 1, "%d bytes", bytes)
	}
	words := make([]uint64, (bytes+7)/8+1)
	data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:bytes:bytes]
	d.hosts[&data[0]] = c.memory.Map(data)
	return data, nil
}

// host returns the mapping of a slice that begins with page-locked memory.
func (d *Driver) host(call string, data []byte) (*memory.Allocation, error) {
	if len(data) > 0 {
		if a, ok := d.hosts[&data[0]]; ok {
			return a, nil
		}
	}
	return nil, fail(call, 1, "the memory was not allocated with cuMemHostAlloc")
}

// locked reports whether a slice lies in page-locked memory.
func (d *Driver) locked(data []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	for first, a := range d.hosts {
		if base := uintptr(unsafe.Pointer(first)); at >= base && at+uintptr(len(data)) <= base+uintptr(a.Size) {
			return true
		}
	}
	return false
}

// MemHostFree frees page-locked memory.
func (d *Driver) MemHostFree(data []byte) error {
	const call = "cuMemFreeHost"
	c, err := d.uncaptured(call)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	a, err := d.host(call, data)
	if err != nil {
		return err
	}
	if err := d.drainAll(call, c); err != nil {
		return err
	}
	delete(d.hosts, &data[0])
	if err := c.memory.Free(a.Base); err != nil {
		return fail(call, 1, "%v", err)
	}
	return nil
}

// MemHostDevicePointer returns the address of page-locked memory for kernels.
func (d *Driver) MemHostDevicePointer(data []byte) (driver.Pointer, error) {
	const call = "cuMemHostGetDevicePointer"
	_, err := d.with(call)
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	a, err := d.host(call, data)
	if err != nil {
		return 0, err
	}
	return driver.Pointer(a.Base), nil
}

// The roles of memory in a copy.
const (
	source      = "source"
	destination = "destination"
)

// span finds the memory that a call reads or writes.
func (c *context) span(call, role string, p driver.Pointer, bytes int64) (*memory.Allocation, uint64, error) {
	a, at, err := c.memory.Range(uint64(p), bytes)
	if err != nil {
		return nil, 0, fail(call, 1, "%s: %v", role, err)
	}
	return a, at, nil
}

// store writes host bytes to device memory.
func (c *context) store(call string, dst driver.Pointer, src []byte) error {
	a, at, err := c.span(call, destination, dst, int64(len(src)))
	if err != nil {
		return err
	}
	copy(a.Data[at:], src)
	a.Mark(at, uint64(len(src)))
	return nil
}

// fetch reads device memory.
func (c *context) fetch(call string, dst []byte, src driver.Pointer) error {
	a, at, err := c.span(call, source, src, int64(len(dst)))
	if err != nil {
		return err
	}
	copy(dst, a.Data[at:])
	return nil
}

// move copies device memory. Bytes that were never written stay so.
func (c *context) move(call string, dst, src driver.Pointer, bytes int64) error {
	from, i, err := c.span(call, source, src, bytes)
	if err != nil {
		return err
	}
	to, j, err := c.span(call, destination, dst, bytes)
	if err != nil {
		return err
	}
	n := uint64(bytes)
	copy(to.Data[j:j+n], from.Data[i:i+n])
	if from.Written != nil && to.Written != nil {
		copy(to.Written[j:j+n], from.Written[i:i+n])
	} else {
		to.Mark(j, n)
	}
	return nil
}

// set sets bytes of device memory.
func (c *context) set(call string, dst driver.Pointer, value byte, bytes int64) error {
	a, at, err := c.span(call, destination, dst, bytes)
	if err != nil {
		return err
	}
	data := a.Data[at : at+uint64(bytes)]
	for i := range data {
		data[i] = value
	}
	a.Mark(at, uint64(bytes))
	return nil
}

// MemcpyHtoD copies to the device and waits for it. It does not wait for streams.
func (d *Driver) MemcpyHtoD(dst driver.Pointer, src []byte) error {
	const call = "cuMemcpyHtoD"
	c, err := d.with(call)
	defer d.mu.Unlock()
	if err != nil || len(src) == 0 {
		return err
	}
	if err := d.unsafe(call); err != nil {
		return err
	}
	return c.store(call, dst, src)
}

// MemcpyDtoH copies from the device and waits for it. It does not wait for streams.
func (d *Driver) MemcpyDtoH(dst []byte, src driver.Pointer) error {
	const call = "cuMemcpyDtoH"
	c, err := d.with(call)
	defer d.mu.Unlock()
	if err != nil || len(dst) == 0 {
		return err
	}
	if err := d.unsafe(call); err != nil {
		return err
	}
	return c.fetch(call, dst, src)
}

// MemcpyHtoDAsync copies from page-locked memory on a stream.
func (d *Driver) MemcpyHtoDAsync(dst driver.Pointer, src []byte, s driver.Stream) error {
	const call = "cuMemcpyHtoDAsync"
	return d.enqueue(call, s, func(c *context) (*node, error) {
		if len(src) > 0 && !d.locked(src) {
			return nil, fail(call, 1, "the host memory is not page-locked")
		}
		if _, _, err := c.span(call, destination, dst, int64(len(src))); err != nil {
			return nil, err
		}
		return &node{run: func() error { return c.store(call, dst, src) }}, nil
	})
}

// MemcpyDtoHAsync copies to page-locked memory on a stream.
func (d *Driver) MemcpyDtoHAsync(dst []byte, src driver.Pointer, s driver.Stream) error {
	const call = "cuMemcpyDtoHAsync"
	return d.enqueue(call, s, func(c *context) (*node, error) {
		if len(dst) > 0 && !d.locked(dst) {
			return nil, fail(call, 1, "the host memory is not page-locked")
		}
		if _, _, err := c.span(call, source, src, int64(len(dst))); err != nil {
			return nil, err
		}
		return &node{run: func() error { return c.fetch(call, dst, src) }}, nil
	})
}

// MemcpyDtoDAsync copies within the device. Bytes that were never written stay so.
func (d *Driver) MemcpyDtoDAsync(dst, src driver.Pointer, bytes int64, s driver.Stream) error {
	const call = "cuMemcpyDtoDAsync"
	return d.enqueue(call, s, func(c *context) (*node, error) {
		if _, _, err := c.span(call, source, src, bytes); err != nil {
			return nil, err
		}
		if _, _, err := c.span(call, destination, dst, bytes); err != nil {
			return nil, err
		}
		return &node{run: func() error { return c.move(call, dst, src, bytes) }}, nil
	})
}

// MemsetD8Async sets bytes on a stream.
func (d *Driver) MemsetD8Async(dst driver.Pointer, value byte, bytes int64, s driver.Stream) error {
	const call = "cuMemsetD8Async"
	return d.enqueue(call, s, func(c *context) (*node, error) {
		if _, _, err := c.span(call, destination, dst, bytes); err != nil {
			return nil, err
		}
		return &node{run: func() error { return c.set(call, dst, value, bytes) }}, nil
	})
}
