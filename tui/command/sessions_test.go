//go:build unix

package command

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/attach"
	"prismtop/tui/ptytest"
)

// inFolder gives a test sessions and recordings of its own, and ends at its end what still runs.
func inFolder(t *testing.T) {
	t.Helper()
	folder, err := os.MkdirTemp("", "sessions-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", folder)
	t.Setenv("XDG_STATE_HOME", filepath.Join(folder, "state"))
	t.Chdir(folder)
	t.Cleanup(func() {
		for _, s := range running(t) {
			_, _ = program("stop", s.ID)
		}
		os.RemoveAll(folder)
	})
}

// program runs a command line of prismtop and returns what it printed.
func program(args ...string) (string, error) {
	var failed *exec.ExitError
	out, err := exec.Command("prismtop", args...).Output()
	if errors.As(err, &failed) {
		err = errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}

// running returns the sessions as sessions --json lists them.
func running(t *testing.T) (all []attach.Info) {
	t.Helper()
	out, err := program("sessions", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &all)
	}
	if err != nil {
		t.Fatalf("sessions --json: %v\n%s", err, out)
	}
	return all
}

// only returns the only session, once there is one.
func only(t *testing.T) (s attach.Info) {
	t.Helper()
	ptytest.Eventually(t, "a session", func() bool {
		all := running(t)
		if len(all) == 1 {
			s = all[0]
		}
		return len(all) == 1 && s.State != "preparing"
	})
	return s
}

// goesOn waits until the only session has made more iterations than s.
func goesOn(t *testing.T, s attach.Info) {
	t.Helper()
	ptytest.Eventually(t, "iterations", func() bool { return only(t).Iterations > s.Iterations })
}

// stopped ends the only session and checks that its recording is whole.
func stopped(t *testing.T, id string) {
	t.Helper()
	if out, err := program("stop", id); err != nil || !strings.Contains(out, id+": stopped") {
		t.Errorf("stop: %q, %v", out, err)
	}
	if all := running(t); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
	wholeRecording(t)
}

// wholeRecording checks that the only recording was closed in order.
func wholeRecording(t *testing.T) {
	t.Helper()
	var runs struct {
		Runs []struct{ Path, State, Error string }
	}
	out, err := program("runs", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &runs)
	}
	if err != nil || len(runs.Runs) != 1 || runs.Runs[0].State != "ended" || runs.Runs[0].Error != "" {
		t.Errorf("recordings: %+v, %v", runs, err)
		logs, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "prismtop", "sessions", "*.log")) // the pattern is right
		for _, path := range logs {
			text, err := os.ReadFile(path)
			t.Logf("%s: %v\n%s", filepath.Base(path), err, text)
		}
		return
	}
	if _, err := program("replay", runs.Runs[0].Path, "--json"); err != nil {
		t.Errorf("the recording: %v", err)
	}
}

