package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"prismtop/profiles"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/visible"
)

// rows is a table by its columns.
type rows []map[string]string

func read(t *testing.T, text []byte) (all rows) {
	t.Helper()
	if strings.Count(string(text), "\n") != strings.Count(string(text), "\r\n") {
		t.Error("not every line ends in CRLF")
	}
	reader := csv.NewReader(bytes.NewReader(text))
	header, err := reader.Read()
	if err != nil {
		t.Fatal(err)
	}
	for {
		fields, err := reader.Read() // of as many fields as the header
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, name := range header {
			row[name] = fields[i]
		}
		all = append(all, row)
	}
}

func written(t *testing.T, events []profiles.Event) (iterations, changes []byte) {
	t.Helper()
	var a, b bytes.Buffer
	w := New(&a, &b, nil)
	for i := range events {
		w.Take(&events[i])
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

func (r rows) of(event, name string) (all rows) {
	for _, row := range r {
		if row["event"] == event && row["name"] == name {
			all = append(all, row)
		}
	}
	return all
}

func TestEveryIterationHasARow(t *testing.T) {
	text, _ := written(t, exporttest.Events())
	all := read(t, text)
	if len(all) != exporttest.Starts*exporttest.Iterations {
		t.Fatalf("%d rows", len(all))
	}
	for i, row := range all {
		start, index := i/exporttest.Iterations, int64(i%exporttest.Iterations)
		seconds, err := strconv.ParseFloat(row["seconds"], 64)
		want := float64(start)*exporttest.Restart.Seconds() + float64(index*exporttest.Period)/1e9
		if err != nil || math.Abs(seconds-want) > 1e-9 || row["start"] != strconv.Itoa(start) || row["iteration"] != strconv.FormatInt(index, 10) {
			t.Errorf("row %d: %v, want %g s", i, row, want)
		}
	}
	for _, c := range []struct {
		row          int
		column, want string
	}{
		{0, "kind", "initialisation"}, {0, "unit", ""}, {0, "loss_old", ""}, {0, "loss_new", "1"}, {0, "psnr_db", ""},
		{0, "metrics_ms", ""}, {2, "metrics_ms", "0.300041"}, {2, "psnr_db", "22"}, {3, "psnr_db", ""}, {14, "psnr_db", "22"},
		{5, "total_ms", "4.000123"}, {5, "forward_ms", "1.500077"}, {5, "monitoring_ms", "0.050003"}, {5, "unit", "0"},
		{6, "warmup", "true"}, {6, "changes", "1"}, {7, "loss_new", "inf"}, {7, "non_finite", "true"}, {7, "warmup", "false"},
		{9, "unit", "1"}, {9, "in_unit", "0"}, {9, "measurement_hits", "9"}, {9, "measurement_misses", "9"}, {9, "measurement_enabled", "true"},
		{9, "masks_bytes", "0"}, {23, "psnr_db", "31"}, {23, "measurement_bytes", "1200"},
	} {
		if got := all[c.row][c.column]; got != c.want {
			t.Errorf("row %d: %s is %q, want %q", c.row, c.column, got, c.want)
		}
	}
}

// An iteration whose phases were not timed has its time and no phases.
func TestPhasesThatWereNotTimedAreEmpty(t *testing.T) {
	events := exporttest.Events()
	for i := range events {
		if it, ok := events[i].Body.(*profiles.Iteration); ok && it.Index == 5 {
			again := *it
			again.Flags |= profiles.Unwatched | profiles.Unphased
			events[i].Body = &again
		}
	}
	iterations, _ := written(t, events)
	if row := read(t, iterations)[5]; row["total_ms"] != "4.000123" || row["forward_ms"] != "" || row["loss_new"] == "" {
		t.Errorf("the row is %v", row)
	}
}

// What is measured again in an iteration, as the quality of a run that is stopped, replaces what was measured before, in
// both tables.
func TestTheLastMeasurementOfAnIterationIsItsValue(t *testing.T) {
	var events []profiles.Event
	for _, e := range exporttest.Events() {
		events = append(events, e)
		if m, ok := e.Body.(*profiles.Measurement); ok && m.Iteration == 2 {
			again := *m
			again.Values[2] = 23
			events = append(events, profiles.Event{At: e.At, Body: &profiles.Note{Text: "between", Iteration: 3}},
				profiles.Event{At: e.At.Add(1), Body: &again})
		}
	}
	iterations, changes := written(t, events)
	if got := read(t, iterations)[2]["psnr_db"]; got != "23" {
		t.Errorf("the iteration has %s", got)
	}
	all := read(t, changes)
	if got := all.of("measurement", "psnr_db"); len(got) != exporttest.Starts*4 || got[0]["value"] != "23" || got[0]["iteration"] != "2" {
		t.Errorf("the changes have %v", got)
	}
	if len(all.of("note", "")) != exporttest.Starts {
		t.Error("the note between was lost")
	}
}

func TestChangesHaveWhatHappenedBetweenIterations(t *testing.T) {
	_, text := written(t, exporttest.Events())
	all := read(t, text)
	if got := all.of("setting", "image"); len(got) != exporttest.Starts || got[1]["value"] != `a "quoted", name\n.png` || got[1]["start"] != "1" {
		t.Errorf("settings: %q", got)
	}
	if got := all.of("change", "cache"); len(got) != exporttest.Starts || got[0]["before"] != "false" || got[0]["value"] != "true" || got[0]["iteration"] != "6" || got[0]["seconds"] != "0.024350791" {
		t.Errorf("the user's change: %q", got)
	}
	if got := all.of("note", "pts/1"); len(got) != exporttest.Starts || got[0]["value"] != `a "sharp" drop` || got[0]["iteration"] != "7" || got[0]["seconds"] != fmt.Sprintf("0.%09d", 7*exporttest.Period-exporttest.Gap) || got[1]["start"] != "1" {
		t.Errorf("the note: %q", got)
	}
	if got := all.of("ablation", "rate"); len(got) != exporttest.Starts {
		t.Errorf("the ablation's change: %q", got)
	}
	if got := all.of("measurement", "psnr_db"); len(got) != exporttest.Starts*4 || got[0]["value"] != "22" || got[0]["iteration"] != "2" || got[0]["unit"] != "" || got[3]["unit"] != "1" {
		t.Errorf("measurements: %q", got)
	}
	if got := all.of("result", "converged"); len(got) != exporttest.Starts*2 || got[0]["value"] != "true" || got[1]["value"] != "false" || got[1]["unit"] != "1" || got[1]["iteration"] != "11" {
		t.Errorf("results: %q", got)
	}
	if got := all.of("result", "psnr_db"); got != nil {
		t.Errorf("a result has a value that only measurements have: %q", got)
	}
	if got := all.of("state", "finished"); len(got) != exporttest.Starts || got[0]["value"] != "max_iterations = 12" || got[0]["iteration"] != "12" {
		t.Errorf("states: %q", got)
	}
}

// A resumed start has the results of the units that ended in it, and begins at its checkpoint.
func TestAResumedStartHasNothingFromBeforeIt(t *testing.T) {
	var events []profiles.Event
	for _, e := range exporttest.Events() {
		switch b := e.Body.(type) {
		case *profiles.Begin:
			begin := *b
			begin.Info.Resumed = 40
			events = append(events, profiles.Event{At: e.At, Body: &begin}, profiles.Event{At: e.At, Body: &profiles.UnitResult{}})
			continue
		case *profiles.Iteration:
			it := *b
			it.Index += 40
			e.Body = &it
		}
		events = append(events, e)
	}
	_, text := written(t, events)
	all := read(t, text)
	if got := all.of("result", "converged"); len(got) != exporttest.Starts*2 || got[0]["iteration"] != "48" {
		t.Errorf("results: %q", got)
	}
	for _, row := range append(all.of("setting", "image"), all.of("state", "running")...) {
		if row["iteration"] != "40" {
			t.Errorf("before the first iteration: %q", row)
		}
	}
}

// Tables have a header whatever came: a program that reads them needs it.
func TestTablesWithoutARunHaveAHeader(t *testing.T) {
	for name, events := range map[string][]profiles.Event{"nothing": nil, "no start": exporttest.Events()[1:5]} {
		iterations, changes := written(t, events)
		if all := read(t, iterations); len(all) != 0 || !strings.HasPrefix(string(iterations), "start,iteration,seconds,") {
			t.Errorf("%s: iterations %q", name, iterations)
		}
		if all := read(t, changes); len(all) != 0 || !strings.HasPrefix(string(changes), "start,seconds,iteration,unit,event,") {
			t.Errorf("%s: changes %q", name, changes)
		}
	}
}

// Decimals are exact: no nanosecond is rounded away after hours.
func TestDecimalsAreExact(t *testing.T) {
	for v, want := range map[int64]string{0: "0.000000", 1: "0.000001", -1_500_000: "-1.500000", 86_400_000_000_000_001: "86400000000.000001"} {
		if got := string(appendDecimals(nil, v, 6)); got != want {
			t.Errorf("%d gives %s, want %s", v, got, want)
		}
	}
}

func TestARestartWithOtherColumnsIsAnError(t *testing.T) {
	events := exporttest.Events()
	other := *events[0].Body.(*profiles.Begin)
	other.Info.Schema.Phases = other.Info.Schema.Phases[:1]
	w := New(io.Discard, io.Discard, nil)
	w.Take(&events[0])
	w.Take(&profiles.Event{At: exporttest.Began, Body: &other})
	if err := w.Close(0); err == nil || !strings.Contains(err.Error(), "columns") {
		t.Errorf("%v", err)
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	w := New(io.Discard, io.Discard, nil)
	events := exporttest.Events()
	w.Take(&events[0])
	it := *events[3].Body.(*profiles.Iteration)
	e := profiles.Event{Body: &it}
	w.Take(&e)
	if n := testing.AllocsPerRun(1000, func() {
		it.Index++
		w.Take(&e)
	}); n != 0 {
		t.Errorf("%g allocations for an iteration", n)
	}
}

// Names from files and users steer no terminal that shows the tables.
func TestTablesHaveNoControlCharacters(t *testing.T) {
	var events []profiles.Event
	exporttest.Story{Iterations: 40}.Tell(func(e *profiles.Event) { events = append(events, *e) })
	iterations, changes := written(t, events)
	for name, text := range map[string][]byte{"iterations": iterations, "changes": changes} {
		if at := bytes.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\r' && !unicode.IsGraphic(r) }); at >= 0 {
			t.Errorf("%s: %q", name, text[at:min(len(text), at+40)])
		}
	}
	if rows := read(t, changes).of("setting", "image"); len(rows) == 0 || rows[0]["value"] != visible.Text(exporttest.Hostile) {
		t.Errorf("the hostile name is %q", rows)
	}
}

// Series that a loop declares in its first iterations have columns. Of those that come later the names are known.
func TestAGrownSchemaHasColumnsUntilTheFirstRowIsWritten(t *testing.T) {
	began := exporttest.Schema()
	add := func(s profiles.Schema, name string) profiles.Schema {
		s.Series = append(s.Series[:len(s.Series):len(s.Series)], profiles.SeriesInfo{Name: name})
		return s
	}
	early := add(began, "psnr")
	late := add(early, "acc")
	var a, b bytes.Buffer
	w := New(&a, &b, nil)
	take := func(body profiles.Body) { w.Take(&profiles.Event{Body: body}) }
	take(&profiles.Begin{Info: profiles.RunInfo{Schema: began}})
	for i := range int64(mostEarly + 2) {
		take(&profiles.Iteration{Index: i, Series: profiles.NoValues()})
		if i == 2 {
			take(&profiles.Grown{Schema: early})
			values := profiles.NoValues()
			values[len(began.Series)] = 22
			take(&profiles.Measurement{Iteration: 2, Values: values})
		}
	}
	take(&profiles.Grown{Schema: late})
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	all := read(t, a.Bytes())
	if len(all) != mostEarly+2 || all[2]["psnr"] != "22" || all[1]["psnr"] != "" {
		t.Errorf("%d rows, %v", len(all), all[2])
	}
	if got := w.LeftOut(); len(got) != 1 || got[0] != "acc" {
		t.Errorf("left out: %v", got)
	}
}

// Series that a run measures later have columns where the schema is known that it ends with.
func TestAGrownSchemaHasItsColumns(t *testing.T) {
	began := exporttest.Schema()
	grown := began
	grown.Series = append(grown.Series[:len(grown.Series):len(grown.Series)], profiles.SeriesInfo{Name: "r2_score"})
	values := profiles.NoValues()
	values[len(began.Series)] = 0.75
	var a, b bytes.Buffer
	w := New(&a, &b, &grown)
	for _, body := range []profiles.Body{
		&profiles.Begin{Info: profiles.RunInfo{Schema: began}}, &profiles.Iteration{Series: profiles.NoValues()}, &profiles.Grown{Schema: grown},
		&profiles.Iteration{Index: 1, Series: profiles.NoValues()}, &profiles.Measurement{Iteration: 1, Values: values},
	} {
		w.Take(&profiles.Event{Body: body})
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	if all := read(t, a.Bytes()); len(all) != 2 || all[0]["r2_score"] != "" || all[1]["r2_score"] != "0.75" {
		t.Errorf("%v", all)
	}
	if !strings.Contains(b.String(), "r2_score,,0.75") {
		t.Errorf("%s", b.String())
	}
}
