package branches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/visible"
	"prismtop/sim/bench/apart"
	"prismtop/sim/cyto/tasks"
)

// Outcome is a round of a task on a branch.
type Outcome struct {
	Round tasks.Round
	Git   *tasks.GitInfo // nil if the branch was not found
}

// Bounds of what is read from a program.
const (
	maxResult = 4 << 20
	maxOutput = 4 << 10
)

// errLimit is the cause of a context that ended with a task's time.
var errLimit = errors.New("the time limit has passed")

// Run runs a round of a task. What goes wrong is the round's error. If ctx ends, the program and
// all that it started are killed; the worktree is removed in any case.
func (r *Repository) Run(ctx context.Context, t *tasks.Task, round, position int) (out Outcome) {
	out.Round = tasks.Round{Round: round, Position: position, Timestamp: tasks.Stamp(time.Now())}
	failed := func(err error) Outcome {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		out.Round = tasks.Failed(out.Round, err)
		return out
	}
	commit, err := r.Resolve(ctx, t.Branch)
	if err != nil {
		return failed(fmt.Errorf("failed to check out: %w", err))
	}
	out.Git = r.info(ctx, t.Branch, commit)
	p, remove, err := r.worktree(ctx, commit)
	if err != nil {
		return failed(fmt.Errorf("failed to check out branch %s: %w", t.Branch, err))
	}
	err = r.child(ctx, t, p, &out.Round)
	if left := remove(); left != nil && err == nil {
		err = fmt.Errorf("the worktree %s cannot be removed: %w", p.tree, left)
	}
	if err != nil {
		return failed(err)
	}
	return out
}

// child runs the program of a task in its worktree, and reads its result.
func (r *Repository) child(ctx context.Context, t *tasks.Task, p place, round *tasks.Round) error {
	j, err := newJob(t, round.Round, p)
	if err != nil {
		return err
	}
	words, err := r.command(t, j)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(j.Folder, 0o700), os.WriteFile(j.Job, text, 0o600)); err != nil {
		return err
	}
	limited := ctx
	if r.o.Limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, r.o.Limit, errLimit)
		defer cancel()
	}
	cmd := exec.CommandContext(limited, words[0], words[1:]...)
	cmd.Dir, cmd.Env = p.tree, append(append(environment(), "PWD="+p.tree), j.environment()...)
	output := apart.Tail{Most: maxOutput}
	cmd.Stdout, cmd.Stderr = &output, &output
	kills, counted := machine.OOMKills()
	began := time.Now()
	ended := apart.Run(cmd)
	round.Process = &tasks.Process{Seconds: time.Since(began).Seconds()}
	if s := cmd.ProcessState; s != nil {
		round.Process.CPUSeconds = (s.UserTime() + s.SystemTime()).Seconds()
	}
	unread := readResult(ctx, j.Output, t.Kind, round)
	if ended == nil && unread == nil {
		return nil
	}
	round.Output = visible.Lines(strings.TrimSpace(output.String()))
	now, _ := machine.OOMKills()
	return r.why(limited, words[0], ended, unread, cmd.ProcessState, output.String(), counted && now > kills)
}

// command returns the words of a task's command.
func (r *Repository) command(t *tasks.Task, j *job) ([]string, error) {
	for _, text := range []string{t.Command, r.o.Command} {
		if text == "" {
			continue
		}
		words, err := parse(text)
		return with(words, j), err
	}
	return adapter(j)
}

// why says why a task failed: its program, or what it left as its result.
func (r *Repository) why(limited context.Context, program string, ended, unread error, state *os.ProcessState,
	output string, kernel bool) error {
	var missing *exec.Error
	switch {
	case errors.Is(context.Cause(limited), errLimit) && ended != nil:
		return fmt.Errorf("%s did not end within %s: it was killed with all that it started", program, r.o.Limit)
	case errors.As(ended, &missing) || state == nil && errors.Is(ended, fs.ErrNotExist):
		return fmt.Errorf("%s: not found: must be in PATH or in the branch: activate the environment that has it",
			program)
	case ended == nil:
		return unread
	}
	reason, memory := apart.OutOfMemory(state, output)
	var said *resultError
	switch {
	case memory && kernel:
		return fmt.Errorf("%s: out of memory: killed by the kernel: reduce batch_size", program)
	case memory:
		return fmt.Errorf("%s: out of memory: %s: reduce batch_size", program, reason)
	case errors.As(unread, &said):
		return said
	}
	if last := apart.LastLine(output); last != "" {
		return fmt.Errorf("%s: %w: %s", program, ended, visible.Text(last))
	}
	return fmt.Errorf("%s: %w", program, ended)
}

// resultError is a failure that a program reported itself.
type resultError struct{ text string }

func (e *resultError) Error() string { return e.text }

// readResult reads the result of a program, also the part that a failed one left.
func readResult(ctx context.Context, path string, kind tasks.Kind, round *tasks.Round) error {
	data, err := inputfile.Read(ctx, path, maxResult)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the command wrote no result: it must write it to {output}, as JSON")
	case err != nil:
		return fmt.Errorf("the result of the command: %w", err)
	}
	all, err := tasks.Decode(data)
	switch {
	case err != nil:
		return fmt.Errorf("the result of the command: %w", err)
	case len(all) != 1:
		return fmt.Errorf("the result of the command has %d tasks: must be the one that was run", len(all))
	}
	result := &all[0]
	if err := result.Metrics.Check(kind, result.Success); err != nil {
		return fmt.Errorf("the result of the command: %w", err)
	}
	round.Metrics, round.Success = result.Metrics, result.Success
	if !result.Success {
		text := "the command reported a failure"
		if result.Error != nil && *result.Error != "" {
			text = visible.Text(*result.Error)
		}
		return &resultError{text}
	}
	return nil
}
