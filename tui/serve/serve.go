// Package serve is an SSH server that shows screens to users with authorised keys, and does nothing else:
// docs/serve.md says what it refuses, and why.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"charm.land/ssh"
	"charm.land/wish/v2"
	gossh "golang.org/x/crypto/ssh"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// Limits bound what clients can make a server do.
type Limits struct {
	Sessions  int           // at a time
	PerKey    int           // of them, with one key
	Memory    int           // MiB of all sessions, by the sizes of their screens
	Startups  int           // connections that have not begun a session, at a time
	Rate      int           // connections a minute from one address
	Handshake time.Duration // from a connection to its session
	Idle      time.Duration // without input; 0 is no limit
	Stall     time.Duration // without reading
}

// DefaultLimits are the limits of a server that is told none.
var DefaultLimits = Limits{
	Sessions: 16, PerKey: 4, Memory: 768, Startups: 10, Rate: 60, Handshake: 15 * time.Second, Idle: 12 * time.Hour,
	Stall: 30 * time.Second,
}

// Options say what a server serves, and to whom.
type Options struct {
	HostKey gossh.Signer
	Limits  Limits
	// Keys returns the authorised keys. It is asked again while the server runs: sessions of keys that
	// were removed end.
	Keys func() (Keys, error)
	// Show shows screens on a visitor's terminal until the visitor leaves or ctx ends, and returns a
	// few words for the log on what was shown. The error is why it ended.
	Show func(ctx context.Context, v *Visitor) (how string, err error)
	// Log gets lines about connections and sessions. It may be called by several goroutines.
	Log func(line string)
}

// Server is an SSH server.
type Server struct {
	options Options
	ssh     *ssh.Server
	flood   flood

	running  context.Context
	stop     context.CancelCauseFunc
	farewell time.Duration // for the client to leave; farewellLimit but in tests

	mu     sync.Mutex
	door   *door
	keys   Keys
	wrong  string // why the keys could not be read the last time; empty if they could
	visits map[*visit]struct{}
	closed bool
	group  sync.WaitGroup
}

// Keys of what the library keeps with a connection.
type (
	linkKey  struct{}
	visitKey struct{}
)

// mostAttempts is how many keys a client may offer: an agent may hold some.
const mostAttempts = 6

// New returns a server. An error says what is wrong with the keys.
func New(o Options) (*Server, error) {
	keys, err := o.Keys()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, keys: keys, visits: map[*visit]struct{}{}, flood: flood{to: o.Log},
		farewell: farewellLimit}
	s.running, s.stop = context.WithCancelCause(context.Background())
	s.ssh, err = wish.NewServer(
		func(srv *ssh.Server) error { srv.AddHostKey(o.HostKey); return nil },
		wish.WithVersion("prismtop"),
		wish.WithPublicKeyAuth(s.authorise),
		wish.WithMiddleware(func(ssh.Handler) ssh.Handler { return s.visited }),
	)
	if err != nil {
		return nil, err
	}
	s.ssh.HandshakeTimeout = o.Limits.Handshake
	s.ssh.ServerConfigCallback = func(ssh.Context) *gossh.ServerConfig {
		return &gossh.ServerConfig{MaxAuthTries: mostAttempts}
	}
	s.ssh.ConnCallback = func(ctx ssh.Context, c net.Conn) net.Conn {
		ctx.SetValue(linkKey{}, c)
		return c
	}
	s.ssh.ConnectionFailedCallback = func(c net.Conn, err error) {
		s.flood.log(fmt.Sprintf("%s not logged in: %s", c.RemoteAddr(),
			visible.Text(err.Error()[:min(len(err.Error()), longestError)])))
	}
	s.ssh.ChannelHandlers = map[string]ssh.ChannelHandler{"session": s.open, "default": s.refuse}
	s.ssh.RequestHandlers = map[string]ssh.RequestHandler{} // nothing is forwarded
	s.ssh.SubsystemHandlers = map[string]ssh.SubsystemHandler{}
	return s, nil
}

// Serve serves the connections of a listener until Close.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return l.Close()
	}
	s.door = newDoor(l, s)
	s.mu.Unlock()
	go s.watchKeys()
	err := s.ssh.Serve(s.door)
	if s.running.Err() != nil {
		return nil
	}
	return err
}

// closeLimit is how long Close waits for sessions to end in order. Each has its own limits; this one is for a machine
// that is too busy to meet them.
const closeLimit = 4 * farewellLimit

// Close ends the server: nobody can log in any more, users are told, and their screens are closed.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	door := s.door
	s.mu.Unlock()
	s.stop(errStopped)
	if door != nil {
		_ = door.Close()
	}
	ended := make(chan struct{})
	go func() {
		s.group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(closeLimit):
	}
	_ = s.ssh.Close()
	if door != nil {
		door.closeAll()
	}
}

