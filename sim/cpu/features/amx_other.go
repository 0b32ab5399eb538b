//go:build !linux || !amd64

package features

import (
	"errors"
	"runtime"
)

// PermitAMX returns an error: only Linux on amd64 is known to permit AMX.
func PermitAMX() error {
	return errors.New("it is not used on " + runtime.GOOS + "/" + runtime.GOARCH)
}
