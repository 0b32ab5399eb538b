package lines

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/tui/control"
	"prismtop/tui/ptytest"
	"prismtop/tui/tuitest"
)

func TestLinesCarryOutWhatIsTyped(t *testing.T) {
	r, out := tuitest.NewRecorder(), &tuitest.Transcript{}
	in, keyboard := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := Watch(context.Background(), in, out, r, Options{Cores: 2}, time.Hour)
		ended <- err
	}()
	say := func(text string, answers ...string) {
		t.Helper()
		if _, err := io.WriteString(keyboard, text+"\n"); err != nil {
			t.Fatal(err)
		}
		for _, want := range answers {
			ptytest.Eventually(t, text+" → "+want, func() bool { return strings.Contains(out.String(), want) })
		}
	}
	say("status", "the run has not begun")
	r.Feed <- tuitest.Running()
	say("help", "NAME=VALUE")
	ptytest.Eventually(t, "the effect", func() bool {
		return strings.Contains(out.String(), "effect: AMP off to bf16: iteration time −22.9 %")
	})
	say("status", "sample 38/100")
	say("summary", "iteration        7.06")
	say("settings", "learning_rate = 0.001", "amp = bf16 (")
	say("amp = off", "amp = off from the next iteration on")
	say("radius = 24", "radius = 24 for the next run: restart begins it")
	say("settings", "from the next iteration on:", "from the next start on, which restart makes:", "radius = 0 (")
	say("image=europa.png", "image = europa.png for the next run")
	r.Change(func() { r.Wrong = errors.New("picture none.png: no such file") })
	say("image=none.png", "not changed: picture none.png: no such file")
	say("pause")
	say("go")
	say("step")
	say("save")
	say("checkpoint")
	say("clear")
	say("Note loss = flat")
	say("export", "export csv: ")
	say("export csv", "exporting csv", "exported run.csv")
	say("restart")
	say("dance", `"dance": not a command`)
	r.Change(func() { r.Refuse = errors.New("this CPU has no fp16") })
	say("amp=fp16", "not changed: this CPU has no fp16")
	say("set amp=fp16", "not changed: this CPU has no fp16")
	say("restart", "not restarted: this CPU has no fp16")
	say("note x", "no note: this CPU has no fp16")
	say("quit")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []string{"Set amp off", "Set radius 24", "Check image europa.png", "Set image europa.png", "Check image none.png", "Pause", "Resume", "Step", "Save", "Checkpoint", "Clear", "Annotate loss = flat", "Export csv", "Restart", "Set amp fp16", "Set amp fp16", "Restart", "Annotate x", "Stop"}
	if got := r.Called(); !slices.Equal(got, want) {
		t.Errorf("the run was asked %q, want %q", got, want)
	}
	if text := out.String(); strings.ContainsAny(text, "\r\x1b") {
		t.Errorf("a line is rewritten or coloured: %q", text)
	}
}

// A setting that waits for the next start is listed with both values, even after the run's end;
// all others have one. Below its values are those that the machine lacks.
func TestLinesListWhatIsInForceAndWhatWaits(t *testing.T) {
	for name, s := range map[string]*profiles.Snapshot{"running": tuitest.Running(), "finished": tuitest.Finished()} {
		out := &tuitest.Transcript{}
		l := lines{out: out, source: tuitest.NewRecorder(), told: map[int64]told{}}
		tuitest.Set(s, "radius", "88")
		tuitest.Set(s, "device", "auto")
		next := tuitest.Having(s.Settings, "radius", "90")
		s.Next = &next
		l.snap = s
		l.settings()
		if text := out.String(); !strings.Contains(text, "  radius = 88, next start 90 (") || strings.Count(text, "next start") != 2 {
			t.Errorf("%s: the settings are listed as\n%s", name, text)
		}
		for _, want := range []string{"tf32)\n    not tf32: not available on a CPU\n", "\n    not cuda, cuda:1, cuda:2, cuda:3, cuda:4, cuda:5, cuda:6, cuda:7: libcuda.so.1 not found\n"} {
			if text := out.String(); strings.Count(text, want) != 1 {
				t.Errorf("%s: what the machine lacks is listed as\n%s", name, text)
			}
		}
	}
}

// A change that ends a comparison says so; one that makes no difference to it ends nothing.
func TestAChangeSaysWhatItEnds(t *testing.T) {
	out := &tuitest.Transcript{}
	s := tuitest.Running()
	s.Ablation = &profiles.Ablation{Running: true, Groups: 96, Base: s.Settings}
	l := lines{out: out, source: tuitest.NewRecorder(), told: map[int64]told{}, snap: s}
	for value, want := range map[string]string{s.Ablation.Base.Get("amp"): "next iteration on\n", "fp16": "next iteration on; ablation ended\n"} {
		out.Reset()
		if l.set("amp", value); !strings.HasSuffix(out.String(), want) {
			t.Errorf("amp = %s: %q, want %q at its end", value, out.String(), want)
		}
	}
}

