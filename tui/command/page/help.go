// Package page writes the pages about the command line: the help of a command, and the manual.
package page

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Maximum width of the help, and its width if standard output is not a terminal.
const (
	maxHelpWidth   = 100
	plainHelpWidth = 80
)

// helpColumn is the last column at which descriptions may start.
const helpColumn = 26

// Help writes a command's help to its standard output. It queries only the terminal's size.
func Help(cmd *cobra.Command, _ []string) {
	p := helpPage{width: plainHelpWidth}
	if width, _, err := term.GetSize(os.Stdout.Fd()); err == nil && width > 0 {
		p.width = min(width, maxHelpWidth)
		p.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	p.command(cmd)
	_, _ = io.WriteString(cmd.OutOrStdout(), p.text.String())
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
			p.paragraph(2, strings.TrimSpace(example))
		}
	}
	if cmd.HasAvailableSubCommands() {
		p.title("Commands")
		var commands [][2]string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				commands = append(commands, [2]string{"  " + c.Name(), c.Short})
			}
		}
		p.list(commands)
	}
	p.title("Flags")
	var flags [][2]string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, [2]string{flagName(f), flagMeaning(f)})
		}
	})
	p.list(flags)
	if cmd.HasAvailableSubCommands() {
		p.text.WriteByte('\n')
		p.paragraph(0, fmt.Sprintf("%s COMMAND --help describes a command.", cmd.CommandPath()))
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
	for line := range strings.Lines(p.wrapped(strings.Join(strings.Fields(text), " "), indent)) {
		p.text.WriteString(margin + strings.TrimRight(line, " \n") + "\n")
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
		for line := range strings.Lines(p.wrapped(e[1], column)) {
			p.text.WriteString(strings.Repeat(" ", space) + strings.TrimRight(line, " \n") + "\n")
			space = column
		}
	}
}

func (p *helpPage) wrapped(text string, indent int) string {
	return ansi.Wrap(text, max(p.width-indent, 1), " ") + "\n"
}

func (p *helpPage) styled(style, text string) string {
	if !p.colours {
		return text
	}
	plain := strings.TrimLeft(text, " ")
	return text[:len(text)-len(plain)] + style + plain + "\x1b[m"
}
