//go:build unix

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// inherit gives a draft the owner, the group and the mode of the file that it replaces. The owner is kept where the
// system permits it; without the group, the group's permissions are dropped: they were another group's.
func inherit(draft *os.File, replaced fs.FileInfo) error {
	mode := replaced.Mode().Perm()
	if old, ok := replaced.Sys().(*syscall.Stat_t); ok {
		if made, err := draft.Stat(); err == nil {
			now, _ := made.Sys().(*syscall.Stat_t)
			if now != nil && (now.Uid != old.Uid || now.Gid != old.Gid) &&
				draft.Chown(int(old.Uid), int(old.Gid)) != nil &&
				now.Gid != old.Gid && draft.Chown(-1, int(old.Gid)) != nil {
				mode &^= 0o070
			}
		}
	}
	return draft.Chmod(mode)
}

// ForeignLinkError reports a symbolic link of another user in a folder where everybody can put one.
type ForeignLinkError struct{ Link, Owner string }

func (e *ForeignLinkError) Error() string {
	return fmt.Sprintf("the symbolic link %s is %s's, in a folder that everybody can write to: must be a link of "+
		"yours, or none", e.Link, e.Owner)
}

// ownLinks returns a ForeignLinkError if the way to a file leads over a symbolic link of another user in a sticky
// folder that everybody can write to. Linux follows the same rule where fs.protected_symlinks is 1.
func ownLinks(path string) error {
	left := maxLinks
	return ownLinksWithin(path, &left)
}

func ownLinksWithin(path string, left *int) error {
	for end := 1; end <= len(path); end++ {
		if end < len(path) && path[end] != filepath.Separator {
			continue
		}
		at := path[:end]
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue // opening it reports the error
		}
		folder, name := filepath.Split(at)
		if name == "" { // a separator twice
			continue
		}
		if folder == "" {
			folder = "."
		}
		if owner, foreign := foreignLink(info, folder); foreign {
			return &ForeignLinkError{at, owner}
		}
		if *left--; *left < 0 {
			return syscall.ELOOP
		}
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = strings.TrimSuffix(folder, "/") + "/" + target
		}
		if err := ownLinksWithin(target, left); err != nil {
			return err
		}
	}
	return nil
}

// foreignLink reports whether a link is of neither this user nor the folder's owner, in a sticky folder that
// everybody can write to.
func foreignLink(link fs.FileInfo, folder string) (owner string, foreign bool) {
	info, err := os.Stat(folder)
	if err != nil || info.Mode()&fs.ModeSticky == 0 || info.Mode().Perm()&0o002 == 0 {
		return "", false
	}
	l, okLink := link.Sys().(*syscall.Stat_t)
	f, okFolder := info.Sys().(*syscall.Stat_t)
	if !okLink || !okFolder || int(l.Uid) == os.Geteuid() || l.Uid == f.Uid {
		return "", false
	}
	id := strconv.FormatUint(uint64(l.Uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username, true
	}
	return "user " + id, true
}

// owner returns the user to whom a file belongs.
func owner(info fs.FileInfo) (uid int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
