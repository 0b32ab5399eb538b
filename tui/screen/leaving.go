package screen

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/theme"
)

// Leaving the screen: how the run goes on or ends, the error that Run returns, and the question whether to quit.

// departure is how this screen leaves the run: with its end or without, after how long a
// wait, and what Run returns then.
type departure struct {
	seat  *seat
	run   *asking
	leave Leave

	left        chan struct{} // closed when leaving the screen
	interrupted bool
	ending      bool      // the run was told to stop
	stopped     time.Time // when
	closed      bool      // there are no more snapshots
	gone        error     // why this screen left a run that continues; nil if it did not
	crash       error
}

// Leave says how a screen leaves a run that goes on without it. The zero value is a screen with
// which the run ends.
type Leave struct {
	// Text is printed when the user leaves the run going, in place of the summary; empty if that is
	// not possible.
	Text string
	// Stays is why the terminal cannot be left, which is said instead; empty if it can.
	Stays string
	// OnHangup leaves it going when the terminal is lost.
	OnHangup bool
	// Always leaves it going unless the user ends it: the run is in another process.
	Always bool
	// Greeting is said when the run appears, and Missed is notified of then, if Options.Notices asks
	// for that: what would have been while a screen was there.
	Greeting, Missed string
}

// Leave releases the waiting commands.
func (d *departure) Leave() {
	select {
	case <-d.left:
	default:
		close(d.left)
	}
}

// Left returns a channel that is closed when the screen is left.
func (d *departure) Left() <-chan struct{} { return d.left }

// OutlivesTerminal reports whether the run goes on when the terminal is lost.
func (d *departure) OutlivesTerminal() bool { return d.leave.OnHangup }

// TerminalLost leaves the run going. The program has ended.
func (d *departure) TerminalLost() { d.gone = control.ErrHungUp }

// Failure returns a panic, why the run goes on without the screen, or ErrInterrupted after ctrl+c.
func (d *departure) Failure() error {
	switch {
	case d.crash != nil:
		return d.crash
	case d.gone != nil:
		return d.gone
	case d.interrupted:
		return control.ErrInterrupted
	}
	return nil
}

// lastLimit is the longest wait for the run's last snapshot. With the limits of program and
// terminal.DrainLimit, leaving takes less than two seconds. stopLimit is the longest from the key that stops the
// run, which a terminal that takes everything leaves for it: a long iteration is cut short.
const (
	lastLimit = 300 * time.Millisecond
	stopLimit = 1100 * time.Millisecond
)

// lastWait returns how long the run's last snapshot is awaited.
func (d *departure) lastWait(now time.Time) time.Duration {
	if d.stopped.IsZero() {
		return lastLimit
	}
	return max(lastLimit, stopLimit-now.Sub(d.stopped))
}

// awaitLast takes snapshots until the run has ended or lastWait has passed.
func (d *departure) awaitLast() {
	timer := time.NewTimer(d.lastWait(time.Now()))
	defer timer.Stop()
	for d.run.snap != nil && !d.run.over() {
		select {
		case s, ok := <-d.seat.source.Snapshots():
			if !ok {
				return
			}
			if s != nil {
				d.run.snap = s
			}
		case <-timer.C:
			return
		}
	}
}

// quit ends the run, if this screen may, and leaves.
func (d *departure) quit() tea.Cmd {
	switch {
	case d.seat.keys.can(profiles.StopCommand):
		d.ending, d.stopped = true, time.Now()
		d.seat.do(profiles.Command{Kind: profiles.StopCommand})
	case d.seat.keys.can(profiles.LeaveCommand) && !d.run.over(): // another screen operates the run
		d.gone = control.ErrDetached
	}
	d.Leave()
	return tea.Quit
}

// interrupt leaves as ctrl+c does.
func (d *departure) interrupt() tea.Cmd {
	d.interrupted = true
	if d.leave.Always {
		d.Leave()
		return tea.Quit
	}
	return d.quit()
}

// goesOn reports whether the run goes on without the screen, which has ended.
func (d *departure) goesOn() bool {
	return d.gone != nil || d.leave.Always && !d.ending && !d.closed && d.run.snap != nil && !d.run.over()
}

// detach leaves the run going.
func (d *departure) detach() tea.Cmd {
	if d.leave.Stays != "" {
		d.seat.complain(d.leave.Stays)
		return nil
	}
	d.gone = control.ErrDetached
	d.Leave()
	return tea.Quit
}

// losesWeights reports whether the end of the run discards what it has learnt: it writes no checkpoint then.
func (d *departure) losesWeights() bool {
	s := d.run.snap
	return s != nil && s.Index > s.InCheckpoint() && s.Run.Checkpoint == "" &&
		d.seat.keys.can(profiles.CheckpointCommand)
}

// quitting asks whether to quit; any other key than its own stays.
type quitting struct {
	*departure
	pause *pausing
}

func (q quitting) press(key string) (tea.Cmd, outcome) {
	keys := q.seat.keys
	switch {
	case key == "y" || key == "Y" || keys.Is("quit", key) && !q.onlyY():
		return q.quit(), held
	case keys.Is("detach", key):
		return q.detach(), held
	case q.losesWeights() && keys.Is("checkpoint", key):
		return q.seat.announce(writingCheckpoint, profiles.Command{Kind: profiles.CheckpointCommand}), closed
	}
	return nil, closed
}

// onlyY reports whether the key that asked does not answer, too: pressed twice from habit,
// it would end a run that goes on without this screen.
func (q quitting) onlyY() bool { return q.leave.Always && !q.run.over() }

func (q quitting) box(in room) *chart.Canvas {
	s, keys := q.run.snap, q.seat.keys
	question := "Quit? The run ends here."
	switch {
	case q.run.over():
		question = "Quit? The run is over."
	case s != nil && q.pause.state() == profiles.Running:
		question = "Quit? The run stops after this iteration."
	}
	if s != nil && s.Run.Prints && !q.run.over() {
		question = "End " + s.Run.Object + "? It gets ctrl+c."
	}
	if s != nil && s.Run.GoesOn && !q.run.over() {
		question = "Leave " + s.Run.Object + "? It trains on, as before prismtop came."
	}
	lines := []string{question}
	if q.losesWeights() {
		goes := weightsGo
		if kept := s.InCheckpoint(); kept > 0 {
			goes = profiles.Advice(fmt.Sprintf(weightsSinceGo, kept))
		}
		lines = append(lines, keys.Say(goes))
	}
	w, quit, detach := 0, keys.Of("quit")+" y", keys.Of("detach")
	if q.onlyY() {
		quit = "y"
	}
	for _, l := range lines {
		w = max(w, chart.Width(l))
	}
	if keys.can(profiles.LeaveCommand) {
		w = max(w, chart.Width(quit+" quit   "+detach+" leaves it going   any other key stays"))
	}
	return in.dialog("Quit", "", w, len(lines)+2, func(c *chart.Canvas) {
		for y, l := range lines {
			c.Text(0, y, l, theme.Plain)
		}
		y := len(lines) + 1
		x := c.Text(0, y, quit, theme.Key)
		x = c.Text(x+1, y, "quit", theme.Plain)
		if keys.can(profiles.LeaveCommand) {
			x = c.Text(x+3, y, detach, theme.Key)
			x = c.Text(x+1, y, "leaves it going", theme.Plain)
		}
		x = c.Text(x+3, y, "any other key", theme.Key)
		c.Text(x+1, y, "stays", theme.Plain)
	})
}
