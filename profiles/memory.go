package profiles

// The memory of a run by category, on the host and on a device of its own.

// Memory is the run's memory in bytes. Parts are the categories of the schema, exact from
// the plans; Caches is the memory held by the caches.
type Memory struct {
	Parts  [MaxMemory]int64
	Caches int64
	Device DeviceMemory // zero for a run on the processor
}

// DeviceMemory is the memory that a run holds on a device with memory of its own, such as a GPU, in bytes, as
// counted by the backend that allocated it.
type DeviceMemory struct {
	// Device is the device's UUID as its driver gives it, "GPU-…"; empty on the processor.
	Device string
	// Allocated is everything that the backend has allocated from the driver. The categories are its
	// contents: what remains of it is held for other plans, or lost to alignment.
	Allocated                                                   int64
	Weights, Gradients, Moments, Activations, Inputs, Workspace int64
	// Kept is the part of Allocated, outside the categories, and of Context that is kept only for other settings.
	Kept int64
	// Caches are the entries of the schema's caches that are on the device.
	Caches [MaxCaches]int64
	// Context is what the driver took of the device's memory when the context and its kernels were made; 0 if that
	// was not measured.
	Context int64
	// Pinned is page-locked memory of the host for copies: not part of the device's memory.
	Pinned int64
}

// Used reports whether a run holds memory on a device.
func (d *DeviceMemory) Used() bool { return d.Device != "" }

// Total returns the memory that the run holds on the device.
func (d *DeviceMemory) Total() int64 { return d.Allocated + d.Context }

// Spare returns the part of what is allocated that belongs to no category.
func (d *DeviceMemory) Spare() int64 {
	rest := d.Allocated - d.Weights - d.Gradients - d.Moments - d.Activations - d.Inputs - d.Workspace
	for _, bytes := range d.Caches {
		rest -= bytes
	}
	return rest
}

// Total returns the sum of all categories.
func (m *Memory) Total() int64 {
	sum := m.Caches
	for _, bytes := range m.Parts {
		sum += bytes
	}
	return sum
}

// Needed returns the sum without what is kept for other settings.
func (m *Memory) Needed(s *Schema) int64 {
	sum := m.Total()
	for i, part := range s.Memory {
		if part.Kept {
			sum -= m.Parts[i]
		}
	}
	return sum
}

// Held returns what the run holds on the host and on a device, without what is kept for other settings.
func (m *Memory) Held(s *Schema) int64 {
	held := m.Needed(s)
	if m.Device.Used() {
		held += m.Device.Context + max(0, m.Device.Spare()) - m.Device.Kept
	}
	return held
}

// Sums returns the memory of the model's parameters and of its buffers, in bytes.
func (m *Memory) Sums(s *Schema) (parameters, buffers int64) {
	for i, part := range s.Memory {
		if part.Parameters {
			parameters += m.Parts[i]
		} else {
			buffers += m.Parts[i]
		}
	}
	return parameters, buffers
}
