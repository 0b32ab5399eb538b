package recording

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/settings"
)

// The reader of a recording: opening it, where it begins and ends, and a cursor over its events.

// Reader reads a recording, which may still grow. It may be used by several goroutines.
type Reader struct {
	db     *sql.DB
	path   string
	format int
	began  time.Time
	tables func(workload string) *settings.Table
	goesOn func() bool // whether it grows, where the file cannot say so; nil elsewhere
}

// Open opens a recording. tables returns the table of a workload's settings, nil for a workload that
// is unknown. The file is not changed.
func Open(ctx context.Context, path string, tables func(workload string) *settings.Table) (*Reader, error) {
	if err := looksRight(path); err != nil {
		return nil, named(path, err)
	}
	return openFile(ctx, path, tables)
}

// OpenOwn is Open for a recording that this process writes. Only SQLite opens its file: to close
// another handle of it would release the recorder's locks.
func OpenOwn(ctx context.Context, path string, tables func(workload string) *settings.Table) (*Reader, error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil, named(path, cmp.Or(err, errEmpty))
	}
	return openFile(ctx, path, tables)
}

// openFile opens a recording of a known format for reading.
func openFile(ctx context.Context, path string, tables func(workload string) *settings.Table) (*Reader, error) {
	db, err := reading(ctx, path)
	if err != nil {
		return nil, named(path, err)
	}
	r := &Reader{db: db, path: path, tables: tables}
	began := ""
	if r.format, err = check(ctx, db); err == nil {
		began, err = r.about(ctx, "began_ns")
	}
	if err == nil {
		var ns int64
		if ns, err = strconv.ParseInt(began, 10, 64); err != nil {
			err = errors.New("does not say when it began")
		}
		r.began = time.Unix(0, ns)
	}
	if err != nil {
		_ = db.Close() // the first error is the one to report
		return nil, named(path, err)
	}
	return r, nil
}

// Fingerprint returns what the run was made with; its origins are in the table settings.
func (r *Reader) Fingerprint(ctx context.Context) (p Fingerprint, err error) {
	var program, threads string
	for key, to := range map[string]*string{
		"program": &program, "preset": &p.Preset, "processor": &p.CPU.Model, "processor_reason": &p.CPU.Reason,
		"architecture": &p.CPU.Arch, "threads": &threads, "gpu_driver": &p.GPU.Driver, "gpu_reason": &p.GPU.Reason,
	} {
		if *to, err = r.about(ctx, key); err != nil {
			return p, named(r.path, err)
		}
	}
	p.Version = strings.TrimPrefix(program, "prismtop ")
	p.Threads, _ = strconv.Atoi(threads) // 0 where it does not say
	return p, nil
}

// Origins returns the origins of the settings of each start; nil for a restart, which is from settings that the run
// has already.
func (r *Reader) Origins(ctx context.Context) (all []settings.Origins, err error) {
	query := "SELECT start, origins FROM starts ORDER BY start"
	if r.format == 1 {
		query = "SELECT start, iif(origin = 'restart', NULL, json_group_object(key, origin)) FROM settings " +
			"WHERE origin <> '' GROUP BY start ORDER BY start"
	}
	rows, err := r.db.QueryContext(ctx, query)
	if err != nil {
		return nil, named(r.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var start int
		var text sql.NullString
		var origins settings.Origins
		err := rows.Scan(&start, &text)
		if err == nil && text.Valid {
			err = json.Unmarshal([]byte(text.String), &origins)
		}
		if err != nil || start < 0 || start > mostStarts {
			return nil, named(r.path, errDamagedOrigins)
		}
		for len(all) < start {
			all = append(all, nil)
		}
		all = append(all[:start], origins)
	}
	return all, named(r.path, rows.Err())
}

// errDamagedOrigins reports origins that no recorder writes.
var errDamagedOrigins = errors.New("is damaged: the origins of its settings do not hold what was recorded")

// mostStarts bounds the starts of a recording that are listed.
const mostStarts = 1 << 16

// Facts returns the table recording.
func (r *Reader) Facts(ctx context.Context) (map[string]any, error) {
	rows, err := r.db.QueryContext(ctx, "SELECT key, value FROM recording")
	if err != nil {
		return nil, named(r.path, err)
	}
	defer rows.Close()
	all := map[string]any{}
	for rows.Next() {
		var key string
		var value any
		if err := rows.Scan(&key, &value); err != nil {
			return nil, named(r.path, misread("its table recording", err))
		}
		if text, ok := value.(string); ok && strings.TrimSpace(text) == "" { // room for what was not written
			value = ""
		}
		all[key] = value
	}
	return all, named(r.path, rows.Err())
}

// Began returns when the recording began, the origin of its times.
func (r *Reader) Began() time.Time { return r.began }

// header is how every SQLite file begins.
const header = "SQLite format 3\x00"

// looksRight checks the first bytes of a file, because SQLite takes an empty one for a database.
func looksRight(path string) error {
	f, info, err := inputfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	first := make([]byte, len(header))
	switch _, err := io.ReadFull(f, first); {
	case info.Size() == 0:
		return errEmpty
	case err != nil || string(first) != header:
		return errForeign
	}
	return nil
}

// readers is the number of connections of a Reader: for the replay and for its index.
const readers = 3

// reading opens a file that is not changed. One that cannot be written, nor its folder, is taken as
// it is, unless a log stands beside it.
func reading(ctx context.Context, path string) (*sql.DB, error) {
	parameters := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}}
	db, err := connect(path, parameters)
	if err == nil {
		db.SetMaxOpenConns(readers)
		_, err = number(ctx, db, "schema_version")
	}
	if err == nil {
		return db, nil
	}
	if db != nil {
		_ = db.Close()
	}
	if _, logged := os.Stat(path + "-wal"); logged == nil {
		return nil, err
	}
	parameters.Set("immutable", "1")
	still, again := connect(path, parameters)
	if again == nil {
		_, again = number(ctx, still, "schema_version")
	}
	if again != nil {
		if still != nil {
			_ = still.Close()
		}
		return nil, err
	}
	return still, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.db.Close() }

