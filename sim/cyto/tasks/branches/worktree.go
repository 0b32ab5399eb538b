package branches

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/machine"
)

// prefix begins the names of the folders in which worktrees are. The machine, the process and
// something random follow.
const prefix = "prismtop-cyto-"

// cleaning is how long git may take to remove a worktree.
const cleaning = time.Minute

// place is a folder with a worktree and the files of a task.
type place struct {
	folder string // of everything below
	tree   string // the worktree
}

// worktree makes a worktree of a commit in a new folder, without a branch. remove removes both,
// even after ctx has ended.
func (r *Repository) worktree(ctx context.Context, commit string) (p place, remove func() error, err error) {
	p.folder, err = os.MkdirTemp(r.o.Temporary, fmt.Sprintf("%s%s-%d-*", prefix, machine.Host(), os.Getpid()))
	if err != nil {
		return p, nil, err
	}
	// The name of the worktree is that by which git keeps it.
	p.tree = filepath.Join(p.folder, "tree"+p.folder[strings.LastIndexByte(p.folder, '-'):])
	if _, err := r.git(ctx, "worktree", "add", "--quiet", "--detach", p.tree, commit); err != nil {
		_ = r.remove(context.WithoutCancel(ctx), p) // the first error is the one to report
		return p, nil, err
	}
	return p, func() error { return r.remove(context.WithoutCancel(ctx), p) }, nil
}

// remove removes a worktree, from the repository and from disk, and ends what still runs there: a program can
// leave the group that is ended with it.
func (r *Repository) remove(ctx context.Context, p place) error {
	endIn(p.folder)
	ctx, cancel := context.WithTimeout(ctx, cleaning)
	defer cancel()
	err := removeAll(p.folder)
	// Without its folder, git has nothing to lose and no lock to respect.
	if _, gitErr := r.git(ctx, "worktree", "remove", "--force", "--force", p.tree); gitErr != nil &&
		r.registered(ctx, p.tree) {
		return gitErr
	}
	return err
}

// removeAll removes a folder, writable or not.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(folder)
}

// worktrees lists the worktrees that the repository knows.
func (r *Repository) worktrees(ctx context.Context) (paths []string) {
	list, err := r.git(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(list) {
		if path, found := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "worktree "); found {
			paths = append(paths, path)
		}
	}
	return paths
}

func (r *Repository) registered(ctx context.Context, tree string) bool {
	return slices.ContainsFunc(r.worktrees(ctx), func(path string) bool {
		return filepath.Base(path) == filepath.Base(tree)
	})
}

// prune removes the worktrees and folders of killed programs, ends what still runs there, and
// touches nothing else. What cannot be removed stays.
func (r *Repository) prune(ctx context.Context) {
	for _, tree := range r.worktrees(ctx) {
		if folder := filepath.Dir(tree); stale(filepath.Base(folder)) {
			_ = r.remove(ctx, place{folder, tree})
		}
	}
	entries, _ := os.ReadDir(r.o.Temporary)
	for _, e := range entries {
		if e.IsDir() && stale(e.Name()) {
			folder := filepath.Join(r.o.Temporary, e.Name())
			endIn(folder)
			_ = removeAll(folder)
		}
	}
}

// stale reports whether a folder's name is one of ours, and of a process of this machine that
// runs no more.
func stale(name string) bool {
	rest, ours := strings.CutPrefix(name, prefix)
	parts := strings.Split(rest, "-")
	if !ours || len(parts) != 3 || parts[0] != machine.Host() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && pid > 0 && !machine.Runs(pid)
}
