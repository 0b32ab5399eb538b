package stats

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The cases come from wrong verdicts: "no effect" of [-48, +82] %, "less than claimed" of 1.94 [0.71, 5.25] beside 2
// to 5, and an optimum of 4 "less than claimed" beside 64 to 128 while the fastest size may be any from 1 to 256.
func TestWhatAnIntervalAllowsToSay(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		name      string
		claim     Claim
		low, high float64
		want      Finding
	}{
		{"an effect far from known", Zero(0.01), -0.481, 0.821, Undecided},
		{"a speed-up far from known", Claim{2, 5, 0}, 0.71, 5.25, Undecided},
		{"an optimum far from known", Claim{64, 128, 0}, 1, 256, Undecided},
		{"an interval that touches the claim's end", Claim{2, 5, 0}, 5, 6, Undecided},
		{"an interval up to the claim", AtLeast(3), 2.9, 3, Undecided},
		{"faster", Zero(0.01), -0.05, -0.02, Below},
		{"faster, and nearly without effect", Zero(0.01), -0.05, -0.0001, Below},
		{"slower", Zero(0.01), 0.001, 0.2, Above},
		{"no effect, within the margin", Zero(0.01), -0.01, 0.01, Within},
		{"an effect within the margin", Zero(0.01), 0.002, 0.008, Within},
		{"no effect, without a margin", Zero(0), 0, 0, Within},
		{"an exact effect, without a margin", Zero(0), 0.001, 0.001, Above},
		{"a range, held", Claim{2, 5, 0}, 2.5, 4, Within},
		{"a range, missed", Claim{2, 5, 0}, 1.2, 1.9, Below},
		{"a range, exceeded", Claim{2, 5, 0}, 5.1, 9, Above},
		{"a number, within its margin", Claim{2, 2, 0.2}, 1.85, 2.1, Within},
		{"a number that is excluded, and within its margin", Claim{2, 2, 0.2}, 1.85, 1.95, Within},
		{"a number, missed", Claim{2, 2, 0.2}, 1.5, 1.9, Below},
		{"a number, or not", Claim{2, 2, 0.2}, 1.5, 2.5, Undecided},
		{"at least, shown", AtLeast(3), 3, 4, Within},
		{"at least, excluded", AtLeast(3), 2, 2.9, Below},
		{"at most, shown", AtMost(5), 1, 5, Within},
		{"at most, excluded", AtMost(5), 5.1, 6, Above},
		{"too few for an interval", Zero(1), -inf, inf, Undecided},
		{"half an interval", AtMost(5), -inf, 1, Undecided},
		{"half an interval above", AtLeast(5), 6, inf, Undecided},
		{"no interval", Zero(inf), nan, nan, Undecided},
	} {
		got := tt.claim.Judge(tt.low, tt.high)
		if got != tt.want || got.Excluded() != (tt.want == Below || tt.want == Above) {
			t.Errorf("%s: %v of [%g, %g] is %d, want %d", tt.name, tt.claim, tt.low, tt.high, got, tt.want)
		}
	}
}

// ends are the names that ends of intervals have in this program.
var ends = []string{"Low", "High", "QualityLow", "QualityHigh", "BeyondLow", "BeyondHi", "SavedLow", "SavedHigh", "P10", "P90"}

// unjudged are the comparisons of such ends that word no verdict, by file.
var unjudged = map[string]string{
	"profiles/loop/greeting.go":       "whether a knob has a range",
	"profiles/criteria/criteria.go":   "how wide an interval is",
	"profiles/criteria/live.go":       "whether a ratio has an inverse",
	"tui/words/caches.go":             "how wide an interval is",
	"profiles/recommend/recommend.go": "priorities by the least that is saved",
}

// No other place compares an end of an interval with a number: it asks a Claim.
func TestIntervalsAreJudgedHereOnly(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	for _, folder := range []string{"profiles", "sim", "tui", "gpu"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				b, ok := n.(*ast.BinaryExpr)
				if !ok || !slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, b.Op) || !isEnd(b.X) && !isEnd(b.Y) {
					return true
				}
				if seen[name] = true; unjudged[name] == "" && name != "profiles/stats/claim.go" {
					t.Errorf("%s compares the end of an interval: a Claim judges it", files.Position(b.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range unjudged {
		if !seen[name] {
			t.Errorf("%s compares no end of an interval any more", name)
		}
	}
}

// isEnd reports whether an expression is an end of an interval, or is made of one.
func isEnd(e ast.Expr) (is bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			is = is || slices.Contains(ends, n.Sel.Name)
		case *ast.CallExpr: // of its arguments something else is made
			fun, ok := n.Fun.(*ast.Ident)
			return ok && (fun.Name == "max" || fun.Name == "min")
		}
		return true
	})
	return is
}
