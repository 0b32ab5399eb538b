package lines

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/tuitest"
)

// pages is a writer that can be read while it is written.
type pages struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *pages) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

func TestPlainReportsUntilTheRunEnds(t *testing.T) {
	r, w := tuitest.NewRecorder(), &pages{}
	result := make(chan *profiles.Snapshot, 1)
	go func() { result <- Plain(context.Background(), w, r, Options{}, time.Hour) }()
	first := tuitest.Running()
	first.Log = []profiles.LogLine{{At: time.Second, Text: "europa.jpg padded"}}
	r.Feed <- first
	second := tuitest.Running()
	second.Log = append(first.Log, profiles.LogLine{At: 2 * time.Second, Text: "saved \x1b[2Jhere"})
	r.Feed <- second
	last := tuitest.Finished()
	r.Feed <- last
	if got := <-result; got != last {
		t.Errorf("Plain returned %p, want the last snapshot", got)
	}
	want := "00:00:01 europa.jpg padded\n" +
		"sample 38/100 · iter 4120 · 184.2 it/s · old 4.210e-03 · new 1.380e-02 · PSNR 24.3 dB · 00:01:42 · left ~3 min\n" +
		"00:00:02 saved \\x1b[2Jhere\n" +
		"finished · sample 100/100 · iter 9876 · 96.82 it/s · old 4.210e-03 · new 1.380e-02 · PSNR 24.3 dB · 00:01:42\n"
	if got := w.String(); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

func TestPlainEndsWithItsContextAndItsSnapshots(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := Plain(ctx, &pages{}, tuitest.NewRecorder(), Options{}, time.Second); got != nil {
		t.Errorf("got a snapshot that never came: %v", got)
	}
	r := tuitest.NewRecorder()
	s := tuitest.Running()
	r.Feed <- s
	close(r.Feed)
	if got := Plain(context.Background(), &pages{}, r, Options{}, time.Second); got != s {
		t.Error("the newest snapshot was not returned")
	}
}

func TestPlainRewritesItsLineOnATerminal(t *testing.T) {
	w := &pages{}
	p := plain{w: w, rewrite: true}
	long, short := tuitest.Running(), tuitest.Preparing()
	p.take(long)
	p.snap = short
	p.report()
	p.end()
	parts := strings.Split(w.String(), "\r")
	if len(parts) != 3 || len([]rune(parts[1])) != len([]rune(strings.TrimSuffix(parts[2], "\n"))) {
		t.Errorf("the shorter line does not cover the longer: %q", w.String())
	}
}

func TestSummaryTellsTheRun(t *testing.T) {
	tuitest.Golden(t, "summary", SummaryWithin(tuitest.Finished(), 0))
	tuitest.Golden(t, "summary-failed", SummaryWithin(tuitest.Failed(), 0))
	tuitest.Golden(t, "summary-preparing", SummaryWithin(tuitest.Preparing(), 0))
	for i, line := range strings.Split(SummaryWithin(tuitest.Finished(), 0), "\n") {
		if len([]rune(line)) > 100 {
			t.Errorf("line %d is %d wide", i, len([]rune(line)))
		}
	}
	if n := strings.Count(SummaryWithin(tuitest.Finished(), 0), "\n"); n > 30 {
		t.Errorf("the summary is %d lines, more than a screen", n)
	}
}

// A loop's own categories of memory are told, and a metric that gets better in neither direction is no quality.
func TestSummaryOfALoop(t *testing.T) {
	s := tuitest.Finished()
	s.Run.Schema.Memory = []profiles.MemoryInfo{{Name: "parameters", Parameters: true}, {Name: "buffers"}}
	s.Memory.Parts = [profiles.MaxMemory]int64{42_000}
	s.Run.Schema.Series = slices.Clone(s.Run.Schema.Series)
	title := ""
	for i := range s.Run.Schema.Series {
		if v := &s.Run.Schema.Series[i]; v.Name == "ssim" {
			v.Better, title = profiles.NoBetter, v.Title+" "
		}
	}
	got := SummaryWithin(s, 0)
	if want := "memory       parameters 42.0 KB, caches "; !strings.Contains(got, want) {
		t.Errorf("the summary lacks %q:\n%s", want, got)
	}
	if title == "" || strings.Contains(got, title) || !strings.Contains(got, "quality      PSNR") {
		t.Errorf("the summary has %q:\n%s", title, got)
	}
}

func TestSummarySaysWhatWasNotMeasuredAndWhy(t *testing.T) {
	s := tuitest.Trainer()
	s.Memory.PeakRSS, s.Memory.Reason = 0, "/proc/self/status: permission denied"
	s.Own.Dropped = 3
	got := SummaryWithin(s, 0)
	for _, want := range []string{"peak RSS – (/proc/self/status: permission denied)", "(trainer pattern: each sample is measured once)",
		"dropped      3 records"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

// A run whose times other programs disturbed says so once, a quiet one nothing.
func TestSummarySaysWhatOthersTook(t *testing.T) {
	s := tuitest.Finished()
	s.Load = profiles.LoadView{Whole: 0.76, WholeKnown: true}
	if got, want := SummaryWithin(s, 0), "\n  disturbed    other programs took 76 % of the processors: times may be longer than without them\n"; strings.Count(got, want) != 1 {
		t.Errorf("the summary lacks %q:\n%s", want, got)
	}
	for _, quiet := range []profiles.LoadView{{Whole: 0.05, WholeKnown: true}, {Whole: 0.76}, {Foreign: 0.76, Known: true, Considerable: true}} {
		if s.Load = quiet; strings.Contains(SummaryWithin(s, 0), "other programs") {
			t.Errorf("%+v is disturbed", quiet)
		}
	}
}

// The summary says why a run that was left the choice has not used a GPU, and nothing where the user chose.
func TestSummarySaysWhyNoGPUWasUsed(t *testing.T) {
	const line = "  device       auto is the CPU: libcuda.so.1 not found\n"
	for _, tt := range []struct {
		setting, device string
		want            bool
	}{{"auto", "cpu", true}, {"cpu", "cpu", false}, {"auto", "cuda", false}, {"cuda", "cuda", false}} {
		s := tuitest.Finished()
		tuitest.Set(s, "device", tt.setting)
		s.Run.Device = tt.device
		if got := SummaryWithin(s, 0); strings.Contains(got, line) != tt.want || strings.Contains(got, "auto is") != tt.want {
			t.Errorf("device = %s on %s:\n%s", tt.setting, tt.device, got)
		}
	}
}

// Counts of one use the singular, and the times state what they leave out.
func TestSummaryCountsInWords(t *testing.T) {
	s := tuitest.Finished()
	s.Whole.Total.N, s.Index, s.Results, s.Run.Units, s.Run.Passes = 1, 2, nil, 1, 1
	s.Effects = make([]profiles.Effect, summaryEffects+1)
	got := SummaryWithin(s, 0)
	for _, want := range []string{"   2 in 0 of 1 sample\n", "ms, 1 iteration\n", "(without warm-up after a compilation or change, and unwatched ones; shares of sums)\n", "1 earlier one left out, none of them with a result\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

// Changes with a result stay in a summary that leaves some out, as do those of the starts before as a number.
func TestSummaryKeepsResults(t *testing.T) {
	s := tuitest.Finished()
	decided := profiles.Effect{Change: profiles.Change{Key: "amp", Before: "off", After: "bf16"}, Enough: true, Shift: -0.2, Low: -0.25, High: -0.15}
	s.Effects = append([]profiles.Effect{decided, decided}, make([]profiles.Effect, summaryEffects)...)
	s.Before = profiles.Before{Iterations: 7400, Changes: 2}
	got := SummaryWithin(s, 0)
	for _, want := range []string{"changes      2 earlier ones left out, none of them with a result", "restarted    after 7400 iterations and 2 changes, which are not in these numbers"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "[−25.0, −15.0] %"); n != 2 {
		t.Errorf("%d of 2 results are there:\n%s", n, got)
	}
	s.Caches[0].Gross, s.Caches[0].GrossLow, s.Caches[0].GrossHigh, s.Caches[0].Saved, s.Caches[0].Spent = 152e6, -4e6, 387e6, 152e6, 0
	if got := SummaryWithin(s, 0); !strings.Contains(got, "saving undecided [−4, 387] ms") {
		t.Errorf("a saving whose interval holds 0:\n%s", got)
	}
	s.Caches[0].GrossLow, s.Caches[0].GrossHigh = 2e6, 3960e6
	if got := SummaryWithin(s, 0); !strings.Contains(got, "saved 0.002 to 3.960 s") {
		t.Errorf("a saving of which only its interval can be said:\n%s", got)
	}
}

// A saving that rests on too few computations is not told, and memory that is not known by category leaves the peak.
func TestSummaryTellsWhatIsNotKnown(t *testing.T) {
	s := tuitest.Finished()
	s.Caches[0].PricedBy, s.Caches[0].Priced, s.Memory.Parts = 1, 199, [profiles.MaxMemory]int64{}
	got := SummaryWithin(s, 0)
	for _, want := range []string{"saving undecided: 1 computation was timed\n", "memory       – (it was not measured by category), peak RSS 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

// The time that a program takes to end after its last step is not in its rate.
func TestTheRateOfARunThatIsOverIsThatOfItsIterations(t *testing.T) {
	s := tuitest.Finished()
	s.Index, s.Run.Resumed, s.Elapsed = 20, 0, 6*time.Second
	s.Recent = []profiles.Timing{{Start: 375e6, Total: 25e6}}
	if got := Progress(s); !strings.Contains(got, "· 50.00 it/s ·") {
		t.Error(got)
	}
}

// The time outside the phases is a line of its own where it is more than a little.
func TestSummaryShowsTheTimeBetweenPhases(t *testing.T) {
	s := tuitest.Finished()
	if got := SummaryWithin(s, 0); strings.Contains(got, "between phases") {
		t.Errorf("the phases are the whole time:\n%s", got)
	}
	for id := range s.Whole.Phases {
		s.Whole.Phases[id].Share /= 2
	}
	if got := SummaryWithin(s, 0); !strings.Contains(got, "    between phases                            50 %\n") {
		t.Errorf("half of the time is of no phase:\n%s", got)
	}
}

func TestSummaryTellsEffectsOnce(t *testing.T) {
	s := tuitest.Running()
	e := profiles.Effect{Change: profiles.Change{Key: "threads", Before: "0", After: "3"}, Enough: true, Shift: 0.545, Low: 0.459, High: 0.958}
	s.Effects = []profiles.Effect{e}
	if got, want := summary(s, "finished", 2), "threads 2→3: +54.5 [+45.9, +95.8] %,"; !strings.Contains(got, want) {
		t.Errorf("the summary lacks %q:\n%s", want, got)
	}
}

// What a replication decided is in the summary, whatever the first switch showed; one that decided nothing is told as on the screen.
func TestSummaryTellsReplications(t *testing.T) {
	s := tuitest.Running()
	replica := profiles.AblationRow{Key: "amp", Off: "off", On: "bf16", OffNS: 0.25e6, OnNS: 0.32e6, Effect: 0.24, Low: 0.181, High: 0.293, Groups: 9, Sequential: true}
	change := profiles.Change{Key: "amp", Before: "off", After: "bf16"}
	confounded := profiles.Effect{Change: change, Enough: true, Shift: 0.5, Low: math.NaN(), High: math.NaN(), Confounded: "others took 50 % of the processors"}
	stopped := confounded
	stopped.Stopped = "it was stopped"
	few := profiles.Effect{Change: change, NAfter: 3, Closed: true}
	undecided := replica
	undecided.Low, undecided.High = math.Inf(-1), math.Inf(1)
	wide := replica
	wide.Effect, wide.Low, wide.High = -0.1, -0.61, 0.98
	for _, c := range []struct {
		effect  profiles.Effect
		replica *profiles.AblationRow
		want    string
	}{
		{confounded, nil, "AMP off→bf16: not comparable: others took 50 %"},
		{confounded, &undecided, "AMP off→bf16: not decided yet\n"},
		{stopped, &undecided, "AMP off→bf16: not decided yet: ended: it was stopped"},
		{confounded, &replica, "AMP off→bf16, switched back and forth: +24.0 [+18.1, +29.3] %, 0.25 → 0.32 ms"},
		{confounded, &wide, "AMP off→bf16, switched back and forth: −10.0 [−61.0, +98.0] %, undecided, 0.25 → 0.32 ms"},
		{few, &replica, "AMP off→bf16, switched back and forth: +24.0 [+18.1, +29.3] %, 0.25 → 0.32 ms"},
	} {
		c.effect.Replica = c.replica
		s.Effects = []profiles.Effect{c.effect}
		if got := summary(s, "finished", 2); !strings.Contains(got, c.want) {
			t.Errorf("the summary lacks %q:\n%s", c.want, got)
		}
	}
}

// The table of an ablation is in the summary, as far as it came.
func TestSummaryHasTheAblation(t *testing.T) {
	s := tuitest.Running()
	s.Compared = &profiles.Ablation{Ended: "complete", Rounds: 8, Rows: []profiles.AblationRow{
		{Key: "amp", Off: "off", On: "bf16", Effect: -0.25, Low: -0.3, High: -0.2, Groups: 8, Final: true},
		{Key: "fft_cache", Off: "false", On: "true", Effect: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), Note: "it is empty"}}}
	got := summary(s, "finished", 2)
	for _, want := range []string{"  ablation     8 rounds: complete\n", "    amp off→bf16             −25.0 [−30.0, −20.0] % saves 25 %\n", "    fft_cache false→true     –                    needs 6 more; it is empty\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
	s.Run.PriorStarts, s.Start = 1, 1
	if got := summary(s, "finished", 2); !strings.Contains(got, "  ablation     8 rounds: complete, before the restart\n") {
		t.Errorf("of a run that was restarted since:\n%s", got)
	}
	s.Compared = nil
	if got := summary(s, "finished", 2); strings.Contains(got, "ablation") {
		t.Errorf("of a run without one:\n%s", got)
	}
}

func TestAPausedRunHasNeitherRateNorTimeLeft(t *testing.T) {
	s := tuitest.Running()
	if got := Progress(s); !strings.Contains(got, "it/s") || !strings.Contains(got, "left ~") {
		t.Fatalf("a running run reads %q", got)
	}
	s.State = profiles.Paused
	if got := Progress(s); strings.Contains(got, "it/s") || strings.Contains(got, "left") || !strings.Contains(got, "paused · ") || !strings.Contains(got, "iter 4120") {
		t.Errorf("it reads %q", got)
	}
}

func TestTheRateIsTheWholeRunsOnceItEnded(t *testing.T) {
	s := tuitest.Running()
	s.Rate = 0
	if got := Progress(s); !strings.Contains(got, "· – it/s ·") {
		t.Errorf("a rate that is not known yet reads %q", got)
	}
	s = tuitest.Finished()
	s.Index, s.Elapsed = 300, 4*time.Second
	if got := Progress(s); !strings.Contains(got, "· 75.00 it/s ·") {
		t.Errorf("the rate of a finished run reads %q", got)
	}
}

func TestSummaryNeverCommandsTheTerminal(t *testing.T) {
	s := tuitest.Failed()
	s.Run.Object, s.Err, s.Memory.Reason = "a\x1b[2Jb", "c\x1b]0;d\a", "e\rf"
	if got := SummaryWithin(s, 0) + Progress(s); strings.ContainsAny(got, "\x1b\a\r") {
		t.Errorf("control characters: %q", got)
	}
}

// A path is not broken: it can be selected in one piece.
func TestAPathOfASummaryStaysWhole(t *testing.T) {
	s := tuitest.Finished()
	s.Recording.Path = "/home/ada/.local/state/prismtop/runs/" + strings.Repeat("deep/", 10) + "2026-11-27T09-55-57-moon.sqlite"
	if got := SummaryWithin(s, 80); !strings.Contains(got, "\n  recording    "+s.Recording.Path+"\n") {
		t.Error(got)
	}
	s.Recording.Err = "the disk of " + s.Recording.Path + " is full"
	if got := SummaryWithin(s, 80); !strings.Contains(got, "\n               "+s.Recording.Path+"\n               is full\n") {
		t.Error(got)
	}
}

// Lines of a summary that are wider than the terminal are broken at a word and indented.
func TestASummaryIsWrappedAtWords(t *testing.T) {
	s, long := tuitest.Finished(), tuitest.Finished()
	s.Alerts = []profiles.Alert{{What: "The measurement cache drops what is asked for again, and that takes longer than what it saves."}}
	long.Run.Object = strings.Repeat("longer-than-a-line-", 20)
	whole := SummaryWithin(s, 0)
	if SummaryWithin(s, 0) != whole || SummaryWithin(s, 1000) != whole {
		t.Error("a summary with room is not left as it is")
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	for _, width := range []int{40, 60, 80, 100} {
		text := SummaryWithin(s, width)
		for line := range strings.Lines(text + SummaryWithin(long, width)) {
			if w := chart.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("a line of %d cells of %d: %q", w, width, line)
			}
		}
		if words(text) != words(whole) {
			t.Errorf("within %d a word is cut:\n%s", width, text)
		}
	}
	if got, want := SummaryWithin(s, 72), "caches 21.0 MB,\n               peak RSS 240 MB\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := SummaryWithin(s, 80), "  notice       The measurement cache drops what is asked for again,\n               and that takes longer than what it saves.\n"; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A resumed run says where it goes on before its first iteration does.
// Before the first iteration there is nothing to say but that the run is prepared.
func TestProgressOfARunThatIsPrepared(t *testing.T) {
	if got := Progress(&profiles.Snapshot{State: profiles.Preparing, Unit: -1}); got != "preparing · 00:00:00" {
		t.Errorf("%q", got)
	}
}

func TestProgressOfAResumedRun(t *testing.T) {
	s := *tuitest.Running()
	s.Index, s.Kind, s.Run.Resumed = 0, 0, 412
	if got := Progress(&s); !strings.HasPrefix(got, "resumed after iter 412 · ") || strings.Contains(got, "iter 0") || strings.Contains(got, s.Stage()) {
		t.Errorf("%q", got)
	}
}

// A loop of somebody else's may not say how many units it will have.
func TestUnitsOfAnUnknownNumberAreCounted(t *testing.T) {
	s := tuitest.Running()
	s.Run.Units = 0
	if got := Progress(s); strings.Contains(got, "/0") || !strings.Contains(got, "sample 38 ·") {
		t.Errorf("progress: %q", got)
	}
	if got := SummaryWithin(s, 0); strings.Contains(got, "of 0") {
		t.Errorf("summary:\n%s", got)
	}
}
