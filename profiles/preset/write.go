package preset

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"prismtop/profiles/visible"
)

// Write prints the settings as TOML, grouped, each with the place it came from
// as a comment. A file with this text resolves to the same settings.
func Write(w io.Writer, s *Settings, origins Origins) error {
	group := ""
	for i := range table {
		e := &table[i]
		if e.Group != group {
			lead := "\n"
			if group == "" {
				lead = ""
			}
			group = e.Group
			if _, err := fmt.Fprintf(w, "%s# %s\n", lead, group); err != nil {
				return fmt.Errorf("writing settings: %w", err)
			}
		}
		line := e.Name + " = " + e.quoted(s)
		if origin := origins[e.Name]; origin != "" {
			line = fmt.Sprintf("%-34s # %s", line, visible.Text(origin))
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("writing settings: %w", err)
		}
	}
	return nil
}

// quoteTOML writes text as a basic string of TOML: quotes, backslashes and
// control characters escaped.
func quoteTOML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError || visible.Text(string(r)) == string(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// describe shows a decoded value of the wrong type as TOML writes it, shortened
// to one line.
func describe(value any) string {
	text := strings.Join(strings.Fields(valueTOML(value)), " ")
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return text
}

// valueTOML writes a decoded value back as TOML.
func valueTOML(value any) string {
	switch v := value.(type) {
	case string:
		return quoteTOML(v)
	case float64:
		text := strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
		if v == math.Trunc(v) && !strings.ContainsAny(text, "ein") { // not an exponent, inf or nan
			text += ".0"
		}
		return text
	case []int64:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return valueTOML(list)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = valueTOML(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+" = "+valueTOML(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(value)
}
