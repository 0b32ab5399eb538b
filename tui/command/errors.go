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

// exitStatus is the exit status of an error.
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

// errorLine is an error's text on one line, without characters that steer a terminal.
// Errors that errors.Join joined stand one after another. That work was interrupted is
// not told: whoever did it knows.
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

// errInterrupted ends a run that a signal stopped; what it measured was printed.
var errInterrupted = errors.New("interrupted")

// interrupted reports whether a signal ended the work that returned the error.
func interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled)
}

// usageError is a command line or a setting that cannot be right.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// badUsage marks an error of the command line or the settings. That this machine lacks
// the kernels is none: the line is right elsewhere.
func badUsage(err error) error {
	var lacking *vec.UnavailableError
	if err == nil || errors.As(err, &lacking) {
		return err
	}
	return &usageError{err}
}
