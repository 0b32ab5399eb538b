package widget

import (
	"unicode"

	"prismtop/tui/chart"
	"prismtop/tui/monospace"
	"prismtop/tui/theme"
)

// longestInput is the maximum length of an input in bytes; the longest value is a path.
const longestInput = 1024

// Input is a value being edited in a line. The initial value is selected: the first text typed or pasted
// replaces it; keys that move the cursor or delete keep it.
type Input struct {
	text     []rune
	at       int // the cursor is before this rune
	selected bool
}

// NewInput starts with a value, selected unless it is empty.
func NewInput(value string) *Input {
	text := []rune(value)
	return &Input{text: text, at: len(text), selected: len(text) > 0}
}

// Value returns the value.
func (in *Input) Value() string { return string(in.text) }

// Selected reports whether the next text typed replaces the value.
func (in *Input) Selected() bool { return in.selected }

// AtEnd reports whether the cursor is behind the value.
func (in *Input) AtEnd() bool { return in.at >= len(in.text) }

// Edits reports whether a key moves the cursor or deletes.
func Edits(key string) bool {
	switch key {
	case "left", "right", "home", "end", "ctrl+a", "ctrl+e", "ctrl+u", "backspace", "delete":
		return true
	}
	return false
}

// Types reports whether a key types a character.
func Types(key string) bool { return key == "space" || len([]rune(key)) == 1 }

// Press moves the cursor, deletes and inserts; other keys are ignored.
func (in *Input) Press(key string) {
	in.at = min(max(in.at, 0), len(in.text))
	selected := in.selected
	in.selected = false
	switch key {
	case "left":
		in.at = max(in.at-1, 0)
	case "right":
		in.at = min(in.at+1, len(in.text))
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace":
		if in.at > 0 {
			in.text, in.at = append(in.text[:in.at-1], in.text[in.at:]...), in.at-1
		}
	case "delete":
		switch {
		case selected:
			in.text, in.at = nil, 0
		case in.at < len(in.text):
			in.text = append(in.text[:in.at], in.text[in.at+1:]...)
		}
	case "ctrl+u":
		in.text, in.at = nil, 0
	case "space":
		in.replace(selected, " ")
	default:
		if !Types(key) {
			in.selected = selected
			return
		}
		in.replace(selected, key)
	}
}

// Paste inserts pasted text.
func (in *Input) Paste(text string) { in.replace(in.selected, text) }

// replace inserts the printable part of a text at the cursor, or in place of the whole value.
func (in *Input) replace(all bool, text string) {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			continue
		}
		if all {
			in.text, in.at, all = nil, 0, false
		}
		if len(string(in.text))+len(string(r)) > longestInput {
			break
		}
		in.text = append(in.text[:in.at], append([]rune{r}, in.text[in.at:]...)...)
		in.at++
	}
	in.selected = all // the text had nothing printable
}

// Draw writes the value into w cells from (x,y) and returns the column after it. A selected
// value is drawn in reverse as a whole, otherwise only the cursor's cell is. A longer value is
// scrolled to the cursor.
func (in *Input) Draw(c *chart.Canvas, x, y, w int) int {
	at := min(max(in.at, 0), len(in.text))
	from := 0
	for from < at && chart.Width(string(in.text[from:at]))+1 > w {
		from++
	}
	end := x + w
	for i := from; i < len(in.text) && x+monospace.RuneWidth(in.text[i]) <= end; i++ {
		style := theme.Strong
		if in.selected || i == at {
			style = theme.Selected
		}
		x = c.Text(x, y, string(in.text[i]), style)
	}
	if at == len(in.text) && !in.selected && x < end {
		x = c.Text(x, y, "_", theme.Strong)
	}
	return x
}
