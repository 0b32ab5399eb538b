package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles/inputfile"
)

// The state of each run, which its task replaces as it goes on, and how others follow it.

// State is how far a run is.
type State string

// The states.
const (
	Waiting     State = "waiting"     // not begun
	Running     State = "running"     // a task works on it
	Interrupted State = "interrupted" // its task was told to end, or died: it goes on from its checkpoint, if it has one
	Done        State = "done"
	Failed      State = "failed"
)

// Status is the state of a run and what is known of it so far; of one that is done, its result. Numbers that were not
// measured are nil.
type Status struct {
	State   State     `json:"state"`
	Error   string    `json:"error,omitempty"` // of a run that failed
	Attempt int       `json:"attempt"`         // starts of its process, counted from 1
	Host    string    `json:"host,omitempty"`
	Node    string    `json:"node,omitempty"` // as Slurm names the host; empty without it
	Job     string    `json:"job,omitempty"`  // of Slurm: "4711_3"
	Process int       `json:"process,omitempty"`
	Local   string    `json:"local,omitempty"`          // folder on the host's own disk
	Runtime string    `json:"runtime_folder,omitempty"` // $XDG_RUNTIME_DIR of its process, where its session has its socket
	Session string    `json:"session,omitempty"`        // that screens attach to
	Began   time.Time `json:"began,omitzero"`           // the first attempt
	At      time.Time `json:"at"`                       // when this was written
	Turns   bool      `json:"turns,omitempty"`          // stopped by turns, while others run
	Again   bool      `json:"begins_again,omitempty"`   // it was interrupted without a checkpoint: what it did does not count

	Iterations   int64    `json:"iterations"`
	Checkpoint   *int64   `json:"checkpoint_at_unix,omitempty"` // when the newest was written
	Seconds      float64  `json:"seconds"`                      // of running time, of all attempts
	MS           *float64 `json:"iteration_ms_median"`
	Item         string   `json:"item,omitempty"` // what an iteration processes in batches, as image; empty if it is no batch
	Items        int      `json:"items_per_iteration,omitempty"`
	Quality      *float64 `json:"quality"`
	QualityIs    string   `json:"quality_metric,omitempty"`
	QualityUnit  string   `json:"quality_unit,omitempty"`
	LessIsBetter bool     `json:"quality_less_is_better,omitempty"`
	Changes      []string `json:"changes,omitempty"` // of settings by a screen during the run, with their effects
	CPUSeconds   float64  `json:"cpu_seconds"`       // of its processes
	Recordings   []string `json:"recordings"`        // closed copies in the run's folder

	PeakBytes   int64 `json:"peak_bytes,omitempty"`      // of memory, that the run reported; 0 if unknown
	Bend        int   `json:"memory_bends_at,omitempty"` // value of a search from which memory grows otherwise
	OutOfMemory bool  `json:"out_of_memory,omitempty"`   // why it failed
}

// beat is how often a task writes the state of a run; one that was silent for several beats has died.
const (
	beat   = 5 * time.Second
	silent = 12 * beat
)

// Beat is the longest time between two states that a task writes of a run.
const Beat = beat

// Runs reports whether a task works on the run: one that says so, and was not silent since.
func (s *Status) Runs() bool { return s.State == Running && time.Since(s.At) <= silent }

// Write replaces the state of a run.
func (f *Folder) Write(c Cell, s *Status) error {
	s.At = time.Now()
	return writeJSON(f.statusPath(c), s)
}

// largestStatus bounds the file of a state, in bytes.
const largestStatus = 1 << 20

// Read returns the state of a run.
func (f *Folder) Read(ctx context.Context, c Cell) (s Status, err error) {
	data, err := inputfile.Read(ctx, f.statusPath(c), largestStatus)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Status{State: Waiting}, nil
	case err == nil:
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", f.statusPath(c), err)
	}
	return s, nil
}

// Watch follows the states of all runs. Files are read again when their time or size has changed, so that it works on
// file systems that do not report changes of other machines.
type Watch struct {
	*Folder
	cells  []Cell
	known  []Status
	stamps []stamp
	plan   stamp // of a plan to which a search adds
}

