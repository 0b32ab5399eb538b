package screen

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// ownLog holds the lines of the log that are this screen's own: output of other code,
// exports, refusals that are too long for the footer.
type ownLog struct {
	run    *asking
	tiles  *tiling
	footer *answers

	stray   *terminal.Stray // what other code prints to the terminal; nil if the output is not the process's own
	printed []profiles.LogLine
}

// maxPrinted is the maximum number of own lines kept.
const maxPrinted = 200

// heard returns what other code printed to the terminal since the last call.
func (o *ownLog) heard() []string {
	if o.stray == nil {
		return nil
	}
	lines, lost := o.stray.Take()
	if lost > 0 {
		lines = append([]string{"(" + unit.About(int64(lost), "line", "lines") + " lost)"}, lines...)
	}
	for i, text := range lines {
		lines[i] = "printed: " + words.Printed(strings.TrimSpace(text))
	}
	return lines
}

// within returns a snapshot whose log includes the own lines.
func (o *ownLog) within(s *profiles.Snapshot) *profiles.Snapshot {
	if len(o.printed) == 0 {
		return s
	}
	with := *s
	with.Log = slices.Concat(s.Log, o.printed)
	slices.SortStableFunc(with.Log, func(a, b profiles.LogLine) int { return int(a.At - b.At) })
	return &with
}

// addLine adds a line, at the present time of the run.
func (o *ownLog) addLine(l profiles.LogLine) {
	if o.run.snap != nil {
		l.At = o.run.snap.Elapsed
	}
	o.printed = append(o.printed, l)
	o.printed = o.printed[max(0, len(o.printed)-maxPrinted):]
}

// showLines shows new lines in the panes.
func (o *ownLog) showLines() {
	if s := o.run.snap; s != nil {
		o.tiles.show(o.within(s))
	}
}

// overhear shows what other code printed to the terminal, and the last of it in the footer.
func (o *ownLog) overhear() {
	lines := o.heard()
	for _, text := range lines {
		o.addLine(profiles.LogLine{Text: text})
	}
	if len(lines) > 0 {
		o.footer.complain(lines[len(lines)-1])
		o.showLines()
	}
}

// exported shows where the files of an export are, or why there are none, also in the footer.
func (o *ownLog) exported(msg exportedMsg) {
	text := words.Exported(msg.format, msg.paths, msg.err)
	o.addLine(profiles.LogLine{Text: visible.Text(text), Refused: msg.err != nil})
	o.showLines()
	if msg.err != nil {
		o.footer.complain(text)
	} else {
		o.footer.say(text)
	}
}

// inLog marks a refusal that is cut: the log has all of it.
const inLog = " (log)"

// refuse shows in the footer that something stays as it is, and the reason. On a narrow screen it omits what would be
// right; a reason that is still too long is cut, and goes to the log whole.
func (o *ownLog) refuse(what, reason string) {
	o.footer.complain(what + ": " + reason)
	shown := &o.footer.status
	least := shown.text
	if i := max(strings.LastIndex(reason, ": must be "), strings.LastIndex(reason, "; use ")); i > 0 {
		least = visible.Text(what + ": " + reason[:i])
		shown.brief = append(shown.brief, least)
	}
	if room := o.tiles.layout.Footer.W - 2; chart.Width(least) > room {
		o.addLine(profiles.LogLine{Text: shown.text, Refused: true})
		o.showLines()
		shown.brief = append(shown.brief, chart.Cut(least, room-len(inLog))+inLog)
	}
}
