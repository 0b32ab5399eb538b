// Package recording keeps runs in files: a Recorder writes what an aggregator consumes while the run
// goes on, a Reader gives it back, and a folder of recordings is listed and pruned. A file is an
// SQLite database; docs/recording.md describes its tables, with example queries.
package recording

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// The recorder: its options, the queue between a run and its file, and the goroutine that writes.

const (
	// flushEvery is the age of the oldest event that waits from which a tick or drain has everything written. They come
	// at least four times a second, so that nothing older than a quarter of a second waits, and another quarter is left
	// for writing on a busy machine.
	flushEvery = 150 * time.Millisecond
	// flushAt is the number of waiting iterations that are written at once.
	flushAt = 4096
	// Limits of what waits to be written. Beyond them, iterations are dropped and counted; events
	// hardly ever come near.
	mostWaiting = 4 * flushAt
	mostSteps   = 1 << 15
)

// Options of a Recorder.
type Options struct {
	Path        string  // of the file, which must not exist yet
	Reserved    bool    // it exists and is empty: NewPath made it
	Joined      *Joined // the recording to go on with, in place of a new file; nil for none
	Fingerprint Fingerprint
	// GPU returns Fingerprint.GPU once the driver was asked, on a goroutine of its own; nil if it is there.
	GPU func() machine.GPU
	// Limit is the largest size of the file in bytes; 0 means none.
	Limit int64
	// Report is called with the state of the recording whenever that changes. It must not wait.
	Report func(profiles.RecordingState)
	// Every is the age from which what waits is written; 0 means 150 ms.
	Every time.Duration

	mostPage int // of the file; 0 means no limit
}

// Fingerprint is what a run was made with, beyond what it describes itself.
type Fingerprint struct {
	Version string // of the program
	Preset  string
	Origins settings.Origins // of the settings of the first start
	CPU     machine.CPU
	GPU     machine.GPU
	Threads int // that a setting of 0 means
}

// Recorder writes a recording on a goroutine of its own. It is an aggregate.Tape.
type Recorder struct {
	options Options
	began   time.Time // origin of all times in the file

	mu      sync.Mutex
	waiting batch
	spare   batch // memory of the batch that was written last
	dropped int64
	ended   bool // nothing more is taken

	begun    bool          // a start came
	moved    bool          // an event came since the last mark
	marked   time.Duration // when the last mark was, since the recording began
	newest   *profiles.Snapshot
	written  time.Duration      // the time of the last mark that was taken to be written
	due      chan struct{}      // enough waits, or for long enough, to be written at once
	flush    chan chan struct{} // closed once what waits is written
	stop     chan struct{}
	whole    chan struct{} // closed once the whole run is in the file or its log
	done     chan struct{}
	finished sync.Once
	err      error // why it ended; read it after done
	logged   bool  // the log stays, likewise
}

// batch is what waits to be written.
type batch struct {
	iterations []profiles.Iteration
	entries    []entry
	snapshot   *profiles.Snapshot // of the last tick

	// ticked is how much of it comes before the last tick or drain, and can be written.
	ticked struct{ iterations, entries int }
}

// entry is an event, a tick or a drain, at its place among the iterations of a batch.
type entry struct {
	after  int
	at     time.Duration // since the recording began
	early  time.Duration // how long before at an event was, whose place is behind what was recorded meanwhile
	body   profiles.Body // of an event
	drain  bool          // it is neither an event nor a tick
	own    profiles.OwnCost
	alerts []profiles.Alert // of a tick's snapshot
}

