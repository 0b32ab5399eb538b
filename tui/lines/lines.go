// Package lines presents a run as lines of text, for screen readers, logs and terminals that cannot draw: a session in
// which commands are words, the progress of a headless run, and the summary at the end of every run. It has the words
// of the screen (tui/words) and none of its drawing.
package lines

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/control"
	"prismtop/tui/keys"
	"prismtop/tui/notice"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// Watch runs a session in plain lines of text, for screen readers, dumb terminals and logs:
// nothing is ever rewritten. It prints progress every interval and events as they happen, and
// takes each line of in as a command (see lines.help).
//
// It returns the newest snapshot when the user quits, or when the run has ended and either its
// settings limit it or in has ended; otherwise an ended run can still be saved, summarised and
// restarted. If ctx ends first, the error is ErrInterrupted.
func Watch(ctx context.Context, in io.Reader, out io.Writer, source control.Source, o Options,
	interval time.Duration) (*profiles.Snapshot, error) {
	o = o.withDefaults()
	l := lines{out: out, source: source, options: o, told: map[int64]told{}, exported: make(chan string, 1),
		decides: fromTerminal(in), notices: notice.New(o.Notices, o.Environ)}
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
			l.stop()
			return l.snap, control.ErrInterrupted
		case line, ok := <-typed:
			switch {
			case !ok: // end of input: the run continues to its end
				typed = nil
				if l.snap != nil && words.Ended(l.snap.State) {
					return l.snap, nil
				}
			case line.long:
				l.say("a line of more than %d bytes is no command: it was ignored", maxTyped)
			case l.waits(strings.TrimSpace(line.text)):
			case l.obey(strings.TrimSpace(line.text)):
				return l.snap, nil
			}
		case text := <-l.exported:
			l.exporting = false
			l.say("%s", text)
		case <-tick.C:
			l.progress()
		case s, ok := <-source.Snapshots():
			if !ok {
				return l.snap, nil
			}
			if s != nil {
				l.take(s)
				for len(l.waiting) > 0 && s.State != profiles.Preparing {
					text := l.waiting[0]
					if l.waiting = l.waiting[1:]; l.obey(text) {
						return l.snap, nil
					}
				}
				if words.Ended(s.State) && (typed == nil || limited(s)) {
					return l.snap, nil
				}
			}
		}
	}
}

// fromTerminal reports whether somebody types the input.
func fromTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// typedLine is a line of input, or a marker for one longer than maxTyped.
type typedLine struct {
	text string
	long bool
}

// maxTyped bounds a command, in bytes.
const maxTyped = 4096

// readTyped sends the lines of in to typed, and closes it at the end of input.
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

// limited reports whether a run's settings limit it.
func limited(s *profiles.Snapshot) bool {
	for _, key := range []string{settings.MaxSeconds, settings.MaxIterations,
		settings.MaxUnits(s.Run.Schema.Unit.Many)} {
		if s.Settings.Number(key) > 0 {
			return true
		}
	}
	return false
}

// lines is the state of Watch.
type lines struct {
	out     io.Writer
	source  control.Source
	options Options
	snap    *profiles.Snapshot
	told    map[int64]told // by the iteration of the change
	index   int64          // of the last printed progress
	notices notice.Notifier

	waiting   []string // commands that came before the run began
	exporting bool
	exported  chan string // what became of an export
	decides   bool        // commands come from a terminal: those that change a setting are presses
}

// mostWaiting bounds the commands that wait for the run to begin.
const mostWaiting = 1000

// waits keeps a command that came while the run is prepared until it has begun, and says so: a script does not see
// when. Others that came before it go first; those that need no run do not wait.
func (l *lines) waits(text string) bool {
	if l.snap != nil && l.snap.State != profiles.Preparing || text == "" || len(l.waiting) >= mostWaiting {
		return false
	}
	switch strings.ToLower(text) {
	case "quit", "exit":
		if len(l.waiting) == 0 {
			return false
		}
	case "help", "?", "status":
		return false
	}
	l.waiting = append(l.waiting, text)
	l.say("%s: waits until the run has begun", visible.Text(text))
	return true
}

func (l *lines) say(format string, args ...any) {
	text := words.Printed(fmt.Sprintf(format, args...))
	if l.options.ASCII {
		text = plainASCII(text)
	}
	fmt.Fprintln(l.out, text)
}

