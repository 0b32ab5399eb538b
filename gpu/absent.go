//go:build !linux || nogpu

package gpu

import (
	"fmt"
	"runtime"
)

// errAbsent is the reason why this build never looks for a driver.
func errAbsent() error {
	if runtime.GOOS == "linux" {
		return fmt.Errorf("this build was made without GPU support (build tag nogpu)")
	}
	return fmt.Errorf("CUDA is looked for on Linux only, this is %s", runtime.GOOS)
}

func openDriver() (driver, error)   { return nil, errAbsent() }
func openMonitor() (monitor, error) { return nil, errAbsent() }
