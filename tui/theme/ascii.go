package theme

import "math/bits"

// ASCII returns the 7-bit replacement of r, always one character for one so that the layout does
// not change. Characters of other scripts become '?'.
func ASCII(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0x2800 && r <= 0x28ff: // braille: by the number of dots
		return rune(" .,:;ox%#"[bits.OnesCount8(uint8(r))])
	case r >= 0x2581 && r <= 0x258f, r == 0x2580: // blocks
		return '#'
	}
	if a, ok := asciiOf[r]; ok {
		return a
	}
	return '?'
}

var asciiOf = map[rune]rune{
	'─': '-', '━': '-', '┄': '-', '╌': '-', '│': '|', '┊': ':', '┆': ':', '╎': ':', '┤': '|', '├': '|', '┼': '+',
	'╭': '+', '╮': '+', '╰': '+', '╯': '+', '┌': '+', '┐': '+', '└': '+', '┘': '+', '┬': '+', '┴': '+', '╶': '-',
	'●': '*', '○': 'o', '◌': '.', '▸': '>', '▴': '^', '▾': 'v', '✓': 'v', '✗': 'x', '‖': '"', '…': '~',
	'→': '>', '←': '<', '↑': '^', '↓': 'v', '−': '-', '–': '-', '±': '~', '×': 'x', '·': '.', '÷': '/',
	'µ': 'u', 'Δ': 'd', '∞': 'i', '≥': '>', '≤': '<', '≈': '~', '∅': '0', '²': '2', '³': '3', '°': 'o',
	'“': '"', '”': '"', '‘': '\'', '’': '\'',
	'▇': '#', '▄': '#', '█': '#', '░': '.', '▒': ':', '▓': '#', '╴': '-',
}
