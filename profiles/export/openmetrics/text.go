package openmetrics

import (
	"math"
	"strconv"
	"strings"

	"prismtop/profiles/visible"
)

// text is metrics in the text format.
type text struct {
	out  []byte
	name string // of the current family
}

// family begins a family of metrics. With a unit, the name must end in it.
func (t *text) family(name, kind, unit, help string) {
	t.name = name
	t.out = append(t.out, "# TYPE "+name+" "+kind+"\n"...)
	if unit != "" {
		t.out = append(t.out, "# UNIT "+name+" "+unit+"\n"...)
	}
	t.out = append(t.out, "# HELP "+name+" "+escape.Replace(help)+"\n"...)
}

// sample adds a value of the current family with its labels, name by name and value. Values may come from files: their
// control characters are escaped.
func (t *text) sample(suffix string, v float64, labels ...string) {
	t.out = append(t.out, t.name...)
	t.out = append(t.out, suffix...)
	for i := 0; i < len(labels); i += 2 {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		t.out = append(t.out, separator)
		t.out = append(t.out, labels[i]+`="`+escape.Replace(visible.Lines(labels[i+1]))+`"`...)
	}
	if len(labels) > 0 {
		t.out = append(t.out, '}')
	}
	t.out = append(t.out, " "+number(v)+"\n"...)
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
