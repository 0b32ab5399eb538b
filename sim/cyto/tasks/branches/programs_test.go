//go:build unix

package branches

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs that a repository's own configuration names are never run: the repository is refused with the key.
func TestARepositoryNamesNoPrograms(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	program := "touch " + ran + "; cat"
	for _, c := range []struct{ key, value, file string }{
		{"filter.Evil.smudge", program, ""}, {"filter.a.b.Process", program, ""}, {"filter.evil.clean", program, ""},
		{"filter.evil.smudge", program, "included"}, {"remote.origin.uploadpack", program, ""}, {"core.askPass", program, ""},
		{"core.gitProxy", program, ""}, {"credential.helper", "!" + program, ""}, {"credential.https://a.example.helper", "/tmp/x", ""},
	} {
		folder := repository(t)
		write(t, filepath.Join(folder, ".git", "info", "attributes"), "* filter=evil\n")
		into := []string{"config"}
		if c.file != "" {
			gitIn(t, folder, "config", "include.path", c.file)
			into = append(into, "--file", filepath.Join(folder, ".git", c.file))
		}
		gitIn(t, folder, append(into, c.key, c.value)...)
		r, err := Open(t.Context(), Options{Folder: folder, Command: "./bench.sh {output}", Temporary: t.TempDir()})
		if err == nil {
			out := r.Run(t.Context(), task("main"), 1, 1)
			t.Errorf("%s is accepted, the task %t", c.key, out.Round.Success)
		} else if text := strings.ToLower(err.Error()); !strings.Contains(text, strings.ToLower(c.key)+" = ") || !strings.Contains(text, strings.ToLower(folder)) {
			t.Errorf("%s: %v", c.key, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s ran", c.key)
			_ = os.Remove(ran)
		}
	}
}

// A user's own filter, as of Git LFS, runs as in any checkout, and a plain configuration is accepted.
func TestAUsersOwnFilterRuns(t *testing.T) {
	folder := repository(t)
	ran, global := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "gitconfig")
	write(t, global, "[filter \"mine\"]\n\tsmudge = \"touch "+ran+"; cat\"\n")
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	write(t, filepath.Join(folder, ".git", "info", "attributes"), "* filter=mine\n")
	gitIn(t, folder, "config", "credential.helper", "store")
	r := open(t, folder, nil)
	if out := r.Run(t.Context(), task("main"), 1, 1); !out.Round.Success {
		t.Errorf("%s", value(out.Round.Error))
	}
	if _, err := os.Stat(ran); err != nil {
		t.Error("the user's filter did not run")
	}
}
