package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/machine"
)

// event is an event of the format.
type event struct {
	Ph   string         `json:"ph"`
	Pid  int            `json:"pid"`
	Tid  int            `json:"tid"`
	Ts   float64        `json:"ts"`
	Dur  float64        `json:"dur"`
	Name string         `json:"name"`
	S    string         `json:"s"`
	Args map[string]any `json:"args"`
	Cat  string         `json:"cat"`
}

// document is a trace.
type document struct {
	Unit   string         `json:"displayTimeUnit"`
	Events []event        `json:"traceEvents"`
	Other  map[string]any `json:"otherData"`
}

// written returns the trace of events with the alerts of exporttest at their end.
func written(t *testing.T, events []profiles.Event, lost int64) (document, []byte) {
	t.Helper()
	var out bytes.Buffer
	w := New(&out, "1.2")
	for i := range events {
		w.Take(&events[i])
	}
	for range 2 { // the second time nothing is new
		w.See(&profiles.Snapshot{Alerts: exporttest.Alerts()})
	}
	if err := w.Close(lost); err != nil {
		t.Fatal(err)
	}
	var d document
	decoder := json.NewDecoder(bytes.NewReader(out.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("%v in\n%s", err, out.Bytes())
	}
	return d, out.Bytes()
}

func (d *document) named(ph, name string) (all []event) {
	for _, e := range d.Events {
		if e.Ph == ph && e.Name == name {
			all = append(all, e)
		}
	}
	return all
}

// near allows for the rounding of a start and an end.
func near(a, b float64) bool { return math.Abs(a-b) <= float64(grain)/1e3 }

func TestATraceHasEveryIterationAtItsTime(t *testing.T) {
	d, _ := written(t, exporttest.Events(), 3)
	iterations := d.named("X", "iteration")
	if len(iterations) != exporttest.Starts*exporttest.Iterations {
		t.Fatalf("%d iterations", len(iterations))
	}
	for i, e := range iterations {
		start, index := i/exporttest.Iterations, i%exporttest.Iterations
		ts := float64(exporttest.Restart.Microseconds())*float64(start) + float64(index)*float64(exporttest.Period)/1e3
		if !near(e.Ts, ts) || !near(e.Dur, float64(exporttest.Total+exporttest.Retimed)/1e3) || e.Args != nil {
			t.Errorf("iteration %d of start %d is %+v, want it at %g", index, start, e, ts)
		}
	}
	if f := d.named("X", "forward"); len(f) != len(iterations) || !near(f[5].Dur, float64(exporttest.Forward)/1e3) || !near(f[5].Ts, iterations[5].Ts) {
		t.Errorf("forward: %d, the sixth %+v", len(f), f[5])
	}
	if m := d.named("X", "metrics"); len(m) != len(iterations)/3 {
		t.Errorf("metrics ran %d times", len(m))
	}
	if w := d.named("i", "warm-up"); len(w) != exporttest.Starts || w[0].Args["iteration"] != 6.0 || len(d.named("i", "not finite")) != exporttest.Starts {
		t.Errorf("flags: %+v", w)
	}
	if iterations[3].Cat != "initialisation" || iterations[4].Cat != "samples" {
		t.Errorf("kinds %q and %q", iterations[3].Cat, iterations[4].Cat)
	}
	if d.Other["events_lost"] != 3.0 || d.Other["program"] != "prismtop 1.2" || d.Other["began"] != "2026-11-22T12:00:00Z" {
		t.Errorf("otherData %v", d.Other)
	}
}

// On the threads with spans, events are in order, every span lies within the one that encloses
// it, and every span that opens closes under its name.
func TestSpansAreNestedAndInOrder(t *testing.T) {
	d, _ := written(t, exporttest.Events(), 0)
	type span struct {
		name string
		end  float64 // infinite until it is known
	}
	deepest := 0
	for _, thread := range []int{loopThread, experimentThread} {
		var open []span
		last := math.Inf(-1)
		for _, e := range d.Events {
			if e.Tid != thread || e.Ph == "M" || e.Ph == "C" {
				continue
			}
			if e.Ts < last {
				t.Errorf("thread %d: %s at %g comes after %g", thread, e.Name, e.Ts, last)
			}
			last = e.Ts
			for len(open) > 0 && open[len(open)-1].end <= e.Ts {
				open = open[:len(open)-1]
			}
			switch e.Ph {
			case "B":
				open = append(open, span{e.Name, math.Inf(1)})
			case "X":
				if n := len(open); n > 0 && e.Ts+e.Dur > open[n-1].end {
					t.Errorf("%s at %g ends after the %s around it", e.Name, e.Ts, open[n-1].name)
				}
				open = append(open, span{e.Name, e.Ts + e.Dur})
			case "E":
				if n := len(open); n == 0 || open[n-1].name != e.Name {
					t.Fatalf("%s ends at %g, but open are %v", e.Name, e.Ts, open)
				}
				open = open[:len(open)-1]
			}
			deepest = max(deepest, len(open))
		}
		for _, s := range open {
			if math.IsInf(s.end, 1) {
				t.Errorf("thread %d: %s stays open", thread, s.name)
			}
		}
	}
	if deepest != 4 { // stage, unit, iteration, phase
		t.Errorf("spans are nested %d deep, want 4", deepest)
	}
	ends := d.named("i", "end of sample 1")
	if len(d.named("E", "sample 1")) != exporttest.Starts || len(ends) != exporttest.Starts || ends[0].Args["converged"] != true || ends[0].Args["iterations"] != 5.0 {
		t.Errorf("the first sample ends with %+v", ends)
	}
}

func TestATraceHasChangesAlertsAndStates(t *testing.T) {
	d, text := written(t, exporttest.Events(), 0)
	change := d.named("i", "cache: false → true")
	if len(change) != exporttest.Starts || change[0].Tid != loopThread || !near(change[0].Ts, float64(6*exporttest.Period-exporttest.Gap)/1e3) || change[0].S != "p" {
		t.Errorf("the user's change: %+v", change)
	}
	if c := d.named("i", "rate: 0 → 0.5"); len(c) != exporttest.Starts || c[0].Tid != experimentThread {
		t.Errorf("the ablation's change: %+v", c)
	}
	note := d.named("i", `note: a "sharp" drop`)
	if len(note) != exporttest.Starts || note[0].Tid != loopThread || !near(note[0].Ts, float64(7*exporttest.Period-exporttest.Gap)/1e3) || note[0].Args["author"] != "pts/1" || note[0].Args["iteration"] != 7.0 {
		t.Errorf("the note: %+v", note)
	}
	alert := d.named("i", "not-finite")
	since := exporttest.Restart + time.Duration(7*exporttest.Period)
	if len(alert) != 1 || alert[0].Args["severity"] != "critical" || !near(alert[0].Ts, float64(since)/1e3) {
		t.Errorf("alerts: %+v", alert)
	}
	if f := d.named("i", "finished"); len(f) != exporttest.Starts || f[0].Args["why"] != "max_iterations = 12" {
		t.Errorf("the end: %+v", f)
	}
	if b := d.named("i", "begin"); b[0].Args["settings.image"] != "a \"quoted\", name\n.png" {
		t.Errorf("settings: %v", b[0].Args)
	}
	if !bytes.Contains(text, []byte(`a \"quoted\", name\n.png`)) {
		t.Error("the text of a setting is not escaped")
	}
}

func TestATraceHasCounters(t *testing.T) {
	d, _ := written(t, exporttest.Events(), 0)
	values := func(name string) (all []float64) {
		for _, e := range d.named("C", name) {
			all = append(all, e.Args["value"].(float64))
		}
		return all
	}
	each := values("learning_rate") // of every iteration: thinned to one per 10 ms, of 4.06 ms each
	if want := exporttest.Starts * 4; len(each) != want {
		t.Errorf("%d values of the learning rate, want %d", len(each), want)
	}
	for _, v := range values("loss_new") {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("loss_new is %g", v)
		}
	}
	if got := values("psnr_db"); !slices.Equal(got[:4], []float64{22, 25, 28, 31}) {
		t.Errorf("PSNR %v", got)
	}
	if got := values("process memory bytes"); !slices.Equal(got[:3], []float64{4 << 20, 8 << 20, 12 << 20}) {
		t.Errorf("RSS %v", got)
	}
	if got := values("other programs' share of the processors"); !slices.Equal(got[:2], []float64{0.25, 0.25}) {
		t.Errorf("others %v", got)
	}
	// Values at iterations 0, 3, 6 and 9: hits 0, 0, 0, 9 and lookups 0, 3, 6, 18.
	if got := values("measurement hit rate"); !slices.Equal(got[:3], []float64{0, 0, 0.75}) {
		t.Errorf("hit rates %v", got)
	}
	memory := d.named("C", "memory bytes")
	if len(memory) != exporttest.Starts || memory[0].Args["weights"] != 4096.0 || memory[0].Args["activations"] != 1024.0 {
		t.Errorf("memory %+v", memory)
	}
}

