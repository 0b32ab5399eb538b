package terminal

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// gate filters the bytes between a terminal and Bubble Tea, which reads the queue. It finds
// ctrl+c anywhere: behind keys waiting to be handled, and in a paste that never ends. If keys
// arrive faster than they are handled, it keeps the first, whole ones; answers of the terminal
// always pass. Only pastes are held back, until they end.
type gate struct {
	queue  []byte
	state  gateState
	seq    []byte    // the current key or sequence, up to maxSequence bytes
	drop   bool      // the current sequence is dropped
	length int       // bytes of the current sequence
	last   time.Time // time of the last input

	paste pasted
}

// gateState determines the meaning of the next byte.
type gateState uint8

const (
	keyState    gateState = iota // a new key
	escapeState                  // after ESC
	csiState                     // a control sequence
	ss3State                     // after ESC O
	stringState                  // up to ST or BEL
	pasteState                   // up to pasteEnd
)

// Limits of a gate, in bytes. Bubble Tea handles about five keys per millisecond.
const (
	maxQueued   = 1 << 11 // further keys are dropped
	maxAnswers  = 1 << 16 // further input of any kind is dropped
	maxPaste    = 1 << 12
	maxSequence = 64
	maxLength   = 1 << 12 // of a sequence, which is ended and dropped beyond
)

// sequenceLimit is the longest pause within a sequence; after it, the next byte is a new key.
const sequenceLimit = 100 * time.Millisecond

const (
	escape = 0x1b
	ctrlC  = 0x03
)

// escapeRest behind ESC makes it the key esc in Kitty's protocol. Bubble Tea takes ESC ESC and a key that arrive
// together for Alt with the key, and one esc would be lost.
const escapeRest = "[27u"

// feed takes input of the terminal and reports whether it contained ctrl+c, which discards
// everything in the queue.
func (g *gate) feed(p []byte, now time.Time) (interrupted bool) {
	if g.state != pasteState && now.Sub(g.last) > sequenceLimit {
		g.state = keyState
	}
	g.last = now
	if len(p) > bulkSize {
		g.paste.bulk = now
	}
	for _, b := range p {
		switch {
		case g.state == pasteState:
			if g.paste.take(b) {
				if !g.paste.lost {
					g.queue = append(append(g.queue, g.paste.text()...), pasteEnd...)
				}
				g.state = keyState
			}
		case b == ctrlC || g.pass(b, now):
			interrupted = true
			g.queue, g.state = g.queue[:0], keyState
		}
	}
	return interrupted
}

// pass queues a byte outside of a paste, and reports whether it completes ctrl+c as encoded by
// the keyboard protocols.
func (g *gate) pass(b byte, now time.Time) (interrupts bool) {
	if n := len(g.queue); b == escape && g.state == escapeState && len(g.seq) == 1 && n > 0 && g.queue[n-1] == escape {
		g.queue = append(g.queue, escapeRest...)
	}
	switch {
	case b == escape && g.state != stringState, g.state == keyState && (b < 0x80 || b >= 0xc0):
		g.seq, g.drop, g.length = g.seq[:0], len(g.queue) >= maxQueued, 0
	case g.state == escapeState && len(g.seq) > 1 && b != '\\': // the string was not terminated
		g.seq, g.drop, g.length = append(g.seq[:0], escape), len(g.queue) >= maxQueued, 1
	}
	if len(g.seq) < maxSequence {
		g.seq = append(g.seq, b)
	}
	before := g.state
	g.state = before.next(b)
	switch {
	case g.drop && len(g.queue) < maxAnswers && g.answers():
		g.drop = false
		g.queue = append(g.queue, g.seq...)
	case !g.drop && len(g.queue) < maxAnswers:
		g.queue = append(g.queue, b)
	}
	if g.length++; g.length == maxLength && !g.drop { // its reader decodes it anew with everything that arrives
		g.queue, g.drop = append(g.queue, g.state.terminator()...), true
	}
	if before != csiState || g.state != keyState {
		return false
	}
	if string(g.seq) == pasteBegin {
		lost := len(g.queue) >= maxAnswers
		if g.drop && !lost {
			g.queue = append(g.queue, pasteBegin...)
		}
		g.state, g.paste = pasteState, pasted{bulk: now, lost: lost}
	}
	return isCtrlC(g.seq)
}

// next returns the state after b.
func (s gateState) next(b byte) gateState {
	switch {
	case b == escape:
		return escapeState
	case s == escapeState && b == '[':
		return csiState
	case s == escapeState && b == 'O':
		return ss3State
	case s == escapeState && strings.IndexByte(stringBegins, b) >= 0:
		return stringState
	case s == csiState && (b < 0x40 || b > 0x7e), s == stringState && b != '\a' && b != 0x18 && b != 0x1a:
		return s
	}
	return keyState
}

// terminator returns what ends an unfinished sequence.
func (s gateState) terminator() string {
	switch s {
	case stringState:
		return "\x1b\\"
	case csiState:
		return "~"
	}
	return ""
}

