package runs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"prismtop/profiles/export/files"
	"prismtop/profiles/recording"
	"prismtop/tui/command/cli"
	table "prismtop/tui/runs"
)

// library is the user's recordings as the table sees them.
type library struct {
	folder string
	export ExportTo
	// changed wakes the watcher before its time.
	changed chan struct{}

	mu      sync.Mutex // held by the watcher
	watcher *recording.Watcher
	read    int // files known to the watcher
}

// newLibrary returns the recordings of a folder.
func newLibrary(folder string, export ExportTo) *library {
	return &library{folder: folder, export: export, changed: make(chan struct{}, 1),
		watcher: recording.NewWatcher(folder)}
}

// Times of the watcher: how often it looks, how much longer than a look it waits, so that a large folder
// does not keep a processor busy, and how long it gathers what it read before it delivers it.
const (
	lookPeriod  = time.Second
	lookShare   = 20
	gatherLimit = 50 * time.Millisecond
)

// Folder returns the folder, with ~ for the home folder.
func (l *library) Folder() string {
	if home, err := os.UserHomeDir(); err == nil {
		if rest, ok := strings.CutPrefix(l.folder, home+string(filepath.Separator)); ok {
			return filepath.Join("~", rest)
		}
	}
	return l.folder
}

// Watch delivers what the folder holds and what changes in it.
func (l *library) Watch(ctx context.Context) <-chan table.Update {
	to := make(chan table.Update)
	go func() {
		defer close(to)
		l.mu.Lock() // until an earlier watch has ended
		defer l.mu.Unlock()
		known := l.watcher.Known()
		u := table.Update{All: true, Files: len(known), Read: len(known)}
		for i := range known {
			u.Runs = append(u.Runs, rowOf(&known[i]))
		}
		if len(known) > 0 && !send(ctx, to, u) {
			return
		}
		for first := len(known) == 0; ; first = false {
			began := time.Now()
			if !l.look(ctx, to, first) {
				return
			}
			select {
			case <-time.After(max(lookPeriod, lookShare*time.Since(began))):
			case <-l.changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}

// look reads the folder once and delivers what is new, in pieces; all marks the first of them. It returns
// false if ctx has ended.
func (l *library) look(ctx context.Context, to chan<- table.Update, all bool) bool {
	u := table.Update{All: all}
	sent := time.Now()
	gone, err := l.watcher.Look(ctx, func(r recording.Listed, files, known int) {
		u.Runs, u.Files, u.Read = append(u.Runs, rowOf(&r)), files, known
		if time.Since(sent) > gatherLimit && send(ctx, to, u) {
			u, sent = table.Update{}, time.Now()
		}
	})
	if ctx.Err() != nil {
		return false
	}
	u.Gone, u.Err = gone, err
	u.Files = len(l.watcher.Known())
	u.Read = u.Files
	if !u.All && len(u.Runs) == 0 && len(u.Gone) == 0 && u.Err == nil && u.Read == l.read {
		return true
	}
	l.read = u.Read
	return send(ctx, to, u)
}

// send delivers an update; false if ctx ended before.
func send(ctx context.Context, to chan<- table.Update, u table.Update) bool {
	select {
	case to <- u:
		return true
	case <-ctx.Done():
		return false
	}
}

// wake makes the watcher look again.
func (l *library) wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Describe sets the name or the note of a run.
func (l *library) Describe(ctx context.Context, path, key, text string) error {
	defer l.wake()
	return withShortPath(recording.Describe(ctx, path, key, text), path)
}

// Delete deletes a file of the folder, unless its run goes on. The user has seen why it cannot be read.
func (l *library) Delete(ctx context.Context, path string) error {
	defer l.wake()
	if _, err := recording.MayDelete(ctx, path); errors.Is(err, recording.ErrGoesOn) || errors.Is(err, fs.ErrNotExist) {
		return withShortPath(err, path)
	}
	return withShortPath(recording.Delete(path), path)
}

// Targets lists the formats of exports.
func (l *library) Targets() []table.Target {
	var all []table.Target
	for _, k := range files.Kinds() {
		all = append(all, table.Target{Name: k.Name, About: k.About, Ending: files.Ending(k.Name)})
	}
	return all
}

// Taken returns which files an export would replace; an error if it cannot write them.
func (l *library) Taken(format, to string) (taken []string, err error) {
	target, err := files.Parse(format + "=" + fromHome(to))
	if err != nil {
		return nil, err
	}
	if target.Stdout() {
		return nil, errors.New("must be the path of a file: the screen has standard output")
	}
	if err := target.Replaceable(); err != nil {
		return nil, err
	}
	for _, path := range target.Files() {
		if err := cli.Writable(filepath.Dir(path)); err != nil {
			return nil, err
		}
		switch _, err := os.Lstat(path); {
		case err == nil:
			taken = append(taken, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return taken, nil
}

// Export writes a run to files.
func (l *library) Export(ctx context.Context, path, format, to string) ([]string, error) {
	return l.export(ctx, path, format+"="+fromHome(to))
}

// fromHome replaces ~ at the beginning of a path, which no shell has done here.
func fromHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"+string(filepath.Separator)); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// rowOf returns a row of the table.
func rowOf(l *recording.Listed) table.Run {
	r := table.Run{Path: l.Path, File: fileName(l.Path), Bytes: l.Bytes, Began: l.Began.Local()}
	if l.Err != nil {
		r.State, r.Err = table.Unread, withoutPath(l.Err, l.Path)
		return r
	}
	r.State = map[recording.RecordedState]table.State{recording.Growing: table.Running, recording.Ended: table.Ended,
		recording.Killed: table.Killed, recording.CutShort: table.CutShort}[l.State]
	r.End, r.Err, r.Preset, r.Object = l.RunState, cmp.Or(l.Stopped, l.Error), presetOf(l), l.Object
	if l.GoesOn() {
		r.End = ""
	}
	r.Length, r.Iterations, r.Median, r.Quality = l.Length, l.Iterations, l.MedianMS*1e6, l.Quality
	r.Name, r.Note = l.Name, l.Note
	r.Metric, r.Measured = measuredBy(l)
	return r
}

// presetOf returns the preset of a run. One that goes on from a checkpoint has its settings from there.
func presetOf(l *recording.Listed) string {
	if l.Preset == "" {
		return "resumed"
	}
	return l.Preset
}

// fileName returns the name of a recording, as commands take it.
func fileName(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }

// shortError is an error whose text has the name of a recording in place of its path: the footer is short.
type shortError struct {
	error
	text string
}

func (e *shortError) Error() string { return e.text }

func (e *shortError) Unwrap() error { return e.error }

// withShortPath shortens the path in an error.
func withShortPath(err error, path string) error {
	if err == nil {
		return nil
	}
	return &shortError{err, strings.ReplaceAll(err.Error(), path, fileName(path))}
}
