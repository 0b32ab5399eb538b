package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"prismtop/profiles/compare"
	"prismtop/profiles/compare/recorded"
	"prismtop/profiles/machine"
	"prismtop/tui/command/cli"
)

// CompareCommand returns the command compare.
func CompareCommand() *cobra.Command {
	var out cli.ComparisonFlags
	var o compare.Options
	var look cli.Look
	var asText bool
	cmd := &cobra.Command{
		Use: "compare RUN RUN…", Short: "Compare recorded runs, or stretches of them", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.Check(); err != nil {
				return cli.BadUsage(err)
			}
			if !(o.MaxForeign >= 0 && o.MaxForeign <= 1) {
				return cli.BadUsage(fmt.Errorf("flag --max-foreign: %g: must be from 0 to 1", o.MaxForeign))
			}
			args, done, err := cli.Traces(cmd.Context(), args)
			if err != nil {
				return fmt.Errorf("compare: %w", err)
			}
			defer done()
			sides, err := ParseSides(cmd.Context(), args)
			if err != nil {
				if err = fmt.Errorf("compare: %w", err); errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return cli.BadUsage(err)
			}
			options, err := look.Options(cmd.Flags())
			if err != nil {
				return err
			}
			if !asText && !out.Printed() && cli.OnTerminal() {
				if err := cli.ReadKeys(cmd.Context(), &options); err != nil {
					return err
				}
				return compareNamed(cmd.Context(), recordings{sides, o}, options)
			}
			c, damaged, err := Compare(cmd.Context(), sides, o)
			if err != nil {
				if cmd.Context().Err() != nil {
					return cli.ErrInterrupted
				}
				return fmt.Errorf("compare: %w", err)
			}
			return errors.Join(out.Write(cmd.OutOrStdout(), "compare", c), damaged)
		},
	}
	out.Register(cmd.Flags())
	cmd.Flags().BoolVar(&asText, "text", false, "print text, on a terminal too")
	look.Register(cmd.Flags())
	cmd.Flags().Float64Var(&o.MaxForeign, "max-foreign", machine.Quiet,
		"share of the processors, from 0 to 1, that other programs may take in a block of half a second")
	return cmd
}

// ParseSides reads the recordings to compare: each argument is a side, or those between colons.
func ParseSides(ctx context.Context, args []string) (sides [][]recorded.Recording, err error) {
	grouped := slices.Contains(args, ":")
	side := []recorded.Recording{}
	end := func() error {
		if len(side) == 0 {
			return errors.New("a side has no recording: RUN… : RUN…")
		}
		sides, side = append(sides, side), nil
		return nil
	}
	for _, arg := range args {
		if arg != ":" {
			r, err := parseRecording(ctx, arg)
			if err != nil {
				return nil, err
			}
			side = append(side, r)
			if grouped {
				continue
			}
		}
		if err := end(); err != nil {
			return nil, err
		}
	}
	if grouped {
		if err := end(); err != nil {
			return nil, err
		}
	}
	if len(sides) < 2 {
		return nil, errors.New("wants two recordings or more; prismtop runs lists them")
	}
	return sides, nil
}

// parseRecording reads a recording with its stretch.
func parseRecording(ctx context.Context, arg string) (recorded.Recording, error) {
	name, stretch, err := compare.ParseArgument(arg, func(name string) bool {
		path, err := cli.RecordingNamed(ctx, name)
		if err == nil {
			_, err = os.Lstat(path)
		}
		return !errors.Is(err, fs.ErrNotExist)
	})
	if err != nil {
		return recorded.Recording{}, err
	}
	path, err := cli.RecordingNamed(ctx, name)
	if err != nil {
		return recorded.Recording{}, err
	}
	short := fileName(path)
	if asked := fileName(name); asked != short { // it is the name that the user gave
		short = name
	}
	if s := stretch.String(); s != "" {
		short += "@" + s
	}
	return recorded.Recording{Path: path, Name: short, Stretch: stretch}, nil
}

// Compare reads the recordings of two or more sides, the base first, and compares them. damaged reports
// parts that could not be read and are left out.
func Compare(ctx context.Context, sides [][]recorded.Recording, o compare.Options) (c *compare.Comparison, damaged,
	err error) {
	distinct(sides)
	var names []string
	var samples [][]*compare.Sample
	for _, side := range sides {
		var of []*compare.Sample
		for _, r := range side {
			s, err := recorded.Read(ctx, r, cli.TableOf)
			if s == nil || ctx.Err() != nil {
				return nil, nil, err
			}
			damaged = errors.Join(damaged, err)
			of = append(of, s)
		}
		name := side[0].Name
		if len(side) > 1 {
			name += fmt.Sprintf(" and %d more", len(side)-1)
		}
		names, samples = append(names, name), append(samples, of)
	}
	c, err = compare.Compare(names, samples, o)
	return c, damaged, err
}

// distinct names different files of one name by their paths.
func distinct(sides [][]recorded.Recording) {
	paths := map[string]string{}
	alike := map[string]bool{}
	for _, side := range sides {
		for _, r := range side {
			if other, ok := paths[r.Name]; ok && other != r.Path {
				alike[r.Name] = true
			}
			paths[r.Name] = r.Path
		}
	}
	for _, side := range sides {
		for i := range side {
			if r := &side[i]; alike[r.Name] {
				if r.Name = r.Path; r.Stretch.String() != "" {
					r.Name += "@" + r.Stretch.String()
				}
			}
		}
	}
}
