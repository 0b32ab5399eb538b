//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deaths are the signals that end the process from outside and would leave the screen:
// those upon which the Go runtime prints every goroutine, and the end of the processor
// time that the process may take, which the runtime ignores until the system kills it.
// The runtime itself still answers faults of the program's own.
var deaths = []os.Signal{
	unix.SIGQUIT, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS, unix.SIGXCPU,
}

// dumpLimit is how long the runtime may take to print what it knows.
const dumpLimit = 10 * time.Second

// onDeath lets the process die of a signal as without it, but not before before. The
// result ends that.
func onDeath(before func()) (release func()) {
	caught, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(caught, deaths...)
	go func() {
		select {
		case s := <-caught:
			before()
			die(s.(syscall.Signal))
		case <-done:
		}
	}()
	return func() {
		signal.Stop(caught)
		close(done)
	}
}

func die(s syscall.Signal) {
	signal.Reset(s)
	if s != unix.SIGXCPU {
		_ = unix.Kill(unix.Getpid(), s)
		time.Sleep(dumpLimit)
	}
	os.Exit(128 + int(s))
}