// Path returns the path of the file.
func (r *Reader) Path() string { return r.path }

// about returns an entry of the table recording; empty if there is none.
func (r *Reader) about(ctx context.Context, key string) (string, error) {
	var value sql.NullString
	err := r.db.QueryRowContext(ctx, "SELECT value FROM recording WHERE key = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value.String, misread("its table recording", err)
}

// Moment is a tick of the recorded aggregator, with what it consumed.
type Moment struct {
	At    time.Time
	Since time.Duration // since the recording began
	Drain bool          // events were consumed, but it did not tick
	Own   profiles.OwnCost
	// Bridge is true of what Cursor.Bridge returned, in place of moments that cannot be read.
	Bridge bool

	iterations []profiles.Iteration
	events     []placed
}

// placed is an event at its place among the iterations of a moment.
type placed struct {
	after int
	profiles.Event
}

// Each calls take with every event of the moment, in order. An iteration is valid only during the
// call.
func (m *Moment) Each(take func(*profiles.Event)) (any bool) {
	done := 0
	until := func(n int) {
		for ; done < n; done++ {
			it := m.iterations[done]
			take(&profiles.Event{Body: &it})
		}
	}
	for i := range m.events {
		until(m.events[i].after)
		take(&m.events[i].Event)
	}
	until(len(m.iterations))
	return len(m.iterations)+len(m.events) > 0
}

// Begins reports whether a start of the run is among the events.
func (m *Moment) Begins() bool {
	for i := range m.events {
		if _, ok := m.events[i].Body.(*profiles.Begin); ok {
			return true
		}
	}
	return false
}

// Iterations returns the number of iterations of the moment.
func (m *Moment) Iterations() int { return len(m.iterations) }

// Cursor reads a recording stretch by stretch. A copy reads on from the same place.
type Cursor struct {
	reader *Reader
	unpack unpacker
	seen   [profiles.MaxPictures]seenPicture
}

// seenPicture is the picture last read, to which later events may refer again.
type seenPicture struct {
	row int64
	*profiles.Picture
}

// Cursor returns a cursor before the first stretch.
func (r *Reader) Cursor() Cursor { return Cursor{reader: r, unpack: unpacker{table: r.tables}} }

// ErrReplaced reports a stretch that was replaced by a longer one: see Stretch.
var ErrReplaced = errors.New("a part of the recording was replaced")

// Read reads a stretch. Those before it must have been read, at least in part. The error of one that
// cannot be read is a DamagedError.
func (c *Cursor) Read(ctx context.Context, s Stretch) ([]Moment, error) {
	moments, err := c.read(ctx, s)
	if errors.Is(err, ErrReplaced) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		err = &DamagedError{s, c.reader.held(ctx, s), err}
	}
	return moments, named(c.reader.path, err)
}

func (c *Cursor) read(ctx context.Context, s Stretch) ([]Moment, error) {
	if s.lost {
		return nil, errLost
	}
	var data []byte
	row := c.reader.db.QueryRowContext(ctx, "SELECT data FROM blocks WHERE tick = ? AND ticks = ?", s.Tick, s.Ticks)
	switch err := row.Scan(&data); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrReplaced
	case err != nil:
		return nil, misread("its table blocks", err)
	}
	b, err := unpackBlock(data)
	if err != nil {
		return nil, err
	}
	return momentsOf(b, c.reader.began, &c.unpack, func(s *step) (profiles.Body, error) { return c.body(ctx, s) })
}

