// Package notice notifies a user who is looking elsewhere that a run has ended or stalled, by the
// terminal's bell or a desktop notification.
package notice

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// Ways are the ways to notify the user that a run finished, failed or stalled. They can be
// combined; 0 is none.
type Ways uint8

const (
	// Bell rings the terminal's bell.
	Bell Ways = 1 << iota
	// OSC9 is a desktop notification in iTerm2, WezTerm, Ghostty, Kitty and foot.
	OSC9
	// OSC777 is a desktop notification with a title in urxvt, foot, WezTerm and Ghostty.
	OSC777
)

// noticeNames are the names accepted by Parse.
var noticeNames = []struct {
	name string
	way  Ways
}{{"bell", Bell}, {"osc9", OSC9}, {"osc777", OSC777}}

// noNotices is the name for no notices.
const noNotices = "off"

// Parse parses a comma-separated list of names, or off.
func Parse(text string) (Ways, error) {
	if text == noNotices {
		return 0, nil
	}
	var ways Ways
next:
	for name := range strings.SplitSeq(text, ",") {
		for _, n := range noticeNames {
			if strings.TrimSpace(name) == n.name {
				ways |= n.way
				continue next
			}
		}
		return 0, fmt.Errorf("%q: must be off, or bell, osc9, osc777 or several of them with commas between", name)
	}
	return ways, nil
}

// Notifier creates notices of a run's events, one for each.
type Notifier struct {
	ways    Ways
	wrap    func(sequence string) string // for a multiplexer between program and terminal
	state   profiles.State
	stalled bool
}

// New returns a notifier for the terminal described by an environment.
func New(ways Ways, environ []string) Notifier {
	n := Notifier{ways: ways, wrap: func(s string) string { return s }}
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); {
		case value == "":
		case name == "TMUX":
			n.wrap = ansi.TmuxPassthrough
		case name == "STY":
			n.wrap = func(s string) string { return ansi.ScreenPassthrough(s, 0) }
		}
	}
	return n
}

// Notice returns the sequence to send for events since the previous snapshot, "" for none.
// Actions of the user are not events.
func (n *Notifier) Notice(s *profiles.Snapshot) string {
	if n.ways == 0 || s == nil {
		return ""
	}
	text := ""
	if s.State != n.state {
		n.state = s.State
		text = ending(s)
	}
	stalled := ""
	for _, a := range s.Alerts {
		if a.ID == profiles.StallAlert {
			stalled = a.What
		}
	}
	if stalled != "" && !n.stalled && text == "" {
		text = "stalled: " + stalled
	}
	n.stalled = stalled != ""
	if text == "" {
		return ""
	}
	return n.sequence(text)
}

// Missed returns the sequence to send about what happened before the first snapshot, "" for nothing.
func (n *Notifier) Missed(text string) string {
	if n.ways == 0 || text == "" {
		return ""
	}
	return n.sequence(text)
}

// ending describes how a run ended by itself, "" if it did not.
func ending(s *profiles.Snapshot) string {
	switch s.State {
	case profiles.Failed:
		return fmt.Sprintf("%s failed after %s: %s", s.Run.Object, words.Ran(s), words.FirstLine(s.Err))
	case profiles.Finished:
		text := fmt.Sprintf("%s finished after %s", s.Run.Object, words.Ran(s))
		if quality := words.QualityText(s); quality != "" {
			text += ", " + quality
		}
		return text
	}
	return ""
}

// maxNotice bounds the text of a notice, in cells.
const maxNotice = 200

// sequence encodes a text for the notifier's ways.
func (n *Notifier) sequence(text string) string {
	text = chart.Cut(words.Printed(strings.ReplaceAll(text, ";", ",")), maxNotice)
	var b strings.Builder
	if n.ways&OSC9 != 0 {
		b.WriteString(n.wrap(ansi.Notify("prismtop: " + text)))
	}
	if n.ways&OSC777 != 0 {
		b.WriteString(n.wrap("\x1b]777;notify;prismtop;" + text + "\a"))
	}
	if n.ways&Bell != 0 {
		b.WriteString("\a")
	}
	return b.String()
}

// Tell writes the notice of a snapshot to w if it is a terminal.
func (n *Notifier) Tell(w io.Writer, s *profiles.Snapshot) {
	if text := n.Notice(s); text != "" && terminal.IsTerminal(w) {
		_, _ = io.WriteString(w, text)
	}
}