// take adopts a snapshot and prints the events since the last.
func (l *lines) take(s *profiles.Snapshot) {
	before := l.snap
	for _, line := range words.NewLines(before, s) {
		l.say("%s %s", unit.Clock(line.At), line.Text)
	}
	l.snap = s
	l.notices.Tell(l.out, s)
	if before == nil || before.State != s.State {
		l.say("%s", Progress(s))
		if words.Ended(s.State) && !limited(s) {
			l.say("the run is over: %s", l.afterwards())
		}
	}
	if before != nil && s.Run.PriorStarts != before.Run.PriorStarts {
		clear(l.told)
	}
	for i := range s.Effects {
		e := &s.Effects[i]
		if words.Deciding(s, e) != nil {
			continue
		}
		if now := tellable(e); now > l.told[e.Iteration] {
			l.told[e.Iteration] = now
			l.effect(e)
		}
	}
}

// told is what has been printed about an effect.
type told uint8

const (
	nothingTold told = iota
	whyNotTold       // not comparable, which more iterations may change
	numberTold
)

// linesEnough is the number of iterations after a change at which its effect is printed, unless
// it is final earlier.
const linesEnough = 100

// tellable returns what can be printed about an effect so far.
func tellable(e *profiles.Effect) told {
	if e.Replica != nil { // the log has its verdict
		return nothingTold
	}
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
		l.say("%s", Progress(l.snap))
	}
}

func (l *lines) effect(e *profiles.Effect) {
	what := "effect: " + strings.ReplaceAll(words.Changed(l.snap.Settings.Table(), e, l.options.Cores), "→", " to ")
	why, _ := e.Incomparable()
	switch {
	case words.Replicated(e):
		text, _ := words.Detail(l.snap, e, 1000)
		l.say("%s: iteration time %s %%, interval %s to %s %%, %s", what, unit.Signed(100*e.Replica.Effect, 1),
			unit.Signed(100*e.Replica.Low, 1), unit.Signed(100*e.Replica.High, 1), text)
	case words.Deciding(l.snap, e) != nil:
		l.say("%s: %s", what, words.Deciding(l.snap, e).Progress())
	case e.Comparable():
		text, _ := words.Detail(l.snap, e, 1000)
		l.say("%s: iteration time %s %%, interval %s to %s %%, %s", what, unit.Signed(100*e.Shift, 1),
			unit.Signed(100*e.Low, 1), unit.Signed(100*e.High, 1), text)
	case e.Replica != nil:
		l.say("%s: %s", what, e.WithoutResult())
	case e.Open():
		l.say("%s: %s iterations", what, words.Needs(e))
	case e.Enough:
		l.say("%s: %s, not comparable: %s", what, words.Medians(e), why)
	default:
		l.say("%s: not comparable: %s; %s before and %d after", what, why,
			unit.Plural(e.NBefore, "iteration", "iterations"), e.NAfter)
	}
}

// can reports whether the source carries out a command now.
func (l *lines) can(k profiles.CommandKind) bool { return l.source.Able(l.snap).Has(k) }

// stop ends the run if the source can.
func (l *lines) stop() {
	if l.can(profiles.StopCommand) {
		_ = l.source.Do(profiles.Command{Kind: profiles.StopCommand}) // a run that is over has nothing to end
	}
}

// verbs are the commands to a run that have texts of their own: cannot says that a run is not able to.
var verbs = map[profiles.CommandKind]struct{ help, cannot string }{
	profiles.PauseCommand: {help: "pause, go, step: stop after this iteration, go on, run one",
		cannot: "this run cannot be paused from here"},
	profiles.ResumeCommand: {cannot: "this run cannot be paused from here"},
	profiles.StepCommand:   {cannot: "this run cannot be paused from here"},
	profiles.SaveCommand:   {"save: write the reconstruction as PNG and NPY", "this run cannot be saved from here"},
	profiles.CheckpointCommand: {"checkpoint: write the state to a file, to go on from with --resume",
		"this run cannot be written to a checkpoint from here"},
	profiles.ClearCommand: {"clear: clear all caches, which fill again",
		"this run has no caches that can be cleared from here"},
	profiles.NoteCommand: {"note TEXT: mark this iteration with a note",
		"this run cannot be annotated from here"},
	profiles.RestartCommand: {"restart: begin again from the first weights, with what waits for the next run",
		"this run cannot be restarted from here"},
}

