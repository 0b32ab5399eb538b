package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
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
	_, _ = f.checkpoint(ctx) // where another program reads the log, it counts until that ends
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

// checkpoint writes the log to the file and empties it. It does not wait for programs that read the log: whole is
// false if one of them keeps it.
func (f *file) checkpoint(ctx context.Context) (whole bool, err error) {
	var kept, pages, written int
	_, err = f.db.ExecContext(ctx, "PRAGMA busy_timeout(0)")
	if err == nil {
		err = f.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&kept, &pages, &written)
	}
	_, again := f.db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", busyMS))
	return err == nil && kept == 0, errors.Join(err, again)
}

// errTooLarge ends a recording that may not grow.
var errTooLarge = errors.New("file too large: the file system or ulimit -f lets it grow no further")

// explain returns errTooLarge for an error of SQLite that means that: it gives only its own code. The file that keeps
// room shows whether one may be so large, without taking any.
func (f *file) explain(why error) error {
	var failed *sqlite.Error
	if !errors.As(why, &failed) || failed.Code()&0xff != sqlite3.SQLITE_IOERR &&
		failed.Code()&0xff != sqlite3.SQLITE_FULL {
		return why
	}
	largest := int64(0)
	for _, path := range []string{f.path, f.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			largest = max(largest, info.Size())
		}
	}
	room, err := os.OpenFile(f.path+reserveEnding, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(room.Truncate(largest+growth), room.Close())
	}
	if errors.Is(err, syscall.EFBIG) {
		return errTooLarge
	}
	return why
}

// growth is more than SQLite writes at once of a batch.
const growth = 4 << 20

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

// close closes the file, which is then a single one unless another program has it open. why is why the recording stops
// before its run; nil if the run ended. committed is called as soon as the whole run is in the file and its log.
// logged reports that the log stays beside the file with a part of the run, because another program reads it.
func (f *file) close(why error, committed func()) (logged bool, err error) {
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
		return false, err
	}
	var failed error
	if why == nil || errors.Is(why, errLimit) {
		failed = f.sealLast(ctx)
	}
	if why == nil && failed == nil {
		_, failed = f.db.ExecContext(ctx, "UPDATE progress SET ended = 1")
	}
	reason := why
	if reason == nil {
		reason = failed
	}
	if reason != nil {
		_, _ = f.checkpoint(ctx) // the log may be what cannot grow
		_ = f.stop(ctx, reason)  // the first error is the one to report, here and below
	} else {
		committed()
	}
	whole, wrong := f.checkpoint(ctx)
	if wrong == nil {
		// With a journal in memory, no moment at which the program may end leaves one beside the file.
		_, _ = f.db.ExecContext(ctx, "PRAGMA busy_timeout(0); PRAGMA journal_mode(memory)")
	} else if failed == nil && why == nil {
		failed = wrong
	}
	if err := f.db.Close(); failed == nil {
		failed = err
	}
	if errors.Is(why, errGone) {
		f.clear()
	}
	return !whole && wrong == nil, failed
}

// clear removes what SQLite left beside a file that is not there any more.
func (f *file) clear() {
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		_ = Delete(f.path) // of files that are there
	}
}
