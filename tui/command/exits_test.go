//go:build unix

package command

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles/profilestest"
	"prismtop/tui/ptytest"
)

// unended are the flags of a run that does not end by itself.
const unended = "--preset quick --set samples=40 --set threshold=0 --set iterations=100000000"

// questions matches the queries that terminals answer: colours, devices, modes, the cursor,
// names, capabilities and pictures.
var questions = regexp.MustCompile(`\x1b\](?:4;\d+|1\d|52;\w*);\?|\x1b\[[?>=]?\d*c|\x1b\[\??\d*\$p|\x1b\[\??[56]n|\x1b\[>\d*q|\x1b\[\?u|\x1bP\+q|\x1b_G[^;]*a=q`)

// started is a program running on a terminal, in a folder.
type started struct {
	*ptytest.Terminal
	t      *testing.T
	cmd    *exec.Cmd
	folder string
}

// startOn starts a shell command line on a terminal, in this process's folder.
func startOn(t *testing.T, x *ptytest.Terminal, command string) started {
	t.Helper()
	return startIn(t, x, "", command)
}

// startIn starts a shell command line on a terminal, in a folder.
func startIn(t *testing.T, x *ptytest.Terminal, folder, command string) started {
	t.Helper()
	cmd := exec.Command("bash", "--norc", "-c", command)
	cmd.Dir = folder
	x.Start(cmd)
	return started{x, t, cmd, folder}
}

// await waits until the program has sent a text.
func (s started) await(text string) {
	s.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for ; !strings.Contains(s.Received(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %q in %q", text, s.Received())
		}
	}
}

// end waits up to limit for the program to end, and returns its status.
func (s started) end(limit time.Duration) int {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		var status *exec.ExitError
		if err != nil && !errors.As(err, &status) {
			s.t.Fatal(err)
		}
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		_ = s.cmd.Process.Kill()
		s.t.Errorf("the program goes on after %v", limit)
		return -1
	}
}

// The last queries of the screen at its start, in either order: the terminal's class, after those of
// its colours and name, and its keyboard's protocol, with the first frame. Bubble Tea may draw one
// before that on the first screen, and asks again on the second.
const (
	lastQuestion  = "\x1b[c"
	frameQuestion = "\x1b[?u"
)

// No end of the program queries the terminal or waits for an answer.
func TestNoEndAsksTheTerminal(t *testing.T) {
	skipStarts(t)
	for _, c := range []struct {
		name, command, when string // the output to wait for before the end
		end                 func(s started)
		status              int
	}{
		{"help", "--help", "", nil, 0},
		{"help of a command", "help bench peer", "", nil, 0},
		{"version", "--version", "", nil, 0},
		{"wrong flag", "run --wrong", "", nil, 2},
		{"wrong command", "runn", "", nil, 2},
		{"wrong setting", "run --set radius=0", "", nil, 2},
		{"nothing to measure", "bench", "", nil, 2},
		{"failure", "verify none.npz", "", nil, 1},
		{"headless", "run --headless " + tiny, "", nil, 0},
		{"limited lines", "run --lines --max-iterations 3 " + unended, "", nil, 0},
		{"ctrl+c without a screen", "run --headless " + unended, "iter ", press("ctrl+c"), 130},
		{"ctrl+c in lines", "run --lines " + unended, "iter ", press("ctrl+c"), 130},
		{"SIGTERM in lines", "run --lines " + unended, "iter ", kill(syscall.SIGTERM), 130},
		{"SIGQUIT in lines", "run --lines " + unended, "iter ", kill(syscall.SIGQUIT), 2},
		{"ctrl+c on the screen", "run " + unended, lastQuestion, press("ctrl+c"), 130},
		{"q on the screen", "run " + unended, lastQuestion, press("q", "y"), 0},
		{"SIGTERM on the screen", "run " + unended, lastQuestion, kill(syscall.SIGTERM), 130},
		{"SIGHUP on the screen", "run " + unended, lastQuestion, kill(syscall.SIGHUP), 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startIn(t, ptytest.OpenDrain(t, 120, 40), t.TempDir(), "exec prismtop "+c.command)
			asked := 0
			if c.end != nil {
				s.await(c.when)
				if c.when == lastQuestion {
					ptytest.Eventually(t, "the frame's question", func() bool { // again on the second screen
						_, second, _ := strings.Cut(s.Received(), ansi.SetModeAltScreenSaveCursor)
						return strings.Contains(second, frameQuestion)
					})
				}
				asked = len(questions.FindAllString(s.Received(), -1))
				c.end(s)
			}
			if got := s.end(time.Minute); got != c.status {
				t.Errorf("status %d, want %d\n%s", got, c.status, s.Received())
			}
			if found := questions.FindAllString(s.Received(), -1); len(found) > asked {
				t.Errorf("the terminal is asked %q", found[asked:])
			}
		})
	}
}

func press(keys ...string) func(started) { return func(s started) { s.Press(keys...) } }

