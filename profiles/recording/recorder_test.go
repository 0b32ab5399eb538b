package recording

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// childFile is the environment variable that makes this program a run that records to a file until it
// is killed.
const childFile = "PRISMTOP_TEST_RECORD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		recordForever(path)
	}
	os.Exit(m.Run())
}

// taped passes a made-up run to a recorder.
type taped struct {
	*Recorder
	it    profiles.Iteration
	began time.Time
	snap  profiles.Snapshot
	ran   time.Duration // by the checkpoint
}

func begin(r *Recorder) *taped { return beginAfter(r, 0) }

// beginAfter begins a run that goes on after a number of iterations.
func beginAfter(r *Recorder, resumed int64) *taped {
	t := &taped{Recorder: r, it: prismtest.Progressive(), began: time.Now()}
	t.startAfter(resumed)
	return t
}

// start begins a start of the run.
func (t *taped) start() { t.startAfter(0) }

func (t *taped) startAfter(resumed int64) {
	info := prismtest.Info(4)
	info.Resumed, info.Ran = resumed, t.ran
	v := (&prism.Settings{AMP: "off", Object: "moon"}).Values().Settled()
	now := time.Now()
	t.Event(&profiles.Event{At: now, Body: &profiles.Begin{Info: info, Settings: v}})
	t.Event(&profiles.Event{At: now, Body: &profiles.StateChange{State: profiles.Running}})
	t.snap = profiles.Snapshot{Run: info, Settings: v, State: profiles.Running}
	t.it.Index = resumed
}

// tick records some iterations and a tick.
func (t *taped) tick(iterations int) {
	for range iterations {
		t.it.Total = 1e6 + t.it.Index%1000
		t.iterate()
	}
	s := t.snap
	s.Index = t.it.Index
	t.Tick(time.Now(), &s)
}

// iterate records an iteration.
func (t *taped) iterate() {
	t.it.Start = int64(time.Since(t.began))
	t.Event(&profiles.Event{Body: &t.it})
	t.it.Index++
}

// flushed waits until nothing waits to be written.
func (t *taped) flushed() {
	for waits := true; waits; {
		t.mu.Lock()
		waits = t.waiting.ticked.entries > 0
		t.mu.Unlock()
	}
}

// recordForever records a thousand iterations a second, and prints how many of them are in the file, whenever it knows.
func recordForever(path string) {
	t := begin(New(Options{Path: path}))
	ticked := make(chan int64, 1)
	go func() {
		for index := range ticked {
			t.Flush(context.Background())
			fmt.Println(index)
		}
	}()
	for range time.Tick(100 * time.Millisecond) {
		t.tick(100)
		select {
		case ticked <- t.it.Index:
		default: // it is still writing
		}
	}
}

// read returns the iterations of a recording, and the last tick.
func read(t *testing.T, path string) (indices []int64, last time.Time) {
	t.Helper()
	r, err := Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stretches, err := r.Stretches(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cursor()
	for _, s := range stretches {
		moments, err := c.Read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range moments {
			m.Each(func(e *profiles.Event) {
				if it, ok := e.Body.(*profiles.Iteration); ok {
					indices = append(indices, it.Index)
				}
			})
			last = m.At
		}
	}
	return indices, last
}

// A run that is killed at any moment leaves a recording with everything that was written.
func TestAKilledRunIsRecordedUpToItsLastWrite(t *testing.T) {
	tries := 50
	if testing.Short() {
		tries = 5
	}
	folder := t.TempDir()
	var parallel sync.WaitGroup
	slots := make(chan struct{}, 5) // so many at a time
	for try := range tries {
		parallel.Add(1)
		slots <- struct{}{}
		go func() {
			defer parallel.Done()
			defer func() { <-slots }()
			path := filepath.Join(folder, fmt.Sprintf("%d.sqlite", try))
			written, err := killAtRandom(path)
			if err != nil {
				t.Errorf("try %d: %v", try, err)
				return
			}
			indices, _ := read(t, path)
			for i, index := range indices {
				if index != int64(i) {
					t.Errorf("try %d: iteration %d comes as number %d", try, index, i)
					return
				}
			}
			if int64(len(indices)) < written {
				t.Errorf("try %d: %d iterations of %d that were written", try, len(indices), written)
			}
			status, err := statusOf(context.Background(), path)
			if err != nil || status.State != Killed || status.Iterations == 0 {
				t.Errorf("try %d: it is %v after %d iterations (%v)", try, status.State, status.Iterations, err)
			}
		}()
	}
	parallel.Wait()
}

// killAtRandom records in a process that it kills, and returns how many iterations that process had written.
func killAtRandom(path string) (written int64, err error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, err
	}
	after := 8 + rand.IntN(20) // lines
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if written, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			return 0, err
		}
		if n++; n == after {
			time.Sleep(rand.N(100 * time.Millisecond)) // anywhere between two ticks
			if err := cmd.Process.Kill(); err != nil {
				return 0, err
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if n < after {
		return 0, fmt.Errorf("it ended by itself after %d lines", n)
	}
	return written, nil
}

// recordedRun makes a recording of so many iterations and returns its path.
func recordedRun(t *testing.T, iterations int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path, Reserved: true}))
	for done := 0; done < iterations; done += 100 {
		r.tick(100)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path
}

