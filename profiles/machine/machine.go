// Package machine describes the computer of a run: its processor, its memory, its
// GPU, and the reason for everything missing. It is plain data: sim/cpu/features
// and gpu fill it, doctor and the reports print it.
package machine

import (
	"strconv"
	"strings"
)

// Processors, memory and GPUs, as they are described.

// CPU is a processor and the instruction sets relevant to the kernels.
type CPU struct {
	Model    string    `json:"model,omitempty"` // "AMD EPYC 9654 96-Core Processor"
	Reason   string    `json:"model_reason,omitempty"`
	Arch     string    `json:"arch"`     // GOARCH
	Logical  int       `json:"logical"`  // processors that this process may run on
	Features []string  `json:"features"` // instruction sets found, by the names of Sets
	Sets     []Support `json:"sets"`     // the instruction sets that kernels are written for, fastest first
}

// Support reports whether the processor and the operating system support an
// instruction set, and if not, why.
type Support struct {
	Name      string `json:"name"` // "avx512"
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"` // why not; empty if available
}

// Has reports whether the processor offers the named set.
func (c CPU) Has(set string) bool {
	for _, s := range c.Sets {
		if s.Name == set {
			return s.Available
		}
	}
	return false
}

// Memory is the machine's main memory in bytes.
type Memory struct {
	Total     int64  `json:"total,omitempty"`
	Available int64  `json:"available,omitempty"` // memory available to a new process without swapping, within the limits of its control groups
	Limit     int64  `json:"limit,omitempty"`     // least limit of the control groups that this process is in; 0 if there is none
	Group     string `json:"group,omitempty"`     // the control group with that limit, and the name of its file
	Reason    string `json:"reason,omitempty"`    // why Total or Available are missing
}

// GPU describes the CUDA driver and its devices.
type GPU struct {
	// Usable is true if this build can compute on one of the devices.
	Usable bool `json:"usable"`
	// Reason is why none can be used; it is empty only if Usable.
	Reason  string      `json:"reason,omitempty"`
	Driver  string      `json:"driver,omitempty"` // version of the kernel driver, "580.65.06"
	CUDA    string      `json:"cuda,omitempty"`   // newest CUDA version supported by the driver, "13.0"
	Devices []GPUDevice `json:"devices,omitempty"`
}

// GPUDevice is one CUDA device.
type GPUDevice struct {
	Name       string `json:"name"`
	Capability string `json:"capability"` // compute capability, "9.0"
	UUID       string `json:"uuid,omitempty"`
	TotalBytes int64  `json:"total_bytes"` // without the memory that the driver reserves
	FreeBytes  int64  `json:"free_bytes,omitempty"`
	FreeReason string `json:"free_reason,omitempty"` // why FreeBytes is missing
	Reason     string `json:"reason,omitempty"`      // why this build cannot compute on it; empty if it can
}

// MultipliesBF16 reports whether a device has matrix instructions for bf16 and TF32, of compute capability 8.0 and
// later.
func (d *GPUDevice) MultipliesBF16() bool {
	major, _, _ := strings.Cut(d.Capability, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 8
}

// About says what the times of one of the devices depend on besides its model: "compute capability 7.5, driver
// 580.65.06, CUDA 13.0".
func (g *GPU) About(d *GPUDevice) string {
	text := "compute capability " + d.Capability
	if g.Driver != "" {
		text += ", driver " + g.Driver
	}
	if g.CUDA != "" {
		text += ", CUDA " + g.CUDA
	}
	return text
}

// Allowed returns the memory that this process may use at most: the machine's, or the limit of its control groups; 0
// if unknown.
func (m Memory) Allowed() int64 {
	if m.Limit > 0 {
		return m.Limit
	}
	return m.Total
}

// Beside returns the memory that is left to this process for something else while it goes on to hold some; known is
// false where the system does not say.
func (m Memory) Beside(held int64) (left int64, known bool) {
	left = m.Allowed() - held
	if m.Available > 0 {
		left = min(left, m.Available)
	}
	return left, m.Allowed() > 0
}

// Usable returns the memory that a new process may use, within the limit of its control group; known is false where
// the system does not say.
func (m Memory) Usable() (bytes int64, known bool) {
	if m.Available <= 0 {
		return m.Limit, m.Limit > 0
	}
	if m.Limit > 0 {
		return min(m.Available, m.Limit), true
	}
	return m.Available, true
}