// detached begins a run without a terminal.
func detached(t *testing.T, more ...string) attach.Info {
	t.Helper()
	out, err := program(append(append([]string{"run", "--detach"}, strings.Fields(unended)...), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	s := only(t)
	if out != s.ID+"\n" {
		t.Fatalf("run --detach prints %q, the session is %s", out, s.ID)
	}
	return s
}

// attachedTo starts prismtop attach on a terminal.
func attachedTo(t *testing.T, args ...string) (*ptytest.Terminal, *exec.Cmd) {
	t.Helper()
	x := ptytest.Open(t, 120, 40)
	cmd := exec.Command("prismtop", append([]string{"attach"}, args...)...)
	x.Start(cmd)
	x.See("sample  1/40")
	return x, cmd
}

// D leaves a run going and gives the shell its terminal; attach shows it again, with its keys; what
// it did meanwhile is told; the run ends from there, and its recording is whole.
func TestARunIsLeftGoingAndAttachedTo(t *testing.T) {
	inFolder(t)
	x := ptytest.Open(t, 120, 40)
	s := startOn(t, x, "set -m; prismtop run "+unended+"; echo shell is here; read; prismtop attach; echo status $?; jobs")
	x.See("sample  1/40")
	x.Press("D")
	x.See("shell is here", "prismtop attach")
	x.Restored()
	ptytest.Eventually(t, "the run without a terminal", func() bool { return only(t).Log != "" })
	before := only(t)
	if before.Screens != 0 || before.Operator != "" {
		t.Errorf("left going: %+v", before)
	}
	goesOn(t, before)
	x.Press("enter")
	x.See("since you left", "sample  1/40")
	x.Press("a")
	x.See("AMP off→bf16")
	x.Press("r")
	x.See("Export what is recorded", "2 csv")
	x.Press("2")
	x.See("exported 20")
	if tables, err := filepath.Glob("20*.csv"); err != nil || len(tables) != 2 || rowsOf(t, tables[0]) < 2 {
		t.Errorf("exported %v (%v)", tables, err)
	}
	now := only(t)
	if now.Process != before.Process || now.Screens != 1 || now.Operator == "" {
		t.Errorf("attached: %+v", now)
	}
	x.Press("q")
	x.See("D leaves it going")
	x.Press("y")
	x.See("has ended: stopped; what it saved, and how to continue it: ", "status 0")
	if got := s.end(time.Minute); got != 0 {
		t.Errorf("status %d", got)
	}
	x.Restored()
	wholeRecording(t)
}

// The shell brings a run that was left going back to its screen, as often as it is left, and the run ends from there.
func TestAShellBringsARunBack(t *testing.T) {
	inFolder(t)
	x := ptytest.Open(t, 120, 40)
	s := startOn(t, x, "set -m; prismtop run "+unended+"; echo left once; read; fg; echo left twice; read; fg; echo status $?; jobs")
	x.See("sample  1/40")
	var before attach.Info
	for _, said := range []string{"left once", "left twice"} {
		x.Press("D")
		x.See(said)
		x.Restored()
		ptytest.Eventually(t, "the run without a terminal", func() bool { return only(t).Log != "" })
		now := only(t)
		if now.Screens != 0 || now.Operator != "" || before.Process != 0 && now.Process != before.Process {
			t.Errorf("%s: %+v, before %+v", said, now, before)
		}
		before = now
		goesOn(t, before)
		x.Press("enter")
		x.See("sample  1/40", "Reconstruction")
	}
	ptytest.Eventually(t, "the screen", func() bool { return only(t).Operator != "" && only(t).Log == "" })
	x.Press("a")
	x.See("AMP off→bf16")
	x.Press("q")
	x.See("D leaves it going")
	x.Press("y")
	x.See("prismtop: moon", "status 0")
	if got := s.end(time.Minute); got != 0 {
		t.Errorf("status %d", got)
	}
	x.Restored()
	wholeRecording(t)
}

// Where no shell waits for the terminal, D says so and the screen stays.
func TestDWithoutAShell(t *testing.T) {
	inFolder(t)
	x := ptytest.Open(t, 120, 40)
	s := startOn(t, x, "exec prismtop run "+unended)
	x.See("sample  1/40")
	x.Press("D")
	x.See("not left: no shell")
	x.Press("q", "y")
	if got := s.end(time.Minute); got != 0 {
		t.Errorf("status %d", got)
	}
	if strings.Contains(x.Said(), "goes on as session") {
		t.Errorf("it says of a run that has ended: %s", x.Said())
	}
	wholeRecording(t)
}

// The loss of the terminal ends a run, or leaves it going in an SSH login or where that is set.
func TestTheLossOfTheTerminal(t *testing.T) {
	skipStarts(t)
	closed := func(s started) { s.Close() }
	for _, c := range []struct {
		name, environment, flags string
		lose                     func(started)
		on                       bool
	}{
		{"closed in an SSH login", "SSH_CONNECTION=10.0.0.7", "", closed, true},
		{"closed elsewhere", "A=B", "", closed, false},
		{"SIGHUP in an SSH login", "SSH_TTY=/dev/pts/7", "", kill(syscall.SIGHUP), true},
		{"SIGHUP where it is set", "PRISMTOP_ON_HANGUP=detach", "", kill(syscall.SIGHUP), true},
		{"closed where it is set", "A=B", "--on-hangup detach", closed, true},
		{"closed in an SSH login, to end", "SSH_CONNECTION=10.0.0.7", "--on-hangup end", closed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t)
			x := ptytest.Open(t, 120, 40)
			s := startOn(t, x, "export "+c.environment+"; exec prismtop run "+c.flags+" "+unended)
			x.See("sample  1/40")
			before := only(t)
			c.lose(s)
			if !c.on {
				if got := s.end(time.Minute); got != 130 {
					t.Errorf("status %d", got)
				}
				wholeRecording(t)
				return
			}
			go s.cmd.Wait() // or it would be left as a zombie, whose sessions are not told apart
			ptytest.Eventually(t, "the run without a screen", func() bool { return only(t).Screens == 0 })
			goesOn(t, before)
			y, cmd := attachedTo(t, before.ID)
			y.Press("D")
			y.See("the run goes on as session " + before.ID)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			stopped(t, before.ID)
		})
	}
}

