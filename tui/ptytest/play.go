//go:build unix

package ptytest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Play plays a session, whose programs work in a folder. Each line is a verb with operands, separated by spaces;
// operands with spaces are quoted as in Go. Lines that start with # state the user's intention.
//
//	terminal 120x40          a terminal of that size
//	start PROGRAM ARGS…      starts a program on it
//	see TEXT…                waits until each text is on the screen, or has scrolled off the normal one
//	gone TEXT…               waits until the screen shows none of them
//	press KEY…               presses keys, by name (a, enter, ctrl+z) or as text
//	idle                     waits until the output of the program settles
//	resize 80x24             changes the terminal's size
//	freeze, thaw             stops the terminal from reading, lets it continue
//	stop, cont               stops the whole program, lets it continue
//	throttle, release        gives the program a fifth of the CPU time, all of it
//	wait 3s                  waits for a fixed time
//	file PATH…               checks, without waiting, that these files exist
//	exit STATUS              waits for the program to exit with that status
//	restored                 waits for the normal screen and the original modes
func Play(t *testing.T, folder, session string) {
	t.Helper()
	p := player{t: t, folder: folder}
	for n, line := range strings.Split(session, "\n") {
		words, err := split(line)
		if err != nil {
			t.Fatalf("line %d: %q: %v", n+1, line, err)
		}
		if len(words) == 0 {
			continue
		}
		t.Logf("%s", strings.TrimSpace(line))
		p.do(words[0], words[1:])
	}
}

// player holds the state of Play.
type player struct {
	t        *testing.T
	folder   string
	terminal *Terminal
	cmd      *exec.Cmd
	release  func() // ends the throttling
}

func (p *player) do(verb string, operands []string) {
	p.t.Helper()
	x := p.terminal
	if x == nil && verb != "terminal" {
		p.t.Fatalf("%s: there is no terminal yet", verb)
	}
	switch verb {
	case "terminal":
		w, h := p.size(operands)
		p.terminal = Open(p.t, w, h)
	case "start":
		p.cmd = exec.Command(operands[0], operands[1:]...)
		p.cmd.Dir = p.folder
		x.Start(p.cmd)
	case "see":
		x.See(operands...)
	case "gone":
		x.Gone(operands...)
	case "press":
		x.Press(operands...)
	case "idle":
		x.Idle()
	case "resize":
		w, h := p.size(operands)
		x.Resize(w, h)
	case "freeze", "thaw":
		x.Freeze(verb == "freeze")
	case "stop":
		p.signal(syscall.SIGSTOP)
	case "cont":
		p.signal(syscall.SIGCONT)
	case "throttle":
		p.throttle()
	case "release":
		p.release()
	case "wait":
		d, err := time.ParseDuration(strings.Join(operands, " "))
		if err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(d)
	case "file":
		for _, name := range operands {
			if _, err := os.Stat(filepath.Join(p.folder, name)); err != nil {
				p.t.Error(err)
			}
		}
	case "exit":
		p.exit(operands)
	case "restored":
		x.Restored()
	default:
		p.t.Fatalf("%q: no such verb", verb)
	}
}

func (p *player) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Error(err)
	}
}

// throttle repeatedly stops the program, as on a busy machine.
func (p *player) throttle() {
	done, over := make(chan struct{}), make(chan struct{})
	p.release = sync.OnceFunc(func() { close(done); <-over })
	p.t.Cleanup(p.release)
	go func() {
		defer close(over)
		for {
			p.signal(syscall.SIGSTOP)
			time.Sleep(80 * time.Millisecond)
			p.signal(syscall.SIGCONT)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
}

func (p *player) size(operands []string) (width, height int) {
	p.t.Helper()
	w, h, _ := strings.Cut(strings.Join(operands, " "), "x")
	width, errW := strconv.Atoi(w)
	height, errH := strconv.Atoi(h)
	if err := errors.Join(errW, errH); err != nil {
		p.t.Fatalf("a size as 120x40: %v", err)
	}
	return width, height
}

func (p *player) exit(operands []string) {
	p.t.Helper()
	want := strings.Join(operands, " ")
	got := "0"
	var status *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &status) {
		got = strconv.Itoa(status.ExitCode())
	} else if err != nil {
		p.t.Fatal(err)
	}
	if got != want {
		p.t.Errorf("the program ended with status %s, want %s\n%s", got, want, p.terminal.Text())
	}
}

// split splits a line into words; quoted words follow Go's syntax.
func split(line string) (words []string, err error) {
	line = strings.TrimSpace(line)
	for line != "" && !strings.HasPrefix(line, "#") {
		word, rest, _ := strings.Cut(line, " ")
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			rest = line[len(quoted):]
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
		}
		words, line = append(words, word), strings.TrimSpace(rest)
	}
	return words, nil
}
