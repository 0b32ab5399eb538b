package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	gossh "golang.org/x/crypto/ssh"

	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/serve"
	"prismtop/tui/terminal"
)

// serveFlags are the flags of the command serve.
type serveFlags struct {
	cli.Look
	listen, keys string
	limits       serve.Limits
}

// serveCommand returns the command serve.
func serveCommand() *cobra.Command {
	f := serveFlags{limits: serve.DefaultLimits}
	cmd := &cobra.Command{
		Use: "serve", Short: "Show the sessions on this machine to others, over SSH", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:2222", "address and port to listen on; port 0 chooses a free one")
	flags.StringVar(&f.keys, "keys", "", "file of authorised keys, a role and a public key or fingerprint on each "+
		"line (default prismtop/authorized_keys in the user's configuration folder)")
	flags.IntVar(&f.limits.Sessions, "max-sessions", f.limits.Sessions, "SSH sessions at a time")
	flags.IntVar(&f.limits.PerKey, "max-per-key", f.limits.PerKey, "SSH sessions at a time with one key")
	flags.IntVar(&f.limits.Memory, "max-memory", f.limits.Memory,
		"MiB that the screens of all SSH sessions may take together")
	flags.IntVar(&f.limits.Startups, "startups", f.limits.Startups,
		"connections at a time that have not begun an SSH session")
	flags.IntVar(&f.limits.Rate, "rate", f.limits.Rate, "connections a minute from one address")
	flags.DurationVar(&f.limits.Handshake, "handshake", f.limits.Handshake,
		"time for a connection to begin its SSH session")
	flags.DurationVar(&f.limits.Idle, "idle", f.limits.Idle,
		"time without input after which an SSH session ends; 0 for no limit")
	flags.DurationVar(&f.limits.Stall, "stall", f.limits.Stall,
		"time after which a client that does not read is dropped")
	f.Look.Register(flags)
	return cmd
}

// keysPath returns the path of the authorised keys.
func (f *serveFlags) keysPath() (string, error) {
	if f.keys != "" {
		return filepath.Abs(f.keys)
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("flag --keys: must be given: %w", err)
	}
	return filepath.Join(folder, "prismtop", "authorized_keys"), nil
}

// hostKey returns the host key, which is made by the first server of the user.
func hostKey() (gossh.Signer, error) {
	folder, err := sessions.Folder()
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	return serve.HostKey(filepath.Join(filepath.Dir(folder), "ssh_host_ed25519_key"))
}

// serve serves until the command is interrupted.
func (f *serveFlags) serve(cmd *cobra.Command) error {
	if !terminal.JobControl {
		return errors.New("serve: this system has no sessions")
	}
	look, err := f.Look.Options(cmd.Flags())
	if err != nil {
		return err
	}
	if err := cli.ReadKeys(cmd.Context(), &look); err != nil {
		return err
	}
	look.Remember = "" // each session begins with the same screen
	if err := f.limits.Check(); err != nil {
		return cli.BadUsage(err)
	}
	path, err := f.keysPath()
	if err != nil {
		return cli.BadUsage(err)
	}
	key, err := hostKey()
	if err != nil {
		return err
	}
	log, flush := journal(cmd.ErrOrStderr())
	defer flush()
	shows := &showing{look: look, ascii: func(environ []string) bool { return f.ASCII(cmd.Flags(), environ) },
		shares: newShares()}
	server, err := serve.New(serve.Options{
		HostKey: key, Limits: f.limits, Show: shows.show, Log: log,
		Keys: func() (serve.Keys, error) { return serve.LoadKeys(path, roles) },
	})
	if err != nil {
		return fmt.Errorf("flag --keys: %w", err)
	}
	l, err := cli.Listen(cmd.Context(), f.listen)
	if err != nil {
		return cli.BadUsage(fmt.Errorf("flag --listen: %w", err))
	}
	cli.ThriftyCollector()
	f.announce(cmd, l.Addr(), key, path)
	ended := context.AfterFunc(cmd.Context(), server.Close)
	err = server.Serve(l)
	if ended() { // it ended by itself
		return fmt.Errorf("serve: %w", err)
	}
	server.Close() // returns once the sessions have ended
	log("stopped")
	return cli.ErrInterrupted
}

// announce prints how to log in, and the address on standard output.
func (f *serveFlags) announce(cmd *cobra.Command, at net.Addr, key gossh.Signer, keys string) {
	w := cmd.ErrOrStderr()
	tcp, _ := at.(*net.TCPAddr)
	fmt.Fprintf(w, "prismtop: serves the runs of this machine: ssh -p %d %s; host key %s; keys of %s\n",
		tcp.Port, reachable(tcp.IP), gossh.FingerprintSHA256(key.PublicKey()), visible.Text(keys))
	if !tcp.IP.IsLoopback() {
		fmt.Fprintf(w, "prismtop: warning: %s can be reached from other machines; 127.0.0.1 with ssh -J or -L cannot "+
			"(prismtop docs serve)\n", at)
	}
	fmt.Fprintln(cmd.OutOrStdout(), at)
}

// reachable returns an address to connect to, for that of a listener.
func reachable(ip net.IP) string {
	if ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			return visible.Text(name)
		}
	}
	return ip.String()
}

// A log of a server holds mostWaiting lines for a standard error that is not read, and
// waits logLimit for it at the end.
const (
	mostWaiting = 256
	logLimit    = time.Second
)

// journal returns a log that writes lines with their time to w. It never waits: of lines for which there is no room it
// gives the number only. flush waits for what is left, for a while, and ends it.
func journal(w io.Writer) (log func(string), flush func()) {
	waiting, done := make(chan string, mostWaiting), make(chan struct{})
	var lost atomic.Int64
	go func() {
		defer close(done)
		for line := range waiting {
			if n := lost.Swap(0); n > 0 {
				line = fmt.Sprintf("%s %d lines were left out, because standard error was not read\n",
					time.Now().Format(time.RFC3339), n) + line
			}
			_, _ = io.WriteString(w, line)
		}
	}()
	var mu sync.Mutex
	over := false
	log = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		select {
		case waiting <- fmt.Sprintf("%s %s\n", time.Now().Format(time.RFC3339), line):
		default:
			lost.Add(1)
		}
	}
	flush = func() {
		mu.Lock()
		if !over {
			over = true
			close(waiting)
		}
		mu.Unlock()
		select {
		case <-done:
		case <-time.After(logLimit):
		}
	}
	return log, flush
}
