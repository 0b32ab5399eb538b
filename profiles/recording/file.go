package recording

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// A file being written: made and described, batches of events, blocks, marks, and the budget of pictures.

// The byte budget of live pictures: a base and an allowance per iteration.
// Those beyond are left out, except the last one before the run stops.
const (
	pictureBytes             = 128 << 10
	pictureBytesPerIteration = 8
)

// Blocks are joined into one, which compresses better, once they hold this many iterations,
// covers so long, or comes near what a block may hold.
const (
	sealIterations = 2048
	sealAfter      = 15 * time.Second
	sealSteps      = mostSteps
	sealBodies     = largestBodies / 4 // bytes
)

// file is a recording being written. Only the recorder's goroutine uses it.
type file struct {
	db      *sql.DB
	path    string
	options *Options
	began   time.Time
	packer  packer
	tables  tables

	start     int  // −1 before the first
	begun     bool // a start was written
	schema    profiles.Schema
	startedAt float64                                 // seconds since the recording began
	first     settings.Values                         // of the start
	differing any                                     // settings in force that differ from those, as JSON; nil for none
	marked    map[alertKey]bool                       // alerts of the start
	tail      block                                   // written in pieces since the last sealed block
	tailed    int64                                   // ticks before the tail
	bodies    int                                     // bytes of the bodies in the tail
	count     int64                                   // iterations of all starts
	pictured  int64                                   // bytes of pictures that change
	shown     [profiles.MaxPictures]int64             // row of the newest picture of each kind
	left      [profiles.MaxPictures]*profiles.Picture // the newest, if it was left out
	layers    layerList
	goesOn    bool        // the run is in its state Running
	made      os.FileInfo // of the file, to notice that the path leads elsewhere

	ran, spent float64 // seconds that the parts ran that the newest start resumed, and that it has run so far
	retold     bool    // the file lacks ran
}

// fileStatements are those by which a file is written.
var fileStatements = []statement{insertRecorded, updateQuality, insertMark, insertPicture, insertLayerList,
	insertLayerSample, insertBlock, deleteTail, updateProgress}

// writing are the pragmas of a file that is written. It is appended to: half a megabyte of its pages in memory is
// enough. Without a journal on the way to the log, no moment at which the program may end leaves one beside the file:
// only its header is written then.
var writing = []string{"journal_mode(off)", "journal_mode(wal)", "synchronous(normal)", "cache_size(-512)"}

// busyMS is how long a statement waits for another program that locks the file, in milliseconds.
const busyMS = 2000

