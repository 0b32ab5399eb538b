// Package helptext writes the pages about the command line: the help of a command, which is also its answer to a wrong
// flag, and the manual page. Both are made of the commands' own tables of flags, and of tui/keys.
package helptext

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	tuiwords "prismtop/tui/words"
)

// Maximum width of the help, and its width if standard output is not a terminal.
const (
	maxHelpWidth   = 100
	plainHelpWidth = 80
)

// helpColumn is the last column at which descriptions may start.
const helpColumn = 26

// Help writes a command's help to its standard output. It queries only the terminal's size.
func Help(cmd *cobra.Command) error {
	p := helpPage{width: plainHelpWidth}
	if width, _, err := term.GetSize(os.Stdout.Fd()); err == nil && width > 0 {
		p.width = min(width, maxHelpWidth)
		p.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	p.command(cmd)
	_, err := io.WriteString(cmd.OutOrStdout(), p.text.String())
	return err
}

// helpPage is a help text being written.
type helpPage struct {
	width   int
	colours bool
	text    strings.Builder
}

// command writes the help of a command.
func (p *helpPage) command(cmd *cobra.Command) {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	p.paragraph(0, about)
	p.title("Usage")
	p.paragraph(2, usageLine(cmd))
	if cmd.Example != "" {
		p.title("Examples")
		for example := range strings.Lines(cmd.Example) {
			p.example(strings.TrimSpace(example))
		}
	}
	if cmd.HasAvailableSubCommands() {
		p.commands(cmd)
	}
	p.flags(cmd)
	if cmd.HasAvailableSubCommands() {
		p.text.WriteByte('\n')
		p.paragraph(0, fmt.Sprintf("%s COMMAND --help describes a command.", cmd.CommandPath()))
	}
}

// commands lists the commands below cmd, by group.
func (p *helpPage) commands(cmd *cobra.Command) {
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
		var commands [][2]string
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				commands = append(commands, [2]string{"  " + c.Name(), c.Short})
			}
		}
		if len(commands) > 0 {
			p.title(g.Title)
			p.list(commands)
		}
	}
}

// manyFlags is the number of flags from which on a command's are grouped.
const manyFlags = 16

// flagGroups are the groups of the flags of commands with many, in order. Flags in none are
// the command's own, which come first.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"Settings", []string{"preset", "config", "set", "seed", "faithful"}},
	{"Input", []string{"image", "data", "weights", "resume"}},
	{"Limits", []string{"max-iterations", "max-passes", "max-time"}},
	{"Output", []string{"save", "json", "export", "metrics", "record", "no-record", "record-limit", "checkpoint", "checkpoint-every", "checkpoint-keep"}},
	{"Screen and session", []string{"headless", "lines", "quiet", "ascii", "theme", "bandwidth", "watch-budget", "notify", "detach", "on-hangup"}},
	{"Machine", []string{"device", "threads", "kernels"}},
	{"Help", []string{"dry-run", "help", "version"}},
}

// flags lists the flags of a command, by group if they are many.
func (p *helpPage) flags(cmd *cobra.Command) {
	all := map[string][2]string{}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all[f.Name] = [2]string{flagName(f), flagMeaning(f)}
			names = append(names, f.Name)
		}
	})
	list := func(title string, names []string) {
		var flags [][2]string
		for _, name := range names {
			if f, ok := all[name]; ok {
				flags = append(flags, f)
				delete(all, name)
			}
		}
		if len(flags) > 0 {
			p.title(title)
			p.list(flags)
		}
	}
	if len(names) < manyFlags {
		list("Flags", names)
		return
	}
	var grouped []string
	for _, g := range flagGroups {
		grouped = append(grouped, g.flags...)
	}
	list("Of this command", slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(grouped, name)
	}))
	for _, g := range flagGroups {
		list(g.title, g.flags)
	}
}

// usageLine returns the usage of a command.
func usageLine(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	if cmd.HasAvailableSubCommands() {
		line += " [command]"
	}
	if _, arguments, ok := strings.Cut(cmd.Use, " "); ok {
		line += " " + arguments
	}
	return line + " [flags]"
}

