package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"prismtop/tui/ptytest"
)

// The screen, lines and plain progress notify a terminal, and nothing that is none.
func TestNoticesReachTheTerminal(t *testing.T) {
	const notice = "\x1b]9;prismtop: europa finished after 00:01:42, PSNR 24.3 dB\a"
	once := func(t *testing.T, x *ptytest.Terminal) {
		t.Helper()
		eventually(t, "the notice", func() bool { return strings.Contains(x.Received(), notice) })
	}
	t.Run("screen", func(t *testing.T) {
		x := open(t, 80, 24, Options{Notices: OSC9})
		x.show(running())
		x.See("bottleneck: backward")
		x.show(finished())
		once(t, x.Terminal)
		x.show(finished())
		x.Press("q")
		if err := x.expectEnd(10 * time.Second); err != nil {
			t.Error(err)
		}
		x.Restored()
		if n := strings.Count(x.Received(), notice); n != 1 {
			t.Errorf("noticed %d times", n)
		}
	})
	run := func() *recorder {
		r := newRecorder()
		go func() {
			r.snapshots <- running()
			r.snapshots <- finished()
			close(r.snapshots)
		}()
		return r
	}
	t.Run("lines", func(t *testing.T) {
		x := ptytest.Open(t, 80, 24)
		if _, err := Lines(context.Background(), strings.NewReader(""), x.TTY(), run(), LineOptions{Notices: OSC9, Environ: []string{}}, time.Hour); err != nil {
			t.Error(err)
		}
		once(t, x)
	})
	t.Run("plain", func(t *testing.T) {
		x := ptytest.Open(t, 80, 24)
		PlainNotifying(context.Background(), x.TTY(), run(), LineOptions{Notices: OSC9, Environ: []string{}}, time.Hour)
		once(t, x)
	})
	t.Run("a file", func(t *testing.T) {
		out := &transcript{}
		if _, err := Lines(context.Background(), strings.NewReader(""), out, run(), LineOptions{Notices: Bell | OSC9, Environ: []string{}}, time.Hour); err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.ContainsAny(got, "\a\x1b") {
			t.Errorf("the file has %q", got)
		}
	})
}
