// Package branches runs tasks on git branches of a repository, each in a worktree and a process
// of its own. The repository's own working tree, index, branches and HEAD are never touched.
package branches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"prismtop/profiles/visible"
	"prismtop/sim/bench/apart"
	"prismtop/sim/cyto/tasks"
)

// Options are how tasks run on branches.
type Options struct {
	Folder string // of the repository, or one inside it
	// Fetch allows to ask remotes over the network for branches that the repository does not
	// have. Remotes that are folders of this machine are always asked.
	Fetch bool
	// Command runs a task that names none: words as for a shell, without its other features, in
	// which {name} is a value of the task (job). Empty runs cyto-dl by Python.
	Command string
	// Limit is the time that a task may take; 0 is none.
	Limit time.Duration
	// Temporary is the folder for worktrees; empty is the system's.
	Temporary string
}

// Repository is a git repository whose branches are benchmarked.
type Repository struct {
	o       Options
	program string // git

	mu      sync.Mutex
	commits map[string]string // by branch, so that all rounds run the same one
}

// Open opens a repository, and removes the worktrees that killed programs of this machine left
// in it.
func Open(ctx context.Context, o Options) (*Repository, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("repository %s: git is not in PATH: must be installed to run branches", o.Folder)
	}
	if o.Command != "" {
		if err := CheckCommand(o.Command); err != nil {
			return nil, err
		}
	}
	o.Temporary = cmp.Or(o.Temporary, os.TempDir())
	if o.Temporary, err = filepath.Abs(o.Temporary); err != nil {
		return nil, err
	}
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return nil, err
	}
	if info, err := os.Stat(o.Folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("repository %s: is no folder: must be a git repository", o.Folder)
	}
	r := &Repository{o: o, program: program, commits: map[string]string{}}
	if _, err := r.git(ctx, "rev-parse", "--absolute-git-dir"); err != nil {
		return nil, fmt.Errorf("repository %s: %w: must be a git repository", o.Folder, err)
	}
	if err := r.refusePrograms(ctx); err != nil {
		return nil, fmt.Errorf("repository %s: %w", o.Folder, err)
	}
	r.prune(ctx)
	return r, nil
}

// located are the variables that lead git to another repository than that of its folder.
var located = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_CONFIG",
	"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}

// environment is this program's, without located and without what names its own folder: programs such as make
// believe PWD.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "PWD" || name == "OLDPWD" || name == "PROJECT_ROOT" || slices.Contains(located, name)
	})
}

// longestGit bounds what is kept of git's output.
const longestGit = 1 << 20

