package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/compare"
	"prismtop/profiles/compare/recorded"
	"prismtop/profiles/machine"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/runs"
)

// againstFlags compare a run with recorded ones when it is over: for continuous integration.
type againstFlags struct {
	runs     []string
	markdown string
	limit    cli.ComparisonFlags
}

// phaseShare is the share of an iteration from which a phase counts for --fail-over.
const phaseShare = 0.05

func (f *againstFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.runs, "against", nil,
		"compare the run, when it is over, with this recording (prismtop docs ci); may be given again")
	f.limit.RegisterLimit(flags, phaseShare, "percentage, as 5%: with --against or --base, end with status 1 if the "+
		"step, or a phase that takes 5 % of it on either side, is slower by more, with its whole "+
		"interval; "+
		"with status 3 if that cannot be told")
	flags.StringVar(&f.markdown, "markdown", "", "file for the comparison as Markdown, for a pull request")
}

// check returns an error about flags that cannot be obeyed, before the program is started.
func (f *againstFlags) check(ctx context.Context, record *recordFlags) error {
	switch {
	case len(f.runs) == 0 && f.limit.Limited():
		return errors.New("flag --fail-over: needs --against and a recording, or --base and a folder")
	case len(f.runs) == 0 && f.markdown != "":
		return errors.New("flag --markdown: needs --against and a recording, or --base and a folder")
	case len(f.runs) == 0:
		return nil
	case record.off:
		return errors.New("flag --no-record: cannot be joined with --against")
	}
	if _, err := f.sides(ctx, f.runs[0]); err != nil {
		return fmt.Errorf("flag --against: %w", err)
	}
	return f.sound()
}

// sound returns an error about flags of what is written.
func (f *againstFlags) sound() error {
	if _, err := os.Lstat(f.markdown); err == nil && !atomicfile.Marked(f.markdown,
		atomicfile.Mark(compare.IsMarkdown)) {
		return fmt.Errorf("flag --markdown: %s exists and is no comparison", f.markdown)
	}
	return f.limit.Check()
}

// sides are the recordings of --against, and that of the run.
func (f *againstFlags) sides(ctx context.Context, run string) ([][]recorded.Recording, error) {
	return runs.ParseSides(ctx, append(slices.Clone(f.runs), ":", run))
}

// judge compares a run with those of --against, and writes what came out. The error is its verdict.
func (f *againstFlags) judge(cmd *cobra.Command, recorded string, quiet bool) error {
	if len(f.runs) == 0 {
		return nil
	}
	if recorded == "" {
		return cli.Undecided(errors.New("flag --against: the run was not recorded, so it cannot be compared"))
	}
	sides, err := f.sides(cmd.Context(), recorded)
	if err != nil {
		return fmt.Errorf("flag --against: %w", err)
	}
	c, damaged, err := runs.Compare(cmd.Context(), sides, compare.Options{MaxForeign: machine.Quiet})
	if err != nil {
		return errors.Join(damaged, fmt.Errorf("flag --against: %w", err))
	}
	out := cmd.OutOrStdout()
	if quiet { // standard output has one JSON object
		out = cmd.ErrOrStderr()
	}
	return errors.Join(f.write(c), damaged, f.limit.Write(out, "python", c))
}

// write writes the comparison as Markdown, in place of an earlier one, if that is asked for.
func (f *againstFlags) write(c *compare.Comparison) error {
	if f.markdown == "" {
		return nil
	}
	err := atomicfile.WriteFrom(f.markdown, 0o644, func(w io.Writer) error { return compare.WriteMarkdown(w, c) })
	if err != nil {
		return fmt.Errorf("flag --markdown: %s: %w", f.markdown, err)
	}
	return nil
}
