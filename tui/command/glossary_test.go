package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles/profilestest"
)

// glossary is the page that lists the names. Its last column lists names that are not used.
const glossary = "../../docs/glossary.md"

// quoting lists the texts that quote others: documents of PRISM and CytoDL, options of PyTorch.
var quoting = map[string]bool{
	"docs/glossary.md": true, "docs/coverage.md": true,
	"docs/performance.md":       true, // PyTorch's Adam(fused=True)
	"sim/bench/peer/work.go":    true,
	"sim/cyto/tasks/variant.go": true,
}

// One idea has one name in everything that a user reads: no page and no text of the program has a name
// that the glossary rules out.
func TestOneIdeaHasOneName(t *testing.T) {
	profilestest.OneGoroutine(t)
	page, err := os.ReadFile(glossary)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{} // forbidden → right
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(strings.TrimSpace(line), "|")
		if len(columns) != 6 || strings.HasPrefix(columns[1], "---") || strings.TrimSpace(columns[1]) == "Name" {
			continue
		}
		for name := range strings.SplitSeq(columns[4], ",") {
			if name = strings.TrimSpace(name); name != "" {
				names[strings.ToLower(name)] = strings.TrimSpace(columns[1])
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("the glossary rules out %d names: %v", len(names), names)
	}
	var all []string
	for name := range names {
		all = append(all, regexp.QuoteMeta(name))
	}
	forbidden := regexp.MustCompile(`(?i)(^|[^\w-])(` + strings.Join(all, "|") + `)($|[^\w-])`)
	look := func(where, text string) {
		for _, m := range forbidden.FindAllStringSubmatchIndex(text, -1) {
			name := text[m[4]:m[5]]
			t.Errorf("%s: %q in %q: the name is %q", where, name, text[max(0, m[4]-40):min(len(text), m[5]+40)], names[strings.ToLower(name)])
		}
	}

	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, "../../README.md", "../../CHANGELOG.md", "../../docs/prismtop.1") {
		name, _ := filepath.Rel("../..", path)
		if quoting[name] {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		look(name, strings.Join(strings.Fields(string(text)), " "))
	}
	for _, room := range []string{"tui", "sim", "profiles", "gpu"} {
		err := filepath.WalkDir("../../"+room, func(path string, _ fs.DirEntry, err error) error {
			name, _ := filepath.Rel("../..", path)
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || quoting[name] {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					text, _ := strconv.Unquote(l.Value)
					look(name+":"+strconv.Itoa(files.Position(l.Pos()).Line), text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