// git runs git in the repository, without its hooks, and returns what it prints, trimmed.
func (r *Repository) git(ctx context.Context, arguments ...string) (string, error) {
	all := slices.Concat([]string{"-C", r.o.Folder, "-c", "core.hooksPath=" + os.DevNull, "-c",
		"core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, arguments)
	cmd := exec.CommandContext(ctx, r.program, all...)
	cmd.Env = append(environment(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_SSH_COMMAND="+cmp.Or(os.Getenv("GIT_SSH_COMMAND"), "ssh -o BatchMode=yes"))
	out, complaint := apart.Head{Most: longestGit}, apart.Tail{Most: longestGit}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := apart.Run(cmd); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if last := apart.LastLine(complaint.String()); last != "" {
			err = errors.New(visible.Text(strings.TrimPrefix(last, "fatal: ")))
		}
		return "", fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}

// Resolve returns the commit of a branch, the same one as long as the repository is open. A
// branch that the repository does not have is looked for in its remotes.
func (r *Repository) Resolve(ctx context.Context, branch string) (commit string, err error) {
	if err := tasks.CheckBranch(branch); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if commit = r.commits[branch]; commit != "" {
		return commit, nil
	}
	if commit, err = r.resolve(ctx, branch); err != nil {
		return "", fmt.Errorf("branch %s: %w", branch, err)
	}
	r.commits[branch] = commit
	return commit, nil
}

func (r *Repository) resolve(ctx context.Context, branch string) (string, error) {
	for _, name := range []string{"refs/heads/" + branch, branch} {
		if commit, err := r.commit(ctx, name); commit != "" || err != nil {
			return commit, err
		}
	}
	list, err := r.git(ctx, "remote")
	if err != nil {
		return "", err
	}
	remotes := strings.Fields(list)
	if i := slices.Index(remotes, "origin"); i > 0 {
		remotes = slices.Insert(slices.Delete(remotes, i, i+1), 0, "origin")
	}
	for _, remote := range remotes {
		if commit, err := r.commit(ctx, "refs/remotes/"+remote+"/"+branch); commit != "" || err != nil {
			return commit, err
		}
	}
	return r.fetch(ctx, branch, remotes)
}

// commit returns the commit of a name; empty if there is none.
func (r *Repository) commit(ctx context.Context, name string) (string, error) {
	commit, err := r.git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return "", ctx.Err()
	}
	return commit, nil
}

// fetch gets the commit of a branch from the remotes. It writes objects, no branch.
func (r *Repository) fetch(ctx context.Context, branch string, remotes []string) (string, error) {
	problem := fmt.Errorf("%s does not have it, and no remote: `git -C %s branch -a` lists what there is",
		r.o.Folder, r.o.Folder)
	for _, remote := range remotes {
		address, err := r.git(ctx, "remote", "get-url", remote)
		if err != nil {
			return "", err
		}
		if !r.o.Fetch && !isLocal(address) {
			problem = fmt.Errorf("%s does not have it, and its remote %s (%s) is asked over the network with "+
				"--fetch only", r.o.Folder, remote, bare(address))
			continue
		}
		ref := "refs/heads/" + branch
		line, err := r.git(ctx, "ls-remote", "--quiet", remote, ref)
		if err != nil {
			return "", fmt.Errorf("remote %s (%s): %w", remote, bare(address), err)
		}
		commit, _, found := strings.Cut(line, "\t")
		if !found {
			problem = fmt.Errorf("neither %s nor its remote %s (%s) has it: `git -C %s ls-remote` lists what there is",
				r.o.Folder, remote, bare(address), r.o.Folder)
			continue
		}
		if r.has(ctx, commit) == nil {
			return commit, nil
		}
		if _, err := r.git(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
			"--refmap=", remote, ref); err != nil {
			return "", fmt.Errorf("remote %s (%s): %w", remote, bare(address), err)
		}
		if err := r.has(ctx, commit); err != nil {
			return "", fmt.Errorf("remote %s (%s): it moved while it was fetched: start again", remote, bare(address))
		}
		return commit, nil
	}
	return "", problem
}

// has checks that a commit is in the repository.
func (r *Repository) has(ctx context.Context, commit string) error {
	_, err := r.git(ctx, "cat-file", "-e", commit+"^{commit}")
	return err
}

// isLocal reports whether the address of a remote is a folder or file of this machine.
func isLocal(address string) bool {
	if scheme, _, found := strings.Cut(address, "://"); found {
		return scheme == "file"
	}
	colon, slash := strings.IndexByte(address, ':'), strings.IndexByte(address, '/')
	return colon < 0 || slash >= 0 && slash < colon || filepath.VolumeName(address) != ""
}

// bare returns an address without the name and password that it may have.
func bare(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		u.User = nil
		return visible.Text(u.String())
	}
	return visible.Text(address)
}

// info returns what a file of results says about a commit.
func (r *Repository) info(ctx context.Context, branch, commit string) *tasks.GitInfo {
	i := &tasks.GitInfo{Branch: branch, CommitHash: commit, CommitDate: tasks.Unknown}
	if date, err := r.git(ctx, "log", "-1", "--no-show-signature", "--format=%ci", commit); err == nil && date != "" {
		i.CommitDate = date
	}
	return i
}
