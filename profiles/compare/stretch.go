package compare

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
)

// The stretch of a recording that is compared, parsed from an argument.

// Stretch is the part of a recording that is compared. The zero value is its newest start, from the
// first iteration to the last.
type Stretch struct {
	text     string
	start    int // of the run, counted from 1; 0 for the newest
	from, to moment
}

// moment is an end of a stretch.
type moment struct {
	kind momentKind
	at   int64 // nanoseconds since the start, the number of a change, or the index of an iteration
}

type momentKind uint8

const (
	anywhere momentKind = iota // the stretch goes on to the end of the run
	atClock
	atChange
	atIteration
)

// stretchWants says what a stretch looks like.
const stretchWants = "must be FROM..TO of times, changes or iterations, as 1:30..2:45, change3.. or iteration500..; " +
	"or change3 alone, or start2"

// String returns the stretch as it was given; empty for the zero value.
func (s Stretch) String() string { return s.text }

// ParseArgument splits an argument RUN@STRETCH. exists reports whether a recording has a name, which
// may itself have an @.
func ParseArgument(argument string, exists func(name string) bool) (name string, s Stretch, err error) {
	i := strings.LastIndexByte(argument, '@')
	if i < 0 || exists(argument) {
		return argument, s, nil
	}
	if s, err = ParseStretch(argument[i+1:]); err != nil {
		return "", s, fmt.Errorf("%q: %w", argument, err)
	}
	return argument[:i], s, nil
}

// ParseStretch reads a stretch, as 1:30..2:45, 1:30-2:45, change3.., change3, iteration500..1:00, start2
// or start2/1:30...
func ParseStretch(text string) (Stretch, error) {
	s := Stretch{text: text}
	wrong := fmt.Errorf("the stretch %q: %s", text, stretchWants)
	rest := text
	if number, ok := strings.CutPrefix(rest, "start"); ok {
		number, rest, _ = strings.Cut(number, "/")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return s, wrong
		}
		if s.start = n; rest == "" {
			return s, nil
		}
	}
	from, to, ends := strings.Cut(rest, "..")
	if !ends {
		from, to, ends = strings.Cut(rest, "-")
	}
	var err error
	if s.from, err = parseMoment(from); err != nil {
		return s, wrong
	}
	if s.to, err = parseMoment(to); err != nil {
		return s, wrong
	}
	switch {
	case !ends && s.from.kind != atChange, s.from == moment{} && s.to == moment{}:
		return s, wrong
	case !ends:
		s.to = moment{atChange, s.from.at + 1}
	case s.from.kind == s.to.kind && s.from.kind != anywhere && s.to.at <= s.from.at:
		return s, fmt.Errorf("the stretch %q: must end after it begins", text)
	}
	return s, nil
}

// clock is a time as 1:30 or 1:02:03.5.
var clock = regexp.MustCompile(`^(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2}(?:\.\d+)?)$`)

// parseMoment reads an end of a stretch; an empty one is anywhere.
func parseMoment(text string) (moment, error) {
	if text == "" {
		return moment{}, nil
	}
	for _, k := range []struct {
		word  string
		kind  momentKind
		least int64
	}{{"change", atChange, 1}, {"iteration", atIteration, 0}} {
		if number, ok := strings.CutPrefix(text, k.word); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			if err == nil && n < k.least {
				err = strconv.ErrRange
			}
			return moment{k.kind, n}, err
		}
	}
	if m := clock.FindStringSubmatch(text); m != nil {
		hours, _ := strconv.ParseFloat(cmp.Or(m[1], "0"), 64) // the expression admits numbers only
		minutes, _ := strconv.ParseFloat(m[2], 64)
		seconds, _ := strconv.ParseFloat(m[3], 64)
		return moment{atClock, int64(math.Round((3600*hours + 60*minutes + seconds) * 1e9))}, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return moment{atClock, int64(d)}, err
}

// place follows a run through the moments of a stretch.
type place struct {
	changes []int64 // the first iteration after each boundary with changes by the user
}

// change notes a change by the user.
func (p *place) change(c *profiles.Change) {
	if n := len(p.changes); n == 0 || p.changes[n-1] != c.Iteration {
		p.changes = append(p.changes, c.Iteration)
	}
}

// reached reports whether an iteration is at a moment or after it.
func (p *place) reached(m moment, it *profiles.Iteration) bool {
	switch m.kind {
	case atClock:
		return it.Start >= m.at
	case atChange:
		return int64(len(p.changes)) >= m.at && it.Index >= p.changes[m.at-1]
	case atIteration:
		return it.Index >= m.at
	}
	return false
}

// within reports whether an iteration is in a stretch.
func (p *place) within(s *Stretch, it *profiles.Iteration) bool {
	return (s.from.kind == anywhere || p.reached(s.from, it)) && !p.reached(s.to, it)
}
