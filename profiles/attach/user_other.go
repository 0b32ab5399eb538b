//go:build !unix

package attach

import (
	"errors"
	"io/fs"
	"net"
	"runtime"
)

// errUnsupported is why there are no sessions here.
var errUnsupported = errors.New("sessions need a Unix system, not " + runtime.GOOS)

func ownedByUser(string, fs.FileInfo) error { return errUnsupported }
func sameUser(net.Conn) error               { return errUnsupported }
func refused(error) bool                    { return false }