// The attached screen may be killed at any moment of a change: the run goes on, and the next screen
// operates it.
func TestTheKillOfAnAttachedScreen(t *testing.T) {
	inFolder(t)
	s := detached(t)
	for range 5 {
		x, cmd := attachedTo(t)
		x.Press("a", "m", "f")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		ptytest.Eventually(t, "the lease to be free", func() bool { return only(t).Operator == "" })
		goesOn(t, only(t))
	}
	stopped(t, s.ID)
}

// A screen that is frozen, and one whose terminal does not read, cost the run and other screens
// nothing; its lease can be taken.
func TestAFrozenScreen(t *testing.T) {
	inFolder(t)
	s := detached(t)
	_, frozen := attachedTo(t)
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	x, _ := attachedTo(t)
	x.See("has control: I asks for it")
	x.Press("a")
	x.See("only watches; I asks for control")
	x.Press("I")
	x.See("wants control; ")
	x.Press("I") // the operator does not answer
	x.See(" took control from ")
	x.Gone("watching  moon")
	x.Press("a")
	x.See("AMP off→bf16")
	goesOn(t, only(t))
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stopped(t, s.ID)
	x.See("has ended: stopped")
}

// Prismtop stop, and the end of the run on another screen, end the screen of the run, too.
func TestTheEndOfARunEndsItsScreens(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, id string)
	}{
		{"stop", func(t *testing.T, id string) { stopped(t, id) }},
		{"q on another screen", func(t *testing.T, id string) {
			y, cmd := attachedTo(t, "--take")
			y.Press("q")
			y.See("Quit?")
			y.Press("y")
			y.See("has ended: stopped")
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			wholeRecording(t)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFolder(t)
			x := ptytest.Open(t, 120, 40)
			s := startOn(t, x, "exec prismtop run "+unended)
			x.See("sample  1/40")
			c.end(t, only(t).ID)
			if got := s.end(time.Minute); got != 0 {
				t.Errorf("status %d", got)
			}
			x.See("seed 1: stopp", "recording") // stopped, or stopping if the end takes longer than the screen waits
			x.Restored()
		})
	}
}

