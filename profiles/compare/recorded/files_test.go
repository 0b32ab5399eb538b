package recorded

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

var (
	recordings = flag.String("recordings", "", "folder of recordings of equal runs, of which TestRecordedPairs compares every two neighbours")
	maxForeign = flag.Float64("max-foreign", machine.Quiet, "share of the processors that other programs may take in a block of them")
)

var table = settings.NewTable("test", nil, settings.Switch("", "fast", "").Live())

// recorded records a made-up run of some iterations of a millisecond, with a change in the middle.
type recorded struct {
	*recording.Recorder
	began time.Time
	next  int64
}

func record(path string) *recorded {
	r := &recorded{Recorder: recording.New(recording.Options{Path: path, Fingerprint: recording.Fingerprint{Version: "1.2", Preset: "moon", Threads: 3, CPU: machine.CPU{Model: "a processor"}}}), began: time.Now()}
	schema := profiles.Schema{Workload: "test", Stages: []string{"all"}, Kinds: []profiles.KindInfo{{Name: "steps"}},
		Phases: []profiles.PhaseInfo{{Name: "first"}, {Name: "second"}, {Name: "third"}}, Pictures: []profiles.PictureInfo{{Name: "truth"}},
		Series: []profiles.SeriesInfo{{Name: "loss", Title: "loss", Each: true}}}
	r.put(0, &profiles.Begin{Info: profiles.RunInfo{Schema: schema, Object: "moon"}, Settings: table.Zero()})
	r.put(0, &profiles.StateChange{State: profiles.Running})
	r.put(0, &profiles.Picture{Width: 2, Height: 1, Pixels: []float32{0, 1}})
	return r
}

func (r *recorded) put(at int64, b profiles.Body) {
	r.Event(&profiles.Event{At: r.began.Add(time.Duration(at)), Body: b})
}

// run records iterations, with a tick after every hundred, and writes before more wait than a recorder takes.
func (r *recorded) run(iterations int64) {
	for end := r.next + iterations; r.next < end; r.next++ {
		it := profiles.Iteration{Index: r.next, Start: r.next * 1e6, Total: 900_000, Series: profiles.NoValues()}
		it.Phases = [profiles.MaxPhases]int64{300_000, 300_000, 300_000}
		it.Series[0] = 1 / float64(1+r.next)
		r.put(0, &it)
		if r.next%100 == 99 {
			r.Tick(r.began.Add(time.Duration(it.Start)+time.Millisecond), &profiles.Snapshot{Index: r.next + 1, State: profiles.Running})
		}
		if r.next%10_000 == 9_999 {
			r.Flush(context.Background())
		}
	}
}

// change records a change of the setting.
func (r *recorded) change() {
	v, err := table.Zero().Set("fast", "true")
	if err != nil {
		panic(err)
	}
	r.put(r.next*1e6, &profiles.Changed{Change: profiles.Change{Key: "fast", Before: "false", After: "true", Iteration: r.next}, Settings: v})
}

func tables(string) *settings.Table { return table }

// read reads a stretch of a recording.
func read(t *testing.T, path, stretch string) *compare.Sample {
	t.Helper()
	from := Recording{Path: path, Name: "run"}
	if stretch != "" {
		var err error
		if from.Stretch, err = compare.ParseStretch(stretch); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read(context.Background(), from, tables)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A recording is compared while it grows, and afterwards, with what it was made with.
func TestARecordingIsComparedWhileItGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := record(path)
	r.run(20_000)
	if s, err := Read(context.Background(), Recording{Path: path, Name: "run"}, tables); err != nil || s == nil {
		t.Fatalf("%v, %v", s, err)
	}
	r.change()
	r.run(10_000)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare([]string{"A", "B", "C"}, [][]*compare.Sample{{read(t, path, "")}, {read(t, path, "..change1")}, {read(t, path, "change1")}}, compare.Options{MaxForeign: 1})
	if err != nil {
		t.Fatal(err)
	}
	for side, iterations := range []int64{30_000, 20_000, 10_000} {
		run := c.Sides[side].Runs[0]
		if run.Iterations != iterations || run.Blocks < 10 || run.Growing || run.Program != "1.2" || run.Preset != "moon" || run.Threads != 3 || run.Processor != "a processor" || len(run.Picture) != 64 || run.Object != "moon" {
			t.Errorf("side %d: %+v", side, run)
		}
	}
	if len(c.Settings) != 1 || c.Settings[0].Values[2] != "true" {
		t.Errorf("settings %+v", c.Settings)
	}
	results := 0
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Group == compare.Quality {
			if results++; !strings.HasPrefix(r.Against[1].Reason, "A begins at iteration 0 of its run and C at 20000") {
				t.Errorf("%s: %+v", r.Name, r.Against)
			}
		}
		if r := &c.Rows[i]; r.Group <= compare.Phases && (r.Against[0].Verdict != compare.Equal || r.Against[1].Verdict != compare.Equal) {
			t.Errorf("%s: %+v", r.Name, r.Against)
		}
	}
	if results == 0 {
		t.Error("there is no row of a result")
	}
	if c, err = compare.Compare([]string{"A", "B"}, [][]*compare.Sample{{read(t, path, "..change1")}, {read(t, path, "change1")}}, compare.Options{MaxForeign: 1}); err != nil {
		t.Fatal(err)
	}
	if d := c.Rows[len(c.Rows)-1].Against[0]; d.Verdict != compare.NotComparable || !strings.HasPrefix(d.Reason, "B goes on from where A ends") {
		t.Errorf("two stretches: %+v", d)
	}
}

func TestWhatIsNoRecordingSaysSo(t *testing.T) {
	folder := t.TempDir()
	short := filepath.Join(folder, "short.sqlite")
	r := record(short)
	r.run(100)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(short)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty.sqlite": {nil, "is empty"}, "text.sqlite": {[]byte("a text that is long enough"), "is not a recording"}, "cut.sqlite": {whole[:len(whole)/2], "damaged"},
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(context.Background(), Recording{Path: path}, tables); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Read(ctx, Recording{Path: short}, tables); err == nil {
		t.Error("read after its context ended")
	}
}

// Recordings of equal runs that a machine made are compared in pairs: at most 5 % of the rows may have a
// verdict that something differs.
func TestRecordedPairs(t *testing.T) {
	if *recordings == "" {
		t.Skip("skipped: -recordings names a folder of recordings of equal runs (docs/compare.md)")
	}
	paths, err := filepath.Glob(filepath.Join(*recordings, "*.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	wrong, rows, incomparable := 0, 0, 0
	for i := 0; i+1 < len(paths); i += 2 {
		c, err := compare.Compare([]string{"A", "B"}, [][]*compare.Sample{{read(t, paths[i], "")}, {read(t, paths[i+1], "")}}, compare.Options{MaxForeign: *maxForeign})
		if err != nil {
			t.Fatal(err)
		}
		for j := range c.Rows {
			switch r := &c.Rows[j]; r.Against[0].Verdict {
			case compare.NotComparable:
				incomparable++
			case compare.Equal, compare.InNoise:
				rows++
			default:
				rows++
				wrong++
				t.Logf("%s and %s: %s %s %s", filepath.Base(paths[i]), filepath.Base(paths[i+1]), r.Name, r.Words(0), r.Interval(0))
			}
		}
	}
	t.Logf("%d of %d rows of %d pairs are called different, %d are not comparable", wrong, rows, len(paths)/2, incomparable)
	if float64(wrong) > 0.05*float64(rows) {
		t.Error("that is more than 5 %")
	}
}
