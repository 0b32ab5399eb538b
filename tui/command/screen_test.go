//go:build unix

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/ptytest"
	"prismtop/tui/screen"
)

// TestSessions plays user sessions at a terminal on real runs. Sessions that watch a run use one
// that stays in its first sample, so that their timing does not matter.
func TestSessions(t *testing.T) { play(t, "session", nil) }

// TestAlertsOnRealRuns plays sessions that need more iterations than a run makes under the race
// detector: until an alert appears, or for a comparison before a key.
func TestAlertsOnRealRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: the rules count iterations and seconds, and the race detector makes runs ten times slower")
	}
	play(t, "session-alerts", nil)
}

// TestSessionsOfPython plays sessions with a program that trains with a stand-in for PyTorch.
func TestSessionsOfPython(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("skipped: there is no python3")
	}
	script, err := os.ReadFile(filepath.Join("testdata", "python", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	stub, err := filepath.Abs("../../profiles/loop/python/tests/stub")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", stub)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	play(t, "session-python", func(folder string) { _ = os.WriteFile(filepath.Join(folder, "train.py"), script, 0o600) })
}

// play plays the sessions in a folder of testdata, each in a separate folder, which prepare fills; nil for an empty one.
// Several are played at once, but not those that count seconds, or attach to the only run.
func play(t *testing.T, folder string, prepare func(folder string)) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d sessions, %v", folder, len(files), err)
	}
	for _, file := range files {
		session, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if folder == "session" {
				t.Parallel()
			}
			in := t.TempDir()
			if prepare != nil {
				prepare(in)
			}
			ptytest.Play(t, in, string(session))
		})
	}
}

// The terminal answers the queries of the screen's start. A run that cannot begin may end before
// that, and must not leave the answers at the shell's prompt.
func TestARunThatCannotBeginLeavesACleanPrompt(t *testing.T) {
	lacking := lackingKernels()
	if len(lacking) == 0 {
		t.Skip("skipped: all kernels are here")
	}
	x := ptytest.OpenAnswering(t, 100, 30, func(received []byte) string {
		if !bytes.Contains(received, []byte(ansi.RequestPrimaryDeviceAttributes)) {
			return ""
		}
		time.Sleep(50 * time.Millisecond) // latency of the line
		return "\x1b[?1;2c"
	})
	cmd := exec.Command("bash", "--norc", "-c",
		`prismtop run --kernels `+lacking[0]+`; echo status $?; read -t 1 -n 80 left; echo "left ${#left} bytes"`)
	x.Start(cmd)
	x.See("status 1", "left 0 bytes")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	x.Restored()
	if text := x.Text(); strings.Count(text, "cpu backend: kernels") != 1 || strings.Contains(text, "seed 0") {
		t.Errorf("the screen shows\n%s", text)
	}
}

// Output of a library appears in the log instead of corrupting the screen, and is printed again
// after the screen has closed.
func TestWhatOthersPrintGoesToTheLog(t *testing.T) {
	x := ptytest.Open(t, 120, 40)
	cmd := exec.Command("prismtop", "run", "--preset", "quick")
	x.Start(cmd)
	x.See("finished")
	for fd, text := range map[int]string{1: "from a library", 2: "from a driver"} {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, fd), os.O_WRONLY, 0)
		if err != nil {
			t.Skipf("skipped: the output of another process cannot be opened here: %v", err)
		}
		_, err = fmt.Fprintln(f, text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	x.See("printed: from a ")
	x.Press("q")
	x.Gone("printed:")
	x.See("from a library", "from a driver")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A panic of the loop closes the screen, restores the terminal and is returned as an error that
// describes it.
func TestPanicOfTheLoopRestoresTheTerminal(t *testing.T) {
	x := ptytest.Open(t, 100, 30)
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = x.TTY(), x.TTY()
	defer func() { os.Stdin, os.Stdout = in, out }()
	s, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "quick"})
	if err != nil {
		t.Fatal(err)
	}
	events := stream.New(64)
	r, err := sim.New(t.Context(), sim.Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Stream: events, Linger: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Close() // makes the loop panic: its reconstruction is gone
	f := runFlags{}
	look := screen.Options{Settings: s, Output: x.TTY(), Input: x.TTY()}
	err = f.watch(context.Background(), x.TTY(), exportable{cli.Live{Run: r, Aggregator: aggregate.New(events.Follow(), aggregate.Options{})}, exportsRecorded(nil)}, look, sessions.NewHost(events))
	var crash *sim.PanicError
	if !errors.As(err, &crash) {
		t.Fatalf("the screen ended with %v", err)
	}
	x.Restored()
}

// A terminal without UTF-8 gets 7-bit characters unless a flag says otherwise.
func TestAPlainTerminalGetsASCII(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		flags   []string
		ascii   bool
	}{
		{[]string{"LC_ALL=C"}, nil, true},
		{[]string{"TERM=linux"}, nil, true},
		{[]string{"LC_ALL=C"}, []string{"--ascii=false"}, false},
		{nil, nil, false},
	} {
		x := ptytest.Open(t, 120, 40)
		cmd := exec.Command("prismtop", append(append([]string{"run", "--no-record"}, strings.Fields(tiny)...), tt.flags...)...)
		cmd.Env = tt.environ
		x.Start(cmd)
		x.See("finished")
		if got := !strings.ContainsAny(x.Text(), "╭│⣿▇✓"); got != tt.ascii {
			t.Errorf("%q %q: ASCII is %v:\n%s", tt.environ, tt.flags, got, x.Text())
		}
		x.Press("q")
		_ = cmd.Wait()
	}
}
