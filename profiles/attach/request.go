package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles"
)

// This file asks the run in the other process for commands.

// Errors of requests that got no answer.
var (
	errEnded   = errors.New("the session has ended")
	errTooLong = errors.New("it is too long")
	errSilent  = errors.New("the session does not answer: its process is stopped, or busy")
)

// write sends a message of at most the size of a command.
func (c *Client) write(k kind, v any) error {
	f, err := message(k, v)
	if err != nil {
		return err
	}
	if len(f) > largestCommand {
		return errTooLong
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

// Able returns the commands that this screen may ask for now, of those that the run of a snapshot carries out.
func (c *Client) Able(of *profiles.Snapshot) profiles.Kinds {
	return able(of, c.Role(), c.Control().Operates)
}

// unanswered are the commands whose answer nobody waits for: their outcome shows.
var unanswered = profiles.Kinds{
	profiles.PauseCommand, profiles.ResumeCommand, profiles.StepCommand, profiles.StopAblationCommand,
	profiles.StopCommand,
	profiles.OperateCommand, profiles.HandOverCommand, profiles.AttendCommand,
}

// Do passes a command on to the run, and returns its first answer.
func (c *Client) Do(asked profiles.Command) error {
	switch {
	case asked.Kind == profiles.AttendCommand && !c.attends(time.Now()):
		return nil
	case unanswered.Has(asked.Kind) && !asked.Try:
		return c.write(commandFrame, &asked)
	case asked.Long():
		return c.ask(&asked, 0)
	}
	return c.ask(&asked, answerLimit)
}

// attends reports whether a user's input is to be reported again.
func (c *Client) attends(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.attended) < attendEvery {
		return false
	}
	c.attended = now
	return true
}

// ask sends a command and waits for its result for a time, 0 for as long as it takes.
func (c *Client) ask(asked *profiles.Command, limit time.Duration) error {
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
	if err := c.write(commandFrame, asked); err != nil {
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
		return profiles.ErrUnanswered
	}
}

// replied hands a result to who waits for it.
func (c *Client) replied(body []byte) error {
	var r profiles.Answer
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("an answer of the session makes no sense: %w", err)
	}
	var err error
	if r.Refused != "" {
		err = errors.New(r.Refused)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[r.N]; ok {
		answer <- err
		delete(c.waiting, r.N)
	}
	return nil
}
