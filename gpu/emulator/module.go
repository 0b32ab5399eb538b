package emulator

import (
	"errors"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/memory"
	"prismtop/gpu/emulator/ptx"
)

// Modules, their functions and the attributes of these.

// module is a loaded module.
type module struct {
	context *context
	loaded  *ptx.Loaded
}

func (m *module) owner() *context { return m.context }

// function is a kernel of a module.
type function struct {
	module     *module
	kernel     *ptx.Kernel
	maxDynamic int // dynamic shared memory that a launch may ask for
}

func (f *function) owner() *context { return f.module.context }

// ModuleLoadData parses PTX text. Text that the emulator cannot execute fails with the line and the instruction.
func (d *Driver) ModuleLoadData(text []byte) (driver.Module, error) {
	const call = "cuModuleLoadData"
	c, err := d.uncaptured(call)
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if len(text) == 0 || text[len(text)-1] != 0 {
		return 0, fail(call, 1, "the text does not end in a NUL byte")
	}
	m, err := ptx.Parse(text)
	switch {
	case err != nil:
		return 0, fail(call, driver.InvalidPTX, "%v", err)
	case m.Version > d.options.ISA:
		return 0, fail(call, driver.UnsupportedPTX, "the text has version %d.%d, the driver reads up to %d.%d",
			m.Version/10, m.Version%10, d.options.ISA/10, d.options.ISA%10)
	case m.Target > c.device.Capability:
		return 0, fail(call, 209, "the text is for sm_%d, the device has sm_%d", m.Target, c.device.Capability)
	}
	loaded, err := m.Load(c.memory)
	if errors.Is(err, memory.ErrOutOfMemory) {
		return 0, fail(call, driver.OutOfMemory, "variables of the module")
	}
	if err != nil {
		return 0, fail(call, driver.InvalidPTX, "%v", err)
	}
	return driver.Module(d.handle(&module{c, loaded})), nil
}

// ModuleUnload frees a module with its functions and variables.
func (d *Driver) ModuleUnload(x driver.Module) error {
	const call = "cuModuleUnload"
	c, err := d.uncaptured(call)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	m, err := lookup[*module](d, c, call, uintptr(x))
	if err != nil {
		return err
	}
	if err := d.drainAll(call, c); err != nil {
		return err
	}
	m.loaded.Unload(c.memory)
	delete(d.handles, uintptr(x))
	for h, o := range d.handles {
		if f, ok := o.(*function); ok && f.module == m {
			delete(d.handles, h)
		}
	}
	return nil
}

// ModuleGetFunction returns a kernel by its name.
func (d *Driver) ModuleGetFunction(x driver.Module, name string) (driver.Function, error) {
	const call = "cuModuleGetFunction"
	m, err := object[*module](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	k, ok := m.loaded.Module.Kernels[name]
	if !ok {
		return 0, fail(call, 500, "kernel %s", name)
	}
	limit, _ := m.context.device.attribute(driver.MaxSharedPerBlock)
	return driver.Function(d.handle(&function{m, k, limit - k.SharedBytes})), nil
}

// maxThreads returns the threads that a block of the kernel may have.
func (f *function) maxThreads() int {
	if f.kernel.MaxThreads > 0 {
		return f.kernel.MaxThreads
	}
	return 1024
}

// registers estimates the registers of a thread.
func (f *function) registers() int { return min(max(f.kernel.Registers, 16), 255) }

// FunctionAttribute returns an attribute of a function. The number of registers is an estimate from the text.
func (d *Driver) FunctionAttribute(a driver.FunctionAttribute, x driver.Function) (int, error) {
	const call = "cuFuncGetAttribute"
	f, err := object[*function](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	switch a {
	case driver.FunctionMaxThreads:
		return f.maxThreads(), nil
	case driver.FunctionSharedBytes:
		return f.kernel.SharedBytes, nil
	case driver.FunctionLocalBytes:
		return f.kernel.LocalBytes, nil
	case driver.FunctionRegisters:
		return f.registers(), nil
	case driver.FunctionMaxDynamicShared:
		return f.maxDynamic, nil
	}
	return 0, fail(call, 1, "attribute %d", a)
}

// FunctionSetAttribute changes the limit of dynamic shared memory, the only attribute that can be changed.
func (d *Driver) FunctionSetAttribute(x driver.Function, a driver.FunctionAttribute, value int) error {
	const call = "cuFuncSetAttribute"
	f, err := object[*function](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	limit, _ := f.module.context.device.attribute(driver.MaxSharedPerBlockOptin)
	if a != driver.FunctionMaxDynamicShared || value < 0 || value+f.kernel.SharedBytes > limit {
		return fail(call, 1, "attribute %d = %d", a, value)
	}
	f.maxDynamic = value
	return nil
}

// OccupancyBlocks returns how many blocks fit on a multiprocessor by threads, shared memory and estimated registers.
func (d *Driver) OccupancyBlocks(x driver.Function, threads, shared int) (int, error) {
	const call = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
	f, err := object[*function](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if threads <= 0 || shared < 0 {
		return 0, fail(call, 1, "%d threads, %d bytes", threads, shared)
	}
	if threads > f.maxThreads() {
		return 0, nil
	}
	get := func(a driver.Attribute) int { n, _ := f.module.context.device.attribute(a); return n }
	warps := (threads + 31) / 32
	registers := warps * ((f.registers()*32 + 255) / 256 * 256)
	bytes := f.kernel.SharedBytes + shared + get(driver.SharedReservedPerBlock)
	n := min(get(driver.MaxBlocksPerMulti), get(driver.MaxThreadsPerMulti)/(32*warps),
		get(driver.MaxRegistersPerMulti)/registers)
	if bytes > 0 {
		n = min(n, get(driver.MaxSharedPerMulti)/bytes)
	}
	return n, nil
}
