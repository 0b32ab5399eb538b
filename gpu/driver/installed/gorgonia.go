//go:build cuda && linux && !nogpu

package installed

import (
	"prismtop/gpu/driver"
	"prismtop/gpu/driver/gorgonia"
)

// Open opens the driver through gorgonia.org/cu.
func Open() (driver.Driver, error) { return gorgonia.Open() }
