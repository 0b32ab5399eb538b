package command

import (
	"context"
	"errors"
	"strings"

	"prismtop/profiles/visible"
	"prismtop/sim/cpu/vec"
)

// The exit statuses.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130
)

// exitStatus returns the exit status for an error.
func exitStatus(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return statusDone
	case interrupted(err):
		return statusInterrupted
	case errors.As(err, &usage):
		return statusUsage
	}
	return statusFailed
}

// errorLine formats an error on one line, without terminal control characters. Errors joined by
// errors.Join follow one another. Interruptions are omitted: whoever caused them knows.
func errorLine(err error) string {
	if usage, ok := err.(*usageError); ok {
		return errorLine(usage.error)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		var parts []string
		for _, e := range joined.Unwrap() {
			if line := errorLine(e); line != "" {
				parts = append(parts, line)
			}
		}
		return strings.Join(parts, "; ")
	}
	if err == nil || interrupted(err) {
		return ""
	}
	return visible.Text(err.Error())
}

// errInterrupted ends a run stopped by a signal; its results were printed.
var errInterrupted = errors.New("interrupted")

// interrupted reports whether a signal ended the work that returned err.
func interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled)
}

// usageError is an invalid command line or setting.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// badUsage marks an error in the command line or the settings. Kernels missing on this machine
// are not such an error: the command line is valid elsewhere.
func badUsage(err error) error {
	var lacking *vec.UnavailableError
	if err == nil || errors.As(err, &lacking) {
		return err
	}
	return &usageError{err}
}
