//go:build !linux && !darwin

package features

import "runtime"

// model has no source on this system.
func model() (name, reason string) { return "", "the model is not read on " + runtime.GOOS }
