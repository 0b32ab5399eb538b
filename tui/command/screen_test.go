//go:build unix

package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim"
	"prismtop/sim/workloads"
	"prismtop/tui"
	"prismtop/tui/ptytest"
)

// sessions are what users do at a terminal, played on a real run.
// Those that watch it run have one that stays in its first sample, however late they look.
var sessions = []struct{ name, session string }{
	{"a user switches mixed precision and a cache, reads what that did, saves and leaves", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see Phases Reconstruction k-space Caches Memory Effects running
		see "sample  1/40"
		press a
		see "AMP off→bf16" "AMP bf16"
		press f
		see "FFT plans on→off"
		press space
		see paused
		press s
		see saved
		press ?
		see "explain: pane, then keys"
		press esc
		gone "explain: pane, then keys"
		press space
		see running
		press q
		see Quit?
		press y
		exit 0
		see "prismtop: moon 128/32" iterations
		restored
		file prismtop-moon.png prismtop-moon.npy`},
	{"ctrl+c ends a run at once", `
		terminal 80x24
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see "sample  1/40"
		press ctrl+c
		exit 130
		restored
		see "prismtop: moon 128/32"`},
	{"ctrl+c ends a run that prepares for years", `
		terminal 80x24
		start prismtop --preset quick --set warmup_measurements=2147483647
		see preparing
		wait 1s
		press ctrl+c
		exit 130
		restored`},
	{"q ends a run whose iteration takes minutes", `
		terminal 80x24
		start prismtop --kernels go --set object=points --set size=1024 --set object_size=1024 --set samples=3 --set init_iterations=0 --set latent=64 --set channels=64,64,64,64,64,64,64,64,64,64,64,1
		see running
		wait 1s
		press q y
		exit 0
		restored`},
	{"a terminal that can do nothing gets lines", `
		terminal 80x24
		start env TERM=dumb prismtop run --preset quick
		see "TERM is dumb" "prismtop in lines" finished
		press "quit" enter
		exit 0`},
	{"a terminal that is told to end leaves a restored one", `
		terminal 80x24
		start bash -c "prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000 & sleep 2; kill -TERM $!; wait $!; echo status $?"
		see "status 130"
		restored`},
	{"a pane is looked at closely and at another size", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see "sample  1/40" Caches
		press tab z
		gone Caches
		see "backward" "optimizer"
		resize 80x24
		idle
		see "backward" "optimizer"
		press esc
		see Caches
		resize 30x8
		see "too small"
		resize 200x60
		see Caches Memory
		press q y
		exit 0
		restored`},
	{"ctrl+z gives the shell its terminal, and fg brings the screen back", `
		terminal 120x40
		start bash -c "set -m; prismtop run --preset quick; echo shell is here; read; fg; echo over"
		see finished PSNR
		press ctrl+z
		see "shell is here"
		restored
		press enter
		see finished PSNR
		press q
		see over
		exit 0`},
	{"ctrl+z where no shell could wake the program up says so", `
		terminal 120x40
		start prismtop run --preset quick
		see finished
		press ctrl+z
		see "no shell with job control"
		press q
		exit 0`},
	{"another loss suspends the threshold, and undo brings it back", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set iterations=100000000 --set threshold=1e-7
		see "sample  1/40" "╌ stop 1e-07"
		press k
		see "loss: l1 → l2; threshold 1e-07 was for l1: suspended until T sets one for l2" "threshold 1e-07 suspended: for normalised l1"
		press T
		see "threshold = _" "suspended: was for l1; l2 is"
		press 1 e - 9 enter
		see "threshold: 1e-07 for normalised l1 → 1e-9"
		press , u
		see "threshold 1e-09 → 1e-07 for normalised l1"
		press u
		see "undone: loss l2 → l1; threshold 1e-07 is in force again" "╌ stop 1e-07"
		press q y
		exit 0`},
	{"a sample far above its threshold outlives a loss of another scale", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set iterations=100000000 --set threshold=0.001
		see "sample  1/40"
		press k
		see "suspended until T sets one for l2"
		wait 1s
		press space
		see paused "sample  1/40"
		press q y
		exit 0`},
	{"mixed precision goes on and off by one key, and to any mode by two", `
		terminal 80x24
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see "sample  1/40"
		press a
		see "AMP: off → bf16"
		press a
		see "AMP: bf16 → off"
		press .
		see "1 ● off" "4 ○ fp16"
		press 4
		see "AMP: off → fp16" "AMP fp16"
		press a
		see "AMP: fp16 → off"
		press a
		see "AMP: off → fp16"
		press q y
		exit 0`},
	{"a restart asks, and takes another picture and another radius with it", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see "sample  1/40"
		press R
		see "Restart? What this run has is lost:" "iterations, their weights and the picture"
		press s
		see "saved prismtop-moon.png"
		press esc
		see "not restarted"
		gone Restart?
		press , end up up up up up up up up up up up up up up up up up up up up up up up
		see "▸ radius"
		press enter ctrl+u 9 9 enter
		see "radius = 99: must be at most half of size, 64"
		press esc enter ctrl+u 1 2 enter
		see "next run: radius 12 (R)" "for the next run: R starts it"
		press up up up up up
		see "▸ image"
		press enter "none.png" enter
		see "picture none.png: no such file or directory"
		press ctrl+u "prismtop-moon.png" enter
		see "next run: image prismtop-moon.png (R)"
		press R
		see "The next run has image prismtop-moon.png, radius 12."
		press y
		see "restarted from the first weights of the seed with image = prismtop-moon.png, radius = 12" "prismtop  prismtop-…"
		press q y
		exit 0`},
	{"a terminal that stops reading for a while shows the run's newest state when it reads again", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see "sample  1/40"
		freeze
		idle
		thaw
		see running
		press q
		see Quit?
		press y
		exit 0
		restored`},
}

