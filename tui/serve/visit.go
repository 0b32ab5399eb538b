package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/ssh"
	"github.com/muesli/cancelreader"
	gossh "golang.org/x/crypto/ssh"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/terminal"
)

// Visitor is a user who has logged in, and the terminal of the session.
type Visitor struct {
	Key  Key
	From string // the address

	visit  *visit
	input  *input
	output *output
}

// Streams returns the terminal of the session for a screen, of which one at a time may use it.
func (v *Visitor) Streams() terminal.Streams {
	return terminal.Streams{
		Input: &reader{input: v.input, cancelled: make(chan struct{})}, Output: v.output, Environ: v.visit.environ,
		Size: v.visit.now(), Sizes: v.visit.seen, Remote: true,
	}
}

// Log logs a line about the session.
func (v *Visitor) Log(what string) {
	v.visit.server.options.Log(fmt.Sprintf("%s from %s (%s, %s): %s", v.Key.Name, v.From, v.Key.Role,
		v.Key.Fingerprint, visible.Text(what)))
}

// visit is a session from the first request to its end.
type visit struct {
	server *Server
	link   *link

	// Written by sift, and not once the shell has begun.
	begun   bool // the shell was asked for
	term    string
	size    [2]int
	environ []string

	heard atomic.Int64 // when the newest input arrived
	sizes chan [2]int  // holds the newest size until it is taken

	mu    sync.Mutex
	shown [2]int      // the newest size that was taken
	seen  chan [2]int // sizes for the screen

	held int64 // memory, guarded by the server's mutex

	fingerprint, role string
	end               context.CancelCauseFunc
}

// now returns the size of the terminal.
func (v *visit) now() [2]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shown
}

// Reasons for which a session is ended.
var (
	errStopped = errors.New("the server is being stopped")
	errRevoked = errors.New("the key was removed, or has another role now")
	errStalled = errors.New("the terminal stopped reading")
	errLost    = errors.New("the connection was lost")
)

// idleError ends a session without input.
type idleError struct{ limit time.Duration }

func (e idleError) Error() string { return fmt.Sprintf("no input for %v", e.limit) }

// farewellLimit is how long the end of a session waits for its terminal to take the last words and the
// client to leave. A client whose connection is closed earlier reports a failure in place of the exit status.
const farewellLimit = 5 * time.Second

// visited serves a session whose shell was asked for.
func (s *Server) visited(session ssh.Session) {
	ctx := session.Context()
	v := ctx.Value(visitKey{}).(*visit)
	if !s.expect() {
		return
	}
	defer s.group.Done()
	status := 1
	limit := sync.OnceFunc(func() { time.AfterFunc(s.farewell, func() { _ = v.link.Close() }) })
	say := func(text string) {
		limit() // ends a write that waits
		_, _ = fmt.Fprintf(session, "\r\nprismtop: %s\r\n", visible.Text(text))
	}
	defer func() {
		limit()
		_ = session.Exit(status)
		<-ctx.Done() // the client has left, or is cut off
	}()
	who := &Visitor{From: session.RemoteAddr().String(), visit: v}
	public := session.PublicKey()
	if public == nil { // it cannot have logged in without
		return
	}
	var known bool
	who.Key, known = s.keyOf(gossh.FingerprintSHA256(public))
	if !known { // it was removed meanwhile
		return
	}
	within, end := context.WithCancelCause(s.running)
	defer end(nil)
	v.fingerprint, v.role, v.end = who.Key.Fingerprint, who.Key.Role, end
	if why := s.enter(v); why != "" {
		who.Log("refused: " + why)
		say(why)
		return
	}
	defer s.leave(v)
	defer context.AfterFunc(ctx, func() { end(errLost) })()
	v.link.begin()
	v.environ = append(v.environ, "TERM="+v.term, "SSH_CONNECTION="+who.From+" "+session.LocalAddr().String())
	v.heard.Store(time.Now().UnixNano())
	v.shown, v.seen = v.size, make(chan [2]int)
	who.input = newInput(session, v)
	who.output = &output{w: session, limit: s.options.Limits.Stall, stalled: func() {
		end(errStalled)
		_ = v.link.Close()
	}}
	go v.relay(within, func(size [2]int) bool {
		fits := s.resized(v, size)
		if !fits {
			who.Log(fmt.Sprintf("keeps its size: no memory for a screen of %dx%d (--max-memory)", size[0], size[1]))
		}
		return fits
	})
	go v.watchIdle(within, end)
	go func() { _ = who.input.pump(within) }()

	who.Log("logged in")
	began := time.Now()
	how, err := s.show(within, who)
	switch cause := context.Cause(within); {
	case cause != nil:
		err = cause
	case errors.Is(err, io.EOF): // the input ends with the connection, which may be noticed later
		err = errLost
	}
	length := " after " + unit.Clock(time.Since(began))
	switch {
	case err == nil:
		status = 0
		who.Log("left" + length + how)
	default:
		who.Log("ended" + length + how + ": " + err.Error())
		if !errors.Is(err, errLost) && !errors.Is(err, errStalled) {
			say("the session has ended: " + err.Error())
		}
	}
}

