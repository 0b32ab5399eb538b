package loop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// pythons are the interpreters on PATH that the module must run in.
func pythons(t *testing.T) (found []string) {
	for _, name := range []string{"python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run() == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skip("no Python from 3.9 on is on PATH")
	}
	return found
}

// runTests runs a file of Python tests.
func runTests(t *testing.T, python, file string) {
	t.Helper()
	cmd := exec.Command(python, "-B", filepath.Join("python", "tests", file))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", python, file, err, out)
	}
	t.Logf("%s %s:\n%s", python, file, out)
}

func TestModuleWithoutPyTorch(t *testing.T) {
	for _, python := range pythons(t) {
		t.Run(filepath.Base(python), func(t *testing.T) {
			t.Parallel()
			runTests(t, python, "test_stub.py")
		})
		if testing.Short() {
			break // the others take the same path
		}
	}
}

// TestGreetingOnOneProcessor: the number of threads has one value there.
func TestGreetingOnOneProcessor(t *testing.T) {
	folder, python := t.TempDir(), filepath.Join("python", "tests")
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pythons(t)[0], "-B", "-c", `
import os
if not hasattr(os, "sched_setaffinity"):
    raise SystemExit(77)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import torch
torch.get_num_threads = lambda: 1
optimizer = torch.optim.Optimizer(torch.nn.Module().parameters())
for i in range(9):
    optimizer.step()`)
	cmd.Env = append(os.Environ(), EnvFolder+"="+folder,
		"PYTHONPATH=python"+string(os.PathListSeparator)+filepath.Join(python, "stub"))
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() == 77 {
		t.Skip("this system has no affinity of processes")
	} else if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, path := range In(folder) {
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		g, err := r.Greeting()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range g.Knobs {
			if k.Key == "threads" && k.Why == "the program may use one processor" {
				return
			}
		}
		t.Errorf("knobs: %+v", g.Knobs)
	}
	t.Error("the program made no ring with a refused knob threads")
}

// TestFrameworks runs the callbacks' examples, those whose packages are there, with the Python of PRISMTOP_TEST_TORCH or the
// first one on PATH.
func TestFrameworks(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks")
	}
	python := pythons(t)[0]
	if own := os.Getenv("PRISMTOP_TEST_TORCH"); own != "" {
		python = own
	}
	runTests(t, python, "test_frameworks.py")
}

// TestModuleWithPyTorch runs with the Python of PRISMTOP_TEST_TORCH, else with the first one on PATH that has PyTorch.
func TestModuleWithPyTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("trains networks for some minutes")
	}
	candidates := pythons(t)
	if own := os.Getenv("PRISMTOP_TEST_TORCH"); own != "" {
		candidates = []string{own}
	}
	for _, python := range candidates {
		if exec.Command(python, "-c", "import torch").Run() == nil {
			runTests(t, python, "test_torch.py")
			return
		}
	}
	t.Skip("no Python on PATH has PyTorch: set PRISMTOP_TEST_TORCH to one that has")
}