// A run that ends at any event leaves a valid trace without open spans.
func TestATraceIsValidWhereverTheRunEnds(t *testing.T) {
	all := exporttest.Events()
	for n := range all {
		d, _ := written(t, all[:n], 0)
		depth := 0
		for _, e := range d.Events {
			depth += strings.Count(e.Ph, "B") - strings.Count(e.Ph, "E")
		}
		if depth != 0 {
			t.Fatalf("after %d events %d spans stay open", n, depth)
		}
	}
}

// full is a disk that takes n bytes.
type full struct{ n int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestTheErrorOfTheDiskIsReturned(t *testing.T) {
	for _, room := range []int{0, 70_000} {
		w := New(&full{room}, "")
		for range 100 {
			for _, e := range exporttest.Events() {
				w.Take(&e)
			}
		}
		if err := w.Close(0); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
}

// An iteration is written without allocating, so that a trace needs the same memory after
// a million of them.
func TestIterationsAllocateNothing(t *testing.T) {
	w := New(io.Discard, "")
	events := exporttest.Events()
	for i := range events[:12] {
		w.Take(&events[i])
	}
	it := *events[7].Body.(*profiles.Iteration)
	e := profiles.Event{Body: &it}
	if n := testing.AllocsPerRun(1000, func() {
		it.Index++
		it.Start += exporttest.Period
		w.Take(&e)
	}); n != 0 {
		t.Errorf("%g allocations for an iteration", n)
	}
}

func TestATraceHasTheSensorsOfGPUs(t *testing.T) {
	events := exporttest.Events()[:3]
	events = append(events, profiles.Event{At: exporttest.Began.Add(3 * time.Second), Body: &profiles.Sensors{Age: time.Second, Sensors: machine.Sensors{GPUs: []machine.GPUSensors{
		{MemoryUsed: machine.Reading(200), MemoryReserved: machine.Reading(50), Power: machine.Missing("not supported"), Temperature: machine.Reading(41)},
		{Power: machine.Reading(300)},
	}}}})
	d, _ := written(t, events, 0)
	for name, want := range map[string]float64{"GPU 0 memory in use bytes": 250, "GPU 0 °C": 41, "GPU 1 watts": 300} {
		found := d.named("C", name)
		if len(found) != 1 || found[0].Args["value"] != want || !near(found[0].Ts, 2e6) {
			t.Errorf("%s: %+v, want %g after 2 s", name, found, want)
		}
	}
	if found := d.named("C", "GPU 0 watts"); len(found) > 0 {
		t.Errorf("a sensor that is missing: %+v", found)
	}
}
