//go:build unix

package builds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// helper is the environment variable that makes this program one of the builds. What it does depends on
// the name by which it is called.
const helper = "PRISMTOP_TEST_BUILD"

func TestMain(m *testing.M) {
	if os.Getenv(helper) != "" {
		os.Exit(build(filepath.Base(os.Args[0]), os.Args[1:]))
	}
	os.Exit(m.Run())
}

var table = settings.NewTable("test", nil, settings.Switch("", "fast", ""))

// build is a prismtop that records iterations of a made-up length, so that the verdicts do not depend
// on the machine: those of "slow" have a second phase that takes 5 % longer. "quits" ends by itself,
// "forgets" records nothing.
func build(name string, args []string) int {
	if slices.Contains(args, "--version") {
		fmt.Println("prismtop version test")
		return 0
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt)
	pid := filepath.Join(filepath.Dir(os.Args[0]), name+".pid")
	if err := os.WriteFile(pid, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return 1
	}
	if name == "forgets" {
		<-asked
		return 130
	}
	path := args[slices.Index(args, "--record")+1]
	r := recording.New(recording.Options{Path: path, Fingerprint: recording.Fingerprint{Version: "test"}})
	schema := profiles.Schema{Workload: "test", Stages: []string{"all"}, Kinds: []profiles.KindInfo{{Name: "steps"}},
		Phases: []profiles.PhaseInfo{{Name: "first"}, {Name: "second"}, {Name: "third"}}}
	began := time.Now()
	r.Event(&profiles.Event{At: began, Body: &profiles.Begin{Info: profiles.RunInfo{Schema: schema}, Settings: table.Zero()}})
	r.Event(&profiles.Event{At: began, Body: &profiles.StateChange{State: profiles.Running}})
	noise := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for i := int64(0); ; i++ {
		it := profiles.Iteration{Index: i, Start: int64(time.Since(began)), Series: profiles.NoValues()}
		for p := range schema.Phases {
			ns := 100_000 * (1 + 0.01*noise.NormFloat64())
			if name == "slow" && p == 1 {
				ns *= 1.05
			}
			it.Phases[p] = int64(ns)
			it.Total += int64(ns)
		}
		time.Sleep(time.Millisecond)
		r.Event(&profiles.Event{Body: &it})
		if i%50 == 49 {
			r.Tick(time.Now(), &profiles.Snapshot{Index: i + 1, State: profiles.Running})
		}
		if name == "quits" && i == 200 {
			fmt.Fprintln(os.Stderr, "prismtop: the threshold was reached")
			return 1
		}
		select {
		case <-asked:
			r.Tick(time.Now(), &profiles.Snapshot{Index: i + 1, State: profiles.Stopped})
			if err := r.Close(context.Background()); err != nil {
				return 1
			}
			return 130
		default:
		}
	}
}

