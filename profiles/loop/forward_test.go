package loop_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"prismtop/profiles/loop"
	"prismtop/profiles/loop/looptest"
)

// A rank that another machine forwards has the same steps here, as often as it greets, and its end; nothing can be asked of the rank itself.
func TestRanksOfAnotherMachine(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	there, err := loop.MakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	writers := []*looptest.Writer{looptest.CreateRank(t, there, 0, 0, 2), looptest.CreateRank(t, there, 0, 1, 2)}
	stops := looptest.Ranks(writers, time.Millisecond, 0, 0)
	operator, err := loop.Open(writers[1].Path) // its own prismtop
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	if err := loop.Wait(t.Context().Done(), func() (bool, error) { g, err := operator.Greeting(); return g != nil, err }); err != nil {
		t.Fatal(err)
	}
	pipe, to := io.Pipe()
	forwarded, made := make(chan error, 1), make(chan error, 1)
	go func() {
		err := loop.Forward(t.Context(), to, 2, []int{1}, time.Minute)
		to.Close()
		forwarded <- err
	}()
	go func() { made <- loop.Mirror(pipe, here, []int{1}, os.Getpid()) }()
	var r *loop.Ring
	var g *loop.Greeting
	err = loop.Wait(t.Context().Done(), func() (bool, error) {
		if r == nil {
			for _, path := range loop.In(here) {
				if r, err = loop.Open(path); err != nil {
					return false, nil // still being made
				}
			}
		}
		if r != nil && g == nil {
			g, err = r.Greeting()
		}
		return g != nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Mirrors() || r.Rank != 1 || r.World != 2 || r.PID != os.Getpid() || !r.GoesOn() || g.Script != "train.py" || !operator.Operates() || operator.Mirrors() {
		t.Errorf("%+v, greets %+v", r, g)
	}
	steps := func(r *loop.Ring, n int) (all []loop.Record) {
		for rec := (loop.Record{}); len(all) < n; {
			if r.Next(&rec) {
				if rec.Kind == loop.Step {
					all = append(all, rec)
				}
				continue
			}
			select {
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			case <-time.After(time.Millisecond):
			}
		}
		return all
	}
	mine, theirs := steps(r, 300), steps(operator, 300)
	for i := range mine {
		if mine[i].Step != theirs[i].Step || mine[i].Total != theirs[i].Total || mine[i].Host != theirs[i].Host {
			t.Fatalf("step %d is %+v, and there %+v", i, mine[i], theirs[i])
		}
	}
	for i, stop := range stops {
		stop()
		writers[i].State(loop.Failed)
	}
	if err := <-forwarded; err != nil {
		t.Error(err)
	}
	if err := <-made; err != nil || r.State() != loop.Failed {
		t.Errorf("%v, state %d", err, r.State())
	}
}

// What is no message of a ring that is wanted makes no file, or no other than that ring.
func FuzzMirror(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add(append([]byte("\x01\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), make([]byte, 64)...))
	f.Fuzz(func(t *testing.T, sent []byte) {
		folder := t.TempDir()
		in, out := io.Pipe()
		go func() { _, _ = out.Write(sent); out.Close() }()
		_ = loop.Mirror(in, folder, []int{1}, os.Getpid())
		in.Close()
		made, _ := os.ReadDir(folder)
		if len(made) > 1 {
			t.Errorf("%d files", len(made))
		}
		for _, path := range loop.In(folder) {
			if r, err := loop.Open(path); err == nil {
				_, _ = r.Greeting()
				var rec loop.Record
				for range 10 {
					r.Next(&rec)
				}
				r.Close()
			}
		}
	})
}

// A machine that has no such rank says so.
func TestNoRankToForward(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if err := loop.Forward(context.Background(), io.Discard, 9973, []int{1}, 10*time.Millisecond); err == nil {
		t.Error("no error")
	}
}
