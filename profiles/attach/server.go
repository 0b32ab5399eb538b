package attach

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The server: a session's socket, its screens, and what each of them is sent and asks for.

const (
	// helloLimit is how long a client may take for its first message.
	helloLimit = 5 * time.Second
	// mostClients bounds the connections that are served at a time, and mostScreens those of them that watch: the
	// others are for what lists and stops sessions.
	mostClients = mostScreens + 64
	mostScreens = 64
	// silence is how long a screen that is there says nothing at most: it reports its processor time more often.
	silence = 10 * time.Second
	// A connection carries out so many commands in a span, and the others wait.
	mostCommands = 200
	commandSpan  = time.Second
	// byeLimit is how long the end of a session waits for a screen to take anything, and byesLimit for it to take all
	// that is left.
	byeLimit  = time.Second
	byesLimit = 10 * time.Second
	// lookEvery is the time between two looks at whether the socket still has its name.
	lookEvery = 2 * time.Second
)

// Session is what a Server serves.
type Session struct {
	Run     Run
	Journal *Journal
	Lease   *Lease
	Version string      // of the program
	Info    func() Info // of the moment; the server adds what it knows itself
	Stop    func()      // ends the run and what shows it in its own process
	Allowed Role        // the highest role of a connection; 0 is Operator
}

// Server lets other processes of the user watch and operate a run. It never delays the run: a
// connection that is not read waits by itself.
type Server struct {
	session Session
	id      string
	refuse  func(string) // gets what goes wrong while it serves

	mu       sync.Mutex
	listener net.Listener
	path     string
	conns    map[*conn]struct{}
	closed   bool
	why      string // how the run ended
	used     float64
	screens  int // connections that watch

	ended chan struct{} // closed by Close
	until time.Time     // for screens to take what is left; read it after ended
	group sync.WaitGroup
}

// Serve begins to serve a session under a new ID, in the first of the folders that can be used.
func Serve(s Session, folders []string, refuse func(string)) (*Server, error) {
	v := &Server{session: s, refuse: refuse, conns: map[*conn]struct{}{}, ended: make(chan struct{})}
	var err error
	for range idTries {
		v.id = newID()
		if v.listener, v.path, err = listen(folders, v.id); !errors.Is(err, errTaken) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	v.group.Add(2)
	go v.accept(v.listener)
	go v.keepName(folders)
	return v, nil
}

// ID returns the name of the session.
func (v *Server) ID() string { return v.id }

// accept serves connections until the listener is closed.
func (v *Server) accept(l net.Listener) {
	defer v.group.Done()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, as a rule
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-v.ended:
				return
			}
		}
		v.mu.Lock()
		if v.closed || len(v.conns) >= mostClients {
			v.mu.Unlock()
			_ = c.Close()
			continue
		}
		each := &conn{server: v, net: c, check: make(chan struct{}, 1)}
		v.conns[each] = struct{}{}
		v.group.Add(1)
		v.mu.Unlock()
		go each.serve()
	}
}

// keepName listens anew if the socket loses its name: the folder of run-time files is removed with
// the user's last login.
func (v *Server) keepName(folders []string) {
	defer v.group.Done()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-v.ended:
			return
		case <-tick.C:
		}
		if _, err := os.Lstat(v.path); err == nil {
			continue
		}
		l, path, err := listen(folders, v.id)
		if err != nil {
			continue // perhaps the next time
		}
		v.mu.Lock()
		if v.closed {
			v.mu.Unlock()
			_ = l.Close()
			_ = os.Remove(path)
			return
		}
		old := v.listener
		v.listener, v.path = l, path
		v.group.Add(1)
		v.mu.Unlock()
		_ = old.Close()
		go v.accept(l)
	}
}

// Close ends the session: screens get the rest, and why the run ended.
func (v *Server) Close(why string) {
	v.session.Journal.End()
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return
	}
	v.closed, v.why, v.until = true, why, time.Now().Add(byesLimit)
	_ = v.listener.Close()
	_ = os.Remove(v.path)
	for c := range v.conns {
		_ = c.net.SetWriteDeadline(time.Now().Add(byeLimit))
		if !c.watches {
			_ = c.net.SetReadDeadline(time.Now())
		}
	}
	close(v.ended)
	v.mu.Unlock()
	v.group.Wait()
}

// Operable reports whether a screen that may operate the run shows it, and has not been silent for long: a suspended
// one is as good as none.
func (v *Server) Operable() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for c := range v.conns {
		if c.watches && c.seat.role >= Operator && time.Since(time.Unix(0, c.heard.Load())) < silence {
			return true
		}
	}
	return false
}

