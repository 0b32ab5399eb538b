// Package files writes a run to files, each in a format of its own, while the run goes on. A file
// is complete or it is not there: it is written under a hidden name in the folder of its path and
// renamed at the end.
package files

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export"
)

// The files of a run while they are written: targets, drafts, pipes, and the end of all.

// Target is a format and the path to write it to.
type Target struct {
	format *format
	Path   string
}

// standardOutput is the path of a target that goes to standard output, of which Open is told.
const standardOutput = "-"

// Parse returns the target that FORMAT=PATH stands for.
func Parse(text string) (Target, error) {
	name, path, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return Target{}, fmt.Errorf("%q: must be FORMAT=PATH, as chrome=run.json; FORMAT is %s", text, Names())
	}
	for i := range formats {
		if formats[i].name == name {
			if path == standardOutput && name == "tensorboard" {
				return Target{}, fmt.Errorf("%q: tensorboard writes a folder: must be its path", text)
			}
			return Target{&formats[i], path}, nil
		}
	}
	return Target{}, fmt.Errorf("%q: unknown format %q: must be %s", text, name, Names())
}

// Format is the name of the format.
func (t Target) Format() string { return t.format.name }

// Stdout reports whether the target is standard output.
func (t Target) Stdout() bool { return t.Path == standardOutput }

// Files returns the paths of the files, none for standard output.
func (t Target) Files() []string {
	if t.Stdout() {
		return nil
	}
	if t.format.paths == nil {
		return []string{t.Path}
	}
	return t.format.paths(t.Path)
}

// Exports are the files that a run is written to. Only Follow may run beside other methods.
type Exports struct {
	all []*output
}

// output is one format on its way to its files.
type output struct {
	target Target
	paths  []string
	folder string // made for the files, empty if it was there
	drafts []draft
	writer writer
	err    error // it was given up
}

// draft is a file while it is written, or standard output.
type draft interface {
	io.Writer
	Path() string // of the file, "" for standard output
	Err() error   // the first error of a write
	Commit() error
	Discard()
}

// pipe is standard output: what was written to it cannot be taken back.
type pipe struct {
	*bufio.Writer
	err error
}

// Write writes to the pipe.
func (s *pipe) Write(p []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.Writer.Write(p)
	}
	return n, s.err
}

// Path returns "".
func (s *pipe) Path() string { return "" }

// Err returns the first error of Write.
func (s *pipe) Err() error { return s.err }

// Commit writes what is buffered.
func (s *pipe) Commit() error {
	if s.err == nil {
		s.err = s.Flush()
	}
	return s.err
}

// Discard does nothing.
func (s *pipe) Discard() {}

// Open begins the files of the targets; from is what the events of the run do not say. The target with the path "-" is
// written to stdout, of tables the first; nil refuses it. An error names the target and leaves nothing behind.
func Open(targets []Target, from export.Source, stdout io.Writer) (*Exports, error) {
	x := &Exports{}
	var streamed bool
	taken := map[string]Target{}
	for _, t := range targets {
		o := &output{target: t, paths: t.Files()}
		x.all = append(x.all, o)
		for _, path := range o.paths {
			if other, ok := taken[filepath.Clean(path)]; ok {
				x.Discard()
				return nil, fmt.Errorf("%q: %s is written by %q already", t.Format()+"="+t.Path, path,
					other.Format()+"="+other.Path)
			}
			taken[filepath.Clean(path)] = t
		}
		err := error(nil)
		switch {
		case !t.Stdout():
			err = o.open(from)
		case stdout == nil:
			err = errors.New("must be the path of a file: only prismtop export writes to standard output")
		case streamed:
			err = errors.New("must be the path of a file: standard output has another export")
		default:
			o.stream(stdout, from)
			streamed = true
		}
		if err != nil {
			x.Discard()
			return nil, fmt.Errorf("%q: %w", t.Format()+"="+t.Path, err)
		}
	}
	return x, nil
}

// live is a file that others read while it is appended. It is discarded only until it was flushed.
type live struct {
	*os.File
	wrote, kept bool
	err         error
}

// Write appends to the file. After an error it writes nothing more.
func (l *live) Write(p []byte) (n int, err error) {
	if l.err == nil {
		n, l.err = l.File.Write(p)
	}
	l.wrote = l.wrote || n > 0
	return n, l.err
}

// Path returns the path of the file.
func (l *live) Path() string { return l.Name() }

// Err returns the first error of a write.
func (l *live) Err() error { return l.err }

// Commit closes the file.
func (l *live) Commit() error {
	l.kept = true
	if err := l.Close(); l.err == nil {
		l.err = err
	}
	return l.err
}

// Discard closes the file, and removes it unless others may have read it.
func (l *live) Discard() {
	if _ = l.Close(); !l.kept {
		_ = os.Remove(l.Name())
	}
}