// New returns a recorder of a run that begins now. It makes the file in the background: errors arrive
// through Options.Report.
func New(o Options) *Recorder {
	if o.Every == 0 {
		o.Every = flushEvery
	}
	if o.Report == nil {
		o.Report = func(profiles.RecordingState) {}
	}
	began := time.Now()
	if o.Joined != nil {
		// With the monotonic clock, as the times of the run are: the wall clock may be adjusted meanwhile.
		o.Path, began = o.Joined.Path, began.Add(o.Joined.began.Sub(began.Round(0)))
	}
	r := &Recorder{
		options: o, began: began,
		due: make(chan struct{}, 1), flush: make(chan chan struct{}), stop: make(chan struct{}),
		whole: make(chan struct{}), done: make(chan struct{}),
	}
	o.Report(profiles.RecordingState{Path: o.Path})
	go r.write()
	return r
}

// Event records an event; see aggregate.Tape.
func (r *Recorder) Event(e *profiles.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	at, early := e.At.Sub(r.began), time.Duration(0)
	if _, ok := e.Body.(*profiles.Begin); ok {
		early = max(0, r.marked-at) // a start may be reported after it began, a loop found after its first steps
		at += early
		if r.begun && r.moved { // the block of the start before ends here
			r.mark(entry{at: at, drain: true})
		}
		r.begun = true
	}
	r.moved = true
	b := &r.waiting
	if it, ok := e.Body.(*profiles.Iteration); ok {
		if len(b.iterations) >= mostWaiting {
			r.dropped++
			return
		}
		b.iterations = append(b.iterations, *it)
		return
	}
	if nameOf(e.Body) != "" && len(b.entries) < mostSteps {
		b.entries = append(b.entries, entry{after: len(b.iterations), at: at, early: early, body: r.counted(e.Body)})
	}
}

// Prior returns the number of starts that the recording had before its recorder.
func (r *Recorder) Prior() int {
	if r.options.Joined == nil {
		return 0
	}
	return r.options.Joined.starts
}

// counted returns the body of an event as it is recorded: a Begin counts the starts before it in the
// recording, too.
func (r *Recorder) counted(b profiles.Body) profiles.Body {
	begin, ok := b.(*profiles.Begin)
	if !ok || r.options.Joined == nil {
		return b
	}
	c := *begin
	c.Info.PriorStarts += r.options.Joined.starts
	return &c
}

// Tick records a tick; see aggregate.Tape. Ticks of a run that waits, at which nothing happened, are
// left out.
func (r *Recorder) Tick(now time.Time, s *profiles.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || !r.moved && s == r.newest {
		return
	}
	r.newest = s
	r.waiting.snapshot = s
	r.mark(entry{at: now.Sub(r.began), own: s.Own, alerts: s.Alerts})
}

// Drained records that events were consumed without a tick; see aggregate.Tape.
func (r *Recorder) Drained(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && r.moved {
		r.mark(entry{at: now.Sub(r.began), drain: true})
	}
}

// mark adds a tick or a drain, up to which everything can be written.
func (r *Recorder) mark(e entry) {
	r.moved, r.marked = false, e.at
	b := &r.waiting
	if e.after = len(b.iterations); len(b.entries) < mostSteps {
		b.entries = append(b.entries, e)
	}
	b.ticked.iterations, b.ticked.entries = len(b.iterations), len(b.entries)
	if len(b.iterations) >= flushAt || e.at-r.written >= r.options.Every {
		select {
		case r.due <- struct{}{}:
		default:
		}
	}
}

// take returns what waits, up to the last tick or drain, and the number of iterations dropped so far.
func (r *Recorder) take() (batch, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.waiting
	if b.ticked.entries == 0 {
		return batch{}, r.dropped
	}
	rest := batch{iterations: append(r.spare.iterations[:0], b.iterations[b.ticked.iterations:]...),
		entries: r.spare.entries[:0]}
	for _, e := range b.entries[b.ticked.entries:] {
		e.after -= b.ticked.iterations
		rest.entries = append(rest.entries, e)
	}
	b.iterations, b.entries = b.iterations[:b.ticked.iterations], b.entries[:b.ticked.entries]
	r.waiting, r.spare = rest, batch{}
	r.written = b.entries[len(b.entries)-1].at
	return b, r.dropped
}

