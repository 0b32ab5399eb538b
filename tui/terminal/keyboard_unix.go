//go:build unix

package terminal

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"
)

// keyboard reads a terminal as fast as it sends, so that ctrl+c never waits, and passes the
// output of its gate to Bubble Tea, to which it is a file that can be polled.
type keyboard struct {
	terminal  io.Reader
	interrupt func() // handles ctrl+c

	flag  [2]*os.File // a pipe that holds a byte while input waits
	fd    uintptr     // its read end
	cease func()      // stops the current reader

	mu    sync.Mutex
	gate  gate
	timer *time.Timer
	full  bool  // the pipe holds a byte
	deaf  bool  // nothing is taken any more
	err   error // why reading the terminal ended
	lost  chan struct{}
}

// newKeyboard returns a keyboard that is not reading yet.
func newKeyboard(terminal io.Reader, interrupt func()) (*keyboard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &keyboard{terminal: terminal, interrupt: interrupt, flag: [2]*os.File{r, w}, fd: r.Fd(),
		lost: make(chan struct{})}, nil
}

// start starts reading. The terminal must be in raw mode.
func (k *keyboard) start() error {
	r, remote := k.terminal.(cancelreader.CancelReader)
	if !remote {
		var err error
		if r, err = cancelreader.NewReader(k.terminal); err != nil {
			return err
		}
	}
	done := make(chan struct{})
	k.cease = func() {
		if r.Cancel() {
			<-done
		}
		_ = r.Close()
	}
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			switch {
			case errors.Is(err, cancelreader.ErrCanceled):
				return
			case errors.Is(err, syscall.EIO) && k.behind(): // until start
				return
			case err != nil:
				k.fail(err)
				return
			}
			k.take(buf[:n])
		}
	}()
	return nil
}

// behind reports whether the process is in the background of its shell, where it cannot read the terminal.
func (k *keyboard) behind() bool {
	f, ok := k.terminal.(term.File)
	return ok && !InForeground(f.Fd())
}

// stop stops reading; queued input is kept.
func (k *keyboard) stop() {
	if k.cease != nil {
		k.cease()
		k.cease = nil
	}
}

// hush drops what waits, and what is typed from now on, and leaves the last key.
func (k *keyboard) hush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.deaf, k.gate.queue = true, append(k.gate.queue[:0], lastKey...)
	k.raise()
}

// take feeds input to the gate.
func (k *keyboard) take(p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deaf {
		return
	}
	k.obey(k.gate.feed(p, time.Now()))
}

// look checks the gate's deadline.
func (k *keyboard) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deaf {
		return
	}
	k.obey(k.gate.look(time.Now()))
}

// obey handles ctrl+c, and updates the pipe and the timer after a change of the gate. The caller
// holds mu.
func (k *keyboard) obey(interrupted bool) {
	if interrupted {
		go k.interrupt() // waits for the handler of the previous key
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	if at := k.gate.deadline(); !at.IsZero() {
		k.timer = time.AfterFunc(time.Until(at)+time.Millisecond, k.look)
	}
	k.raise()
}

// fail records the error that ended reading.
func (k *keyboard) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		close(k.lost)
	}
	k.err = err
	k.raise()
}

// ended returns a channel that is closed when reading has failed.
func (k *keyboard) ended() <-chan struct{} { return k.lost }

// raise makes the pipe hold a byte exactly while input waits. The caller holds mu.
func (k *keyboard) raise() {
	waiting := len(k.gate.queue) > 0 || k.err != nil
	var one [1]byte
	var err error
	switch {
	case waiting && !k.full:
		_, err = k.flag[1].Write(one[:])
	case !waiting && k.full:
		_, err = k.flag[0].Read(one[:])
	}
	if err == nil {
		k.full = waiting
	}
}

// Read returns queued input once Fd is readable.
func (k *keyboard) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.gate.queue) == 0 && k.err != nil {
		return 0, k.err
	}
	n := k.gate.hand(p)
	k.raise()
	return n, nil
}

// Fd returns a descriptor that is readable while input waits.
func (k *keyboard) Fd() uintptr { return k.fd }

// Name returns a fixed name.
func (k *keyboard) Name() string { return "keyboard" }

// Write fails: a keyboard is read-only.
func (k *keyboard) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Close closes the pipe. The keyboard must no longer be read.
func (k *keyboard) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
	}
	return errors.Join(k.flag[0].Close(), k.flag[1].Close())
}
