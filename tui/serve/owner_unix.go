//go:build unix

package serve

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFile returns an error if a file belongs to neither the user nor the administrator.
func ownFile(path string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d: must be your own", path, s.Uid)
	}
	return nil
}
