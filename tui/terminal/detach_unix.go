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

// Shell returns an error if no shell can take the terminal back while the process goes on.
func Shell() error {
	session, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	if session == unix.Getpgrp() {
		return errNoShell
	}
	return nil
}

// ToShell gives the terminal on standard input back to the shell while the process goes on, as
// ctrl+z and bg do: it stops the process, and waker, which calls Wake, continues it once the shell
// has the terminal. The error reports that there is no such shell.
func ToShell(waker *exec.Cmd) error {
	if err := Shell(); err != nil {
		return err
	}
	waker.Stdin = os.Stdin
	waker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is not stopped, too
	if err := waker.Start(); err != nil {
		return err
	}
	err := stop()
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

// controlling names the terminal whose shell has job control over the process.
const controlling = "/dev/tty"

// AwaitReturn waits until a shell brings the process, to which Redirect left nothing of its terminal,
// to the foreground again, as fg does, and returns the terminal. It returns nil once done is closed or
// the process has no terminal any more. Nothing of the terminal is open meanwhile, so that it can be closed.
func AwaitReturn(done <-chan struct{}) *os.File {
	tick := time.NewTicker(foregroundPeriod)
	defer tick.Stop()
	for {
		// A file of package os would be one that does not block, which standard output must not be.
		fd, err := unix.Open(controlling, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil
		}
		front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err == nil && front == unix.Getpgrp() {
			return os.NewFile(uintptr(fd), controlling)
		}
		_ = unix.Close(fd)
		if err != nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-done:
			return nil
		}
	}
}

// Return undoes Redirect with a terminal.
func Return(to *os.File) error {
	fd := int(to.Fd())
	return errors.Join(dup2(fd, 0), dup2(fd, 1), dup2(fd, 2))
}

// Group returns the process group.
func Group() int { return unix.Getpgrp() }
