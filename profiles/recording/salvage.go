package recording

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file restores what the tables have of blocks that cannot be read. The start of a run, without which
// its numbers mean nothing, is written twice: in its block, and in the table begins.

// packStart returns the body of a start for the table begins.
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

// startOf returns a start of the run from the table begins; nil if it is not there.
func (r *Reader) startOf(ctx context.Context, start int64) (*profiles.Begin, error) {
	u := unpacker{table: r.tables}
	return r.restart(ctx, start, &u)
}

// restart is startOf that leaves the settings in an unpacker.
func (r *Reader) restart(ctx context.Context, start int64, u *unpacker) (*profiles.Begin, error) {
	var tables int
	if err := r.db.QueryRowContext(ctx,
		"SELECT count(*) FROM sqlite_schema WHERE name = 'begins'").Scan(&tables); err != nil || tables == 0 {
		return nil, err // recordings had none of them once
	}
	var packed []byte
	err := r.db.QueryRowContext(ctx, "SELECT body FROM begins WHERE start = ?", start).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), largestBody))
	if err != nil {
		return nil, err
	}
	b, err := u.unpack(names[beginType], body)
	if err != nil {
		return nil, err
	}
	return b.(*profiles.Begin), nil
}

// Salvage returns what the tables have of a stretch that cannot be read, as a moment at its end: starts of
// the run, changed settings, measurements, results of units, the newest pictures, and the log of a run
// that was started once. It is nil if that is nothing, or nothing without the start of the run. Read must
// have been called with it before.
func (c *Cursor) Salvage(ctx context.Context, s Stretch) (m *Moment) {
	defer func() { // reflection on what may be damaged, too
		if recover() != nil {
			m = nil
		}
	}()
	x := salvage{c: c, ctx: ctx, Stretch: s}
	x.starts()
	if c.unpack.schema == nil {
		return nil
	}
	x.changes()
	x.measurements()
	x.units()
	x.log()
	if s.final {
		x.end()
	}
	x.pictures()
	if len(x.events) == 0 {
		return nil
	}
	slices.SortStableFunc(x.events, func(a, b placed) int { return a.At.Compare(b.At) })
	return &Moment{At: c.reader.began.Add(s.To), Since: s.To, Salvaged: true, events: x.events}
}

// salvage collects the events of a stretch from the tables. A table that cannot be read adds nothing.
type salvage struct {
	c   *Cursor
	ctx context.Context
	Stretch
	events []placed
}

// add adds an event at a time in seconds.
func (x *salvage) add(at float64, b profiles.Body) {
	x.events = append(x.events, placed{0, profiles.Event{At: x.c.reader.began.Add(sinceBegan(at)), Body: b}})
}

// sinceBegan converts seconds as in the tables.
func sinceBegan(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// within reports whether a time in seconds is in the stretch. The ends of lost blocks belong to the blocks
// beside them.
func (x *salvage) within(at float64) bool {
	t := sinceBegan(at)
	if x.lost {
		return (t > x.From || x.Tick == 0) && (t < x.To || x.final)
	}
	return t >= x.From && t <= x.To
}

// rows calls take with the rows of a query.
func (x *salvage) rows(query string, take func(scan func(...any) error) error, values ...any) {
	rows, err := x.c.reader.db.QueryContext(x.ctx, query, values...)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		if take(rows.Scan) != nil {
			return
		}
	}
}

// starts adds the starts of the run.
func (x *salvage) starts() {
	for start := x.before + 1; start <= x.start; start++ {
		var at float64
		if x.c.reader.db.QueryRowContext(x.ctx, "SELECT at FROM starts WHERE start = ?", start).Scan(&at) != nil ||
			!x.within(at) {
			continue
		}
		if b, err := x.c.reader.restart(x.ctx, start, &x.c.unpack); err == nil && b != nil {
			x.add(at, b)
			x.add(at, &profiles.StateChange{State: profiles.Running})
		}
	}
}

