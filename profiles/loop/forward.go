package loop

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prismtop/profiles/machine"
)

// The rings of another machine: its prismtop writes what changes in them to a pipe, such as that of ssh, and here they
// are files again, which are read like any ring. Nothing goes back: such a ring is only watched.
//
// A message is four numbers, least significant byte first, and bytes of the ring's file:
// u32 rank, u32 length, u64 offset.

const (
	messageHead   = 16
	longest       = 1 << 16                // bytes of a message
	forwardsEvery = 20 * time.Millisecond  // that a ring is looked at
	findsEvery    = 200 * time.Millisecond // that rings are looked for
	mirrored      = ".mirror" + ringEnding
	wholeFile     = records + slots*size
)

// Mirrors reports whether the ring is that of another machine.
func (r *Ring) Mirrors() bool { return strings.HasSuffix(r.Path, mirrored) }

// forwarded is a ring of this machine whose changes are sent.
type forwarded struct {
	*Ring
	sent, greeted uint64 // records, and the generation of the greeting
	state         State
}

// Forward writes the rings of this machine's ranks, of a training with so many, until they have ended, writing fails or
// ctx ends. Each rank must be there within a time.
func Forward(ctx context.Context, w io.Writer, world int, ranks []int, within time.Duration) error {
	found := map[int]*forwarded{}
	defer func() {
		for _, f := range found {
			f.Release()
		}
	}()
	begun, looked := time.Now(), time.Time{}
	for {
		if len(found) < len(ranks) && time.Since(looked) > findsEvery && time.Since(begun) < within {
			looked = time.Now()
			findRanks(found, world, ranks)
		}
		if len(found) == 0 && time.Since(begun) > within {
			return fmt.Errorf("no rank of %v, of %d, trains on this machine", ranks, world)
		}
		trains := len(found) == 0
		for rank, f := range found {
			alive := f.Alive() // before its last records are read
			if err := f.forward(w, rank); err != nil {
				return err
			}
			trains = trains || f.state <= Training && alive
		}
		if !trains {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(forwardsEvery):
		}
	}
}

// findRanks adds the ranks of a training that have greeted.
func findRanks(found map[int]*forwarded, world int, ranks []int) {
	folders, _ := filepath.Glob(filepath.Join(Folder(), "*"))
	for _, above := range otherFolders() { // a login has another environment than a job
		more, _ := filepath.Glob(filepath.Join(above, "*"))
		folders = append(folders, more...)
	}
	for _, folder := range folders {
		for _, path := range In(folder) {
			r, err := Watch(path)
			if err != nil {
				continue
			}
			if r.World != world || !slices.Contains(ranks, r.Rank) || found[r.Rank] != nil || r.Mirrors() ||
				!r.GoesOn() || r.word(atGreeting) == 0 {
				r.Release()
				continue
			}
			found[r.Rank] = &forwarded{Ring: r}
		}
	}
}

// forward sends what has changed since the last call.
func (f *forwarded) forward(w io.Writer, rank int) error {
	if generation := f.word(atGreeting); generation != f.greeted {
		f.greeted = generation
		if err := f.send(w, rank, 0, settingsText); err != nil {
			return err
		}
	}
	written := f.Written()
	for next := max(f.sent, written-min(written, slots)); next < written; {
		n := min(written-next, slots-next%slots, longest/size)
		if err := f.send(w, rank, records+int64(next%slots)*size, int(n)*size); err != nil {
			return err
		}
		next += n
	}
	state := f.State()
	if written == f.sent && state == f.state {
		return nil
	}
	f.sent, f.state = written, state
	return message(w, rank, atWritten, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, written),
		uint64(state)))
}

// send sends bytes of the file.
func (f *forwarded) send(w io.Writer, rank int, at int64, n int) error {
	b := make([]byte, n)
	if _, err := f.file.ReadAt(b, at); err != nil {
		return err
	}
	return message(w, rank, at, b)
}

func message(w io.Writer, rank int, at int64, b []byte) error {
	head := binary.LittleEndian.AppendUint32(make([]byte, 0, messageHead+len(b)), uint32(rank))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(b)))
	_, err := w.Write(append(binary.LittleEndian.AppendUint64(head, uint64(at)), b...))
	return err
}

var errForwarded = errors.New("what another machine sends makes no sense")

// Mirror makes rings in a folder of what another machine forwards, until that ends: those of the ranks that are wanted.
// They count as alive while a process of this machine is there, by which the messages come.
func Mirror(from io.Reader, folder string, ranks []int, pid int) error {
	files := map[int]*os.File{}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	b := make([]byte, longest)
	for {
		if _, err := io.ReadFull(from, b[:messageHead]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		rank, n, at := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:])),
			int64(binary.LittleEndian.Uint64(b[8:]))
		if !slices.Contains(ranks, rank) || n > longest || at < 0 || at+int64(n) > wholeFile || at == 0 &&
			n < atRank+8 {
			return errForwarded
		}
		if _, err := io.ReadFull(from, b[:n]); err != nil {
			return err
		}
		f := files[rank]
		if at == 0 { // its head is whole: from now on it can be opened
			binary.LittleEndian.PutUint32(b[atPID:], uint32(pid))
			binary.LittleEndian.PutUint64(b[atStarted:], uint64(machine.Started(pid)))
		}
		if f == nil {
			var err error
			if f, err = os.OpenFile(filepath.Join(folder, fmt.Sprintf("%d-rank%d%s", pid, rank, mirrored)),
				os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
				return err
			}
			files[rank] = f
			if err := f.Truncate(wholeFile); err != nil {
				return err
			}
		}
		if _, err := f.WriteAt(b[:n], at); err != nil {
			return err
		}
	}
}
