package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"prismtop/profiles/stats"
)

// Programs are the two sides.
type Programs struct {
	Prismtop string   // path of this program
	Python   []string // the interpreter and its arguments before the script
	Script   string   // path of the PyTorch benchmark; empty to measure prismtop alone
}

// Round is one measurement of each side, one after the other.
type Round struct {
	Ours, Peer Figure
	Disturbed  bool // other programs used more than allowed
}

// Ratio returns how many times larger PyTorch's figure is.
func (r Round) Ratio() float64 { return r.Peer.Median / r.Ours.Median }

// Result is a work with its rounds.
type Result struct {
	Work   Work
	Rounds []Round
	Err    error // reason for fewer rounds than requested
}

// Kept returns the undisturbed rounds, or all if there are none.
func (r Result) Kept() (rounds []Round, clean bool) {
	for _, round := range r.Rounds {
		if !round.Disturbed {
			rounds = append(rounds, round)
		}
	}
	if len(rounds) == 0 {
		return r.Rounds, false
	}
	return rounds, true
}

// quantiles of a figure of the rounds.
func quantiles(rounds []Round, of func(Round) float64) (median, low, high float64) {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	slices.Sort(values)
	return stats.Quantile(values, 0.5), stats.Quantile(values, 0.1), stats.Quantile(values, 0.9)
}

// Measure runs a work's rounds, PyTorch first in each.
func (p Programs) Measure(ctx context.Context, w Work, rounds int, maxForeign float64) Result {
	result := Result{Work: w}
	for range rounds {
		var r Round
		if p.Script != "" {
			if r.Peer, result.Err = p.figure(ctx, w.peer, p.peer(w.Peer)); result.Err != nil {
				return result
			}
		}
		if r.Ours, result.Err = p.figure(ctx, w.ours, append([]string{p.Prismtop}, w.Ours...)); result.Err != nil {
			return result
		}
		r.Disturbed = r.Ours.Foreign > maxForeign || r.Peer.Foreign > maxForeign
		result.Rounds = append(result.Rounds, r)
	}
	return result
}

func (p Programs) peer(args []string) []string {
	return slices.Concat(p.Python, []string{p.Script}, args)
}

// figure runs a command and reads its figure.
func (p Programs) figure(ctx context.Context, read func([]byte) (Figure, error), command []string) (Figure, error) {
	out, err := output(ctx, command)
	if err != nil {
		return Figure{}, err
	}
	f, err := read(out)
	if err == nil && !(f.Median > 0) {
		err = fmt.Errorf("the figure is %g", f.Median)
	}
	if err != nil {
		return f, fmt.Errorf("read the output of %s: %w", strings.Join(command, " "), err)
	}
	return f, nil
}

// goodbye is the time a program has to end by itself when asked to.
const goodbye = 300 * time.Millisecond

// output returns a command's standard output. An error contains the last line of its
// standard error, or is that of ctx if it ends first; the command is then terminated
// with all its child processes.
func output(ctx context.Context, command []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	group := inGroup(cmd)
	cmd.Cancel = func() error { return group.end(false) }
	cmd.WaitDelay = goodbye
	out, err := cmd.Output()
	if ctx.Err() != nil {
		_ = group.end(true) // processes that ignored the signal or outlived their parent
		return nil, ctx.Err()
	}
	if err == nil {
		return out, nil
	}
	lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
	return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, lines[len(lines)-1])
}

// Versions are those of the peer, as reported by its info part.
type Versions struct{ Torch, Numpy, Python, Capability string }

// Versions queries the script.
func (p Programs) Versions(ctx context.Context) (Versions, error) {
	out, err := output(ctx, p.peer([]string{"--what", "info"}))
	if err != nil {
		return Versions{}, err
	}
	var doc struct {
		Info struct {
			Torch, Numpy, Python string
			Capability           []string `json:"cpu_capability"`
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return Versions{}, fmt.Errorf("read the versions of %s: %w", p.Script, err)
	}
	if doc.Info.Torch == "" {
		return Versions{}, errors.New("the script does not tell PyTorch's version")
	}
	return Versions{doc.Info.Torch, doc.Info.Numpy, doc.Info.Python, strings.Join(doc.Info.Capability, " ")}, nil
}
