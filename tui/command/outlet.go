package command

import (
	"bytes"
	"errors"
	"os"
	"time"
)

// outlet is standard output or standard error. A terminal or a pipe that is not read delays the
// program, but not its end: once ended is closed, a write is abandoned after outletLimit, and so
// are all later writes.
type outlet struct {
	file  *os.File
	ended <-chan struct{}
	stuck bool
}

// outletLimit is the time allowed for a write after the program was asked to end.
const outletLimit = 500 * time.Millisecond

// errGivenUp reports an abandoned write: the program was asked to end.
var errGivenUp = errors.New("the output is not read")

func newOutlet(ended <-chan struct{}, file *os.File) *outlet {
	o := &outlet{file: file, ended: ended}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		o.ended = nil // a regular file never blocks
	}
	return o
}

// ending returns a closed channel, for when the program is about to end by itself.
func ending() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Fd identifies the file as a terminal if it is one.
func (o *outlet) Fd() uintptr { return o.file.Fd() }

// Write waits for the file to take p, which is copied.
func (o *outlet) Write(p []byte) (int, error) {
	if o.stuck {
		return 0, errGivenUp
	}
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	data := bytes.Clone(p)
	go func() {
		n, err := o.file.Write(data)
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
		return 0, errGivenUp
	}
}
