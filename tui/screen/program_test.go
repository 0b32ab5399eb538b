package screen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"go.uber.org/goleak"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/control"
	"prismtop/tui/lines"
	"prismtop/tui/ptytest"
	"prismtop/tui/tuitest"
)

// stage is a pseudo-terminal on which a screen of this process runs.
type stage struct {
	*ptytest.Terminal
	t     *testing.T
	run   *tuitest.Recorder
	ended chan error
	stop  context.CancelFunc
}

// open starts a screen on a terminal of the given size.
func open(t *testing.T, w, h int, o Options, environ ...string) *stage {
	t.Helper()
	o.Summary = lines.SummaryAs
	return show(t, ptytest.Open(t, w, h), o, environ...)
}

// openAnswering starts a screen on a terminal whose queries are answered by answer.
func openAnswering(t *testing.T, answer func(received []byte) string, w, h int, o Options) *stage {
	t.Helper()
	return show(t, ptytest.OpenAnswering(t, w, h, answer), o)
}

func show(t *testing.T, on *ptytest.Terminal, o Options, environ ...string) *stage {
	ctx, stop := context.WithCancel(context.Background())
	x := &stage{Terminal: on, t: t, run: tuitest.NewRecorder(), ended: make(chan error, 1), stop: stop}
	o.Output, o.Input, o.Cores = on.TTY(), on.TTY(), 2
	o.Environ = append([]string{"TERM=xterm-256color"}, environ...)
	go func() { x.ended <- Run(ctx, x.run, o) }()
	// The files stay open: Bubble Tea's reader may still be exiting after a context has ended.
	t.Cleanup(stop)
	return x
}

func (x *stage) show(s *profiles.Snapshot) { x.run.Feed <- s }

func (x *stage) expectCall(call string) {
	x.t.Helper()
	ptytest.Eventually(x.t, call, func() bool { return strings.Contains(strings.Join(x.run.Called(), "\n"), call) })
}

func (x *stage) expectEnd(limit time.Duration) error {
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
	x.See("prismtop")
	x.show(tuitest.Running())
	x.See("bottleneck: backward")
	x.See("europa")
	if !x.Alternate() {
		t.Error("the screen is not on the alternate screen")
	}
	x.Press("a")
	x.expectCall("Set amp off")
	x.See("AMP: bf16 → off")
	x.Press(" ")
	x.expectCall("Pause")
	x.See("‖ paused")
	x.Press("?")
	x.See("measuring pattern")
	x.Press("\x1b")
	ptytest.Eventually(t, "the help to close", func() bool { return !strings.Contains(x.Text(), "measuring pattern") })
	x.Press("q")
	x.See("y quit")
	x.Press("y")
	if err := x.expectEnd(time.Minute); err != nil {
		t.Errorf("the screen ended with %v", err)
	}
	x.expectCall("Stop")
	x.See("prismtop: europa 512/128, cpu avx512") // the summary
	if x.Alternate() {
		t.Error("the alternate screen is left on")
	}
	x.Close()
}

func TestResizingATerminal(t *testing.T) {
	x := open(t, 120, 40, Options{})
	x.show(tuitest.Running())
	x.See("bottleneck: backward")
	for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 60}} {
		x.Resize(size[0], size[1])
		// The pty is not this process's controlling terminal: forward the signal.
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		m, _ := screen(t, size[0], size[1], Options{}, 0, tuitest.Running())
		line := strings.Split(tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1])), "\n")[size[1]/2]
		if size[0] == 40 {
			line = "terminal too small"
		} else {
			line = strings.Fields(line)[0]
		}
		x.See(line)
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
	x.show(tuitest.Running())
	x.See("bottleneck: backward")
	x.Look(func(e *vt.Emulator) {
		for y := range 24 {
			for c := range 80 {
				if cell := e.CellAt(c, y); cell != nil && (cell.Style.Fg != nil || cell.Style.Bg != nil) {
					t.Fatalf("cell (%d,%d) %q is coloured", c, y, cell.Content)
				}
			}
		}
	})
}

func TestHowAScreenEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(x *stage)
		want error
	}{
		{"ctrl+c", func(x *stage) { x.Press("\x03") }, control.ErrInterrupted},
		{"context", func(x *stage) { x.stop() }, context.Canceled},
		{"snapshots end", func(x *stage) { close(x.run.Feed) }, nil},
		{"SIGTERM", func(x *stage) { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) }, control.ErrInterrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := open(t, 80, 24, Options{})
			x.show(tuitest.Running())
			x.See("bottleneck: backward")
			tt.end(x)
			if err := x.expectEnd(time.Minute); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("ended with %v, want %v", err, tt.want)
			}
			x.Restored()
		})
	}
}

