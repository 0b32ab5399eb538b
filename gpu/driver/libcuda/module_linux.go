//go:build !nogpu

package libcuda

import (
	"bytes"
	"runtime"
	"strings"

	"prismtop/gpu/driver"
	"prismtop/gpu/library"
)

// Calls about modules and functions.

// Values of CUjit_option.
const (
	jitErrorLogBuffer      = 5
	jitErrorLogBufferBytes = 6
)

// jitLog is the array of option values of cuModuleLoadDataEx: a pointer, and a size in place of a pointer, which the
// driver overwrites.
type jitLog struct {
	buffer *byte
	bytes  uintptr
}

func (d *cuda) ModuleLoadData(ptx []byte) (driver.Module, error) {
	const call = "cuModuleLoadDataEx"
	if !bytes.HasSuffix(ptx, []byte{0}) {
		return 0, &driver.Error{Call: call, Result: driver.InvalidValue, Detail: "the PTX does not end in a NUL byte"}
	}
	var m driver.Module
	text := make([]byte, 16<<10)
	compiled := &jitLog{&text[0], uintptr(len(text))}
	options := []int32{jitErrorLogBuffer, jitErrorLogBufferBytes}
	r := d.cuModuleLoadDataEx(&m, &ptx[0], uint32(len(options)), &options[0], compiled)
	runtime.KeepAlive(text)
	if r != 0 {
		return 0, &driver.Error{Call: call, Result: r, Detail: strings.TrimSpace(library.Text(text))}
	}
	return m, nil
}

func (d *cuda) ModuleUnload(m driver.Module) error {
	return check("cuModuleUnload", d.cuModuleUnload(m))
}

func (d *cuda) ModuleGetFunction(m driver.Module, name string) (driver.Function, error) {
	var f driver.Function
	if r := d.cuModuleGetFunction(&f, m, name); r != 0 {
		return 0, &driver.Error{Call: "cuModuleGetFunction", Result: r, Detail: name}
	}
	return f, nil
}

func (d *cuda) FunctionAttribute(a driver.FunctionAttribute, f driver.Function) (int, error) {
	var value int32
	err := check("cuFuncGetAttribute", d.cuFuncGetAttribute(&value, a, f))
	return int(value), err
}

func (d *cuda) FunctionSetAttribute(f driver.Function, a driver.FunctionAttribute, value int) error {
	return check("cuFuncSetAttribute", d.cuFuncSetAttribute(f, a, int32(value)))
}

func (d *cuda) OccupancyBlocks(f driver.Function, threads, shared int) (int, error) {
	const call = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
	if d.cuOccupancyBlocks == nil {
		return 0, missing(call)
	}
	var blocks int32
	err := check(call, d.cuOccupancyBlocks(&blocks, f, int32(threads), uint64(shared)))
	return int(blocks), err
}
