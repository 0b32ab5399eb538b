//go:build unix

// Package ptytest drives a program on a pseudo-terminal as a user at a terminal
// does: press keys, look at the screen, wait until it stands still. The terminal
// is an emulator that answers what programs ask it. Play reads a small language
// for whole sessions.
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

// patience is how long a text on screen is waited for.
const patience = 60 * time.Second

// Times of Idle.
const (
	silence  = 250 * time.Millisecond // nothing sent for so long is standing still
	burstGap = 20 * time.Millisecond  // between two frames
	look     = 5 * time.Millisecond
)

// Terminal is a pseudo-terminal with an emulator behind it.
type Terminal struct {
	t        testing.TB
	pty, tty *os.File
	modes    *term.State // at first

	mu       sync.Mutex // over what follows, but for the emulator's answers
	emulator *vt.Emulator
	received bytes.Buffer
	bytes    int64
	bursts   int64
	last     time.Time // when something was received
	draws    bool
	partial  []byte // a character that has not come whole
	answer   func(received []byte) string
	mute     bool       // the terminal does not read
	resumed  *sync.Cond // something was received, or the terminal reads again
}

// Open makes a terminal of that size in cells. Where the system has none the test
// is skipped.
func Open(t testing.TB, width, height int) *Terminal {
	t.Helper()
	return open(t, width, height, true, nil)
}

// OpenAnswering is a terminal whose program's questions answer answers, which is
// given what was received, in the pieces in which it came.
func OpenAnswering(t testing.TB, width, height int, answer func(received []byte) string) *Terminal {
	t.Helper()
	return open(t, width, height, true, answer)
}

// OpenDrain is a terminal that reads and draws nothing, as one elsewhere costs this
// machine nothing. It answers no questions either.
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
	x := &Terminal{t: t, pty: ptmx, tty: tty, emulator: vt.NewEmulator(width, height), last: time.Now(), draws: draws, answer: answer}
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

// hush ends the emulator's answers.
func (x *Terminal) hush() { _ = x.emulator.InputPipe().(io.Closer).Close() }

// Close takes the terminal away. What runs on it must have ended.
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

// draw hands the emulator whole characters, with their marks: it keeps none of one
// for what it is written next.
func (x *Terminal) draw(p []byte) {
	p = append(x.partial, p...)
	whole := wholeCharacters(p)
	_, _ = x.emulator.Write(p[:whole])
	x.partial = append([]byte(nil), p[whole:]...)
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

// TTY is the program's end of the terminal.
func (x *Terminal) TTY() *os.File { return x.tty }

// Start starts a command on the terminal, which becomes its controlling one, as
// after a login. It is killed when the test ends.
func (x *Terminal) Start(cmd *exec.Cmd) {
	x.t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.tty, x.tty, x.tty
	cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "COLORTERM=", "SSH_TTY=",
		"XDG_CONFIG_HOME="+x.t.TempDir()), cmd.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// keyBytes are the keys that have names, as a terminal sends them.
var keyBytes = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"pgup": "\x1b[5~", "pgdown": "\x1b[6~",
}

// Press presses keys, each by its name ("a", "enter", "ctrl+z") or as text.
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
			time.Sleep(4 * burstGap) // else it is the Alt of the key after it
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

// Freeze stops the terminal from reading, or lets it go on.
func (x *Terminal) Freeze(on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mute = on
	x.resumed.Broadcast()
}

// Text is what the screen shows.
func (x *Terminal) Text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emulator.String()
}

// Look lets look see the emulator, which stands still meanwhile.
func (x *Terminal) Look(look func(screen *vt.Emulator)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	look(x.emulator)
}

// Alternate says whether the alternate screen is shown.
func (x *Terminal) Alternate() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emulator.IsAltScreen()
}

// Restored waits until the normal screen is shown, with its cursor, and the terminal has
// the modes that it was opened with.
func (x *Terminal) Restored() {
	x.t.Helper()
	x.until("the normal screen", func(string) bool { return !x.Alternate() })
	x.until("the cursor", func(string) bool {
		sent := x.Received()
		return strings.LastIndex(sent, ansi.SetModeTextCursorEnable) >= strings.LastIndex(sent, ansi.ResetModeTextCursorEnable)
	})
	x.until("the modes from before", func(string) bool {
		now, err := term.GetState(x.tty.Fd())
		return err == nil && reflect.DeepEqual(now, x.modes)
	})
}

// Received is all that the program sent.
func (x *Terminal) Received() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.received.String()
}

// Traffic is how many bytes were received, in how many bursts: a burst is a frame.
func (x *Terminal) Traffic() (bytes, bursts int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.bytes, x.bursts
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

// See waits until the screen has shown all texts, one after another.
func (x *Terminal) See(texts ...string) {
	x.t.Helper()
	for _, text := range texts {
		x.until("«"+text+"»", func(screen string) bool { return strings.Contains(screen, text) })
	}
}

// When is how long it takes from now until the screen shows a text, or no longer
// shows it, told when the bytes that do so have been received.
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

// Idle waits until the program has had time to answer the keys: nothing is sent
// any more, or two frames were.
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

// Save draws the screen to a PNG file, on a dark ground, with notes in the file.
func (x *Terminal) Save(path string, notes ...screenshot.Note) {
	x.t.Helper()
	x.SaveOn(path, screenshot.Dark, notes...)
}

// SaveOn is Save on another ground.
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
