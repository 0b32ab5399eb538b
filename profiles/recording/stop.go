package recording

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// This file ends recordings: with their run, or before it for a reason that the file keeps.

// reserveEnding is how the name of the file ends that keeps room on the disk, beside a recording
// that grows: for the reason why it stops if the disk is full by then.
const reserveEnding = "-reserve"

// reserve makes that file, of a few pages of the database.
func (f *file) reserve() (err error) {
	if f.made, err = os.Stat(f.path); err != nil {
		return err
	}
	room := make([]byte, 64<<10)
	for i := range room { // zeros might take no room
		room[i] = byte(i * i >> 3)
	}
	return os.WriteFile(f.path+reserveEnding, room, 0o600)
}

// Reasons why a recording stops before its run.
var (
	// errLimit ends a recording at its largest size.
	errLimit = errors.New("the file has reached its limit of size")
	// errGone ends a recording whose path does not lead to its file any more.
	errGone = errors.New("the file was deleted or moved while the run was recorded")
)

// check returns why nothing more can be recorded; nil if it can. limit is the largest size of the
// file, 0 for none.
func (f *file) check(limit int64) error {
	if now, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, f.made) {
		return errGone
	}
	if limit == 0 || f.size() <= limit {
		return nil
	}
	ctx := context.Background()
	// A program that reads the file may keep its log from being emptied: then its pages count.
	_, _ = f.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	pages, err := number(ctx, f.db, "page_count")
	if err != nil {
		return err
	}
	size, err := number(ctx, f.db, "page_size")
	if err == nil && int64(pages)*int64(size) > limit {
		err = errLimit
	}
	return err
}

// size returns the bytes of the file and its log.
func (f *file) size() (bytes int64) {
	for _, path := range []string{f.path, f.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// stoppedRoom is the room for the reason why a recording stops, reserved so that writing it changes
// one page of the file.
const stoppedRoom = 240

// stop writes why the recording stops before its run.
func (f *file) stop(ctx context.Context, why error) error {
	text := plain(why).Error()
	text = strings.ToValidUTF8(text[:min(len(text), stoppedRoom)], "")
	_, err := f.db.ExecContext(ctx, "UPDATE recording SET value = ? WHERE key = 'stopped'", text)
	return err
}

// close closes the file, which is then a single one. why is why the recording stops before its run;
// nil if the run ended.
func (f *file) close(why error) error {
	ctx := context.Background()
	defer f.tables.close()
	_ = os.Remove(f.path + reserveEnding)
	if !f.begun { // no run began
		err := f.db.Close()
		if j := f.options.Joined; j != nil {
			err = errors.Join(err, j.Leave(ctx))
		} else {
			err = errors.Join(err, Delete(f.path))
		}
		if why != nil { // the error to report
			err = nil
		}
		return err
	}
	var failed error
	if why == nil || errors.Is(why, errLimit) {
		failed = f.sealLast(ctx)
	}
	switch {
	case why != nil:
		_ = f.stop(ctx, why) // the first error is the one to report, here and below
	case failed == nil:
		_, failed = f.db.ExecContext(ctx, "UPDATE progress SET ended = 1")
	}
	if failed != nil && why == nil {
		_ = f.stop(ctx, failed)
	}
	if _, err := f.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err == nil {
		// Another program may read the file: then its log stays beside it.
		_, _ = f.db.ExecContext(ctx, "PRAGMA busy_timeout(0); PRAGMA journal_mode(delete)")
	} else if failed == nil && why == nil {
		failed = err
	}
	if err := f.db.Close(); failed == nil {
		failed = err
	}
	if errors.Is(why, errGone) {
		f.clear()
	}
	return failed
}

// clear removes what SQLite left beside a file that is not there any more.
func (f *file) clear() {
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		_ = Delete(f.path) // of files that are there
	}
}
