package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"prismtop/sim/workloads"
	"prismtop/tui/keys"
)

// commandTree is the tree of commands, for tests that look commands and flags up in it.
var commandTree = sync.OnceValue(func() *cobra.Command {
	root := rootCommand(nil)
	root.InitDefaultHelpCmd()
	return root
})

// named is the number of things that each document names, by the start of their IDs.
var named = map[string]int{"S0": 43, "S1": 79, "S2": 84, "S3": 97, "S4": 150}

// docs/coverage.md has a row for each thing that the documents name, and the commands, flags and keys in
// it exist.
func TestCoverageNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "coverage.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	of, _ := keys.For(workloads.All[0].Presets.Table, nil)
	for _, s := range of.Manual() {
		for _, r := range s.Rows {
			listed = append(listed, r.Keys...)
		}
	}
	command, key := regexp.MustCompile("`(prismtop[^`]*)`"), regexp.MustCompile("[Kk]eys? `([^`]+)`")
	counted, ids := map[string]int{}, map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "| S") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 5 {
			t.Errorf("%s: %d cells", line, len(cells))
			continue
		}
		id, state, shown := strings.TrimPrefix(cells[0], "| "), cells[2], cells[3]
		if ids[id] {
			t.Errorf("%s: twice", id)
		}
		ids[id] = true
		counted[state]++
		shows := command.MatchString(shown) || key.MatchString(shown)
		switch reason := strings.Trim(cells[4], " |"); {
		case state != "there" && state != "partly" && state != "not here":
			t.Errorf("%s: state %q", id, state)
		case (state == "not here") == shows:
			t.Errorf("%s: is %s and shown by %q", id, state, shown)
		case state == "not here" && reason == "":
			t.Errorf("%s: no reason", id)
		}
		for _, m := range command.FindAllStringSubmatch(line, -1) {
			if err := existsCommand(strings.Fields(m[1])[1:]); err != nil {
				t.Errorf("%s: %s: %v", id, m[1], err)
			}
		}
		for _, m := range key.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(listed, m[1]) {
				t.Errorf("%s: no key %s", id, m[1])
			}
		}
	}
	all := 0
	for document, n := range named {
		all += n
		for i := range n {
			if id := fmt.Sprintf("%s-%d", document, i+1); !ids[id] {
				t.Errorf("no row %s", id)
			}
		}
	}
	if len(ids) != all || !strings.Contains(string(text), fmt.Sprintf("%d in all: %d are there, %d partly, %d not here", len(ids), counted["there"], counted["partly"], counted["not here"])) {
		t.Errorf("%d rows, %v: the first paragraph has other numbers", len(ids), counted)
	}
}

// The command lines of the first pages exist, with their flags.
func TestPagesNameCommandsThatExist(t *testing.T) {
	flag := regexp.MustCompile(`--([a-z-]+)`)
	for _, page := range []string{"README.md", "docs/commands.md", "docs/sessions.md", "docs/benchmarks.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(string(text)) {
			shown, isCommand := strings.CutPrefix(line, "    prismtop ")
			if !isCommand {
				continue
			}
			lines++
			shown, _, _ = strings.Cut(shown, "   ")                                     // what it does
			if words := strings.Fields(shown); len(words) > 0 && words[0] == "python" { // flags after the program are its own
				if at := slices.IndexFunc(words[1:], func(w string) bool { return w == "--" || !strings.HasPrefix(w, "-") }); at >= 0 {
					shown = strings.Join(words[:at+1], " ")
				}
			}
			cmd, rest, err := commandTree().Find(strings.Fields(shown))
			if err != nil || len(rest) > 0 && cmd.HasAvailableSubCommands() && !strings.ContainsAny(rest[0], "|-[") && cmd.HasParent() {
				t.Errorf("%s: %q: no such command (%v)", page, shown, err)
				continue
			}
			cmd.InitDefaultHelpFlag()
			for _, m := range flag.FindAllStringSubmatch(shown, -1) {
				if cmd.Flags().Lookup(m[1]) == nil {
					t.Errorf("%s: %q: %s has no flag --%s", page, shown, cmd.CommandPath(), m[1])
				}
			}
		}
		if lines < 4 {
			t.Errorf("%s: %d command lines", page, lines)
		}
	}
}

// The README has six commands and five things to know.
func TestTheReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	section := func(title string) string {
		_, after, _ := strings.Cut(string(text), "\n## "+title+"\n")
		s, _, _ := strings.Cut(after, "\n## ")
		return s
	}
	if n := strings.Count(section("Six commands"), "\n    prismtop "); n != 6 {
		t.Errorf("%d commands", n)
	}
	if n := strings.Count(section("What to know"), "\n- "); n != 5 {
		t.Errorf("%d things to know", n)
	}
	if at := strings.Index(string(text), "!["); at < 0 || at > strings.Index(string(text), "\n## ") {
		t.Error("it does not start with the picture")
	}
}

// existsCommand returns an error if a command or one of its flags does not exist.
func existsCommand(words []string) error {
	found := commandTree()
	for _, word := range words {
		if name, isFlag := strings.CutPrefix(word, "--"); isFlag {
			if found.Flags().Lookup(name) == nil {
				return fmt.Errorf("%s has no flag %s", found.CommandPath(), word)
			}
			continue
		}
		at := slices.IndexFunc(found.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if at < 0 {
			return fmt.Errorf("%s has no command %s", found.CommandPath(), word)
		}
		found = found.Commands()[at]
	}
	return nil
}
