package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/tui/terminal"
)

// Lines watches and tunes a run by lines of text alone, for screen readers, dumb
// terminals and logs: nothing is ever rewritten. Progress is told every interval,
// what happens when it happens, and each line of in is a command (see linesHelp).
//
// It returns the newest snapshot once the user quit, or the run has ended and either
// its settings limit it or nobody can type any more: a run that ends by itself can
// still be saved, summed up and restarted. The error is ErrInterrupted where ctx ended
// first.
func Lines(ctx context.Context, in io.Reader, out io.Writer, c Controller, o Options, interval time.Duration) (*profiles.Snapshot, error) {
	o = o.withDefaults().onTerminal()
	l := lines{out: out, control: c, options: o, told: map[int64]told{}, notices: newNotifier(o.Notices, o.Environ)}
	typed := make(chan typedLine)
	left := make(chan struct{})
	defer close(left)
	in, release := terminal.FromShell(in, left)
	defer release()
	go readTyped(in, typed, left)
	tick := time.NewTicker(max(interval, terminal.FramePeriod))
	defer tick.Stop()
	l.say("prismtop in lines: type help and Enter for the commands, quit to end")
	for {
		select {
		case <-ctx.Done():
			c.Stop()
			return l.snap, ErrInterrupted
		case line, ok := <-typed:
			switch {
			case !ok: // nobody can type any more: the run goes on to its end
				typed = nil
				if l.snap != nil && ended(l.snap.State) {
					return l.snap, nil
				}
			case line.long:
				l.say("a line of more than %d bytes is no command: it was ignored", maxTyped)
			case l.obey(strings.TrimSpace(line.text)):
				return l.snap, nil
			}
		case <-tick.C:
			l.progress()
		case s, ok := <-c.Snapshots():
			if !ok {
				return l.snap, nil
			}
			if s != nil {
				l.take(s)
				if ended(s.State) && (typed == nil || limited(s)) {
					return l.snap, nil
				}
			}
		}
	}
}

// typedLine is what was typed up to Enter, or that it was longer than maxTyped.
type typedLine struct {
	text string
	long bool
}

// maxTyped bounds a command, in bytes.
const maxTyped = 4096

// readTyped hands over the lines of in, and closes typed at its end.
func readTyped(in io.Reader, typed chan<- typedLine, left <-chan struct{}) {
	defer close(typed)
	r := bufio.NewReaderSize(in, maxTyped)
	for long := false; ; {
		part, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = true
			continue
		}
		if err != nil && len(part) == 0 && !long {
			return
		}
		line := typedLine{long: long}
		if !long {
			line.text = string(part)
		}
		select {
		case typed <- line:
		case <-left:
			return
		}
		if err != nil {
			return
		}
		long = false
	}
}

// limited says whether the settings of a run limit it.
func limited(s *profiles.Snapshot) bool {
	for _, key := range []string{settings.MaxSeconds, settings.MaxIterations, settings.MaxUnits(s.Run.Schema.Unit.Many)} {
		if s.Settings.Number(key) > 0 {
			return true
		}
	}
	return false
}

// lines is the state of Lines.
type lines struct {
	out     io.Writer
	control Controller
	options Options
	snap    *profiles.Snapshot
	told    map[int64]told // effects, by the iteration of the change
	index   int64          // of the progress told last
	notices notifier
}

func (l *lines) say(format string, args ...any) {
	text := printed(fmt.Sprintf(format, args...))
	if l.options.ASCII {
		text = plainASCII(text)
	}
	fmt.Fprintln(l.out, text)
}

// take adopts a snapshot and tells what happened since the last.
func (l *lines) take(s *profiles.Snapshot) {
	before := l.snap
	for _, line := range newLines(before, s) {
		l.say("%s %s", clock(line.At), line.Text)
	}
	l.snap = s
	l.notices.tell(l.out, s)
	if before == nil || before.State != s.State {
		l.say("%s", progressLine(s))
		if ended(s.State) && !limited(s) {
			l.say("the run is over: save, summary and restart still work, quit ends")
		}
	}
	if before != nil && s.Run.PriorStarts != before.Run.PriorStarts {
		clear(l.told)
	}
	for i := range s.Effects {
		e := &s.Effects[i]
		if now := tellable(e); now > l.told[e.Iteration] {
			l.told[e.Iteration] = now
			l.effect(e)
		}
	}
}

// told is what was told of an effect.
type told uint8

const (
	nothingTold told = iota
	whyNotTold       // that it is not comparable, which more iterations may change
	numberTold
)

// linesEnough is how many iterations after a change its effect is told, unless
// it is sure before.
const linesEnough = 100

// tellable is what can be told of an effect so far.
func tellable(e *profiles.Effect) told {
	sure := e.Closed || e.NAfter >= linesEnough
	why, _ := e.Incomparable()
	switch {
	case !sure:
		return nothingTold
	case e.Comparable():
		return numberTold
	case why != "":
		return whyNotTold
	}
	return nothingTold
}

