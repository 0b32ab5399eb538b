package table

import (
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/visible"
)

// The columns of the table of iterations.

// flags are the columns of what was special about an iteration.
var flags = []struct {
	flag profiles.Flags
	name string
}{
	{profiles.Converged, "converged"}, {profiles.SkippedStep, "skipped_step"}, {profiles.NonFinite, "non_finite"},
	{profiles.Warmup, "warmup"},
}

// Columns are the columns of the table of iterations of a schema.
func Columns(s *profiles.Schema) []string {
	all := []string{"start", "iteration", "seconds", "kind", "unit", "in_unit", "changes"}
	for _, f := range flags {
		all = append(all, f.name)
	}
	all = append(all, "total_ms")
	for _, p := range s.Phases {
		all = append(all, quoted(p.Name+"_ms"))
	}
	all = append(all, "monitoring_ms")
	for _, v := range s.Series {
		all = append(all, quoted(v.Name))
	}
	for _, c := range s.Caches {
		for _, column := range []string{"_enabled", "_hits", "_misses", "_entries", "_bytes", "_saved_ms"} {
			all = append(all, quoted(c.Name+column))
		}
	}
	return all
}

// flush writes the row of the newest iteration, once, or has it wait for columns.
func (w *Writer) flush() {
	if !w.waits {
		return
	}
	w.waits = false
	of := measured{w.pending, w.values}
	if w.header != "" {
		w.row(&of)
		return
	}
	if w.early = append(w.early, of); len(w.early) == mostEarly {
		w.head()
	}
}

// row writes the row of an iteration.
func (w *Writer) row(of *measured) {
	it := &of.Iteration
	w.line = strconv.AppendInt(w.line[:0], w.start, 10)
	w.integer(it.Index)
	w.line = appendDecimals(append(w.line, ','), int64(w.shift)+it.Start, 9)
	w.line = append(w.line, ',')
	if int(it.Kind) < len(w.kinds) {
		w.line = append(w.line, w.kinds[it.Kind]...)
	}
	if it.Unit >= 0 {
		w.integer(int64(it.Unit))
	} else {
		w.line = append(w.line, ',')
	}
	w.integer(int64(it.InUnit))
	w.integer(int64(it.Changes))
	for _, f := range flags {
		w.truth(it.Flags&f.flag != 0)
	}
	w.milliseconds(it.Total)
	for i := range w.schema.Phases {
		if it.Phases[i] != 0 && it.Flags&profiles.Unphased == 0 { // else it did not run, or was not timed
			w.milliseconds(it.Phases[i])
		} else {
			w.line = append(w.line, ',')
		}
	}
	w.milliseconds(it.Retimed)
	for i := range w.schema.Series {
		v := of.values[i]
		if w.schema.Series[i].Each {
			v = it.Series[i]
		}
		w.line = appendNumber(append(w.line, ','), v)
	}
	for i := range w.schema.Caches {
		c := &it.Caches[i]
		w.truth(c.Enabled)
		w.integer(c.Hits)
		w.integer(c.Misses)
		w.integer(c.Entries)
		w.integer(c.Bytes)
		w.milliseconds(c.Saved)
	}
	w.line = append(w.line, '\r', '\n')
	w.write(w.line)
}

func (w *Writer) integer(v int64) { w.line = strconv.AppendInt(append(w.line, ','), v, 10) }

func (w *Writer) truth(v bool) { w.line = strconv.AppendBool(append(w.line, ','), v) }

// milliseconds adds nanoseconds as milliseconds, exactly.
func (w *Writer) milliseconds(ns int64) { w.line = appendDecimals(append(w.line, ','), ns, 6) }

// appendDecimals appends v/10^decimals, exactly.
func appendDecimals(to []byte, v int64, decimals int) []byte {
	if v < 0 {
		to, v = append(to, '-'), -v
	}
	unit := int64(1)
	for range decimals {
		unit *= 10
	}
	to = append(strconv.AppendInt(to, v/unit, 10), '.')
	for rest := v % unit; unit > 1; rest %= unit {
		unit /= 10
		to = append(to, byte('0'+rest/unit))
	}
	return to
}

// appendNumber appends a number with all of its digits: nothing for NaN, inf or -inf if it is
// infinite.
func appendNumber(to []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return to
	case math.IsInf(v, 1):
		return append(to, "inf"...)
	case math.IsInf(v, -1):
		return append(to, "-inf"...)
	}
	return strconv.AppendFloat(to, v, 'g', -1, 64)
}

func number(v float64) string { return string(appendNumber(nil, v)) }

// quoted returns a field in quotes if it needs them, with its control characters escaped.
func quoted(s string) string {
	s = visible.Text(s)
	if !strings.ContainsAny(s, ",\"") && s == strings.TrimSpace(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
