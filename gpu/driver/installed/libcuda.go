//go:build !cuda || !linux || nogpu

package installed

import (
	"prismtop/gpu/driver"
	"prismtop/gpu/driver/libcuda"
)

// Open opens the driver at run time.
func Open() (driver.Driver, error) { return libcuda.Open() }
