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

// deaths returns the signals that end the process from outside without restoring the screen:
// those for which the Go runtime prints all goroutines, and SIGXCPU, which the runtime ignores
// until the system kills the process. The runtime still handles faults of the program itself.
func deaths() []os.Signal {
	all := []os.Signal{
		unix.SIGQUIT, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS,
		unix.SIGXCPU,
	}
	if runtime.GOOS == "linux" && !strings.HasPrefix(runtime.GOARCH, "mips") {
		all = append(all, syscall.Signal(16)) // SIGSTKFLT, which other systems lack
	}
	return all
}

// dumpLimit is the time allowed for the runtime to print its dump.
const dumpLimit = 10 * time.Second

// OnDeath calls before when a fatal signal arrives, and then lets the process die of it as
// usual. before reports whether the terminal reads the runtime's dump. release ends the
// handling.
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
		runtime.LockOSThread()
		_ = raise(s)
		time.Sleep(dumpLimit)
	}
	os.Exit(128 + int(s))
}
