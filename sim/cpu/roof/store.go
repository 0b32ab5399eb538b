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

// Key identifies a measurement: by processor, version of the program and number
// of threads.
type Key struct {
	CPU     string
	Logical int
	Version string
	Kernels string
	Threads int
}

// Store keeps measurements in a folder. The zero value keeps nothing.
type Store struct{ Dir string }

// UserStore returns the store in the folder prismtop of the user's cache
// directory.
func UserStore() (Store, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Store{}, err
	}
	return Store{Dir: filepath.Join(dir, "prismtop")}, nil
}

func (s Store) path(k Key) string {
	const contents = 2 // raised where measurements get more numbers
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %d %q %q %d", contents, k.CPU, k.Logical, k.Version,
		k.Kernels, k.Threads))
	return filepath.Join(s.Dir, "roofs-"+hex.EncodeToString(sum[:8])+".json")
}

// A stored measurement is short, and a responsive disk reads it at once.
const (
	largestFile = 64 << 10
	readLimit   = time.Second
)

// Load returns a stored measurement, or nil if there is none, or if the file is
// damaged or cannot be read at once.
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

// maxRate bounds the rates a file may claim, in 10⁹ per second: more than any
// machine reaches.
const maxRate = 1e7

// sound reports whether a measurement read from a file is a valid one for k.
func (r *Roofs) sound(k Key) bool {
	rate := func(v float64) bool { return v > 0 && v < maxRate }
	if r.Kernels != k.Kernels || r.Threads != k.Threads || !rate(r.GFLOPS) || r.BF16 != 0 && !rate(r.BF16) ||
		len(r.Levels) == 0 || r.Measured.IsZero() {
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

// Save stores a measurement atomically: the whole file, or nothing.
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

// Of returns the stored measurement, or a new one, which is stored unless other
// programs were computing at the same time or the threads did not have their processors; force
// measures again, and keeps the best of both in these cases. It may return a valid measurement with
// an error that says why it was not stored; if ctx ends first it returns no measurement and the error
// of ctx.
func (s Store) Of(ctx context.Context, k Key, o Options, force bool) (*Roofs, error) {
	kept := s.Load(ctx, k)
	if kept != nil && !force {
		return kept, nil
	}
	if o.Each == 0 {
		o.Each = each
	}
	before := o.load()
	r, err := Measure(ctx, o)
	if err != nil {
		return nil, err
	}
	doubt := ""
	if foreign := o.load().Since(before).Foreign(); foreign > machine.Quiet { // 0 if unknown
		doubt = fmt.Sprintf("other programs took %.0f %% of the processors", 100*foreign)
	} else if r.Share > 0 && r.Share < enoughTime {
		doubt = fmt.Sprintf("the threads had only %.0f %% of their processors' time", 100*r.Share)
	}
	switch {
	case doubt != "" && kept == nil:
		return r, fmt.Errorf("the roofs are doubtful and not kept: %s while they were measured", doubt)
	case doubt != "":
		r.raise(kept)
	}
	return r, s.Save(k, r)
}

// raise takes over the better rates of another measurement with the same key: other
// programs can only lower them.
func (r *Roofs) raise(other *Roofs) {
	r.GFLOPS, r.BF16 = max(r.GFLOPS, other.GFLOPS), max(r.BF16, other.BF16)
	for i := range r.Levels {
		l := &r.Levels[i]
		for _, o := range other.Levels {
			if o.Bytes == l.Bytes {
				l.Read, l.Update = max(l.Read, o.Read), max(l.Update, o.Update)
			}
		}
	}
}