// programs makes two builds of the given names, and their options.
func programs(t *testing.T, old, new string) Options {
	t.Helper()
	t.Setenv(helper, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Rounds: 20, Starts: 1, Turn: 30 * time.Millisecond, Seed: 5, Tables: func(string) *settings.Table { return table }, Within: 20 * time.Second}
	for side, name := range []string{old, new} {
		o.Programs[side].Path = filepath.Join(t.TempDir(), name)
		if err := os.Symlink(self, o.Programs[side].Path); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// gone checks that no program of a comparison is left.
func gone(t *testing.T, o Options) {
	t.Helper()
	for i := range o.Programs {
		path := o.Programs[i].Path
		text, err := os.ReadFile(path + ".pid")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		pid, _ := strconv.Atoi(string(text))
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s is left behind: %v", path, err)
		}
	}
}

func TestASlowerBuildIsFound(t *testing.T) {
	for _, c := range []struct {
		old, new string
		starts   int
		want     map[string]compare.Verdict
	}{
		{"old", "slow", 4, map[string]compare.Verdict{"second_ms": compare.Slower, "first_ms": compare.Equal, "third_ms": compare.Equal}},
		{"slow", "new", 1, map[string]compare.Verdict{"second_ms": compare.Faster, "first_ms": compare.Equal}},
		{"old", "new", 1, map[string]compare.Verdict{"first_ms": compare.Equal, "second_ms": compare.Equal, "third_ms": compare.Equal}},
	} {
		o := programs(t, c.old, c.new)
		o.Starts = c.starts
		got, err := Compare(context.Background(), o)
		if err != nil {
			t.Fatalf("%s and %s: %v", c.old, c.new, err)
		}
		for i := range got.Rows {
			r := &got.Rows[i]
			if want, ok := c.want[r.Name]; ok && r.Against[0].Verdict != want {
				t.Errorf("%s and %s: %s is %s: %+v", c.old, c.new, r.Name, r.Words(0), r.Against[0])
			}
		}
		if got.Design != compare.Alternating || got.Sides[0].Name != c.old || got.Sides[1].Name != c.new || len(got.Common) > 0 {
			t.Errorf("%v, %+v", got.Design, got.Sides)
		}
		gone(t, o)
	}
}

func TestWhatCannotBeComparedSaysWhy(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\necho hello\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(o *Options)
		want   string
	}{
		{"quits", func(o *Options) { o.Rounds = 1000 }, "quits: exit status 1: prismtop: the threshold was reached"},
		{"forgets", func(o *Options) { o.Within = 300 * time.Millisecond }, "it must be able to record runs"},
		{"new", func(o *Options) { o.Programs[1].Path = text }, "is no prismtop: --version prints \"hello"},
		{"new", func(o *Options) { o.Programs[1].Path = plain }, "must be a prismtop that runs on this machine"},
		{"new", func(o *Options) { o.Programs[0].Path = "none-of-that-name" }, "no such program"},
		{"new", func(o *Options) { o.Turn = time.Millisecond }, "make the turns longer"},
	} {
		o := programs(t, "old", c.name)
		c.change(&o)
		if _, err := Compare(context.Background(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		gone(t, o)
	}
}

// A turn has eight of the longer iterations, and the turns fill the time that all may take together.
func TestTheChoiceOfTurnsAndRounds(t *testing.T) {
	for _, c := range []struct {
		iteration, time, turn time.Duration
		rounds                int
	}{
		{14 * time.Millisecond, time.Minute, 112 * time.Millisecond, 133},
		{time.Millisecond, time.Minute, shortestTurn, 150},
		{time.Second, time.Minute, 8 * time.Second, 3 * 8}, // more than a minute: each start has three rounds
		{time.Hour, time.Minute, longestTurn, 3 * 8},
	} {
		o := comparing{Options: Options{Time: c.time, Starts: 8}}
		if o.settle(c.iteration); o.Turn != c.turn || o.Rounds != c.rounds {
			t.Errorf("iterations of %s: %d rounds with turns of %s, want %d with %s",
				c.iteration, o.Rounds, o.Turn, c.rounds, c.turn)
		}
	}
}

// A start whose rounds are not whole is made up for by another one with longer turns, as many times as there are starts;
// a length of turns that was asked for stays.
func TestStartsWithTooShortTurnsAreMadeUpFor(t *testing.T) {
	for _, c := range []struct{ more, starts, rounds int }{{0, 4, 12}, {1, 5, 15}, {4, 6, 18}} {
		said := 12
		o := comparing{Options: Options{Starts: 4, Rounds: 12, Turn: shortestTurn, Added: func(all int, _ time.Duration) { said = all }}, more: c.more}
		for range 2 {
			o.turns.Start(make([]compare.Quartet, 3)) // in which nothing was recorded
			o.makeUp(3)
		}
		want := shortestTurn << (c.starts - 4)
		if o.Starts != c.starts || o.Rounds != c.rounds || o.Turn != want || said != c.rounds {
			t.Errorf("%d may be added: %d starts with %d rounds of turns of %s, want %d, %d and %s", c.more, o.Starts, o.Rounds,
				o.Turn, c.starts, c.rounds, want)
		}
	}
}

// However it ends, no program is left behind, and no file. The rounds that are over are compared.
func TestAnInterruptedComparisonLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	o := programs(t, "old", "new")
	ctx, stop := context.WithCancel(context.Background())
	o.Rounds, o.Turn, o.Progress = 1000, 100*time.Millisecond, func(done, _ int) {
		if done == 6 {
			stop()
		}
	}
	if c, err := Compare(ctx, o); !errors.Is(err, context.Canceled) || c == nil || len(c.Rows) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	gone(t, o)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "prismtop-builds-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
}
