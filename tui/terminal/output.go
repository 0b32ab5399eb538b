package terminal

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// Output writes to the terminal. Write never blocks: a separate goroutine writes, so that a
// terminal that stops reading delays neither the keys nor the end of the program. It counts the
// bytes written.
//
// Callers draw no frame while the output is Busy, so that only a frame or two is pending; beyond
// maxPending, pending output is discarded and the screen is redrawn once the terminal reads
// again.
type Output struct {
	w io.Writer

	mu       sync.Mutex
	wake     *sync.Cond
	pending  []byte
	flying   bool      // a write is in progress
	since    time.Time // when it started
	bytes    int64
	drawn    int64 // frames that changed the screen
	screen   Wire
	open     bool   // the alternate screen is open
	lost     bool   // output was discarded
	farewell string // precedes the sequence that leaves the alternate screen
	taken    bool   // only Last writes
	err      error
	closed   bool
}

// maxPending is the maximum number of bytes pending for a terminal that does not read.
const maxPending = 1 << 20

// patience is the duration of a write after which the terminal counts as busy.
const patience = 100 * time.Millisecond

// NewOutput returns an output to w.
func NewOutput(w io.Writer) *Output {
	o := &Output{w: w}
	o.wake = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Write queues p. It returns at once and fails only after the terminal has failed.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	if o.taken {
		return len(p), nil
	}
	if len(o.pending)+len(p) > maxPending {
		o.lost = true
		return len(p), nil
	}
	o.append(p)
	o.follow(p)
	return len(p), nil
}

// follow redraws the screen after Bubble Tea opened or cleared it, which it does at its own time,
// and notes when Bubble Tea left it.
func (o *Output) follow(p []byte) {
	switch {
	case bytes.Contains(p, []byte(ansi.ResetModeAltScreenSaveCursor)):
		o.open = false
	case bytes.Contains(p, []byte(ansi.SetModeAltScreenSaveCursor)):
		o.open = true
		o.append(o.screen.repaint())
	case o.open && (bytes.Contains(p, []byte("\x1b[2J")) || bytes.Contains(p, []byte("\x1b[J")) ||
		bytes.Contains(p, []byte("\x1b[K"))):
		o.append(o.screen.repaint())
	}
}

// Frame shows a frame in a theme, writing only the differences.
func (o *Output) Frame(frame *chart.Canvas, t *theme.Theme) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.taken {
		return
	}
	p := o.screen.Frame(frame, t)
	switch {
	case len(p) == 0 || !o.open:
	case len(o.pending)+len(p) > maxPending:
		o.lost = true
	default:
		o.append(p)
		o.drawn++
	}
}

// Synchronize records that the terminal supports synchronized output.
func (o *Output) Synchronize() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.screen.Synchronize()
}

// TrustPlaces sets whether the terminal is known to support placeholders of pictures.
func (o *Output) TrustPlaces(sure bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.screen.places = sure
}

// SetFarewell sets the text sent before the sequence that leaves the alternate screen, whoever
// writes that and when: the terminal must delete its pictures while their screen is still
// active.
func (o *Output) SetFarewell(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.farewell = text
}

// append adds to the pending output, with the farewell inserted where needed.
func (o *Output) append(p []byte) {
	if o.farewell != "" {
		if at := bytes.Index(p, []byte(ansi.ResetModeAltScreenSaveCursor)); at >= 0 {
			o.pending = append(append(o.pending, p[:at]...), o.farewell...)
			p, o.farewell = p[at:], ""
		}
	}
	o.pending = append(o.pending, p...)
	o.wake.Broadcast()
}

// Seize discards pending output and all later writes: the screen's program did not end, and must
// not draw over the final output.
func (o *Output) Seize() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken, o.pending = true, o.pending[:0]
}

// Last queues text to be written after the screen's program, whether it ended or not.
func (o *Output) Last(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.append([]byte(text))
}

// Held returns an output with the screen already open that writes nothing by itself: the caller
// fetches pending output with Collect. It lets tests proceed step by step.
func Held() *Output {
	o := &Output{open: true}
	o.wake = sync.NewCond(&o.mu)
	return o
}

// Collect returns and clears the pending output of a Held output, as if the terminal had read
// it.
func (o *Output) Collect() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.pending
	o.pending = nil
	o.bytes += int64(len(p))
	return p
}

// Waiting returns the number of bytes pending for the terminal.
func (o *Output) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending)
}

// Lose makes Recovered report that the screen is to be redrawn: others may have drawn over it.
func (o *Output) Lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = true
}

// Lost reports whether output was discarded and not yet reported by Recovered.
func (o *Output) Lost() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// run writes pending output until the output is closed and drained.
func (o *Output) run() {
	var spare []byte
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.pending) == 0 && !o.closed {
			o.wake.Wait()
		}
		if len(o.pending) == 0 || o.err != nil {
			return
		}
		batch := o.pending
		o.pending = spare[:0]
		o.flying, o.since = true, time.Now()
		o.mu.Unlock()
		n, err := o.w.Write(batch)
		o.mu.Lock()
		o.flying = false
		o.bytes += int64(n)
		if err != nil && o.err == nil {
			o.err = err
		}
		spare = batch
		o.wake.Broadcast()
	}
}

// rescueLimit is the time allowed for the current write to stop, and then for writing the rescue
// text.
const rescueLimit = 100 * time.Millisecond

// rescue leaves text for a terminal that did not take everything before close. flush discards
// unread output to make room for text, which the terminal finds when it reads again. rescue
// reports whether there was room.
func (o *Output) rescue(text string, flush func()) bool {
	w, ok := o.w.(interface{ SetWriteDeadline(time.Time) error })
	if !ok || w.SetWriteDeadline(time.Now()) != nil {
		return false
	}
	for end := time.Now().Add(rescueLimit); o.writing() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if o.writing() {
		return false
	}
	flush()
	_ = w.SetWriteDeadline(time.Now().Add(rescueLimit))
	_, err := io.WriteString(o.w, text)
	return err == nil
}

// writing reports whether a write is in progress.
func (o *Output) writing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flying
}

// Busy reports whether the terminal is behind, so that a frame drawn now would only wait.
func (o *Output) Busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flying && time.Since(o.since) > patience || len(o.pending) > maxPending/8
}

// Shown reports whether the alternate screen is open.
func (o *Output) Shown() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

// Written returns the number of bytes that the terminal has taken.
func (o *Output) Written() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// Frames returns the number of frames sent.
func (o *Output) Frames() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drawn
}

// Failed reports whether the terminal has failed.
func (o *Output) Failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// Recovered reports, once, that the terminal reads again after output was discarded.
func (o *Output) Recovered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.lost || o.flying || len(o.pending) > 0 {
		return false
	}
	o.lost = false
	return true
}

// Drain waits up to limit until the terminal has taken everything.
func (o *Output) Drain(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		o.mu.Lock()
		done := o.err != nil || !o.flying && len(o.pending) == 0
		o.mu.Unlock()
		if done {
			return
		}
	}
}

// Close waits up to limit for the terminal to take the rest, and reports whether it did. A stuck
// write is abandoned.
func (o *Output) Close(limit time.Duration) bool {
	timer := time.AfterFunc(limit, func() {
		o.mu.Lock()
		o.err = os.ErrDeadlineExceeded
		o.wake.Broadcast()
		o.mu.Unlock()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && (o.flying || len(o.pending) > 0) {
		o.wake.Wait()
	}
	o.closed = true
	o.wake.Broadcast()
	return o.err == nil
}
