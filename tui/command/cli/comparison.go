package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/compare"
	"prismtop/profiles/export"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/bench/builds"
	"prismtop/tui/terminal"
)

// ComparisonFlags are the flags of commands that print a comparison.
type ComparisonFlags struct {
	JSON     bool
	Markdown bool
	failOver string
	limit    float64 // a share; 0 for none
	limited  bool
	share    float64 // of the base's iteration, from which on a phase counts for the limit; 0 if every number does
}

// RegisterLimit defines --fail-over alone, with its help. Of the comparison the times alone count for it, and of the
// phases those that take a share of the base's iteration: what is short differs by itself.
func (f *ComparisonFlags) RegisterLimit(flags *pflag.FlagSet, share float64, help string) {
	f.share = share
	flags.StringVar(&f.failOver, "fail-over", "", help)
}

// Limited reports whether --fail-over was given.
func (f *ComparisonFlags) Limited() bool { return f.failOver != "" }

// over returns what of a comparison is over the limit, and why that cannot be told.
func (f *ComparisonFlags) over(c *compare.Comparison) (over []compare.OverLimit, undecided string) {
	switch {
	case !f.limited:
		return nil, ""
	case f.share > 0:
		return c.Slowed(f.limit, f.share), c.Undecided(f.limit)
	}
	return c.Over(f.limit), c.Undecided(f.limit)
}

// Verdict is what --fail-over says of a comparison: an error names what is worse by more, or says that this cannot be
// told.
func (f *ComparisonFlags) Verdict(command string, c *compare.Comparison) error {
	switch over, undecided := f.over(c); {
	case len(over) > 0:
		return fmt.Errorf("%s: worse by more than %g %%: %s", command, 100*f.limit, WorseRows(c, over))
	case undecided != "":
		return Undecided(fmt.Errorf("%s: whether anything is worse by more than %g %% cannot be told: %s", command,
			100*f.limit, undecided))
	}
	return nil
}

// Register defines the flags.
func (f *ComparisonFlags) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.JSON, "json", false, "one JSON object (prismtop docs compare)")
	flags.BoolVar(&f.Markdown, "markdown", false, "Markdown, to be mailed or pasted")
	flags.StringVar(&f.failOver, "fail-over", "",
		"percentage, as 10%: end with status 1 if a number is worse than the base's by more, with its whole interval; "+
			"with status 3 if that cannot be told")
}

// Printed reports whether a flag asks for something to be printed, instead of a screen.
func (f *ComparisonFlags) Printed() bool { return f.JSON || f.Markdown || f.failOver != "" }

// Check checks the flags.
func (f *ComparisonFlags) Check() error {
	if f.JSON && f.Markdown {
		return errors.New("flag --markdown: cannot be joined with --json")
	}
	if f.failOver == "" {
		return nil
	}
	percent, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(f.failOver), "%")), 64)
	if err != nil || !(percent >= 0 && percent <= 10_000) {
		return fmt.Errorf("flag --fail-over: %q: must be a percentage of at least 0, as 10%%", f.failOver)
	}
	f.limit, f.limited = percent/100, true
	return nil
}

// WorseRows lists what is worse, side by side.
func WorseRows(c *compare.Comparison, over []compare.OverLimit) string {
	var sides []string
	for side := range c.Sides {
		var rows []string
		for _, o := range over {
			if o.Side == side {
				by := cmp.Or(strings.TrimSpace(o.Row.Interval(side-1)), strings.TrimSpace(o.Row.Change(side-1)))
				rows = append(rows, visible.Text(o.Row.Title)+" "+by)
			}
		}
		if len(rows) > 0 {
			sides = append(sides, visible.Text(c.Sides[side].Name)+": "+strings.Join(rows, ", "))
		}
	}
	return strings.Join(sides, "; ")
}

// Write writes a comparison as the flags say. The error says what is worse than --fail-over allows, or
// that this cannot be told.
func (f *ComparisonFlags) Write(w io.Writer, command string, c *compare.Comparison) error {
	return cmp.Or(f.Print(w, c), f.Verdict(command, c))
}

// Print is Write without the verdict, which is none for a comparison that was interrupted.
func (f *ComparisonFlags) Print(w io.Writer, c *compare.Comparison) error {
	switch {
	case f.JSON:
		over, undecided := f.over(c)
		return export.WriteObject(w, c.JSON(Version, over, undecided))
	case f.Markdown:
		return compare.WriteMarkdown(w, c)
	}
	return compare.WriteText(w, c, terminal.Columns(w))
}

// sayEvery is the time between two lines of progress where they are not written over.
const sayEvery = 30 * time.Second

// CompareByTurns runs two programs by turns and compares them, with its progress on a terminal. A comparison beside
// ErrInterrupted is that of the rounds so far.
func CompareByTurns(cmd *cobra.Command, o builds.Options) (*compare.Comparison, error) {
	o.Tables, o.Seed = TableOf, rand.Uint64()
	rounds := 0
	o.Progress = func(done, _ int) { rounds = done }
	if !Quiet(cmd) {
		began, terminal := time.Now(), term.IsTerminal(os.Stderr.Fd())
		said := began
		o.Added = func(all int, turn time.Duration) {
			if terminal {
				fmt.Fprintln(cmd.ErrOrStderr())
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%sturns had too few steps: another start makes up for them, with turns of "+
				"%s; there are now %d rounds, beyond the time that was asked for\n", prefix(cmd), turn, all)
		}
		o.Progress = func(done, all int) {
			rounds = done
			left := time.Since(began) / time.Duration(done) * time.Duration(all-done) // with the starts still to come
			switch {
			case terminal:
				fmt.Fprintf(cmd.ErrOrStderr(), "\r%d of %d rounds, about %s left ", done, all, left.Round(time.Second))
			case done == all/o.Starts || time.Since(said) >= sayEvery:
				said = time.Now()
				fmt.Fprintf(cmd.ErrOrStderr(), "%s%d of %d rounds, about %s left\n", prefix(cmd), done, all,
					left.Round(time.Second))
			}
		}
		if terminal {
			defer fmt.Fprintln(cmd.ErrOrStderr())
		}
	}
	c, err := builds.Compare(cmd.Context(), o)
	switch {
	case cmd.Context().Err() != nil && c == nil:
		fmt.Fprintf(Notes(cmd), "%sinterrupted after %s: too few to compare\n", prefix(cmd),
			unit.Plural(rounds, "round", "rounds"))
		return nil, ErrInterrupted
	case cmd.Context().Err() != nil:
		fmt.Fprintf(Notes(cmd), "%sinterrupted after %s, which are compared\n", prefix(cmd),
			unit.Plural(rounds, "round", "rounds"))
		return c, ErrInterrupted
	case err != nil:
		return nil, fmt.Errorf("%s%w", prefix(cmd), err)
	}
	return c, nil
}
