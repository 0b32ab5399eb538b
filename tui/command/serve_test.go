//go:build unix

package command

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"prismtop/tui/ptytest"
)

// served is a server of prismtop serve, and the keys of its users.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	host   string
	port   string
	folder string

	mu  sync.Mutex
	log strings.Builder
}

// serving starts prismtop serve with keys named after their roles, and "stranger", which it does not know.
// The test is skipped where OpenSSH is not installed.
func serving(t *testing.T, args ...string) *served {
	t.Helper()
	for _, tool := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("skipped: no OpenSSH client here")
		}
	}
	s := &served{t: t, folder: t.TempDir()}
	var lines []string
	for _, name := range append([]string{"stranger"}, roles...) {
		key := filepath.Join(s.folder, name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name+" of the test", "-f", key).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
		public, err := os.ReadFile(key + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		if name != "stranger" {
			lines = append(lines, name+" "+string(public))
		}
	}
	s.keys(strings.Join(lines, ""))
	s.cmd = exec.Command("prismtop", append([]string{"serve", "--listen", "127.0.0.1:0", "--keys", filepath.Join(s.folder, "keys"), "--rate", "1000"}, args...)...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		if t.Failed() {
			t.Logf("the server's log:\n%s", s.text())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		s.host, s.port, err = net.SplitHostPort(strings.TrimSpace(line))
	}
	if err != nil {
		t.Fatalf("serve prints %q: %v\n%s", line, err, s.text())
	}
	return s
}

// keys writes the file of authorised keys.
func (s *served) keys(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, "keys"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Write adds to the server's log.
func (s *served) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *served) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// logs waits for texts in the server's log.
func (s *served) logs(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		ptytest.Eventually(s.t, fmt.Sprintf("%q in the server's log", text), func() bool { return strings.Contains(s.text(), text) })
	}
}

