package recording

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// The folder of recordings: names, the list, and what may be deleted.

// extension is how the names of recordings end.
const extension = ".sqlite"

// Folder returns the folder of the user's recordings: prismtop/runs in $XDG_STATE_HOME, which is
// ~/.local/state unless set.
func Folder() (string, error) {
	state, err := machine.StateFolder("recordings")
	if err != nil {
		return "", fmt.Errorf("%w, or name a file with --record", err)
	}
	return filepath.Join(state, "runs"), nil
}

// NewPath makes an empty file for a run that begins at a time, and the folder, and returns its path;
// see Options.Reserved.
func NewPath(folder, subject string, at time.Time) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	base := at.Format("2006-01-02T15-04-05")
	if name := safeName(subject); name != "" {
		base += "-" + name
	}
	for n := 1; ; n++ {
		path := filepath.Join(folder, base+extension)
		if n > 1 {
			path = filepath.Join(folder, fmt.Sprintf("%s-%d%s", base, n, extension))
		}
		// another run may begin in the same second
		made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return path, made.Close()
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
	}
}

// safeName reduces a text to what every file system takes.
func safeName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
	return strings.Trim(name[:min(len(name), 40)], "-")
}

// Listed is a recording in a folder.
type Listed struct {
	Path  string
	Bytes int64 // with what SQLite keeps beside it
	Status
	Err error // why it cannot be read; its Began is then the time of the file
}

// List lists the recordings in a folder, newest first. A folder that does not exist has none.
func List(ctx context.Context, folder string) ([]Listed, error) {
	w := NewWatcher(folder)
	if _, err := w.Look(ctx, func(Listed, int, int) {}); err != nil {
		return nil, err
	}
	return w.Known(), nil
}

// beside are the endings of the files that SQLite and the recorder keep beside a recording that grows.
var beside = []string{"-wal", "-shm", "-journal", reserveEnding}

func statusOf(ctx context.Context, path string) (Status, error) {
	r, err := Open(ctx, path, func(string) *settings.Table { return nil })
	if err != nil {
		return Status{}, err
	}
	s, err := r.Status(ctx)
	return s, errors.Join(err, r.Close())
}

// Delete deletes a recording.
func Delete(path string) error {
	for _, beside := range beside {
		if err := os.Remove(path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(path)
}

// ErrGoesOn reports a recording whose run goes on.
var ErrGoesOn = errors.New("its run goes on")

// ours are the names that NewPath gives; begunBefore orders them.
var ours = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(-[A-Za-z0-9_-]+)?\.sqlite$`)

// timeBytes is the length of the time at the beginning of these names.
const timeBytes = len("2006-01-02T15-04-05")

// begunBefore compares the names that NewPath gives by the times at which the runs began, and those of one second by
// the numbers at their ends.
func begunBefore(a, b string) int {
	a, b = filepath.Base(a), filepath.Base(b)
	return cmp.Or(cmp.Compare(a[:timeBytes], b[:timeBytes]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// MayDelete returns nil if a file may be deleted as a recording, or why not: it does not exist, its run
// goes on, or it cannot be read and may be something else. damaged is why it cannot be read even if it
// may be deleted: it lies in the user's folder under a name that prismtop gives, and it is a file of
// SQLite, or an empty one.
func MayDelete(ctx context.Context, path string) (damaged, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	status, err := statusOf(ctx, path)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && status.State == Growing:
		return nil, named(path, ErrGoesOn)
	case err == nil:
		return nil, nil
	}
	if errors.Is(err, errForeign) {
		return nil, err
	}
	folder, failed := Folder()
	at, wrong := filepath.Abs(path)
	if failed != nil || wrong != nil || filepath.Dir(at) != filepath.Clean(folder) ||
		!ours.MatchString(filepath.Base(at)) || !info.Mode().IsRegular() {
		return nil, err
	}
	if written, logged := os.Stat(path + "-wal"); logged == nil && time.Since(written.ModTime()) < lag {
		return nil, err // perhaps of a newer prismtop whose run goes on
	}
	return err, nil
}

// headerBytes is the length of the header of SQLite's files; the schema's version and the mark of a
// program are in it (https://www.sqlite.org/fileformat2.html#the_database_header).
const (
	headerBytes     = 100
	schemaVersionAt = 40
	applicationIDAt = 68
)

// Marked returns nil if a file that cannot be read was a recording by its first bytes: they have
// prismtop's mark. An empty file, or a file of SQLite's before its first table, has none yet: its name
// must end as that of a recording.
func Marked(path string) error {
	f, info, err := inputfile.Open(path)
	if err != nil {
		return named(path, err)
	}
	defer f.Close()
	first := make([]byte, headerBytes) // zeros after the end of a short file
	if _, err := io.ReadFull(f, first); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return named(path, err)
	}
	mark, version := binary.BigEndian.Uint32(first[applicationIDAt:]), binary.BigEndian.Uint32(first[schemaVersionAt:])
	begun := info.Size() == 0 || string(first[:len(header)]) == header
	if begun && (mark == applicationID || mark == 0 && version == 0 && filepath.Ext(path) == extension) {
		return nil
	}
	return named(path, errForeign)
}

// Describe sets the name or the note of a recording; an empty text removes it.
func Describe(ctx context.Context, path, key, text string) error {
	if key != "name" && key != "note" {
		return fmt.Errorf("%q: must be name or note", key)
	}
	if err := looksRight(path); err != nil {
		return named(path, err)
	}
	db, err := connect(path, url.Values{"mode": {"rw"}})
	if err != nil {
		return named(path, err)
	}
	if _, err = check(ctx, db); err == nil {
		_, err = db.ExecContext(ctx, "DELETE FROM recording WHERE key = ?", key)
	}
	if err == nil && text != "" {
		_, err = db.ExecContext(ctx, "INSERT INTO recording VALUES (?, ?)", key, text)
	}
	return named(path, errors.Join(err, db.Close()))
}
