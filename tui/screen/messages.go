package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Every message that the screen sends itself. Keys, sizes and the terminal's
// answers are Bubble Tea's own.

// snapshotMsg brings the newest snapshot.
type snapshotMsg struct{ *profiles.Snapshot }

// closedMsg says that no snapshot will come any more: the run's goroutine ended.
type closedMsg struct{}

// savedMsg says whether the reconstruction will be saved; the log tells when it
// was, and where.
type savedMsg struct{ err error }

// checkedMsg says what is wrong with a setting of the next run.
type checkedMsg struct {
	set settings.Assignment
	err error
}

// awakeMsg says that the program goes on after ctrl+z, or why it did not stop.
type awakeMsg struct{ err error }

// secondMsg comes once a second: costs are summed up, old messages go.
type secondMsg time.Time

// nextSnapshot waits until due, then for the newest snapshot. Nothing outside
// sends to the program: a send would block behind a terminal that is slow.
func nextSnapshot(from <-chan *profiles.Snapshot, due time.Duration, left <-chan struct{}) tea.Cmd {
	return func() tea.Msg {
		timer := time.NewTimer(due)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-left:
			return nil
		}
		select {
		case s, ok := <-from:
			if !ok {
				return closedMsg{}
			}
			return snapshotMsg{s}
		case <-left:
			return nil
		}
	}
}

// everySecond waits a second.
func everySecond(left <-chan struct{}) tea.Cmd {
	return func() tea.Msg {
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		select {
		case t := <-timer.C:
			return secondMsg(t)
		case <-left:
			return nil
		}
	}
}
