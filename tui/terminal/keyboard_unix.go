//go:build unix

package terminal

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"
)

// keyboard reads a terminal as fast as it sends, so that ctrl+c waits for nothing, and
// hands what passes its gate on to Bubble Tea, for which it is a file that can be
// waited for.
type keyboard struct {
	terminal  term.File
	interrupt func() // carries out ctrl+c

	flag  [2]*os.File // a pipe that holds a byte while something waits
	fd    uintptr     // of its reading end
	cease func()      // ends the reading that is under way

	mu    sync.Mutex
	gate  gate
	timer *time.Timer
	full  bool  // the pipe holds its byte
	err   error // what ended the terminal
}

// newKeyboard is a keyboard that does not read yet.
func newKeyboard(terminal term.File, interrupt func()) (*keyboard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &keyboard{terminal: terminal, interrupt: interrupt, flag: [2]*os.File{r, w}, fd: r.Fd()}, nil
}

// start begins to read. The terminal must be in raw mode.
func (k *keyboard) start() error {
	r, err := cancelreader.NewReader(k.terminal)
	if err != nil {
		return err
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
			case err != nil:
				k.fail(err)
				return
			}
			k.take(buf[:n])
		}
	}()
	return nil
}

// stop ends the reading; what waits stays.
func (k *keyboard) stop() {
	if k.cease != nil {
		k.cease()
		k.cease = nil
	}
}

// take puts what came through the gate.
func (k *keyboard) take(p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.obey(k.gate.feed(p, time.Now()))
}

// look lets the gate look whether a time is over.
func (k *keyboard) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.obey(k.gate.look(time.Now()))
}

// obey carries out ctrl+c, and everything else after a change of the gate. The caller
// holds mu.
func (k *keyboard) obey(interrupted bool) {
	if interrupted {
		go k.interrupt() // waits for the handler of the key before
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	if at := k.gate.deadline(); !at.IsZero() {
		k.timer = time.AfterFunc(time.Until(at)+time.Millisecond, k.look)
	}
	k.raise()
}

// fail ends the terminal.
func (k *keyboard) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	k.raise()
}

// raise makes the pipe hold a byte exactly while something waits. The caller holds mu.
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

// Read hands over what waits, once Fd can be read.
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

// Fd can be read while something waits.
func (k *keyboard) Fd() uintptr { return k.fd }

// Name is the terminal's.
func (k *keyboard) Name() string { return "keyboard" }

// Write refuses: nothing is written to a keyboard.
func (k *keyboard) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Close gives the pipe back. Nothing reads any more.
func (k *keyboard) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
	}
	return errors.Join(k.flag[0].Close(), k.flag[1].Close())
}
