//go:build !linux || nogpu

package nvml

import "prismtop/gpu/library"

func openMachine() (*Library, error) { return nil, library.Absent() }
