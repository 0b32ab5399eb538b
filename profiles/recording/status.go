package recording

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
)

// The state of a recorded run and of its recording.

// RecordedState is how far a recorded run came.
type RecordedState uint8

// The states of a recording.
const (
	Growing  RecordedState = iota // the run goes on
	Ended                         // the run ended in order
	Killed                        // its process ended during the run
	CutShort                      // the recording stopped before the run: see Status.Stopped
)

// String returns the state's name for display.
func (s RecordedState) String() string {
	return [...]string{"running", "ended", "killed", "cut short"}[s]
}

// Status is a recorded run in a few numbers.
type Status struct {
	State      RecordedState
	Began      time.Time
	Preset     string
	Workload   string
	Object     string
	RunState   string // as on the screen: "finished"
	Error      string // why it failed
	Starts     int
	Iterations int64         // since the newest restart, those of the parts that it resumed included
	Length     time.Duration // that it ran, as Iterations, without pauses and preparation
	// of an iteration of the newest stage, since the run was resumed last, as in the summary; NaN if none ran
	MedianMS   float64
	Quality    float64 // NaN if it was not measured
	QualityIs  string  // the name of its series
	Dropped    int64   // iterations that are missing
	Name, Note string  // given by the user
	Stopped    string  // why the recording stopped before the run; empty unless State is CutShort

	written time.Duration // when, since it began
	// seconds that the parts ran that its newest start resumed; NaN if the file does not say
	ran           float64
	closed        bool   // in order
	process, host string // that write it
	file          string // its name at first; empty in older recordings
}

// Ending says why a recording ends before its run; empty if it does not, or not yet.
func (s *Status) Ending() string {
	switch {
	case s.State == CutShort:
		return "the recording stops: " + s.Stopped
	case s.State == Killed:
		return "the run was killed"
	}
	return ""
}

// Cut returns the state of a run whose recording ends before it, "killed" or "cut short", and why it does; empty if the
// recording has the end, or goes on.
func (s *Status) Cut() (state, why string) {
	if s.Ending() == "" || s.Over() {
		return "", ""
	}
	return s.State.String(), cmp.Or(s.Stopped, s.Ending())
}

// over are the states of a run that has ended.
var over = []string{profiles.Finished.String(), profiles.Stopped.String(), profiles.Failed.String()}

// Over reports whether the run has ended; its recording may still grow while its screen is open.
func (s *Status) Over() bool { return slices.Contains(over, s.RunState) }

// GoesOn reports whether the run goes on: a screen that shows how it ended leaves its recording open for notes.
func (s *Status) GoesOn() bool { return s.State == Growing && !s.Over() }

// lag is how long after its last write a recording of a process on another machine, or on one that
// does not say, counts as growing.
const lag = 5 * time.Second

// Status returns the state of the recording and of its run.
func (r *Reader) Status(ctx context.Context) (s Status, err error) {
	s.Began = r.began
	var written float64
	var state, failure, workload, object, quality sql.NullString
	var median, value, elapsed sql.NullFloat64
	var starts, iterations sql.NullInt64
	err = r.db.QueryRowContext(ctx, `SELECT written, state, error, starts, iterations, elapsed, median_ms, p.quality, dropped, ended, workload, object, s.quality
		FROM progress p LEFT JOIN starts s ON s.start = p.starts - 1`).
		Scan(&written, &state, &failure, &starts, &iterations, &elapsed, &median, &value, &s.Dropped,
			&s.closed, &workload,
			&object, &quality)
	if damaged := misread("its table progress", err); damaged != err {
		return s, named(r.path, fmt.Errorf("%w; replay, compare and export still read its blocks", damaged))
	} else if err != nil {
		return s, named(r.path, err)
	}
	s.RunState, s.Error, s.Workload, s.Object, s.QualityIs = state.String, failure.String, workload.String,
		object.String, quality.String
	s.Starts, s.Iterations = int(starts.Int64), iterations.Int64
	s.MedianMS, s.Quality = math.NaN(), math.NaN()
	if median.Valid {
		s.MedianMS = median.Float64
	}
	if value.Valid {
		s.Quality = value.Float64
	}
	s.written = seconds(written)
	texts := map[string]*string{"preset": &s.Preset, "name": &s.Name, "note": &s.Note}
	ran := ""
	texts["process"], texts["host"], texts["stopped"], texts["ran"] = &s.process, &s.host, &s.Stopped, &ran
	texts["file"] = &s.file
	rows, err := r.db.QueryContext(ctx, "SELECT key, value FROM recording")
	if err != nil {
		return s, named(r.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var value sql.NullString
		if err := rows.Scan(&key, &value); err != nil {
			return s, named(r.path, misread("its table recording", err))
		}
		if to := texts[key]; to != nil {
			*to = value.String
		}
	}
	s.Stopped = strings.TrimSpace(s.Stopped) // from the room that was kept for it
	if s.ran, err = strconv.ParseFloat(ran, 64); err != nil {
		s.ran, err = math.NaN(), nil
	}
	s.Length = seconds(elapsed.Float64)
	if s.Starts > 1 {
		var sum time.Duration
		var first int
		sum, first, err = r.sinceRestart(ctx, s.written)
		if err == nil && first < s.Starts-1 {
			if s.Length = sum; !math.IsNaN(s.ran) {
				s.Length = seconds(s.ran + elapsed.Float64)
			}
		}
	}
	switch {
	case r.goesOn != nil && r.goesOn():
		s.State = Growing
	case s.Stopped != "":
		s.State = CutShort
	case s.closed:
		s.State = Ended
	case alive(s.process, s.host, time.Since(r.began.Add(s.written))):
		s.State = Growing
	case s.Over(): // the process was killed later
		s.State = Ended
	default:
		s.State = Killed
	}
	return s, named(r.path, errors.Join(err, rows.Err()))
}

// seconds converts a number of them to a duration.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// sinceRestart returns the recorded time, pauses included, since the newest start that began at the first iteration,
// up to a time since the recording began, and the number of that start: those after it resumed the one before each.
func (r *Reader) sinceRestart(ctx context.Context, until time.Duration) (sum time.Duration, start int, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT s.start, s.at, b.first, b.last FROM starts s
		LEFT JOIN (SELECT start, min(first) AS first, max(to_ns) AS last FROM blocks GROUP BY start) b ON b.start = s.start ORDER BY s.start DESC`)
	if err != nil {
		return 0, 0, misread("its table starts", err)
	}
	defer rows.Close()
	for newest := true; rows.Next(); newest = false {
		var at float64
		var first, last sql.NullInt64
		if err := rows.Scan(&start, &at, &first, &last); err != nil {
			return 0, 0, misread("its table starts", err)
		}
		if !newest {
			until = time.Duration(last.Int64)
		}
		sum += max(0, until-seconds(at))
		if first.Int64 == 0 { // also of one that has no iteration yet
			break
		}
	}
	return sum, start, misread("its table starts", rows.Err())
}

// PictureHash returns the SHA-256 of the exact pixels of a start's picture that does not change, in
// hexadecimal; empty if it has none. Starts count from 0.
func (r *Reader) PictureHash(ctx context.Context, start int) (string, error) {
	var hash sql.NullString
	err := r.db.QueryRowContext(ctx,
		"SELECT sha256 FROM pictures WHERE start = ? AND sha256 IS NOT NULL ORDER BY picture LIMIT 1",
		start).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return hash.String, named(r.path, err)
}