func kill(with syscall.Signal) func(started) {
	return func(s started) {
		if err := s.cmd.Process.Signal(with); err != nil {
			s.t.Error(err)
		}
	}
}

// Signals that make the Go runtime dump, and the one it ignores until the system kills the
// process, give the terminal back to the shell first.
func TestSignalsThatKillGiveTheTerminalBack(t *testing.T) {
	skipStarts(t)
	for with, status := range map[syscall.Signal]int{
		syscall.SIGQUIT: 2, syscall.SIGABRT: 2, syscall.SIGSEGV: 2, syscall.SIGBUS: 2, syscall.SIGILL: 2, syscall.SIGFPE: 2,
		syscall.SIGTRAP: 2, syscall.SIGSYS: 2, syscall.SIGXCPU: 128 + int(syscall.SIGXCPU),
	} {
		t.Run(with.String(), func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 120, 40)
			s := startOn(t, x, "exec prismtop run "+unended)
			x.See("sample  1/40")
			kill(with)(s)
			if got := s.end(time.Minute); got != status {
				t.Errorf("status %d, want %d", got, status)
			}
			x.Restored()
			sent := x.Received()
			if dump := strings.LastIndex(sent, "goroutine "); status == 2 && dump < strings.LastIndex(sent, "\x1b[?1049l") {
				t.Error("the dump of the goroutines is not on the normal screen")
			}
		})
	}
}

// A program limited to few open files reports that, with the terminal unchanged.
func TestTooFewFilesLeaveTheTerminalAsItWas(t *testing.T) {
	skipStarts(t)
	for n := 8; n <= 24; n += 2 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 100, 30)
			s := startOn(t, x, fmt.Sprintf("exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n %d; exec prismtop run --preset quick", n))
			ptytest.Eventually(t, "a refusal or the run's end", func() bool {
				text := x.Text()
				if strings.Contains(text, "finished") {
					x.Press("q")
				}
				return strings.Contains(text, "finished") || strings.Contains(x.Received(), "too many open files")
			})
			if got := s.end(time.Minute); got != 0 && got != 1 {
				t.Errorf("status %d", got)
			}
			x.Restored()
		})
	}
}

// Ctrl+c takes effect at once, whatever input precedes it, and whatever the terminal answers after it. Handling all keys of
// a flood would take minutes.
func TestCtrlCWaitsForNothing(t *testing.T) {
	for name, input := range map[string][2]string{
		"a flood of keys":                         {strings.Repeat("?", 400_000)},
		"a flood of arrows":                       {strings.Repeat("\x1b[A", 200_000)},
		"a paste without an end":                  {"\x1b[200~pasted"},
		"a paste without an end and late answers": {"\x1b[200~pasted", "\x1b[?2026;2$y\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22c"},
		"an answer without an end":                {"\x1b]11;rgb:0000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 120, 40)
			s := startOn(t, x, "exec prismtop run "+unended)
			x.See("sample  1/40")
			x.Press(input[0], "ctrl+c")
			if input[1] != "" {
				x.Press(input[1])
			}
			if got := s.end(time.Minute); got != 130 {
				t.Errorf("status %d", got)
			}
			x.Restored()
		})
	}
}

// A paste that never ends is abandoned after a while.
func TestKeysCountAgainAfterAPasteWithoutAnEnd(t *testing.T) {
	x := ptytest.Open(t, 120, 40)
	s := startOn(t, x, "exec prismtop run "+unended)
	x.See("sample  1/40")
	x.Press("\x1b[200~pasted")
	ptytest.Eventually(t, "the answer to a key", func() bool {
		x.Press(";")
		time.Sleep(20 * time.Millisecond)
		return strings.Contains(x.Text(), "; has no meaning here")
	})
	x.Press("q")
	x.See("Quit?")
	x.Press("y")
	if got := s.end(time.Minute); got != 0 {
		t.Errorf("status %d", got)
	}
}

// The program keeps running in the background of a shell, and fg brings the screen back.
func TestInTheBackground(t *testing.T) {
	skipStarts(t)
	for _, c := range []struct{ name, command, want string }{
		{"a run", "prismtop run --preset quick --max-iterations 30", "30 in "},
		{"help", "prismtop --help", "COMMAND --help describes"},
		{"an error", "prismtop run --wrong", "unknown flag --wrong"},
		{"a run without a screen", "prismtop run --headless --preset quick --max-iterations 30", "30 in "},
		{"limited lines", "prismtop run --lines --preset quick --max-iterations 30", "30 in "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 120, 40)
			s := startIn(t, x, t.TempDir(), "set -m; "+c.command+" & wait $!; echo status $?; jobs")
			x.See(c.want, "status ")
			s.end(time.Minute)
			if text := x.Text(); strings.Contains(text, "Stopped") {
				t.Errorf("the job was stopped:\n%s", text)
			}
			x.Restored()
		})
	}
	t.Run("fg", func(t *testing.T) {
		t.Parallel()
		x := ptytest.Open(t, 120, 40)
		s := startOn(t, x, "set -m; prismtop run "+unended+" & read; fg; echo over")
		x.See("fg shows the screen")
		x.Press("enter")
		x.See("sample  1/40", "Reconstruction")
		x.Press("q")
		x.See("Quit?")
		x.Press("y")
		x.See("over")
		s.end(time.Minute)
		x.Restored()
	})
	t.Run("ctrl+z and bg", func(t *testing.T) {
		t.Parallel()
		x := ptytest.Open(t, 120, 40)
		s := startIn(t, x, t.TempDir(), "set -m; prismtop run --preset quick --set samples=40 --set threshold=0 --set iterations=100000000; bg; read; jobs; read; fg; echo over")
		x.See("sample  1/40")
		x.Press("ctrl+z")
		x.See("prismtop run", "&")
		x.Press("enter")
		x.See("Running")
		x.Press("enter")
		x.See("sample  1/40", "Reconstruction")
		x.Press("q")
		x.See("Quit?")
		x.Press("y")
		x.See("over")
		s.end(time.Minute)
		x.Restored()
	})
}

