//go:build linux

package command

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pythonSince returns a CPython 3 of at least a minor version; the test is skipped without one.
func pythonSince(t *testing.T, minor int) string {
	t.Helper()
	for _, name := range []string{os.Getenv("NEW_PYTHON"), "python3", "python3.14", "python3.15"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import sys; sys.exit(sys.version_info < (3, "+strconv.Itoa(minor)+"))").Run() == nil {
			return path
		}
	}
	t.Skipf("skipped: no Python from 3.%d on is on PATH, nor named by NEW_PYTHON", minor)
	return ""
}

// trainAlone starts testdata/python/train.py without prismtop, with the stand-in for PyTorch, and returns it once it
// trains. stopped ends it and returns what it printed.
func trainAlone(t *testing.T, python string, environ ...string) (cmd *exec.Cmd, stopped func() string) {
	t.Helper()
	script, err := filepath.Abs("testdata/python/train.py")
	if err != nil {
		t.Fatal(err)
	}
	stub, err := filepath.Abs("../../profiles/loop/python/tests/stub")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	out, err := os.Create("printed")
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(python, "-B", script)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+stub), environ...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	printed := func() string {
		text, _ := os.ReadFile("printed")
		return string(text)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(printed(), "step 50"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not train: %s", printed())
		}
	}
	return cmd, func() string {
		if err := os.WriteFile("stop", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, printed())
		}
		return printed()
	}
}

// A program that runs already is measured and switched, again and again, and afterwards it is as it was.
func TestAttachToALoopThatRunsAlready(t *testing.T) {
	cmd, stopped := trainAlone(t, pythonSince(t, remoteSince))
	pid := strconv.Itoa(cmd.Process.Pid)
	for range 2 {
		out, err := exec.Command("prismtop", "python", "--pid", pid, "--headless", "--json", "--no-record", "--set", "gc=false", "--max-iterations", "60").Output()
		var run struct {
			State      string
			Iterations int
			Error      string
		}
		if wrong := json.Unmarshal(out, &run); wrong != nil || err != nil || run.Iterations < 60 || run.Error != "" {
			t.Fatalf("%v, %v: %+v\n%s", err, wrong, run, out)
		}
	}
	if text := stopped(); !strings.HasSuffix(strings.TrimSpace(text), "left behind:") || strings.Contains(text, "prismtop") {
		t.Error(text)
	}
}

// sleepingPython starts a Python that sleeps, and returns its process ID once it is one: before, it may be a script that starts it.
func sleepingPython(t *testing.T, python string) int {
	t.Helper()
	cmd := exec.Command(python, "-c", "import time\nprint(flush=True)\nwhile True: time.sleep(0.01)")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// What makes attaching impossible is named.
func TestWhatCannotBeAttached(t *testing.T) {
	python := pythonSince(t, 9)
	refused := func(pid int, want string) {
		t.Helper()
		var said bytes.Buffer
		attach := exec.Command("prismtop", "attach", "--pid", strconv.Itoa(pid))
		attach.Stderr = &said
		if err := attach.Run(); err == nil || !strings.Contains(said.String(), want) {
			t.Errorf("%v: %q, want %q", err, said.String(), want)
		}
	}
	refused(1<<30, "there is no such process")
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	refused(sleep.Process.Pid, "which is no Python")
	if exec.Command(python, "-c", "import sys; sys.exit(sys.version_info >= (3, 14))").Run() == nil {
		refused(sleepingPython(t, python), "sys.remote_exec, which is there from 3.14 on")
	}

	t.Run("by a Python that has it", func(t *testing.T) {
		cmd, stopped := trainAlone(t, pythonSince(t, remoteSince), "PYTHON_DISABLE_REMOTE_DEBUG=1")
		refused(cmd.Process.Pid, "PYTHON_DISABLE_REMOTE_DEBUG is in its environment")
		stopped()
	})
	t.Run("without PyTorch", func(t *testing.T) {
		refused(sleepingPython(t, pythonSince(t, remoteSince)), "it has not imported PyTorch")
	})
}

// stubbed prepares a command of prismtop with a program that trains with the stand-in for PyTorch.
func stubbed(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	python := pythonSince(t, 9)
	stub, err := filepath.Abs("../../profiles/loop/python/tests/stub")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prismtop", append([]string{"python", "--python", python}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Args = append(cmd.Args, "train.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+stub, "PYTHONDONTWRITEBYTECODE=1")
	text := "import time, torch\n" +
		"model = torch.nn.Module()\n" +
		"optimizer = torch.optim.Optimizer(model.parameters())\n" +
		"def train(steps):\n" +
		"    for n in range(steps):\n" +
		"        torch.Tensor(1.0).backward()\n" +
		"        optimizer.step()\n" +
		"        time.sleep(0.01)\n" + program
	if err := os.WriteFile(filepath.Join(cmd.Dir, "train.py"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// A program that fails is not started again by anybody, although its process takes its time to end.
func TestAProgramWithoutALauncherEndsWithItsProcess(t *testing.T) {
	cmd := stubbed(t, "class Slow:\n"+
		"    def __del__(self, sleep=time.sleep): sleep(2.5)\n"+
		"slow = Slow()\n"+
		"train(40)\n"+
		"raise SystemError('planted')\n", "--headless", "--no-record")
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || !strings.Contains(text, "SystemError: planted") || strings.Contains(text, "may start it again") {
		t.Errorf("%v\n%s", err, text)
	}
}

// What a loop without epochs logs after its last step is the newest value of the run.
func TestALoopWithoutEpochsKeepsWhatItLogsLast(t *testing.T) {
	cmd := stubbed(t, "import prismtop\ntrain(40)\nprismtop.log(accuracy=0.75)\n", "--headless", "--json", "--no-record")
	out, err := cmd.Output()
	var run struct{ Quality map[string]any }
	if wrong := json.Unmarshal(out, &run); wrong != nil || err != nil || run.Quality["accuracy"] != 0.75 {
		t.Errorf("%v, %v: %v\n%s", err, wrong, run.Quality, out)
	}
}
