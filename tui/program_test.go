package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"go.uber.org/goleak"

	"prismtop/profiles"
)

// terminal is a pseudo-terminal with an emulator behind it, on which a screen
// runs.
type terminal struct {
	t        *testing.T
	mu       sync.Mutex // over the emulator; its answers are read without
	emulator *vt.Emulator
	pty, tty *os.File
	run      *recorder
	ended    chan error
	stop     context.CancelFunc
	received atomic.Int64
	wire     []byte // all that was received
	answer   func([]byte) string
	split    []byte // a character that has not come whole
}

// open starts a screen on a terminal of that size.
func open(t *testing.T, w, h int, o Options, environ ...string) *terminal {
	t.Helper()
	return openAnswering(t, nil, w, h, o, environ...)
}

// openAnswering starts a screen on a terminal whose questions answer answers; nil
// leaves them to the emulator.
func openAnswering(t *testing.T, answer func(received []byte) string, w, h int, o Options, environ ...string) *terminal {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &terminal{t: t, emulator: vt.NewEmulator(w, h), pty: ptmx, tty: tty,
		run: newRecorder(), ended: make(chan error, 1), stop: stop, answer: answer}
	go x.listen()
	var answers io.Writer = ptmx
	if answer != nil {
		answers = io.Discard
	}
	go func() { _, _ = io.Copy(answers, x.emulator) }()
	o.Output, o.Input, o.Cores = tty, tty, 2
	o.Environ = append([]string{"TERM=xterm-256color"}, environ...)
	go func() { x.ended <- Run(ctx, x.run, o) }()
	// The files stay open: Bubble Tea's reader may still be on its way out after
	// a context ended.
	t.Cleanup(func() {
		stop()
		x.hush()
	})
	return x
}

// hush ends the emulator's answers.
func (x *terminal) hush() { _ = x.emulator.InputPipe().(io.Closer).Close() }

func (x *terminal) listen() {
	buf := make([]byte, 1<<16)
	for {
		n, err := x.pty.Read(buf)
		if err != nil {
			return
		}
		x.received.Add(int64(n))
		x.mu.Lock()
		// A character is written whole, with its marks: the emulator keeps none of
		// it for what it is written next.
		pending := append(x.split, buf[:n]...)
		cut := wholeCharacters(pending)
		_, _ = x.emulator.Write(pending[:cut])
		x.split = append([]byte(nil), pending[cut:]...)
		x.wire = append(x.wire, buf[:n]...)
		reply := ""
		if x.answer != nil {
			reply = x.answer(buf[:n])
		}
		x.mu.Unlock()
		if reply != "" {
			_, _ = io.WriteString(x.pty, reply)
		}
	}
}

// wholeCharacters is how much of p ends with a whole character: a picture's place
// is one with two marks.
func wholeCharacters(p []byte) int {
	if at := bytes.LastIndex(p, []byte(string(kitty.Placeholder))); at >= 0 && len(p)-at < 12 {
		if utf8.RuneCount(p[at:]) < 3 || !utf8.Valid(p[at:]) {
			return at
		}
	}
	for back := range min(len(p), utf8.UTFMax) {
		if at := len(p) - 1 - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return at
			}
			break
		}
	}
	return len(p)
}