// reuse gives the memory of a written batch back.
func (r *Recorder) reuse(b batch) {
	if b.entries == nil {
		return
	}
	clear(b.entries) // releases pictures and settings
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = b
}

// end stops taking anything.
func (r *Recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.waiting, r.spare, r.newest = batch{}, batch{}, nil
}

// write makes the file and writes until the recorder is closed or something fails.
func (r *Recorder) write() {
	defer close(r.done)
	defer r.end()
	state := profiles.RecordingState{Path: r.options.Path}
	if r.err = r.record(&state); r.err != nil {
		err := r.err
		state.Err = err.Error()
		r.options.Report(state)
	}
}

// record makes the file and writes it. A panic costs the recording only.
func (r *Recorder) record(state *profiles.RecordingState) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = named(r.options.Path, fmt.Errorf("panic: %v", v))
		}
	}()
	f, err := createFile(&r.options, r.began)
	if err != nil {
		return err
	}
	why := f.explain(r.follow(f, state))
	r.logged, err = f.close(why, func() { close(r.whole) })
	return errors.Join(named(r.options.Path, why), named(r.options.Path, err))
}

// follow writes batches until the recorder is closed. The error is why it stops before.
func (r *Recorder) follow(f *file, state *profiles.RecordingState) error {
	timer := time.NewTimer(2 * r.options.Every) // for what was left when the run stood still
	defer timer.Stop()
	found := r.askGPU()
	for last := false; !last; {
		var asked chan struct{}
		select {
		case <-timer.C:
		case <-r.due:
		case asked = <-r.flush:
		case g := <-found:
			if err := f.describeGPU(context.Background(), g); err != nil {
				return err
			}
			found = nil
			continue
		case <-r.stop:
			last = true
		}
		timer.Reset(2 * r.options.Every)
		b, dropped := r.take()
		if err := f.write(&b, dropped); err != nil {
			return err
		}
		r.reuse(b)
		if asked != nil {
			close(asked)
		}
		if dropped != state.Dropped {
			state.Dropped = dropped
			r.options.Report(*state)
		}
		limit := r.options.Limit
		if last { // it ends anyway
			limit = 0
		}
		if err := f.check(limit); err != nil {
			return err
		}
	}
	if found != nil {
		return f.describeGPU(context.Background(), <-found)
	}
	return nil
}

// askGPU returns a channel with the GPU to describe; nil if it is that of a recording that is joined.
func (r *Recorder) askGPU() <-chan machine.GPU {
	if r.options.Joined != nil {
		return nil
	}
	found := make(chan machine.GPU, 1)
	if r.options.GPU == nil {
		found <- r.options.Fingerprint.GPU
		return found
	}
	go func() { found <- r.options.GPU() }()
	return found
}

// Flush writes what waits, and returns when that is done, the recording has ended or ctx ends.
func (r *Recorder) Flush(ctx context.Context) {
	written := make(chan struct{})
	select {
	case r.flush <- written:
	case <-r.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-written:
	case <-r.done:
	case <-ctx.Done():
	}
}

// Close writes what is left and closes the file. It waits until ctx ends, and returns why the
// recording is incomplete; nil if all of the run is in the file and its log.
func (r *Recorder) Close(ctx context.Context) error {
	r.finished.Do(func() { close(r.stop) })
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
	}
	select {
	case <-r.whole: // the rest is only to empty the log
		return nil
	default:
		return named(r.options.Path, errors.New("the disk did not take the end of it in time"))
	}
}

// Logged reports, once Close has returned nil, that a part of the run is in the log beside the file, because another
// program reads it or the disk takes its time.
func (r *Recorder) Logged() bool {
	select {
	case <-r.done:
		return r.logged
	default:
		return true
	}
}

// Path returns the path of the file.
func (r *Recorder) Path() string { return r.options.Path }

// Began returns when the recording began, which tells it from another at the same path.
func (r *Recorder) Began() time.Time { return r.began }
