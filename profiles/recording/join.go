package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Joined is a recording that a resumed run goes on with, as one more start. No other run can join
// it until its recorder is closed.
type Joined struct {
	Path string

	began   time.Time // the origin of its times
	starts  int
	ticks   int64
	count   int64   // iterations of all starts
	picture int64   // bytes of pictures that change
	ran     float64 // seconds that the parts ran that its newest start resumed
	spent   float64 // that this one ran
	before  claim
	notes   []profiles.EarlierNote
}

// Starts returns the number of starts before the one that goes on.
func (j *Joined) Starts() int { return j.starts }

// Notes returns the newest notes of those starts, at most profiles.MostNotes, oldest first.
func (j *Joined) Notes() []profiles.EarlierNote { return j.notes }

// claim is who writes a recording.
type claim struct {
	process, host string
	ended         bool
}

// Join returns the recording at a path for a run that resumes after a number of iterations. began is
// when the recording began, as in Recorder.Began, and starts the number of starts that it had, 0 if that
// is not known. The error is why it must stay as it is: it is not
// there, not whole or not of this run, another run writes it or went on in it, it ends before the iteration or beyond
// o.Limit, or it was made with something else than o.Fingerprint.
func Join(ctx context.Context, path string, began time.Time, starts int, iteration int64, o Options) (*Joined, error) {
	j, err := joinable(ctx, path, began, starts, iteration, &o)
	if err == nil {
		err = j.claim(ctx, path, j.before, claim{process: strconv.Itoa(os.Getpid()), host: hostname()})
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("is not there any more")
	case err != nil:
		return nil, plain(err)
	}
	return j, nil
}

// joinable reads what a recorder needs to go on with a file, and checks that it may.
func joinable(ctx context.Context, path string, began time.Time, starts int, iteration int64, o *Options) (*Joined,
	error) {
	r, err := Open(ctx, path, func(string) *settings.Table { return nil })
	if err != nil {
		return nil, unnamed(path, err)
	}
	defer r.Close()
	s, err := r.Status(ctx)
	if err != nil {
		return nil, unnamed(path, err)
	}
	made, err := r.Fingerprint(ctx)
	if err != nil {
		return nil, unnamed(path, err)
	}
	print := &o.Fingerprint
	switch {
	case !r.began.Equal(began):
		return nil, errors.New("is of another run")
	case s.State == Growing:
		return nil, errors.New("is still recorded to by another program")
	case s.State == CutShort:
		return nil, errors.New("was cut short: " + s.Stopped)
	case starts > 0 && s.Starts > starts:
		return nil, errors.New("has another run that went on from there")
	case s.Iterations < iteration:
		return nil, fmt.Errorf("ends at iteration %d, before the checkpoint", s.Iterations)
	case r.format != Format:
		return nil, fmt.Errorf("has format %d, and this program continues recordings of format %d only", r.format,
			Format)
	case made.Version != print.Version || made.CPU.Model != print.CPU.Model || made.CPU.Arch != print.CPU.Arch ||
		made.Threads != print.Threads:
		return nil, errors.New("was made by another version of the program or on another machine")
	case time.Now().Before(r.began.Add(s.written)):
		return nil, errors.New("ends later than it is by the clock of this machine")
	}
	if info, err := os.Stat(path); err == nil && o.Limit > 0 && info.Size() > o.Limit {
		return nil, errLimit
	}
	j := &Joined{Path: path, began: r.began, starts: s.Starts, ran: max(0, s.ran),
		before: claim{s.process, s.host, s.closed}}
	err = r.db.QueryRowContext(ctx, `SELECT coalesce(max(tick + ticks), 0), coalesce(sum(last - first + 1), 0),
		(SELECT coalesce(sum(length(data)), 0) FROM pictures WHERE sha256 IS NULL), (SELECT coalesce(elapsed, 0) FROM progress) FROM blocks`).
		Scan(&j.ticks, &j.count, &j.picture, &j.spent)
	if err == nil {
		j.notes, err = r.notes(ctx)
	}
	return j, err
}

