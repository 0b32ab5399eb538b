// Package trace writes a run as a trace in Chrome's Trace Event Format, which Perfetto,
// chrome://tracing and speedscope open. It is the JSON object form: the list traceEvents, then
// what applies to all of them in otherData.
//
// A trace has one process with three threads: the loop, with stages, units, iterations and
// phases nested in one another; experiments, with ablations, replications and forks; and the
// machine, with alerts. Times are microseconds since the first start of the run, rounded to eighths.
package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The writer of a trace: its threads and the spans on them.

// The threads.
const (
	loopThread = 1 + iota
	experimentThread
	machineThread
)

// counterInterval is the least time between two values of a counter that has one for every
// iteration, in nanoseconds: a value each would make up most of the file.
const counterInterval = 10_000_000

// Writer writes a trace. It is not safe for concurrent use.
type Writer struct {
	out     *bufio.Writer
	line    []byte
	events  int64
	args    bool  // the open event has arguments
	err     error // the first of out
	version string

	begun   bool
	first   time.Time     // the first Begin, which is 0 in the trace
	shift   time.Duration // from first to the newest Begin
	schema  profiles.Schema
	stage   int // open on the loop's thread, −1 for none
	unit    int32
	inUnit  bool // a unit is open
	end     int64
	ended   *profiles.UnitResult // of the open unit
	sampled int64                // when the counters of iterations were last written
	caches  [profiles.MaxCaches]profiles.CacheCounters
	load    *machine.Load

	ablating, forking string // names of the spans open on the experiments' thread
	alerts            map[alertKey]bool
}

// alertKey identifies an alert among all of a trace.
type alertKey struct {
	id    string
	since time.Duration
}

// New returns a writer of a trace to w; version is the program's.
func New(w io.Writer, version string) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 1<<16), version: version, stage: -1, alerts: map[alertKey]bool{}}
}

// Take adds an event.
func (w *Writer) Take(e *profiles.Event) {
	if b, ok := e.Body.(*profiles.Begin); ok {
		w.begin(b, e.At)
	}
	if !w.begun {
		return
	}
	at := int64(e.At.Sub(w.first))
	switch b := e.Body.(type) {
	case *profiles.Grown:
		w.schema = b.Schema
	case *profiles.Iteration:
		w.iteration(b)
	case *profiles.UnitResult:
		w.ended = b
	case *profiles.Changed:
		w.change(&b.Change)
	case *profiles.StateChange:
		if b.State > profiles.Paused {
			w.closeStage()
		}
		w.instant(loopThread, b.State.String(), max(at, w.end), 't')
		if b.Why != "" {
			w.text("why", b.Why)
		}
		w.close()
	case *profiles.Note:
		w.note(b)
	case *profiles.Measurement:
		w.measured(b, max(at, w.end))
	case *profiles.Memory:
		w.memory(b, at)
	case *profiles.Resident:
		w.resident(b, at)
	case *profiles.Sensors:
		w.sensors(&b.Sensors, at-int64(b.Age))
	case *profiles.Load:
		w.others(&b.Load, at)
	case *profiles.Ablation:
		w.span(&w.ablating, b.Running, at, b.Name(), b.Ended)
	case *profiles.Fork:
		w.span(&w.forking, b.Running, at, "fork of "+b.Key, b.Ended)
	}
}

// begin handles a start or restart of the run.
func (w *Writer) begin(b *profiles.Begin, at time.Time) {
	if w.begun {
		w.closeStage()
	} else {
		w.begun, w.first = true, at
		w.header(&b.Info)
	}
	w.shift, w.schema = at.Sub(w.first), b.Info.Schema
	w.end, w.ended = int64(w.shift), nil
	w.sampled = w.end - counterInterval
	w.caches = [profiles.MaxCaches]profiles.CacheCounters{}
	w.instant(loopThread, "begin", w.end, 'p')
	w.text("object", b.Info.Object)
	w.text("device", b.Info.Device)
	w.text("kernels", b.Info.Kernels)
	for i := range b.Settings.Keys() {
		key := b.Settings.Keys()[i].Name
		w.text("settings."+key, b.Settings.Get(key))
	}
	w.close()
}

// Begins is the beginning of a trace, which marks a file of prismtop together with its name in it.
const Begins = `{"displayTimeUnit":"ms","traceEvents":[`

// header names the process and its threads.
func (w *Writer) header(info *profiles.RunInfo) {
	w.write(Begins)
	name := func(what string, thread int64, name string) {
		w.open('M', what, 0, thread)
		w.text("name", name)
		w.close()
	}
	name("process_name", loopThread, "prismtop "+info.Schema.Workload)
	for i, title := range []string{"loop", "experiments", "machine"} {
		thread := int64(loopThread + i)
		name("thread_name", thread, title)
		w.open('M', "thread_sort_index", 0, thread)
		w.number("sort_index", thread)
		w.close()
	}
}

// iteration writes an iteration within its stage and its unit, and its phases one after the
// other within it.
func (w *Writer) iteration(it *profiles.Iteration) {
	start := int64(w.shift) + it.Start
	end := start + it.Total + it.Retimed
	w.enter(it, start)

	// Spans have no arguments: speedscope takes spans with different ones for different functions.
	w.complete("iteration", start, end)
	if int(it.Kind) < len(w.schema.Kinds) {
		w.category(w.schema.Kinds[it.Kind].Name)
	}
	w.close()
	at := start
	part := func(name string, ns int64) {
		if ns = min(ns, end-at); ns > 0 && rounded(at+ns) > rounded(at) {
			w.complete(name, at, at+ns)
			w.close()
			at += ns
		}
	}
	for i := range w.schema.Phases {
		part(w.schema.Phases[i].Name, it.Phases[i])
	}
	at = max(at, end-it.Retimed)
	part("cache monitoring", it.Retimed)
	w.end = end
	for _, f := range flags {
		if it.Flags&f.flag != 0 {
			w.instant(loopThread, f.name, end, 't')
			w.number("iteration", it.Index)
			w.close()
		}
	}

	if end-w.sampled >= counterInterval {
		w.sampled = end
		w.counters(it, end)
	}
}

