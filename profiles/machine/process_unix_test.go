//go:build unix

package machine

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// childName is the environment variable that makes a test a process that waits.
const childName = "PRISMTOP_TEST_WAITING"

// A process that was killed does not run, even before the process that began it has noticed.
func TestAKilledProcessDoesNotRun(t *testing.T) {
	if os.Getenv(childName) != "" {
		select {}
	}
	if !Runs(os.Getpid()) {
		t.Fatal("this process does not run")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childName+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !Runs(cmd.Process.Pid) {
		t.Error("a process that waits does not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		for Runs(cmd.Process.Pid) { // the signal takes a moment
			if t.Context().Err() != nil {
				t.Fatal("it still runs")
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if Runs(cmd.Process.Pid) {
		t.Error("a process that is gone runs")
	}
}
