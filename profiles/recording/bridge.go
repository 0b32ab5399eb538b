package recording

import (
	"context"
	"encoding/json"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// The way over a damaged stretch of a recording, from the parts that can still be read.

// Bridge leads over a stretch that cannot be read to the one after it, by what the file keeps outside of blocks: as a
// moment at the stretch's end, the starts of the run in it, the settings in force after it and, where nothing follows,
// how the run ended. It is nil without the start of the run, or if nothing of that happened. Read must have been called
// with the stretch before.
func (c *Cursor) Bridge(ctx context.Context, s Stretch) (m *Moment) {
	defer func() { // reflection on what may be damaged, too
		if recover() != nil {
			m = nil
		}
	}()
	m = &Moment{At: c.reader.began.Add(s.To), Since: s.To, Bridge: true}
	add := func(b profiles.Body) { m.events = append(m.events, placed{0, profiles.Event{At: m.At, Body: b}}) }
	for start := s.before + 1; start <= s.start; start++ {
		var at float64
		if c.reader.db.QueryRowContext(ctx, "SELECT at FROM starts WHERE start = ?", start).Scan(&at) != nil ||
			!s.within(sinceBegan(at)) {
			continue
		}
		if b, err := c.reader.begin(ctx, start, &c.unpack); err == nil && b != nil {
			m.events = append(m.events, placed{0, profiles.Event{At: c.reader.began.Add(sinceBegan(at)), Body: b}})
			add(&profiles.StateChange{State: profiles.Running})
		}
	}
	if c.unpack.schema == nil {
		return nil
	}
	after := c.reader.settingsAfter(ctx, s, c.unpack.inForce)
	for _, key := range after.Differing(c.unpack.inForce) {
		change := profiles.Change{
			Key: key, Before: c.unpack.inForce.Get(key), After: after.Get(key), Iteration: max(s.last, 0),
		}
		add(&profiles.Changed{Change: change, Settings: after})
	}
	c.unpack.inForce = after
	if s.final {
		var state string
		var why *string
		if c.reader.db.QueryRowContext(ctx, "SELECT state, error FROM progress").Scan(&state, &why) == nil {
			for n := profiles.Preparing; n <= profiles.Failed; n++ {
				if n.String() == state && why != nil {
					add(&profiles.StateChange{State: n, Why: *why})
				}
			}
		}
	}
	if len(m.events) == 0 {
		return nil
	}
	return m
}

// settingsAfter returns the settings in force after a stretch of the newest start, by those at its end as far as it
// can be read: of a recording of format 2 the beginning of the next block has them, of format 1 the table of changes.
func (r *Reader) settingsAfter(ctx context.Context, s Stretch, before settings.Values) settings.Values {
	if r.format == 1 {
		return r.changed(ctx, s, before)
	}
	var text *string
	if r.db.QueryRowContext(ctx, "SELECT settings FROM blocks WHERE tick >= ? AND start = ? ORDER BY tick LIMIT 1",
		s.Tick+s.Ticks, s.start).Scan(&text) != nil {
		return before
	}
	u := unpacker{table: r.tables}
	if b, err := r.begin(ctx, s.start, &u); err != nil || b == nil {
		return before
	}
	if text == nil {
		return u.inForce
	}
	var read any
	if json.Unmarshal([]byte(*text), &read) != nil {
		return before
	}
	return u.settings(read)
}

// changed returns the settings in force after a stretch of a recording of format 1.
func (r *Reader) changed(ctx context.Context, s Stretch, v settings.Values) settings.Values {
	rows, err := r.db.QueryContext(ctx,
		"SELECT key, after, at FROM changes WHERE start BETWEEN ? AND ? ORDER BY at, rowid",
		max(s.before, 0), s.start)
	if err != nil {
		return v
	}
	defer rows.Close()
	for rows.Next() {
		var key, value string
		var at float64
		if rows.Scan(&key, &value, &at) != nil {
			return v
		}
		if next, err := v.Set(key, value); err == nil && s.within(sinceBegan(at)) { // a setting that this version has
			v = next.Settled()
		}
	}
	return v
}