// show calls the function that shows the runs. A panic ends the session only.
func (s *Server) show(ctx context.Context, who *Visitor) (how string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.options.Show(ctx, who)
}

// sizePeriod is the least time between two sizes that a screen is laid out for.
const sizePeriod = 50 * time.Millisecond

// relay passes the newest size on to the screen that is shown, or to the next one if there is none. The screen keeps
// its size if another does not fit.
func (v *visit) relay(ctx context.Context, fits func(size [2]int) bool) {
	var size [2]int
	var seen chan<- [2]int // nil once the screen has the newest size
	for {
		select {
		case asked := <-v.sizes:
			if !fits(asked) {
				continue
			}
			size = asked
			v.mu.Lock()
			v.shown = size
			v.mu.Unlock()
			seen = v.seen
		case seen <- size:
			seen = nil
			time.Sleep(sizePeriod)
		case <-ctx.Done():
			return
		}
	}
}

// watchIdle ends a session without input.
func (v *visit) watchIdle(ctx context.Context, end context.CancelCauseFunc) {
	limit := v.server.options.Limits.Idle
	if limit <= 0 {
		return
	}
	for {
		left := limit - time.Since(time.Unix(0, v.heard.Load()))
		if left <= 0 {
			end(idleError{limit})
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// input is what a client types. A session has several readers, one after the other.
type input struct {
	from   io.Reader
	visit  *visit
	chunks chan []byte
	rest   []byte // of the newest chunk; the present reader's
}

// Limits of input: bytes that are read at a time, and a second. A screen drops what is beyond what it can
// handle, but deciphering it takes processor time.
const (
	inputChunk = 4 << 10
	inputRate  = 128 << 10
)

func newInput(from io.Reader, v *visit) *input {
	return &input{from: from, visit: v, chunks: make(chan []byte)}
}

// pump reads the client, no faster than inputRate, until it is gone.
func (i *input) pump(ctx context.Context) error {
	defer close(i.chunks)
	pace := terminal.NewBucket(inputRate, time.Now())
	for {
		chunk := make([]byte, inputChunk)
		n, err := i.from.Read(chunk)
		if err != nil {
			return err
		}
		i.visit.heard.Store(time.Now().UnixNano())
		select {
		case i.chunks <- chunk[:n]:
		case <-ctx.Done():
			return ctx.Err()
		}
		for pace.Fill(time.Now()); !pace.Allows(n); pace.Fill(time.Now()) {
			time.Sleep(10 * time.Millisecond)
		}
		pace.Spend(n)
	}
}

// reader is the input of a screen.
type reader struct {
	input     *input
	cancelled chan struct{}
	stop      sync.Once
}

// Read returns what was typed.
func (r *reader) Read(p []byte) (int, error) {
	select {
	case <-r.cancelled:
		return 0, cancelreader.ErrCanceled
	default:
	}
	if len(r.input.rest) == 0 {
		select {
		case chunk, ok := <-r.input.chunks:
			if !ok {
				return 0, io.EOF
			}
			r.input.rest = chunk
		case <-r.cancelled:
			return 0, cancelreader.ErrCanceled
		}
	}
	n := copy(p, r.input.rest)
	r.input.rest = r.input.rest[n:]
	return n, nil
}

// Cancel ends a Read, and leaves what is typed later to the next reader.
func (r *reader) Cancel() bool {
	r.stop.Do(func() { close(r.cancelled) })
	return true
}

// Close cancels the reader.
func (r *reader) Close() error {
	r.Cancel()
	return nil
}

// output writes to a client. One that does not take a piece within a limit is dropped.
type output struct {
	w       io.Writer
	limit   time.Duration
	stalled func()
}

// pieceSize is how much a client must take within the limit: a modem of 300 bits per second would.
const pieceSize = 1 << 10

// Write writes p in pieces.
func (o *output) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), pieceSize)]
		timer := time.AfterFunc(o.limit, o.stalled)
		_, err = o.w.Write(piece)
		timer.Stop()
		if err == nil {
			n += len(piece)
			p = p[len(piece):]
		}
	}
	return n, err
}
