package recording

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// A run as a database for queries, made from its events and snapshots.

// databaseID marks such a file among SQLite's: "ptoq".
const databaseID = 0x70746f71

// IsDatabase reports whether a file that begins so is one that a Database wrote.
func IsDatabase(head []byte) bool {
	const at = 68 // of the application_id in SQLite's header
	return len(head) >= at+4 && string(head[:len(header)]) == header &&
		binary.BigEndian.Uint32(head[at:]) == databaseID
}

// queried creates the tables of a Database.
func queried() string {
	return facts + kept + `
CREATE TABLE starts (
	start INTEGER PRIMARY KEY, at REAL NOT NULL, workload TEXT, object TEXT, device TEXT, kernels TEXT, gpu_reason TEXT,
	seed INTEGER, parameters INTEGER, units INTEGER, passes INTEGER, unit TEXT, quality TEXT
);
CREATE TABLE settings (start INTEGER, key TEXT, value TEXT, origin TEXT, PRIMARY KEY (start, key)) WITHOUT ROWID;
CREATE TABLE metrics (start INTEGER, name TEXT, kind TEXT, title TEXT, unit TEXT, better TEXT, PRIMARY KEY (start, name)) WITHOUT ROWID;
CREATE TABLE changes (
	start INTEGER NOT NULL, iteration INTEGER NOT NULL, key TEXT NOT NULL, before TEXT, after TEXT,
	asked REAL, in_force REAL, warmup INTEGER, ablation INTEGER, at REAL NOT NULL
);
CREATE TABLE effects (
	start INTEGER, iteration INTEGER, keys TEXT, verdict TEXT, reason TEXT, shift REAL, low REAL, high REAL, drift REAL,
	before_ms REAL, after_ms REAL, n_before INTEGER, n_after INTEGER, left_out INTEGER, quality_drift REAL,
	replicated TEXT, final INTEGER, PRIMARY KEY (start, iteration)
) WITHOUT ROWID;
CREATE TABLE measurements (start INTEGER, iteration INTEGER, metric TEXT, value REAL, at REAL);
CREATE TABLE units (
	start INTEGER, unit INTEGER, iterations INTEGER, converged INTEGER, loss TEXT, reached REAL, threshold REAL, seconds REAL, at REAL
);
CREATE TABLE log (start INTEGER, at REAL NOT NULL, text TEXT NOT NULL, refused INTEGER);
CREATE TABLE alerts (
	start INTEGER, id TEXT, severity TEXT, iteration INTEGER, what TEXT, try TEXT, raised REAL, cleared REAL
);
CREATE TABLE notes (start INTEGER, iteration INTEGER, author TEXT, text TEXT NOT NULL, written REAL, at REAL NOT NULL);
CREATE TABLE readings (
	at REAL NOT NULL, iteration INTEGER, rss INTEGER, peak_rss INTEGER, caches INTEGER, others REAL, own REAL, lost INTEGER
);
CREATE TABLE memory (start INTEGER, at REAL, part TEXT, bytes INTEGER);
CREATE TABLE blocks (
	tick INTEGER PRIMARY KEY, ticks INTEGER NOT NULL, sealed INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
	start INTEGER, first INTEGER, last INTEGER, min_ms REAL, median_ms REAL, max_ms REAL, summary TEXT
);
` + sensorsTable()
}

// Known is what a Database holds beside the events of a run.
type Known struct {
	Began   time.Time                        // origin of all times; zero for the first event's
	Facts   func() map[string]any            // the rows of the table recording at the end, but for Began's
	Origins func(start int) settings.Origins // of the settings of a start; nil for a restart
	Whole   bool                             // the run's end is known
}

// Database makes an SQLite database of a run in memory, and writes it to a file at its end.
type Database struct {
	tabulator
	to    io.Writer
	known Known
	db    *sql.DB
	t     *inserts

	part     []profiles.Iteration // since the last row of blocks
	from, at time.Duration        // the part's first moment, and the newest
	ticks    int64                // snapshots seen before the part
	seen     int64                // and in it
}

// databaseStatements are those that a Database uses.
var databaseStatements = []statement{
	insertStart, updateQuality, insertSetting, insertMetric, insertChange, putEffect, insertMeasurement,
	insertUnit, insertLog, insertNote, insertAlert, updateAlert, clearAlert, insertReading, insertSensors,
	insertMemory, insertPicture, insertLayerList, insertLayerSample, insertPart, updateProgress,
}