func (x *terminal) show(s *profiles.Snapshot) { x.run.snapshots <- s }

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.pty, keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var s strings.Builder
	for y := range x.emulator.Height() {
		for c := range x.emulator.Width() {
			if cell := x.emulator.CellAt(c, y); cell != nil && cell.Width > 0 {
				s.WriteString(cell.Content)
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}

func (x *terminal) alternate() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emulator.IsAltScreen()
}

func (x *terminal) expect(text string) {
	x.t.Helper()
	defer func() {
		if x.t.Failed() {
			x.t.Log(x.text())
		}
	}()
	eventually(x.t, text, func() bool { return strings.Contains(x.text(), text) })
}

func (x *terminal) expectCall(call string) {
	x.t.Helper()
	eventually(x.t, call, func() bool { return strings.Contains(strings.Join(x.run.called(), "\n"), call) })
}

func (x *terminal) expectEnd(limit time.Duration) error {
	x.t.Helper()
	select {
	case err := <-x.ended:
		return err
	case <-time.After(limit):
		x.t.Fatalf("the screen did not end within %v", limit)
		return nil
	}
}

func TestAScreenOnATerminal(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	x := open(t, 120, 40, Options{})
	x.expect("prismtop")
	x.show(running())
	x.expect("bottleneck: backward")
	x.expect("europa 512/128")
	if !x.alternate() {
		t.Error("the screen is not on the alternate screen")
	}
	x.press("a")
	x.expectCall("Set amp bf16x3")
	x.expect("AMP: bf16 → bf16x3")
	x.press(" ")
	x.expectCall("Pause")
	x.expect("‖ paused")
	x.press("?")
	x.expect("measuring pattern")
	x.press("\x1b")
	eventually(t, "the help to close", func() bool { return !strings.Contains(x.text(), "measuring pattern") })
	x.press("q")
	x.expect("y quit")
	x.press("y")
	if err := x.expectEnd(10 * time.Second); err != nil {
		t.Errorf("the screen ended with %v", err)
	}
	x.expectCall("Stop")
	x.expect("prismtop: europa 512/128, cpu avx512") // the summary
	if x.alternate() {
		t.Error("the alternate screen is left on")
	}
	x.tty.Close()
	x.pty.Close()
	x.hush()
}

func TestResizingATerminal(t *testing.T) {
	x := open(t, 120, 40, Options{})
	x.show(running())
	x.expect("bottleneck: backward")
	for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 60}} {
		x.mu.Lock()
		x.emulator.Resize(size[0], size[1])
		x.mu.Unlock()
		if err := pty.Setsize(x.pty, &pty.Winsize{Rows: uint16(size[1]), Cols: uint16(size[0])}); err != nil {
			t.Fatal(err)
		}
		// The pty is not this process' controlling terminal: pass the signal on.
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		m, _ := screen(t, size[0], size[1], Options{}, 0, running())
		line := strings.Split(shown(cells(m.View().Content, size[0], size[1])), "\n")[size[1]/2]
		if size[0] == 40 {
			line = "terminal too small"
		} else {
			line = strings.Fields(line)[0]
		}
		x.expect(line)
		eventually(t, "the last row", func() bool { return strings.Count(x.text(), "\n") == size[1] })
	}
}

func TestNoColorCountsWithAnyValue(t *testing.T) {
	for _, tt := range []struct {
		env  string
		want bool
	}{{"NO_COLOR=", false}, {"NO_COLOR=yes", true}, {"NO_COLOR=0", true}, {"NO_COLORS=1", false}} {
		if got := (Options{Environ: []string{tt.env}}).onTerminal().NoColor; got != tt.want {
			t.Errorf("%s: no colour %v, want %v", tt.env, got, tt.want)
		}
	}
	x := open(t, 80, 24, Options{}, "NO_COLOR=yes")
	x.show(running())
	x.expect("bottleneck: backward")
	x.mu.Lock()
	defer x.mu.Unlock()
	for y := range 24 {
		for c := range 80 {
			if cell := x.emulator.CellAt(c, y); cell != nil && (cell.Style.Fg != nil || cell.Style.Bg != nil) {
				t.Fatalf("cell (%d,%d) %q is coloured", c, y, cell.Content)
			}
		}
	}
}

func TestHowAScreenEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(x *terminal)
		want error
	}{
		{"ctrl+c", func(x *terminal) { x.press("\x03") }, ErrInterrupted},
		{"context", func(x *terminal) { x.stop() }, context.Canceled},
		{"snapshots end", func(x *terminal) { close(x.run.snapshots) }, nil},
		{"SIGTERM", func(x *terminal) { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }, ErrInterrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := open(t, 80, 24, Options{NoSummary: true})
			x.show(running())
			x.expect("bottleneck: backward")
			tt.end(x)
			if err := x.expectEnd(10 * time.Second); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("ended with %v, want %v", err, tt.want)
			}
			eventually(t, "the normal screen", func() bool { return !x.alternate() })
		})
	}
}

