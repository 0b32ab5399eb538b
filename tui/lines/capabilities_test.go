package lines

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

// The line mode offers only what the run supports.
func TestLinesOfASourceThatCanOnlyBeWatched(t *testing.T) {
	source, in := make(tuitest.Spectacle), &bytes.Buffer{}
	out := &tuitest.Transcript{}
	for _, command := range []string{"help", "pause", "step", "save", "checkpoint", "clear", "restart", "amp=off", "settings", "status", "quit"} {
		in.WriteString(command + "\n")
	}
	reader, typed := io.Pipe()
	go func() {
		source <- tuitest.Running()
		_, _ = typed.Write(in.Bytes())
	}()
	if _, err := Watch(context.Background(), reader, out, source, Options{Cores: 2}, time.Hour); err != nil {
		t.Fatal(err)
	}
	text := ansi.Strip(out.String())
	for _, want := range []string{"quit: stop watching", "this run cannot be paused from here", "this run cannot be saved from here", "this run cannot be written to a checkpoint from here", "this run cannot be restarted from here", "this run has no caches that can be cleared from here",
		"not changed: the settings of this run cannot be changed from here", "amp = bf16 ("} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	for _, not := range []string{"NAME=VALUE", "pause, go", "  save:", "  restart:"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is offered:\n%s", not, text)
		}
	}
}

// able is a run that carries out commands that line mode has no texts for.
type able struct{ *tuitest.Recorder }

func (able) Able(*profiles.Snapshot) profiles.Kinds {
	return profiles.Kinds{profiles.ExportCommand, "dance"}
}

// A command without texts of its own is a word, with the sentence of its key if it has one; one that the run is not
// able to do is none.
func TestEveryCommandIsAWord(t *testing.T) {
	out, run := &tuitest.Transcript{}, able{tuitest.NewRecorder()}
	l := lines{out: out, source: run, snap: tuitest.Running()}
	for _, typed := range []string{"help", "dance", "waltz", "dance twice", "save"} {
		l.obey(typed)
	}
	text := out.String()
	for _, want := range []string{"\n  dance\n", "\n  export: ", "\"waltz\": not a command", "\"dance twice\": not a command", "this run cannot be saved from here"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if called := run.Called(); len(called) != 1 {
		t.Errorf("asked for %q", called)
	}
}

// lasting is a run that cannot be restarted.
type lasting struct{ *tuitest.Recorder }

func (lasting) Able(s *profiles.Snapshot) profiles.Kinds {
	return s.Able().Without(profiles.RestartCommand)
}

func TestARunWithoutARestartPromisesNone(t *testing.T) {
	out := &tuitest.Transcript{}
	l := lines{out: out, source: lasting{tuitest.NewRecorder()}, snap: tuitest.Running()}
	for _, typed := range []string{"help", "settings"} {
		l.obey(typed)
	}
	text := out.String()
	if !strings.Contains(text, "which cannot change in this run:") || strings.Contains(text, "next run") || strings.Contains(text, "next start") {
		t.Errorf("a next run is promised:\n%s", text)
	}
}