// draft makes a file of an export.
func (o *output) draft(path string) (draft, error) {
	if !o.target.format.live {
		return atomicfile.Create(path, 0o666)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return &live{File: f}, err
}

// open makes the folder and the drafts.
func (o *output) open(from export.Source) error {
	if folder := filepath.Dir(o.paths[0]); folder == filepath.Clean(o.target.Path) { // the path is that of a folder
		err := os.Mkdir(folder, 0o777)
		if err == nil {
			o.folder = folder
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	var to []io.Writer
	for _, path := range o.paths {
		d, err := o.draft(path)
		if err != nil {
			return err
		}
		o.drafts = append(o.drafts, d)
		to = append(to, d)
	}
	if !zipped(o.target.Format(), o.target.Path) {
		o.writer = o.target.format.start(to, from)
		return nil
	}
	zip := gzip.NewWriter(to[0])
	o.writer = zipWriter{o.target.format.start([]io.Writer{zip}, from), zip}
	return nil
}

// stream makes the writer of standard output.
func (o *output) stream(w io.Writer, from export.Source) {
	s := &pipe{Writer: bufio.NewWriter(w)}
	o.drafts = []draft{s}
	o.writer = o.target.format.start([]io.Writer{s, io.Discard}, from)
}

const (
	// interval is the time between two looks at the source, whose reader has room for more than a
	// second of the fastest loop.
	interval = 100 * time.Millisecond
	// pictureInterval is the time between two requests for a picture: without a screen nobody else
	// asks for one.
	pictureInterval = 2 * time.Second
	// flushInterval is the time between two flushes of the formats that are read meanwhile.
	flushInterval = time.Second
)

// Follow takes the events of a source until ctx ends, and then those that are left. newest
// returns the newest snapshot, nil for none, for formats that show judgements; also gets every event
// too. tell
// receives a line for the log when a target is given up: the run goes on.
func (x *Exports) Follow(ctx context.Context, source profiles.Source, newest func() *profiles.Snapshot,
	tell func(string), also ...func(*profiles.Event)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	asker, _ := source.(profiles.Asker)
	if !x.pictured() {
		asker = nil
	}
	var asked time.Time
	flushed := time.Now()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case now := <-ticker.C:
			if asker != nil && now.Sub(asked) >= pictureInterval {
				asker.WantPicture()
				asked = now
			}
		}
		source.Drain(func(e *profiles.Event) {
			x.Take(e)
			for _, take := range also {
				take(e)
			}
		})
		if s := newest(); s != nil {
			x.See(s)
		}
		if now := time.Now(); now.Sub(flushed) >= flushInterval {
			x.flush()
			flushed = now
		}
		x.abandon(tell)
	}
}

// flush writes what the formats have that others read meanwhile.
func (x *Exports) flush() {
	for _, o := range x.all {
		w, ok := o.writer.(interface{ Flush() })
		if !ok || !o.target.format.live || o.err != nil {
			continue
		}
		w.Flush()
		for _, d := range o.drafts {
			l := d.(*live)
			l.kept = l.wrote // on a full disk nothing was
		}
	}
}

// pictured reports whether one of the formats shows pictures.
func (x *Exports) pictured() bool {
	return slices.ContainsFunc(x.all, func(o *output) bool { return o.target.format.pictured })
}

// Take adds an event to every file.
func (x *Exports) Take(e *profiles.Event) {
	for _, o := range x.all {
		if o.err == nil {
			o.writer.Take(e)
		}
	}
}

// See shows a snapshot to the formats that have judgements of the run: alerts, effects. It must not be
// modified later.
func (x *Exports) See(s *profiles.Snapshot) {
	for _, o := range x.all {
		w := o.writer
		if z, ok := w.(zipWriter); ok {
			w = z.writer
		}
		if v, ok := w.(interface{ See(*profiles.Snapshot) }); ok && o.err == nil {
			v.See(s)
		}
	}
}

// LeftOut returns the columns that came too late for a table; none are of a run that had all from its beginning.
func (x *Exports) LeftOut() []string {
	for _, o := range x.all {
		w := o.writer
		if z, ok := w.(zipWriter); ok {
			w = z.writer
		}
		if t, ok := w.(interface{ LeftOut() []string }); ok && o.err == nil && len(t.LeftOut()) > 0 {
			return t.LeftOut()
		}
	}
	return nil
}

// abandon gives up the targets that could not be written.
func (x *Exports) abandon(tell func(string)) {
	for _, o := range x.all {
		for _, d := range o.drafts {
			if err := d.Err(); err != nil && o.err == nil {
				o.fail(err)
				tell(o.err.Error() + "; the export was given up")
			}
		}
	}
}

// fail gives up a target.
func (o *output) fail(err error) {
	o.err = fmt.Errorf("export %s: %w", o.target.Format(), err)
	o.discard()
}

// discard removes what was written, and the folder made for it.
func (o *output) discard() {
	for _, d := range o.drafts {
		d.Discard()
	}
	if o.folder != "" {
		_ = os.Remove(o.folder) // fails if others put something there
	}
}

// Close ends the files and gives them their names, which it returns. lost is the number of
// events that did not reach Take.
func (x *Exports) Close(lost int64) (paths []string, err error) {
	var written []string
	for _, o := range x.all {
		if o.err == nil {
			if err := o.writer.Close(lost); err != nil {
				o.fail(err)
			}
		}
		for _, d := range o.drafts {
			if o.err != nil {
				break
			}
			if err := d.Commit(); err != nil {
				o.fail(err)
				break
			}
			if path := d.Path(); path == "" {
				written = append(written, "standard output")
			} else {
				paths, written = append(paths, path), append(written, path)
			}
		}
		err = errors.Join(err, o.err)
	}
	if lost > 0 && len(written) > 0 {
		err = errors.Join(err, fmt.Errorf("export: %d events are missing in %s: writing fell behind the run, or its "+
			"recording is damaged", lost, strings.Join(written, ", ")))
	}
	return paths, err
}

// Discard ends the files without a trace. It does nothing after Close.
func (x *Exports) Discard() {
	for _, o := range x.all {
		o.discard()
	}
}
