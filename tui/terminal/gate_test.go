package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
)

// typing is a gate with its clock.
type typing struct {
	gate
	now         time.Time
	interrupted bool
}

func newTyping() *typing { return &typing{now: time.Unix(1e9, 0)} }

// send feeds text that arrives at once, a millisecond after the last.
func (g *typing) send(text string) *typing { return g.after(time.Millisecond, text) }

func (g *typing) after(d time.Duration, text string) *typing {
	end := g.now.Add(d)
	for at := g.deadline(); !at.IsZero() && !at.After(end); at = g.deadline() {
		g.interrupted = g.look(at) || g.interrupted
	}
	g.now = end
	g.interrupted = g.feed([]byte(text), end) || g.interrupted
	return g
}

func (g *typing) expect(t *testing.T, what, queue string, interrupted bool) {
	t.Helper()
	if got := string(g.queue); got != queue || g.interrupted != interrupted {
		t.Errorf("%s: queue %q, interrupted %v, want %q, %v", what, got, g.interrupted, queue, interrupted)
	}
}

func TestKeysPassAsTheyCome(t *testing.T) {
	for _, text := range []string{
		"q", "\x1b", "é月", "\x1b[A", "\x1bOP", "\x1ba", "\x1b[<0;5;6M", "\x1b[200~ab\x1b[201~", "\x1b[200~\x1b[201~q",
		"\x1b]11;rgb:0000/0000/0000\x1b\\", "\x1bP1+r524742\x1b\\q", "\x1b_Gi=31;OK\x1b\\", "\x1b[?62;22c", "\x1b[99;6u", "\x1b[100;5u",
		"\x1b[99;5:3u", "\x1b[27;5;100~", "\x1b[200~a\x03b\x1b[201~",
	} {
		newTyping().send(text).expect(t, text, text, false)
		bytewise := newTyping()
		for i := range len(text) {
			bytewise.send(text[i : i+1])
		}
		bytewise.expect(t, text+" byte by byte", text, false)
	}
}

func TestCtrlCIsFoundWhereverItIs(t *testing.T) {
	for _, c := range []string{
		"\x03", "\x1b[99;5u", "\x1b[99;69u", "\x1b[99;133:1u", "\x1b[99;5:2u", "\x1b[99::99;5u", "\x1b[27;5;99~", "\x1b\x03",
		"\x1b]11;no end\x03", "\x1bPno end\x1b[99;5u", "\x1b[\x03",
	} {
		newTyping().send("abc"+c).expect(t, c, "", true)
		newTyping().send("abc"+c+"d").expect(t, c+" and a key", "d", true)
		bytewise := newTyping()
		for i := range len(c) {
			bytewise.send(c[i : i+1])
		}
		bytewise.expect(t, c+" byte by byte", "", true)
	}
	newTyping().send(strings.Repeat("?", 100_000)+"\x03").expect(t, "behind a flood", "", true)
	newTyping().send(strings.Repeat("\x1b[A", 100_000)+"\x1b[99;5u").expect(t, "behind a flood of arrows", "", true)
}

func TestOfAFloodWholeKeysPassAndAnswersAll(t *testing.T) {
	g := newTyping().send(strings.Repeat("\x1b[A", 5000))
	if got := string(g.queue); len(got) > maxQueued+3 || strings.ReplaceAll(got, "\x1b[A", "") != "" {
		t.Errorf("%d bytes pass, and of them %q are no arrows", len(got), strings.ReplaceAll(got, "\x1b[A", ""))
	}
	n := len(g.queue)
	const answers = "\x1b[?62c\x1b]11;rgb:0/0/0\a\x1b[>1;2;3c\x1b_Gi=1;OK\x1b\\\x1bP>|xterm\x1b\\"
	g.send("ab月\x1b[B" + answers + "cd")
	if got := string(g.queue[n:]); got != answers {
		t.Errorf("%q pass, want the answers", got)
	}
	var p [4096]byte
	for len(g.queue) > maxQueued/2 {
		if got := g.hand(p[:]); got > readAtOnce {
			t.Fatalf("%d bytes are handed over at once", got)
		}
	}
	left := string(g.queue)
	g.send("x").expect(t, "once there is room", left+"x", false)
	g.send("\x1b]no end" + strings.Repeat("y", 2*maxAnswers))
	if len(g.queue) > maxAnswers {
		t.Errorf("%d bytes wait", len(g.queue))
	}
}