// notes reads the newest notes, oldest first, from the blocks around their marks.
func (r *Reader) notes(ctx context.Context) (all []profiles.EarlierNote, err error) {
	starts := map[time.Duration]int{} // by when notes were taken
	rows, err := r.db.QueryContext(ctx, "SELECT start, at FROM marks WHERE kind = ?", int(profiles.NoteMark))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var start int
		var at float64
		if err := rows.Scan(&start, &at); err != nil {
			return nil, misread("its table marks", err)
		}
		starts[sinceBegan(at)] = start
	}
	if err := rows.Err(); err != nil || len(starts) == 0 {
		return nil, err
	}
	blocks, err := r.db.QueryContext(ctx, `SELECT data FROM blocks WHERE EXISTS (SELECT 1 FROM marks
		WHERE kind = ? AND at * 1e9 BETWEEN from_ns - 1e9 AND to_ns + 1e9) ORDER BY tick`, int(profiles.NoteMark))
	if err != nil {
		return nil, err
	}
	defer blocks.Close()
	for blocks.Next() {
		var data []byte
		if err := blocks.Scan(&data); err != nil {
			return nil, misread("its table blocks", err)
		}
		b, err := unpackBlock(data)
		if err != nil {
			return nil, err
		}
		for i := range b.steps {
			s := &b.steps[i]
			start, marked := starts[s.at]
			if s.event != "note" || !marked {
				continue
			}
			body, err := new(unpacker).unpack(s.event, s.body)
			if err != nil {
				return nil, err
			}
			if n, ok := body.(*profiles.Note); ok {
				all = append(all, profiles.EarlierNote{Note: *n, Start: start})
			}
		}
	}
	return all[max(0, len(all)-profiles.MostNotes):], blocks.Err()
}

// errTaken reports that another run joined a recording meanwhile.
var errTaken = errors.New("is recorded to by another program")

// claim makes another process the one that writes a recording, if it is that of before.
func (j *Joined) claim(ctx context.Context, path string, before, after claim) (err error) {
	db, err := connect(path, url.Values{"mode": {"rw"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect once it is committed
	done, err := tx.ExecContext(ctx, "UPDATE progress SET ended = ? WHERE ended = ? AND (SELECT CAST(value AS TEXT) "+
		"FROM recording WHERE key = 'process') = ?",
		after.ended, before.ended, before.process)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, errTaken)
	}
	for key, value := range map[string]string{"process": after.process, "host": after.host} {
		if _, err := tx.ExecContext(ctx, "UPDATE recording SET value = ? WHERE key = ?", value, key); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Leave gives a recording back in which no run began: another may join it.
func (j *Joined) Leave(ctx context.Context) error {
	now := claim{process: strconv.Itoa(os.Getpid()), host: hostname()}
	return named(j.Path, j.claim(ctx, j.Path, now, j.before))
}

// joinFile opens a recording for a recorder that goes on with it.
func joinFile(o *Options) (*file, error) {
	ctx, j := context.Background(), o.Joined
	db, err := connect(j.Path, url.Values{"mode": {"rw"}, "_pragma": writing})
	if err != nil {
		return nil, named(j.Path, err)
	}
	f := &file{
		db: db, path: j.Path, options: o, began: j.began, start: j.starts - 1, tailed: j.ticks, count: j.count,
		pictured: j.picture, ran: j.ran, spent: j.spent,
	}
	// Pieces that were not joined when the run was killed stay as they are.
	_, err = db.ExecContext(ctx, `BEGIN;
		UPDATE blocks SET sealed = 1 WHERE NOT sealed;
		INSERT OR REPLACE INTO recording VALUES ('stopped', ?);
		COMMIT`, strings.Repeat(" ", stoppedRoom))
	if err == nil {
		err = f.tables.prepare(ctx, db, fileStatements...)
	}
	if err == nil {
		err = f.reserve()
	}
	if err != nil {
		_, _ = db.Close(), j.Leave(ctx) // the first error is the one to report
		return nil, named(j.Path, err)
	}
	return f, nil
}

// unnamed removes the path from an error.
func unnamed(path string, err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), path+": ") {
		return inner
	}
	return err
}

// hostname returns the name of this machine, as in recordings.
func hostname() string {
	name, _ := os.Hostname()
	return name
}