// alertSessions need as many iterations as a run without the race detector makes: they
// make each alert come on a real run, or need comparable iterations before a key.
var alertSessions = []struct{ name, session string }{
	{"keys that are pressed before one iteration have one effect, which a limit leaves alone and the end of the run ends", `
		terminal 120x40
		start prismtop --preset quick --set samples=40 --set threshold=0 --set iterations=100000000
		see "sample  1/40"
		press space
		see paused
		press a a a m g g
		see "AMP + meas. cache" "needs 20 more"
		press Z ctrl+u "1" enter
		see "most iterations: no limit → 1"
		press ,
		see "AMP + meas. cache" "needs 20 more"
		press space
		see finished "the run ended first"
		gone "needs 20 more" "masks on→off"
		press q
		exit 0
		see "AMP off→bf16 + meas. cache on→off: not comparable: the run ended first"`},
	{"a loss that is no number ends the run, and the log says what to try", `
		terminal 200x60
		start prismtop --preset quick --set amp=fp16 --set batch_norm=false --set learning_rate=10
		see failed "was not a finite number" "Switch AMP off (a) or to bf16 (.), whose range is that of fp32"
		press q
		exit 1
		see "not a number"`},
	{"gradients that overflow in fp16 are told, and bf16 ends that", `
		terminal 200x60
		start prismtop --preset quick --set amp=fp16 --set batch_norm=false --set loss=l2 --set learning_rate=0.036 --set seed=2 --set samples=40 --set iterations=50000 --set threshold=0
		see "1 alert: !" "AMP fp16 skipped"
		press !
		see "Switch AMP to bf16 (.), which has the range of fp32"
		press esc
		press a
		see "AMP fp16→off"
		gone "1 alert"
		see "over after"
		press q y
		exit 0`},
	{"a cache that is too small for what is asked again is told, and more room ends that", `
		terminal 200x60
		start prismtop --preset quick --set size=256 --set object_size=64 --set samples=800 --set warmup_measurements=800 --set pattern=remeasure --set iterations=3 --set threshold=0 --set measurement_cache_mb=1
		see "1 alert: !"
		press !
		see "The measurement cache drops what is asked for again" "Give it more than 1 MiB (G), or switch it off (m)."
		press esc
		press m
		gone "1 alert"
		press q y
		exit 0`},
	{"a process that was stopped as a whole tells how long, and that it is over", `
		terminal 200x60
		start prismtop --preset quick --set samples=40 --set iterations=50000 --set threshold=0
		see "sample  1/40"
		wait 1s
		stop
		wait 3s
		cont
		see "No iteration ended for more than 2s" "See whether the machine swaps"
		see "over after"
		press q y
		exit 0`},
	{"a run that gets a fifth of its time tells that it is slower than it was", `
		terminal 200x60
		start prismtop --preset quick --set samples=40 --set iterations=500000 --set threshold=0
		see "sample  1/40"
		wait 14s
		throttle
		see "Performance degradation detected"
		release
		gone "1 alert"
		press q y
		exit 0`},
}

