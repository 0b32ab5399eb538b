package recording

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The format of a file: its version, its tables, and opening and checking one.

// Format is the version of the file format, kept in SQLite's user_version. It changes when an older
// program could misread a file.
const Format = 1

// applicationID marks a recording among SQLite's files: "ptop".
const applicationID = 0x70746f70

// schema makes the tables of a new file. Only blocks, pictures, layer_lists and layer_samples are
// read by a replay; the others have the same data in a form for SQL. Times without a unit in their
// name are seconds since the recording began. docs/recording.md describes every column.
var schema = `
CREATE TABLE recording (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE progress (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	written REAL NOT NULL, state TEXT, error TEXT, starts INTEGER, iterations INTEGER, elapsed REAL, median_ms REAL,
	quality REAL, dropped INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE starts (
	start INTEGER PRIMARY KEY, at REAL NOT NULL, workload TEXT, object TEXT, device TEXT, kernels TEXT, gpu_reason TEXT,
	seed INTEGER, parameters INTEGER, units INTEGER, passes INTEGER, unit TEXT, quality TEXT
);
` + begins + `
CREATE TABLE settings (start INTEGER, key TEXT, value TEXT, origin TEXT, PRIMARY KEY (start, key)) WITHOUT ROWID;
CREATE TABLE metrics (start INTEGER, name TEXT, kind TEXT, title TEXT, unit TEXT, better TEXT, PRIMARY KEY (start, name)) WITHOUT ROWID;
CREATE TABLE changes (
	start INTEGER NOT NULL, iteration INTEGER NOT NULL, key TEXT NOT NULL, before TEXT, after TEXT,
	asked REAL, in_force REAL, warmup INTEGER, ablation INTEGER, at REAL NOT NULL
);
CREATE TABLE effects (
	start INTEGER, iteration INTEGER, keys TEXT, verdict TEXT, reason TEXT, shift REAL, low REAL, high REAL, drift REAL,
	before_ms REAL, after_ms REAL, n_before INTEGER, n_after INTEGER, left_out INTEGER, quality_drift REAL,
	final INTEGER, PRIMARY KEY (start, iteration)
) WITHOUT ROWID;
CREATE TABLE measurements (start INTEGER, iteration INTEGER, metric TEXT, value REAL, at REAL);
CREATE TABLE units (
	start INTEGER, unit INTEGER, iterations INTEGER, converged INTEGER, loss TEXT, reached REAL, threshold REAL, seconds REAL, at REAL
);
CREATE TABLE log (at REAL NOT NULL, text TEXT NOT NULL, refused INTEGER);
CREATE TABLE alerts (
	start INTEGER, id TEXT, severity TEXT, iteration INTEGER, what TEXT, try TEXT, raised REAL, cleared REAL
);
` + notesTable + sensorsTable() + `CREATE TABLE readings (
	at REAL NOT NULL, iteration INTEGER, rss INTEGER, peak_rss INTEGER, caches INTEGER, others REAL, own REAL, lost INTEGER
);
CREATE TABLE memory (start INTEGER, at REAL, part TEXT, bytes INTEGER);
CREATE TABLE pictures (
	picture INTEGER PRIMARY KEY, start INTEGER, name TEXT, iteration INTEGER, at REAL, width INTEGER, height INTEGER,
	low REAL, high REAL, sha256 TEXT, data BLOB
);
CREATE TABLE layer_lists (list INTEGER PRIMARY KEY, layers TEXT);
CREATE TABLE layer_samples (sample INTEGER PRIMARY KEY, start INTEGER, at REAL, list INTEGER, ns TEXT);
CREATE TABLE blocks (
	tick INTEGER PRIMARY KEY, ticks INTEGER NOT NULL, sealed INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
	start INTEGER, first INTEGER, last INTEGER, min_ms REAL, median_ms REAL, max_ms REAL, summary TEXT, data BLOB NOT NULL
);
`

