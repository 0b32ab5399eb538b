//go:build unix

package command

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyTimeUp delivers the signal that a task's time will soon be up.
func notifyTimeUp(to chan<- os.Signal) { signal.Notify(to, syscall.SIGUSR1) }
