package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim"
	"prismtop/tui/screenshot"
)

var update = flag.Bool("update", false, "draw the pictures of docs/ from a real run")

// terminal is a pseudo-terminal with an emulator of a terminal behind it.
type terminal struct {
	t        *testing.T
	pty, tty *os.File
	config   string // the folder of the screen's file
	mu       sync.Mutex
	emulator *vt.Emulator
	received bytes.Buffer
}

func openTerminal(t *testing.T, width, height int) *terminal {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skipf("skipped: no pseudo-terminal here: %v", err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, pty: ptmx, tty: tty, config: t.TempDir(), emulator: vt.NewEmulator(width, height)}
	go func() { _, _ = io.Copy(ptmx, x.emulator) }() // the terminal's answers
	go x.listen()
	t.Cleanup(func() { _ = x.emulator.InputPipe().(io.Closer).Close() })
	return x
}

func (x *terminal) listen() {
	buf := make([]byte, 1<<16)
	for {
		n, err := x.pty.Read(buf)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.received.Write(buf[:n])
		_, _ = x.emulator.Write(buf[:n])
		x.mu.Unlock()
	}
}

// start runs the program on the terminal.
func (x *terminal) start(args ...string) *exec.Cmd {
	x.t.Helper()
	cmd := exec.Command("prismtop", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.tty, x.tty, x.tty
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "COLORTERM=", "SSH_TTY=", "XDG_CONFIG_HOME="+x.config)
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.pty, keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.emulator.String()
}

// expect waits until the screen shows all texts.
func (x *terminal) expect(texts ...string) {
	x.t.Helper()
	missing := texts
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		screen := x.text()
		for len(missing) > 0 && strings.Contains(screen, missing[0]) {
			missing = missing[1:]
		}
		if len(missing) == 0 {
			return
		}
	}
	x.t.Fatalf("waited in vain for %q on\n%s", missing[0], x.text())
}

// gone waits until the screen no longer shows a text.
func (x *terminal) gone(text string) {
	x.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); strings.Contains(x.text(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("waited in vain for the end of %q", text)
		}
	}
}

// save draws the screen to a picture of the documentation.
func (x *terminal) save(path string) {
	x.t.Helper()
	var b bytes.Buffer
	x.mu.Lock()
	err := screenshot.PNG(&b, x.emulator, screenshot.Dark)
	x.mu.Unlock()
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// A user opens the screen, switches mixed precision and a cache, reads what that
// did, saves, and leaves.
func TestTheScreenOfARealRun(t *testing.T) {
	t.Chdir(t.TempDir())
	x := openTerminal(t, 120, 40)
	cmd := x.start("--preset", "quick", "--set", "samples=40", "--set", "iterations=2000")
	x.expect("Phases", "Reconstruction", "k-space", "Caches", "Memory", "Effects", "running", "libcuda")
	x.expect("sample  1/40")
	x.press("a")
	x.expect("AMP off→bf16", "AMP bf16")
	x.press("f")
	x.expect("FFT plans on→off")
	x.press(" ")
	x.expect("paused")
	x.press("s")
	x.expect("saved")
	x.press("?")
	x.expect("redraw the screen")
	x.press("?") // an escape before the space would be Alt and space
	x.gone("redraw the screen")
	x.press(" ")
	x.expect("running")
	x.press("q")
	x.expect("Quit?")
	x.press("y")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the program ended with %v\n%s", err, x.text())
	}
	x.expect("prismtop: moon 128/32", "iterations")
	if x.emulator.IsAltScreen() {
		t.Error("the terminal was left on the alternate screen")
	}
	for _, name := range []string{"prismtop-moon.png", "prismtop-moon.npy"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// A panic of the loop takes the screen down, restores the terminal and is an error
// that tells what happened.
func TestPanicOfTheLoopRestoresTheTerminal(t *testing.T) {
	x := openTerminal(t, 100, 30)
	t.Setenv("XDG_CONFIG_HOME", x.config)
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = x.tty, x.tty
	defer func() { os.Stdin, os.Stdout = in, out }()

	s, _, err := preset.Resolve(preset.Sources{Preset: "quick"})
	if err != nil {
		t.Fatal(err)
	}
	stream := profiles.NewStream(64)
	r, err := sim.New(sim.Options{Settings: s, Stream: stream, Linger: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Close() // the loop meets nothing where its reconstruction was
	f := runFlags{}
	err = f.watch(context.Background(), live{r, profiles.NewAggregator(stream, profiles.Options{})})
	var crash *sim.PanicError
	if !errors.As(err, &crash) {
		t.Fatalf("the screen ended with %v", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.emulator.IsAltScreen() {
		t.Error("the terminal was left on the alternate screen")
	}
}

// The pictures of the documentation are of real runs. They are drawn again by
// go test -run Pictures . -update
func TestPicturesOfTheDocumentation(t *testing.T) {
	if !*update {
		t.Skip("skipped: draws pictures only with -update")
	}
	for _, size := range []struct {
		name          string
		width, height int
	}{{"80x24", 80, 24}, {"120x40", 120, 40}, {"200x60", 200, 60}} {
		x := openTerminal(t, size.width, size.height)
		x.start()
		x.expect("sample  4/12")
		x.press("p")
		time.Sleep(8 * time.Second) // for the picture: enough iterations for an effect
		x.press("a")
		x.expect("sample  8/12")
		time.Sleep(2 * time.Second)
		x.save("docs/screen-" + size.name + ".png")
		x.press("q")
		x.press("y")
	}
}
