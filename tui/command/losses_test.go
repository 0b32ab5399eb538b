//go:build unix

package command

import (
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"prismtop/profiles/attach"
	"prismtop/tui/ptytest"
)

// losses is how many screens are lost. All pairs of a loss and what it interrupts take 9.
var losses = flag.Int("losses", 3, "how many screens are lost in the middle of a change, an ablation or a replication")

// underWay matches the progress of an ablation or of a replication in the header.
var underWay = regexp.MustCompile(`\b(abl(ation|ate|\.) +\d+/\d+|decid(ing|e) )`)

// headerOf returns the first line of a screen.
func headerOf(x *ptytest.Terminal) string {
	first, _, _ := strings.Cut(x.Text(), "\n")
	return first
}

// A screen that is killed, frozen or closed in the middle of something leaves its run as it is: the run
// goes on, the next screen shows how it stands and operates it, and the recording is whole.
func TestTheLossOfAScreenInTheMiddle(t *testing.T) {
	for i := range *losses {
		loss, middle := i%3, (i+i/3)%3
		t.Run(fmt.Sprintf("%s in the middle of %s, %d", [...]string{"killed", "frozen", "closed"}[loss],
			[...]string{"a change", "an ablation", "a replication"}[middle], i+1), func(t *testing.T) {
			inFolder(t)
			x, s, cmd := watched(t, loss == 2)
			precision := interrupted(t, x, middle)
			lost(t, x, s, cmd, loss)
			before := only(t)
			ptytest.Eventually(t, "a hundred iterations", func() bool { return only(t).Iterations > before.Iterations+100 })

			y, _ := attachedTo(t, "--take")
			y.Gone("watching  moon")
			if middle != 0 && underWay.MatchString(headerOf(y)) { // the decision on a change ends by itself
				y.Press("A") // ends it: the settings return
			}
			ptytest.Eventually(t, "the settings before it", func() bool {
				return !underWay.MatchString(headerOf(y)) && (precision == "" || strings.Contains(headerOf(y), precision))
			})
			shown, seen := strings.Contains(headerOf(y), "bf16"), only(t).Iterations
			if loss == 1 {
				if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				x.See("watching  moon") // it catches up
			}
			recorded := only(t).Recording
			stopped(t, s.ID)
			var end struct {
				State      string
				Iterations int64
				Settings   struct{ AMP string }
			}
			out, err := program("replay", recorded, "--json")
			if err == nil {
				err = json.Unmarshal([]byte(out), &end)
			}
			if err != nil || end.State != "stopped" || end.Iterations < seen || (end.Settings.AMP == "bf16") != shown {
				t.Errorf("the screen showed bf16 %v after %d iterations, the recording ends with %+v, %v", shown, seen, end, err)
			}
		})
	}
}

// watched begins a run and returns a screen that operates it: its own in an SSH login, or an attached one.
func watched(t *testing.T, own bool) (*ptytest.Terminal, attach.Info, *exec.Cmd) {
	t.Helper()
	if !own {
		s := detached(t)
		x, cmd := attachedTo(t)
		return x, s, cmd
	}
	x := ptytest.Open(t, 120, 40)
	cmd := startOn(t, x, "export SSH_TTY=/dev/pts/7; exec prismtop run "+unended).cmd
	x.See("sample  1/40")
	return x, only(t), cmd
}

// interrupted begins what is to be interrupted, and returns the precision that the run has without it,
// empty if either may be.
func interrupted(t *testing.T, x *ptytest.Terminal, middle int) string {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(x.Text())
		}
	})
	switch middle {
	case 0:
		x.Press("a")
		return ""
	case 1:
		x.Press("A")
		x.See("Ablation")
		x.Press("enter")
		underWaySoon(t, x)
		return "fp32"
	}
	x.Press("a")
	x.See("AMP off→bf16")
	x.Press("E") // replaces the decision on the press
	ptytest.Eventually(t, "the replication", func() bool {
		if strings.Contains(x.Text(), "no setting was changed yet") { // as far as the screen knows
			x.Press("E")
		}
		return strings.Contains(x.Text(), "is switched back and forth until decided")
	})
	underWaySoon(t, x)
	return "bf16"
}

// underWaySoon waits until the header shows the progress of an ablation or of a replication.
func underWaySoon(t *testing.T, x *ptytest.Terminal) {
	t.Helper()
	ptytest.Eventually(t, "the progress", func() bool { return underWay.MatchString(headerOf(x)) })
}

// lost loses a screen, and waits until the run has noticed, unless the screen is frozen.
func lost(t *testing.T, x *ptytest.Terminal, s attach.Info, cmd *exec.Cmd, loss int) {
	t.Helper()
	switch loss {
	case 0:
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	case 1:
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		return
	case 2:
		x.Close()
		go cmd.Wait() // or it would be left as a zombie
	}
	ptytest.Eventually(t, "the run without a screen", func() bool { return only(t).Screens == 0 })
}
