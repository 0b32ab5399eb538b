package lines

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/notice"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// Plain reports a run in single lines of text, for runs without a screen: rewritten in place on a
// terminal, to which it also sends the notices of o, otherwise a new line every interval. It returns the newest
// snapshot, nil if there was none, when the run ends, its snapshots end, or ctx is done. It only reads snapshots and
// never delays the run.
func Plain(ctx context.Context, w io.Writer, source control.Source, o Options,
	interval time.Duration) *profiles.Snapshot {
	o = o.withDefaults()
	p := plain{w: w, quiet: o.Quiet, rewrite: terminal.IsTerminal(w), notices: notice.New(o.Notices, o.Environ)}
	tick := time.NewTicker(max(interval, terminal.FramePeriod))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.end()
			return p.snap
		case s, ok := <-source.Snapshots():
			if ok && s != nil {
				p.take(s)
			}
			if !ok || s != nil && words.Ended(s.State) {
				p.end()
				return p.snap
			}
		case <-tick.C:
			p.report()
		}
	}
}

type plain struct {
	w        io.Writer
	quiet    bool
	rewrite  bool
	snap     *profiles.Snapshot
	reported *profiles.Snapshot
	width    int // of the line on the terminal
	open     bool
	notices  notice.Notifier
}

// take adopts a snapshot and prints new lines of the log.
func (p *plain) take(s *profiles.Snapshot) {
	for _, l := range words.NewLines(p.snap, s) {
		if p.quiet {
			break
		}
		p.clear()
		fmt.Fprintf(p.w, "%s %s\n", unit.Clock(l.At), words.Printed(l.Text))
	}
	p.notices.Tell(p.w, s)
	first := p.snap == nil
	p.snap = s
	if first {
		p.report()
	}
}

// report prints the newest snapshot unless it is already printed.
func (p *plain) report() {
	if p.quiet || p.snap == nil || p.snap == p.reported {
		return
	}
	text := Progress(p.snap)
	if !p.rewrite {
		p.reported = p.snap
		fmt.Fprintln(p.w, text)
		return
	}
	if f, ok := p.w.(interface{ Fd() uintptr }); ok {
		if !terminal.InForeground(f.Fd()) { // the shell's prompt is shown
			return
		}
		if w, _, err := term.GetSize(f.Fd()); err == nil && w > 1 {
			text = chart.Cut(text, w-1)
		}
	}
	p.reported = p.snap
	width := chart.Width(text)
	fmt.Fprintf(p.w, "\r%s%s", text, strings.Repeat(" ", max(0, p.width-width)))
	p.width, p.open = width, true
}

// clear erases the rewritten line so that others can be printed.
func (p *plain) clear() {
	if p.open {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width, p.open = 0, false
		p.reported = nil
	}
}

func (p *plain) end() {
	p.report()
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}

// iterating is how long a run that is over iterated: a program takes its time to end after its last step.
func iterating(s *profiles.Snapshot) time.Duration {
	n := len(s.Recent)
	if n == 0 {
		return s.Elapsed
	}
	return min(s.Elapsed, time.Duration(s.Recent[n-1].Start+s.Recent[n-1].Total))
}

// Progress returns a run's progress in one line: the unit of work and iteration reached, the rate
// (of the whole run after it ended), losses and quality, and the time left if known. A paused run has neither rate
// nor time left.
func Progress(s *profiles.Snapshot) string {
	var parts []string
	if s.State != profiles.Running {
		parts = append(parts, s.State.String())
	}
	resumes := s.Index == 0 && s.Run.Resumed > 0 // no iteration says where it is
	switch {
	case resumes:
		parts = append(parts, fmt.Sprintf("resumed after iter %d", s.Run.Resumed))
	case s.Index == 0 && s.State != profiles.Running: // nothing is known of it yet
	case !s.InUnits():
		parts = append(parts, s.Stage())
	case s.Run.AllUnits() == 0: // their number is not known
		parts = append(parts, fmt.Sprintf("%s %d", s.Run.Schema.Unit.One, s.Unit+1))
	default:
		parts = append(parts, fmt.Sprintf("%s %d/%d", s.Run.Schema.Unit.One, min(s.Unit+1, s.Run.AllUnits()),
			s.Run.AllUnits()))
	}
	pace := s.Rate
	if words.Ended(s.State) {
		pace = float64(s.Index-s.Run.Resumed) / iterating(s).Seconds()
	}
	if !resumes && (s.Index > 0 || s.State == profiles.Running) {
		parts = append(parts, fmt.Sprintf("iter %d", s.Index))
		if s.State != profiles.Paused {
			parts = append(parts, strings.TrimSpace(unit.Rate(pace)))
		}
	}
	for _, l := range words.CurrentLosses(s) {
		parts = append(parts, l.Text())
	}
	if text := words.QualityText(s); text != "" {
		parts = append(parts, text)
	}
	parts = append(parts, unit.Clock(s.Elapsed))
	if s.ETAKnown && s.State != profiles.Paused && !words.Ended(s.State) {
		parts = append(parts, "left "+unit.Estimate(s.ETA))
	}
	if s.Err != "" {
		parts = append(parts, words.FirstLine(s.Err))
	}
	return words.Printed(strings.Join(parts, " · "))
}
