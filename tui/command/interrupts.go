package command

import (
	"bytes"
	"regexp"
)

// The tracebacks of programs that were told to end.

var (
	ofRank       = regexp.MustCompile(`^\[rank\d+\]: ?`) // before each line of a rank's traceback
	interruption = regexp.MustCompile(`^(KeyboardInterrupt\b|torch\.distributed\.elastic\.multiprocessing\.api\.SignalException: )`)
	chained      = regexp.MustCompile(`^(During handling of the above exception, another exception occurred:|The above exception was the direct cause of the following exception:)`)
)

// trace is a traceback that is being read, with those of the exceptions that led to it.
type trace struct {
	lines                   []byte
	ended, chained, excused bool // its last line came; another follows; it is an interrupt
}

// withoutInterrupts returns what a program printed, without tracebacks whose last exception is an interrupt. Those of
// several ranks may be interleaved.
func withoutInterrupts(printed []byte) (rest []byte) {
	open, order := map[string]*trace{}, []string(nil)
	end := func(rank string) {
		if t := open[rank]; t != nil && !t.excused {
			rest = append(rest, t.lines...)
		}
		delete(open, rank)
	}
	for line := range bytes.Lines(printed) {
		rank := string(ofRank.Find(line))
		text := bytes.TrimRight(line[len(rank):], "\r\n")
		begins := bytes.HasPrefix(text, []byte(tracebackBegins))
		t := open[rank]
		if t != nil && t.ended && len(text) > 0 && !t.chained && !chained.Match(text) {
			end(rank)
			t = nil
		}
		switch {
		case t == nil && !begins:
			rest = append(rest, line...)
			continue
		case t == nil:
			t = &trace{}
			open[rank], order = t, append(order, rank)
		case begins:
			t.ended, t.chained = false, false
		case t.ended:
			t.chained = t.chained || len(text) > 0
		case len(text) > 0 && text[0] != ' ':
			t.ended, t.excused = true, interruption.Match(text)
		}
		t.lines = append(t.lines, line...)
	}
	for _, rank := range order {
		end(rank)
	}
	return rest
}
