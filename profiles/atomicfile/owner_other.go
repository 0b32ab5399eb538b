//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

// inherit gives a draft the mode of the file that it replaces.
func inherit(draft *os.File, replaced fs.FileInfo) error { return draft.Chmod(replaced.Mode().Perm()) }

// ownLinks accepts every link: owners of links are not known here.
func ownLinks(string) error { return nil }

// owner returns false: files have no owner that can be read.
func owner(fs.FileInfo) (uid int, ok bool) { return 0, false }
