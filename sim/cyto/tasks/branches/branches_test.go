//go:build unix

package branches

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/cyto/tasks"
)

// gitIn runs git in a folder, apart from the settings of who runs the test.
func gitIn(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=" + os.DevNull}, arguments...)...)
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", arguments[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// scripts are the programs of the branches, each bench.sh of one.
var scripts = map[string]string{
	"main":    `echo '{"branch":"main","success":true,"metrics":{"total_training":{"elapsed_seconds":2},"final_metrics":{"train/loss":0.5}}}' > "$TASK_OUTPUT"`,
	"fast":    `echo '[{"success":true,"metrics":{"total_training":{"elapsed_seconds":1}}}]' > "$1"; cp "$TASK_JOB" "${KEEP:-/dev/null}"; echo "$@" >> "${KEEP:-/dev/null}"`,
	"fails":   `echo '{"success":false,"error":"no such layer","metrics":{"config_loading":{"elapsed_seconds":1}}}' > "$TASK_OUTPUT"; echo a line; exit 1`,
	"breaks":  `echo one; echo "ImportError: no module" >&2; exit 1`,
	"silent":  `exit 0`,
	"killed":  `kill -KILL $$`,
	"hungry":  `echo "RuntimeError: CUDA out of memory. Tried to allocate" >&2; exit 1`,
	"python":  `python -c 'x'`,
	"invalid": `echo '{"success":true,"metrics":{"total_training":{"elapsed_seconds":NaN}}}' > "$TASK_OUTPUT"`,
	"other":   `echo '{"success":true,"metrics":{"total_inference":{"elapsed_seconds":1}}}' > "$TASK_OUTPUT"`,
	"nothing": `echo '{"success":true,"metrics":{}}' > "$TASK_OUTPUT"`,
	"hangs":   `sleep 600 & echo > "$STARTED"; wait`,
	"dirty":   `chmod -R a-w . ; mkdir "$TASK_FOLDER/x"; chmod 500 "$TASK_FOLDER/x"; git -C . branch -a >/dev/null; echo '{"success":true,"metrics":{"total_training":{"elapsed_seconds":1}}}' > "$TASK_OUTPUT"`,
}

// template is a folder with a repository that has a branch for each script. It is removed by
// TestMain.
var template = filepath.Join(os.TempDir(), fmt.Sprintf("branches-test-%d", os.Getpid()))

func TestMain(m *testing.M) {
	status := m.Run()
	_ = os.RemoveAll(template)
	os.Exit(status)
}

// repository makes a repository with a branch for each script, with changes that are not
// committed, and hooks that fail the test's comparison if they are run.
func repository(t *testing.T) string {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if _, err := os.Stat(template); err != nil {
		write(t, filepath.Join(template, "README"), "text\n")
		gitIn(t, template, "init", "-q", "-b", "main")
		gitIn(t, template, "add", "-A")
		gitIn(t, template, "commit", "-q", "-m", "start")
		gitIn(t, template, "tag", "start")
		for _, name := range slices.Sorted(maps.Keys(scripts)) {
			gitIn(t, template, "checkout", "-q", "-B", name, "start")
			write(t, filepath.Join(template, "bench.sh"), "#!/bin/sh\n"+scripts[name]+"\n")
			gitIn(t, template, "add", "-A")
			gitIn(t, template, "commit", "-q", "-m", name)
		}
		gitIn(t, template, "checkout", "-q", "main")
	}
	folder := filepath.Join(t.TempDir(), "repository")
	if err := os.CopyFS(folder, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "README"), "changed\n")
	write(t, filepath.Join(folder, "staged"), "new\n")
	gitIn(t, folder, "add", "staged")
	write(t, filepath.Join(folder, "untracked"), "new\n")
	write(t, filepath.Join(folder, ".git", "hooks", "post-checkout"), "#!/bin/sh\necho run >> "+filepath.Join(folder, "hooked")+"\n")
	return folder
}

