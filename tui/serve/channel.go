package serve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"

	"prismtop/profiles/visible"
	"prismtop/tui/terminal"
)

// This file decides what a client may ask for. The library sees only what passes: one request for a
// terminal with a sensible size, and one for a shell.

// mostChannels is how many channels a connection may ask for, of which it gets one.
const mostChannels = 8

// Limits of the requests of a session: a burst, and then so many a second, as fast as a user can drag the
// edge of a window. Beyond, the connection waits.
const (
	requestBurst = 200
	requestRate  = 50
)

// passed are the variables of the client's environment that count, and longestValue bounds their values.
var passed = []string{"LANG", "LC_ALL", "LC_CTYPE", "COLORTERM", "NO_COLOR", "TERM_PROGRAM"}

const longestValue = 128

// open begins the session of a connection.
func (s *Server) open(srv *ssh.Server, conn *gossh.ServerConn, asked gossh.NewChannel, ctx ssh.Context) {
	l := ctx.Value(linkKey{}).(*link)
	if !l.mayAsk() {
		return
	}
	if l.visited.Swap(true) {
		_ = asked.Reject(gossh.ResourceShortage, "one session per connection")
		return
	}
	v := &visit{server: s, link: l, sizes: make(chan [2]int, 1)}
	ctx.SetValue(visitKey{}, v)
	ssh.DefaultSessionHandler(srv, conn, sieve{asked, v}, ctx)
}

// refuse refuses channels other than sessions, which forward connections.
func (s *Server) refuse(_ *ssh.Server, conn *gossh.ServerConn, asked gossh.NewChannel, ctx ssh.Context) {
	l := ctx.Value(linkKey{}).(*link)
	if !l.mayAsk() {
		return
	}
	s.flood.log(fmt.Sprintf("%s refused: asked for a channel of type %s", conn.RemoteAddr(),
		visible.Text(shortened(asked.ChannelType()))))
	_ = asked.Reject(gossh.Prohibited, "nothing is forwarded")
}

// mayAsk counts a channel that a client asks for, and closes the connection of one that does not stop.
func (l *link) mayAsk() bool {
	if l.opened.Add(1) <= mostChannels {
		return true
	}
	_ = l.Close()
	return false
}

// sieve is a channel whose requests are sifted.
type sieve struct {
	gossh.NewChannel
	visit *visit
}

// Accept accepts the channel.
func (s sieve) Accept() (gossh.Channel, <-chan *gossh.Request, error) {
	channel, asked, err := s.NewChannel.Accept()
	if err != nil {
		return nil, nil, err
	}
	kept := make(chan *gossh.Request)
	go func() {
		defer close(kept)
		s.visit.sift(asked, kept)
	}()
	return channel, kept, nil
}

// terminalRequest is the payload of a request for a terminal, and sizeRequest that of its later sizes
// (RFC 4254, sections 6.2 and 6.7).
type terminalRequest struct {
	Term                         string
	Columns, Rows, Width, Height uint32
	Modes                        string
}

type sizeRequest struct{ Columns, Rows, Width, Height uint32 }

// noModes are the terminal modes of a screen, which sets none.
const noModes = "\x00"

// sift answers the requests of a session but those for the terminal and the shell.
func (v *visit) sift(asked <-chan *gossh.Request, kept chan<- *gossh.Request) {
	pace := terminal.NewBucket(requestRate, time.Now())
	burst := requestBurst
	for r := range asked {
		if burst--; burst < 0 {
			for pace.Fill(time.Now()); !pace.Allows(1); pace.Fill(time.Now()) {
				time.Sleep(time.Second / requestRate)
			}
			pace.Spend(1)
		}
		switch r.Type {
		case "pty-req":
			var t terminalRequest
			if v.term != "" || gossh.Unmarshal(r.Payload, &t) != nil {
				_ = r.Reply(false, nil)
				continue
			}
			v.term, v.size = termOf(t.Term), sizeOf(t.Columns, t.Rows)
			r.Payload = gossh.Marshal(terminalRequest{Term: v.term, Columns: uint32(v.size[0]),
				Rows: uint32(v.size[1]), Modes: noModes})
			grant(r, kept)
		case "shell":
			switch {
			case v.term == "":
				v.deny(r, "a session without a terminal")
			case v.begun:
				_ = r.Reply(false, nil)
			default:
				v.begun = true
				grant(r, kept)
			}
		case "env":
			_ = r.Reply(!v.begun && v.keep(r.Payload), nil)
		case "window-change":
			var t sizeRequest
			ok := v.term != "" && gossh.Unmarshal(r.Payload, &t) == nil
			if ok {
				v.resize(sizeOf(t.Columns, t.Rows))
			}
			_ = r.Reply(ok, nil)
		case "exec":
			v.deny(r, "a command")
		case "subsystem":
			v.deny(r, "a subsystem")
		default: // agents, X11, signals, breaks, and what there may be
			_ = r.Reply(false, nil)
		}
	}
}

// grant passes a request on. It is answered here: answers have no numbers, and must be in the order of the
// requests.
func grant(r *gossh.Request, kept chan<- *gossh.Request) {
	_ = r.Reply(true, nil)
	r.WantReply = false
	kept <- r
}

// deny refuses a request that a user may have expected to work.
func (v *visit) deny(r *gossh.Request, what string) {
	v.server.flood.log(fmt.Sprintf("%s refused: asked for %s", v.link.RemoteAddr(), what))
	_ = r.Reply(false, nil)
}

// keep adds a variable to the environment of the screen, and reports whether it counts.
func (v *visit) keep(payload []byte) bool {
	var set struct{ Name, Value string }
	if gossh.Unmarshal(payload, &set) != nil || !slices.Contains(passed, set.Name) || len(set.Value) > longestValue ||
		visible.Text(set.Value) != set.Value {
		return false
	}
	for _, have := range v.environ {
		if strings.HasPrefix(have, set.Name+"=") {
			return false
		}
	}
	v.environ = append(v.environ, set.Name+"="+set.Value)
	return true
}

// resize passes on a size in place of one that has not been taken. Sift is the only sender.
func (v *visit) resize(size [2]int) {
	v.heard.Store(time.Now().UnixNano())
	select {
	case <-v.sizes:
	default:
	}
	v.sizes <- size
}

// sizeOf returns the size of the screen on a terminal of some size.
func sizeOf(columns, rows uint32) [2]int {
	w, h := terminal.Clamp(int(min(columns, 1<<20)), int(min(rows, 1<<20)))
	return [2]int{w, h}
}

// termOf returns the name of a terminal, a plain one for what is no name.
func termOf(name string) string {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-._+", r))
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, odd) {
		return "vt100"
	}
	return name
}
