//go:build !linux || nogpu

package monitor

import "prismtop/gpu/library"

func openNVML() (source, error) { return nil, library.Absent() }
