package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/inputfile"
)

// mostBytes bounds a history that is read: some hundred thousand entries.
const mostBytes = 256 << 20

// Append appends entries to a history, which is made if it is not there. Every call is a single write to the
// end, so that writers at the same time do not mix, and a writer that is killed damages its own last line at
// most; the next one begins on a new line.
func Append(path string, entries ...Entry) (err error) {
	if len(entries) == 0 {
		return nil
	}
	data, err := lines(entries)
	if err != nil {
		return fmt.Errorf("history %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole, err := endsWhole(f)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if !whole {
		data = append([]byte{'\n'}, data...)
	}
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// Write writes a history whole or not at all, in place of what is there.
func Write(path string, entries []Entry) error {
	data, err := lines(entries)
	if err != nil {
		return fmt.Errorf("history %s: %w", path, err)
	}
	return atomicfile.Write(path, data, 0o666)
}

// lines returns entries as the lines of a history.
func lines(entries []Entry) (data []byte, err error) {
	for i := range entries {
		line, err := json.Marshal(&entries[i])
		if err != nil {
			return nil, err
		}
		data = append(append(data, line...), '\n')
	}
	return data, nil
}

// endsWhole reports whether a file is empty or ends with the end of a line.
func endsWhole(f *os.File) (bool, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return true, err
	case !info.Mode().IsRegular():
		return true, fmt.Errorf("%s: must be a regular file", f.Name())
	case info.Size() == 0:
		return true, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return true, err
	}
	return last[0] == '\n', nil
}

// Damaged is a line that is no entry.
type Damaged struct {
	Line   int    `json:"line"` // from 1
	Reason string `json:"reason"`
}

// Read reads a history, in the order in which it was written. Damaged lines are listed and left out; a
// history that is not there is empty.
func Read(ctx context.Context, path string) (entries []Entry, damaged []Damaged, err error) {
	data, err := inputfile.Read(ctx, path, mostBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("history %s: %w", path, err)
	}
	entries, damaged = parse(data)
	return entries, damaged, nil
}

// Is reports whether a file is a history: one of its lines is an entry.
func Is(path string) bool {
	entries, _, err := Read(context.Background(), path)
	return err == nil && len(entries) > 0
}

// parse reads the lines of a history.
func parse(data []byte) (entries []Entry, damaged []Damaged) {
	for n := 1; len(data) > 0; n++ {
		line, rest, ended := bytes.Cut(data, []byte{'\n'})
		data = rest
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		e, err := entryOf(line)
		var cut *json.SyntaxError
		switch {
		case err == nil:
			entries = append(entries, e)
		case !ended, errors.As(err, &cut) && cut.Offset == int64(len(line)):
			damaged = append(damaged, Damaged{n, "it ends in the middle: whoever wrote it was interrupted"})
		default:
			damaged = append(damaged, Damaged{n, err.Error()})
		}
	}
	return entries, damaged
}

// entryOf reads a line.
func entryOf(line []byte) (e Entry, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("no entry: %w", err)
	}
	if e.Schema != Schema {
		return e, fmt.Errorf("an entry of schema %d: this build reads %d", e.Schema, Schema)
	}
	if _, err := time.Parse(time.RFC3339, e.Time); err != nil {
		return e, fmt.Errorf("time %q: must be as 2006-01-02T15:04:05Z", e.Time)
	}
	for _, f := range e.Figures {
		if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
			return e, fmt.Errorf("figure %q: must be a number", f.Name)
		}
	}
	return e, nil
}
