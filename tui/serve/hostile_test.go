package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	gossh "golang.org/x/crypto/ssh"
)

// Only authorised keys log in.
func TestOnlyAuthorisedKeysLogIn(t *testing.T) {
	defer goleak.VerifyNone(t)
	r := serving(t, quick)
	ca := r.keys["operator"]
	cert := &gossh.Certificate{Key: r.keys["stranger"].PublicKey(), CertType: gossh.UserCert, ValidPrincipals: []string{"someone"}, ValidBefore: gossh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	certified, err := gossh.NewCertSigner(cert, r.keys["stranger"])
	if err != nil {
		t.Fatal(err)
	}
	answer := func(string, string, []string, []bool) ([]string, error) { return []string{""}, nil }
	for name, auth := range map[string][]gossh.AuthMethod{
		"none":                            nil,
		"password":                        {gossh.Password("")},
		"keyboard-interactive":            {gossh.KeyboardInteractive(answer)},
		"unknown key":                     {gossh.PublicKeys(r.keys["stranger"])},
		"certificate by a known key":      {gossh.PublicKeys(certified)},
		"known key without its signature": {gossh.PublicKeys(claimed{r.keys["operator"].PublicKey(), r.keys["stranger"]})},
		"known key, then unknown":         {gossh.PublicKeys(claimed{r.keys["operator"].PublicKey(), r.keys["stranger"]}, r.keys["stranger"])},
		"unknown key, then a password":    {gossh.PublicKeys(r.keys["stranger"]), gossh.Password("x")},
	} {
		if c, err := r.dial(auth...); err == nil {
			c.Close()
			t.Errorf("%s: logged in", name)
		}
	}
	r.works()
	r.Close()
}

// claimed is a key that its user does not have: it is signed for with another.
type claimed struct {
	public gossh.PublicKey
	by     gossh.Signer
}

func (c claimed) PublicKey() gossh.PublicKey { return c.public }

func (c claimed) Sign(r io.Reader, data []byte) (*gossh.Signature, error) { return c.by.Sign(r, data) }

// The role is that of the key that signed, not of one that was offered before it.
func TestTheRoleIsThatOfTheKeyThatSigned(t *testing.T) {
	r := serving(t, quick)
	roles := make(chan string, 1)
	r.show = func(_ context.Context, v *Visitor) (string, error) {
		roles <- v.Key.Role + " " + v.Key.Name
		return "", nil
	}
	for _, auth := range []gossh.AuthMethod{
		gossh.PublicKeys(r.keys["viewer"]),
		gossh.PublicKeys(claimed{r.keys["operator"].PublicKey(), r.keys["viewer"]}, r.keys["viewer"]),
	} {
		c, err := r.dial(auth)
		if err != nil {
			t.Log("the client gave up: ", err) // after a signature that is wrong, which is as good
			continue
		}
		_ = r.session(c).Wait()
		c.Close()
		if role := <-roles; role != "viewer viewer" {
			t.Errorf("the session has the role %s", role)
		}
	}
}

// Nothing but a shell on a terminal is granted, and nothing is forwarded.
func TestNothingElseIsGranted(t *testing.T) {
	r := serving(t, quick)
	c := r.login("operator")
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) []byte { return gossh.Marshal(struct{ S string }{s}) }
	refused := func(kind string, payload []byte) {
		t.Helper()
		if ok, err := s.SendRequest(kind, true, payload); ok || err != nil {
			t.Errorf("%s: granted %v, %v", kind, ok, err)
		}
	}
	refused("shell", nil) // without a terminal
	refused("exec", text("id"))
	for _, name := range []string{"sftp", "netconf", "", "default"} {
		refused("subsystem", text(name))
	}
	refused("auth-agent-req@openssh.com", nil)
	refused("x11-req", gossh.Marshal(struct {
		Single           bool
		Protocol, Cookie string
		Screen           uint32
	}{false, "MIT-MAGIC-COOKIE-1", "00", 0}))
	refused("signal", text("KILL"))
	refused("break", []byte{0, 0, 0, 9})
	refused("window-change", make([]byte, 16))
	refused("pty-req", []byte("nonsense"))
	refused("env", []byte{255, 255, 255, 255})
	refused("", nil)
	if err := s.RequestPty("xterm", 24, 80, gossh.TerminalModes{gossh.ECHO: 1}); err != nil {
		t.Fatal(err)
	}
	refused("pty-req", gossh.Marshal(terminalRequest{Term: "xterm"}))
	refused("exec", text("id"))
	if _, err := s.StdinPipe(); err != nil { // or the library ends the input, and the session with it
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	refused("shell", nil)
	refused("exec", text("id"))
	refused("env", gossh.Marshal(struct{ K, V string }{"LANG", "C"}))

	for _, kind := range []string{"tcpip-forward", "cancel-tcpip-forward", "streamlocal-forward@openssh.com", "hostkeys-prove-00@openssh.com", ""} {
		if ok, _, err := c.SendRequest(kind, true, gossh.Marshal(struct {
			Host string
			Port uint32
		}{"127.0.0.1", 0})); ok || err != nil {
			t.Errorf("%s: granted %v, %v", kind, ok, err)
		}
	}
	for _, kind := range []string{"direct-tcpip", "direct-streamlocal@openssh.com", "forwarded-tcpip", "x11", "auth-agent@openssh.com"} {
		channel, _, err := c.OpenChannel(kind, nil)
		var why *gossh.OpenChannelError
		if !errors.As(err, &why) || why.Reason != gossh.Prohibited {
			t.Errorf("%s: %v, %v", kind, channel, err)
		}
	}
	r.works()
}

// Answers are in the order of the requests, which is all that tells a client which one is meant: that to
// a refused command once overtook that to a granted terminal.
func TestAnswersAreInOrder(t *testing.T) {
	r := serving(t, quick)
	for range 20 {
		c := r.login("operator")
		channel, requests, err := c.OpenChannel("session", nil)
		if err != nil {
			t.Fatal(err)
		}
		go gossh.DiscardRequests(requests)
		granted := make(chan bool, 1)
		go func() {
			ok, _ := channel.SendRequest("pty-req", true, gossh.Marshal(terminalRequest{Term: "xterm", Columns: 80, Rows: 24, Modes: noModes}))
			granted <- ok
		}()
		// The library waits for each answer: this one is sent by the side of it, and not waited for.
		for _, kind := range []string{"exec", "subsystem"} {
			if _, err := channel.SendRequest(kind, false, gossh.Marshal(struct{ S string }{"id"})); err != nil {
				t.Fatal(err)
			}
		}
		if !<-granted {
			t.Fatal("the terminal was refused")
		}
		c.Close()
	}
}

// Sizes are those of a screen, whatever a client claims, and a flood of them ends with the last one.
func TestSizesAreClamped(t *testing.T) {
	r := serving(t, quick)
	type seen struct {
		size [2]int
		n    int
	}
	news := make(chan seen, 10_000)
	r.show = func(ctx context.Context, v *Visitor) (string, error) {
		on := v.Streams()
		news <- seen{on.Size, 0}
		for n := 1; ; n++ {
			select {
			case size := <-on.Sizes:
				news <- seen{size, n}
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
	}
	s, err := r.login("operator").NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("xterm", math.MaxUint32, math.MaxUint32, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	if first := <-news; first.size[0] > 800 || first.size[1] > 300 || first.size[0] < 1 || first.size[1] < 1 {
		t.Errorf("the screen begins with %v", first.size)
	}
	const flood = 400 // beyond the burst, each takes a fiftieth of a second
	for i := range flood {
		if err := s.WindowChange(1<<31+i, -i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.WindowChange(33, 77); err != nil {
		t.Fatal(err)
	}
	for last := (seen{}); last.size != [2]int{77, 33}; {
		last = <-news
		if last.size[0] > 800 || last.size[1] > 300 || last.size[0] < 1 || last.size[1] < 1 {
			t.Errorf("the screen gets %v", last.size)
		}
		if last.n > flood/2 {
			t.Fatalf("%d sizes reached the screen", last.n)
		}
	}
}

// Of the client's environment only what says how to draw reaches a screen, once, and short.
func TestAFloodOfVariables(t *testing.T) {
	r := serving(t, quick)
	environ := make(chan []string, 1)
	r.show = func(_ context.Context, v *Visitor) (string, error) {
		environ <- v.Streams().Environ
		return "", nil
	}
	t.Setenv("COLORTERM", "truecolor") // of the server
	s, err := r.login("operator").NewSession()
	if err != nil {
		t.Fatal(err)
	}
	set := func(key, value string) {
		if _, err := s.SendRequest("env", false, gossh.Marshal(struct{ K, V string }{key, value})); err != nil {
			t.Fatal(err)
		}
	}
	set("LANG", "C.UTF-8")
	set("LANG", "twice")
	set("NO_COLOR", strings.Repeat("x", longestValue+1))
	set("LC_ALL", "\x1b]0;owned\a")
	set("TERM", "xterm-kitty")
	set("LD_PRELOAD", "/tmp/x.so")
	set("PRISMTOP_NOTIFY", "bell")
	for i := range 300 {
		set(fmt.Sprint("X", i), strings.Repeat("y", 10_000))
	}
	if err := s.RequestPty("../../etc/passwd", 24, 80, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	got := <-environ
	if len(got) != 3 || got[0] != "LANG=C.UTF-8" || got[1] != "TERM=vt100" || !strings.HasPrefix(got[2], "SSH_CONNECTION=127.0.0.1:") {
		t.Errorf("the screen has %q", got)
	}
}

// A connection has one session, and one that asks for more and more channels is closed.
func TestManyChannels(t *testing.T) {
	r := serving(t, quick)
	c := r.login("operator")
	x := r.session(c)
	if _, err := c.NewSession(); err == nil || !strings.Contains(err.Error(), "one session per connection") {
		t.Errorf("a second session: %v", err)
	}
	if _, err := io.WriteString(x.in, "still here"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the echo", func() bool { return strings.Contains(x.out.String(), "still here") })
	for range 10 * mostChannels {
		go func() { // the client of the library may wait for ever where the connection ends
			if _, _, err := c.OpenChannel("direct-tcpip", nil); err == nil {
				t.Error("a channel was opened")
			}
		}()
	}
	_ = x.Wait()
	if err := c.Wait(); err == nil {
		t.Error("the connection stays")
	}
	r.logs("the connection was lost")
	r.works()
}

// Connections without a login hold their places for a while only, and others cannot connect meanwhile.
func TestHalfOpenHandshakes(t *testing.T) {
	limits := quick
	limits.Startups = 3
	r := serving(t, limits)
	silent := func() {
		for i, say := range []string{"", "SSH-2.0-half\r\n", "SSH-2.0-x"} {
			c, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, say); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the connection", func() bool {
				waiting, _ := r.connections()
				return waiting == i+1
			})
		}
	}
	silent()
	if c, err := r.dial(gossh.PublicKeys(r.keys["operator"])); err == nil {
		c.Close()
		t.Error("one connection too many logged in")
	}
	r.logs("refused: 3 connections have not logged in yet")

	limits.Handshake = 5 * time.Second // long enough for a login on a busy machine
	r = serving(t, limits)
	silent()
	eventually(t, "their end", func() bool {
		waiting, all := r.connections()
		return waiting == 0 && all == 0
	})
	r.works()
	// A login without a session holds its place no longer.
	c := r.login("operator")
	if err := c.Wait(); err == nil {
		t.Error("the connection stays")
	}
	r.logs("dropped: no session within 5s")
}

// Whatever arrives in place of a handshake costs its connection only.
func TestGarbageBeforeTheHandshake(t *testing.T) {
	defer goleak.VerifyNone(t)
	r := serving(t, quick)
	noise := make([]byte, 1<<16)
	_, _ = rand.Read(noise)
	for name, p := range map[string][]byte{
		"HTTP":              []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"noise":             noise,
		"an endless line":   bytes.Repeat([]byte("A"), 1<<20),
		"old version":       []byte("SSH-1.5-old\r\n"),
		"escape sequences":  []byte("SSH-2.0-\x1b]0;owned\a\x1b[2J\r\n"),
		"a huge packet":     append([]byte("SSH-2.0-x\r\n"), 0xff, 0xff, 0xff, 0xff, 0xff),
		"an empty packet":   append([]byte("SSH-2.0-x\r\n"), 0, 0, 0, 0, 0),
		"login before keys": append([]byte("SSH-2.0-x\r\n"), 0, 0, 0, 12, 10, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
	} {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = c.Write(p)
		_ = c.(*net.TCPConn).CloseWrite()
		_, err = io.Copy(io.Discard, c)
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			t.Errorf("%s: the connection stays", name)
		}
		c.Close()
	}
	if log := r.logged(); strings.ContainsAny(log, "\x1b\a") {
		t.Errorf("the log has control characters: %q", log)
	}
	r.works()
	r.Close()
}

// A client that does not read is dropped, and nobody waits for it.
func TestASlowReaderIsDropped(t *testing.T) {
	limits := quick
	limits.Stall = time.Second
	r := serving(t, limits)
	r.show = func(ctx context.Context, v *Visitor) (string, error) {
		if v.Key.Role == "operator" {
			return untilEnd(ctx, v)
		}
		on := v.Streams()
		go func() {
			for _, err := on.Output.Write(make([]byte, 1<<16)); err == nil; _, err = on.Output.Write(make([]byte, 1<<16)) {
			}
		}()
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	c := r.login("viewer")
	channel, requests, err := c.OpenChannel("session", nil) // which nobody reads
	if err != nil {
		t.Fatal(err)
	}
	go gossh.DiscardRequests(requests)
	for kind, payload := range map[string][]byte{"pty-req": gossh.Marshal(terminalRequest{Term: "xterm", Columns: 80, Rows: 24, Modes: noModes})} {
		if ok, err := channel.SendRequest(kind, true, payload); !ok || err != nil {
			t.Fatal(kind, ok, err)
		}
	}
	if ok, err := channel.SendRequest("shell", true, nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.works() // at the same time
	r.logs("the terminal stopped reading")
	if err := c.Wait(); err == nil {
		t.Error("the connection stays")
	}
	eventually(t, "its place to be free", func() bool {
		r.Server.mu.Lock()
		defer r.Server.mu.Unlock()
		return len(r.visits) == 0
	})
}

// A flood of input is read no faster than the limit, and what a server keeps of it is bounded.
func TestAFloodOfInput(t *testing.T) {
	r := serving(t, quick)
	r.show = func(ctx context.Context, v *Visitor) (string, error) { // a screen that has stopped handling keys
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	c := r.login("operator")
	x := r.session(c)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sent := make(chan int, 1)
	go func() {
		n := 0
		for chunk := bytes.Repeat([]byte("\x1b[200~paste"), 1000); n < 64<<20; n += len(chunk) {
			if _, err := x.in.Write(chunk); err != nil {
				break
			}
		}
		sent <- n
	}()
	select {
	case n := <-sent:
		t.Errorf("%d bytes were taken", n)
	case <-time.After(time.Second): // they were not: the window is full
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 24<<20 { // with the client's side
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	c.Close()
	<-sent
	r.logs("the connection was lost")
}

// Sessions are bounded, altogether and for a key, and so are connections of an address.
func TestBounds(t *testing.T) {
	limits := quick
	limits.Sessions, limits.PerKey = 3, 2
	r := serving(t, limits)
	for range 2 {
		r.session(r.login("operator"))
	}
	x := r.session(r.login("operator"))
	_ = x.Wait()
	if !strings.Contains(x.out.String(), "2 sessions are open with this key") {
		t.Errorf("one session of a key too many is told %q", x.out.String())
	}
	r.session(r.login("viewer"))
	x = r.session(r.login("viewer"))
	_ = x.Wait()
	if !strings.Contains(x.out.String(), "3 sessions are open") {
		t.Errorf("one session too many is told %q", x.out.String())
	}

	limits = quick
	limits.Rate = 3
	r = serving(t, limits)
	for range 3 {
		r.login("operator")
	}
	if c, err := r.dial(gossh.PublicKeys(r.keys["operator"])); err == nil {
		c.Close()
		t.Error("one connection a minute too many")
	}
	r.logs("refused: more than 3 connections a minute from there")
}

// All screens together take no more memory than allowed, however few they are: a session more is refused, and a
// window that grows keeps the size of its screen.
func TestTheMemoryOfAllScreensIsBounded(t *testing.T) {
	limits := quick
	limits.Memory = 240
	r := serving(t, limits)
	sizes := make(chan [2]int, 10)
	r.show = func(ctx context.Context, v *Visitor) (string, error) {
		visiting, leave := context.WithCancel(ctx)
		defer leave()
		go func() {
			for {
				select {
				case size := <-v.Streams().Sizes:
					sizes <- size
				case <-visiting.Done():
					return
				}
			}
		}()
		return untilEnd(ctx, v)
	}
	first := r.sized(r.login("operator"), 800, 300)
	r.sized(r.login("operator"), 800, 300)
	x := r.sized(r.login("operator"), 800, 300)
	_ = x.Wait()
	if !strings.Contains(x.out.String(), "a screen of 800x300 needs 113 MB of memory, and 26.1 MB are left for sessions (--max-memory): try a smaller window") {
		t.Errorf("one screen too many is told %q", x.out.String())
	}
	small := r.sized(r.login("viewer"), 120, 40)
	if err := small.WindowChange(300, 800); err != nil {
		t.Fatal(err)
	}
	r.logs("keeps its size: no memory for a screen of 800x300 (--max-memory)")
	if err := small.WindowChange(50, 130); err != nil {
		t.Fatal(err)
	}
	if got := <-sizes; got != [2]int{130, 50} {
		t.Errorf("the screen gets %v", got)
	}
	_, _ = first.in.Write([]byte("q"))
	_ = first.Wait()
	r.sized(r.login("viewer"), 800, 300)
	if n := strings.Count(r.logged(), "): logged in"); n != 4 {
		t.Errorf("%d were let in, want 4", n)
	}
}

// Addresses of which rates are kept are bounded, and those of one IPv6 site share theirs.
func TestRatesAreBounded(t *testing.T) {
	limits := quick
	limits.Rate = 2
	d := newDoor(nil, &Server{options: Options{Limits: limits}})
	now := time.Now()
	at := func(s string) net.Addr { return net.TCPAddrFromAddrPort(mustAddr(s)) }
	for i, want := range []bool{true, true, false} {
		if got := d.within(networkOf(at(fmt.Sprintf("[2001:db8::%d]:22", i))), now); got != want {
			t.Errorf("connection %d of a site: %v", i, got)
		}
	}
	if !d.within(networkOf(at("[2001:db8:1::1]:22")), now) {
		t.Error("another site is refused")
	}
	for i := range 2 * mostRates {
		d.within(networkOf(at(fmt.Sprintf("10.%d.%d.%d:22", i>>16, i>>8&255, i&255))), now)
	}
	if len(d.rates) > mostRates {
		t.Errorf("%d rates are kept", len(d.rates))
	}
	if !d.within(networkOf(at("192.0.2.1:22")), now.Add(2*refillTime)) || len(d.rates) > 2 {
		t.Errorf("later, %d rates are kept", len(d.rates))
	}
}

// A session without input ends, and says so; input defers that.
func TestIdleSessionsEnd(t *testing.T) {
	limits := quick
	limits.Idle = time.Second
	r := serving(t, limits)
	x := r.session(r.login("operator"))
	var exit *gossh.ExitError
	if err := x.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 1 || !strings.Contains(x.out.String(), "the session has ended: no input for 1s") {
		t.Errorf("it ended with %v, %q", err, x.out.String())
	}
	r.logs("no input for 1s")
}

// A panic of what is shown ends its session only.
func TestAPanicEndsItsSessionOnly(t *testing.T) {
	r := serving(t, quick)
	r.show = func(ctx context.Context, v *Visitor) (string, error) {
		if v.Key.Role == "viewer" {
			panic("drawing")
		}
		return untilEnd(ctx, v)
	}
	x := r.session(r.login("viewer"))
	if err := x.Wait(); err == nil {
		t.Error("it ended in order")
	}
	r.logs("panic: drawing")
	r.works()
}

// Keys that are removed, or have another role, end their sessions; no others do.
func TestRevokedKeys(t *testing.T) {
	r := serving(t, quick)
	x, y := r.session(r.login("operator")), r.session(r.login("viewer"))
	r.authorise("operator", "viewer")
	r.reload()
	if err := x.Wait(); err == nil || !strings.Contains(x.out.String(), "the key was removed, or has another role now") {
		t.Errorf("it ended with %v, %q", err, x.out.String())
	}
	if _, err := io.WriteString(y.in, "hello"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the echo", func() bool { return strings.Contains(y.out.String(), "hello") })
}

// The end of a server is told, and waits for nobody for long.
func TestClose(t *testing.T) {
	defer goleak.VerifyNone(t)
	r := serving(t, quick)
	x := r.session(r.login("operator"))
	unfinished, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer unfinished.Close()
	r.Close()
	var exit *gossh.ExitError
	if err := x.Wait(); !errors.As(err, &exit) || !strings.Contains(x.out.String(), "the session has ended: the server is being stopped") {
		t.Errorf("it ended with %v, %q", err, x.out.String())
	}
	if _, err := r.dial(gossh.PublicKeys(r.keys["operator"])); err == nil {
		t.Error("a connection after the end")
	}
	if _, err := io.Copy(io.Discard, unfinished); errors.Is(err, context.DeadlineExceeded) {
		t.Error("a connection stays")
	}
	r.Close() // again
}

// What strangers cause fills no log.
func TestAFloodOfLines(t *testing.T) {
	var got []string
	f := flood{to: func(line string) { got = append(got, line) }}
	for i := range 1000 {
		f.log(fmt.Sprint(i))
	}
	f.since = f.since.Add(-linesTime)
	f.log("later")
	if len(got) != mostLines+2 || got[mostLines] != "980 more lines about connections were left out" || !slices.Contains(got, "later") {
		t.Errorf("the log has %d lines: %q", len(got), got[max(0, len(got)-3):])
	}
}