// others are the commands to a run that are no words: a change of settings, the end, and those that need a choice.
var others = profiles.Kinds{profiles.SetCommand, profiles.DecideCommand, profiles.StopCommand, profiles.AblateCommand,
	profiles.ReplicateCommand,
	profiles.ForkCommand, profiles.StopAblationCommand}

// verb carries out a line that asks for a command by its name; ok is false if it does not.
func (l *lines) verb(text string) (ok bool) {
	word, rest, _ := strings.Cut(text, " ")
	c := profiles.Command{Kind: profiles.CommandKind(strings.ToLower(word)), Text: strings.TrimSpace(rest)}
	if c.Kind != profiles.NoteCommand && rest != "" || others.Has(c.Kind) {
		return false
	}
	v, known := verbs[c.Kind]
	switch {
	case l.can(c.Kind):
		if err := l.source.Do(c); err != nil {
			l.say("%s", c.Kind.Failed(err))
		}
	case known:
		l.say("%s", v.cannot)
	default:
		return false
	}
	return true
}

// help returns the commands that the run supports, with descriptions.
func (l *lines) help() []string {
	texts := []string{"status: progress on one line", "summary: times by phase, memory, caches, effects, quality"}
	if l.can(profiles.SetCommand) {
		waits, as := "", "as threads=1"
		if l.can(profiles.RestartCommand) {
			waits, as = ", and the one that waits for the next start", "as amp=bf16 now or radius=24 for the next run"
		}
		texts = append(texts, "settings: what can be changed, its value"+waits, "NAME=VALUE: change a setting, "+as)
	} else {
		texts = append(texts, "settings: what the run has")
	}
	texts = append(texts, "effects: what each change did")
	for _, k := range l.source.Able(l.snap).Without(others...) {
		if v, known := verbs[k]; !known {
			texts = append(texts, l.sentence(k))
		} else if v.help != "" {
			texts = append(texts, v.help)
		}
	}
	if _, ok := l.source.(control.Exporter); ok {
		texts = append(texts, "export FORMAT: write what is recorded here; export lists the formats")
	}
	if l.can(profiles.StopCommand) {
		return append(texts, "quit: end the run")
	}
	return append(texts, "quit: stop watching")
}

// sentence says what a command without texts of its own does, as the help of its key does.
func (l *lines) sentence(k profiles.CommandKind) string {
	table, _ := keys.For(l.table(), nil) // the defaults are always obeyed
	for _, r := range table.Rows(keys.Run) {
		if r.Command == k {
			return string(k) + ": " + r.Help
		}
	}
	return string(k)
}

// afterwards lists the commands that still work when the run is over.
func (l *lines) afterwards() string {
	words := []string{"summary"}
	if l.can(profiles.SaveCommand) {
		words = []string{"save", "summary"}
	}
	if l.can(profiles.RestartCommand) {
		words = append(words, "restart")
	}
	last := len(words) - 1
	if last == 0 {
		return words[0] + " still works, quit ends"
	}
	return strings.Join(words[:last], ", ") + " and " + words[last] + " still work, quit ends"
}

// obey executes a command. It returns true to end the session.
func (l *lines) obey(text string) (quit bool) {
	word := strings.ToLower(text)
	if first, _, _ := strings.Cut(word, " "); first != string(profiles.NoteCommand) {
		if key, value, ok := strings.Cut(text, "="); ok && first != "export" {
			if first == "set" { // as --set has it
				key = key[len(first):]
			}
			l.set(strings.TrimSpace(key), strings.TrimSpace(value))
			return false
		}
	}
	switch {
	case word == "quit" || word == "exit":
		l.stop()
		return true
	case word == "help" || word == "?":
		for _, h := range l.help() {
			l.say("  %s", h)
		}
	case word == "export" || strings.HasPrefix(word, "export "):
		l.export(strings.TrimSpace(strings.TrimPrefix(word, "export")))
	case word == "settings":
		l.settings()
	case l.verb(text):
	case l.snap == nil:
		l.say("the run has not begun")
	case word == "status" || word == "":
		l.say("%s", Progress(l.snap))
	case word == "summary":
		for line := range strings.Lines(SummaryAs(l.snap, l.snap.State.String(), l.options.Cores,
			terminal.Columns(l.out))) {
			l.say("%s", strings.TrimRight(line, "\n"))
		}
	case word == "effects":
		for i := range l.snap.Effects {
			l.effect(&l.snap.Effects[i])
		}
		if len(l.snap.Effects) == 0 {
			l.say("no setting was changed%s", words.Yet(l.snap))
		}
	default:
		l.say("%q: not a command; help lists them", text)
	}
	return false
}

