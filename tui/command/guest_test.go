package command

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"prismtop/tui/terminal"
)

// Between prismtop's own lines, what a program prints is passed on in whole lines, and progress bars in their last state.
func TestWhatAProgramPrintsIsPassedOnInWholeLines(t *testing.T) {
	var out strings.Builder
	w := wholeLines{to: &out}
	for _, printed := range []string{"one\ntw", "o\r\n", "\r 10 %|#   |", "\r 60 %|###|", "\r100 %|####|\n", "end"} {
		_, _ = w.Write([]byte(printed))
	}
	if want := "one\ntwo\r\n100 %|####|\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	w.flush()
	w.flush()
	if !strings.HasSuffix(out.String(), "|\nend\n") {
		t.Errorf("%q", out.String())
	}
	for range 100 {
		_, _ = w.Write([]byte(strings.Repeat("\r50 %", 1000)))
	}
	if len(w.line) > 2*longestLine {
		t.Errorf("%d bytes are kept of one line", len(w.line))
	}
}

// A program that takes its time to end is waited for by all who want its end: it is told at its limit, and again by a key.
func TestAllWaitForTheEndOfAProgram(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, err := startProgram("slow.sh", []string{"sh", "-c", "trap 'sleep 0.3; exit 0' INT; echo ready; while :; do sleep 0.02; done"},
		nil, nil, io.Discard, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	for p.output().Printed == 0 {
		time.Sleep(time.Millisecond)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if !p.end() || !p.hasEnded() {
				t.Error("it goes on")
			}
		})
	}
	all.Wait()
}

// A program that cannot be watched any more but trains on is not ended when its screen is left, or its run is over.
func TestAProgramThatIsLostTrainsOn(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	begun := filepath.Join(t.TempDir(), "go")
	p, err := startProgram("trains.sh", []string{"sh", "-c", "trap 'exit 1' INT; until test -e " + begun + "; do sleep 0.02; done; echo trained"},
		nil, nil, io.Discard, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	p.lost = true
	notes, written := io.Pipe()
	cmd := &cobra.Command{}
	cmd.SetErr(written)
	cmd.SetContext(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- (&pythonFlags{}).conclude(cmd, p, errors.New("it was lost")) }()
	if line, err := bufio.NewReader(notes).ReadString('\n'); err != nil || !strings.Contains(line, "trains.sh is not watched any more and goes on") {
		t.Errorf("%q, %v", line, err)
	}
	if err := os.WriteFile(begun, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || err.Error() != "it was lost" || p.failure != nil || !slices.Contains(p.output().Lines, "trained") {
		t.Errorf("%v; the program: %v, printed %q", err, p.failure, p.output().Lines)
	}
}

// Without --stdin a program has an empty standard input, and not none at all.
func TestStandardInputIsEmpty(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, err := startProgram("reads.sh", []string{"sh", "-c", "cat && echo it is empty"}, nil, nil, io.Discard, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	<-p.drained
	if lines := p.output().Lines; p.status != 0 || !slices.Contains(lines, "it is empty") {
		t.Errorf("status %d, printed %q", p.status, lines)
	}
}

// A program that was told to end says its farewell, but not that it was interrupted.
func TestAnInterruptedProgramEndsQuietly(t *testing.T) {
	const (
		trace     = tracebackBegins + "\n  File \"train.py\", line 48, in <module>\n    step()\n"
		interrupt = trace + "KeyboardInterrupt\n"
		full      = trace + "OSError: full\n"
		during    = "\nDuring handling of the above exception, another exception occurred:\n\n"
	)
	of := func(rank, text string) string {
		return rank + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+rank) + "\n"
	}
	interleaved := ""
	for i, line := range strings.SplitAfter(of("[rank0]: ", interrupt), "\n") {
		interleaved += line + strings.SplitAfter(of("[rank1]: ", interrupt), "\n")[i]
	}
	for _, tt := range []struct{ name, printed, want string }{
		{"an interrupt", "saved\n" + interrupt, "saved\n"},
		{"with its message", trace + "KeyboardInterrupt: stop\n", ""},
		{"another exception", full, full},
		{"another exception after it", interrupt + during + full, interrupt + during + full},
		{"an interrupt of a handler", full + during + interrupt, ""},
		{"what is printed after it", interrupt + "saved\n" + full, "saved\n" + full},
		{"several ranks", interleaved + "saved\n", "saved\n"},
		{"one of several ranks failed", of("[rank0]: ", interrupt) + of("[rank1]: ", full), of("[rank1]: ", full)},
		{"a launcher", trace + "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 2\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newGuest("train.py", "")
			var out strings.Builder
			p.echo, p.written = &out, time.Now()
			p.take([]byte("before\n" + interrupt))
			before := out.String()
			p.ended = true
			for _, part := range strings.SplitAfter(tt.printed, "\n") {
				p.take([]byte(part))
			}
			p.release()
			if got := strings.TrimPrefix(out.String(), before); got != tt.want || !strings.HasPrefix(before, "before\nTrace") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// The memory of a program that ends is that read last, also while its process is still there.
func TestTheMemoryOfAProgramIsKeptAtItsEnd(t *testing.T) {
	rss, peak, reason := int64(0), int64(0), "not there yet"
	of := remembered(func() (int64, int64, string) { return rss, peak, reason })
	if _, _, why := of(); why != reason {
		t.Errorf("before it began: %q", why)
	}
	rss, peak, reason = 3e6, 5e6, ""
	of()
	rss, peak, reason = 0, 0, "/proc/1/status lacks VmRSS and VmHWM"
	if now, most, why := of(); now != 3e6 || most != 5e6 || why != "" {
		t.Errorf("%d of %d bytes, %q", now, most, why)
	}
}

// A program whose run cannot begin, as for a knob that it does not have, is ended, unless it ran before.
func TestAProgramThatRanBeforeIsNotEndedByARefusal(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	terminal.NewSession(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := newGuest("train.py", "")
	p.pid, p.found = cmd.Process.Pid, true
	go func() {
		_ = cmd.Wait()
		close(p.over)
	}()
	if p.refuse(); p.ended {
		t.Error("it was told to end")
	}
	p.found = false
	if p.refuse(); !p.hasEnded() {
		t.Error("one that prismtop started goes on")
	}
}
