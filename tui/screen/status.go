package screen

import (
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// answers is the line of the footer that answers keys and shows news of the run.
type answers struct {
	now    func() time.Time
	status status
}

// status is a temporary message to the user.
type status struct {
	text  string
	brief []string // shorter versions, longest first
	bad   bool
	news  bool // about the run, not an answer to the user
	until time.Time

	awaits time.Time // until then, news may be the outcome that was announced; kept when the text expires
	heard  []string  // the lines of news that make up text and may be the outcome
}

// How long a status is shown, how long of that news does not replace an answer, and how long after an
// announcement its outcome is expected.
const (
	statusLife  = 5 * time.Second
	answerLife  = 2 * time.Second
	outcomeLife = 30 * time.Second
)

// mostHeard bounds the lines of news that are shown as an outcome, and pageLife is how long those are shown that fit
// in the footer together: all lines have their turn before they expire.
const (
	mostHeard = 4
	pageLife  = statusLife / mostHeard
)

// say shows an answer. One that ends in "…" announces an outcome, which is news.
func (a *answers) say(s string) {
	now := a.now()
	a.status = status{text: visible.Text(s), until: now.Add(statusLife)}
	if strings.HasSuffix(s, "…") {
		a.status.awaits = now.Add(outcomeLife)
	}
}

// sayOne shows the longest version of an answer that fits in the footer; texts are ordered from
// longest to shortest.
func (a *answers) sayOne(texts ...string) {
	a.say(texts[0])
	for _, text := range texts[1:] {
		a.status.brief = append(a.status.brief, visible.Text(text))
	}
}

func (a *answers) complain(s string) {
	a.status = status{text: visible.Text(s), bad: true, until: a.now().Add(statusLife)}
}

// inLog marks a refusal that is cut: the log has all of it.
const inLog = " (log)"

// refuse shows that something stays as it is, and the reason. On a narrow screen it omits what would be right; a reason
// that is still too long is cut, and goes to the log whole.
func (m *Model) refuse(what, reason string) {
	m.complain(what + ": " + reason)
	least := m.status.text
	if i := max(strings.LastIndex(reason, ": must be "), strings.LastIndex(reason, "; use ")); i > 0 {
		least = visible.Text(what + ": " + reason[:i])
		m.status.brief = append(m.status.brief, least)
	}
	if room := m.layout.Footer.W - 2; chart.Width(least) > room {
		m.addLine(profiles.LogLine{Text: m.status.text, Refused: true})
		m.showLines()
		m.status.brief = append(m.status.brief, chart.Cut(least, room-len(inLog))+inLog)
	}
}

// news shows news of the run, which the log also keeps. It does not replace an error or a recent
// answer, unless that answer announced an outcome: then the news is shown as the answer.
func (a *answers) news(lines ...string) {
	now := a.now()
	if now.Before(a.status.awaits) {
		a.sayOutcome(lines)
		return
	}
	unread := a.status.text != "" && !a.status.news && a.status.until.Sub(now) > statusLife-answerLife
	if a.status.bad || unread {
		return
	}
	a.status = status{text: visible.Text(strings.Join(lines, separator)), news: true, until: now.Add(statusLife)}
}

// sayOutcome shows lines of news as the outcome that was announced. They may be about something else, and
// the outcome may come later, so later lines are added to those on screen.
func (a *answers) sayOutcome(lines []string) {
	awaits, heard := a.status.awaits, a.status.heard
	for _, line := range lines {
		heard = append(heard[:len(heard):len(heard)], visible.Text(line))
	}
	heard = heard[max(0, len(heard)-mostHeard):]
	a.say(strings.Join(heard, separator))
	a.status.awaits, a.status.heard = awaits, heard
}

// separator stands between lines of news.
const separator = " · "

// page returns the lines of an outcome that are shown now in w cells: all, or by turns those that fit.
func (a *answers) page(w int) string {
	var pages []string
	for i, line := range a.status.heard {
		if i > 0 {
			if last := pages[len(pages)-1] + separator + line; chart.Width(last) <= w {
				pages[len(pages)-1] = last
				continue
			}
		}
		pages = append(pages, line)
	}
	shown := statusLife - a.status.until.Sub(a.now())
	return pages[max(0, int(shown/pageLife))%len(pages)]
}

// expire removes a text that was shown long enough. Its outcome is still awaited.
func (s *status) expire(now time.Time) {
	if now.After(s.until) {
		*s = status{awaits: s.awaits}
	}
}

// statusLine returns the current status, in a version that fits in w cells if there is one.
func (m *Model) statusLine(w int) (string, theme.Style) {
	style := theme.Warn
	switch {
	case m.status.bad:
		style = theme.Bad
	case m.deciding() != "":
		return words.FittingOrLast(w, m.whileDeciding()...), theme.Pending
	case len(m.status.heard) > 0:
		return m.page(w), style
	}
	return words.FittingOrLast(w, append([]string{m.status.text}, m.status.brief...)...), style
}

// whileDeciding returns the progress of a decision, from its longest version to its shortest: with the answer to
// the key that began it.
func (m *Model) whileDeciding() []string {
	var texts []string
	if m.status.text != "" && !m.status.news {
		for _, answer := range append([]string{m.status.text}, m.status.brief...) {
			texts = append(texts, m.deciding()+separator+answer)
		}
	}
	return append(texts, m.deciding())
}
