package loop

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
)

// The layout of a ring: see FORMAT.md.
const (
	magic   = "PRSMLOOP"
	format  = 2
	size    = 576  // bytes of a record
	slots   = 4096 // records
	records = 65536

	atFormat, atSize, atSlots, atPID, atUnix, atStarted, atRank = 8, 12, 16, 20, 24, 32, 40

	atWritten, atState                      = 48, 56
	atGreeting, atGreetingSize              = 64, 72
	atSettings, atSettingsSize              = 128, 136
	atHeartbeat, atReader                   = 144, 152
	atBegan                                 = 96
	greetingText, settingsText, settingsMax = 4096, 32768, 16384
	greetingMax                             = settingsText - greetingText
)

// State is what a loop does.
type State uint64

// The states.
const (
	Preparing State = iota + 1
	Training
	Over
	Failed    // an exception ended the program, other than an interrupt
	Unpatched // the module took its patches back; the training goes on
)

// Ring is a loop as its reader sees it. It is not safe for concurrent use, except Beat.
type Ring struct {
	Path        string
	PID         int
	Rank, World int

	// Lost are records that were overwritten before they were read, and Torn those that were never whole.
	Lost, Torn int64

	file     *os.File
	lock     *os.File // nil for a reader that only watches
	started  int64    // of the process, in ticks; 0 if unknown
	next     uint64   // number of the record that is read next
	patience int      // how often that was looked for and was not whole

	block       [batch * size]byte
	have, taken int // records in block
	part        int // of the record that is taken next: how many of its steps were

	greeting uint64 // generation of the newest
	settings uint64 // likewise
}

// batch is the number of records read at a time.
const batch = 16

// Open opens a ring. Only one reader operates the loop: another watches it.
func Open(path string) (*Ring, error) { return open(path, true) }

// Watch opens a ring only to read it, also if nobody operates the loop.
func Watch(path string) (*Ring, error) { return open(path, false) }

