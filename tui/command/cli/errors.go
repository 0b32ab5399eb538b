package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/visible"
	"prismtop/sim/cpu/vec/choice"
	"prismtop/sim/workload"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
)

// The exit statuses.
const (
	StatusDone        = 0
	StatusFailed      = 1 // also if this machine lacks what was asked for
	StatusUsage       = 2 // a command line, setting or input that is right on no machine
	StatusUndecided   = 3 // of a comparison that cannot tell what was asked
	StatusElsewhere   = 4 // of a check whose reference is of another machine
	StatusInterrupted = 130
)

// ExitStatus returns the exit status for an error.
func ExitStatus(err error) int {
	var usage *usageError
	var undecided *undecidedError
	var elsewhere *elsewhereError
	var program *statusError
	switch {
	case err == nil:
		return StatusDone
	case errors.As(err, &program):
		return program.status
	case Interrupted(err):
		return StatusInterrupted
	case errors.As(err, &usage):
		return StatusUsage
	case errors.As(err, &undecided):
		return StatusUndecided
	case errors.As(err, &elsewhere):
		return StatusElsewhere
	}
	return StatusFailed
}

// ErrorLine formats an error on one line, without terminal control characters. Errors joined by
// errors.Join follow one another. Interruptions and an output that is no longer read are
// omitted: whoever caused them knows.
func ErrorLine(err error) string {
	if usage, ok := err.(*usageError); ok {
		return ErrorLine(usage.error)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		var parts []string
		for _, e := range joined.Unwrap() {
			if line := ErrorLine(e); line != "" {
				parts = append(parts, line)
			}
		}
		return strings.Join(parts, "; ")
	}
	if err == nil || Interrupted(err) || errors.Is(err, ErrNotRead) {
		return ""
	}
	return visible.Text(flat(err))
}

// flat returns the text of an error with the parts of a joined error in it on one line.
func flat(err error) string {
	text := err.Error()
	for e := errors.Unwrap(err); e != nil; e = errors.Unwrap(e) {
		if joined, ok := e.(interface{ Unwrap() []error }); ok && e.Error() == errors.Join(joined.Unwrap()...).Error() {
			return strings.Replace(text, e.Error(), ErrorLine(e), 1)
		}
	}
	return text
}

// ErrInterrupted ends a run stopped by a signal; its results were printed.
var ErrInterrupted = errors.New("interrupted")

// Interrupted reports whether a signal ended the work that returned err.
func Interrupted(err error) bool {
	return errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled)
}

// usageError is an invalid command line or setting.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// refusedError is an output that this machine refuses.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// Refused marks an error about an output that the system refuses: a file, a folder or a port. It is no error in the
// command line, which is valid elsewhere.
func Refused(err error) error { return &refusedError{err} }

// undecidedError is a question that a comparison cannot answer.
type undecidedError struct{ error }

func (e *undecidedError) Unwrap() error { return e.error }

// elsewhereError is a reference of another machine.
type elsewhereError struct{ error }

func (e *elsewhereError) Unwrap() error { return e.error }

// Elsewhere marks an error about a reference that was measured on another machine.
func Elsewhere(err error) error { return &elsewhereError{err} }

// statusError is the end of a program whose exit status is to be this one's.
type statusError struct {
	error
	status int
}

func (e *statusError) Unwrap() error { return e.error }

// WithStatus marks an error about a program that ended with an exit status, which becomes this program's.
func WithStatus(err error, status int) error { return &statusError{err, status} }

// Undecided marks an error that is neither a yes nor a no.
func Undecided(err error) error { return &undecidedError{err} }

// BadUsage marks an error in the command line or the settings. Kernels and devices missing on this
// machine are not such an error, nor outputs that it refuses: the command line is valid elsewhere; nor is a file that
// another process writes: it is valid later.
func BadUsage(err error) error {
	var kernels *choice.UnavailableError
	var device *workload.LackingError
	var locked *atomicfile.LockedError
	var refused *refusedError
	if err == nil || errors.As(err, &kernels) || errors.As(err, &device) || errors.As(err, &locked) ||
		errors.As(err, &refused) {
		return err
	}
	return &usageError{err}
}

// Outlet is standard output or standard error. A terminal or a pipe that is not read delays the
// program, but not its end: once ended is closed, a write is abandoned after outletLimit, and so
// are all later writes. On a terminal that shows 7-bit characters only it writes those.
type Outlet struct {
	file  *os.File
	ended <-chan struct{}
	stuck bool
	ascii bool
	rest  []byte // the beginning of a character, of which more is to come
}

// outletLimit is the time allowed for a write after the program was asked to end.
const outletLimit = 500 * time.Millisecond

// ErrGivenUp reports an abandoned write: the program was asked to end.
var ErrGivenUp = errors.New("the output is not read")

// ErrNotRead reports that who read standard output or standard error has gone, and knows.
var ErrNotRead = errors.New("the output is no longer read")

// NewOutlet returns the outlet of a file; ended is closed when the program has to end.
func NewOutlet(ended <-chan struct{}, file *os.File) *Outlet {
	o := &Outlet{file: file, ended: ended}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		o.ended = nil // a regular file never blocks
	}
	o.ascii = terminal.IsTerminal(o) && terminal.Plain(os.Environ()) != ""
	return o
}

// Obey takes what the flags of a command say of characters on a terminal.
func (o *Outlet) Obey(flags *pflag.FlagSet) {
	if f := flags.Lookup("ascii"); f != nil && f.Changed {
		o.ascii = terminal.IsTerminal(o) && f.Value.String() == "true"
	}
}

// Document writes what follows as it is, for programs, if a flag of the command asks for a document.
func (o *Outlet) Document(flags *pflag.FlagSet) {
	for _, name := range []string{"json", "benchfmt"} {
		if f := flags.Lookup(name); f != nil && f.Value.String() == "true" {
			o.ascii = false
		}
	}
}

// plain returns p, and what was left of the one before, in 7-bit characters.
func (o *Outlet) plain(p []byte) []byte {
	p = append(o.rest, p...)
	whole := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if utf8.RuneStart(p[len(p)-i]) {
			if !utf8.FullRune(p[len(p)-i:]) {
				whole -= i
			}
			break
		}
	}
	o.rest = bytes.Clone(p[whole:])
	return bytes.Map(theme.ASCII, p[:whole])
}

// Ending returns a closed channel, for when the program is about to end by itself.
func Ending() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Fd identifies the file as a terminal if it is one.
func (o *Outlet) Fd() uintptr { return o.file.Fd() }

// Write waits for the file to take p, which is copied.
func (o *Outlet) Write(p []byte) (int, error) {
	data := p
	if o.ascii {
		data = o.plain(p)
	}
	n, err := o.write(data)
	if err != nil {
		return min(n, len(p)), Refused(err)
	}
	return len(p), nil
}

func (o *Outlet) write(p []byte) (int, error) {
	if o.stuck {
		return 0, ErrGivenUp
	}
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	data := bytes.Clone(p)
	go func() {
		n, err := o.file.Write(data)
		if errors.Is(err, syscall.EPIPE) {
			err = ErrNotRead
		}
		written <- result{n, err}
	}()
	select {
	case r := <-written:
		return r.n, r.err
	case <-o.ended:
	}
	select {
	case r := <-written:
		return r.n, r.err
	case <-time.After(outletLimit):
		o.stuck = true
		return 0, ErrGivenUp
	}
}
