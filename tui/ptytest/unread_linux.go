package ptytest

import "golang.org/x/sys/unix"

// Unread is how many bytes of the program's wait for a frozen terminal, beside those
// that it had begun to read.
func (x *Terminal) Unread() int {
	x.t.Helper()
	n, err := unix.IoctlGetInt(int(x.pty.Fd()), unix.TIOCINQ)
	if err != nil {
		x.t.Fatal(err)
	}
	return n
}
