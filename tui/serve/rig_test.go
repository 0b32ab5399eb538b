package serve

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// rig is a server on loopback with a key for each role.
type rig struct {
	*Server
	t    testing.TB
	addr string
	keys map[string]gossh.Signer // "viewer", "operator" and "stranger", which is not authorised

	mu    sync.Mutex
	known Keys
	log   []string
	show  func(ctx context.Context, v *Visitor) (string, error)
}

// quick are limits that tests of none of them do not meet.
var quick = Limits{Sessions: 20, PerKey: 20, Memory: 4096, Startups: 50, Rate: 100_000, Handshake: time.Minute, Stall: time.Minute}

func signer(t testing.TB, seed byte) gossh.Signer {
	t.Helper()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
	s, err := gossh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serving(t testing.TB, limits Limits) *rig {
	t.Helper()
	r := &rig{t: t, keys: map[string]gossh.Signer{}, known: Keys{}, show: untilEnd}
	for i, name := range []string{"viewer", "operator", "stranger"} {
		r.keys[name] = signer(t, byte('a'+i))
		if name != "stranger" {
			r.authorise(name, name)
		}
	}
	var err error
	r.Server, err = New(Options{
		HostKey: signer(t, 'h'), Limits: limits, Log: r.add,
		Keys: func() (Keys, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			keys := Keys{}
			for f, k := range r.known {
				keys[f] = k
			}
			return keys, nil
		},
		Show: func(ctx context.Context, v *Visitor) (string, error) {
			r.mu.Lock()
			show := r.show
			r.mu.Unlock()
			return show(ctx, v)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- r.Server.Serve(l) }()
	t.Cleanup(func() {
		r.Server.Close()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return r
}

func (r *rig) authorise(name, role string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := gossh.FingerprintSHA256(r.keys[name].PublicKey())
	r.known[f] = Key{Fingerprint: f, Role: role, Name: name}
}

func (r *rig) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line)
}

func (r *rig) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, "\n")
}

// logs waits for a text in the log.
func (r *rig) logs(text string) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%q in the log", text), func() bool { return strings.Contains(r.logged(), text) })
}

// connections counts those that have not begun a session, and all.
func (r *rig) connections() (waiting, all int) {
	r.Server.mu.Lock()
	d := r.door
	r.Server.mu.Unlock()
	if d == nil {
		return 0, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting, len(d.links)
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// untilEnd shows nothing, and echoes what is typed until the visitor types q.
func untilEnd(ctx context.Context, v *Visitor) (string, error) {
	on := v.Streams()
	defer on.Input.(io.Closer).Close()
	typed := make(chan error, 1)
	go func() {
		p := make([]byte, 256)
		for {
			n, err := on.Input.Read(p)
			if err == nil && !strings.Contains(string(p[:n]), "q") {
				_, err = on.Output.Write(p[:n])
			} else if err == nil {
				typed <- nil
				return
			}
			if err != nil {
				typed <- err
				return
			}
		}
	}()
	select {
	case err := <-typed:
		return "", err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// dial logs in with a key.
func (r *rig) dial(auth ...gossh.AuthMethod) (*gossh.Client, error) {
	return gossh.Dial("tcp", r.addr, &gossh.ClientConfig{
		User: "someone", Auth: auth, HostKeyCallback: gossh.FixedHostKey(r.options.HostKey.PublicKey()), Timeout: time.Minute,
	})
}

func (r *rig) login(name string) *gossh.Client {
	r.t.Helper()
	c, err := r.dial(gossh.PublicKeys(r.keys[name]))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// terminalOf is a session of a client whose shell runs.
type terminalOf struct {
	*gossh.Session
	in  io.Writer
	out *gathered
}

// gathered is output so far.
type gathered struct {
	mu   sync.Mutex
	text strings.Builder
}

func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

func (g *gathered) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// session begins a session on a terminal, and returns when the server has let it in or refused it, which
// it does after the client was told that it has a shell.
func (r *rig) session(c *gossh.Client) *terminalOf { return r.sized(c, 120, 40) }

// sized is session with a size.
func (r *rig) sized(c *gossh.Client, columns, rows int) *terminalOf {
	r.t.Helper()
	decided := func() int {
		log := r.logged()
		return strings.Count(log, "): logged in") + strings.Count(log, "): refused: ")
	}
	before := decided()
	s, err := c.NewSession()
	if err != nil {
		r.t.Fatal(err)
	}
	x := &terminalOf{Session: s, out: &gathered{}}
	s.Stdout = x.out
	if x.in, err = s.StdinPipe(); err == nil {
		err = s.RequestPty("xterm-256color", rows, columns, nil)
	}
	if err == nil {
		err = s.Shell()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "the server's decision on a session", func() bool { return decided() > before })
	return x
}

// works checks that a user can log in, and that what is typed arrives.
func (r *rig) works() {
	r.t.Helper()
	c := r.login("operator")
	defer c.Close()
	x := r.session(c)
	if _, err := io.WriteString(x.in, "hello"); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "the echo", func() bool { return strings.Contains(x.out.String(), "hello") })
	_, _ = io.WriteString(x.in, "q")
	if err := x.Wait(); err != nil {
		r.t.Errorf("the session ended with %v", err)
	}
}

func mustAddr(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
