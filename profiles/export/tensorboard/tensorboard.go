// Package tensorboard writes a run as TensorBoard events, which TensorBoard reads while they are appended: scalars
// under the tags of PRISM (spec/prism.md §5.8), which are made from the titles of the schema, and those of its guide to
// performance; the settings as hyperparameters; pictures; notes as text.
package tensorboard

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// The writer: when which scalars, pictures and texts are written, and under which tag.

// interval is the least time between two events of the values that every iteration has, in
// nanoseconds. TensorBoard shows a sample of a thousand points or so of each tag.
const interval = 50_000_000

// The tags that are the same for every workload.
const (
	tagLoss          = "Loss"
	tagTime          = "Time/per_"             // and the unit of work; seconds
	tagOfUnit        = "/per_"                 // behind a cache's rate or a GPU's peak, and the unit of work
	tagPeak          = "_peak"                 // behind a GPU's memory: the largest reading within a unit of work
	tagIterationTime = "Performance/EpochTime" // seconds; an epoch of PRISM is an iteration
	tagIterationLoss = "Performance/EpochLoss" // of the iteration, not of the end of a unit
	tagHitRate       = "Cache/HitRate"         // of the schema's first cache; others follow with their names
	tagSize          = "Cache/Size"            // entries
	tagResident      = "Memory/RSS_GB"         // of the process, in units of 2³⁰ bytes
	tagGPUMemory     = "Memory/GPU"            // and the number of the GPU: what is in use there by any program
	tagGPU           = "GPU"                   // and its number
	tagNotes         = "Notes/text_summary"    // the ending is that of PyTorch's writer
	tagPictures      = "Pictures/"             // and the picture's name
	tagStart         = "_hparams_/session_start_info"
	tagEnd           = "_hparams_/session_end_info"
	gigabyte         = float64(1 << 30)
)

// pictureInterval is the least time between two pictures of a name. TensorBoard shows ten or so of each tag.
const pictureInterval = 10 * time.Second

// Writer writes events. It is not safe for concurrent use.
type Writer struct {
	out    *bufio.Writer
	err    error // the first of out
	event  event
	record []byte
	opened bool

	began   time.Time // the newest Begin
	schema  profiles.Schema
	tags    []string // by series
	caches  [][2]string
	sampled int64
	written [profiles.MaxCaches]profiles.CacheCounters // with the newest values of iterations
	counted [profiles.MaxCaches]profiles.CacheCounters // at the end of the newest unit
	// largest use of each GPU since then, in bytes; 0 if it was not read
	peaks    []float64
	done     int64 // iterations of earlier starts
	units    int64 // units of work ended in earlier starts
	newest   profiles.Iteration
	measured [2]profiles.Measurement // of the newest two iterations that have any, the newer first
	ended    bool                    // a unit ended in this start
	last     int64
	drawn    [profiles.MaxPictures]time.Time // when a picture was written
	state    profiles.State
	changed  time.Time // when the state did
}

// New returns a writer of events to w.
func New(w io.Writer) *Writer { return &Writer{out: bufio.NewWriterSize(w, 1<<16)} }

// Take adds an event.
func (w *Writer) Take(e *profiles.Event) {
	switch b := e.Body.(type) {
	case *profiles.Begin:
		w.begin(b, e.At)
	case *profiles.Grown:
		w.measures(b.Schema)
	case *profiles.Iteration:
		w.iteration(b)
	case *profiles.UnitResult:
		w.result(b, e.At)
	case *profiles.Measurement:
		w.measure(b, e.At)
	case *profiles.Note:
		if w.opened {
			w.event.begin(e.At, w.done+b.Iteration)
			w.event.remark(tagNotes, b.String())
			w.put()
		}
	case *profiles.Picture:
		w.picture(b, e.At)
	case *profiles.StateChange:
		w.state, w.changed = b.State, e.At
	case *profiles.Resident:
		if b.Reason == "" && w.opened {
			w.event.begin(e.At, w.step())
			w.event.scalar(tagResident, float64(b.RSS)/gigabyte)
			w.put()
		}
	case *profiles.Sensors:
		if w.opened {
			w.event.begin(e.At, w.step())
			for i := range b.GPUs {
				w.sensors(&b.GPUs[i], i)
			}
			w.put()
		}
	}
}

// sensors writes the sensors of a GPU.
func (w *Writer) sensors(g *machine.GPUSensors, number int) {
	gpu := strconv.Itoa(number)
	for len(w.peaks) <= number {
		w.peaks = append(w.peaks, 0)
	}
	if used := g.InUse(); used.Known {
		w.event.scalar(tagGPUMemory+gpu+"_GB", used.Value/gigabyte)
		w.peaks[number] = max(w.peaks[number], used.Value)
	}
	if g.Utilisation.Known {
		w.event.scalar(tagGPU+gpu+"/Utilization", g.Utilisation.Value)
	}
	if g.Power.Known {
		w.event.scalar(tagGPU+gpu+"/Power_W", g.Power.Value)
	}
	if g.Temperature.Known {
		w.event.scalar(tagGPU+gpu+"/Temperature_C", g.Temperature.Value)
	}
}

