// Package table writes a run as two tables of comma-separated values (RFC 4180, UTF-8): one
// row for each iteration, and one for each thing that happened between them. What was not
// measured is empty.
package table

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/visible"
)

// The writer of both tables, and the rows of what happened between iterations.

// Writer writes the tables of a run. It is not safe for concurrent use.
type Writer struct {
	iterations *bufio.Writer
	changes    *csv.Writer
	err        error
	line       []byte

	header string // of iterations, empty before it is written
	begun  bool
	start  int64 // of the run, from 0
	// resumed is the number of iterations before the start's checkpoint, 0 without one.
	resumed int64
	first   time.Time
	shift   time.Duration // from first to the newest Begin
	schema  profiles.Schema
	whole   *profiles.Schema
	kinds   []string // their names, quoted

	// The newest iteration waits for the values measured after it.
	pending profiles.Iteration
	waits   bool
	values  profiles.Values
	// early are the first iterations, which wait for the columns that a loop declares in them.
	early []measured
	// leftOut are the columns that came after the first line.
	leftOut []string
	// rows are those of the table of changes since then: a later measurement of that iteration replaces an earlier one.
	rows [][]string
}

// measured is an iteration with the values that were measured after it.
type measured struct {
	profiles.Iteration
	values profiles.Values
}

// mostEarly is the number of iterations that wait for columns.
const mostEarly = 256

// New returns a writer of iterations, and of changes, notes, measurements, results and states. whole is the schema that
// the run ends with, which may have more than it began with; nil if that is not known.
func New(iterations, changes io.Writer, whole *profiles.Schema) *Writer {
	w := &Writer{iterations: bufio.NewWriterSize(iterations, 1<<16), changes: csv.NewWriter(changes), start: -1,
		whole: whole}
	w.changes.UseCRLF = true
	w.keep(w.changes.Write(ChangeColumns()))
	return w
}

// Take adds an event.
func (w *Writer) Take(e *profiles.Event) {
	if b, ok := e.Body.(*profiles.Begin); ok {
		w.begin(b, e.At)
	}
	if !w.begun {
		return
	}
	at := e.At.Sub(w.first)
	switch b := e.Body.(type) {
	case *profiles.Iteration:
		w.flush()
		w.happened()
		w.pending, w.waits, w.values = *b, true, profiles.NoValues()
	case *profiles.Grown:
		w.grow(&b.Schema)
	case *profiles.Changed:
		event := "change"
		if b.Ablation {
			event = "ablation"
		}
		w.event(w.shift+b.At, b.Iteration, -1, event, b.Key, b.Before, b.After)
	case *profiles.Measurement:
		w.measured(b, at)
	case *profiles.UnitResult:
		w.result(b, at)
	case *profiles.Note:
		w.event(w.shift+b.Written, b.Iteration, -1, "note", b.Author, "", b.Text)
	case *profiles.StateChange:
		w.event(at, w.next(), -1, "state", b.State.String(), "", b.Why)
	}
}

// next is the index of the next iteration.
func (w *Writer) next() int64 {
	if !w.waits {
		return w.resumed
	}
	return w.pending.Index + 1
}

// begin handles a start or restart of the run.
func (w *Writer) begin(b *profiles.Begin, at time.Time) {
	w.flush()
	w.happened()
	schema := &b.Info.Schema
	if w.whole != nil && w.whole.Extends(schema) {
		schema = w.whole
	}
	if w.begun {
		w.head()
	} else {
		w.begun, w.first = true, at
	}
	if w.header != "" && w.header != header(schema) {
		w.keep(fmt.Errorf("the columns of the run changed with its workload %q at a restart", b.Info.Schema.Workload))
	}
	w.start++
	w.resumed = b.Info.Resumed
	w.shift, w.schema = at.Sub(w.first), *schema
	w.kinds = w.kinds[:0]
	for _, k := range w.schema.Kinds {
		w.kinds = append(w.kinds, quoted(k.Name))
	}
	for i := range b.Settings.Keys() {
		key := b.Settings.Keys()[i].Name
		w.event(w.shift, w.resumed, -1, "setting", key, "", b.Settings.Get(key))
	}
}

