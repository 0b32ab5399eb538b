//go:build !unix

package command

import "os"

// notifyTimeUp delivers nothing: this system has no such signal.
func notifyTimeUp(chan<- os.Signal) {}