// step is that of what happens after the newest iteration, 0 before the first: TensorBoard drops what comes before a
// step that goes back, so restarts go on counting.
func (w *Writer) step() int64 { return w.done + w.newest.Index }

// picture writes a picture, if the one of that name before it is old enough.
func (w *Writer) picture(p *profiles.Picture, at time.Time) {
	if !w.opened || !p.Whole() || p.ID < 0 || p.ID >= len(w.schema.Pictures) ||
		at.Sub(w.drawn[p.ID]) < pictureInterval {
		return
	}
	w.drawn[p.ID] = at
	w.event.begin(at, w.done+p.Iteration)
	w.event.picture(tagPictures+unbroken(w.schema.Pictures[p.ID].Name), p.Width, p.Height, p.PNG(p.Span()))
	w.put()
}

// settings writes the settings at the start of the run as hyperparameters.
func (w *Writer) settings(v settings.Values, at time.Time) {
	if v.Table() == nil {
		return
	}
	start := appendDouble(nil, startTime, seconds(at))
	for _, name := range v.Table().Names() {
		var value []byte
		switch x := v.Value(name).(type) {
		case bool:
			n := uint64(0)
			if x {
				n = 1
			}
			value = appendNumber(nil, settingSwitch, n)
		case int64, float64:
			value = appendDouble(nil, settingNumber, v.Number(name))
		default:
			value = appendString(appendTag(nil, settingText, wireBytes), v.Get(name))
		}
		entry := appendMessage(appendString(appendTag(nil, mapKey, wireBytes), name), mapValue, value)
		start = appendMessage(start, startSettings, entry)
	}
	w.event.begin(at, 0)
	w.event.session(tagStart, hparamsStart, start)
	w.put()
}

// end writes how the run ended, if it did.
func (w *Writer) end() {
	status := uint64(sessionSuccess)
	switch w.state {
	case profiles.Finished, profiles.Stopped:
	case profiles.Failed:
		status = sessionFailure
	default:
		return
	}
	w.event.begin(w.changed, w.step())
	w.event.session(tagEnd, hparamsEnd, appendDouble(appendNumber(nil, endStatus, status), endTime, seconds(w.changed)))
	w.put()
}

// begin handles a start or restart of the run.
func (w *Writer) begin(b *profiles.Begin, at time.Time) {
	if !w.opened {
		w.opened = true
		w.event.version(at)
		w.put()
		w.settings(b.Settings, at)
		w.newest.Index = -1
	}
	w.done += w.newest.Index + 1
	if w.ended {
		w.units += w.last + 1
	}
	w.newest, w.ended, w.last = profiles.Iteration{Index: -1}, false, 0
	w.measured[0].Iteration, w.measured[1].Iteration = -2, -2
	w.began, w.sampled = at, -interval
	w.written, w.counted = [profiles.MaxCaches]profiles.CacheCounters{}, [profiles.MaxCaches]profiles.CacheCounters{}
	clear(w.peaks)
	w.measures(b.Info.Schema)
}

// measures makes the tags of what a schema has.
func (w *Writer) measures(s profiles.Schema) {
	w.schema = s
	w.tags, w.caches = w.tags[:0], w.caches[:0]
	for i := range w.schema.Series {
		w.tags = append(w.tags, Tag(&w.schema.Series[i]))
	}
	for i := range w.schema.Caches {
		suffix := ""
		if i > 0 {
			suffix = "/" + unbroken(w.schema.Caches[i].Name)
		}
		w.caches = append(w.caches, [2]string{tagHitRate + suffix, tagSize + suffix})
	}
}

// Tag returns the tag of a series: its title in the style of PRISM's tags, below Loss if it is
// one of the losses.
func Tag(s *profiles.SeriesInfo) string {
	switch s.Group {
	case profiles.Losses:
		return tagLoss + "/" + unbroken(s.Title)
	case profiles.Metrics:
		return unbroken(s.Title)
	}
	var tag strings.Builder
	for _, word := range strings.FieldsFunc(s.Title, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		for i, r := range word {
			if i == 0 {
				r = unicode.ToUpper(r)
			}
			tag.WriteRune(r)
		}
	}
	return tag.String()
}

// unbroken returns a name without blanks, which some readers of tags do not take.
func unbroken(name string) string { return strings.Join(strings.Fields(name), "_") }