func (l *lines) progress() {
	if l.snap != nil && l.snap.Index != l.index {
		l.index = l.snap.Index
		l.say("%s", progressLine(l.snap))
	}
}

func (l *lines) effect(e *profiles.Effect) {
	what := "effect: " + strings.ReplaceAll(changed(l.snap.Settings.Table(), e, l.options.Cores), "→", " to ")
	why, _ := e.Incomparable()
	switch {
	case e.Comparable():
		text, _ := detail(l.snap, e, 1000)
		l.say("%s: iteration time %s %%, interval %s to %s %%, %s", what, signed(100*e.Shift, 1), signed(100*e.Low, 1), signed(100*e.High, 1), text)
	case e.Open():
		l.say("%s: %s iterations", what, needs(e))
	case e.Enough:
		l.say("%s: %s, not comparable: %s", what, medians(e), why)
	default:
		l.say("%s: not comparable: %s; %s before and %d after", what, why, unit.Plural(e.NBefore, "iteration", "iterations"), e.NAfter)
	}
}

// linesHelp is the commands of Lines.
var linesHelp = [...]string{
	"status: progress on one line",
	"summary: times by phase, memory, caches, effects, quality",
	"settings: what can be changed, its value, and the one that waits for the next start",
	"NAME=VALUE: change a setting, as amp=bf16 now or radius=24 for the next run",
	"effects: what each change did",
	"pause, go, step: stop after this iteration, go on, run one",
	"save: write the reconstruction as PNG and NPY",
	"restart: begin again from the first weights, with what waits for the next run",
	"quit: end the run",
}

// obey carries out a command; true ends.
func (l *lines) obey(text string) (quit bool) {
	word := strings.ToLower(text)
	if key, value, ok := strings.Cut(text, "="); ok {
		l.set(strings.TrimSpace(key), strings.TrimSpace(value))
		return false
	}
	switch {
	case word == "quit" || word == "exit":
		l.control.Stop()
		return true
	case word == "help" || word == "?":
		for _, h := range linesHelp {
			l.say("  %s", h)
		}
	case word == "pause" || word == "go":
		l.control.Pause(word == "pause")
	case word == "step":
		l.control.Step()
	case word == "restart":
		if err := l.control.Restart(); err != nil {
			l.say("not restarted: %v", err)
		}
	case word == "save":
		if err := l.control.Save(); err != nil {
			l.say("not saved: %v", err)
		}
	case word == "settings":
		l.settings()
	case l.snap == nil:
		l.say("the run has not begun")
	case word == "status" || word == "":
		l.say("%s", progressLine(l.snap))
	case word == "summary":
		for line := range strings.Lines(hanging(summary(l.snap, l.snap.State.String(), l.options.Cores), Columns(l.out))) {
			l.say("%s", strings.TrimRight(line, "\n"))
		}
	case word == "effects":
		for i := range l.snap.Effects {
			l.effect(&l.snap.Effects[i])
		}
		if len(l.snap.Effects) == 0 {
			l.say("no setting was changed%s", yet(l.snap))
		}
	default:
		l.say("%q: not a command; help lists them", text)
	}
	return false
}

func (l *lines) set(key, value string) {
	var err error
	if key == "image" { // read before it is asked for
		err = l.control.Check([]settings.Assignment{{Key: key, Value: value}})
	}
	if err == nil {
		err = l.control.Set(key, value)
	}
	switch {
	case err != nil:
		l.say("not changed: %v", err)
	case l.snap != nil && ended(l.snap.State) || !live(l.table(), key):
		l.say("%s = %s for the next run: restart begins it", key, value)
	default:
		l.say("%s = %s from the next iteration on", key, value)
	}
}

// table is what the run's settings are.
func (l *lines) table() *settings.Table {
	if l.snap == nil {
		return l.options.Settings.Table()
	}
	return l.snap.Settings.Table()
}

// settings lists what can change while the run goes on, then what the next run reads.
func (l *lines) settings() {
	if l.snap == nil {
		l.say("the run has not begun")
		return
	}
	keys := l.table().Keys()
	list := func(title string, wanted func(k *settings.Key) bool) {
		l.say("%s", title)
		for i := range keys {
			if k := &keys[i]; wanted(k) {
				l.say("  %s = %s (%s)", k.Name, l.valueOf(k.Name), k.Wants())
			}
		}
	}
	const next = "from the next start on, which restart makes:"
	if ended(l.snap.State) {
		list(next, func(*settings.Key) bool { return true })
		return
	}
	list("from the next iteration on:", func(k *settings.Key) bool { return k.Live })
	list(next, func(k *settings.Key) bool { return !k.Live })
}

// valueOf is a setting's value in force, and the one that waits for the next start
// where that differs.
func (l *lines) valueOf(key string) string {
	value := settingsOf(l.snap).Get(key)
	if asked := settingsAsked(l.snap, key).Get(key); asked != value {
		value += ", next start " + asked
	}
	return value
}
