package serve

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// Whatever requests a client makes, a screen has a size, a name of its terminal and variables that make
// sense, and nothing but a terminal and then a shell is granted, once each.
func FuzzRequests(f *testing.F) {
	add := func(all ...string) { f.Add(strings.Join(all, "\x00\x00\x00")) }
	pty := string(gossh.Marshal(terminalRequest{Term: "xterm", Columns: 1 << 31, Rows: 0, Modes: "\x35\x00\x00\x00\x01\x00"}))
	env := string(gossh.Marshal(struct{ K, V string }{"LANG", "C"}))
	add("pty-req"+pty, "shell", "exec", "pty-req"+pty, "shell")
	add("env"+env, "env"+env, "pty-req"+pty, "window-change"+strings.Repeat("\xff", 16), "shell")
	add("shell", "subsystem", "x11-req", "auth-agent-req@openssh.com", "signal", "break", "")
	kinds := []string{"pty-req", "shell", "exec", "subsystem", "env", "window-change", "x11-req", "auth-agent-req@openssh.com", "signal", "break"}
	f.Fuzz(func(t *testing.T, all string) {
		s := &Server{flood: flood{to: func(string) {}}}
		v := &visit{server: s, link: &link{Conn: nowhere{}}, sizes: make(chan [2]int, 1)}
		asked, kept := make(chan *gossh.Request), make(chan *gossh.Request, 1000)
		go func() {
			defer close(asked)
			requests := strings.Split(all, "\x00\x00\x00")
			for _, one := range requests[:min(len(requests), requestBurst)] {
				r := &gossh.Request{Type: one}
				for _, kind := range kinds {
					if payload, ok := strings.CutPrefix(one, kind); ok {
						r.Type, r.Payload = kind, []byte(payload)
					}
				}
				asked <- r
			}
		}()
		v.sift(asked, kept)
		close(kept)
		var granted []string
		for r := range kept {
			granted = append(granted, r.Type)
		}
		if got := strings.Join(granted, " "); got != "" && got != "pty-req" && got != "pty-req shell" {
			t.Errorf("granted %q", got)
		}
		size := v.size
		select {
		case size = <-v.sizes:
		default:
		}
		if v.term != "" && (size[0] < 1 || size[0] > 800 || size[1] < 1 || size[1] > 300) {
			t.Errorf("size %v", size)
		}
		if v.term != "" && v.term != termOf(v.term) || len(v.environ) > len(passed) {
			t.Errorf("terminal %q, environment %q", v.term, v.environ)
		}
		for _, e := range v.environ {
			if strings.ContainsAny(e, "\x1b\n\x00") || len(e) > longestValue+20 {
				t.Errorf("variable %q", e)
			}
		}
	})
}

// nowhere is a connection of which only the address is asked for.
type nowhere struct{ net.Conn }

func (nowhere) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// Whatever a stranger sends, the server goes on, and nobody is logged in.
func FuzzBytesOfAStranger(f *testing.F) {
	r := serving(f, quick)
	f.Add([]byte("SSH-2.0-x\r\n"))
	f.Add([]byte("SSH-2.0-x\r\n\x00\x00\x00\x0c\x0a\x14aaaaaaaaaaaaaaaa"))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Write(p); err != nil {
			return
		}
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		r.Server.mu.Lock()
		defer r.Server.mu.Unlock()
		if len(r.visits) != 0 {
			t.Fatal("a stranger has a session")
		}
	})
}
