package attach

import (
	"golang.org/x/sys/unix"
)

// peerOf returns the user at the other end of a socket.
func peerOf(fd int) (uid int, err error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(c.Uid), nil
}
