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
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The format of a file: its version, its tables, and opening and checking one.

// Format is the version of the file format, kept in SQLite's user_version. It changes when an older
// program could misread a file. Files of format 1 are read as they are: they have the same blocks, beside the tables
// that a Database has now.
const Format = 2

// applicationID marks a recording among SQLite's files: "ptop".
const applicationID = 0x70746f70

// schema creates the tables of a recording. Times without a unit in their name are seconds since the recording began.
// docs/recording.md describes every column.
const schema = facts + kept + `
CREATE TABLE starts (
	start INTEGER PRIMARY KEY, at REAL NOT NULL, workload TEXT, object TEXT, quality TEXT, origins TEXT, body BLOB NOT NULL
);
CREATE TABLE marks (start INTEGER NOT NULL, iteration INTEGER NOT NULL, at REAL NOT NULL, kind INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE blocks (
	tick INTEGER PRIMARY KEY, ticks INTEGER NOT NULL, sealed INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
	start INTEGER, first INTEGER, last INTEGER, median_ms REAL, settings TEXT, data BLOB NOT NULL
);
`

// facts creates the tables of what is known of the file and of how far the run came.
const facts = `CREATE TABLE recording (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE progress (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	written REAL NOT NULL, state TEXT, error TEXT, starts INTEGER, iterations INTEGER, elapsed REAL, median_ms REAL,
	quality REAL, dropped INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0
);`

// kept creates the tables of pictures and profiles, to which blocks refer.
const kept = `
CREATE TABLE pictures (
	picture INTEGER PRIMARY KEY, start INTEGER, name TEXT, iteration INTEGER, at REAL, width INTEGER, height INTEGER,
	low REAL, high REAL, sha256 TEXT, data BLOB
);
CREATE TABLE layer_lists (list INTEGER PRIMARY KEY, layers TEXT);
CREATE TABLE layer_samples (sample INTEGER PRIMARY KEY, start INTEGER, at REAL, list INTEGER, ns TEXT);`

// NewerError reports a recording by a newer program.
type NewerError struct {
	Format  int
	Version string // of the program that recorded it; empty if unknown
}

func (e *NewerError) Error() string {
	to := ""
	if e.Version != "" {
		to = " to " + e.Version + " or later"
	}
	return fmt.Sprintf(
		"was recorded by a newer prismtop, in format %d: this one reads formats up to %d, so update it%s", e.Format,
		Format, to)
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
		e := &NewerError{Format: format}
		// if it still says so
		_ = db.QueryRowContext(ctx, "SELECT value FROM recording WHERE key = 'program'").Scan(&e.Version)
		e.Version = strings.TrimPrefix(e.Version, "prismtop ")
		return format, e
	case format < 1:
		return format, fmt.Errorf("is damaged: its header names format %d, and the first was 1", format)
	}
	return format, nil
}

// create creates the tables of a new file, whose kind an application_id names.
func create(ctx context.Context, db *sql.DB, schema string, id int) error {
	_, err := db.ExecContext(ctx, "BEGIN;"+schema+"PRAGMA application_id = "+strconv.Itoa(id)+
		"; PRAGMA user_version = "+strconv.Itoa(Format)+"; COMMIT;")
	return err
}

// plain converts an error of SQLite to one that says what would be right.
func plain(err error) error {
	var failed *sqlite.Error
	if !errors.As(err, &failed) {
		return err
	}
	if failed.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // the file beside a log could not grow, as in a full tmpfs
		return errors.New("no space is left on its disk")
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