// options are those of ssh, scp and sftp for a key, without the port.
func (s *served) options(key string) []string {
	return []string{"-F", "none", "-i", filepath.Join(s.folder, key), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=" + filepath.Join(s.folder, "known"), "-o", "LogLevel=ERROR"}
}

// ssh returns a command of the stock client.
func (s *served) ssh(key string, args ...string) *exec.Cmd {
	cmd := exec.Command("ssh", append(append(s.options(key), "-p", s.port), args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	return cmd
}

// login starts the stock client on a terminal.
func (s *served) login(key string) (*ptytest.Terminal, *exec.Cmd) {
	s.t.Helper()
	x := ptytest.Open(s.t, 120, 40)
	cmd := s.ssh(key, "-tt", s.host)
	x.Start(cmd)
	return x, cmd
}

// With the stock client: an operator operates the run, a viewer cannot, sizes follow the terminal, keys
// that concern a process do not reach the server's, and all are told when it stops.
func TestServeOverSSH(t *testing.T) {
	inFolder(t)
	run := detached(t)
	s := serving(t)
	x, operator := s.login("operator")
	x.See("sample  1/40")
	s.logs("operator of the test from 127.0.0.1", "(operator, SHA256:", "shows session "+run.ID)
	if now := only(t); now.Screens != 1 || now.Operator != "operator of the test from 127.0.0.1" {
		t.Errorf("attached: %+v", now)
	}
	x.Press("space")
	ptytest.Eventually(t, "the run to be paused", func() bool { return only(t).State == "paused" })
	x.Press("space")
	ptytest.Eventually(t, "the run to go on", func() bool { return only(t).State == "running" })
	x.Resize(90, 30)
	x.See("sample  1/40")
	x.Press("ctrl+z")
	x.See("cannot be suspended here")

	y, viewer := s.login("viewer")
	y.See("watching", "operator of the test from 127.0.0.1 has control")
	y.Press("space")
	y.See("your role, viewer, may only watch")
	y.Press("I", "q")
	if err := viewer.Wait(); err != nil {
		t.Errorf("the viewer's client: %v", err)
	}
	s.logs("viewer of the test", ": left after")
	if now := only(t); now.State != "running" || now.Operator != "operator of the test from 127.0.0.1" {
		t.Errorf("after the viewer: %+v", now)
	}

	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	x.See("the session has ended: the server is being stopped")
	if exitOf(operator.Wait()) != 1 {
		t.Errorf("the operator's client: %v", operator.ProcessState)
	}
	if exitOf(s.cmd.Wait()) != 130 {
		t.Errorf("the server: %v", s.cmd.ProcessState)
	}
	s.logs("ended after", ": the server is being stopped", " stopped\n")
	goesOn(t, only(t))
	stopped(t, run.ID)
}

func exitOf(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// A list is shown unless there is one session, and a session that was left comes back to it. The end of a
// run by its operator is one.
func TestServeShowsTheSessions(t *testing.T) {
	inFolder(t)
	s := serving(t)
	x, client := s.login("operator")
	x.See("sessions", "no session on this machine", "operator of the test, operator")
	run := detached(t)
	x.See(run.ID, "running", "sample 1/40")
	x.Press("enter")
	x.See("sample  1/40")
	x.Press("D")
	x.See("runs on this machine", run.ID)
	x.Press("enter")
	x.See("sample  1/40")
	x.Press("q")
	x.See("Quit?")
	x.Press("y")
	x.See("no session on this machine")
	s.logs("session " + run.ID + " has ended: stopped")
	x.Press("q")
	if err := client.Wait(); err != nil {
		t.Errorf("the client: %v", err)
	}
	wholeRecording(t)
}

// The stock client is refused everything but a session with an authorised key.
func TestServeRefusesTheStockClient(t *testing.T) {
	inFolder(t)
	s := serving(t)
	target := filepath.Join(s.folder, "target")
	scp := func(from, to string) *exec.Cmd {
		return exec.Command("scp", append(append(s.options("operator"), "-P", s.port), from, to)...)
	}
	for name, c := range map[string]struct {
		cmd    *exec.Cmd
		says   string
		logged string
	}{
		"another key":          {s.ssh("stranger", "-tt", s.host), "Permission denied (publickey)", "refused: unknown key SHA256:"},
		"a password":           {s.ssh("stranger", "-tt", "-o", "PreferredAuthentications=password,keyboard-interactive", s.host), "Permission denied (publickey)", "not logged in"},
		"a command":            {s.ssh("operator", s.host, "id"), "exec request failed", "asked for a command"},
		"a command with -tt":   {s.ssh("operator", "-tt", s.host, "id"), "exec request failed", "asked for a command"},
		"no terminal":          {s.ssh("operator", "-T", s.host), "shell request failed", "asked for a session without a terminal"},
		"a subsystem":          {s.ssh("operator", "-s", s.host, "sftp"), "subsystem request failed", "asked for a subsystem"},
		"a remote port":        {s.ssh("operator", "-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:1", s.host), "remote port forwarding failed", ""},
		"a connection through": {s.ssh("operator", "-W", "127.0.0.1:1", s.host), "forwarding failed", "asked for a channel of type direct-tcpip"},
		"scp from":             {scp(s.host+":/etc/hostname", target), "", ""},
		"scp to":               {scp(os.Args[0], s.host+":"+target), "", ""},
		"old scp":              {exec.Command("scp", append(append(s.options("operator"), "-O", "-P", s.port), s.host+":/etc/hostname", target)...), "", ""},
		"sftp":                 {exec.Command("sftp", append(append(s.options("operator"), "-P", s.port), s.host)...), "", ""},
	} {
		if _, err := exec.LookPath(c.cmd.Path); err != nil {
			t.Logf("%s: skipped: %v", name, err)
			continue
		}
		out, err := c.cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v, and the client says %q, want %q", name, err, out, c.says)
		}
		s.logs(c.logged)
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a file was transferred")
	}
}

// A key that is removed, or has another role, ends its sessions.
func TestServeRevokes(t *testing.T) {
	inFolder(t)
	detached(t)
	s := serving(t)
	x, client := s.login("operator")
	x.See("sample  1/40")
	s.keys("")
	x.See("the session has ended: the key was removed, or has another role now")
	if exitOf(client.Wait()) != 1 {
		t.Errorf("the client: %v", client.ProcessState)
	}
	if out, err := s.ssh("operator", "-tt", s.host).CombinedOutput(); err == nil || !strings.Contains(string(out), "Permission denied") {
		t.Errorf("again: %v, %q", err, out)
	}
}

// What keeps a server from starting is said before it listens.
func TestServeNeedsSafeFiles(t *testing.T) {
	inFolder(t)
	folder := t.TempDir()
	keys := filepath.Join(folder, "keys")
	refused := func(want string, args ...string) {
		t.Helper()
		if _, err := program(append([]string{"serve", "--listen", "127.0.0.1:0", "--keys", keys}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	refused("keys does not exist: must have a line for each key, a role (viewer, annotator, operator) and the public key: mkdir -p")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the mask is
			t.Fatal(err)
		}
	}
	write(keys, "", 0o622)
	refused("can be written by others: chmod go-w")
	write(keys, "root ssh-ed25519 AAAA x\n", 0o600)
	refused(`line 1: "root": must begin with a role: viewer, annotator, operator`)
	write(keys, "", 0o600)
	refused("flag --handshake: must be at least 1s", "--handshake", "1ms")
	refused("flag --listen", "--listen", "nowhere.invalid:1")
	host := filepath.Join(os.Getenv("XDG_STATE_HOME"), "prismtop", "ssh_host_ed25519_key")
	info, err := os.Stat(host)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the host key: %v, %v", info, err)
	}
	write(host, "", 0o644)
	refused("others can read it: chmod 600")
	write(host, "nonsense", 0o600)
	refused("must be a private key without a passphrase")
}
