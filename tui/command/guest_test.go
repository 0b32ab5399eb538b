package command

import (
	"strings"
	"testing"
	"time"
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

// A program that was told to end says its farewell, but not that it was interrupted.
func TestAnInterruptedProgramEndsQuietly(t *testing.T) {
	const trace = tracebackBegins + "\n  File \"train.py\", line 48, in <module>\n"
	for _, tt := range []struct{ name, printed, want string }{
		{"an interrupt", "saved\n" + trace + interruptError + "\n", "saved\n"},
		{"with its message", trace + interruptError + ": stop\n", ""},
		{"another exception", trace + interruptError + "\n\nDuring handling\n" + trace + "OSError: full\n", trace + interruptError + "\n\nDuring handling\n" + trace + "OSError: full\n"},
		{"a traceback that it printed itself", trace + interruptError + "\nsaved\n", trace + interruptError + "\nsaved\n"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newGuest("train.py", "")
			var out strings.Builder
			p.echo, p.written = &out, time.Now()
			p.take([]byte("before\n" + trace + interruptError + "\n"))
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
