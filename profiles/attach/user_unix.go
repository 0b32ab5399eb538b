//go:build unix

package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// ownedByUser returns an error if a folder belongs to another user.
func ownedByUser(path string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Getuid() {
		return fmt.Errorf("%s: belongs to user %d: must be your own", path, s.Uid)
	}
	return nil
}

// sameUser returns an error if another user is at the other end of a connection.
func sameUser(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	uid, failed := 0, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, failed = peerOf(int(fd)) }); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if uid != os.Getuid() {
		return fmt.Errorf("user %d is at the other end: must be your own processes", uid)
	}
	return nil
}

// refused reports that nobody listens to a socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
