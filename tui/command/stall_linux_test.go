package command

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/tui/ptytest"
)

// A terminal that stops reading does not delay the end, and shows the normal screen and the
// summary when it reads again.
func TestATerminalThatStallsIsLeft(t *testing.T) {
	skipStarts(t)
	for name, end := range map[string]func(started){
		"ctrl+c": press("ctrl+c"), "SIGTERM": kill(syscall.SIGTERM), "SIGQUIT": kill(syscall.SIGQUIT),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := ptytest.Open(t, 200, 60)
			s := startIn(t, x, t.TempDir(), "exec prismtop run --bandwidth full --save moon "+unended)
			x.See("sample  1/40")
			stall(t, x)
			end(s)
			want := 130
			if name == "SIGQUIT" { // without the goroutines
				want = 128 + int(syscall.SIGQUIT)
			}
			if got := s.end(time.Minute); got != want {
				t.Errorf("status %d, want %d", got, want)
			}
			x.Freeze(false)
			x.Restored()
			if name != "SIGQUIT" {
				x.See("prismtop: moon 128/32")
			}
		})
	}
	t.Run("headless", func(t *testing.T) {
		t.Parallel()
		x := ptytest.Open(t, 200, 60)
		s := startOn(t, x, "exec prismtop run --headless "+unended)
		x.See("iter ")
		x.Freeze(true)
		fill(t, x)
		kill(syscall.SIGTERM)(s)
		if got := s.end(time.Minute); got != 130 {
			t.Errorf("status %d", got)
		}
		x.Freeze(false)
	})
	t.Run("lines", func(t *testing.T) {
		t.Parallel()
		x := ptytest.Open(t, 200, 60)
		s := startOn(t, x, "stty -echo; exec prismtop run --lines "+unended)
		x.See("sample 1/40")
		x.Freeze(true)
		for last := -1; x.Unread() != last; { // more summaries than the terminal holds
			last = x.Unread()
			x.Press(strings.Repeat("summary\n", 40))
			time.Sleep(300 * time.Millisecond)
		}
		kill(syscall.SIGTERM)(s)
		if got := s.end(time.Minute); got != 130 {
			t.Errorf("status %d", got)
		}
		x.Freeze(false)
	})
}

// fill writes to a frozen terminal until it is full.
func fill(t *testing.T, x *ptytest.Terminal) {
	t.Helper()
	other, err := os.OpenFile(x.TTY().Name(), os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Skipf("skipped: a terminal whose writes cannot have a time limit: %v", err)
	}
	for err == nil {
		_, err = other.WriteString(strings.Repeat("x", 4096))
	}
}

// stall freezes a terminal and redraws the screen until the terminal is full.
func stall(t *testing.T, x *ptytest.Terminal) {
	t.Helper()
	x.Freeze(true)
	full := 0
	for deadline := time.Now().Add(60 * time.Second); full < 10; time.Sleep(50 * time.Millisecond) {
		before := x.Unread()
		x.Press("\x0c") // ctrl+l
		if full++; before < 4000 || x.Unread() != before {
			full = 0
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d bytes wait", before)
		}
	}
}
