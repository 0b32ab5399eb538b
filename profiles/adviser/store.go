package adviser

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/machine"
)

// Store keeps advice in a folder, a file for each machine. The zero value keeps nothing.
type Store struct{ Dir string }

// UserStore returns the store in prismtop of $XDG_STATE_HOME, which is ~/.local/state unless set.
func UserStore() (Store, error) {
	folder, err := machine.StateFolder("advice")
	return Store{folder}, err
}

// document is the content of a file.
type document struct {
	Schema     int       `json:"schema"`
	CPU        string    `json:"cpu"`
	Processors int       `json:"processors"`
	Advice     []Finding `json:"advice"`
}

const (
	schema      = 2 // in 1 the shape was PRISM's
	largestFile = 1 << 20
	readLimit   = time.Second
)

// path returns the file of a machine. A home folder may be several machines'.
func (s Store) path(m Machine) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", m.CPU, m.Processors))
	return filepath.Join(s.Dir, "advice-"+hex.EncodeToString(sum[:8])+".json")
}

// Load returns the advice kept for a machine, newest first, of any kernels and threads. There is none if there is
// no file; an error says why one cannot be used.
func (s Store) Load(ctx context.Context, m Machine) ([]Finding, error) {
	if s.Dir == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	path := s.path(m)
	text, err := inputfile.Read(ctx, path, largestFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("advice in %s: %w", path, err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("advice in %s is damaged: %w; prismtop bench amp writes it anew", path, err)
	}
	switch {
	case d.Schema != schema:
		return nil, fmt.Errorf("advice in %s is of another version of the program, in form %d; prismtop bench amp "+
			"writes it anew", path, d.Schema)
	case d.CPU != m.CPU || d.Processors != m.Processors:
		return nil, fmt.Errorf("advice in %s is of another machine, %s with %d processors", path, d.CPU, d.Processors)
	}
	for i := range d.Advice {
		if a := &d.Advice[i]; !a.sound(m) {
			return nil, fmt.Errorf("advice in %s is damaged: an entry has no machine, date or times; prismtop bench "+
				"amp writes it anew", path)
		}
	}
	return d.Advice, nil
}

// sound reports whether advice read from a file has what its sentences need.
func (a *Finding) sound(m Machine) bool {
	return a.Machine.CPU == m.CPU && a.Machine.Processors == m.Processors && !a.Measured.IsZero() && a.OffMS > 0 &&
		a.ValueMS > 0 &&
		a.OffBytes > 0 && a.ValueBytes > 0 && a.Setting != "" && a.Value != "" && a.Verdict != "" &&
		(a.Low == nil) == (a.High == nil)
}

// Add merges advice about one machine into what is kept and writes it, the whole file or nothing. A file that cannot
// be used is replaced.
func (s Store) Add(ctx context.Context, newer []Finding) error {
	if s.Dir == "" || len(newer) == 0 {
		return nil
	}
	m := newer[0].Machine
	older, err := s.Load(ctx, m)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled): // the file may be whole
		return fmt.Errorf("keep the advice: %w", err)
	case err != nil:
		older = nil
	}
	text, err := json.MarshalIndent(document{schema, m.CPU, m.Processors, Merge(older, newer)}, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the advice: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("keep the advice: %w", err)
	}
	if err := atomicfile.Write(s.path(m), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep the advice: %w", err)
	}
	return nil
}