// createFile makes a file for a recording that begins at a time, or opens the one that is joined.
func createFile(o *Options, began time.Time) (*file, error) {
	if o.Joined != nil {
		return joinFile(o)
	}
	ctx := context.Background()
	if !o.Reserved {
		made, err := os.OpenFile(o.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // two runs never share a file
		if err != nil {
			return nil, named(o.Path, err)
		}
		if err := made.Close(); err != nil {
			return nil, named(o.Path, err)
		}
	}
	db, err := connect(o.Path, url.Values{"_pragma": writing})
	if err == nil {
		err = create(ctx, db, schema, applicationID)
	}
	f := &file{db: db, path: o.Path, options: o, began: began, start: -1}
	if err == nil && o.mostPage > 0 {
		_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", o.mostPage))
	}
	if err == nil {
		err = f.tables.prepare(ctx, db, fileStatements...)
	}
	if err == nil {
		err = f.describe(ctx)
	}
	if err == nil {
		err = f.reserve()
	}
	if err != nil {
		if db != nil {
			_ = db.Close() // the first error is the one to report
		}
		err = f.explain(err)
		_ = Delete(o.Path)
		return nil, named(o.Path, err)
	}
	return f, nil
}

// describe writes who records, when and where.
func (f *file) describe(ctx context.Context) error {
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect once it is committed
	facts := f.options.Fingerprint.Facts(f.options.Path)
	begins(facts, f.began)
	facts["stopped"] = strings.Repeat(" ", stoppedRoom)
	for key, value := range facts {
		if _, err := tx.ExecContext(ctx, "INSERT INTO recording VALUES (?, ?)", key, value); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO progress (one, written) VALUES (1, 0)"); err != nil {
		return err
	}
	return tx.Commit()
}

// Facts returns rows of the table recording, by their keys: by which program and on what machine a run is made, and as
// which file, if the path of one is given.
func (p *Fingerprint) Facts(path string) map[string]any {
	facts := map[string]any{
		"program": "prismtop " + p.Version, "preset": p.Preset, "process": os.Getpid(), "host": hostname(),
		"processor": p.CPU.Model, "processor_reason": p.CPU.Reason, "architecture": p.CPU.Arch,
		"processors": p.CPU.Logical, "threads": p.Threads, "stopped": "",
	}
	if path != "" {
		facts["file"] = filepath.Base(path)
	}
	return facts
}

// begins adds when a recording began.
func begins(facts map[string]any, at time.Time) {
	facts["began_ns"], facts["began"] = at.UnixNano(), at.UTC().Format(time.RFC3339)
}

// GPUFacts returns the rows of the table recording about the machine's GPU.
func GPUFacts(g machine.GPU) map[string]any {
	name := ""
	if len(g.Devices) > 0 {
		name = g.Devices[0].Name
	}
	return map[string]any{"gpu": name, "gpu_driver": g.Driver, "gpu_reason": g.Reason}
}

// describeGPU writes which GPU the machine has.
func (f *file) describeGPU(ctx context.Context, g machine.GPU) error {
	for key, value := range GPUFacts(g) {
		if _, err := f.db.ExecContext(ctx, "INSERT OR REPLACE INTO recording VALUES (?, ?)", key, value); err != nil {
			return err
		}
	}
	return nil
}

// write writes a batch in one transaction.
func (f *file) write(b *batch, dropped int64) error {
	if len(b.entries) == 0 {
		return nil
	}
	ctx := context.Background()
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect once it is committed
	t := f.tables.in(ctx, tx)
	pack := stepper{pack: func(e *entry, inForce settings.Values) ([]byte, error) { return f.event(t, e, inForce) }}
	piece, from := block{iterations: b.iterations, steps: make([]step, 0, len(b.entries)), settings: f.differing}, 0
	for i := range b.entries {
		e := &b.entries[i]
		// each start has blocks of its own
		if _, ok := e.body.(*profiles.Begin); ok && f.begun && (len(piece.steps) == 0 || piece.whole()) {
			next := block{iterations: piece.iterations[e.after-from:]}
			piece.iterations = piece.iterations[:e.after-from]
			if err := errors.Join(f.append(t, &piece), f.seal(t)); err != nil {
				return err
			}
			piece, from = next, e.after
			pack.inForce, pack.ticked = settings.Values{}, false
		}
		e.after -= from
		if c, ok := e.body.(*profiles.StateChange); ok {
			if f.goesOn = c.State == profiles.Running; !f.goesOn {
				more, err := f.lastPictures(t, e)
				if err != nil {
					return err
				}
				piece.steps = append(piece.steps, more...)
			}
		}
		s, err := pack.step(e)
		if err != nil {
			return err
		}
		f.markAlerts(t, e.alerts)
		piece.steps = append(piece.steps, s)
	}
	if err := f.append(t, &piece); err != nil {
		return err
	}
	if s := b.snapshot; s != nil {
		f.spent = s.Elapsed.Seconds()
		t.progress(f.start+1, s, b.entries[len(b.entries)-1].at.Seconds(), dropped)
		if f.retold && t.err == nil {
			_, t.err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO recording VALUES ('ran', ?)", f.ran)
			f.retold = false
		}
	}
	if t.err != nil {
		return t.err
	}
	return tx.Commit()
}

// append writes a piece of the recording, or seals the tail with it. An empty one is left out.
func (f *file) append(t *inserts, b *block) error {
	if len(b.steps) == 0 {
		return nil
	}
	written := f.tailed + f.tail.ticks()
	from := len(f.tail.iterations)
	if len(f.tail.steps) == 0 {
		f.tail.settings = b.settings
	}
	f.tail.iterations = append(f.tail.iterations, b.iterations...)
	for _, s := range b.steps {
		s.after += from
		f.tail.steps = append(f.tail.steps, s)
		f.bodies += len(s.body)
	}
	f.count += int64(len(b.iterations))
	if len(f.tail.iterations) >= sealIterations || f.tail.length() >= sealAfter || len(f.tail.steps) >= sealSteps ||
		f.bodies >= sealBodies {
		return f.seal(t)
	}
	return f.putBlock(t, b, written, false)
}

// seal writes the tail as one block in place of its pieces.
func (f *file) seal(t *inserts) error {
	if len(f.tail.steps) == 0 {
		return nil
	}
	t.run(deleteTail)
	if err := f.putBlock(t, &f.tail, f.tailed, true); err != nil {
		return err
	}
	f.tailed += f.tail.ticks()
	clear(f.tail.steps)
	f.tail.iterations, f.tail.steps, f.bodies = f.tail.iterations[:0], f.tail.steps[:0], 0
	return nil
}

// putBlock writes a block after a number of ticks.
func (f *file) putBlock(t *inserts, b *block, ticked int64, sealed bool) error {
	data, err := f.packer.pack(b)
	if err != nil {
		return err
	}
	var first, last, median any
	if n := len(b.iterations); n > 0 {
		first, last = b.iterations[0].Index, b.iterations[n-1].Index
		if sealed {
			_, median, _ = spread(b.iterations, func(it *profiles.Iteration) float64 { return float64(it.Total) / 1e6 })
		}
	}
	t.run(insertBlock, ticked, b.ticks(), sealed, int64(b.steps[0].at), int64(b.steps[len(b.steps)-1].at),
		f.start, first, last, median, b.settings, data)
	return t.err
}

// event writes what an event has beside the blocks, and returns its body for the block.
func (f *file) event(t *inserts, e *entry, inForce settings.Values) ([]byte, error) {
	at := e.at.Seconds()
	switch b := e.body.(type) {
	case *profiles.Begin:
		if err := f.begin(t, b, at); err != nil {
			return nil, err
		}
		f.startedAt = (e.at - e.early).Seconds() // what counts from the start counts from there
		return json.Marshal(reference{Row: int64(f.start)})
	case *profiles.Grown:
		f.schema = b.Schema
		t.run(updateQuality, b.Schema.Quality, f.start)
	case *profiles.Changed:
		f.differing = nil
		if more := packedSettings(b.Settings, f.first); len(more) > 0 {
			text, err := json.Marshal(more)
			if err != nil {
				return nil, err
			}
			f.differing = string(text)
		}
		if !b.Ablation {
			f.mark(t, profiles.ChangeMark, b.Iteration, at, b.Key+": "+b.Before+" → "+b.After)
		}
	case *profiles.Note:
		text := b.Text
		if b.Author != "" {
			text = b.Author + ": " + text
		}
		f.mark(t, profiles.NoteMark, b.Iteration, at, text)
	case *profiles.Picture:
		row, err := f.picture(t, b, at)
		if err != nil {
			return nil, err
		}
		return json.Marshal(reference{row, b.ID, b.Iteration})
	case *profiles.LayerTimes:
		row, err := f.layers.put(t, f.start, b, at)
		if err != nil {
			return nil, err
		}
		return json.Marshal(reference{Row: row})
	}
	return pack(e.body, inForce)
}

// begin writes a start of the run.
func (f *file) begin(t *inserts, b *profiles.Begin, at float64) error {
	f.start++
	switch f.ran += f.spent; {
	case b.Info.Resumed == 0:
		f.ran = 0
	case b.Info.Ran > 0: // what ran after the checkpoint does not count, nor does writing the last one
		f.ran = b.Info.Ran.Seconds()
	}
	f.spent, f.retold = 0, true
	var origins any // NULL for a restart
	if !f.begun {
		known := f.options.Fingerprint.Origins
		if known == nil {
			known = settings.Origins{}
		}
		text, err := json.Marshal(known)
		if err != nil {
			return err
		}
		origins = string(text)
	}
	f.begun, f.startedAt, f.schema, f.first, f.differing = true, at, b.Info.Schema, b.Settings, nil
	f.shown, f.left, f.goesOn = [profiles.MaxPictures]int64{}, [profiles.MaxPictures]*profiles.Picture{}, false
	f.marked = map[alertKey]bool{}
	body, err := packStart(b)
	if err != nil {
		return err
	}
	t.run(insertRecorded, f.start, at, b.Info.Schema.Workload, b.Info.Object, b.Info.Schema.Quality, origins, body)
	return t.err
}

// packStart returns the body of a start.
func packStart(b *profiles.Begin) ([]byte, error) {
	body, err := pack(b, settings.Values{})
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

// mark writes a moment worth going to.
func (f *file) mark(t *inserts, kind profiles.MarkKind, iteration int64, at float64, text string) {
	t.run(insertMark, f.start, iteration, at, int(kind), text)
}

// markAlerts marks where alerts were raised that were not marked yet.
func (f *file) markAlerts(t *inserts, all []profiles.Alert) {
	for i := range all {
		a := &all[i]
		if key := (alertKey{a.ID, a.Since}); !f.marked[key] && f.begun {
			f.marked[key] = true
			f.mark(t, profiles.AlertMark, a.Iteration, f.startedAt+a.Since.Seconds(), a.What)
		}
	}
}

// reference is the body of an event that has a row of its own; 0 for none. Starts count from 0.
type reference struct {
	Row       int64
	ID        int   `json:",omitempty"` // of a picture
	Iteration int64 `json:",omitempty"` // likewise
}

// picture writes a picture, unless it changes and too many bytes were spent on others like it while
// the run goes on. It returns the row of the newest one written.
func (f *file) picture(t *inserts, p *profiles.Picture, at float64) (row int64, err error) {
	switch {
	case p.ID < 0 || p.ID >= len(f.schema.Pictures):
		return 0, nil
	case f.schema.Pictures[p.ID].Live && f.goesOn && f.pictured > pictureBytes+pictureBytesPerIteration*f.count:
		f.left[p.ID] = p
		return f.shown[p.ID], nil
	}
	return f.store(t, p, at)
}

// store writes a picture.
func (f *file) store(t *inserts, p *profiles.Picture, at float64) (row int64, err error) {
	s, err := putPicture(p)
	if err != nil {
		return 0, err
	}
	info := f.schema.Pictures[p.ID]
	var hash any
	if info.Live {
		f.pictured += int64(len(s.data))
	} else {
		hash = hashOf(p)
	}
	f.left[p.ID] = nil
	f.shown[p.ID] = t.run(insertPicture, nil, f.start, info.Name, p.Iteration, at, s.width, s.height, s.low, s.high,
		hash, s.data)
	return f.shown[p.ID], t.err
}

// lastPictures writes the newest pictures that were left out, where the run stops, and returns events
// for them.
func (f *file) lastPictures(t *inserts, e *entry) (steps []step, err error) {
	for id, p := range f.left {
		if p == nil {
			continue
		}
		row, err := f.store(t, p, e.at.Seconds())
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(reference{Row: row, ID: id, Iteration: p.Iteration})
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{after: e.after, at: e.at, event: nameOf(p), body: body})
	}
	return steps, nil
}

// hashOf returns the SHA-256 of a picture's pixels, row by row as little-endian float32.
func hashOf(p *profiles.Picture) string {
	data := make([]byte, 0, 4*len(p.Pixels))
	for _, v := range p.Pixels {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sealLast seals what is left.
func (f *file) sealLast(ctx context.Context) error {
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect once it is committed
	if err := f.seal(f.tables.in(ctx, tx)); err != nil {
		return err
	}
	return tx.Commit()
}