// ProcessorTime returns the seconds of processor time that screens in other processes have used.
func (v *Server) ProcessorTime() float64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.used
}

// info describes the session now.
func (v *Server) info() Info {
	i := v.session.Info()
	i.ID, i.Process, i.Version = v.id, os.Getpid(), v.session.Version
	i.Screens, i.Operator = v.session.Journal.Watched(), v.session.Lease.Operator()
	v.mu.Lock()
	i.Folder = filepath.Dir(v.path)
	v.mu.Unlock()
	return i
}

// conn is a connection. One goroutine reads it; of a client that watches, another writes.
type conn struct {
	server  *Server
	net     net.Conn
	watches bool // guarded by the server's mu
	seat    *Seat

	mu   sync.Mutex  // of writing
	left atomic.Bool // the client reads nothing any more

	// Of the goroutine that reads.
	used     float64 // processor time of the client
	reported time.Time

	heard atomic.Int64 // when the client last sent anything, Unix nanoseconds

	checks sync.WaitGroup
	check  chan struct{} // holds an element while a check is under way
}

// serve serves the connection to its end.
func (c *conn) serve() {
	v := c.server
	defer v.group.Done()
	defer func() {
		v.mu.Lock()
		delete(v.conns, c)
		v.mu.Unlock()
		_ = c.net.Close()
	}()
	if err := sameUser(c.net); err != nil {
		v.refuse("a connection was refused: " + err.Error())
		return
	}
	_ = c.net.SetReadDeadline(time.Now().Add(helloLimit))
	r := bufio.NewReader(c.net)
	k, body, err := readFrame(r, largestCommand)
	if err != nil {
		return
	}
	var hello clientHello
	if k != helloFrame || json.Unmarshal(body, &hello) != nil {
		c.send(byeFrame, bye{Error: "the first message is no hello"})
		return
	}
	answer := serverHello{Protocol: Protocol, Version: v.session.Version, Info: v.info()}
	if hello.Protocol != Protocol {
		answer.Error = fmt.Sprintf("this screen speaks version %d of the protocol, and the session version %d: attach "+
			"with prismtop %s, which began it",
			hello.Protocol, Protocol, v.session.Version)
		c.send(helloFrame, answer)
		return
	}
	switch hello.Want {
	case WantInfo:
		c.send(helloFrame, answer)
	case WantStop:
		if role := v.session.grant(hello.Role); role < Operator {
			answer.Error = (&RoleError{role, Operator}).Error()
			c.send(helloFrame, answer)
			return
		}
		c.stop(answer)
	case WantWatch:
		_ = c.net.SetReadDeadline(time.Time{})
		c.watch(r, hello, answer)
	default:
		answer.Error = fmt.Sprintf("%q: must be info, watch or stop", hello.Want)
		c.send(helloFrame, answer)
	}
}

// grant returns the role of a connection that asks for one.
func (s *Session) grant(asked Role) Role {
	allowed := s.Allowed
	if allowed == 0 {
		allowed = Operator
	}
	return min(max(asked, Viewer), allowed)
}

// stop ends the run, and the connection with it. Who asked for it may be gone by now, because this process was stopped.
func (c *conn) stop(answer serverHello) {
	v := c.server
	c.send(helloFrame, answer)
	v.session.Lease.log("stopped by prismtop stop")
	v.session.Stop()
	<-v.ended
	v.mu.Lock()
	why := v.why
	v.mu.Unlock()
	c.send(byeFrame, bye{Why: why})
}

// watch serves a screen.
func (c *conn) watch(r io.Reader, hello clientHello, answer serverHello) {
	v := c.server
	v.mu.Lock()
	room := v.screens < mostScreens
	if room {
		v.screens++
	}
	v.mu.Unlock()
	if !room {
		answer.Error = fmt.Sprintf("%d screens show the session: no more can", mostScreens)
		c.send(helloFrame, answer)
		return
	}
	defer func() {
		v.mu.Lock()
		v.screens--
		v.mu.Unlock()
	}()
	answer.Role = v.session.grant(hello.Role)
	c.reported = time.Now()
	c.heard.Store(time.Now().UnixNano())
	c.seat = v.session.Lease.Seat(v.session.Run, hello.Who, answer.Role)
	defer c.seat.Release()
	if !hello.Watch {
		c.seat.Request(hello.Take)
	}
	answer.Control, _ = v.session.Lease.state(c.seat)
	answer.Began = v.session.Journal.Began()
	answer.Away = v.session.Journal.Enter()
	defer v.session.Journal.Leave()
	answer.Moments, answer.Info = v.session.Journal.moments(), v.info()
	v.mu.Lock()
	c.watches = !v.closed // before the client knows that it does
	watches := c.watches
	v.mu.Unlock()
	if !watches || !c.send(helloFrame, answer) {
		return
	}
	gone, written := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(written)
		if c.write(gone, answer.Control); c.left.Load() {
			_ = c.net.SetReadDeadline(time.Now().Add(byeLimit)) // what the client asked for before is carried out
		} else {
			_ = c.net.Close() // ends reading
		}
	}()
	c.read(r)
	c.seat.Release() // before the client hears of the end
	close(gone)
	_ = c.net.Close() // ends writing
	<-written
	c.checks.Wait()
}

