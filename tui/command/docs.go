package command

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/profiles/settings"
	"prismtop/tui/command/cli"
)

// This file prints what the program holds of its documentation and of the licences of its parts.

// Names of files among the pages.
const (
	ownLicense   = "LICENSE"
	otherNotices = "docs/third-party.txt"
)

// pageNames lists the pages of a program by name, without folder and ending: README first, then the others.
func pageNames(pages fs.FS) []string {
	names := []string{"readme", "changelog"}
	var found []string
	if pages != nil { // the manual page names none
		found, _ = fs.Glob(pages, "docs/*.md") // the pattern is valid
	}
	for _, file := range found {
		names = append(names, strings.TrimSuffix(path.Base(file), ".md"))
	}
	return names
}

// pageFile returns the file of a page.
func pageFile(name string) string {
	if name == "readme" || name == "changelog" {
		return strings.ToUpper(name) + ".md"
	}
	return "docs/" + name + ".md"
}

// docsCommand returns the command docs.
func docsCommand(pages fs.FS) *cobra.Command {
	return &cobra.Command{
		Use: "docs [PAGE]", Short: "Print a page of the documentation, or list the pages", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(pageNames(pages), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := pageNames(pages)
			if len(args) == 0 {
				var list bytes.Buffer
				for _, name := range names {
					text, err := fs.ReadFile(pages, pageFile(name))
					if err != nil {
						return err
					}
					title, _, _ := strings.Cut(strings.TrimLeft(string(text), "# "), "\n")
					fmt.Fprintf(&list, "%-14s %s\n", name, title)
				}
				_, err := cmd.OutOrStdout().Write(list.Bytes())
				return err
			}
			name := strings.ToLower(strings.TrimSuffix(path.Base(args[0]), ".md"))
			if !slices.Contains(names, name) {
				if near := settings.Closest(name, names); len(near) > 0 {
					return cli.BadUsage(fmt.Errorf("docs: no page %q: did you mean %s?", args[0],
						strings.Join(near, " or ")))
				}
				return cli.BadUsage(fmt.Errorf("docs: no page %q: prismtop docs lists them", args[0]))
			}
			return printPages(cmd, pages, pageFile(name))
		},
	}
}

// licensesCommand returns the command licenses.
func licensesCommand(pages fs.FS) *cobra.Command {
	return &cobra.Command{
		Use: "licenses", Short: "Print the licence of this program and those of its parts", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return printPages(cmd, pages, ownLicense, otherNotices) },
	}
}

// printPages writes files of the pages one after the other.
func printPages(cmd *cobra.Command, pages fs.FS, files ...string) error {
	for _, file := range files {
		text, err := fs.ReadFile(pages, file)
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