// authorise reports whether a key may log in.
func (s *Server) authorise(ctx ssh.Context, public ssh.PublicKey) bool {
	fingerprint := gossh.FingerprintSHA256(public)
	why := "unknown key " + fingerprint
	if _, cert := public.(*gossh.Certificate); !cert {
		if _, ok := s.keyOf(fingerprint); ok {
			err := strong(public) // a file that names the fingerprint does not show what it is of
			if err == nil {
				return true
			}
			why = fmt.Sprintf("key %s: %v", fingerprint, err)
		}
	}
	s.flood.log(fmt.Sprintf("%s refused: %s", ctx.RemoteAddr(), why))
	return false
}

// keyOf returns the authorised key of a fingerprint. There is none while the keys cannot be read.
func (s *Server) keyOf(fingerprint string) (Key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != "" {
		return Key{}, false
	}
	k, ok := s.keys[fingerprint]
	return k, ok
}

// longestError bounds the text of an error that a stranger causes.
const longestError = 200

// keysPeriod is the time between two looks at the keys.
const keysPeriod = 2 * time.Second

// watchKeys reads the keys again and again.
func (s *Server) watchKeys() {
	tick := time.NewTicker(keysPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.reload()
		case <-s.running.Done():
			return
		}
	}
}

// reload reads the keys, and ends the sessions of those that were removed. While they cannot be read,
// nobody can log in, and sessions go on.
func (s *Server) reload() {
	keys, err := s.options.Keys()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if why := err.Error(); why != s.wrong {
			s.wrong = why
			go s.options.Log("nobody can log in: " + visible.Text(why))
		}
		return
	}
	if s.wrong != "" {
		s.wrong = ""
		go s.options.Log("the keys can be read again")
	}
	s.keys = keys
	for v := range s.visits {
		if k, ok := keys[v.fingerprint]; !ok || k.Role != v.role {
			v.end(errRevoked)
		}
	}
}

// enter counts a session, or returns why it is refused.
func (s *Server) enter(v *visit) (why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := 0
	for other := range s.visits {
		if other.fingerprint == v.fingerprint {
			same++
		}
	}
	switch {
	case len(s.visits) >= s.options.Limits.Sessions:
		return fmt.Sprintf("%d sessions are open, the most there may be (--max-sessions)", len(s.visits))
	case same >= s.options.Limits.PerKey:
		return fmt.Sprintf("%d sessions are open with this key, the most there may be (--max-per-key)", same)
	case s.left() < bytesOf(v.size):
		return fmt.Sprintf("a screen of %dx%d needs %s of memory, and %s are left for sessions (--max-memory): try a "+
			"smaller window",
			v.size[0], v.size[1], unit.Size(bytesOf(v.size)), unit.Size(s.left()))
	}
	v.held = bytesOf(v.size)
	s.visits[v] = struct{}{}
	return ""
}

// What a session takes: its copy of the run's state, and the cells of its screen in the buffers that draw and compare
// frames. Measured: 6 MB and 400 bytes a cell.
const (
	sessionBytes = 16 << 20
	cellBytes    = 400
)

// bytesOf returns the memory of a session with a screen of a size.
func bytesOf(size [2]int) int64 { return sessionBytes + cellBytes*int64(size[0])*int64(size[1]) }

// left returns the memory that no session holds. s.mu is held.
func (s *Server) left() int64 {
	left := int64(s.options.Limits.Memory) << 20
	for v := range s.visits {
		left -= v.held
	}
	return left
}

// resized reports whether a session may have a screen of another size, and holds its memory.
func (s *Server) resized(v *visit, size [2]int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if needs := bytesOf(size); needs <= v.held || needs-v.held <= s.left() {
		v.held = needs
		return true
	}
	return false
}

// expect makes Close wait for a session, and reports whether there may still be one.
func (s *Server) expect() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.group.Add(1)
	return true
}

// leave ends what enter began.
func (s *Server) leave(v *visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.visits, v)
}

// Check returns an error for limits that make no sense. flags name them.
func (l *Limits) Check() error {
	for _, each := range []struct {
		flag string
		ok   bool
		must string
	}{
		{"max-sessions", l.Sessions >= 1 && l.Sessions <= 1000, "from 1 to 1000"},
		{"max-per-key", l.PerKey >= 1, "at least 1"},
		{"max-memory", l.Memory >= 64 && l.Memory <= 1<<20, "from 64 to 1048576"},
		{"startups", l.Startups >= 1 && l.Startups <= 1000, "from 1 to 1000"},
		{"rate", l.Rate >= 1, "at least 1"},
		{"handshake", l.Handshake >= time.Second, "at least 1s"},
		{"idle", l.Idle == 0 || l.Idle >= time.Second, "at least 1s, or 0 for no limit"},
		{"stall", l.Stall >= time.Second, "at least 1s"},
	} {
		if !each.ok {
			return errors.New("flag --" + each.flag + ": must be " + each.must)
		}
	}
	return nil
}
