package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles/settings"
)

// This file asks the run in the other process; see tui/control for the methods.

// Errors of requests that got no answer.
var (
	errEnded  = errors.New("the session has ended")
	errSilent = errors.New("the session does not answer: its process is stopped, or busy")
)

// write sends a command.
func (c *Client) write(asked *command) error {
	f, err := message(commandFrame, asked)
	if err != nil {
		return err
	}
	if len(f) > largestCommand {
		return fmt.Errorf("%s: it is too long", asked.Do)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.net.SetWriteDeadline(time.Now().Add(answerLimit))
	_, err = c.net.Write(f)
	if err != nil {
		_ = c.net.Close() // a part of a frame may be on its way
		return errSilent
	}
	return nil
}

// ask sends a command and waits for its result for a time, 0 for as long as it takes.
func (c *Client) ask(asked command, limit time.Duration) error {
	answer := make(chan error, 1)
	c.mu.Lock()
	c.n++
	asked.N = c.n
	c.waiting[asked.N] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, asked.N)
	}()
	if err := c.write(&asked); err != nil {
		return err
	}
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-answer:
		return err
	case <-c.done:
		return errEnded
	case <-late:
		return errSilent
	}
}

// send sends a command whose result the log has.
func (c *Client) send(asked command) {
	c.mu.Lock()
	c.n++
	asked.N = c.n
	c.mu.Unlock()
	_ = c.write(&asked) // the end of the connection shows
}

// replied hands a result to who waits for it.
func (c *Client) replied(body []byte) error {
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("an answer of the session makes no sense: %w", err)
	}
	var err error
	if r.Error != "" {
		err = errors.New(r.Error)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[r.N]; ok {
		answer <- err
		delete(c.waiting, r.N)
	}
	return nil
}

// SetMany changes settings.
func (c *Client) SetMany(sets []settings.Assignment) error {
	return c.ask(command{Do: "set", Sets: sets}, answerLimit)
}

// Decide changes settings by a press of a key.
func (c *Client) Decide(sets []settings.Assignment) error {
	return c.ask(command{Do: "decide", Sets: sets}, answerLimit)
}

// Check returns the error that a restart would return for settings.
func (c *Client) Check(sets []settings.Assignment) error {
	return c.ask(command{Do: "check", Sets: sets}, 0)
}

// Pause pauses the run, or resumes it.
func (c *Client) Pause(paused bool) { c.send(command{Do: "pause", On: paused}) }

// Step runs one iteration of a paused run.
func (c *Client) Step() { c.send(command{Do: "step"}) }

// Restart restarts the run.
func (c *Client) Restart() error { return c.ask(command{Do: "restart"}, answerLimit) }

// CanRestart returns the error that Restart would return.
func (c *Client) CanRestart() error { return c.ask(command{Do: "can restart"}, answerLimit) }

// StartAblation starts an ablation.
func (c *Client) StartAblation() error { return c.ask(command{Do: "ablation"}, answerLimit) }

// StartFactorial starts an ablation of every combination of factors.
func (c *Client) StartFactorial(factors []settings.Factor) error {
	return c.ask(command{Do: "factorial", Factors: factors}, answerLimit)
}

// StopAblation ends an ablation.
func (c *Client) StopAblation() { c.send(command{Do: "stop ablation"}) }

// Replicate starts a replication.
func (c *Client) Replicate(before []settings.Assignment, iteration int64) error {
	return c.ask(command{Do: "replicate", Sets: before, Iteration: iteration}, answerLimit)
}

// Fork starts a fork.
func (c *Client) Fork(before []settings.Assignment, iteration int64) error {
	return c.ask(command{Do: "fork", Sets: before, Iteration: iteration}, answerLimit)
}

// Save saves the result of the run, in the folder in which that was begun.
func (c *Client) Save() error { return c.ask(command{Do: "save"}, answerLimit) }

// Checkpoint writes the state of the run, likewise.
func (c *Client) Checkpoint() error { return c.ask(command{Do: "checkpoint"}, answerLimit) }

// Clear clears the caches of the run.
func (c *Client) Clear() error { return c.ask(command{Do: "clear"}, answerLimit) }

// Stop ends the run.
func (c *Client) Stop() { c.send(command{Do: "stop"}) }

// Annotate writes a note.
func (c *Client) Annotate(text string) error {
	return c.ask(command{Do: "note", Text: text}, answerLimit)
}

// Operate takes the lease, asks for it if another screen has it, or returns it.
func (c *Client) Operate(on bool) { c.send(command{Do: "operate", On: on}) }

// Attend reports a user's input.
func (c *Client) Attend() {
	c.mu.Lock()
	now := time.Now()
	due := now.Sub(c.attended) >= attendEvery
	if due {
		c.attended = now
	}
	c.mu.Unlock()
	if due {
		c.send(command{Do: "attend"})
	}
}