// changes adds changed settings.
func (x *salvage) changes() {
	x.rows("SELECT iteration, key, before, after, asked, in_force, ablation, at FROM changes WHERE start BETWEEN ? "+
		"AND ? ORDER BY at, rowid", func(scan func(...any) error) error {
		var c profiles.Change
		var asked, inForce, at float64
		if err := scan(&c.Iteration, &c.Key, &c.Before, &c.After, &asked, &inForce, &c.Ablation, &at); err != nil ||
			!x.within(at) {
			return err
		}
		c.Asked, c.At = sinceBegan(asked), sinceBegan(inForce)
		v, err := x.c.unpack.inForce.Set(c.Key, c.After)
		if err != nil {
			return nil // of a setting that this version lacks
		}
		x.c.unpack.inForce = v.Settled()
		x.add(at, &profiles.Changed{Change: c, Settings: x.c.unpack.inForce})
		return nil
	}, max(x.before, 0), x.start)
}

// measurements adds the values of series that are not measured in every iteration.
func (x *salvage) measurements() {
	var newest *profiles.Measurement
	var then float64
	x.rows("SELECT iteration, metric, value, at FROM measurements WHERE start BETWEEN ? AND ? ORDER BY at, iteration",
		func(scan func(...any) error) error {
			var iteration int64
			var metric string
			var value, at float64
			if err := scan(&iteration, &metric, &value, &at); err != nil || !x.within(at) {
				return err
			}
			if newest == nil || newest.Iteration != iteration || then != at {
				newest, then = &profiles.Measurement{Iteration: iteration, Unit: -1, Values: profiles.NoValues()}, at
				x.add(at, newest)
			}
			if i := x.c.unpack.schema.SeriesNamed(metric); i >= 0 {
				newest.Values[i] = value
			}
			return nil
		}, max(x.before, 0), x.start)
}

// units adds the results of units of work.
func (x *salvage) units() {
	x.rows("SELECT unit, iterations, converged, loss, reached, threshold, seconds, at FROM units WHERE start BETWEEN "+
		"? AND ? ORDER BY at", func(scan func(...any) error) error {
		u := profiles.UnitResult{Values: profiles.NoValues(), Reached: math.NaN()}
		var reached sql.NullFloat64
		var seconds, at float64
		if err := scan(&u.Unit, &u.Iterations, &u.Converged, &u.Loss, &reached, &u.Threshold, &seconds,
			&at); err != nil || !x.within(at) {
			return err
		}
		if reached.Valid {
			u.Reached = reached.Float64
		}
		u.Elapsed = sinceBegan(seconds)
		x.add(at, &u)
		return nil
	}, max(x.before, 0), x.start)
}

// log adds the lines of the log, whose times count from a start that they do not name.
func (x *salvage) log() {
	var starts int
	var at float64
	if x.c.reader.db.QueryRowContext(x.ctx, "SELECT count(*), coalesce(min(at), 0) FROM starts").Scan(&starts,
		&at) != nil || starts != 1 {
		return
	}
	x.rows("SELECT at, text, coalesce(refused, 0) FROM log ORDER BY rowid", func(scan func(...any) error) error {
		var since float64
		var l profiles.LogEntry
		if err := scan(&since, &l.Text, &l.Refused); err != nil || !x.within(at+since) {
			return err
		}
		x.add(at+since, &l)
		return nil
	})
}

// end adds how the run ended.
func (x *salvage) end() {
	var state string
	var why sql.NullString
	if x.c.reader.db.QueryRowContext(x.ctx, "SELECT state, error FROM progress").Scan(&state, &why) != nil {
		return
	}
	for s := profiles.Preparing; s <= profiles.Failed; s++ {
		if s.String() == state {
			x.add(x.To.Seconds(), &profiles.StateChange{State: s, Why: why.String})
		}
	}
}

// pictures adds the newest picture of each kind.
func (x *salvage) pictures() {
	newest := map[string]reference{}
	times := map[string]float64{}
	x.rows("SELECT picture, name, iteration, at FROM pictures WHERE start BETWEEN ? AND ? ORDER BY picture",
		func(scan func(...any) error) error {
			var ref reference
			var name string
			var at float64
			if err := scan(&ref.Row, &name, &ref.Iteration, &at); err != nil || !x.within(at) {
				return err
			}
			if ref.ID = x.c.unpack.schema.PictureNamed(name); ref.ID >= 0 {
				newest[name], times[name] = ref, at
			}
			return nil
		}, max(x.before, 0), x.start)
	for name, ref := range newest {
		if p, err := x.c.reader.picture(x.ctx, ref); err == nil {
			x.c.seen[ref.ID] = seenPicture{ref.Row, p}
			x.add(times[name], p)
		}
	}
}