// stamp identifies the contents of a file.
type stamp struct {
	at   time.Time
	size int64
}

// NewWatch returns a watch that has read nothing yet.
func NewWatch(f *Folder) *Watch {
	w := &Watch{Folder: f}
	w.follow()
	return w
}

// follow begins to follow all runs of the plan.
func (w *Watch) follow() {
	w.cells = w.Cells()
	w.known, w.stamps = make([]Status, len(w.cells)), make([]stamp, len(w.cells))
	for i := range w.known {
		w.known[i].State = Waiting
	}
}

// grow reads the plan again if a search has added to it.
func (w *Watch) grow(ctx context.Context) (changed bool, err error) {
	if w.Search == nil {
		return false, nil
	}
	info, err := os.Stat(w.at(planFile))
	if err != nil {
		return false, err
	}
	now := stamp{info.ModTime(), info.Size()}
	if now == w.plan {
		return false, nil
	}
	if w.Folder, err = Open(ctx, w.Path); err == nil {
		w.plan = now
		w.follow()
	}
	return true, err
}

// readers is the number of files that are read at a time: those of a network file system answer late.
const readers = 16

// Look reads what has changed, and reports whether anything has. Runs whose task has been silent count as interrupted.
func (w *Watch) Look(ctx context.Context) (changed bool, err error) {
	grown, err := w.grow(ctx)
	if err != nil {
		return false, err
	}
	var next atomic.Int64
	var any atomic.Bool
	var all sync.WaitGroup
	errs := make([]error, readers)
	for r := range readers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(w.cells) || ctx.Err() != nil {
					return
				}
				fresh, err := w.look(ctx, i)
				if fresh {
					any.Store(true)
				}
				errs[r] = errors.Join(errs[r], err)
			}
		})
	}
	all.Wait()
	return grown || any.Load(), errors.Join(append(errs, ctx.Err())...)
}

// look reads the state of a run if its file has changed.
func (w *Watch) look(ctx context.Context, i int) (changed bool, err error) {
	info, err := os.Stat(w.statusPath(w.cells[i]))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	if now := (stamp{info.ModTime(), info.Size()}); now != w.stamps[i] {
		s, err := w.Read(ctx, w.cells[i])
		if err != nil {
			return false, err
		}
		w.known[i], w.stamps[i], changed = s, now, true
	}
	if s := &w.known[i]; s.State == Running && !s.Runs() {
		s.State, changed = Interrupted, true
	}
	return changed, nil
}

// Statuses returns the state of each run, in the order of Cells. The caller must not modify it.
func (w *Watch) Statuses() []Status { return w.known }

// Effect is what two runs that ran by turns say of one another: how much longer an iteration of the arm takes.
type Effect struct {
	Arm     string  `json:"arm"`
	Against string  `json:"against"`
	Value   float64 `json:"value"` // a ratio less 1
	Low     float64 `json:"low"`   // of its interval of 95 %
	High    float64 `json:"high"`
	Rounds  int     `json:"rounds"`
	Start   int     `json:"replicate"`
}

// WriteEffects keeps what the runs of a task say of one another.
func (f *Folder) WriteEffects(task int, all []Effect) error {
	return writeJSON(f.at("effects", fmt.Sprintf("%d.json", task)), all)
}

// HasEffects reports whether the runs of a task have said anything of one another.
func (f *Folder) HasEffects(task int) bool {
	_, err := os.Stat(f.at("effects", fmt.Sprintf("%d.json", task)))
	return err == nil
}

// Effects returns what runs by turns have said.
func (f *Folder) Effects(ctx context.Context) (all []Effect, err error) {
	for i := range f.Tasks {
		if !f.Tasks[i].Turns {
			continue
		}
		data, err := inputfile.Read(ctx, f.at("effects", fmt.Sprintf("%d.json", i)), largestStatus)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var some []Effect
		if err == nil {
			err = json.Unmarshal(data, &some)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.at("effects", fmt.Sprintf("%d.json", i)), err)
		}
		all = append(all, some...)
	}
	return all, nil
}