// export writes the run in a format, beside the session; without one, it lists the formats.
func (l *lines) export(format string) {
	exporter, ok := l.source.(control.Exporter)
	switch {
	case !ok:
		l.say("this run cannot be exported from here")
		return
	case format == "":
		for _, f := range exporter.Formats() {
			l.say("  export %s: %s", f.Name, f.About)
		}
		return
	case l.exporting:
		l.say("not exported: another export is being written")
		return
	}
	l.exporting = true
	l.say("exporting %s", format)
	go func() {
		paths, err := exporter.Export(format)
		l.exported <- words.Exported(format, paths, err)
	}()
}

func (l *lines) set(key, value string) {
	if !l.can(profiles.SetCommand) {
		l.say("not changed: the settings of this run cannot be changed from here")
		return
	}
	var err error
	c := profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{{Key: key, Value: value}}}
	if l.decides {
		c.Kind = profiles.DecideCommand
	}
	if key == "image" { // checked before it is set
		try := c
		try.Try = true
		err = l.source.Do(try)
	}
	if err == nil {
		err = l.source.Do(c)
	}
	switch {
	case err != nil:
		l.say("not changed: %v", err)
	case l.snap != nil && words.Ended(l.snap.State) || !words.Live(l.table(), key):
		l.say("%s = %s for the next run: restart begins it", key, value)
	default:
		l.say("%s = %s from the next iteration on%s", key, value, l.ends(key, value))
	}
}

// ends says which comparison a change ends: its settings would not be the ones compared. A
// decision makes way for a change.
func (l *lines) ends(key, value string) string {
	if l.snap == nil || l.snap.Ablation == nil {
		return ""
	}
	a := l.snap.Ablation
	after, err := a.Base.Set(key, value)
	if err != nil || !a.Running || a.Decides() || len(after.Differing(a.Base)) == 0 {
		return ""
	}
	return "; " + a.Name() + " ended"
}

// table returns the table of the run's settings.
func (l *lines) table() *settings.Table {
	if l.snap == nil {
		return l.options.Settings.Table()
	}
	return l.snap.Settings.Table()
}

// settings lists the settings that can change during the run, then those of the next run.
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
				l.refused(k)
			}
		}
	}
	next := "from the next start on, which restart makes:"
	if !l.can(profiles.RestartCommand) {
		next = "which cannot change in this run:"
	}
	if !l.can(profiles.SetCommand) {
		list("the settings of this run, which cannot be changed from here:", func(*settings.Key) bool { return true })
		return
	}
	if words.Ended(l.snap.State) {
		list(next, func(*settings.Key) bool { return true })
		return
	}
	list("from the next iteration on:", func(k *settings.Key) bool { return k.Live })
	list(next, func(k *settings.Key) bool { return !k.Live })
}

// refused lists the values of a setting that the run refuses, by reason.
func (l *lines) refused(k *settings.Key) {
	var reasons []string
	values := map[string][]string{}
	for _, value := range k.Allowed {
		why := l.snap.Run.Unavailable(k.Name, value, words.SettingsAsked(l.snap, settings.Device))
		if why == "" {
			continue
		}
		if len(values[why]) == 0 {
			reasons = append(reasons, why)
		}
		values[why] = append(values[why], value)
	}
	for _, why := range reasons {
		l.say("    not %s: %s", strings.Join(values[why], ", "), why)
	}
}

// valueOf returns a setting's value in force and, if different, its value for the next start.
func (l *lines) valueOf(key string) string {
	value := words.SettingsOf(l.snap).Get(key)
	if asked := words.SettingsAsked(l.snap, key).Get(key); asked != value {
		value += ", next start " + asked
	}
	return value
}

// Options configure line output. The zero value suits the process's own terminal.
type Options struct {
	// ASCII limits the output to 7-bit characters.
	ASCII bool
	// Quiet leaves out the progress and the log of a run without a screen; its notices stay.
	Quiet bool
	// Cores is the number of threads that a setting of 0 means; 0 detects it.
	Cores int
	// Notices are the ways to notify the user that the run finished, failed or stalled.
	Notices notice.Ways
	// Settings are the settings with which the run starts.
	Settings settings.Values
	// Environ is the environment; nil means that of the process.
	Environ []string
}

func (o Options) withDefaults() Options {
	if o.Cores <= 0 {
		o.Cores = machine.Processors()
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	return o
}
