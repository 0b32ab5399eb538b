//go:build unix

// Package ptytest drives a program on a pseudo-terminal like a user: it presses keys, reads the
// screen and waits until it settles. The terminal is an emulator that answers the program's
// queries. Play runs whole sessions written in a small language.
package ptytest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"prismtop/tui/screenshot"
)

// patience is the maximum wait for a text on screen, or another condition.
const patience = 60 * time.Second

// Durations used by Idle.
const (
	silence  = 250 * time.Millisecond // the screen has settled after this time without output
	burstGap = 20 * time.Millisecond  // between two frames
	look     = 5 * time.Millisecond
)

// Terminal is a pseudo-terminal with an emulator behind it.
type Terminal struct {
	t        testing.TB
	pty, tty *os.File
	modes    *term.State // modes when opened

	mu       sync.Mutex // guards the fields below, except the emulator's answers
	emulator *vt.Emulator
	received bytes.Buffer
	bytes    int64
	bursts   int64
	last     time.Time // time of the last input from the program
	draws    bool
	partial  []byte // an incomplete character
	answer   func(received []byte) string
	mute     bool       // the terminal is not reading
	resumed  *sync.Cond // output arrived, or the terminal reads again
}

// Open creates a terminal of that size in cells. The test is skipped if the system has no
// pseudo-terminals.
func Open(t testing.TB, width, height int) *Terminal {
	t.Helper()
	return open(t, width, height, true, nil)
}

// OpenAnswering returns a terminal whose answers come from answer, which is given the received
// output in the pieces in which it arrives.
func OpenAnswering(t testing.TB, width, height int, answer func(received []byte) string) *Terminal {
	t.Helper()
	return open(t, width, height, true, answer)
}

// OpenDrain returns a terminal that reads but draws nothing, so that it costs as little as one
// on another machine. It does not answer queries.
func OpenDrain(t testing.TB, width, height int) *Terminal {
	t.Helper()
	return open(t, width, height, false, nil)
}

func open(t testing.TB, width, height int, draws bool, answer func([]byte) string) *Terminal {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skipf("skipped: no pseudo-terminal here: %v", err)
	}
	x := &Terminal{t: t, pty: ptmx, tty: tty, emulator: vt.NewEmulator(width, height), last: time.Now(), draws: draws,
		answer: answer}
	x.resumed = sync.NewCond(&x.mu)
	if x.modes, err = term.GetState(tty.Fd()); err != nil {
		t.Fatal(err)
	}
	x.setSize(width, height)
	var answers io.Writer = ptmx
	if answer != nil {
		answers = io.Discard
	}
	go func() { _, _ = io.Copy(answers, x.emulator) }()
	go x.listen()
	t.Cleanup(x.hush)
	return x
}

// hush stops the emulator's answers.
func (x *Terminal) hush() { _ = x.emulator.InputPipe().(io.Closer).Close() }

// Close closes the terminal. Programs on it must have ended.
func (x *Terminal) Close() {
	_, _ = x.tty.Close(), x.pty.Close()
	x.hush()
}

func (x *Terminal) setSize(width, height int) {
	x.t.Helper()
	if err := pty.Setsize(x.pty, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *Terminal) listen() {
	buf := make([]byte, 1<<16)
	for {
		n, err := x.pty.Read(buf)
		if err != nil {
			return
		}
		x.mu.Lock()
		for x.mute {
			x.resumed.Wait()
		}
		now := time.Now()
		if now.Sub(x.last) > burstGap {
			x.bursts++
		}
		x.last = now
		x.bytes += int64(n)
		x.received.Write(buf[:n])
		if x.draws {
			x.draw(buf[:n])
		}
		reply := ""
		if x.answer != nil {
			reply = x.answer(buf[:n])
		}
		x.resumed.Broadcast()
		x.mu.Unlock()
		if reply != "" {
			_, _ = io.WriteString(x.pty, reply)
		}
	}
}

// draw passes the emulator only whole characters with their marks, because it does not combine
// them across writes.
func (x *Terminal) draw(p []byte) {
	p = append(x.partial, p...)
	whole := wholeCharacters(p)
	_, _ = x.emulator.Write(p[:whole])
	x.partial = append([]byte(nil), p[whole:]...)
}

// wholeCharacters returns the length of the prefix of p that ends with a whole character; a
// picture's placeholder is a character with two marks.
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

// TTY returns the program's end of the terminal.
func (x *Terminal) TTY() *os.File { return x.tty }

// Start starts a command with the terminal as its controlling terminal, as after a login. The
// command is killed when the test ends.
func (x *Terminal) Start(cmd *exec.Cmd) {
	x.t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.tty, x.tty, x.tty
	cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "COLORTERM=",
		"SSH_TTY=", "SSH_CONNECTION=",
		"XDG_CONFIG_HOME="+x.t.TempDir()), cmd.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// keyBytes holds the bytes that a terminal sends for named keys.
var keyBytes = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"pgup": "\x1b[5~", "pgdown": "\x1b[6~",
}