// A run without a screen that ctrl+z stops pauses first: no iteration's time has that in which the process was stopped.
func TestStoppedWithoutAScreen(t *testing.T) {
	skipStarts(t)
	const stopped = 6 * time.Second // longer than an iteration beside many other programs
	for _, surface := range []string{"--headless", "--lines"} {
		t.Run(surface, func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 120, 40)
			s := startIn(t, x, t.TempDir(), "set -m; prismtop run "+surface+" --preset quick --set samples=40 --set threshold=0 --set iterations=100000000 --export csv=a.csv; read; fg; echo over")
			x.See("it/s")
			x.Press("ctrl+z")
			x.See("Stopped")
			time.Sleep(stopped)
			before := strings.Count(s.Received(), "it/s")
			x.Press("enter")
			// The shell names the command before it hands over the terminal, and continues it afterwards.
			ptytest.Eventually(t, "progress in the foreground", func() bool { return strings.Count(s.Received(), "it/s") > before })
			x.Press("ctrl+c")
			x.See("over")
			s.end(time.Minute)
			f, err := os.Open(filepath.Join(s.folder, "a.csv"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			rows, err := csv.NewReader(f).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			total := slices.Index(rows[0], "total_ms")
			for _, row := range rows[1:] {
				if ms, err := strconv.ParseFloat(row[total], 64); err != nil || ms >= float64(stopped.Milliseconds()) {
					t.Errorf("an iteration took %s ms: %v", row[total], err)
				}
			}
		})
	}
}

// A screen that a signal from outside stopped has its terminal again after fg; bg leaves the terminal to the shell.
func TestStoppedFromOutside(t *testing.T) {
	skipStarts(t)
	for _, c := range []struct{ name, program, shows, then, leave string }{
		{"a run and fg", "exec prismtop run " + unended, "sample  1/40", "", "y"},
		{"a run, bg and fg", "exec prismtop run " + unended, "sample  1/40", "bg; read; stty -a | tr ';' '\\n' | grep -w -e icanon; jobs; read;", "y"},
		{"runs and fg", "prismtop run --headless --preset quick --max-iterations 3; exec prismtop runs", "/ filter", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 120, 40)
			s := startIn(t, x, t.TempDir(), "modes=$(stty -g); set -m; sh -c 'echo $$ >pid; "+c.program+"'; stty $modes; echo; echo it was stopped; read; "+c.then+" fg; echo over")
			x.See(c.shows)
			text, err := os.ReadFile(filepath.Join(s.folder, "pid"))
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			x.See("it was stopped")
			x.Press("enter")
			if c.then != "" {
				x.Gone("it was stopped") // with the alternate screen
				x.Press("enter")
				x.See(" icanon", "Running")
				x.Press("enter")
			}
			x.Gone("it was stopped", "Running")
			x.See(c.shows)
			x.Press("?")
			x.See("ctrl+c")
			x.Press("esc", "q")
			if c.leave != "" {
				x.See("Quit?")
				x.Press(c.leave)
			}
			x.See("over")
			s.end(time.Minute)
			x.Restored()
		})
	}
}

// A terminal that reports an absurd size costs no more than a large one.
func TestATerminalWithoutBounds(t *testing.T) {
	x := ptytest.OpenDrain(t, 80, 24)
	s := startOn(t, x, "stty cols 65535 rows 65535; exec prismtop run "+unended)
	s.await("\x1b[?1049h")
	s.await("k-space")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Skipf("skipped: the memory of another process cannot be read here: %v", err)
	}
	var peak int
	if at := strings.Index(string(status), "VmHWM:"); at >= 0 {
		if _, err := fmt.Sscanf(string(status)[at:], "VmHWM: %d kB", &peak); err != nil {
			t.Fatal(err)
		}
	}
	if limit := 300 << 10 * min(profilestest.Slow, 3); peak > limit { // the race detector multiplies memory
		t.Errorf("%d kB, want at most %d", peak, limit)
	}
	s.Press("ctrl+c")
	if got := s.end(time.Minute); got != 130 {
		t.Errorf("status %d", got)
	}
}