// read carries out what the client asks for, until it is gone or sends what makes no sense.
func (c *conn) read(r io.Reader) {
	n, until := 0, time.Now().Add(commandSpan)
	for {
		k, body, err := readFrame(r, largestCommand)
		c.heard.Store(time.Now().UnixNano())
		if errors.Is(err, errSize) {
			c.send(byeFrame, bye{Error: err.Error()})
		}
		if err != nil {
			return
		}
		var asked profiles.Command
		var report used
		switch k {
		case commandFrame:
			asked, err = parseCommand(body)
		case usedFrame:
			err = json.Unmarshal(body, &report)
		default:
			err = fmt.Errorf("a frame of kind %q: must be %q or %q", byte(k), byte(commandFrame), byte(usedFrame))
		}
		if err != nil {
			c.send(byeFrame, bye{Error: err.Error()})
			return
		}
		if now := time.Now(); now.After(until) {
			n, until = 0, now.Add(commandSpan)
		}
		if n++; n > mostCommands {
			time.Sleep(time.Until(until))
		}
		switch {
		case k == usedFrame:
			c.takeUsed(report.Seconds)
		case asked.Long():
			c.check <- struct{}{}
			c.checks.Go(func() {
				c.answer(&asked)
				<-c.check
			})
		default:
			c.answer(&asked)
		}
	}
}

// answer carries out a command and sends its first answer.
func (c *conn) answer(asked *profiles.Command) {
	c.send(replyFrame, profiles.AnswerTo(asked, c.carryOut(asked)))
}

// carryOut carries out a command. A panic costs the client its answer only.
func (c *conn) carryOut(asked *profiles.Command) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: it panicked: %v", asked.Kind, p)
		}
	}()
	return c.seat.Do(*asked)
}

// takeUsed counts the processor time of the client, which reports all of it so far. It cannot have
// used more than the machine's processors have had since the report before.
func (c *conn) takeUsed(seconds float64) {
	now := time.Now()
	most := now.Sub(c.reported).Seconds() * float64(machine.Processors())
	if c.reported = now; !(seconds >= c.used) || math.IsInf(seconds, 0) {
		return
	}
	used := min(seconds-c.used, most)
	c.used = seconds
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.used += used
}

// write sends the journal, and changes of the lease, until the client is gone or the session is
// closed.
func (c *conn) write(gone <-chan struct{}, control profiles.Control) {
	at := place{next: -1}
	var stood time.Time // when the client last heard how the run stands
	for {
		now, changed := c.server.session.Lease.state(c.seat)
		if now != control {
			if control = now; !c.send(leaseFrame, control) {
				return
			}
		}
		if j := c.server.session.Journal; j.behind(&at) && time.Since(stood) > standEvery {
			f, err := j.stands()
			if err != nil || !c.put(f) {
				return
			}
			stood = time.Now()
		}
		frame, more, err := c.server.session.Journal.fetch(&at)
		switch {
		case errors.Is(err, io.EOF):
			<-c.server.ended
			c.server.mu.Lock()
			why := c.server.why
			c.server.mu.Unlock()
			c.send(byeFrame, bye{Why: why})
			return
		case err != nil:
			c.send(byeFrame, bye{Error: err.Error()})
			return
		case more != nil:
			select {
			case <-more:
			case <-changed:
			case <-gone:
				return
			}
			continue
		}
		if !c.put(frame) {
			return
		}
	}
}

// send sends a message and reports whether it was taken.
func (c *conn) send(k kind, v any) bool {
	f, err := message(k, v)
	return err == nil && c.put(f)
}

// put writes a frame and reports whether it was taken. At the end of a session, the client must take something of it
// within byeLimit, again and again.
func (c *conn) put(f []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		select {
		case <-c.server.ended:
			_ = c.net.SetWriteDeadline(earlier(time.Now().Add(byeLimit), c.server.until))
		default:
		}
		n, err := c.net.Write(f)
		if err == nil {
			return true
		}
		if f = f[n:]; n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
				c.left.Store(true)
			}
			return false
		}
	}
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
