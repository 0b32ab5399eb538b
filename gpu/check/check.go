// Package check measures a GPU for prismtop doctor --gpu: how long its driver takes to compile the kernels, what a
// launch costs, and how fast the device reads memory and multiplies at most, which rooflines are drawn by. Whether it
// computes the right numbers is the business of sim/verify/against.
package check

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/gpu/kernels"
)

// Options configure the measurements.
type Options struct {
	Ordinal int // of the device

	// Scale divides the work of the measurements, for devices that are emulated; 0 is 1.
	Scale int

	// Progress is called with the name of the next measurement; nil for none.
	Progress func(what string)
}

// Report has the measurements of a device.
type Report struct {
	Name       string   `json:"name"`
	Capability string   `json:"capability"` // "9.0"
	Set        string   `json:"kernels"`    // of PTX: "sm_80"
	Multi      int      `json:"multiprocessors"`
	Context    float64  `json:"context_ms"` // to make the context
	Modules    []Module `json:"modules"`
	Launch     Launch   `json:"launch"`
	Roofs      []Roof   `json:"roofs"`
	Memory     Memory   `json:"memory"`
}

// Module is a file of kernels.
type Module struct {
	Name    string  `json:"name"`
	Kernels int     `json:"kernels"`
	Compile float64 `json:"compile_ms"` // by the driver, without its cache
}

// Launch is the time from one empty kernel to the next, in microseconds.
type Launch struct {
	Eager float64 `json:"eager_us"` // enqueued one by one
	Graph float64 `json:"graph_us"` // in a captured graph; 0 if none could be captured
}

// Roof is the most that a device does of something.
type Roof struct {
	Name  string  `json:"name"` // "copy", "fp32", "tf32"
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // "GB/s", "TFLOP/s"
}

// Memory is the device's memory in bytes.
type Memory struct {
	Total int64 `json:"total_bytes"` // without the memory that the driver reserves
	Free  int64 `json:"free_bytes"`  // beside the context, with all kernels loaded
	L2    int64 `json:"l2_bytes"`    // cache
}

// Run measures a device. The error names what failed.
func Run(ctx context.Context, d driver.Driver, o Options) (r *Report, err error) {
	if o.Scale < 1 {
		o.Scale = 1
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := &measurement{Driver: d, ctx: ctx, options: o, report: &Report{}, kernels: map[string]driver.Function{}}
	defer m.close()
	for _, part := range []struct {
		what string
		do   func() error
	}{
		{"the context", m.open}, {"compiling the kernels", m.compile}, {"launches", m.launches}, {"roofs", m.roofs},
		{"memory", m.memory},
	} {
		o.Progress(part.what)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := part.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	return m.report, nil
}

// measurement is the state of Run.
type measurement struct {
	driver.Driver
	ctx     context.Context
	options Options
	report  *Report

	device  driver.Device
	context driver.Context
	stream  driver.Stream
	set     kernels.Set
	modules []driver.Module
	kernels map[string]driver.Function // those of roofs.cu
	buffers [2]driver.Pointer
	bytes   int64 // of each buffer
}

// open makes the context.
func (m *measurement) open() error {
	if err := m.Init(); err != nil {
		return err
	}
	var err error
	if m.device, err = m.DeviceGet(m.options.Ordinal); err != nil {
		return err
	}
	if m.report.Name, err = m.DeviceName(m.device); err != nil {
		return err
	}
	var values [4]int
	for i, a := range []driver.Attribute{driver.ComputeCapabilityMajor, driver.ComputeCapabilityMinor,
		driver.MultiprocessorCount, driver.L2CacheSize} {
		if values[i], err = m.DeviceAttribute(a, m.device); err != nil {
			return err
		}
	}
	m.report.Capability, m.report.Multi, m.report.Memory.L2 = fmt.Sprintf("%d.%d", values[0], values[1]), values[2],
		int64(values[3])
	if m.set, err = kernels.For(10*values[0] + values[1]); err != nil {
		return err
	}
	m.report.Set = m.set.Name
	began := time.Now()
	if m.context, err = m.PrimaryContextRetain(m.device); err != nil {
		return err
	}
	if err := m.ContextSetCurrent(m.context); err != nil {
		return err
	}
	m.report.Context = milliseconds(time.Since(began))
	m.stream, err = m.StreamCreate()
	return err
}

// compile loads every module. A comment that no text had before keeps the driver from finding the result in its cache.
func (m *measurement) compile() error {
	modules, err := m.set.Modules()
	if err != nil {
		return err
	}
	for _, module := range modules {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		names := module.Kernels()
		if len(names) == 0 { // none for this capability
			continue
		}
		comment := fmt.Sprintf("\n// %d\n\x00", time.Now().UnixNano())
		text := append(slices.Clone(module.Text[:len(module.Text)-1]), comment...)
		began := time.Now()
		loaded, err := m.ModuleLoadData(text)
		if err != nil {
			return fmt.Errorf("%s: %w", module.Name, err)
		}
		took := time.Since(began)
		m.modules = append(m.modules, loaded)
		m.report.Modules = append(m.report.Modules, Module{module.Name, len(names), milliseconds(took)})
		if module.Name != "roofs" {
			continue
		}
		for _, name := range names {
			if m.kernels[name], err = m.ModuleGetFunction(loaded, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// memory reads the free memory with all kernels loaded.
func (m *measurement) memory() (err error) {
	m.freeBuffers()
	m.report.Memory.Free, m.report.Memory.Total, err = m.MemGetInfo()
	return err
}

// close frees everything; errors are ignored.
func (m *measurement) close() {
	if m.context == 0 {
		return
	}
	m.freeBuffers()
	for _, module := range m.modules {
		_ = m.ModuleUnload(module)
	}
	if m.stream != 0 {
		_ = m.StreamDestroy(m.stream)
	}
	_ = m.ContextSetCurrent(0)
	_ = m.PrimaryContextRelease(m.device)
}

func (m *measurement) freeBuffers() {
	for i, p := range m.buffers {
		if p != 0 {
			_ = m.MemFree(p)
			m.buffers[i] = 0
		}
	}
}

// roofP is RoofP of roofs.cu.
type roofP struct {
	Y, X  driver.Pointer
	N     int64
	Turns int32
	A, B  float32
}

func (p *roofP) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)) }

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
