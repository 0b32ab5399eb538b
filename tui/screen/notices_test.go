package screen

import (
	"context"
	"strings"
	"testing"
	"time"

	"prismtop/tui/lines"
	"prismtop/tui/notice"
	"prismtop/tui/ptytest"
	"prismtop/tui/tuitest"
)

// The screen, line mode and plain progress notify a terminal, and no other output.
func TestNoticesReachTheTerminal(t *testing.T) {
	const want = "\x1b]9;prismtop: europa finished after 00:01:42, PSNR 24.3 dB\a"
	once := func(t *testing.T, x *ptytest.Terminal) {
		t.Helper()
		ptytest.Eventually(t, "the notice", func() bool { return strings.Contains(x.Received(), want) })
	}
	t.Run("screen", func(t *testing.T) {
		x := open(t, 80, 24, Options{Notices: notice.OSC9})
		x.show(tuitest.Running())
		x.See("bottleneck: backward")
		x.show(tuitest.Finished())
		once(t, x.Terminal)
		x.show(tuitest.Finished())
		x.Press("q")
		if err := x.expectEnd(time.Minute); err != nil {
			t.Error(err)
		}
		x.Restored()
		if n := strings.Count(x.Received(), want); n != 1 {
			t.Errorf("noticed %d times", n)
		}
	})
	t.Run("what was missed", func(t *testing.T) {
		const missed = "\x1b]9;prismtop: the run stalled\a"
		x := open(t, 80, 24, Options{Notices: notice.OSC9, Leave: Leave{Missed: "the run stalled"}})
		x.show(tuitest.Running())
		ptytest.Eventually(t, "the notice", func() bool { return strings.Contains(x.Received(), missed) })
		x.show(tuitest.Finished())
		once(t, x.Terminal)
		x.Press("q")
		if err := x.expectEnd(time.Minute); err != nil {
			t.Error(err)
		}
		if n := strings.Count(x.Received(), missed); n != 1 {
			t.Errorf("noticed %d times", n)
		}
	})
	run := func() *tuitest.Recorder {
		r := tuitest.NewRecorder()
		go func() {
			r.Feed <- tuitest.Running()
			r.Feed <- tuitest.Finished()
			close(r.Feed)
		}()
		return r
	}
	t.Run("lines", func(t *testing.T) {
		x := ptytest.Open(t, 80, 24)
		if _, err := lines.Watch(context.Background(), strings.NewReader(""), x.TTY(), run(), lines.Options{Notices: notice.OSC9, Environ: []string{}}, time.Hour); err != nil {
			t.Error(err)
		}
		once(t, x)
	})
	t.Run("plain", func(t *testing.T) {
		x := ptytest.Open(t, 80, 24)
		lines.Plain(context.Background(), x.TTY(), run(), lines.Options{Notices: notice.OSC9, Environ: []string{}}, time.Hour)
		once(t, x)
	})
	t.Run("a file", func(t *testing.T) {
		out := &tuitest.Transcript{}
		if _, err := lines.Watch(context.Background(), strings.NewReader(""), out, run(), lines.Options{Notices: notice.Bell | notice.OSC9, Environ: []string{}}, time.Hour); err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.ContainsAny(got, "\a\x1b") {
			t.Errorf("the file has %q", got)
		}
	})
}
