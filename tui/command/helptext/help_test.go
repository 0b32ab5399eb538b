package helptext

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"prismtop/tui/monospace"
)

// Lines of help are broken neither within a flag or a value nor between the two, and examples can be typed.
func TestHelpKeepsWordsWhole(t *testing.T) {
	cmd := &cobra.Command{
		Use: "train", Run: func(*cobra.Command, []string) {},
		Long:    "Checked before anything runs. Without --skip-failed the first task that fails ends it, and --resume FILE goes on with key=value.",
		Example: "train\ntrain --config tasks.csv --output results/train-benchmark.json --rounds 6 --compare --headless",
	}
	cmd.Flags().Duration("checkpoint-every", 60e9, "time between two checkpoints, as --max-time has it; and so on")
	for width := 32; width <= 100; width++ {
		p := helpPage{width: width}
		p.command(cmd)
		lines := strings.Split(p.text.String(), "\n")
		words := map[string]bool{}
		for _, line := range lines {
			if monospace.Width(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%d: the line has %d cells: %q", width, monospace.Width(line), line)
			}
			for _, word := range strings.Fields(line) {
				words[word] = true
			}
		}
		text := p.text.String()
		for _, whole := range []string{"--skip-failed", "--max-time", "key=value."} {
			if !words[whole] {
				t.Errorf("%d: %s is broken:\n%s", width, whole, text)
			}
		}
		if width < 48 {
			continue // too narrow for some pairs
		}
		for _, pair := range []string{"--resume FILE", "(default 1m0s)", "--config tasks.csv", "--output results/train-benchmark.json", "--rounds 6"} {
			if !strings.Contains(text, pair) {
				t.Errorf("%d: %q is broken:\n%s", width, pair, text)
			}
		}
		typed := strings.Join(strings.Fields(strings.ReplaceAll(text, " \\\n", " ")), " ")
		if !strings.Contains(typed, "train "+strings.TrimPrefix(strings.Split(cmd.Example, "\n")[1], "train ")) {
			t.Errorf("%d: the example cannot be typed:\n%s", width, text)
		}
	}
}