// flagName formats a flag as typed, with a placeholder for its value.
func flagName(f *pflag.Flag) string {
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	word := map[string]string{
		"bool": "", "duration": "TIME", "int": "N", "int64": "N", "uint64": "N", "float64": "X", "intSlice": "N,…",
		"stringSlice": "NAME,…", "stringArray": "KEY=VALUE",
	}
	value, ok := word[f.Value.Type()]
	if !ok {
		value = "VALUE"
	}
	switch f.Name {
	case "config", "image", "plot", "record", "checkpoint", "resume", "weights":
		value = "FILE"
	case "export":
		value = "FORMAT=PATH"
	case "metrics":
		value = "ADDRESS"
	case "save":
		value = "PATH"
	case "preset":
		value = "NAME"
	case "python":
		value = "COMMAND"
	}
	if value == "" {
		return name
	}
	return name + " " + value
}

// flagMeaning describes a flag, with its default unless that is a zero value.
func flagMeaning(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
		return f.Usage
	}
	return f.Usage + " (default " + strings.Trim(f.DefValue, "[]") + ")"
}

func (p *helpPage) title(text string) { p.text.WriteString("\n" + p.styled("\x1b[1m", text) + "\n") }

// paragraph wraps text between an indent and the width.
func (p *helpPage) paragraph(indent int, text string) {
	margin := strings.Repeat(" ", indent)
	for _, line := range p.wrapped(text, indent) {
		p.text.WriteString(margin + line + "\n")
	}
}

// example writes a command line as it can be typed: a long one is broken at spaces, each
// line but the last ending in a backslash.
func (p *helpPage) example(text string) {
	const indent, hanging, backslash = 2, 6, 2
	text = glued(text, func(flag, word string) bool {
		return strings.HasPrefix(flag, "--") && !strings.HasPrefix(word, "-")
	})
	lines := p.wrapped(text, indent)
	if len(lines) > 1 {
		lines = p.wrapped(text, hanging+backslash)
	}
	for i, line := range lines {
		margin := hanging
		if i == 0 {
			margin = indent
		}
		if i < len(lines)-1 {
			line += " \\"
		}
		p.text.WriteString(strings.Repeat(" ", margin) + line + "\n")
	}
}

// list writes names with their descriptions next to them, or below long names.
func (p *helpPage) list(entries [][2]string) {
	column := 0
	for _, e := range entries {
		column = max(column, ansi.StringWidth(e[0])+2)
	}
	column = min(column, helpColumn, p.width/2)
	for _, e := range entries {
		p.text.WriteString(p.styled("\x1b[36m", e[0]))
		space := column - ansi.StringWidth(e[0])
		if space < 2 {
			p.text.WriteByte('\n')
			space = column
		}
		for _, line := range p.wrapped(e[1], column) {
			p.text.WriteString(strings.Repeat(" ", space) + line + "\n")
			space = column
		}
	}
}

// bound stands for a space at which lines are not broken; a private character, of one cell.
const bound = "\ue000"

// wrapped breaks text at spaces between the indent and the width.
func (p *helpPage) wrapped(text string, indent int) []string {
	lines := tuiwords.Wrap(glued(text, belong), max(p.width-indent, 1))
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], bound, " ")
	}
	return lines
}

// glued binds words that stay on one line: those of which together returns true.
func glued(text string, together func(before, word string) bool) string {
	var b strings.Builder
	before := ""
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && together(before, word):
			b.WriteString(bound)
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(word)
		before = word
	}
	return b.String()
}

// belong reports whether a word of a sentence is the value of the one before it, as in --resume FILE and (default 1m).
func belong(before, word string) bool {
	if before == "(default" {
		return true
	}
	flag := strings.HasPrefix(before, "--") && !strings.ContainsAny(before, ",.;:)=")
	return flag && !strings.HasPrefix(word, "-") && (strings.ToUpper(word) == word || strings.ContainsAny(word, "=./"))
}

func (p *helpPage) styled(style, text string) string {
	if !p.colours {
		return text
	}
	plain := strings.TrimLeft(text, " ")
	return text[:len(text)-len(plain)] + style + plain + "\x1b[m"
}
