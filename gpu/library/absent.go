//go:build !linux || nogpu

package library

import (
	"errors"
	"fmt"
	"runtime"
)

// Absent returns the reason why this build never looks for a driver.
func Absent() error {
	if runtime.GOOS == "linux" {
		return errors.New("this build was made without GPU support (build tag nogpu)")
	}
	return fmt.Errorf("CUDA is looked for on Linux only, this is %s", runtime.GOOS)
}