// flags names the flags of an iteration that are marked. The end of a unit tells whether it
// converged.
var flags = []struct {
	flag profiles.Flags
	name string
}{
	{profiles.SkippedStep, "skipped step"}, {profiles.NonFinite, "not finite"}, {profiles.Warmup, "warm-up"},
}

// enter opens the stage and the unit of an iteration that begins at start, after closing those
// that it does not belong to.
func (w *Writer) enter(it *profiles.Iteration, start int64) {
	stage, inUnit := -1, false
	if int(it.Kind) < len(w.schema.Kinds) {
		stage, inUnit = w.schema.Kinds[it.Kind].Stage, w.schema.Kinds[it.Kind].Units && it.Unit >= 0
	}
	if stage != w.stage {
		w.closeStage()
	}
	if w.inUnit && (!inUnit || it.Unit != w.unit) {
		w.closeUnit()
	}
	if stage != w.stage {
		w.stage = stage
		w.open('B', w.schema.Stages[stage], start, loopThread)
		w.close()
	}
	if inUnit && !w.inUnit {
		w.unit, w.inUnit = it.Unit, true
		w.open('B', w.unitName(), start, loopThread)
		w.close()
	}
}

// closeUnit ends the open unit, if any, with the end of its last iteration.
func (w *Writer) closeUnit() {
	if !w.inUnit {
		return
	}
	w.inUnit = false
	if r := w.ended; r != nil && r.Unit == w.unit {
		w.instant(loopThread, "end of "+w.unitName(), w.end, 't')
		w.literal("converged", strconv.FormatBool(r.Converged))
		w.number("iterations", int64(r.Iterations))
		w.float("reached", r.Reached)
		w.float("threshold", r.Threshold)
		w.close()
	}
	w.open('E', w.unitName(), w.end, loopThread)
	w.close()
	w.ended = nil
}

// unitName is the name of the open unit, counted from 1 as on the screen.
func (w *Writer) unitName() string { return w.schema.Unit.One + " " + strconv.Itoa(int(w.unit)+1) }

// closeStage ends the open unit and the open stage.
func (w *Writer) closeStage() {
	w.closeUnit()
	if w.stage >= 0 {
		w.open('E', w.schema.Stages[w.stage], w.end, loopThread)
		w.close()
		w.stage = -1
	}
}

// change writes a change of a setting: the user's on the loop's thread, marked over the whole
// process, and an ablation's on the experiments'.
func (w *Writer) change(c *profiles.Change) {
	thread, scope := int64(loopThread), byte('p')
	if c.Ablation {
		thread, scope = experimentThread, 't'
	}
	w.instant(thread, c.Key+": "+c.Before+" → "+c.After, int64(w.shift+c.At), scope)
	w.number("iteration", c.Iteration)
	w.close()
}

// note writes a note on the loop's thread, marked over the whole process.
func (w *Writer) note(n *profiles.Note) {
	w.instant(loopThread, "note: "+n.Text, int64(w.shift+n.Written), 'p')
	w.text("author", n.Author)
	w.number("iteration", n.Iteration)
	w.close()
}

// span opens or closes a span on the experiments' thread.
func (w *Writer) span(open *string, running bool, at int64, name, ended string) {
	if running == (*open != "") {
		return
	}
	kind := byte('B')
	if running {
		*open = name
	} else {
		kind, name, *open = 'E', *open, ""
	}
	if ended != "" {
		w.instant(experimentThread, "end of "+name, at, 't')
		w.text("why", ended)
		w.close()
	}
	w.open(kind, name, at, experimentThread)
	w.close()
}

// See writes those of the alerts, the standing ones of the newest snapshot, that it has not
// written yet.
func (w *Writer) See(s *profiles.Snapshot) {
	for i := range s.Alerts {
		a := &s.Alerts[i]
		key := alertKey{a.ID, w.shift + a.Since}
		if !w.begun || w.alerts[key] {
			continue
		}
		w.alerts[key] = true
		w.instant(machineThread, a.ID, int64(key.since), 'p')
		w.text("severity", a.Severity.String())
		w.text("what", a.What)
		w.number("iteration", a.Iteration)
		w.close()
	}
}

// Close ends what is still open and the trace; lost is the number of events that did not reach
// the writer. It returns the first error of the trace and leaves w's destination open.
func (w *Writer) Close(lost int64) error {
	if !w.begun {
		w.write(Begins)
	}
	w.closeStage()
	w.span(&w.ablating, false, w.end, "", "the trace ends")
	w.span(&w.forking, false, w.end, "", "the trace ends")
	w.write("\n],\"otherData\":{")
	w.line = appendText(append(w.line[:0], `"program":`...), "prismtop "+w.version)
	if w.begun {
		w.line = appendText(append(w.line, `,"began":`...), w.first.Format(time.RFC3339Nano))
	}
	w.line = fmt.Appendf(w.line, `,"events_lost":%d,"phases":`, lost)
	w.line = appendText(w.line, "Times are rounded to an eighth of a microsecond. Durations of phases were measured; "+
		"their order within an iteration is the schema's, one directly after the other.")
	w.line = fmt.Appendf(w.line, `,"counters":"At most every %d ms of the run; hit rates cover the iterations since the previous value."}}`+"\n", counterInterval/1_000_000)
	w.write(string(w.line))
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	return w.err
}
