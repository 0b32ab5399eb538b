package roof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/machine"
)

// Key is what a measurement is of: another processor, another version of the
// program, or another number of threads has its own.
type Key struct {
	CPU     string
	Logical int
	Version string
	Kernels string
	Threads int
}

// Store keeps measurements in a folder. The zero value keeps nothing.
type Store struct{ Dir string }

// UserStore is the folder prismtop in the user's cache directory.
func UserStore() (Store, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Store{}, err
	}
	return Store{Dir: filepath.Join(dir, "prismtop")}, nil
}

func (s Store) path(k Key) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %d", k.CPU, k.Logical, k.Version, k.Kernels, k.Threads))
	return filepath.Join(s.Dir, "roofs-"+hex.EncodeToString(sum[:8])+".json")
}

// A kept measurement is short, and a disk that answers does so at once.
const (
	largestFile = 64 << 10
	readLimit   = time.Second
)

// Load is a kept measurement, nil when there is none or when the file is damaged, or
// none that can be read at once.
func (s Store) Load(ctx context.Context, k Key) *Roofs {
	if s.Dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	text, err := inputfile.Read(ctx, s.path(k), largestFile)
	if err != nil {
		return nil
	}
	var r Roofs
	if json.Unmarshal(text, &r) != nil || !r.sound(k) {
		return nil
	}
	return &r
}

// maxRate bounds what a file may claim: more than any machine does, in 10⁹ a second.
const maxRate = 1e7

// sound tells whether a measurement that was read is one of k.
func (r *Roofs) sound(k Key) bool {
	rate := func(v float64) bool { return v > 0 && v < maxRate }
	if r.Kernels != k.Kernels || r.Threads != k.Threads || !rate(r.GFLOPS) || len(r.Levels) == 0 || r.Measured.IsZero() {
		return false
	}
	last := int64(0)
	for _, l := range r.Levels {
		if l.Bytes <= last || !rate(l.Read) || !rate(l.Update) {
			return false
		}
		last = l.Bytes
	}
	return true
}

// Save keeps a measurement: the whole file, or nothing.
func (s Store) Save(k Key, r *Roofs) error {
	if s.Dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("keep the roofs: %w", err)
	}
	if err := atomicfile.Write(s.path(k), text, 0o600); err != nil {
		return fmt.Errorf("keep the roofs: %w", err)
	}
	return nil
}

// each is how long a calibration measures each limit.
const each = 60 * time.Millisecond

// Of is the kept measurement, or a new one, which is kept where no other program
// computed beside it; force measures anew, and beside others keeps the best of both. An
// error says why it was not kept, beside a measurement that is sound, or is that of ctx
// where it ends before, beside none.
func (s Store) Of(ctx context.Context, k Key, o Options, force bool) (*Roofs, error) {
	kept := s.Load(ctx, k)
	if kept != nil && !force {
		return kept, nil
	}
	if o.Each == 0 {
		o.Each = each
	}
	if o.Load == nil {
		o.Load = machine.ReadLoad
	}
	before := o.Load()
	r, err := Measure(ctx, o)
	if err != nil {
		return nil, err
	}
	if foreign := o.Load().Since(before).Foreign(); foreign > machine.Quiet { // 0 where it is not known
		if kept == nil {
			return r, fmt.Errorf("the roofs are not kept: other programs took %.0f %% of the processors while they were measured", 100*foreign)
		}
		r.raise(kept)
	}
	return r, s.Save(k, r)
}

// raise joins the best of another measurement of the same: other programs only take away.
func (r *Roofs) raise(other *Roofs) {
	r.GFLOPS = max(r.GFLOPS, other.GFLOPS)
	for i := range r.Levels {
		l := &r.Levels[i]
		for _, o := range other.Levels {
			if o.Bytes == l.Bytes {
				l.Read, l.Update = max(l.Read, o.Read), max(l.Update, o.Update)
			}
		}
	}
}