// NewDatabase returns a database that is written to a file when it is closed.
func NewDatabase(to io.Writer, k Known) *Database {
	d := &Database{tabulator: tabulator{start: -1, origins: k.Origins}, to: to, known: k, t: &inserts{}}
	d.t.err = d.open(context.Background())
	return d
}

// open creates the tables.
func (d *Database) open(ctx context.Context) (err error) {
	if d.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		return err
	}
	d.db.SetMaxOpenConns(1)
	if err := create(ctx, d.db, queried(), databaseID); err != nil {
		return err
	}
	all := &tables{}
	if err := all.prepare(ctx, d.db, databaseStatements...); err != nil {
		return err
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	d.t = all.in(ctx, tx)
	_, err = tx.ExecContext(ctx, "INSERT INTO progress (one, written) VALUES (1, 0)")
	return err
}

// Take adds an event.
func (d *Database) Take(e *profiles.Event) {
	if b, ok := e.Body.(*profiles.Iteration); ok {
		d.iterated = true
		d.part = append(d.part, *b)
		d.at = max(d.at, sinceBegan(d.startedAt)+time.Duration(b.Start+b.Total))
		return
	}
	if d.known.Began.IsZero() {
		d.known.Began = e.At
	}
	since := e.At.Sub(d.known.Began)
	d.at = max(d.at, since)
	at := since.Seconds()
	switch b := e.Body.(type) {
	case *profiles.Begin:
		d.seal()
		d.begin(d.t, b, at)
	case *profiles.Grown:
		d.grown(d.t, &b.Schema)
	case *profiles.Changed:
		d.changed(d.t, b, at)
	case *profiles.Picture:
		d.picture(b, at)
	case *profiles.LayerTimes:
		if _, err := d.layers.put(d.t, d.start, b, at); err != nil {
			d.t.err = errors.Join(d.t.err, err)
		}
	default:
		d.tabulate(d.t, b, at)
	}
}

// picture adds a picture.
func (d *Database) picture(p *profiles.Picture, at float64) {
	if p.ID < 0 || p.ID >= len(d.schema.Pictures) {
		return
	}
	s, err := putPicture(p)
	if err != nil {
		d.t.err = errors.Join(d.t.err, err)
		return
	}
	info := d.schema.Pictures[p.ID]
	var hash any
	switch {
	case info.Live:
	case p.SHA256 != "":
		hash = p.SHA256
	default:
		hash = hashOf(p)
	}
	d.t.run(insertPicture, nil, d.start, info.Name, p.Iteration, at, s.width, s.height, s.low, s.high, hash, s.data)
}

// See adds what a snapshot concludes.
func (d *Database) See(s *profiles.Snapshot) {
	d.seen++
	d.conclude(d.t, s, d.at.Seconds())
	d.conclusions(d.t, s, d.at.Seconds())
	d.t.progress(d.start+1, s, d.at.Seconds(), 0)
	if len(d.part) >= sealIterations || len(d.part) > 0 && d.at-d.from >= sealAfter {
		d.seal()
	}
}

// seal adds the row of blocks for the iterations since the one before.
func (d *Database) seal() {
	if n := len(d.part); n > 0 {
		low, median, high := spread(d.part, func(it *profiles.Iteration) float64 { return float64(it.Total) / 1e6 })
		d.t.run(insertPart, d.ticks, d.seen, true, int64(d.from), int64(d.at), d.start, d.part[0].Index,
			d.part[n-1].Index, low, median, high, summaryOf(&d.schema, d.part))
	}
	d.ticks, d.seen, d.from, d.part = d.ticks+d.seen, 0, d.at, d.part[:0]
}

// Close writes the file. lost is the number of events that did not reach Take.
func (d *Database) Close(lost int64) (err error) {
	defer func() {
		if d.db != nil {
			err = errors.Join(err, d.db.Close())
		}
	}()
	if d.seal(); d.t.err != nil {
		return d.t.err
	}
	ctx := context.Background()
	facts := d.known.Facts()
	if !d.known.Began.IsZero() {
		begins(facts, d.known.Began)
	}
	for key, value := range facts {
		if _, err = d.t.tx.ExecContext(ctx, "INSERT INTO recording VALUES (?, ?)", key, value); err != nil {
			return err
		}
	}
	_, err = d.t.tx.ExecContext(ctx, "UPDATE progress SET dropped = ?, ended = ?", lost, d.known.Whole)
	if err == nil {
		err = d.t.tx.Commit()
	}
	if err != nil {
		return err
	}
	d.t.tables.close()
	c, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	var data []byte
	err = c.Raw(func(driver any) (err error) {
		data, err = driver.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	if err == nil {
		_, err = d.to.Write(data)
	}
	return err
}
