package chart

import "prismtop/tui/theme"

// Ramps of a spark line, lowest first: eighths of a block, and ASCII.
var (
	blockRamp = []rune("▁▂▃▄▅▆▇█")
	asciiRamp = []rune("_.-:=+*#")
)

// Spark draws values as columns in one row from (x,y), one cell each, on a scale from 0 to top;
// values that are not positive leave their cells empty. If there are more values than width, the
// latest are drawn, and the line advances by a quarter of its width at a time.
func (c *Canvas) Spark(x, y, width int, values []float64, top float64, ascii bool, s theme.Style) {
	if width <= 0 || !(finite(top, 0) > 0) {
		return
	}
	if over := len(values) - width; over > 0 {
		quarter := max(1, width/4)
		values = values[min((over+quarter-1)/quarter*quarter, len(values)-1):]
	}
	ramp := blockRamp
	if ascii {
		ramp = asciiRamp
	}
	for i, v := range values {
		if v = finite(v, 0); v > 0 {
			c.Set(x+i, y, ramp[min(int(v/top*float64(len(ramp))), len(ramp)-1)], s)
		}
	}
}
