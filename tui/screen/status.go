package screen

import (
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
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

// tellNews shows the lines of the log that a snapshot adds to the one before, nil for none, and reports whether a
// request was refused.
func (a *answers) tellNews(before, s *profiles.Snapshot) bool {
	var texts []string
	refused := ""
	for _, l := range words.NewLines(before, s) {
		texts = append(texts, l.Text)
		if l.Refused {
			refused = l.Text
		}
	}
	if refused != "" { // the answer to a request
		a.complain(refused)
		return true
	}
	if len(texts) > 0 {
		a.news(texts...)
	}
	return false
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
