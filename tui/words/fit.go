package words

import (
	"strings"

	"prismtop/tui/monospace"
)

// This file is how words find room: broken into rows, or in the longest of several
// versions that fits.

// Wrap breaks a text at its spaces into rows of at most w cells; a word that is
// longer than a row is cut where the row ends. No row is empty but of an empty
// text.
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

// Fitting is the first of the texts that fits into w cells, or nothing.
func Fitting(w int, texts ...string) string {
	for _, t := range texts {
		if monospace.Width(t) <= w {
			return t
		}
	}
	return ""
}

// FittingOrLast is the first of the texts that fits into w cells, or the last.
func FittingOrLast(w int, texts ...string) string {
	if t := Fitting(w, texts...); t != "" {
		return t
	}
	return texts[len(texts)-1]
}

// FittingParts is FittingOrLast of lists of parts with dots between.
func FittingParts(w int, choices ...[]string) string {
	texts := make([]string, len(choices))
	for i, parts := range choices {
		texts[i] = strings.Join(parts, " · ")
	}
	return FittingOrLast(w, texts...)
}
