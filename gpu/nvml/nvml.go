// Package nvml calls NVML, the NVIDIA driver's monitoring library, which is opened at run time. A library may lack
// functions, and a GPU may refuse questions: every method returns an error of its own.
package nvml

import (
	"strings"
	"sync"

	"prismtop/gpu/library"
)

// The library, opened once, and its devices.

// Library is NVML, open and initialised. Its methods may be called from several goroutines.
type Library struct{ functions }

// shared is a library that is opened once.
type shared struct {
	mu      sync.Mutex
	library *Library
}

func (s *shared) get(open func() (*Library, error)) (*Library, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.library == nil {
		l, err := open()
		if err != nil {
			return nil, err
		}
		s.library = l
	}
	return s.library, nil
}

// machine is the library of the machine.
var machine shared

// Open returns the machine's NVML, which stays open until the process ends. It may take seconds while the driver
// starts. After a failure the next call tries again.
func Open() (*Library, error) { return machine.get(openMachine) }

// DriverVersion returns the version of the kernel's driver, such as "550.90.07".
func (l *Library) DriverVersion() (string, error) {
	return text(l.driverVersion.missing, l.driverVersion.call)
}

// Devices returns the GPUs, those that cannot be reached included: their methods return the reason.
func (l *Library) Devices() ([]Device, error) {
	n, err := ask(l.count.missing, l.count.call)
	if err != nil {
		return nil, err
	}
	devices := make([]Device, n)
	for i := range devices {
		handle, err := ask(l.handleByIndex.missing, func(handle *uintptr) int32 {
			return l.handleByIndex.call(uint32(i), handle)
		})
		devices[i] = Device{&l.functions, handle, err}
	}
	return devices, nil
}

// FreeMemory returns the free memory in bytes of a GPU or a partition by its UUID, as driver.UUID writes it.
func (l *Library) FreeMemory(uuid string) (int64, error) {
	d, err := l.device(uuid)
	if err != nil {
		// CUDA returns a partition's UUID as it does a GPU's, but NVML expects another prefix.
		partition, unknown := l.device("MIG-" + strings.TrimPrefix(uuid, "GPU-"))
		if unknown != nil {
			return 0, err
		}
		d = partition
	}
	m, err := d.Memory()
	return int64(m.Free), err
}

func (l *Library) device(uuid string) (Device, error) {
	handle, err := ask(l.handleByUUID.missing, func(handle *uintptr) int32 { return l.handleByUUID.call(uuid, handle) })
	return Device{&l.functions, handle, err}, err
}

// ask returns the value that a function writes, or zero and the reason why there is none.
func ask[T any](missing error, call func(value *T) int32) (T, error) {
	var value, none T
	if missing != nil {
		return none, missing
	}
	if err := check(call(&value)); err != nil {
		return none, err
	}
	return value, nil
}

// text returns the string that a function writes, or the reason why there is none.
func text(missing error, call func(buffer *byte, length uint32) int32) (string, error) {
	buffer := make([]byte, 96)
	if missing != nil {
		return "", missing
	}
	if err := check(call(&buffer[0], uint32(len(buffer)-1))); err != nil {
		return "", err
	}
	return library.Text(buffer), nil
}