// notesTable makes the table of notes, which files of the first programs lack.
const notesTable = `CREATE TABLE IF NOT EXISTS notes (start INTEGER, iteration INTEGER, author TEXT, text TEXT NOT NULL, written REAL, at REAL NOT NULL);
`

// begins creates the table of run starts, which salvage.go reads if blocks are damaged.
const begins = "CREATE TABLE IF NOT EXISTS begins (start INTEGER PRIMARY KEY, body BLOB NOT NULL);"

// migrations lead from one version of the format to the next: the first from version 1 to 2.
var migrations []string

// NewerError reports a recording by a newer program.
type NewerError struct{ Format int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("was recorded by a newer prismtop, in format %d: this one reads formats up to %d, so update it",
		e.Format, Format)
}

// errEmpty reports a file in which nothing was written.
var errEmpty = errors.New("is empty: nothing was recorded")

// errForeign reports a file of another kind.
var errForeign = errors.New("is not a recording of prismtop")

// address returns the name of a file for SQLite, with parameters.
func address(path string, parameters url.Values) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(full), RawQuery: parameters.Encode()}
	return u.String(), nil
}

// connect opens a file with one connection, whose statements wait for another program that locks the file.
func connect(path string, parameters url.Values) (*sql.DB, error) {
	all := maps.Clone(parameters)
	if all == nil {
		all = url.Values{}
	}
	all["_pragma"] = slices.Concat(all["_pragma"], []string{fmt.Sprintf("busy_timeout(%d)", busyMS)})
	name, err := address(path, all)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// number reads a pragma.
func number(ctx context.Context, db *sql.DB, pragma string) (n int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&n)
	return n, err
}

// check checks that a file is a recording of a known format, and returns that.
func check(ctx context.Context, db *sql.DB) (format int, err error) {
	id, err := number(ctx, db, "application_id")
	if err != nil {
		return 0, err
	}
	if id != applicationID {
		if n, err := number(ctx, db, "schema_version"); err == nil && n == 0 { // it was killed before it made a table
			return 0, errEmpty
		}
		// its tables were not made meanwhile
		if id, err = number(ctx, db, "application_id"); err != nil || id != applicationID {
			return 0, cmp.Or(err, errForeign)
		}
	}
	if format, err = number(ctx, db, "user_version"); err != nil {
		return 0, err
	}
	switch {
	case format > Format:
		return format, &NewerError{format}
	case format < 1:
		return format, fmt.Errorf("is damaged: its header names format %d, and the first was 1", format)
	}
	return format, nil
}

// create makes the tables of a new file.
func create(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "BEGIN;"+schema+
		"PRAGMA application_id = "+strconv.Itoa(applicationID)+"; PRAGMA user_version = "+strconv.Itoa(Format)+
		"; COMMIT;")
	return err
}

// migrate brings a file from a format to the newest, each step whole or not at all.
func migrate(ctx context.Context, db *sql.DB, format int, steps []string) error {
	for ; format < 1+len(steps); format++ {
		_, err := db.ExecContext(ctx,
			"BEGIN IMMEDIATE;"+steps[format-1]+"; PRAGMA user_version = "+strconv.Itoa(format+1)+"; COMMIT;")
		if err != nil {
			_, _ = db.ExecContext(ctx, "ROLLBACK") // the first error is the one to report
			return fmt.Errorf("from format %d to %d: %w", format, format+1, err)
		}
	}
	return nil
}

// plain converts an error of SQLite to one that says what would be right.
func plain(err error) error {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return errors.New("the disk is full")
	case sqlite3.SQLITE_NOTADB:
		return errForeign
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("is damaged (%w): sqlite3 FILE .recover may save parts of it", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return errors.New("cannot be written")
	case sqlite3.SQLITE_CANTOPEN:
		return errors.New("cannot be opened: its folder must exist, and be writable while the recording grows or " +
			"was not closed")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return errors.New("is locked by another program")
	}
	return err
}

// named adds the path to an error.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	var pathed *os.PathError
	if errors.As(err, &pathed) {
		err = pathed.Err
	}
	return fmt.Errorf("%s: %w", path, plain(err))
}
