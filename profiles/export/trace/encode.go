package trace

import (
	"encoding/json"
	"math"
	"strconv"

	"prismtop/profiles/visible"
)

// Events are encoded by appending to one buffer: a run has thousands of iterations a second.

// open begins an event: its phase in the sense of the format ('X', 'B', 'i', …), its name, its
// time in nanoseconds and its thread. Arguments may follow, then close.
func (w *Writer) open(kind byte, name string, at, thread int64) {
	w.line = w.line[:0]
	if w.events > 0 {
		w.line = append(w.line, ',')
	}
	w.events++
	w.line = append(w.line, "\n{\"ph\":\""...)
	w.line = append(w.line, kind)
	w.line = append(w.line, `","pid":1,"tid":`...)
	w.line = strconv.AppendInt(w.line, thread, 10)
	w.line = append(w.line, `,"ts":`...)
	w.line = appendMicroseconds(w.line, rounded(at))
	w.line = append(w.line, `,"name":`...)
	w.line = appendText(w.line, name)
	w.args = false
}

// complete opens an event of the loop that lasts from start to end.
func (w *Writer) complete(name string, start, end int64) {
	w.open('X', name, start, loopThread)
	w.line = append(w.line, `,"dur":`...)
	w.line = appendMicroseconds(w.line, rounded(end)-rounded(start))
}

// category adds the category of the open event, by which viewers filter; no argument may precede.
func (w *Writer) category(name string) {
	w.line = append(w.line, `,"cat":`...)
	w.line = appendText(w.line, name)
}

// instant opens an event without duration, marked over its thread ('t') or the process ('p').
func (w *Writer) instant(thread int64, name string, at int64, scope byte) {
	w.open('i', name, at, thread)
	w.line = append(w.line, `,"s":"`...)
	w.line = append(w.line, scope, '"')
}

// argument begins the next argument of the open event.
func (w *Writer) argument(name string) {
	if w.args {
		w.line = append(w.line, ',')
	} else {
		w.line = append(w.line, `,"args":{`...)
		w.args = true
	}
	w.line = append(appendText(w.line, name), ':')
}

func (w *Writer) literal(name, value string) {
	w.argument(name)
	w.line = append(w.line, value...)
}

func (w *Writer) text(name, value string) {
	w.argument(name)
	w.line = appendText(w.line, value)
}

func (w *Writer) number(name string, value int64) {
	w.argument(name)
	w.line = strconv.AppendInt(w.line, value, 10)
}

// float adds a number, unless it is one that JSON does not have.
func (w *Writer) float(name string, value float64) {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		w.argument(name)
		w.line = strconv.AppendFloat(w.line, value, 'g', -1, 64)
	}
}

// close ends the open event and writes it.
func (w *Writer) close() {
	if w.args {
		w.line = append(w.line, '}')
	}
	w.line = append(w.line, '}')
	w.writeLine()
}

func (w *Writer) write(text string) {
	w.line = append(w.line[:0], text...)
	w.writeLine()
}

func (w *Writer) writeLine() {
	if _, err := w.out.Write(w.line); err != nil && w.err == nil {
		w.err = err
	}
}

// grain is the resolution of times, in nanoseconds. A viewer computes where a span ends as start
// plus duration, in floating point: of eighths of a microsecond the sum is exact, so that a span
// ends neither after the one around it nor after the beginning of the next.
const grain = 125

// rounded returns a time rounded to the grain, in nanoseconds.
func rounded(ns int64) int64 {
	if ns < 0 {
		return -rounded(-ns)
	}
	return (ns + grain/2) / grain * grain
}

// appendMicroseconds appends rounded nanoseconds as microseconds.
func appendMicroseconds(to []byte, ns int64) []byte {
	if ns < 0 {
		to, ns = append(to, '-'), -ns
	}
	to = strconv.AppendInt(to, ns/1000, 10)
	rest := ns % 1000
	return append(to, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendText appends a JSON string.
func appendText(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil { // strings always marshal
				quoted = []byte(`""`)
			}
			return append(to, visible.JSON(quoted)...)
		}
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"')
}
