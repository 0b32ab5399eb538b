package settings

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

// Values as text: as Set accepts them, as a settings file, and described.

// Get returns the key's value as text accepted by Set, empty for an unknown key. A suspended
// number is followed by the state it was given for: "0.003 for l1".
func (v Values) Get(key string) string {
	i := v.table.at(key)
	if i < 0 {
		return ""
	}
	if b, ok := v.values[i].(boundNumber); ok && b.suspended() {
		return format(b.Number) + forOwner + b.owner()
	}
	return format(v.values[i])
}

// format formats a value as Set reads it.
func format(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case boundNumber:
		return format(v.Number)
	case []int64:
		parts := make([]string, len(v))
		for i, n := range v {
			parts[i] = strconv.FormatInt(n, 10)
		}
		return strings.Join(parts, ",")
	}
	return ""
}

// Quoted returns the key's value as shown in messages and TOML files, without the state
// a suspended number was given for.
func (v Values) Quoted(key string) string {
	i := v.table.at(key)
	if i < 0 {
		return ""
	}
	text := format(v.values[i])
	switch v.table.keys[i].Type {
	case TypeText:
		return quoteTOML(text)
	case TypeList:
		return "[" + strings.ReplaceAll(text, ",", ", ") + "]"
	case TypeNumber:
		return strings.ToLower(text) // TOML's infinity is inf
	}
	return text
}

// Write prints the settings as TOML, grouped, each with its origin as a comment. A file with
// this text has the same settings.
func (v Values) Write(w io.Writer, origins Origins) error {
	group := ""
	for i, k := range v.Keys() {
		if k.Group != group {
			lead := "\n"
			if i == 0 {
				lead = ""
			}
			group = k.Group
			if _, err := fmt.Fprintf(w, "%s# %s\n", lead, group); err != nil {
				return fmt.Errorf("writing settings: %w", err)
			}
		}
		line := k.Name + " = " + v.Quoted(k.Name)
		if origin := origins[k.Name]; origin != "" {
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

// Describe shows a decoded value of the wrong type in TOML syntax, shortened to one line.
func Describe(value any) string {
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
