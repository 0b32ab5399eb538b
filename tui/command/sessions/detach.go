package sessions

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"prismtop/profiles/attach"
	"prismtop/profiles/preset"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
)

// envBegun names to a detached process the file that it prints to, until it has an ID.
const envBegun = preset.EnvPrefix + "DETACHED"

// Child is the process that run --detach begins.
type Child struct {
	printed string   // the file that it prints to
	report  *os.File // takes its ID
}

// IsChild returns the child that this process is, nil if it is none. Only the first call does.
func IsChild() *Child {
	printed, ok := os.LookupEnv(envBegun)
	if !ok {
		return nil
	}
	_ = os.Unsetenv(envBegun) // neither a setting nor for others
	return &Child{printed: printed, report: os.NewFile(3, "report")}
}

// Begun reports the ID of the session to the process that waits for it.
func (c *Child) Begun(h *Host) error {
	if err := os.Rename(c.printed, h.log); err != nil {
		return err
	}
	h.shut.Store(true)
	h.Begin()
	_, err := fmt.Fprintln(c.report, h.ID())
	pruneLogs(h.folder)
	return errors.Join(err, c.report.Close())
}

// Begin begins this command line again in a process without a terminal, and returns the ID of its
// session once it runs. If it does not begin, status is the exit status and the error its message.
func Begin(arguments []string) (id string, status int, err error) {
	folder, err := Folder()
	if !terminal.JobControl {
		return "", cli.StatusFailed, errors.New("flag --detach: this system has no sessions of processes")
	}
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return "", cli.StatusFailed, noLog(err)
	}
	program, err := self()
	if err != nil {
		return "", cli.StatusFailed, err
	}
	printed, err := os.CreateTemp(folder, "begins-*"+logEnding)
	if err != nil {
		return "", cli.StatusFailed, noLog(err)
	}
	defer printed.Close()
	report, child, err := os.Pipe()
	if err != nil {
		return "", cli.StatusFailed, err
	}
	defer report.Close()
	cmd := exec.Command(program, arguments...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = printed, printed, []*os.File{child}
	cmd.Env = append(os.Environ(), envBegun+"="+printed.Name())
	terminal.NewSession(cmd)
	err = cmd.Start()
	_ = child.Close()
	if err != nil {
		_ = os.Remove(printed.Name())
		return "", cli.StatusFailed, err
	}
	line, _ := bufio.NewReader(io.LimitReader(report, 64)).ReadString('\n')
	if id = strings.TrimSpace(line); id != "" {
		return id, cli.StatusDone, cmd.Process.Release()
	}
	_ = cmd.Wait() // its status says it
	text, err := os.ReadFile(printed.Name())
	_ = os.Remove(printed.Name())
	if err == nil {
		err = errors.New(message(string(text)))
	}
	return "", max(cmd.ProcessState.ExitCode(), cli.StatusFailed), err
}

// noLog reports a folder in which no log can be written.
func noLog(err error) error {
	return fmt.Errorf("flag --detach: the log of the session cannot be written: %w; set XDG_STATE_HOME to a folder "+
		"that can be", err)
}

// message returns the last line that a process printed, which is its error.
func message(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if last := strings.TrimPrefix(lines[len(lines)-1], "prismtop: "); last != "" {
		return last
	}
	return "the detached process ended at once"
}

// self returns the path of this program.
func self() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return filepath.Abs(path)
	}
	return os.Executable()
}

// wakeName is the hidden command that continues this process.
const wakeName = "wake"

// ToShell gives the terminal back to the shell while this process goes on.
func ToShell() error {
	program, err := self()
	if err != nil {
		return err
	}
	return terminal.ToShell(exec.Command(program, wakeName, strconv.Itoa(terminal.Group())))
}

// WakeCommand returns the hidden command that ToShell runs.
func WakeCommand() *cobra.Command {
	return &cobra.Command{
		Use: wakeName + " GROUP", Short: "Continue the processes of a group once the shell has its terminal back",
		Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			group, err := strconv.Atoi(args[0])
			if err != nil || group <= 1 {
				return cli.BadUsage(fmt.Errorf("wake: %q: must be a group of processes", args[0]))
			}
			return terminal.Wake(group)
		},
	}
}

// DetachesOnHangup parses the value of --on-hangup: whether the loss of the terminal leaves the run
// going. The value auto does in an SSH login.
func DetachesOnHangup(text string, environ func(string) string) (bool, error) {
	switch text {
	case "auto":
		return environ("SSH_CONNECTION") != "" || environ("SSH_TTY") != "", nil
	case "detach":
		return true, nil
	case "end":
		return false, nil
	}
	return false, fmt.Errorf("%q: must be auto, detach or end", text)
}

// OutliveTerminal makes the process survive the loss of its terminal.
func OutliveTerminal() {
	signal.Ignore(syscall.SIGHUP) // which takes it from everything that waits for it
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGHUP) // or it would kill once a screen no longer waits for it
}

// Named returns the session of an ID, of which a beginning that no other has will do; without one,
// the only session.
func Named(found []attach.Found, id string) (attach.Found, error) {
	var matching []attach.Found
	for _, f := range found {
		if f.ID == id {
			return f, nil
		}
		if strings.HasPrefix(f.ID, id) {
			matching = append(matching, f)
		}
	}
	switch {
	case len(matching) == 1:
		return matching[0], nil
	case id == "" && len(found) == 0:
		return attach.Found{}, errors.New("no session on this machine; prismtop run begins one")
	case id == "":
		return attach.Found{}, fmt.Errorf("several sessions run: name one of %s", ids(matching))
	case len(matching) > 1:
		return attach.Found{}, fmt.Errorf("session %q: is the beginning of %s", id, ids(matching))
	case len(found) == 0:
		return attach.Found{}, fmt.Errorf("session %q: no session on this machine%s", id, ended(id))
	}
	return attach.Found{}, fmt.Errorf("session %q: must be one of %s%s", id, ids(found), ended(id))
}

// ids lists the IDs of sessions.
func ids(found []attach.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, f.ID)
	}
	return strings.Join(all, ", ")
}

// ended says where the log of a session is that has ended; empty if there is none.
func ended(id string) string {
	path := logOf(id)
	if path == "" {
		return ""
	}
	return "; that one has ended, and its log is " + path
}

// Ended reports whether a session that does not run any more has left a log.
func Ended(id string) bool { return logOf(id) != "" }

// logOf returns the path of the log that a session has left; empty if there is none.
func logOf(id string) string {
	folder, err := Folder()
	if err != nil || id == "" || id != filepath.Base(id) {
		return ""
	}
	path := filepath.Join(folder, id+logEnding)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}
