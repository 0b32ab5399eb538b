package pane

import (
	"unicode"

	"prismtop/tui/chart"
	"prismtop/tui/monospace"
	"prismtop/tui/theme"
)

// This file edits a setting's value in a line.

// longestInput is the maximum length in bytes; the longest value is a path.
const longestInput = 1024

// input is a value being edited. The initial value is selected: the first text typed or pasted
// replaces it; keys that move the cursor or delete keep it.
type input struct {
	text     []rune
	at       int // the cursor is before this rune
	selected bool
}

// newInput starts with a value, selected unless it is empty.
func newInput(value string) *input {
	text := []rune(value)
	return &input{text: text, at: len(text), selected: len(text) > 0}
}

func (in *input) value() string { return string(in.text) }

// press moves the cursor, deletes and inserts; other keys are ignored.
func (in *input) press(key string) {
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
		if len([]rune(key)) != 1 {
			in.selected = selected
			return
		}
		in.replace(selected, key)
	}
}

// paste inserts pasted text.
func (in *input) paste(text string) { in.replace(in.selected, text) }

// replace inserts the printable part of a text at the cursor, or in place of the whole value.
func (in *input) replace(all bool, text string) {
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

// draw writes the value into w cells from (x,y) and returns the column after it. A selected
// value is drawn in reverse as a whole, otherwise only the cursor's cell is. A longer value is
// scrolled to the cursor.
func (in *input) draw(c *chart.Canvas, x, y, w int) int {
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

// hints returns the keys for editing a value.
func (in *input) hints() []Hint {
	edit := Hint{"← →", "move"}
	if in.selected {
		edit.Does = "edit"
	}
	return []Hint{{"enter", "sets"}, {"esc", "leaves"}, edit, {"ctrl+u", "clears"}}
}