// Input of any form that waits to be read is bounded, and no sequence is so long that decoding it takes a while.
func TestInputThatIsNotReadIsBounded(t *testing.T) {
	for _, flood := range []string{"\x1b[?", "\x1b]", "\x1b[200~x\x1b[201~", "\x1b[200~" + strings.Repeat("x", maxPaste-1) + "\x1b[201~", "\x1b[?1;2c"} {
		g := newTyping()
		for range 4 * maxAnswers / len(flood) {
			g.send(flood)
		}
		if n := len(g.queue); n > maxAnswers+maxPaste+maxSequence {
			t.Errorf("%q again and again: %d bytes wait", flood, n)
		}
		begun, ended := strings.Count(string(g.queue), pasteBegin), strings.Count(string(g.queue), pasteEnd)
		if begun != ended {
			t.Errorf("%q again and again: %d pastes begin and %d end", flood, begun, ended)
		}
	}
	for begin, end := range map[string]string{"\x1b]": "\x1b\\", "\x1b[": "~"} {
		g := newTyping().send(begin + strings.Repeat("1", 3*maxLength))
		if got := string(g.queue); len(got) > maxLength+len(end) || !strings.HasSuffix(got, end) {
			t.Errorf("%q without an end: %d bytes, ended by %q", begin, len(got), got[len(got)-2:])
		}
	}
}

func TestAPasteWithoutAnEndEnds(t *testing.T) {
	begun := func() *typing { return newTyping().send("\x1b[200~this was pasted") }
	begun().after(pasteLimit, "q").expect(t, "after silence", "\x1b[200~\x1b[201~q", false)
	g := begun()
	for range 7 { // further keys do not extend the limit
		g.after(pasteLimit/5, "q")
	}
	g.expect(t, "after keys", "\x1b[200~\x1b[201~qqq", false)
	begun().after(pasteLimit/2, "more of it, in bulk").after(pasteLimit/2, "q").expect(t, "in bulk", "\x1b[200~", false)
	for _, c := range []string{"\x03", "\x1b[99;5u"} {
		begun().send(c).after(pasteSilence, "q").expect(t, "ctrl+c and silence", "\x1b[200~\x1b[201~q", true)
		begun().send(c+"more").after(pasteSilence, "").expect(t, "ctrl+c within", "\x1b[200~", false)
		begun().send(c+"\x1b[A").after(pasteSilence, "").expect(t, "ctrl+c before another key", "\x1b[200~", false)
		answers := "\x1b[?2026;2$y\x1b]11;rgb:0000/0000/0000\x1b\\\x1b_Gi=31;OK\x1b\\\x1b[?62;4c"
		begun().send(c+answers).after(pasteSilence, "q").expect(t, "ctrl+c before answers", "\x1b[200~\x1b[201~q", true)
		bytewise := begun().send(c)
		for i := range len(answers) {
			bytewise.send(answers[i : i+1])
		}
		bytewise.after(pasteSilence, "q").expect(t, "ctrl+c before answers byte by byte", "\x1b[200~\x1b[201~q", true)
		begun().send(answers+c).after(pasteSilence, "q").expect(t, "ctrl+c behind answers", "\x1b[200~\x1b[201~q", true)
	}
	begun().send("\x03\x1b[201~").after(pasteLimit, "q").expect(t, "a whole paste with ctrl+c", "\x1b[200~this was pasted\x03\x1b[201~q", false)
	newTyping().send("\x1b[200~"+strings.Repeat("x", 10*maxPaste)+"\x1b[201~q").expect(t, "a long paste", "\x1b[200~\x1b[201~q", false)
	newTyping().send(strings.Repeat("x", maxQueued)+"\x1b[200~ab\x1b[201~").expect(t, "in a flood", strings.Repeat("x", maxQueued)+"\x1b[200~ab\x1b[201~", false)
}

// Input passes as the same bytes however it is split, within the limits.
func FuzzGate(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[200~b\x1b[201~\x03c\x1b]11;x\x1b\\"), uint8(3))
	f.Add([]byte("\x1b\x1b[\x1b[99;5u\x1bP\x1b"), uint8(1))
	f.Fuzz(func(t *testing.T, sent []byte, step uint8) {
		whole, cut := newTyping().send(string(sent)), newTyping()
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), int(step%16)+1)
			cut.now = whole.now.Add(-time.Millisecond) // all at the same time
			cut.send(string(rest[:n]))
			rest = rest[n:]
		}
		if string(whole.queue) != string(cut.queue) || whole.interrupted != cut.interrupted {
			t.Fatalf("%q: at once %q %v, in pieces of %d %q %v", sent, whole.queue, whole.interrupted, step%16+1, cut.queue, cut.interrupted)
		}
		if len(whole.queue) > maxAnswers+maxPaste+maxSequence {
			t.Fatalf("%d bytes wait", len(whole.queue))
		}
	})
}

// No esc of several that arrive together is lost, as Bubble Tea decodes what passes.
func TestEveryEscIsAKey(t *testing.T) {
	for sent, want := range map[string]string{
		"\x1b\x1b,": "esc alt+,", "\x1b\x1b\x1b": "esc esc esc", "\x1b\x1b[A": "esc up", "\x1b[A\x1b\x1bz": "up esc alt+z", "\x1b\x1bOP": "esc f1",
	} {
		g := newTyping().send(sent)
		var decoder uv.EventDecoder
		var keys []string
		for len(g.queue) > 0 {
			n, event := decoder.Decode(g.queue)
			keys, g.queue = append(keys, fmt.Sprint(event)), g.queue[n:]
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%q: %s, want %s", sent, got, want)
		}
	}
}
