//go:build !linux || nogpu

package libcuda

import (
	"prismtop/gpu/driver"
	"prismtop/gpu/library"
)

// Open returns the reason why this build never looks for a driver.
func Open() (driver.Driver, error) { return nil, library.Absent() }
