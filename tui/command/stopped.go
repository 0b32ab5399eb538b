package command

import (
	"os"
	"time"

	"prismtop/profiles"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
)

// A run without a screen that the shell stops (ctrl+z): it pauses first, and goes on with the process.

// pauseWhileStopped pauses the run whenever the shell stops the process, until end is called.
func pauseWhileStopped(show cli.Live) (end func()) {
	return terminal.PauseWhileStopped(func(again <-chan os.Signal) (goOn func()) {
		is := func(state profiles.State) bool { s := show.Aggregator.Last(); return s != nil && s.State == state }
		if !is(profiles.Running) || show.Do(profiles.Command{Kind: profiles.PauseCommand}) != nil {
			return func() {}
		}
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for pressed := false; !pressed && is(profiles.Running); {
			select {
			case <-look.C:
			case <-again:
				pressed = true
			}
		}
		return func() { _ = show.Do(profiles.Command{Kind: profiles.ResumeCommand}) }
	})
}
