//go:build unix

package terminal

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Redirect replaces standard output and standard error by a file, and standard input by one without
// contents, so that the process has nothing more to do with its terminal.
func Redirect(to *os.File) error {
	empty, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer empty.Close()
	return errors.Join(dup2(int(empty.Fd()), 0), dup2(int(to.Fd()), 1), dup2(int(to.Fd()), 2))
}

// NewSession makes a command start in a session of its own, without a terminal.
func NewSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// ToShell gives the terminal on standard input back to the shell while the process goes on, as
// ctrl+z and bg do: it stops the process, and waker, which calls Wake, continues it once the shell
// has the terminal. The error reports that there is no such shell.
func ToShell(waker *exec.Cmd) error {
	session, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	if session == unix.Getpgrp() {
		return errNoShell
	}
	waker.Stdin = os.Stdin
	waker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is not stopped, too
	if err := waker.Start(); err != nil {
		return err
	}
	err = suspension{}.stop()
	if err != nil {
		_ = waker.Process.Kill()
	}
	_ = waker.Wait() // killed, or done
	return err
}

// wakeLimit is how long a shell may take to notice that its job has stopped.
const wakeLimit = 2 * time.Second

// Wake continues the stopped processes of a group once the terminal on standard input belongs to
// another.
func Wake(group int) error {
	for deadline := time.Now().Add(wakeLimit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		front, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
		if err != nil || front != group {
			break
		}
	}
	return unix.Kill(-group, unix.SIGCONT)
}

// Group returns the process group.
func Group() int { return unix.Getpgrp() }