// A screen whose run is killed says so.
func TestTheProcessOfARunIsKilled(t *testing.T) {
	inFolder(t)
	s := detached(t)
	x, cmd := attachedTo(t)
	if err := syscall.Kill(s.Process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.See("the process of the run was killed")
	if err := cmd.Wait(); err == nil {
		t.Error("status 0")
	}
	if text := x.Text(); strings.Contains(text, "the run goes on") {
		t.Errorf("it says that the run goes on:\n%s", text)
	}
	x.Restored()
	if all := running(t); len(all) != 0 {
		t.Errorf("listed: %+v", all)
	}
}

// A run that nobody attaches to ends by its own limits, saves its result, and leaves its log.
func TestAnAbandonedRunEnds(t *testing.T) {
	inFolder(t)
	s := detached(t, "--max-iterations", "200000", "--max-time", "3s", "--save", "out")
	if s.Recording == "" || s.Log == "" {
		t.Errorf("%+v", s)
	}
	ptytest.Eventually(t, "the end", func() bool { return len(running(t)) == 0 })
	if _, err := os.Stat("out.npy"); err != nil {
		t.Error(err)
	}
	wholeRecording(t)
	log, err := os.ReadFile(s.Log)
	if err != nil || !strings.Contains(string(log), "finished by max_seconds = 3") {
		t.Errorf("the log: %v\n%s", err, log)
	}
	if _, err := program("stop", s.ID); err == nil || !strings.Contains(err.Error(), s.Log) {
		t.Errorf("of a session that has ended: %v", err)
	}
	x := ptytest.Open(t, 120, 40)
	cmd := exec.Command("prismtop", "attach", s.ID, "--notify", "osc9")
	x.Start(cmd)
	x.See("that one has ended")
	if err := cmd.Wait(); err == nil {
		t.Error("status 0")
	}
	if notice := "\x1b]9;prismtop: session " + s.ID + " has ended\a"; strings.Count(x.Received(), notice) != 1 {
		t.Errorf("it is not notified of: %q", x.Received())
	}
}

// Command lines that cannot be obeyed say what would be right.
func TestSessionsRefuse(t *testing.T) {
	inFolder(t)
	for _, c := range []struct{ line, want string }{
		{"attach", "attach: no session on this machine"},
		{"attach nosuch", `attach: session "nosuch": no session on this machine`},
		{"attach a b", "wants one session"},
		{"attach --take --watch", "cannot be joined with --watch"},
		{"attach --role root", "flag --role: \"root\": must be viewer, annotator or operator"},
		{"attach --take --role viewer", "cannot be joined with --role viewer"},
		{"stop", "wants one session"},
		{"stop k3f9w", "no session on this machine"},
		{"sessions now", "unexpected argument"},
		{"run --detach --json", "cannot be joined with"},
		{"run --detach --set radius=0", "radius = 0"},
		{"run --detach --theme pink", "flag --theme"},
		{"run --on-hangup perhaps --headless", "must be auto, detach or end"},
	} {
		if out, err := program(strings.Fields(c.line)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", c.line, out, err, c.want)
		}
	}
	if files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "prismtop", "sessions", "*")); err != nil || len(files) != 0 {
		t.Errorf("left behind: %q, %v", files, err)
	}
}

// An attached screen has the keys of its own user, whichever the run's user has.
func TestAnAttachedScreenHasItsOwnKeys(t *testing.T) {
	inFolder(t)
	s := detached(t)
	config := t.TempDir()
	if err := os.MkdirAll(filepath.Join(config, "prismtop"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "prismtop", "keys.toml"), []byte("pause = \"z\"\ncontrol = \"&\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, cmd := ptytest.Open(t, 120, 40), exec.Command("prismtop", "attach", s.ID, "--watch")
	cmd.Env = []string{"XDG_CONFIG_HOME=" + config}
	x.Start(cmd)
	x.See("sample  1/40")
	x.Press("z")
	x.See("this screen only watches; & asks for control")
	x.Press("&")
	x.See("z pause")
	x.Press("z")
	x.See("paused", "z go on")
	x.Press("ctrl+c")
	_ = cmd.Wait()
	if _, err := program("stop", s.ID); err != nil {
		t.Error(err)
	}
}