func TestSessions(t *testing.T) { play(t, sessions) }

func TestAlertsOnRealRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: the rules count iterations and seconds, and the race detector makes runs ten times slower")
	}
	play(t, alertSessions)
}

func play(t *testing.T, all []struct{ name, session string }) {
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			ptytest.Play(t, s.session)
		})
	}
}

// The terminal answers what the screen asked at its beginning; a run that cannot begin
// is over before, and the answers must not be left at the shell's prompt.
func TestARunThatCannotBeginLeavesACleanPrompt(t *testing.T) {
	lacking := lackingKernels()
	if len(lacking) == 0 {
		t.Skip("skipped: all kernels are here")
	}
	x := ptytest.OpenAnswering(t, 100, 30, func(received []byte) string {
		if !bytes.Contains(received, []byte(ansi.RequestPrimaryDeviceAttributes)) {
			return ""
		}
		time.Sleep(50 * time.Millisecond) // of the line
		return "\x1b[?1;2c"
	})
	cmd := exec.Command("bash", "--norc", "-c",
		`prismtop run --kernels `+lacking[0]+`; echo status $?; read -t 1 -n 80 left; echo "left ${#left} bytes"`)
	x.Start(cmd)
	x.See("status 1", "left 0 bytes")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	x.Restored()
	if text := x.Text(); strings.Count(text, "cpu backend: kernels") != 1 || strings.Contains(text, "seed 0") {
		t.Errorf("the screen shows\n%s", text)
	}
}

// What a library prints is in the log, not over the screen, and is printed again
// once the screen is gone.
func TestWhatOthersPrintGoesToTheLog(t *testing.T) {
	x := ptytest.Open(t, 120, 40)
	cmd := exec.Command("prismtop", "run", "--preset", "quick")
	x.Start(cmd)
	x.See("finished")
	for fd, text := range map[int]string{1: "from a library", 2: "from a driver"} {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", cmd.Process.Pid, fd), os.O_WRONLY, 0)
		if err != nil {
			t.Skipf("skipped: the output of another process cannot be opened here: %v", err)
		}
		_, err = fmt.Fprintln(f, text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	x.See("printed: from a ")
	x.Press("q")
	x.Gone("printed:")
	x.See("from a library", "from a driver")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A panic of the loop takes the screen down, restores the terminal and is an error
// that tells what happened.
func TestPanicOfTheLoopRestoresTheTerminal(t *testing.T) {
	x := ptytest.Open(t, 100, 30)
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = x.TTY(), x.TTY()
	defer func() { os.Stdin, os.Stdout = in, out }()
	s, _, err := preset.Resolve(preset.Sources{Preset: "quick"})
	if err != nil {
		t.Fatal(err)
	}
	stream := profiles.NewStream(64)
	r, err := sim.New(t.Context(), sim.Options{Maker: workloads.PRISM(""), Settings: s, Stream: stream, Linger: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Close() // the loop meets nothing where its reconstruction was
	f := runFlags{}
	look := tui.Options{Output: x.TTY(), Input: x.TTY()}
	err = f.watch(context.Background(), x.TTY(), live{r, profiles.NewAggregator(stream.Follow(), profiles.Options{})}, look)
	var crash *sim.PanicError
	if !errors.As(err, &crash) {
		t.Fatalf("the screen ended with %v", err)
	}
	x.Restored()
}
