//go:build unix

package terminal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"

	"prismtop/profiles/visible"
)

// Stray catches output of other code in the process to standard output and standard error while
// the screen is shown, so that it does not corrupt the screen.
type Stray struct {
	terminal *os.File // the original standard output
	stderr   int      // a copy of the original standard error; -1 if it was not replaced
	reader   *os.File
	done     chan struct{}

	mu    sync.Mutex
	lines []string // caught and not yet taken
	lost  int
	all   []string // the latest lines, to be replayed after the screen
}

// Limits on what is kept.
const (
	maxStray     = 200
	maxStrayLine = 4096
)

// CatchStray replaces standard output with a pipe, and standard error too if it is a terminal.
// Afterwards, Terminal returns the original standard output. The crash output of the Go runtime
// still goes to the terminal.
func CatchStray() (*Stray, error) {
	s := &Stray{stderr: -1, done: make(chan struct{})}
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	s.terminal = os.NewFile(uintptr(out), os.Stdout.Name())
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, s.terminal.Close())
	}
	s.reader = reader
	if term.IsTerminal(os.Stderr.Fd()) {
		if s.stderr, err = unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3); err == nil {
			err = debug.SetCrashOutput(s.terminal, debug.CrashOptions{})
		}
		if err == nil {
			err = dup2(int(writer.Fd()), 2)
		}
	}
	if err == nil {
		err = dup2(int(writer.Fd()), 1)
	}
	err = errors.Join(err, writer.Close())
	go s.listen()
	if err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// Terminal returns the original standard output.
func (s *Stray) Terminal() *os.File { return s.terminal }

// Release restores standard output and standard error.
func (s *Stray) Release() {
	_ = dup2(int(s.terminal.Fd()), 1)
	if s.stderr >= 0 {
		_ = dup2(s.stderr, 2)
		_ = unix.Close(s.stderr)
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	}
	<-s.done // the pipe has no writers left
}

func (s *Stray) listen() {
	defer close(s.done)
	defer s.reader.Close()
	r := bufio.NewReaderSize(s.reader, maxStrayLine)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			s.Add(string(line))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// Add records a line as if it had been printed.
func (s *Stray) Add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, line)
	s.all = s.all[max(0, len(s.all)-maxStray):]
	if len(s.lines) == maxStray {
		s.lines = s.lines[1:]
		s.lost++
	}
	s.lines = append(s.lines, line)
}

// Take returns the lines caught since the last call, and the number of older lines that were
// lost.
func (s *Stray) Take() (lines []string, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, lost = s.lines, s.lost
	s.lines, s.lost = nil, 0
	return lines, lost
}

// Replay writes the latest lines caught to standard error, now that they are visible.
func (s *Stray) Replay(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.all {
		_, _ = io.WriteString(w, visible.Lines(line))
	}
}
