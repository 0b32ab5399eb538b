package screen

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// restarting restarts the run. A restart discards its results, so it asks first: any other
// key than its own keeps the run.
type restarting struct {
	*seat
	*asking
}

// mayAsk restarts the run if nothing would be lost. Otherwise, unless the run refuses, it
// returns true: the question is to be asked.
func (r *restarting) mayAsk() bool {
	if !r.do(profiles.Command{Kind: profiles.RestartCommand, Try: true}) {
		return false
	}
	if len(r.lost()) > 0 {
		return true
	}
	r.startAgain()
	return false
}

// lost describes what a restart discards, nil before the first iteration.
func (r *restarting) lost() []string {
	s := r.snap
	if s == nil || s.Index == 0 {
		return nil
	}
	kept := s.InCheckpoint()
	if s.Run.Checkpoint != "" { // which is written before a restart
		kept = s.Index
	}
	var lost []string
	switch left := unit.About(s.Index-kept, "iteration", "iterations"); {
	case kept >= s.Index:
		lost = append(lost, "the picture on the screen")
	case kept > 0:
		lost = append(lost, left+" since its checkpoint, and the picture")
	default:
		lost = append(lost, left+", their weights and the picture")
	}
	if n := len(s.Effects); n > 0 {
		lost = append(lost, unit.About(int64(n), "effect", "effects")+" of changes, and the marks in the charts")
	}
	return lost
}

func (r *restarting) press(key string) (tea.Cmd, outcome) {
	switch {
	case r.keys.Is("restart", key): // held down or pressed twice, it must not discard the run
		return nil, held
	case key == "y" || key == "Y":
		r.startAgain()
	case r.keys.Is("save", key):
		return r.announce(savingPicture, profiles.Command{Kind: profiles.SaveCommand}), held
	default:
		r.say("not restarted")
	}
	return nil, closed
}

// startAgain restarts the run. The run reports the outcome.
func (r *restarting) startAgain() {
	if r.do(profiles.Command{Kind: profiles.RestartCommand}) {
		r.say(restartingRun)
	}
}

func (r *restarting) box(in room) *chart.Canvas {
	w := min(64, in.w-4)
	lines := []string{"Restart? This run loses:"}
	for _, l := range r.lost() {
		lines = append(lines, "  "+l)
	}
	stays := ""
	if run, kept := &r.snap.Run, &r.snap.Kept; run.Checkpoint != "" {
		stays = fmt.Sprintf("Its checkpoint stays in %s; the next run writes to %s.", run.Checkpoint,
			run.NextCheckpoint)
	} else if kept.Path != "" {
		stays = fmt.Sprintf("%s has its first %s.", kept.Path, unit.About(kept.Iterations, "iteration", "iterations"))
	}
	if stays != "" {
		lines = append(lines, words.Wrap(visible.Text(stays), w)...)
	}
	if next := r.waiting(); len(next) > 0 {
		lines = append(lines, words.Wrap("The next run has "+strings.Join(next, ", ")+".", w)...)
	}
	if most := max(1, in.h-5); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("… and %d more lines: %s", len(lines)-most+1,
			r.keys.Say(settingsLists)))
	}
	return in.dialog("Restart", "", w, len(lines)+2, func(c *chart.Canvas) {
		for y, l := range lines {
			c.Text(0, y, chart.Cut(l, w), theme.Plain)
		}
		x, y := 0, len(lines)+1
		keys := []pane.Hint{{Key: "y", Does: "restart"}, {Key: r.keys.Of("save"), Does: "save the picture first"},
			{Key: "any other key", Does: "leaves it"}}
		if !r.keys.can(profiles.SaveCommand) {
			keys = slices.Delete(keys, 1, 2)
		}
		for _, h := range keys {
			x = c.Text(x, y, h.Key, theme.Key)
			x = c.Text(x+1, y, h.Does, theme.Plain) + 3
		}
	})
}
