//go:build !linux || nogpu

package gpu

import "prismtop/gpu/library"

func openMonitor() (monitor, error) { return nil, library.Absent() }
