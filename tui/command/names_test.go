package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"prismtop/tui/command/cli"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// hostile is a name that would set a terminal's title, reverse the direction of its text, clear
// the screen and start another line.
const hostile = "x\x1b]0;owned\x07\u202e\u009b2J\r\ny"

// skipStarts skips a test that starts a program for each of many cases, under the race detector, where
// each takes a second to start and what its goroutines do is tested by sessions and by their packages.
func skipStarts(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: many programs, which take a second each to start under the race detector")
	}
}

// Text from the user, file names and the environment reaches the terminal in escaped form.
func TestNoNameSteersTheTerminal(t *testing.T) {
	skipStarts(t)
	pictured := t.TempDir()
	if err := pictures(pictured); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(pictured, "good.png"))
	if err != nil {
		t.Fatal(err)
	}
	short := append(strings.Fields(tiny), "--max-iterations", "3")
	run := func(args ...string) []string { return slices.Concat([]string{"run"}, args, short) }
	for name, c := range map[string]struct {
		args []string
		env  string
		fine bool // not an error
	}{
		"command":         {args: []string{hostile}},
		"argument":        {args: []string{"run", hostile}},
		"flag":            {args: []string{"run", "--" + hostile}},
		"help":            {args: []string{"help", hostile}},
		"image":           {args: []string{"run", "--headless", "--image", hostile}},
		"folder as image": {args: []string{"run", "--headless", "--image", "folder" + hostile}},
		"text as image":   {args: []string{"run", "--headless", "--image", "text" + hostile}},
		"config":          {args: []string{"run", "--headless", "--config", hostile}},
		"wrong config":    {args: []string{"run", "--headless", "--config", "text" + hostile}},
		"preset":          {args: []string{"run", "--headless", "--preset", hostile}},
		"set":             {args: []string{"run", "--headless", "--set", hostile + "=1"}},
		"value":           {args: []string{"run", "--headless", "--set", "radius=" + hostile}},
		"theme":           {args: []string{"run", "--theme", hostile}},
		"save":            {args: []string{"run", "--headless", "--save", hostile + "/a"}},
		"environment":     {args: []string{"run", "--headless"}, env: "PRISMTOP_RADIUS=" + hostile},
		"its name":        {args: []string{"run", "--headless"}, env: "PRISMTOP_" + hostile + "=1"},
		"its preset":      {args: []string{"run", "--headless"}, env: "PRISMTOP_PRESET=" + hostile},
		"verify":          {args: []string{"verify", hostile}},
		"verify text":     {args: []string{"verify", "text" + hostile}},
		"verify as JSON":  {args: []string{"verify", "--json", "text" + hostile}},
		"bench peer":      {args: []string{"bench", "peer", hostile, "--python", "false"}},
		"its interpreter": {args: []string{"bench", "peer", "a.py", "--python", hostile}},
		"its words":       {args: []string{"bench", "peer", hostile, "--only", "["}},
		"bench ablation":  {args: []string{"bench", "ablation", "--only", hostile}},
		"its factors":     {args: []string{"bench", "ablation", "--factorial", "amp," + hostile}},
		"bench scaling":   {args: []string{"bench", "scaling", "--set", hostile}},
		"patterns":        {args: []string{"bench", "ptycho", "--data", "text" + hostile}},
		"their weights":   {args: []string{"bench", "ptycho", "--weights", hostile}},
		"batch sizes":     {args: []string{"bench", "ptycho", "--batch-sizes", hostile}},
		"the log":         {args: run("--headless", "--image", "good"+hostile), fine: true},
		"lines":           {args: run("--lines", "--image", "good"+hostile), fine: true},
		"JSON":            {args: run("--json", "--image", "good"+hostile), fine: true},
		"saved":           {args: run("--headless", "--save", "saved"+hostile), fine: true},
		"origins":         {args: []string{"presets", "show", "--config", "config" + hostile, "--image", hostile}, fine: true},
		"the terminal":    {args: []string{"doctor"}, env: "TERM=" + hostile, fine: true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, data := range map[string][]byte{"text": []byte("\x1b[31m = " + hostile), "good": good, "config": []byte("seed = 2\n")} {
				if err := os.WriteFile(filepath.Join(folder, file+hostile), data, 0o600); err != nil {
					t.Skipf("skipped: no such names here: %v", err)
				}
			}
			if err := os.Mkdir(filepath.Join(folder, "folder"+hostile), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("prismtop", c.args...)
			cmd.Dir, cmd.Env = folder, append(os.Environ(), "XDG_CACHE_HOME="+folder, c.env)
			text, err := cmd.CombinedOutput()
			if (err == nil) != c.fine {
				t.Errorf("ended with %v", err)
			}
			for _, r := range string(text) {
				if r != '\n' && !unicode.IsGraphic(r) {
					t.Fatalf("%q reaches the terminal: %q", r, text)
				}
			}
			if strings.Contains(string(text), "\ny") {
				t.Errorf("a name goes on on a line of its own:\n%s", text)
			}
		})
	}
}

func TestErrorsStandOnOneLine(t *testing.T) {
	full := errors.New("saving moon.npy: no space left on device")
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{cli.ErrInterrupted, ""},
		{fmt.Errorf("bench: %w", context.Canceled), ""},
		{errors.Join(cli.ErrInterrupted, full), full.Error()},
		{errors.Join(errors.New("diverged"), full), "diverged; " + full.Error()},
		{cli.BadUsage(errors.Join(errors.New("a\nb"), errors.Join(nil, errors.New("c")))), `a\nb; c`},
		{fmt.Errorf("run.sqlite: %w", errors.Join(errors.New("damaged"), full)), "run.sqlite: damaged; " + full.Error()},
		{fmt.Errorf("%w and %w", full, errors.New("\x1b")), full.Error() + ` and \x1b`},
	} {
		if got := cli.ErrorLine(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
