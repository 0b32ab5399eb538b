//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deaths are the signals that end the process from outside and would leave the screen:
// those upon which the Go runtime prints every goroutine, and the end of the processor
// time that the process may take, which the runtime ignores until the system kills it.
// The runtime itself still answers faults of the program's own.
func deaths() []os.Signal {
	all := []os.Signal{
		unix.SIGQUIT, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS, unix.SIGXCPU,
	}
	if runtime.GOOS == "linux" && !strings.HasPrefix(runtime.GOARCH, "mips") {
		all = append(all, syscall.Signal(16)) // SIGSTKFLT, which other systems lack
	}
	return all
}

// dumpLimit is how long the runtime may take to print what it knows.
const dumpLimit = 10 * time.Second

// OnDeath lets the process die of a signal as without it, but not before before, which
// reports whether the terminal reads what the runtime prints. The result ends that.
func OnDeath(before func() (reads bool)) (release func()) {
	caught, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(caught, deaths()...)
	go func() {
		select {
		case s := <-caught:
			die(s.(syscall.Signal), before())
		case <-done:
		}
	}()
	return func() {
		signal.Stop(caught)
		close(done)
	}
}

func die(s syscall.Signal, dump bool) {
	signal.Reset(s)
	if dump && s != unix.SIGXCPU {
		_ = unix.Kill(unix.Getpid(), s)
		time.Sleep(dumpLimit)
	}
	os.Exit(128 + int(s))
}