// Press presses keys, each given by name ("a", "enter", "ctrl+z") or as text.
func (x *Terminal) Press(keys ...string) {
	x.t.Helper()
	for _, k := range keys {
		if b, ok := keyBytes[k]; ok {
			k = b
		} else if letter, ok := strings.CutPrefix(k, "ctrl+"); ok && len(letter) == 1 {
			k = string(letter[0] & 0x1f)
		}
		if _, err := io.WriteString(x.pty, k); err != nil {
			x.t.Fatal(err)
		}
		if k == "\x1b" {
			time.Sleep(4 * burstGap) // otherwise it would be read as Alt with the next key
		}
	}
}

// Resize changes the terminal's size.
func (x *Terminal) Resize(width, height int) {
	x.t.Helper()
	x.mu.Lock()
	x.emulator.Resize(width, height)
	x.mu.Unlock()
	x.setSize(width, height)
}

// Freeze stops the terminal from reading, or lets it continue.
func (x *Terminal) Freeze(on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mute = on
	x.resumed.Broadcast()
}

// Text returns the text on the screen.
func (x *Terminal) Text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emulator.String()
}

// Look calls look with the emulator, which is locked meanwhile.
func (x *Terminal) Look(look func(screen *vt.Emulator)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	look(x.emulator)
}

// Alternate reports whether the alternate screen is shown.
func (x *Terminal) Alternate() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emulator.IsAltScreen()
}

// Restored waits until the normal screen with its cursor is shown and the terminal has the modes
// it was opened with.
func (x *Terminal) Restored() {
	x.t.Helper()
	x.until("the normal screen", func(string) bool { return !x.Alternate() })
	x.until("the cursor", func(string) bool {
		sent := x.Received()
		return strings.LastIndex(sent, ansi.SetModeTextCursorEnable) >= strings.LastIndex(sent,
			ansi.ResetModeTextCursorEnable)
	})
	x.until("the modes from before", func(string) bool {
		now, err := term.GetState(x.tty.Fd())
		return err == nil && reflect.DeepEqual(now, x.modes)
	})
}

// Received returns all output of the program.
func (x *Terminal) Received() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.received.String()
}

// Traffic returns the number of bytes received and the number of bursts; a burst is a frame.
func (x *Terminal) Traffic() (bytes, bursts int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bytes, x.bursts
}

// Said returns the text that has left the top of the normal screen, and below it the text on the screen.
func (x *Terminal) Said() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	screen := x.emulator.String()
	if x.emulator.IsAltScreen() {
		return screen
	}
	var b strings.Builder
	for _, line := range x.emulator.Scrollback().Lines() {
		b.WriteString(line.String() + "\n")
	}
	return b.String() + screen
}

// until waits for a condition on the screen's text.
func (x *Terminal) until(what string, ok func(screen string) bool) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); !ok(x.Text()); time.Sleep(look) {
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for %s on\n%s", what, x.Text())
		}
	}
}

// See waits until all texts were seen, one after another. On the normal screen a text may have scrolled away: how much
// a program prints after it depends on what else the machine does.
func (x *Terminal) See(texts ...string) {
	x.t.Helper()
	for _, text := range texts {
		x.until("«"+text+"»", func(string) bool { return strings.Contains(x.Said(), text) })
	}
}

// When returns how long it takes until the screen shows a text, or no longer shows it, measured
// when the bytes that cause it have been received.
func (x *Terminal) When(text string, shown bool) time.Duration {
	x.t.Helper()
	began := time.Now()
	late := time.AfterFunc(patience, x.resumed.Broadcast)
	defer late.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for strings.Contains(x.emulator.String(), text) != shown {
		if time.Since(began) > patience {
			x.t.Fatalf("waited in vain for «%s» on\n%s", text, x.emulator.String())
		}
		x.resumed.Wait()
	}
	return time.Since(began)
}

// Gone waits until the screen shows none of the texts.
func (x *Terminal) Gone(texts ...string) {
	x.t.Helper()
	for _, text := range texts {
		x.until("the end of «"+text+"»", func(screen string) bool { return !strings.Contains(screen, text) })
	}
}

// Idle waits until the program has had time to answer the keys: until it sends nothing more, or
// has sent two frames.
func (x *Terminal) Idle() {
	x.t.Helper()
	_, from := x.Traffic()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(look) {
		x.mu.Lock()
		still, frames := time.Since(x.last) > silence, x.bursts-from
		x.mu.Unlock()
		if still || frames >= 2 {
			return
		}
	}
	x.t.Fatal("the program neither stood still nor drew")
}

// Save writes the screen to a PNG file on a dark background, with notes in the file.
func (x *Terminal) Save(path string, notes ...screenshot.Note) {
	x.t.Helper()
	x.SaveOn(path, screenshot.Dark, notes...)
}

// SaveOn is Save with another background.
func (x *Terminal) SaveOn(path string, g screenshot.Ground, notes ...screenshot.Note) {
	x.t.Helper()
	var b bytes.Buffer
	x.mu.Lock()
	err := screenshot.PNG(&b, x.emulator, g, notes...)
	x.mu.Unlock()
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}