// Where the screen's program does not end, the terminal is restored without it.
func TestAHungScreenLeavesTheTerminalAsItWas(t *testing.T) {
	x := open(t, 100, 30, Options{})
	x.run.hang()
	x.show(paused())
	x.expect("bottleneck: backward")
	x.press("n")
	x.expectCall("Step")
	x.stop()
	if err := x.expectEnd(10 * time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	x.expect("prismtop: europa 512/128")
	x.expect("stopping after 00:01:42")
	if x.alternate() {
		t.Error("the alternate screen is left on")
	}
	if got := x.text(); strings.ContainsAny(got, "╭│╰") || !strings.HasPrefix(got, "prismtop: europa") {
		t.Errorf("there are remains of a frame:\n%s", got)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if got := string(x.wire); !strings.Contains(got, ansi.ResetModeBracketedPaste) || strings.LastIndex(got, ansi.SetModeTextCursorEnable) < strings.LastIndex(got, ansi.ResetModeTextCursorEnable) {
		t.Error("bracketed paste is left on, or the cursor hidden")
	}
}

func TestSynchronizedOutputIsAskedForInsideSSH(t *testing.T) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	_ = pty.Setsize(ptmx, &pty.Winsize{Rows: 24, Cols: 80})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, newRecorder(), Options{Output: tty, Input: tty, Environ: []string{"TERM=xterm-256color", "SSH_TTY=/dev/pts/1"}})
	}()
	var got strings.Builder
	buf := make([]byte, 1<<16)
	wait := func(what string) {
		t.Helper()
		for !strings.Contains(got.String(), what) {
			if err := ptmx.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Skipf("reads from this pseudo-terminal have no deadline: %v", err)
			}
			n, err := ptmx.Read(buf)
			if err != nil {
				t.Fatalf("waited in vain for %q: %v", what, err)
			}
			got.Write(buf[:n])
		}
	}
	wait("\x1b[?2026$p") // may this be used?
	_, _ = io.WriteString(ptmx, "\x1b[?2026;2$y")
	_, _ = io.WriteString(ptmx, "?")
	wait("\x1b[?2026h") // used
	stop()
	go func() { _, _ = io.Copy(io.Discard, ptmx) }()
	<-ended
}

// A terminal that stops reading holds up neither the run, which offers
// snapshots as before, nor the end of the program.
func TestAStuckTerminalHoldsUpNothing(t *testing.T) {
	w := newStuck()
	keys, press := io.Pipe()
	run := newRecorder()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), run, Options{Output: w, Input: keys, Environ: []string{"TERM=xterm-256color"}})
	}()
	// The screen goes on taking snapshots while not one byte gets through.
	for range 12 {
		select {
		case run.snapshots <- running():
		case <-time.After(10 * time.Second):
			t.Fatal("the screen stopped taking snapshots")
		}
	}
	if got := w.text(); got != "" {
		t.Fatalf("the terminal is not stuck: %d bytes came through", len(got))
	}
	go func() { _, _ = io.WriteString(press, "m") }()
	eventually(t, "a key to act", func() bool { return strings.Contains(strings.Join(run.called(), " "), "Set measurement_cache") })
	began := time.Now()
	go func() { _, _ = io.WriteString(press, "qy") }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a stuck terminal keeps the program from ending")
	}
	t.Logf("left after %v", time.Since(began))
	close(w.freed)
}

// counting is a terminal that takes everything and counts it.
type counting struct{ n atomic.Int64 }

func (c *counting) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

// BenchmarkBytesPerFrame is what a frame of a running reconstruction costs on
// the wire at 120x40: new numbers, curves that grow, a picture now and then.
func BenchmarkBytesPerFrame(b *testing.B) {
	w := &counting{}
	keys, press := io.Pipe()
	defer press.Close()
	run := newRecorder()
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- Run(ctx, run, Options{Output: w, Input: keys, NoSummary: true,
			Environ: []string{"TERM=xterm-256color"}, size: [2]int{120, 40}})
	}()
	run.snapshots <- running()
	eventually(b, "the first frame", func() bool { return w.n.Load() > 4000 })
	first := w.n.Load()
	began := time.Now()
	n := 0
	for b.Loop() {
		s := running()
		s.Index += int64(10 * n)
		s.Elapsed += time.Duration(n) * 100 * time.Millisecond
		s.Rate += noise(n)
		s.Picture = moon(128, 0.4+0.01*float64(n%20))
		for id := range s.Phases {
			s.Phases[id].Median *= 1 + 0.02*noise(n+id)
		}
		s.IterationTime = s.IterationTime[:min(len(s.IterationTime), 100+n)]
		s.LossNew = s.LossNew[:min(len(s.LossNew), 100+n)]
		run.snapshots <- s
		n++
	}
	span := time.Since(began).Seconds()
	b.ReportMetric(float64(w.n.Load()-first)/float64(n), "B/frame")
	b.ReportMetric(float64(w.n.Load()-first)/span/1000, "KB/s")
	b.ReportMetric(float64(n)/span, "frames/s")
	stop()
	<-ended
}
