package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file declares all messages that the screen sends itself. Keys, sizes and answers of the
// terminal are Bubble Tea's own messages.

// snapshotMsg delivers the newest snapshot.
type snapshotMsg struct{ *profiles.Snapshot }

// closedMsg reports that there are no more snapshots: the run's goroutine has ended.
type closedMsg struct{}

// answeredMsg is the first answer to a command, nil if it was accepted; the log has its outcome.
type answeredMsg struct {
	kind profiles.CommandKind
	err  error
}

// exportedMsg reports the files of an export, and why there are none or what they lack.
type exportedMsg struct {
	format string
	paths  []string
	err    error
}

// checkedMsg reports the validity of a setting for the next run.
type checkedMsg struct {
	set settings.Assignment
	err error
}

// awakeMsg reports that the program was resumed after ctrl+z, or why it was not suspended.
type awakeMsg struct{ err error }

// secondMsg arrives once a second to sum the costs and drop old messages.
type secondMsg time.Time

func second(t time.Time) tea.Msg { return secondMsg(t) }

// nextSnapshot waits until due, then for the newest snapshot. Nothing outside sends messages to
// the program, because a send would block behind a slow terminal.
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