// grow takes what a loop declared while it ran, if no row is written yet.
func (w *Writer) grow(s *profiles.Schema) {
	if w.header == "" && s.Extends(&w.schema) {
		w.schema = *s
		return
	}
	has := Columns(&w.schema)
	w.leftOut = slices.DeleteFunc(Columns(s), func(name string) bool { return slices.Contains(has, name) })
}

// LeftOut returns the columns that were declared too late for the table of iterations.
func (w *Writer) LeftOut() []string { return w.leftOut }

// header is the first line of the table of iterations of a schema.
func header(s *profiles.Schema) string { return strings.Join(Columns(s), ",") + "\r\n" }

// head writes the first line of the table of iterations, once, and the iterations that waited for it.
func (w *Writer) head() {
	if w.header != "" {
		return
	}
	w.header = header(&w.schema)
	w.write([]byte(w.header))
	for i := range w.early {
		w.row(&w.early[i])
	}
	w.early = nil
}

// measured adds the values of series that are not measured in every iteration, here and to the
// iteration that they were measured after.
func (w *Writer) measured(m *profiles.Measurement, at time.Duration) {
	for i := range w.schema.Series {
		v := m.Values[i]
		if w.schema.Series[i].Each || math.IsNaN(v) {
			continue
		}
		if w.waits && m.Iteration == w.pending.Index {
			w.values[i] = v
		}
		w.event(at, m.Iteration, m.Unit, "measurement", w.schema.Series[i].Name, "", number(v))
		row := w.rows[len(w.rows)-1]
		same := func(r []string) bool { return slices.Equal(r[2:6], row[2:6]) } // iteration, unit, event and name
		if j := slices.IndexFunc(w.rows, same); j < len(w.rows)-1 {
			w.rows = append(slices.Delete(w.rows[:len(w.rows)-1], j, j+1), row)
		}
	}
}

// result adds the rows of the end of a unit of work. A resumed start repeats, before its first iteration, the results
// of units that ended before its checkpoint: they are no rows of it.
func (w *Writer) result(r *profiles.UnitResult, at time.Duration) {
	if !w.waits {
		return
	}
	row := func(name, value string) { w.event(at, w.next()-1, r.Unit, "result", name, "", value) }
	row("converged", strconv.FormatBool(r.Converged))
	row("iterations", strconv.Itoa(int(r.Iterations)))
	row("seconds", number(r.Elapsed.Seconds()))
	row("reached", number(r.Reached))
	row("threshold", number(r.Threshold))
	for i := range w.schema.Series { // the others have measurements
		if v := r.Values[i]; w.schema.Series[i].Each && !math.IsNaN(v) {
			row(w.schema.Series[i].Name, number(v))
		}
	}
}

// ChangeColumns are the columns of the table of changes.
func ChangeColumns() []string {
	return []string{"start", "seconds", "iteration", "unit", "event", "name", "before", "value"}
}

// event adds a row to the table of changes; unit −1 is none. Names and values may come from files and users: control
// characters in them are escaped.
func (w *Writer) event(at time.Duration, iteration int64, unit int32, event, name, before, value string) {
	of := ""
	if unit >= 0 {
		of = strconv.Itoa(int(unit))
	}
	w.rows = append(w.rows, []string{strconv.FormatInt(w.start, 10), string(appendDecimals(nil, int64(at), 9)),
		strconv.FormatInt(iteration, 10), of, event, visible.Text(name), visible.Text(before), visible.Text(value)})
}

// happened writes the rows of the table of changes since the newest iteration.
func (w *Writer) happened() {
	for _, row := range w.rows {
		w.keep(w.changes.Write(row))
	}
	w.rows = w.rows[:0]
}

// Close writes what is left and returns the first error; the destinations stay open. Tables of a run
// that did not begin have the columns that those of every run have.
func (w *Writer) Close(int64) error {
	w.flush()
	w.head()
	w.happened()
	w.keep(w.iterations.Flush())
	w.changes.Flush()
	w.keep(w.changes.Error())
	return w.err
}

// keep remembers the first error.
func (w *Writer) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *Writer) write(p []byte) {
	_, err := w.iterations.Write(p)
	w.keep(err)
}

// Begins are the beginnings of the two tables, which mark a file of prismtop.
var Begins = []string{"start,iteration,seconds,", "start,seconds,iteration,"}
