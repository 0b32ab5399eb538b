package keys

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// keyNames are what a sentence does not say: "R starts another", "press E", "the key A", "shows them (P)". The
// article A and the pronoun I need a verb that only a key has.
var keyNames = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|[ (“"])(?:[B-HJ-Zb-z]|[][!#$%&'*+,./:;<=>?@^_{}~]) (?:starts?|stops|asks|takes|hands|shows|lists|sets|switches|times|zooms|chooses|undoes|closes|restarts|saves|quits|steps|pauses|forks|sorts|cancels|leaves|replicates|changes|begins|opens|keeps|gives|enables|adds)\b`),
	regexp.MustCompile(`(?:^|[ (“"])[AI] (?:starts?|stops|asks|takes|hands|switches|offers)\b`),
	regexp.MustCompile(`\b[Pp]ress [A-Za-z](?:[^A-Za-z]|$)`),
	regexp.MustCompile(`\b[Kk]eys? [B-HJ-Zb-z,.](?: |$)`),
	regexp.MustCompile(` \((?:[A-RT-Za-mo-rt-z])(?: [A-Z])*\)`),
	regexp.MustCompile(` · [A-Za-z,.] [a-z]+s\b`),
}

// exceptions are sentences that name no key, or one that cannot be changed there, with the reason.
var exceptions = map[string]string{
	"\nA line in %s, such as pause = \"z\", gives an action another key.\n":                                   "an example of the file",
	"A start with --max-time, or with fewer iterations, ends sooner; {interrupt|an interrupt} ends this one.": "the article",
	": takes up to ": "the colon",
}

// A sentence asks for its key: none outside this package names one.
func TestNoSentenceNamesAKey(t *testing.T) {
	used := map[string]bool{}
	check := func(path, text string) {
		for _, name := range keyNames {
			found := name.FindString(text)
			if found == "" {
				continue
			}
			if exceptions[text] != "" {
				used[text] = true
				continue
			}
			t.Errorf("%s: %q names a key: %q", path, text, found)
			return
		}
	}
	for _, root := range []string{"tui", "profiles", "sim"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || path == filepath.Join("..", "..", "tui", "keys")):
				return filepath.SkipDir
			case d.Name() == "explain.md":
				text, err := os.ReadFile(path)
				for paragraph := range strings.SplitSeq(string(text), "\n\n") {
					check(path, strings.Join(strings.Fields(paragraph), " "))
				}
				return err
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, _ := strconv.Unquote(literal.Value)
					check(path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for text := range exceptions {
		if !used[text] {
			t.Errorf("the exception %q is not needed", text)
		}
	}
	for _, named := range []string{"; R starts another", "press E", "P shows them.", " · u undoes · , closes", "shown (P)", "this screen only watches; I asks for control", "? lists the keys", "the key , sets more"} {
		if !slices.ContainsFunc(keyNames, func(r *regexp.Regexp) bool { return r.MatchString(named) }) {
			t.Errorf("%q is not noticed", named)
		}
	}
}