// A recording that was closed is one file.
func TestAClosedRecordingIsOneFile(t *testing.T) {
	path := recordedRun(t, 3000)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v (%v)", entries, err)
	}
	if indices, _ := read(t, path); len(indices) != 3000 {
		t.Errorf("%d iterations", len(indices))
	}
	if s, err := statusOf(t.Context(), path); err != nil || s.State != Ended || s.Iterations != 3000 || s.Object != "moon" {
		t.Errorf("%+v (%v)", s, err)
	}
}

// A start of the run begins a block, wherever in a write it comes: the blocks of each tell its iterations.
func TestEachStartHasBlocksOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path}))
	var want []int64
	iterate := func(n int) {
		for i := range n {
			want = append(want, r.it.Index+int64(i))
		}
		r.tick(n)
	}
	iterate(300)
	for range 5 { // of the same write, after iterations without a tick
		r.iterate()
		want = append(want, r.it.Index-1)
	}
	r.start()
	iterate(70)
	r.Flush(t.Context())
	r.start() // at the beginning of a write
	r.start() // without an iteration before it
	iterate(2 * sealIterations)
	iterate(10)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rows, err := reader.db.QueryContext(t.Context(), "SELECT start || ': ' || min(first) || ' to ' || max(last) || ', ' || sum(last - first + 1) FROM blocks WHERE first IS NOT NULL GROUP BY start")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	if whole := []string{"0: 0 to 304, 305", "1: 0 to 69, 70", "3: 0 to 4105, 4106"}; !slices.Equal(got, whole) || rows.Err() != nil {
		t.Errorf("the blocks have %q, want %q (%v)", got, whole, rows.Err())
	}
	if indices, _ := read(t, path); !slices.Equal(indices, want) {
		t.Errorf("%d iterations were read of %d, or others", len(indices), len(want))
	}
	if err := readAll(t.Context(), path); err != nil {
		t.Error(err)
	}
}

// A run that has ended is over as long as its recording grows, on the screen that shows it, and it was not
// killed if that screen was.
func TestARunIsOverBeforeItsScreenIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path}))
	r.tick(100)
	r.Event(&profiles.Event{At: r.began.Add(5 * time.Second), Body: &profiles.StateChange{State: profiles.Finished}})
	s := r.snap
	s.State = profiles.Finished
	look := func(want RecordedState, over bool) {
		t.Helper()
		r.Flush(t.Context())
		if s, err := statusOf(t.Context(), path); err != nil || s.State != want || s.Over() != over {
			t.Errorf("it is %v, over %v (%v)", s.State, s.Over(), err)
		}
	}
	r.Tick(r.began.Add(time.Minute), &s)
	look(Growing, true)
	db, err := connect(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	process := func(as any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), "UPDATE recording SET value = ? WHERE key = 'process'", as); err != nil {
			t.Fatal(err)
		}
	}
	process(math.MaxInt32)
	look(Ended, true)
	process(os.Getpid())
	r.start()
	r.Tick(r.began.Add(2*time.Minute), &r.snap)
	look(Growing, false)
	process(math.MaxInt32)
	look(Killed, false)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// formatted makes a recording whose header names a format.
