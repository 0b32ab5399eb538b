// Package visible writes text from outside, such as the names of files, the values of
// the environment and the messages of libraries, so that it cannot steer a terminal.
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

// Text is s on one line, with every character that is not drawn written as Go writes it
// in a quoted string: line feeds, escape sequences, C1 controls, marks that turn the
// direction of the text, and bytes that are no UTF-8. Text that has none comes back as
// it is.
func Text(s string) string {
	at := strings.IndexFunc(s, hidden)
	if at < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:at]...)
	for s = s[at:]; s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		if hidden(r) {
			quoted := strconv.AppendQuote(nil, s[:n]) // a byte that is no UTF-8 becomes \x and two digits
			b = append(b, quoted[1:len(quoted)-1]...)
		} else {
			b = append(b, s[:n]...)
		}
		s = s[n:]
	}
	return string(b)
}

// Lines is Text of every line of s; line feeds stay.
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

// hidden says whether a character is not drawn. What stands for a byte that is no
// UTF-8 counts, and so does that character itself.
func hidden(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }

// JSON is a JSON document whose strings have \u in the place of characters that Text
// would not leave as they are.
func JSON(document []byte) []byte {
	laidOut := func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' } // not raw in strings
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
