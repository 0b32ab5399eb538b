package recording

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
)

// Copy writes a closed copy of a recording, which may still grow, to a path, and replaces the file there by a rename.
// Whoever reads it through a network file system sees the whole of the one or of the other. A plain copy of the file
// would lack what is still in SQLite's log.
func Copy(ctx context.Context, from, to string) error {
	if err := looksRight(from); err != nil {
		return named(from, err)
	}
	db, err := connect(from, url.Values{"mode": {"ro"}})
	if err != nil {
		return named(from, err)
	}
	defer db.Close()
	if _, err := check(ctx, db); err != nil {
		return named(from, err)
	}
	draft := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+"-"+strconv.Itoa(os.Getpid())+".part")
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return named(to, err)
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", draft); err != nil {
		_ = os.Remove(draft)
		return named(from, plain(err))
	}
	if err := os.Rename(draft, to); err != nil {
		_ = os.Remove(draft)
		return named(to, err)
	}
	return nil
}
