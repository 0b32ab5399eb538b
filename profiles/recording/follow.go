package recording

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/settings"
)

// Followed is a recording in a folder that machines share, whose closed copies a task on another machine replaces as it
// goes on. SQLite opens a copy on this machine's own disk: locks and logs do not work across machines, and a file that
// is replaced may be gone in the middle of a read.
type Followed struct {
	*Reader
	from    string
	folder  string // of the copy here
	own     *sql.DB
	runs    func() bool
	newest  stamp
	growing atomic.Bool
}

// stamp identifies the contents of a file by time and size.
type stamp struct {
	at   time.Time
	size int64
}

// followEvery is the time between two looks at the shared file.
const followEvery = time.Second

// Follow opens the newest copy at a path; Run brings later ones. runs reports whether the task that replaces it goes
// on, which the file of another machine does not say. tables is as of Open.
func Follow(ctx context.Context, path string, runs func() bool,
	tables func(workload string) *settings.Table) (_ *Followed, err error) {
	f := &Followed{from: path, runs: runs}
	if f.folder, err = os.MkdirTemp("", "prismtop-follow-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the first error is the one to report
		}
	}()
	f.growing.Store(runs())
	here := filepath.Join(f.folder, "recording"+extension)
	if f.newest, err = fetch(ctx, path, here, stamp{}); err != nil {
		return nil, named(path, err)
	}
	if f.own, err = connect(here, url.Values{"_pragma": {"journal_mode(wal)"}}); err == nil {
		err = f.own.PingContext(ctx)
	}
	if err != nil {
		return nil, named(path, err)
	}
	if f.Reader, err = Open(ctx, here, tables); err != nil {
		return nil, named(path, errors.Unwrap(err))
	}
	f.Reader.path, f.Reader.goesOn = path, f.growing.Load
	return f, nil
}

// Run takes over what the task writes until ctx ends. A copy that cannot be read now may be readable at the next look.
func (f *Followed) Run(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			runs := f.runs() // before the look: the last copy comes before the end is told
			if f.look(ctx) == nil {
				f.growing.Store(runs)
			}
		case <-ctx.Done():
			return
		}
	}
}

// look takes over the file at the path if that is another one. Readers see what was there
// before, or all of the new one.
func (f *Followed) look(ctx context.Context) error {
	next := filepath.Join(f.folder, "next"+extension)
	now, err := fetch(ctx, f.from, next, f.newest)
	if err != nil || now == f.newest {
		return err
	}
	c, err := f.own.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	name, err := address(next, url.Values{"mode": {"ro"}})
	if err != nil {
		return err
	}
	err = c.Raw(func(driver any) error {
		restore, err := driver.(interface {
			NewRestore(from string) (*sqlite.Backup, error)
		}).NewRestore(name)
		if err != nil {
			return err
		}
		_, err = restore.Step(-1) // every page
		return errors.Join(err, restore.Finish())
	})
	if err == nil {
		f.newest = now
	}
	return err
}

// fetch copies a recording from a file system of other machines, unless it is the one that was seen. Opening it asks
// the server for its time and size, which a listing may have from earlier.
func fetch(ctx context.Context, from, to string, seen stamp) (now stamp, err error) {
	source, info, err := inputfile.Open(from)
	if err != nil {
		return now, err
	}
	defer source.Close()
	if now = (stamp{info.ModTime(), info.Size()}); now == seen {
		return now, nil
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return now, err
	}
	n, err := io.Copy(file, inputfile.Reader{Context: ctx, Source: source})
	if err = errors.Join(err, file.Close()); err == nil && n != now.size {
		err = fmt.Errorf("%d of %d bytes could be read", n, now.size)
	}
	if err == nil {
		err = looksRight(to)
	}
	return now, err
}

// Close closes the copy and removes it.
func (f *Followed) Close() (err error) {
	if f.Reader != nil {
		err = f.Reader.Close()
	}
	if f.own != nil {
		err = errors.Join(err, f.own.Close())
	}
	return errors.Join(err, os.RemoveAll(f.folder))
}
