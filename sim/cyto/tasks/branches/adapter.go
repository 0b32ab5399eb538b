package branches

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// cytodl runs a task by the cyto-dl of the folder that it is started in.
//
//go:embed cytodl.py
var cytodl []byte

// python is the program that runs cytodl.
const python = "python3"

// adapter leaves cytodl beside a job, and returns the command that runs it.
func adapter(j *job) ([]string, error) {
	if _, err := exec.LookPath(python); err != nil {
		return nil, errors.New(python + " is not in PATH: activate the environment that has cyto-dl, or give the " +
			"command of the branches with --command")
	}
	path := filepath.Join(filepath.Dir(j.Job), "cytodl.py")
	if err := os.WriteFile(path, cytodl, 0o600); err != nil {
		return nil, err
	}
	return []string{python, path, j.Job}, nil
}