// loss returns the sum of the losses that every iteration trains by, as PRISM logs it; NaN if there are none. Losses
// that are measured now and then, such as that of a validation, have tags of their own.
func (w *Writer) loss(v *profiles.Values) float64 {
	sum, any := 0.0, false
	for i := range w.schema.Series {
		if w.schema.Series[i].Group == profiles.Losses && w.schema.Series[i].Each && !math.IsNaN(v[i]) {
			sum, any = sum+v[i], true
		}
	}
	if !any {
		return math.NaN()
	}
	return sum
}

// iteration writes the values of an iteration, if the previous ones are old enough.
func (w *Writer) iteration(it *profiles.Iteration) {
	w.newest = *it
	if !w.opened || it.Start-w.sampled < interval {
		return
	}
	w.sampled = it.Start
	w.event.begin(w.began.Add(time.Duration(it.Start+it.Total+it.Retimed)), w.step())
	w.event.scalar(tagIterationTime, float64(it.Total)/1e9)
	w.event.scalar(tagIterationLoss, w.loss(&it.Series))
	w.rates(&w.written, "")
	for i, tags := range w.caches {
		if it.Caches[i].Enabled {
			w.event.scalar(tags[1], float64(it.Caches[i].Entries))
		}
	}
	w.put()
}

// rates adds the hit rates of the caches since earlier counts, which become those of now.
func (w *Writer) rates(since *[profiles.MaxCaches]profiles.CacheCounters, ending string) {
	for i, tags := range w.caches {
		now, then := &w.newest.Caches[i], &since[i]
		recent := profiles.CacheCounters{Hits: now.Hits - then.Hits, Misses: now.Misses - then.Misses}
		if rate, ok := recent.HitRate(); ok {
			w.event.scalar(tags[0]+ending, rate)
		}
	}
	*since = w.newest.Caches
}

// result writes the values at the end of a unit of work, by the unit.
func (w *Writer) result(r *profiles.UnitResult, at time.Time) {
	if !w.opened {
		return
	}
	w.ended, w.last = true, int64(r.Unit)
	w.event.begin(at, w.units+int64(r.Unit))
	w.event.scalar(tagLoss, w.loss(&r.Values))
	for i, tag := range w.tags {
		if w.schema.Series[i].Each {
			w.event.scalar(tag, r.Values[i])
			continue
		}
		for j := range w.measured { // the end may be known with the next unit's first iteration only
			if m := &w.measured[j]; m.Unit == r.Unit && m.Iteration >= w.newest.Index-1 {
				w.event.scalar(tag, m.Values[i])
				break
			}
		}
	}
	one := unbroken(w.schema.Unit.One)
	w.event.scalar(tagTime+one, r.Elapsed.Seconds())
	w.rates(&w.counted, tagOfUnit+one)
	for i, peak := range w.peaks {
		if peak > 0 {
			w.event.scalar(tagGPUMemory+strconv.Itoa(i)+tagPeak+"_GB"+tagOfUnit+one, peak/gigabyte)
		}
	}
	clear(w.peaks)
	w.put()
}

// measure writes values measured within a unit of work, below Iteration.
func (w *Writer) measure(m *profiles.Measurement, at time.Time) {
	if !w.opened {
		return
	}
	if m.Iteration != w.measured[0].Iteration {
		w.measured[1], w.measured[0] = w.measured[0], profiles.Measurement{Values: profiles.NoValues()}
	}
	w.measured[0].Iteration, w.measured[0].Unit = m.Iteration, m.Unit
	for i, v := range m.Values {
		if !math.IsNaN(v) {
			w.measured[0].Values[i] = v
		}
	}
	w.event.begin(at, w.done+m.Iteration)
	for i, tag := range w.tags {
		if !w.schema.Series[i].Each {
			w.event.scalar("Iteration/"+tag, m.Values[i])
		}
	}
	w.put()
}

// put writes the event as a record, unless it has no value.
func (w *Writer) put() {
	if !w.event.any {
		return
	}
	w.record = appendRecord(w.record[:0], w.event.encoded())
	if len(w.record) > w.out.Available() {
		w.Flush() // so that what is written are whole records
	}
	if _, err := w.out.Write(w.record); err != nil && w.err == nil {
		w.err = err
	}
}

// Flush writes what is buffered, so that a reader finds it.
func (w *Writer) Flush() {
	if err := w.out.Flush(); err != nil && w.err == nil {
		w.err = err
	}
}

// Close writes what is left and returns the first error; the destination stays open.
func (w *Writer) Close(int64) error {
	if !w.opened {
		w.event.version(time.Now())
		w.put()
	}
	w.end()
	w.Flush()
	return w.err
}