// answers reports whether the current sequence, now that its type is known, is an answer rather
// than a key.
func (g *gate) answers() bool {
	return g.state == stringState && len(g.seq) == 2 || g.state == csiState && len(g.seq) == 3 && isAnswer(g.seq)
}

// isAnswer reports whether a sequence is an answer of the terminal rather than a key: a string, or a
// control sequence marked as a report.
func isAnswer(seq []byte) bool {
	switch {
	case len(seq) < 2 || seq[0] != escape:
		return false
	case strings.IndexByte(stringBegins, seq[1]) >= 0:
		return true
	}
	return len(seq) > 2 && seq[1] == '[' && (seq[2] == '?' || seq[2] == '>')
}

// stringBegins follow ESC at the beginning of a string.
const stringBegins = "]P_^X"

// isCtrlC reports whether a control sequence is the press of ctrl+c, with any lock keys on: CSI
// 99 ; modifiers u in Kitty's protocol, or CSI 27 ; modifiers ; 99 ~ in xterm's modifyOtherKeys.
func isCtrlC(seq []byte) bool {
	body, ok := bytes.CutPrefix(seq, []byte("\x1b["))
	if !ok || len(body) == 0 {
		return false
	}
	parameters := strings.Split(string(body[:len(body)-1]), ";")
	var code, modifiers string
	switch final := body[len(body)-1]; {
	case final == 'u' && len(parameters) >= 2:
		code, modifiers = parameters[0], parameters[1]
	case final == '~' && len(parameters) == 3 && parameters[0] == "27":
		code, modifiers = parameters[2], parameters[1]
	}
	code, _, _ = strings.Cut(code, ":")
	modifiers, event, _ := strings.Cut(modifiers, ":")
	n, err := strconv.Atoi(modifiers)
	const control, locks = 4, 64 | 128
	return err == nil && code == "99" && (n-1)&^locks == control && event != "3"
}

// pasted is an unfinished bracketed paste.
type pasted struct {
	lost    bool // no room was left for it
	content []byte
	tail    []byte    // the latest bytes, as many as pasteEnd has
	bulk    time.Time // when more than a typed key last arrived at once

	state gateState
	seq   []byte // the current key or sequence, up to maxSequence bytes
	ctrlC bool   // it was the last key
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// A paste arrives in bulk: if only single keys arrive for pasteLimit, its end was lost. It was
// also lost if ctrl+c is followed by silence.
const (
	pasteLimit   = 2 * time.Second
	pasteSilence = 300 * time.Millisecond
	bulkSize     = 8
)

// take adds a byte and reports whether it ends the paste.
func (p *pasted) take(b byte) (ended bool) {
	p.content = append(p.content, b)
	if len(p.content) > maxPaste+len(pasteEnd) {
		p.content = p.content[:maxPaste+len(pasteEnd)]
	}
	p.key(b)
	p.tail = append(p.tail, b)
	if len(p.tail) > len(pasteEnd) {
		p.tail = append(p.tail[:0], p.tail[1:]...)
	}
	return string(p.tail) == pasteEnd
}

// key takes a byte as one of a key that is typed after the lost end of the paste. Answers of the
// terminal are no keys: those to the program's first queries may come after ctrl+c.
func (p *pasted) key(b byte) {
	switch {
	case b == ctrlC:
		p.state, p.seq, p.ctrlC = keyState, p.seq[:0], true
		return
	case b == escape && p.state != stringState, p.state == keyState:
		p.seq = p.seq[:0]
	case p.state == escapeState && len(p.seq) > 1 && b != '\\': // the string was not terminated
		p.seq = append(p.seq[:0], escape)
	}
	if len(p.seq) < maxSequence {
		p.seq = append(p.seq, b)
	}
	if p.state = p.state.next(b); p.state == keyState && !isAnswer(p.seq) {
		p.ctrlC = isCtrlC(p.seq)
	}
}

// text returns the content of a finished paste, or nothing if it is too long.
func (p *pasted) text() []byte {
	if n := len(p.content) - len(pasteEnd); n < maxPaste {
		return p.content[:n]
	}
	return nil
}

// deadline returns when look must be called; zero for never.
func (g *gate) deadline() time.Time {
	if g.state != pasteState {
		return time.Time{}
	}
	end := g.paste.bulk.Add(pasteLimit)
	if silent := g.last.Add(pasteSilence); g.paste.ctrlC && silent.Before(end) {
		return silent
	}
	return end
}

// look ends a paste whose deadline has passed, and reports whether ctrl+c was typed into it.
func (g *gate) look(now time.Time) (interrupted bool) {
	end := g.deadline()
	if end.IsZero() || now.Before(end) {
		return false
	}
	if !g.paste.lost {
		g.queue = append(g.queue, pasteEnd...)
	}
	g.state = keyState
	return g.paste.ctrlC
}

// readAtOnce is the maximum number of bytes handed over at once: these are handled before
// ctrl+c.
const readAtOnce = 256

// hand moves up to readAtOnce queued bytes into p.
func (g *gate) hand(p []byte) int {
	n := copy(p[:min(len(p), readAtOnce)], g.queue)
	g.queue = append(g.queue[:0], g.queue[n:]...)
	return n
}