// body decodes an event; nil for one of a kind that this version does not know.
func (c *Cursor) body(ctx context.Context, s *step) (profiles.Body, error) {
	switch s.event {
	case "picture", "layers":
	case "begin":
		if c.reader.format > 1 {
			return c.begin(ctx, s)
		}
		fallthrough
	default:
		b, err := c.unpack.unpack(s.event, s.body)
		if r, ok := b.(*profiles.RecordingState); ok && r.Path != "" {
			r.Path = c.reader.path // it may have been copied or renamed
		}
		return b, err
	}
	var ref reference
	if err := json.Unmarshal(s.body, &ref); err != nil {
		return nil, fmt.Errorf("event %s: %w", s.event, err)
	}
	if s.event == "layers" {
		return c.reader.layers(ctx, ref.Row)
	}
	if ref.Row == 0 || ref.ID < 0 || ref.ID >= len(c.seen) {
		return nil, nil
	}
	seen := &c.seen[ref.ID]
	if seen.row != ref.Row || seen.Picture == nil {
		p, err := c.reader.picture(ctx, ref)
		if err != nil {
			return nil, err
		}
		*seen = seenPicture{ref.Row, p}
	}
	return seen.Picture, nil
}

// begin decodes a start of the run.
func (c *Cursor) begin(ctx context.Context, s *step) (profiles.Body, error) {
	var ref reference
	if err := json.Unmarshal(s.body, &ref); err != nil {
		return nil, fmt.Errorf("event begin: %w", err)
	}
	b, err := c.reader.begin(ctx, ref.Row, &c.unpack)
	if b == nil && err == nil {
		err = fmt.Errorf("row %d of its table starts is not there", ref.Row)
	}
	if err != nil { // a body that is a nil pointer would be an event
		return nil, err
	}
	return b, nil
}

// begin reads a start of the run and leaves its settings in an unpacker; nil if it is not there.
func (r *Reader) begin(ctx context.Context, start int64, u *unpacker) (*profiles.Begin, error) {
	query := "SELECT body FROM starts WHERE start = ?"
	if r.format == 1 {
		query = "SELECT body FROM begins WHERE start = ?" // which the first programs did not write
	}
	var packed []byte
	err := r.db.QueryRowContext(ctx, query, start).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, misread("its table starts", err)
	}
	body, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), largestBody))
	if err != nil {
		return nil, fmt.Errorf("start %d is damaged: %w", start, err)
	}
	b, err := u.unpack(names[beginType], body)
	if err != nil {
		return nil, err
	}
	return b.(*profiles.Begin), nil
}

// picture reads a picture.
func (r *Reader) picture(ctx context.Context, ref reference) (*profiles.Picture, error) {
	var s stored
	var iteration int64
	var hash sql.NullString
	row := r.db.QueryRowContext(ctx,
		"SELECT iteration, sha256, width, height, low, high, data FROM pictures WHERE picture = ?", ref.Row)
	if err := row.Scan(&iteration, &hash, &s.width, &s.height, &s.low, &s.high, &s.data); err != nil {
		return nil, misread(fmt.Sprintf("row %d of its table pictures", ref.Row), err)
	}
	p, err := s.picture()
	if err != nil {
		return nil, err
	}
	p.ID, p.Iteration, p.SHA256 = ref.ID, iteration, hash.String
	return p, nil
}

// layers reads a profile of the layers.
func (r *Reader) layers(ctx context.Context, row int64) (profiles.Body, error) {
	if row == 0 {
		return &profiles.LayerTimes{}, nil
	}
	var ns, layers []byte
	err := r.db.QueryRowContext(ctx,
		"SELECT ns, layers FROM layer_samples JOIN layer_lists USING (list) WHERE sample = ?", row).Scan(&ns, &layers)
	if err != nil {
		return nil, misread(fmt.Sprintf("row %d of its table layer_samples", row), err)
	}
	var times []float64
	var list storedLayers
	if err := errors.Join(json.Unmarshal(ns, &times), json.Unmarshal(layers, &list)); err != nil {
		return nil, err
	}
	if len(times) != len(list.Layers) {
		return nil, fmt.Errorf("%d times of %d layers", len(times), len(list.Layers))
	}
	b := &profiles.LayerTimes{Roofs: list.Roofs}
	for i, l := range list.Layers {
		layer := profiles.Layer{Name: l.Name, Phase: l.Phase, Nanos: times[i], FLOPs: l.FLOPs, Bytes: l.Bytes,
			Judged: l.Judged}
		if layer.Nanos > 0 {
			layer.Compute, layer.Memory = l.Compute/layer.Nanos, l.Memory/layer.Nanos
		}
		b.Layers = append(b.Layers, layer)
	}
	return b, sensible(b)
}
