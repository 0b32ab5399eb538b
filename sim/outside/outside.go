// Package outside is a training loop in another process as a workload: its Iterate waits for the loop's next step. What
// the loop measures and what it can switch is in its greeting, from which the schema and
// the table of settings are made.
package outside

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"prismtop/profiles/loop"
	"prismtop/profiles/settings"
	"prismtop/sim/workload"
)

// Name is the workload's name.
const Name = "python"

// Loop is a loop that greeted.
type Loop struct {
	Ring     *loop.Ring
	Greeting *loop.Greeting

	// Over is closed once the program has ended, and Failure then returns why it failed, nil if it did not. nil are
	// those of a program that was not started by this process, whose end is noticed by its process.
	Over    <-chan struct{}
	Failure func() error

	// Peers are the other ranks of the training, if it has several, by rank. Locked is why their settings cannot
	// change, empty if they can: one of them is not on this machine.
	Peers  []Peer
	Locked string

	// Again returns the loop that a launcher has started in place of one whose process has ended, nil if there is none
	// yet. nil is that of a loop that no launcher starts again.
	Again func(ctx context.Context, after *loop.Ring) *Loop

	// Unwatched is set once the module has taken its hooks back: the program goes on.
	Unwatched bool

	// Notes are lines for the log.
	Notes []string
}

// Maker makes the one task of a loop.
type Maker struct{ *Loop }

type script string

// Name returns the script's name.
func (s script) Name() string { return string(s) }

// Load has nothing to read: the program has its own inputs.
func (m Maker) Load(context.Context, settings.Values) (workload.Inputs, error) {
	return script(filepath.Base(m.Greeting.Script)), nil
}

// SameInputs returns true: the loop has its inputs.
func (Maker) SameInputs(_, _ settings.Values) bool { return true }

// Reads returns false: no file is read.
func (Maker) Reads(settings.Values) bool { return false }

// Check refuses what the loop said that it refuses.
func (m Maker) Check(v settings.Values, key string) error {
	for i := range m.Greeting.Knobs {
		k := &m.Greeting.Knobs[i]
		if k.Key != key {
			continue
		}
		value := loopValue(k, v)
		if why := k.Refused[value]; why != "" {
			return &settings.KeyError{Key: key, Err: fmt.Errorf("%s = %s: %s", key, value, why)}
		}
	}
	return nil
}

// FitsBeside returns false: a program runs once.
func (Maker) FitsBeside(settings.Values, int64) bool { return false }

var errOnce = errors.New("the program cannot be started again from here: start prismtop python again")

// New follows the loop from its next step.
func (m Maker) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	if m.Ring == nil {
		return nil, errOnce
	}
	t := &task{Loop: m.Loop, name: in.Name(), began: m.Ring.Began()}
	t.schema = Schema(m.Greeting)
	t.settings = initial(m.Greeting, v.Table())
	t.ranks = newRanks(m.Loop, false)
	t.stopBeating = t.beat()
	err := t.Apply(ctx, v) // what the command line asks for
	if errors.As(err, new(*apartError)) {
		t.waiting, t.why, err = &v, err, nil
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}
