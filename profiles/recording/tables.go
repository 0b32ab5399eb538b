package recording

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"prismtop/profiles"
)

// The prepared statements of a file, and writing rows by them.

// statement names a prepared statement.
type statement uint8

const (
	insertStart statement = iota
	insertRecorded
	insertMark
	updateQuality
	insertSetting
	insertMetric
	insertChange
	putEffect
	insertMeasurement
	insertUnit
	insertLog
	insertNote
	insertAlert
	updateAlert
	clearAlert
	insertReading
	insertSensors
	insertMemory
	insertPicture
	insertLayerList
	insertLayerSample
	insertBlock
	insertPart
	deleteTail
	updateProgress
	numStatements
)

// into returns the statement that adds a row of some columns to a table.
func into(table string, columns int) string {
	return fmt.Sprintf("INSERT INTO %s VALUES (%s)", table, strings.TrimSuffix(strings.Repeat("?, ", columns), ", "))
}

var statements = [numStatements]string{
	insertStart:       into("starts", 13),
	insertRecorded:    into("starts", 7),
	insertMark:        into("marks", 5),
	updateQuality:     "UPDATE starts SET quality = ? WHERE start = ?",
	insertSetting:     into("settings", 4),
	insertMetric:      into("metrics", 6),
	insertChange:      into("changes", 10),
	putEffect:         strings.Replace(into("effects", 17), "INSERT", "INSERT OR REPLACE", 1),
	insertMeasurement: into("measurements", 5),
	insertUnit:        into("units", 9),
	insertLog:         into("log", 4),
	insertNote:        into("notes", 6),
	insertAlert:       into("alerts", 8),
	updateAlert:       "UPDATE alerts SET what = ?, try = ? WHERE rowid = ?",
	clearAlert:        "UPDATE alerts SET cleared = ? WHERE rowid = ?",
	insertReading:     into("readings", 8),
	insertSensors:     into("sensors", 2+len(sensorColumns)),
	insertMemory:      into("memory", 4),
	insertPicture:     into("pictures", 11),
	insertLayerList:   into("layer_lists", 2),
	insertLayerSample: into("layer_samples", 5),
	insertBlock:       into("blocks", 11),
	insertPart:        into("blocks", 12),
	deleteTail:        "DELETE FROM blocks WHERE NOT sealed",
	updateProgress: "UPDATE progress SET written = ?, state = ?, error = ?, starts = ?, iterations = ?, elapsed = ?, " +
		"median_ms = ?, quality = ?, dropped = ?",
}

// tables are the prepared statements of a file.
type tables [numStatements]*sql.Stmt

// prepare prepares some statements.
func (t *tables) prepare(ctx context.Context, db *sql.DB, some ...statement) (err error) {
	for _, i := range some {
		if t[i], err = db.PrepareContext(ctx, statements[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) close() {
	for _, s := range t {
		if s != nil {
			_ = s.Close() // nothing is lost by a statement
		}
	}
}

// in returns the statements within a transaction.
func (t *tables) in(ctx context.Context, tx *sql.Tx) *inserts {
	return &inserts{ctx: ctx, tx: tx, tables: t}
}

// inserts writes rows in one transaction, up to the first error.
type inserts struct {
	ctx    context.Context
	tx     *sql.Tx
	tables *tables
	bound  tables
	err    error
}

// run executes a statement and returns the number of the row that it added.
func (t *inserts) run(s statement, values ...any) (row int64) {
	if t.err != nil {
		return 0
	}
	if t.bound[s] == nil {
		t.bound[s] = t.tx.StmtContext(t.ctx, t.tables[s])
	}
	done, err := t.bound[s].ExecContext(t.ctx, values...)
	if err == nil {
		row, err = done.LastInsertId()
	}
	t.err = errors.Join(t.err, err)
	return row
}

// progress writes how far the run came.
func (t *inserts) progress(starts int, s *profiles.Snapshot, now float64, dropped int64) {
	quality := any(nil)
	if v := s.Of(s.Run.Schema.Quality); v.Has {
		quality = measured(v.Latest)
	}
	median := any(nil)
	if s.Whole.Total.N > 0 {
		median = s.Whole.Total.Median / 1e6
	}
	t.run(updateProgress, now, s.State.String(), s.Err, starts, s.Index, s.Elapsed.Seconds(), median, quality, dropped)
}