// If the screen's program does not end, the terminal is restored without it.
func TestAHungScreenLeavesTheTerminalAsItWas(t *testing.T) {
	x := open(t, 100, 30, Options{})
	x.run.Hang()
	x.show(tuitest.Paused())
	x.See("bottleneck: backward")
	x.Press("n")
	x.expectCall("Step")
	x.stop()
	if err := x.expectEnd(time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	x.See("prismtop: europa 512/128")
	x.See("stopping after 00:01:42")
	if x.Alternate() {
		t.Error("the alternate screen is left on")
	}
	if got := x.Text(); strings.ContainsAny(got, "╭│╰") || !strings.HasPrefix(got, "prismtop: europa") {
		t.Errorf("there are remains of a frame:\n%s", got)
	}
	if got := x.Received(); !strings.Contains(got, ansi.ResetModeBracketedPaste) || strings.LastIndex(got, ansi.SetModeTextCursorEnable) < strings.LastIndex(got, ansi.ResetModeTextCursorEnable) {
		t.Error("bracketed paste is left on, or the cursor hidden")
	}
}

func TestSynchronizedOutputIsAskedForInsideSSH(t *testing.T) {
	x := show(t, ptytest.OpenAnswering(t, 80, 24, func(received []byte) string {
		if bytes.Contains(received, []byte("\x1b[?2026$p")) { // the query for synchronized output
			return "\x1b[?2026;2$y"
		}
		return ""
	}), Options{}, "SSH_TTY=/dev/pts/1")
	ptytest.Eventually(t, "the question", func() bool { return strings.Contains(x.Received(), "\x1b[?2026$p") })
	ptytest.Eventually(t, "its use", func() bool {
		x.Press("?")
		return strings.Contains(x.Received(), "\x1b[?2026h")
	})
	x.stop()
	_ = x.expectEnd(time.Minute)
}

// A terminal that stops reading delays neither the run, which keeps offering snapshots, nor the
// end of the program.
func TestAStuckTerminalHoldsUpNothing(t *testing.T) {
	w := ptytest.NewStuck()
	keys, press := io.Pipe()
	run := tuitest.NewRecorder()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), run, Options{Output: w, Input: keys, Environ: []string{"TERM=xterm-256color"}})
	}()
	// The screen continues to take snapshots although no output gets through.
	for range 12 {
		select {
		case run.Feed <- tuitest.Running():
		case <-time.After(time.Minute):
			t.Fatal("the screen stopped taking snapshots")
		}
	}
	if got := w.Text(); got != "" {
		t.Fatalf("the terminal is not stuck: %d bytes came through", len(got))
	}
	go func() { _, _ = io.WriteString(press, "m") }()
	ptytest.Eventually(t, "a key to act", func() bool { return strings.Contains(strings.Join(run.Called(), " "), "Set measurement_cache") })
	began := time.Now()
	go func() { _, _ = io.WriteString(press, "qy") }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a stuck terminal keeps the program from ending")
	}
	t.Logf("left after %v", time.Since(began))
	w.Free()
}

// counting is a terminal that accepts all output and counts it.
type counting struct{ n atomic.Int64 }

func (c *counting) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

// BenchmarkBytesPerFrame measures the bytes sent per frame of a running reconstruction at 120x40:
// new numbers, growing curves, and an occasional picture.
func BenchmarkBytesPerFrame(b *testing.B) {
	w := &counting{}
	keys, press := io.Pipe()
	defer press.Close()
	run := tuitest.NewRecorder()
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- Run(ctx, run, Options{Output: w, Input: keys,
			Environ: []string{"TERM=xterm-256color"}, Size: [2]int{120, 40}})
	}()
	run.Feed <- tuitest.Running()
	ptytest.Eventually(b, "the first frame", func() bool { return w.n.Load() > 4000 })
	first := w.n.Load()
	began := time.Now()
	n := 0
	for b.Loop() {
		s := tuitest.Running()
		s.Index += int64(10 * n)
		s.Elapsed += time.Duration(n) * 100 * time.Millisecond
		s.Rate += tuitest.Noise(n)
		s.Pictures[prism.PictureReconstruction] = tuitest.Moon(128, 0.4+0.01*float64(n%20))
		for id := range s.Phases {
			s.Phases[id].Median *= 1 + 0.02*tuitest.Noise(n+id)
		}
		s.IterationTime = s.IterationTime[:min(len(s.IterationTime), 100+n)]
		losses := &s.Series[prism.SeriesLossNew].Curve
		*losses = (*losses)[:min(len(*losses), 100+n)]
		run.Feed <- s
		n++
	}
	span := time.Since(began).Seconds()
	b.ReportMetric(float64(w.n.Load()-first)/float64(n), "B/frame")
	b.ReportMetric(float64(w.n.Load()-first)/span/1000, "KB/s")
	b.ReportMetric(float64(n)/span, "frames/s")
	stop()
	<-ended
}
