package atomicfile

import (
	"fmt"
	"os"
)

// OwnFolder makes a folder that only the user can enter, or checks that one is.
func OwnFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: must be a folder", folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s: others can enter it: must be of mode 700", folder)
	}
	if uid, ok := owner(info); ok && uid != os.Getuid() {
		return fmt.Errorf("%s: belongs to user %d: must be your own", folder, uid)
	}
	return nil
}

// Own reports whether a file belongs to the user, as far as the system has owners.
func Own(info os.FileInfo) bool {
	uid, ok := owner(info)
	return !ok || uid == os.Getuid()
}
