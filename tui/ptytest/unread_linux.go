package ptytest

import "golang.org/x/sys/unix"

// Unread returns the number of bytes of the program's output that a frozen terminal has not
// started to read.
func (x *Terminal) Unread() int {
	x.t.Helper()
	n, err := unix.IoctlGetInt(int(x.pty.Fd()), unix.TIOCINQ)
	if err != nil {
		x.t.Fatal(err)
	}
	return n
}
