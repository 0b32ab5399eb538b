package terminal

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Output is the way to the terminal. Write never blocks: a goroutine of its own
// writes, so that a terminal that stops reading holds up neither the keys nor
// the end of the program. It counts what was written.
//
// Its caller draws no frame while the output is Busy, so what waits here is a frame or
// two; beyond maxPending it is thrown away, and the screen is drawn anew once the
// terminal reads again.
type Output struct {
	w io.Writer

	mu       sync.Mutex
	wake     *sync.Cond
	pending  []byte
	flying   bool      // a write is under way
	since    time.Time // when it began
	bytes    int64
	drawn    int64 // frames that said something
	screen   Wire
	open     bool   // the alternate screen is there
	lost     bool   // something was thrown away
	farewell string // goes before what leaves the alternate screen
	taken    bool   // only last writes
	err      error
	closed   bool
}

// maxPending bounds what waits for a terminal that does not read.
const maxPending = 1 << 20

// patience is how long a write may take before the terminal counts as busy.
const patience = 100 * time.Millisecond

// NewOutput is an output to w.
func NewOutput(w io.Writer) *Output {
	o := &Output{w: w}
	o.wake = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Write takes p for writing. It returns at once and fails only after the
// terminal failed.
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

// follow brings the frame back where Bubble Tea opened, left or cleared the
// screen, which it does on its own time.
func (o *Output) follow(p []byte) {
	switch {
	case bytes.Contains(p, []byte(ansi.ResetModeAltScreenSaveCursor)):
		o.open = false
	case bytes.Contains(p, []byte(ansi.SetModeAltScreenSaveCursor)):
		o.open = true
		o.append(o.screen.repaint())
	case o.open && (bytes.Contains(p, []byte("\x1b[2J")) || bytes.Contains(p, []byte("\x1b[J")) || bytes.Contains(p, []byte("\x1b[K"))):
		o.append(o.screen.repaint())
	}
}

// Frame shows rows of w cells on a screen of h rows: what differs is written.
func (o *Output) Frame(rows []string, w, h int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.taken {
		return
	}
	p := o.screen.Frame(rows, w, h)
	switch {
	case len(p) == 0 || !o.open:
	case len(o.pending)+len(p) > maxPending:
		o.lost = true
	default:
		o.append(p)
		o.drawn++
	}
}

// Synchronize says that the terminal takes a frame as one.
func (o *Output) Synchronize() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.screen.Synchronize()
}

// TrustPlaces says whether the terminal is sure to know the places of pictures.
func (o *Output) TrustPlaces(sure bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.screen.places = sure
}

// SetFarewell says what goes before the sequence that leaves the alternate
// screen, whoever writes that and when: the terminal is told to forget its
// pictures while it still has their screen.
func (o *Output) SetFarewell(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.farewell = text
}

// append adds to what waits, with the farewell where it belongs.
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

// Seize throws away what waits, and everything that Write takes from now on:
// the screen's program did not let go, and must not draw over what comes last.
func (o *Output) Seize() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken, o.pending = true, o.pending[:0]
}

// Last takes text for writing after the screen's program, ended or not.
func (o *Output) Last(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.append([]byte(text))
}

// Held is an output on which the screen is open already and that writes nothing by
// itself: its caller takes what waits, by Collect. Tests look at it step by step.
func Held() *Output {
	o := &Output{open: true}
	o.wake = sync.NewCond(&o.mu)
	return o
}

// Collect hands over what waits in a Held output, as the terminal takes it.
func (o *Output) Collect() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.pending
	o.pending = nil
	o.bytes += int64(len(p))
	return p
}

// Waiting is the number of bytes that wait for the terminal.
func (o *Output) Waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending)
}

// Lost says whether something was thrown away and Recovered has not reported it yet.
func (o *Output) Lost() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// run writes what is pending until the output is closed and drained.
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

// rescueLimit is how long the write under way may take to let go, and then what
// rescue writes.
const rescueLimit = 100 * time.Millisecond

// rescue leaves text to a terminal that did not take everything before close: what
// it has not read is thrown away by flush, so that there is room for text, which the
// terminal finds when it reads again. It reports whether the terminal has room.
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

// writing says whether a write is under way.
func (o *Output) writing() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flying
}

// Busy says whether the terminal is behind: a frame drawn now would only wait.
func (o *Output) Busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flying && time.Since(o.since) > patience || len(o.pending) > maxPending/8
}

// Shown says whether the alternate screen was opened and not left.
func (o *Output) Shown() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

// Written is the number of bytes that the terminal has taken.
func (o *Output) Written() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// Frames is the number of frames that were sent.
func (o *Output) Frames() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drawn
}

// Failed says whether the terminal is gone.
func (o *Output) Failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// Recovered reports, once, that the terminal reads again after something was
// thrown away.
func (o *Output) Recovered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.lost || o.flying || len(o.pending) > 0 {
		return false
	}
	o.lost = false
	return true
}

// Drain waits at most so long until the terminal has taken everything.
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

// Close waits at most so long for the terminal to take the rest, and says
// whether it did. A write that is stuck is left behind.
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
