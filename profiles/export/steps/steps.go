// Package steps writes where the time of a run's iterations went as a profile for go tool pprof:
// a stack for each phase, and below it for each step of the plan if steps were timed.
package steps

import (
	"io"
	"math"
	"time"

	"github.com/google/pprof/profile"

	"prismtop/profiles"
)

// root is the function that calls all others: the whole iteration.
const root = "iteration"

// monitoring is the cost of monitoring the caches, which is in no phase.
const monitoring = "cache monitoring"

// spent is a number of times and how long they took together.
type spent struct{ count, nanos int64 }

// step is a step of the plan within its phase.
type step struct {
	phase profiles.Phase
	name  string
}

// Writer adds up a run and writes its profile at the end. It is not safe for concurrent use.
type Writer struct {
	out     io.Writer
	version string

	first, last time.Time
	began       time.Time // the newest Begin
	schema      profiles.Schema

	iterations, monitored spent
	phases                [profiles.MaxPhases]spent
	steps                 map[step]*spent
	order                 []step // of steps

	times [profiles.MaxPhases]spent // of the phases since the previous times of the steps
}

// New returns a writer of a profile to w; version is the program's.
func New(w io.Writer, version string) *Writer {
	return &Writer{out: w, version: version, steps: map[step]*spent{}}
}

// Take adds an event.
func (w *Writer) Take(e *profiles.Event) {
	switch b := e.Body.(type) {
	case *profiles.Begin:
		if w.first.IsZero() {
			w.first, w.last = e.At, e.At
		}
		w.began, w.schema = e.At, b.Info.Schema
		w.times = [profiles.MaxPhases]spent{}
	case *profiles.Grown:
		w.schema = b.Schema
	case *profiles.Iteration:
		w.iteration(b)
	case *profiles.LayerTimes:
		w.layers(b.Layers)
	}
}

func (s *spent) add(count, nanos int64) {
	s.count += count
	s.nanos += nanos
}

func (w *Writer) iteration(it *profiles.Iteration) {
	w.last = w.began.Add(time.Duration(it.Start + it.Total + it.Retimed))
	w.iterations.add(1, it.Total)
	if it.Retimed != 0 {
		w.monitored.add(1, it.Retimed)
	}
	for p, ns := range it.Phases {
		if ns != 0 {
			w.phases[p].add(1, ns)
			w.times[p].add(1, ns)
		}
	}
}

// layers adds the steps' mean times, for the iterations of their phase since the previous ones.
// Times of steps were measured in a part of those iterations, so they may add up to more than
// the phase, and are then scaled to it. No layers end a period in which steps were timed.
func (w *Writer) layers(layers []profiles.Layer) {
	var sums [profiles.MaxPhases]float64
	for i := range layers {
		sums[layers[i].Phase] += layers[i].Nanos
	}
	for i := range layers {
		l := &layers[i]
		ran := w.times[l.Phase]
		nanos := l.Nanos * float64(ran.count)
		if all := sums[l.Phase] * float64(ran.count); all > float64(ran.nanos) {
			nanos *= float64(ran.nanos) / all
		}
		key := step{l.Phase, l.Name}
		if w.steps[key] == nil {
			w.steps[key] = &spent{}
			w.order = append(w.order, key)
		}
		w.steps[key].add(ran.count, int64(math.Floor(nanos)))
	}
	w.times = [profiles.MaxPhases]spent{}
}

// Close writes the profile and leaves the destination open.
func (w *Writer) Close(lost int64) error {
	return w.profile(lost).Write(w.out)
}

// profile builds the profile. All times that were measured are in it once: that of a phase
// without its steps is the phase's own, and that of the iteration without its phases is the
// iteration's own.
func (w *Writer) profile(lost int64) *profile.Profile {
	p := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "runs", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		TimeNanos:         w.first.UnixNano(),
		DurationNanos:     int64(w.last.Sub(w.first)),
		Comments:          []string{"prismtop " + w.version},
	}
	if lost > 0 {
		p.Comments = append(p.Comments, "events of the run are missing: writing fell behind")
	}
	if w.first.IsZero() {
		p.TimeNanos = 0
	}
	b := builder{p, map[string]*profile.Location{}, &profile.Mapping{ID: 1, File: "prismtop", HasFunctions: true}}
	p.Mapping = []*profile.Mapping{b.program}
	iterations := w.iterations
	for i, phase := range w.phases {
		if phase.count == 0 || i >= len(w.schema.Phases) {
			continue
		}
		name := w.schema.Phases[i].Name
		iterations.nanos -= phase.nanos
		for _, key := range w.order {
			if key.phase == profiles.Phase(i) {
				s := w.steps[key]
				b.add(*s, key.name, name, root)
				phase.nanos -= s.nanos
			}
		}
		b.add(phase, name, root)
	}
	iterations.nanos = max(iterations.nanos, 0) // a phase may be a little longer than what contains it
	b.add(iterations, root)
	b.add(w.monitored, monitoring)
	return p
}

// builder adds stacks to a profile.
type builder struct {
	*profile.Profile
	places map[string]*profile.Location
	// program is the mapping of all locations. Functions have names, so that pprof looks for no file.
	program *profile.Mapping
}

// add adds a stack, innermost function first, if it was ever run.
func (b *builder) add(s spent, stack ...string) {
	if s.count == 0 {
		return
	}
	sample := &profile.Sample{Value: []int64{s.count, s.nanos}}
	for _, name := range stack {
		sample.Location = append(sample.Location, b.place(name))
	}
	b.Sample = append(b.Sample, sample)
}

// place returns the location of a function.
func (b *builder) place(name string) *profile.Location {
	if l := b.places[name]; l != nil {
		return l
	}
	f := &profile.Function{ID: uint64(len(b.Function) + 1), Name: name, SystemName: name}
	l := &profile.Location{ID: uint64(len(b.Location) + 1), Mapping: b.program, Line: []profile.Line{{Function: f}}}
	b.Function, b.Location, b.places[name] = append(b.Function, f), append(b.Location, l), l
	return l
}