func open(path string, operates bool) (*Ring, error) {
	r := &Ring{Path: path, next: 1}
	if err := r.open(operates); err != nil {
		if r.file != nil {
			r.Release()
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *Ring) open(operates bool) (err error) {
	info, err := os.Lstat(r.Path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !atomicfile.Own(info) {
		return errors.New("must be a file of this user that others cannot read")
	}
	if r.file, err = os.OpenFile(r.Path, os.O_RDWR, 0); err != nil {
		return err
	}
	var head [64]byte
	if _, err := r.file.ReadAt(head[:], 0); err != nil || string(head[:8]) != magic {
		return errUnfinished
	}
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(head[at:]) }
	if v := u32(atFormat); v != format {
		return fmt.Errorf("format %d: this prismtop reads format %d; start the program with the same prismtop", v,
			format)
	}
	if u32(atSize) != size || u32(atSlots) != slots {
		return fmt.Errorf("%d records of %d bytes: must be %d of %d", u32(atSlots), u32(atSize), slots, size)
	}
	r.PID, r.started = int(u32(atPID)), int64(binary.LittleEndian.Uint64(head[atStarted:]))
	r.Rank, r.World = int(int32(u32(atRank))), int(int32(u32(atRank+4)))
	if r.PID <= 1 || r.Rank < 0 || r.World < 1 || r.Rank >= r.World {
		return fmt.Errorf("process %d, rank %d of %d", r.PID, r.Rank, r.World)
	}
	r.settings = r.word(atSettings)
	if operates && atomicfile.TryLock(r.file) {
		r.lock = r.file
	}
	return nil
}

// word reads a number of the head; 0 if the file is too short.
func (r *Ring) word(at int64) uint64 {
	var b [8]byte
	if _, err := r.file.ReadAt(b[:], at); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// State returns what the loop does.
func (r *Ring) State() State { return State(r.word(atState)) }

// Written returns the number of records written so far.
func (r *Ring) Written() uint64 { return r.word(atWritten) }

// Operates reports whether this reader may write settings: it is the first.
func (r *Ring) Operates() bool { return r.lock != nil }

// Alive reports whether the process of the loop is there.
func (r *Ring) Alive() bool {
	now := machine.Started(r.PID)
	return machine.Runs(r.PID) && (now == r.started || r.started == 0 || now == 0)
}

// GoesOn reports whether the loop trains.
func (r *Ring) GoesOn() bool { return r.State() <= Training && r.Alive() }

// Began returns a time before which no step began whose record is read next, close to its beginning; 0 if the loop
// does not say.
func (r *Ring) Began() int64 {
	var b [size]byte
	var before Record
	if r.next == 1 {
		return int64(r.word(atBegan))
	}
	_, err := r.file.ReadAt(b[:], records+int64((r.next-2)%slots)*size)
	if err != nil || !whole(b[:], r.next-1) || !before.decode(b[:], parts(b[:])-1) {
		return 0
	}
	if before.Kind == Step {
		return before.Start + before.Total
	}
	return before.Start
}

// whole reports whether the bytes of a slot are a record of a number.
func whole(b []byte, number uint64) bool {
	return binary.LittleEndian.Uint64(b) == number &&
		crc32.ChecksumIEEE(b[:size-8]) == binary.LittleEndian.Uint32(b[size-8:])
}

// Skip leaves out all records so far.
func (r *Ring) Skip() { r.next, r.have, r.taken, r.part = r.Written()+1, 0, 0, 0 }

// Greeting returns the newest greeting if it is newer than the one returned before, else nil: also while it is being
// written. An error says why it makes no sense; it is not returned again.
func (r *Ring) Greeting() (*Greeting, error) {
	generation := r.word(atGreeting)
	if generation == r.greeting {
		return nil, nil
	}
	text := r.document(atGreetingSize, greetingText, greetingMax)
	if text == nil || r.word(atGreeting) != generation {
		return nil, nil
	}
	r.greeting = generation
	g := &Greeting{}
	if err := json.Unmarshal(text, g); err != nil {
		return nil, fmt.Errorf("%s: the greeting: %w", r.Path, err)
	}
	if err := g.Check(); err != nil {
		return nil, fmt.Errorf("%s: the greeting: %w", r.Path, err)
	}
	return g, nil
}

// document reads a text whose length and CRC are in the head; nil if they do not fit.
func (r *Ring) document(at, from int64, most int) []byte {
	sizes := r.word(at)
	length, sum := int(uint32(sizes)), uint32(sizes>>32)
	if length == 0 || length > most {
		return nil
	}
	text := make([]byte, length)
	if _, err := r.file.ReadAt(text, from); err != nil || crc32.ChecksumIEEE(text) != sum {
		return nil
	}
	return text
}

// Asked returns the newest settings that a reader has written, nil if there are none.
func (r *Ring) Asked() *Settings {
	text := r.document(atSettingsSize, settingsText+int64(r.word(atSettings)%2)*settingsMax, settingsMax)
	s := &Settings{}
	if text == nil || json.Unmarshal(text, s) != nil {
		return nil
	}
	return s
}

// errWatches is returned where another prismtop operates the loop.
var errWatches = errors.New("another prismtop operates this loop")

// Send writes settings and returns their generation, which the loop answers with.
func (r *Ring) Send(s *Settings) (generation uint32, err error) {
	if r.lock == nil {
		return 0, errWatches
	}
	text, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	if len(text) > settingsMax {
		return 0, fmt.Errorf("the settings have %d bytes: must be at most %d", len(text), settingsMax)
	}
	r.settings++
	var sizes [8]byte
	binary.LittleEndian.PutUint32(sizes[:], uint32(len(text)))
	binary.LittleEndian.PutUint32(sizes[4:], crc32.ChecksumIEEE(text))
	for _, write := range []struct {
		data []byte
		at   int64
	}{
		{text, settingsText + int64(r.settings%2)*settingsMax}, {sizes[:], atSettingsSize},
		{binary.LittleEndian.AppendUint64(nil, r.settings), atSettings},
	} {
		if _, err := r.file.WriteAt(write.data, write.at); err != nil {
			return 0, err
		}
	}
	return uint32(r.settings), nil
}

// Beat tells the loop that its reader is alive. It must be called at least once a second by a reader that operates it.
func (r *Ring) Beat() {
	if r.lock == nil {
		return
	}
	var b [12]byte
	binary.LittleEndian.PutUint64(b[:], uint64(Now()))
	binary.LittleEndian.PutUint32(b[8:], uint32(os.Getpid()))
	_, _ = r.file.WriteAt(b[:], atHeartbeat)
}

// tornPatience is how often a record that is not whole is looked at before it is given up.
const tornPatience = 1000

// Next reads the next record into rec, and reports whether there is one. It never waits.
func (r *Ring) Next(rec *Record) bool {
	if r.taken < r.have {
		b, part := r.block[r.taken*size:(r.taken+1)*size], r.part
		if r.part++; r.part == parts(b) {
			r.taken, r.part = r.taken+1, 0
		}
		return rec.decode(b, part) || r.Next(rec)
	}
	for {
		written := r.Written()
		if r.next > written {
			return false
		}
		if oldest := written - min(written, slots) + 1; r.next < oldest {
			r.lose(oldest + slots/8) // which is not overtaken at once
		}
		if r.read(written) {
			return r.Next(rec)
		}
		if r.patience == 0 { // others were overwritten
			continue
		}
		if r.patience < tornPatience {
			return false
		}
		r.Torn++
		r.next++
		r.patience = 0
	}
}

// lose goes on at a record, those before it being lost.
func (r *Ring) lose(next uint64) {
	r.Lost += int64(next - r.next)
	r.next, r.patience = next, 0
}

// read reads the records from the next on into the block, and reports whether there is a whole one.
func (r *Ring) read(written uint64) bool {
	slot := (r.next - 1) % slots
	n := min(written-r.next+1, batch, slots-slot)
	r.have, r.taken = 0, 0
	if _, err := r.file.ReadAt(r.block[:n*size], records+int64(slot)*size); err != nil && !errors.Is(err, io.EOF) {
		n = 0
	}
	for i := range n {
		b := r.block[i*size : (i+1)*size]
		number := binary.LittleEndian.Uint64(b)
		switch {
		case whole(b, r.next):
			r.have++
			r.next++
			r.patience = 0
			continue
		case number > r.next && number <= r.Written() && r.have == 0:
			r.lose(max(r.next+1, r.Written()-min(r.Written(), slots-slots/8)+1))
			return false
		}
		break
	}
	if r.have == 0 {
		r.patience++
	}
	return r.have > 0
}

// Close ends reading: the loop has no reader any more.
func (r *Ring) Close() {
	if r.lock != nil {
		_, _ = r.file.WriteAt(make([]byte, 12), atHeartbeat)
	}
	r.Release()
}

// Release closes the file and leaves the heartbeat, for one that only looked.
func (r *Ring) Release() { _ = r.file.Close() }

// Remove removes the ring and the files beside it, once the loop is over or its process has ended.
func (r *Ring) Remove() {
	beside, _ := filepath.Glob(strings.TrimSuffix(r.Path, ringEnding) + ringEnding + "*")
	for _, path := range beside {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// Wait calls look, which finds something in a ring, until it returns true or an error or done is closed: at once, and
// then less and less often, every 20 ms at last.
func Wait(done <-chan struct{}, look func() (bool, error)) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if found, err := look(); found || err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-time.After(pause):
		}
	}
}
