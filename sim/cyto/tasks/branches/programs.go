package branches

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"prismtop/profiles/visible"
)

// programKeys match the keys of a configuration, in lower case, whose values git runs when it checks out a branch,
// fetches it or removes a worktree. Hooks and the file system monitor are switched off instead, and the variable
// GIT_SSH_COMMAND goes before core.sshCommand.
var programKeys = []string{
	"filter.*.smudge", "filter.*.clean", "filter.*.process",
	"core.gitproxy", "core.askpass", "core.alternaterefscommand", "remote.*.uploadpack", "remote.*.vcs",
}

// refusePrograms returns an error that names the first key by which the repository's own configuration has git run a
// program. Those of the user's configuration are the user's.
func (r *Repository) refusePrograms(ctx context.Context) error {
	list, err := r.git(ctx, "config", "--includes", "--show-scope", "--null", "--list")
	if err != nil {
		return err
	}
	if list != "" && (len(list) >= longestGit || !strings.HasSuffix(list, "\x00")) { // what was cut off may name one
		return errors.New("its configuration is longer than 1 MiB")
	}
	fields := strings.Split(list, "\x00") // scope, then the key, a line feed and the value
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		if scope := fields[i]; (scope == "local" || scope == "worktree") && runs(key, value) {
			return fmt.Errorf("its own configuration has git run a program, %s = %s: must be in your configuration "+
				"instead (git config --global), if you trust it",
				visible.Text(key), visible.Text(value))
		}
	}
	return nil
}

// runs reports whether git runs the value of a key as a program that is not one of git's own.
func runs(key, value string) bool {
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:] // the part between is as it was written, and may contain anything
	key = strings.ToLower(section) + "." + strings.ToLower(name)
	if strings.Contains(rest, ".") {
		key = strings.ToLower(section) + ".x." + strings.ToLower(name)
	}
	if section = strings.ToLower(section); section == "credential" && strings.EqualFold(name, "helper") {
		return strings.ContainsAny(value, "!/ \\") // a bare name is that of an installed helper
	}
	for _, pattern := range programKeys {
		if matched, _ := path.Match(pattern, key); matched && value != "" {
			return true
		}
	}
	return false
}
