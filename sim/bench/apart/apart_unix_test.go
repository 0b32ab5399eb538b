//go:build unix

package apart

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// shell returns a script, and a function that waits until all of its processes have ended: the
// end of a pipe that they inherit.
func shell(t *testing.T, ctx context.Context, script string) (*exec.Cmd, func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.ExtraFiles = []*os.File{w}
	return cmd, func() {
		t.Helper()
		w.Close()
		over := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, r)
			over <- err
		}()
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a process is left behind")
		}
	}
}

// started cancels a context at the first output.
type started context.CancelFunc

func (c started) Write(p []byte) (int, error) {
	c()
	return len(p), nil
}

func TestTheContextEndsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd, ended := shell(t, ctx, `sleep 600 & echo started; wait`)
	cmd.Stdout = started(cancel)
	if err := Run(cmd); err == nil {
		t.Error("it succeeded")
	}
	ended()
}

func TestWhatAProgramLeavesBehindEnds(t *testing.T) {
	for _, script := range []string{"sleep 600 &", "sleep 600 >/dev/null & exit 0"} {
		cmd, ended := shell(t, t.Context(), script)
		cmd.Stdout = &Head{Most: 1}
		if err := Run(cmd); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		ended()
	}
}

func TestKilledProgramsAreOfMemory(t *testing.T) {
	for script, want := range map[string]bool{"kill -KILL $$": true, "sh -c 'kill -KILL $$'; exit $?": true, "exit 1": false, "kill -TERM $$": false} {
		cmd, ended := shell(t, t.Context(), script)
		if err := Run(cmd); err == nil {
			t.Errorf("%s: it succeeded", script)
		}
		if _, got := OutOfMemory(cmd.ProcessState, ""); got != want {
			t.Errorf("%s: %v, want %v", script, got, want)
		}
		ended()
	}
}
