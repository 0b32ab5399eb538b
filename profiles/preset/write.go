package preset

import (
	"fmt"
	"io"
	"strings"
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
			line = fmt.Sprintf("%-34s # %s", line, oneLine(origin))
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("writing settings: %w", err)
		}
	}
	return nil
}

// oneLine keeps a comment a comment when a path holds control characters or
// bytes that are no text.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
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
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