// An effect that is not comparable is printed as such once, and again with its number if it
// becomes comparable; at the end of the run, effects with too few iterations are printed.
func TestLinesTellWhatCannotBeCompared(t *testing.T) {
	out := &tuitest.Transcript{}
	l := lines{out: out, source: tuitest.NewRecorder(), options: Options{Cores: 2}, told: map[int64]told{}}
	told := func(want ...string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "effect: ") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		out.Reset()
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	s := tuitest.IncomparableRun()
	s.Effects = s.Effects[1:3]
	l.take(s)
	l.take(s)
	told("effect: threads 2 to 1: before 7.02 ms, after 5.41 ms, not comparable: others took 50 % of the processors; sample advanced 9 → 10",
		"effect: lr 1.0e-03 to 5.0e-04 + AMP bf16 to off: before 7.02 ms, after 5.41 ms, not comparable: sample advanced 19 → 20")
	quiet := *s
	quiet.Effects = slices.Clone(s.Effects)
	quiet.Effects[0].Confounded = ""
	l.take(&quiet)
	told("effect: threads 2 to 1: iteration time −22.9 %, interval −24.1 to −21.8 %, 7.02 → 5.41 ms · PSNR +0.12 dB meanwhile · n 200")
	over := tuitest.Finished()
	over.Effects = over.Effects[2:]
	l.take(over)
	told("effect: mask cache on to off: not comparable: the run ended first; 400 iterations before and 62 after")
	again := tuitest.Finished()
	again.Run.PriorStarts, again.Effects = 1, again.Effects[1:2]
	again.Effects[0].Iteration = over.Effects[0].Iteration
	l.take(again)
	told("effect: AMP off to bf16: iteration time −22.9 %, interval −24.0 to −22.0 %, 7.00 → 5.40 ms · PSNR unchanged · n 412")
}

func TestLinesWithoutInputEndWithTheRun(t *testing.T) {
	r := tuitest.NewRecorder() // its snapshots stay open, as those of a run that has not exited yet
	ended := make(chan error, 1)
	go func() {
		_, err := Watch(context.Background(), strings.NewReader("status\n"), io.Discard, r, Options{}, time.Hour)
		ended <- err
	}()
	r.Feed <- tuitest.Running()
	r.Feed <- tuitest.Finished()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("nobody can type, the run is over, and it goes on")
	}
}

// Commands that come while the run is prepared are carried out, in their order, when it has begun.
func TestCommandsWaitForTheRun(t *testing.T) {
	r, out := tuitest.NewRecorder(), &tuitest.Transcript{}
	preparing := tuitest.Running()
	preparing.State = profiles.Preparing
	r.Feed <- preparing
	ended := make(chan error, 1)
	go func() {
		_, err := Watch(context.Background(), strings.NewReader("pause\ncheckpoint\nquit\n"), out, r, Options{}, time.Hour)
		ended <- err
	}()
	ptytest.Eventually(t, "all commands", func() bool { return strings.Contains(out.String(), "quit: waits until the run has begun") })
	if got := r.Called(); len(got) > 0 {
		t.Errorf("before the run began it was asked %q", got)
	}
	r.Feed <- tuitest.Running()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("quit was not obeyed")
	}
	if got := r.Called(); !slices.Equal(got, []string{"Pause", "Checkpoint", "Stop"}) {
		t.Errorf("the run was asked %q", got)
	}
}

// A line that is too long is reported, and the following commands still work.
func TestALineThatIsTooLongIsSkipped(t *testing.T) {
	r, out := tuitest.NewRecorder(), &tuitest.Transcript{}
	r.Feed <- tuitest.Running()
	in := strings.NewReader(strings.Repeat("x", 100_000) + "\npause\n" + strings.Repeat("y", maxTyped+1) + "\nquit")
	ended := make(chan error, 1)
	go func() {
		_, err := Watch(context.Background(), in, out, r, Options{}, time.Hour)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("quit was not obeyed")
	}
	if got := r.Called(); !slices.Equal(got, []string{"Pause", "Stop"}) {
		t.Errorf("the run was asked %q", got)
	}
	if got := strings.Count(out.String(), "more than 4096 bytes"); got != 2 {
		t.Errorf("%d of 2 lines were told:\n%s", got, out)
	}
}

// A run limited by its settings ends the session even if input is open; one that ends by itself
// does not.
func TestLinesEndWithALimitedRun(t *testing.T) {
	for _, limit := range []func(*profiles.Snapshot){
		func(s *profiles.Snapshot) { tuitest.Set(s, "max_seconds", "4") },
		func(s *profiles.Snapshot) { tuitest.Set(s, "max_iterations", "9") },
		func(s *profiles.Snapshot) { tuitest.Set(s, "max_samples", "2") },
		func(*profiles.Snapshot) {},
	} {
		r, out := tuitest.NewRecorder(), &tuitest.Transcript{}
		in, keyboard := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if _, err := Watch(context.Background(), in, out, r, Options{}, time.Hour); err != nil {
				t.Error(err)
			}
		}()
		over := tuitest.Finished()
		limit(over)
		r.Feed <- over
		if !limited(over) {
			ptytest.Eventually(t, "that commands still work", func() bool { return strings.Contains(out.String(), "restart still work") })
			if _, err := io.WriteString(keyboard, "quit\n"); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("the lines go on after\n%s", out)
		}
		_ = keyboard.Close()
	}
}

func TestLinesEndWithTheRunAndWithTheContext(t *testing.T) {
	r := tuitest.NewRecorder()
	r.Feed <- tuitest.Finished()
	close(r.Feed)
	s, err := Watch(context.Background(), strings.NewReader(""), io.Discard, r, Options{ASCII: true}, time.Hour)
	if err != nil || s == nil || s.State != profiles.Finished {
		t.Error(s, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Watch(ctx, strings.NewReader(""), io.Discard, tuitest.NewRecorder(), Options{}, time.Hour); !errors.Is(err, control.ErrInterrupted) {
		t.Error(err)
	}
}