func formatted(t *testing.T, format int) (path string) {
	t.Helper()
	path = recordedRun(t, 100)
	db, err := connect(path, nil)
	if err == nil {
		_, err = db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA user_version = %d", format))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Files that cannot be read say why.
func TestWrongFilesAreRefused(t *testing.T) {
	folder := t.TempDir()
	good, err := os.ReadFile(recordedRun(t, 3000))
	if err != nil {
		t.Fatal(err)
	}
	newer, zero, negative := formatted(t, Format+2), formatted(t, 0), formatted(t, -5)
	foreign := filepath.Join(folder, "foreign.sqlite")
	db, err := connect(foreign, nil)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE TABLE t (x)")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	zeroed := append([]byte(nil), good...)
	clear(zeroed[4096:])
	for path, want := range map[string]string{
		filepath.Join(folder, "none"): "no such file",
		folder:                        "is a folder",
		write("empty", nil):           "is empty",
		write("text", []byte("some words of text")):      "is not a recording",
		write("short", good[:10]):                        "is not a recording",
		write("header", good[:100]):                      "is damaged",
		write("truncated", good[:len(good)/2/4096*4096]): "is damaged",
		write("zeroed", zeroed):                          "is damaged",
		foreign:                                          "is not a recording",
		zero:                                             "is damaged: its header names format 0",
		negative:                                         "is damaged: its header names format -5",
		newer:                                            fmt.Sprintf("by a newer prismtop, in format %d", Format+2),
	} {
		err := readAll(t.Context(), path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

// A loop whose quality is first measured while it runs has it in the list of recordings.
func TestTheQualityOfAGrownSchemaIsListed(t *testing.T) {
	info := prismtest.Info(3)
	grown := info.Schema
	info.Schema.Quality = ""
	path := filepath.Join(t.TempDir(), "grown.sqlite")
	r := New(Options{Path: path, Fingerprint: Fingerprint{Version: "test"}})
	for _, body := range []profiles.Body{&profiles.Begin{Info: info, Settings: prism.Table.Zero()}, &profiles.Grown{Schema: grown}} {
		r.Event(&profiles.Event{At: time.Now(), Body: body})
	}
	r.Tick(time.Now(), &profiles.Snapshot{State: profiles.Finished})
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := f.Status(t.Context()); err != nil || s.QualityIs == "" || s.QualityIs != grown.Quality {
		t.Errorf("its quality is %q, want %q (%v)", s.QualityIs, grown.Quality, err)
	}
}

// readAll reads everything in a recording.
func readAll(ctx context.Context, path string) error {
	r, err := Open(ctx, path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Status(ctx); err != nil {
		return err
	}
	stretches, err := r.Stretches(ctx, 0)
	if err != nil {
		return err
	}
	c := r.Cursor()
	for _, s := range stretches {
		if _, err := c.Read(ctx, s); err != nil {
			return err
		}
	}
	_, err = r.Marks(ctx)
	return err
}

// A damaged block costs its own ticks only.
func TestADamagedBlockIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	writing := begin(New(Options{Path: path, Every: time.Millisecond}))
	for range 3 { // blocks
		for range sealIterations / 128 {
			writing.tick(128)
		}
		writing.flushed()
	}
	if err := writing.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := connect(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "UPDATE blocks SET data = x'00ff' WHERE tick = (SELECT min(tick) FROM blocks WHERE tick > 0)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stretches, err := r.Stretches(t.Context(), 0)
	if err != nil || len(stretches) < 3 {
		t.Fatalf("%d stretches (%v)", len(stretches), err)
	}
	c := r.Cursor()
	for i, s := range stretches {
		_, err := c.Read(t.Context(), s)
		if damaged := err != nil && strings.Contains(err.Error(), "is damaged"); damaged != (i == 1) {
			t.Errorf("stretch %d: %v", i, err)
		}
	}
}

// reported collects the states that a recorder reports.
type reported struct {
	mu  sync.Mutex
	all []profiles.RecordingState
}

func (r *reported) add(s profiles.RecordingState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, s)
}

func (r *reported) last() profiles.RecordingState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

// A file that cannot be written ends the recording with a reason, and takes nothing from the run.
func TestARecordingThatCannotBeWrittenSaysWhy(t *testing.T) {
	folder := t.TempDir()
	taken := filepath.Join(folder, "taken")
	if err := os.WriteFile(taken, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(folder, "first")
	writing := begin(New(Options{Path: first}))
	writing.tick(10)
	writing.Flush(t.Context()) // its file is there
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"a file that exists":    {Options{Path: taken}, "file exists"},
		"two writers":           {Options{Path: first}, "file exists"},
		"a folder that is none": {Options{Path: filepath.Join(taken, "x")}, "not a directory"},
		"no folder":             {Options{Path: filepath.Join(folder, "none", "x")}, "no such file"},
		"a full disk":           {Options{Path: filepath.Join(folder, "full"), mostPage: 40}, "the disk is full"},
		"its limit":             {Options{Path: filepath.Join(folder, "limit"), Limit: 1}, "has reached its limit of size"},
	} {
		var seen reported
		c.o.Report, c.o.Every = seen.add, time.Millisecond
		r := begin(New(c.o))
		for ended := false; !ended; {
			r.tick(100)
			select {
			case <-r.done:
				ended = true
			default:
			}
		}
		r.tick(10) // the run goes on
		err := r.Close(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.o.Path) || seen.last().Err != err.Error() {
			t.Errorf("%s: %v, reported as %q, want %q", name, err, seen.last().Err, c.want)
		}
		if name == "a full disk" || name == "its limit" {
			if err := readAll(t.Context(), c.o.Path); err != nil {
				t.Errorf("%s: what was recorded before: %v", name, err)
			}
			s, err := statusOf(t.Context(), c.o.Path)
			if state, why := s.Cut(); state != "cut short" && !s.Over() || why != s.Stopped && !s.Over() {
				t.Errorf("the run is %q for %q", state, why)
			}
			if err != nil || s.State != CutShort || !strings.Contains(s.Stopped, c.want) || !strings.Contains(s.Ending(), c.want) {
				t.Errorf("%s: it is %v: %q (%v)", name, s.State, s.Stopped, err)
			}
			if beside, err := filepath.Glob(c.o.Path + "-*"); err != nil || len(beside) > 0 {
				t.Errorf("%s: left beside it: %v (%v)", name, beside, err)
			}
		}
	}
	if err := writing.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if indices, _ := read(t, first); len(indices) != 10 {
		t.Errorf("%d iterations of the first writer", len(indices))
	}
	if data, err := os.ReadFile(taken); err != nil || string(data) != "precious" {
		t.Errorf("the file that existed has %q (%v)", data, err)
	}
}

// A disk that does not answer costs iterations of the recording, which are counted, and never waits.
func TestASlowDiskDropsAndCounts(t *testing.T) {
	r := &Recorder{options: Options{Path: "x"}, began: time.Now(), due: make(chan struct{}, 1)} // whose goroutine hangs
	run := begin(r)
	for range 10 {
		run.tick(mostWaiting / 4)
	}
	if _, dropped := r.take(); dropped != 6*(mostWaiting/4) {
		t.Errorf("%d were dropped", dropped)
	}
}

// Recording an iteration allocates nothing once there is memory.
func TestRecordingAnIterationAllocatesNothing(t *testing.T) {
	r := &Recorder{began: time.Now(), due: make(chan struct{}, 1)}
	r.waiting.iterations = make([]profiles.Iteration, 0, mostWaiting)
	it := prismtest.Progressive()
	e := profiles.Event{Body: &it}
	if n := testing.AllocsPerRun(1000, func() { r.Event(&e) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// A name and a note are kept in the recording.
func TestANameAndANote(t *testing.T) {
	path := recordedRun(t, 100)
	for _, c := range [][2]string{{"name", "the good one"}, {"note", "threshold 0"}, {"name", "better"}} {
		if err := Describe(t.Context(), path, c[0], c[1]); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := statusOf(t.Context(), path); err != nil || s.Name != "better" || s.Note != "threshold 0" {
		t.Errorf("%q, %q (%v)", s.Name, s.Note, err)
	}
	if err := Describe(t.Context(), path, "began_ns", "1"); err == nil {
		t.Error("anything can be changed")
	}
}
