package emulator

import "syscall"

// thread returns the calling thread of the operating system.
func thread() int { return syscall.Gettid() }
