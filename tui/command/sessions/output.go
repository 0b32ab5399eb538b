package sessions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NewOutput makes a file for what a program prints, beside the logs of sessions, of which the oldest are deleted.
func NewOutput(program string) (*os.File, error) {
	folder, err := Folder()
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return nil, err
	}
	name := strings.Map(func(r rune) rune {
		if r == '*' || r == filepath.Separator || r < ' ' {
			return '_'
		}
		return r
	}, filepath.Base(program))
	f, err := os.CreateTemp(folder, name+"-*"+logEnding)
	if err == nil {
		pruneLogs(folder)
	}
	return f, err
}

// OutputOf opens the file that NewOutput made for a process that goes on.
func OutputOf(pid int) (*os.File, error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid))
	if err != nil {
		return nil, err
	}
	if folder, err := Folder(); err != nil || filepath.Dir(path) != folder {
		return nil, errors.New("what the process prints goes elsewhere")
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}