// state is the hash of a folder's files, with the repository's index, HEAD, branches and
// worktrees; git's objects and what it keeps of them are left out.
func state(t *testing.T, folder string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(folder, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == filepath.Join(".git", "objects")):
			return fs.SkipDir
		case d.IsDir():
			if rel != filepath.Join(".git", "worktrees") { // which git leaves, empty
				fmt.Fprintln(sum, rel)
			}
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		fmt.Fprintln(sum, rel, info.Mode(), info.ModTime().UnixNano())
		_, err = io.Copy(sum, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// open opens a repository whose worktrees are in a folder of the test.
func open(t *testing.T, folder string, change func(*Options)) *Repository {
	t.Helper()
	o := Options{Folder: folder, Command: `./bench.sh {output} "{experiment} x" {overrides}`, Temporary: filepath.Join(filepath.Dir(folder), "tmp")}
	if err := os.MkdirAll(o.Temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	r, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// clean checks that no worktree is left.
func clean(t *testing.T, r *Repository) {
	t.Helper()
	if left, err := os.ReadDir(r.o.Temporary); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if all := r.worktrees(t.Context()); len(all) != 1 {
		t.Errorf("worktrees %q are left", all)
	}
}

// task returns a training task on a branch.
func task(branch string) *tasks.Task {
	return &tasks.Task{Branch: branch, Experiment: "im2im/segmentation", Trainer: "cpu", Epochs: 5, Batch: 8, Limits: tasks.DefaultLimits(),
		Checkpoint: "relative.npz", Overrides: []tasks.Override{{Raw: "a=[1,2]"}, {Raw: "b=3 4"}}}
}

func TestBranchesRunInWorktreesOfTheirOwn(t *testing.T) {
	folder := repository(t)
	kept := filepath.Join(filepath.Dir(folder), "kept")
	t.Setenv("KEEP", kept)
	t.Setenv("GIT_DIR", "/nowhere") // as in a hook
	before := state(t, folder)
	r := open(t, filepath.Join(folder, ".git", ".."), nil)
	for branch, want := range map[string]struct{ err, output string }{
		"main":    {},
		"fast":    {},
		"dirty":   {},
		"fails":   {"no such layer", "a line"},
		"breaks":  {"./bench.sh: exit status 1: ImportError: no module", "one\nImportError: no module"},
		"silent":  {"the command wrote no result: it must write it to {output}", ""},
		"killed":  {"./bench.sh: out of memory: killed by the ", ""},
		"hungry":  {"./bench.sh: out of memory: an allocation failed: out of memory: reduce batch_size", "RuntimeError"},
		"invalid": {"the result of the command: must be a list of results as JSON", ""},
		"other":   {"metrics: must be those of training", ""},
		"nothing": {"metrics: total_training is missing", ""},
		"none":    {"failed to check out: branch none: " + r.o.Folder + " does not have it, and no remote", ""},
	} {
		out := r.Run(t.Context(), task(branch), 2, 3)
		round := out.Round
		if round.Round != 2 || round.Position != 3 || round.Timestamp == "" || round.Success != (want.err == "") || (round.Error == nil) != (want.err == "") {
			t.Errorf("%s: %+v", branch, round)
			continue
		}
		if want.err != "" && !strings.Contains(*round.Error, want.err) || !strings.Contains(round.Output, want.output) {
			t.Errorf("%s: %q, output %q, want %+v", branch, *round.Error, round.Output, want)
		}
		if branch == "none" {
			if out.Git != nil || round.Process != nil {
				t.Errorf("%+v", out)
			}
			continue
		}
		if out.Git == nil || out.Git.Branch != branch || out.Git.CommitHash != gitAt(t, folder, branch) || len(out.Git.CommitDate) < len("2025-11-24 12:00:00 +0000") {
			t.Errorf("%s: %+v", branch, out.Git)
		}
		if round.Process == nil || round.Process.Seconds <= 0 {
			t.Errorf("%s: %+v", branch, round.Process)
		}
		switch m := round.Metrics.Training; branch {
		case "main":
			if m.TotalTraining.ElapsedSeconds != 2 || m.FinalMetrics["train/loss"] != 0.5 {
				t.Errorf("%+v", m)
			}
		case "fails": // what it measured is kept
			if m.ConfigLoading == nil || m.TotalTraining != nil {
				t.Errorf("%+v", m)
			}
		}
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	here, _ := os.Getwd()
	for _, part := range []string{`"limit_train_batches": 10`, `"max_epochs": 5`, `"a=[1,2]"`, `"checkpoint_path": "` + filepath.Join(here, "relative.npz") + `"`, "result.json im2im/segmentation x a=[1,2] b=3 4\n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	clean(t, r)
	if after := state(t, folder); after != before {
		t.Error("the repository has changed")
	}
}

func gitAt(t *testing.T, folder, branch string) string {
	t.Helper()
	return gitIn(t, folder, "rev-parse", branch)
}

// A branch that only a remote has is fetched if that is a folder, or with permission; no
// branch of the repository changes, and no rounds run different commits.
func TestBranchesOfRemotesAreFetched(t *testing.T) {
	upstream := repository(t)
	folder := filepath.Join(filepath.Dir(upstream), "clone")
	gitIn(t, upstream, "clone", "-q", "--no-local", "--single-branch", "--branch", "main", upstream, folder)
	gitIn(t, folder, "remote", "add", "another", "ssh://user:secret@host.invalid/x")
	before := state(t, folder)
	r := open(t, folder, nil)
	if out := r.Run(t.Context(), task("fast"), 1, 1); !out.Round.Success || out.Git.CommitHash != gitIn(t, upstream, "rev-parse", "fast") {
		t.Errorf("%+v, %v", out, value(out.Round.Error))
	}
	gitIn(t, upstream, "branch", "-q", "-f", "fast", "main")
	if out := r.Run(t.Context(), task("fast"), 2, 1); out.Git.CommitHash == gitIn(t, upstream, "rev-parse", "fast") {
		t.Error("the second round ran another commit")
	}
	out := r.Run(t.Context(), task("none"), 1, 1)
	if e := value(out.Round.Error); !strings.Contains(e, "remote another (ssh://host.invalid/x) is asked over the network with --fetch only") {
		t.Error(e)
	}
	if after := state(t, folder); after != before {
		t.Error("the repository has changed")
	}
	clean(t, r)
}

func value(text *string) string {
	if text == nil {
		return "no error"
	}
	return *text
}

func TestAddressesOfThisMachine(t *testing.T) {
	for address, want := range map[string]bool{
		"/a/b": true, "../b": true, "b": true, "./a:b": true, "file:///a": true,
		"https://host/a": false, "ssh://host/a": false, "git@host:a/b": false, "host:a": false, "git://h/a": false, "ext::sh -c x": false,
	} {
		if got := isLocal(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// However a task ends, its processes end and its worktree goes.
func TestInterruptedTasksLeaveNothingBehind(t *testing.T) {
	for name, want := range map[string]string{"cancel": "interrupted", "limit": "./bench.sh did not end within 1s: it was killed with all that it started"} {
		t.Run(name, func(t *testing.T) {
			folder := repository(t)
			before := state(t, folder)
			started := filepath.Join(filepath.Dir(folder), "started")
			if err := syscall.Mkfifo(started, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("STARTED", started)
			r := open(t, folder, func(o *Options) {
				if name == "limit" {
					o.Limit = time.Second
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "cancel" {
				go func() {
					_, _ = os.ReadFile(started) // until the program has begun
					cancel()
				}()
			}
			out := r.Run(ctx, task("hangs"), 1, 1)
			if got := value(out.Round.Error); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			clean(t, r)
			if after := state(t, folder); after != before {
				t.Error("the repository has changed")
			}
		})
	}
}

// What a killed program left is removed at the next start, and nothing else.
func TestWorktreesOfKilledProgramsAreRemoved(t *testing.T) {
	folder := repository(t)
	r := open(t, folder, nil)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	before := state(t, folder)
	left := func(name string, git bool) string {
		path := filepath.Join(r.o.Temporary, name)
		if !git {
			write(t, filepath.Join(path, "job.json"), "{}")
			return path
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		gitIn(t, folder, "worktree", "add", "-q", "--detach", "--lock", filepath.Join(path, "tree-"+name), "fast")
		return path
	}
	mine := func(pid int, random string) string {
		return fmt.Sprintf("%s%s-%d-%s", prefix, machine.Host(), pid, random)
	}
	removed := []string{left(mine(gone.Process.Pid, "1"), true), left(mine(gone.Process.Pid, "2"), false)}
	vanished := left(mine(gone.Process.Pid, "3"), true)
	if err := os.RemoveAll(vanished); err != nil {
		t.Fatal(err)
	}
	stay := []string{
		left(mine(os.Getpid(), "4"), true), left("prismtop-cyto-0badcafe-1-5", false), left("prismtop-cyto-x", false), left("somebody-else", true),
	}
	orphan := exec.Command("sleep", "600")
	orphan.Dir = filepath.Join(removed[0], "tree-"+filepath.Base(removed[0]))
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" { // where it is not found
		_ = orphan.Process.Kill()
	}
	open(t, folder, nil)
	if err := orphan.Wait(); err == nil {
		t.Error("the program that was left running was not killed")
	}
	for _, path := range removed {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range stay {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if all := r.worktrees(t.Context()); len(all) != 3 {
		t.Errorf("worktrees %q", all)
	}
	for _, path := range stay {
		if trees, _ := filepath.Glob(filepath.Join(path, "tree-*")); len(trees) == 1 {
			gitIn(t, folder, "worktree", "remove", "-f", "-f", trees[0])
		}
	}
	if after := state(t, folder); after != before {
		t.Error("the repository has changed")
	}
}

func TestWhatIsNoRepositorySaysSo(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(t.TempDir()))
	for folder, want := range map[string]string{t.TempDir(): "must be a git repository", "/nowhere": "is no folder"} {
		if _, err := Open(t.Context(), Options{Folder: folder}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), Options{Folder: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "git is not in PATH") {
		t.Error(err)
	}
}

func TestCommandsAreWords(t *testing.T) {
	for text, want := range map[string][]string{
		`make bench`:                      {"make", "bench"},
		` python3  -c 'a "b"' `:           {"python3", "-c", `a "b"`},
		`sh "a {branch}" a\ b "\"" ''`:    {"sh", "a x", "a b", `"`, ""},
		`a {overrides} --all={overrides}`: {"a", "o=1", "p=[2,3]", "--all=o=1,p=[2,3]"},
		`a ${HOME} {1}`:                   nil,
		`a ${home}`:                       nil,
		`a {nothing}`:                     nil,
		`a 'b`:                            nil,
		`a \`:                             nil,
		` `:                               nil,
	} {
		c, err := parse(text)
		if text == `a ${HOME} {1}` { // which are no placeholders
			want = []string{"a", "${HOME}", "{1}"}
		}
		if (err != nil) != (want == nil) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := with(c, &job{Branch: "x", Overrides: []string{"o=1", "p=[2,3]"}}); want != nil && !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if r, err := Open(t.Context(), Options{Folder: t.TempDir(), Command: "a {x}"}); err == nil || !strings.Contains(err.Error(), "{x}: must be one of {kind}, {branch}") {
		t.Errorf("%v, %v", r, err)
	}
}

// What runs in a worktree is not told the folder in which this program was started.
func TestProgramsAreToldTheirOwnFolder(t *testing.T) {
	for _, name := range []string{"PWD", "OLDPWD", "PROJECT_ROOT", "GIT_DIR"} {
		t.Setenv(name, "/elsewhere")
	}
	for _, entry := range environment() {
		if strings.HasSuffix(entry, "=/elsewhere") {
			t.Error(entry)
		}
	}
}
