package recording

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// Stretch is a part of a recording: a block, what was consumed during some ticks of the aggregator, or
// the place of blocks that are not in the file any more. The newest stretches of a recording that grows
// are replaced by one with the same ticks.
type Stretch struct {
	Tick, Ticks int64         // ticks before it, and in it
	Iterations  int64         // in it; of lost blocks 0 where that is not known
	From, To    time.Duration // of its first and its last entry, since the recording began

	before, start int64 // starts of the run, before it and at its end; −1 before the first
	first, last   int64 // iterations; −1 if it has none or they are not known
	lost          bool  // its blocks are not in the file
	final         bool  // nothing follows it, as far as the table progress says
}

// DamagedError reports a stretch that cannot be read.
type DamagedError struct {
	Stretch
	Held []string // what else it held: changes, alerts and notes
	Err  error
}

func (e *DamagedError) Error() string {
	when := fmt.Sprintf("from %v to %v", e.From.Round(time.Millisecond), e.To.Round(time.Millisecond))
	if len(e.Held) > 0 {
		when += ", with " + strings.Join(e.Held, "; ")
	}
	if e.lost && e.Iterations == 0 {
		return fmt.Sprintf("the part %s is missing: %v", when, e.Err)
	}
	verb, which := "are", ""
	if e.Iterations == 1 {
		verb = "is"
	}
	if e.first >= 0 && e.last >= e.first {
		which = fmt.Sprintf(" (%d to %d)", e.first, e.last)
	}
	return fmt.Sprintf("%s %s missing%s, %s: %v", unit.Plural(int(e.Iterations), "iteration", "iterations"), verb,
		which, when, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// mostNamed is the number of missing parts that Damages names.
const mostNamed = 8

// Damages collects the errors of a recording's stretches. The zero value has none.
type Damages struct {
	all  []error
	more int
}

// Add adds an error; nil is ignored.
func (d *Damages) Add(err error) {
	switch {
	case err == nil:
	case len(d.all) < mostNamed:
		d.all = append(d.all, err)
	default:
		d.more++
	}
}

// Err returns the first errors, and the number of others; nil if there are none.
func (d *Damages) Err() error {
	if d.more == 0 {
		return errors.Join(d.all...)
	}
	return errors.Join(errors.Join(d.all...), fmt.Errorf("%s cannot be read either",
		unit.Plural(d.more, "other part", "other parts")))
}

// errLost reports blocks that are not in the file.
var errLost = errors.New("blocks of the recording are not in the file")

// Stretches lists the stretches that have ticks after a number of them, oldest first. Blocks count their
// ticks: where those do not follow one another, or end before what the table progress says, a stretch
// stands for the blocks that are not there, whose error Cursor.Read returns.
func (r *Reader) Stretches(ctx context.Context, after int64) ([]Stretch, error) {
	rows, err := r.db.QueryContext(ctx, `SELECT tick, ticks, coalesce(start, 0), coalesce(first, -1), coalesce(last, -1), from_ns, to_ns
		FROM blocks WHERE tick >= coalesce((SELECT tick FROM blocks WHERE tick < ?1 AND tick + ticks <= ?1 AND last IS NOT NULL ORDER BY tick DESC LIMIT 1), 0)
		UNION ALL SELECT coalesce(dropped, 0), -1, coalesce(starts, 0) - 1, 0, coalesce(iterations, 0), 0, CAST(coalesce(written, 0) * 1e9 AS INTEGER) FROM progress
		WHERE typeof(written) IN ('real', 'integer') AND typeof(starts) = 'integer' AND typeof(iterations) = 'integer' AND typeof(dropped) = 'integer'`, after)
	if err != nil {
		return nil, named(r.path, err)
	}
	defer rows.Close()
	var blocks []Stretch
	var end *Stretch // by the table progress: up to its last iteration, its Tick the number of dropped ones
	for rows.Next() {
		var s Stretch
		if err := rows.Scan(&s.Tick, &s.Ticks, &s.start, &s.first, &s.last, &s.From, &s.To); err != nil {
			return nil, named(r.path, misread("its table blocks", err))
		}
		if s.Ticks < 0 {
			end = &s
			continue
		}
		switch {
		case s.first < 0:
		case s.last >= s.first:
			s.Iterations = s.last - s.first + 1
		default: // the run was started again in it: at least those of the newer start
			s.Iterations = s.last + 1
		}
		blocks = append(blocks, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, named(r.path, err)
	}
	slices.SortFunc(blocks, func(a, b Stretch) int { return cmp.Compare(a.Tick, b.Tick) })
	from := int64(0)
	if len(blocks) == 0 || blocks[0].Tick > 0 && after == 0 {
		if b, err := r.begin(ctx, 0, &unpacker{table: r.tables}); err == nil && b != nil {
			from = b.Info.Resumed
		}
	}
	whole := withLost(blocks, from, end)
	first := 0
	for first < len(whole) && whole[first].Tick+whole[first].Ticks <= after {
		first++
	}
	return whole[first:], nil
}

// withLost returns blocks with stretches in place of those that are missing before, between and after
// them. The first start begins with the iteration from; end is what the table progress says, nil for
// nothing.
func withLost(blocks []Stretch, from int64, end *Stretch) (all []Stretch) {
	before := Stretch{first: -1, last: from - 1} // the blocks so far
	started := int64(-1)
	for i := range blocks {
		b := &blocks[i]
		if ticked := before.Tick + before.Ticks; b.Tick > ticked {
			lost := Stretch{Tick: ticked, Ticks: b.Tick - ticked, From: before.To, To: b.From, before: started,
				start: b.start, first: -1, last: -1, lost: true}
			next := slices.IndexFunc(blocks[i:], func(s Stretch) bool { return s.first >= 0 })
			switch {
			case next >= 0:
				lost.between(&before, blocks[i+next].start, blocks[i+next].first)
			case end != nil:
				lost.between(&before, end.start, end.last)
			}
			if lost.Iterations > 0 {
				before.last = lost.last
			}
			all = append(all, lost)
		}
		b.before, started = started, max(started, b.start)
		all = append(all, *b)
		switch { // of a block without iterations
		case b.last >= 0:
		case b.start > before.start: // a start of which there are none so far
			b.last = -1
		default:
			b.start, b.last = before.start, before.last
		}
		before = *b
	}
	if end == nil {
		return all
	}
	if known := before.last + 1; end.start > before.start || end.start == before.start && end.last-known > end.Tick {
		lost := Stretch{Tick: before.Tick + before.Ticks, Ticks: 1, From: before.To, To: max(end.To, before.To),
			before: started, start: end.start, first: -1, last: -1, lost: true}
		lost.between(&before, end.start, end.last)
		all = append(all, lost)
	}
	if n := len(all); n > 0 {
		all[n-1].final = true
	}
	return all
}

// between sets the iterations of lost blocks after others and before an iteration of a start, if that is
// the same start: how long an earlier one was is not known.
func (s *Stretch) between(before *Stretch, start, next int64) {
	if first := before.last + 1; start == before.start && next > first {
		s.first, s.last, s.Iterations = first, next-1, next-first
	}
}

// Marks lists the moments worth going to, oldest first.
func (r *Reader) Marks(ctx context.Context) (all []profiles.Mark, err error) {
	query := `SELECT at, kind, group_concat(text, ', ') FROM marks GROUP BY start, kind, iif(kind = 0, iteration, rowid)`
	if r.format == 1 {
		query = `SELECT at, 0, group_concat(key || ': ' || before || ' → ' || after, ', ') FROM changes WHERE NOT ablation GROUP BY start, iteration
			UNION ALL SELECT raised, 1, what FROM alerts`
		var tables int
		if err := r.db.QueryRowContext(ctx,
			"SELECT count(*) FROM sqlite_schema WHERE name = 'notes'").Scan(&tables); err != nil {
			return nil, named(r.path, err)
		}
		if tables > 0 {
			query += " UNION ALL SELECT at, 2, iif(author = '', '', author || ': ') || text FROM notes"
		}
	}
	rows, err := r.db.QueryContext(ctx,
		query+" UNION ALL SELECT at, 0, 'start ' || (start + 1) FROM starts WHERE start > 0 ORDER BY 1")
	if err != nil {
		return nil, named(r.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var m profiles.Mark
		var seconds float64
		if err := rows.Scan(&seconds, &m.Kind, &m.Text); err != nil {
			return nil, named(r.path, misread("its table marks or starts", err))
		}
		m.At = sinceBegan(seconds)
		all = append(all, m)
	}
	return all, named(r.path, rows.Err())
}

// mostHeld is the number of changes, alerts and notes that the error of a part names.
const mostHeld = 4

// held names what a stretch held besides iterations, as far as the file has that elsewhere.
func (r *Reader) held(ctx context.Context, s Stretch) (all []string) {
	marks, err := r.Marks(ctx)
	if err != nil {
		return nil // the error of the stretch is the one to report
	}
	for _, m := range marks {
		if !s.within(m.At) {
			continue
		}
		if len(all) == mostHeld {
			return append(all, "more")
		}
		all = append(all, m.Text)
	}
	return all
}

// sinceBegan converts seconds as in the tables.
func sinceBegan(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }

// within reports whether a time is in the stretch. The ends of lost blocks belong to the blocks beside them.
func (s *Stretch) within(t time.Duration) bool {
	if s.lost {
		return (t > s.From || s.Tick == 0) && (t < s.To || s.final)
	}
	return t >= s.From && t <= s.To
}

// misread converts the error of reading a row that is not there, or holds what no recorder writes, to
// one that says so. Errors of SQLite, and of a context, stay as they are.
func misread(what string, err error) error {
	if !errors.Is(err, sql.ErrNoRows) && (err == nil || !strings.HasPrefix(err.Error(), "sql: Scan error")) {
		return err
	}
	return fmt.Errorf("is damaged: %s is empty or does not hold what was recorded", what)
}
