// Package visible escapes external text, such as file names, environment values and
// messages of libraries, so that it cannot control a terminal.
package visible

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s on one line, with every non-printing character escaped as in a Go
// string literal: line feeds, escape sequences, C1 controls, bidirectional marks, and
// invalid UTF-8. Text without any is returned unchanged.
func Text(s string) string {
	at := strings.IndexFunc(s, hidden)
	if at < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:at]...)
	for s = s[at:]; s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		if hidden(r) {
			quoted := strconv.AppendQuote(nil, s[:n]) // a byte of invalid UTF-8 becomes \x and two digits
			b = append(b, quoted[1:len(quoted)-1]...)
		} else {
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return string(b)
}

// Lines applies Text to every line of s; line feeds are kept.
func Lines(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// hidden reports whether a character is non-printing. The replacement character for
// invalid UTF-8 counts too.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// JSON returns a JSON document whose strings have \u escapes for characters that
// Text would escape.
func JSON(document []byte) []byte {
	laidOut := func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' } // never raw in strings
	if !bytes.ContainsFunc(document, func(r rune) bool { return hidden(r) && !laidOut(r) }) {
		return document
	}
	safe := make([]byte, 0, len(document)+64)
	for _, r := range string(document) {
		switch {
		case !hidden(r) || laidOut(r):
			safe = utf8.AppendRune(safe, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			safe = fmt.Appendf(safe, `\u%04x\u%04x`, high, low)
		default:
			safe = fmt.Appendf(safe, `\u%04x`, r)
		}
	}
	return safe
}
