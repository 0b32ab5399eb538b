package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"prismtop/tui/monospace"
)

// This file fits text into a given width, by wrapping or by choosing the longest version that
// fits.

// Wrap breaks a text at its spaces into rows of at most w cells; longer words are cut at the end
// of a row. No row is empty, except the only one of an empty text.
func Wrap(text string, w int) []string {
	var rows []string
	line, used := "", 0
	flush := func() {
		if used > 0 {
			rows, line, used = append(rows, line), "", 0
		}
	}
	for _, word := range strings.Fields(text) {
		n := monospace.Width(word)
		if used > 0 && used+1+n > w {
			flush()
		}
		for n > w && w > 1 { // longer than a row
			part, rest := SplitCells(word, w)
			if part == "" {
				break
			}
			rows, word = append(rows, part), rest
			n = monospace.Width(word)
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	flush()
	if rows == nil {
		rows = []string{""}
	}
	return rows
}

// SplitCells cuts a word after at most w cells.
func SplitCells(word string, w int) (part, rest string) {
	used := 0
	for i, r := range word {
		if used += monospace.RuneWidth(r); used > w {
			return word[:i], word[i:]
		}
	}
	return word, ""
}

// Fitting returns the first text that fits into w cells, "" if none does.
func Fitting(w int, texts ...string) string {
	for _, t := range texts {
		if monospace.Width(t) <= w {
			return t
		}
	}
	return ""
}

// FittingOrLast returns the first text that fits into w cells, the last if none does.
func FittingOrLast(w int, texts ...string) string {
	if t := Fitting(w, texts...); t != "" {
		return t
	}
	return texts[len(texts)-1]
}

// FittingParts is FittingOrLast for lists of parts, joined by dots.
func FittingParts(w int, choices ...[]string) string {
	texts := make([]string, len(choices))
	for i, parts := range choices {
		texts[i] = strings.Join(parts, " · ")
	}
	return FittingOrLast(w, texts...)
}

// Capital returns a text with its first letter in upper case.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
