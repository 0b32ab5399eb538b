package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/machine"
	"prismtop/sim/bench/builds"
	"prismtop/tui/command/cli"
)

// tiedFlag is the flag by which a program that runs by turns is killed with the prismtop that watches it: nobody would
// continue one that is stopped.
const tiedFlag = "tied"

// With --base, two checkouts of a program run by turns.
const (
	turnsTime   = time.Minute      // of all turns together, unless --max-time says otherwise
	leastStarts = 4                // of both programs
	mostStarts  = 32               // in four minutes of turns
	turnsWithin = 10 * time.Minute // until a program has taken its first steps: it may compile its model
)

// passedOn are the flags that apply to both programs, withBase the others that may be joined with --base.
var passedOn, withBase = []string{"python", "module", "set", "nvtx", keepMemoryFlag},
	[]string{"base", "max-time", "fail-over", "markdown", "json", "headless", "quiet"}

// byTurns runs the program of the current folder and that of the base by turns, and compares them.
func (f *pythonFlags) byTurns(cmd *cobra.Command, args []string) error {
	arguments, err := f.turnsFlags(cmd, args)
	if err != nil {
		return cli.BadUsage(err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	then := args
	if cmd.ArgsLenAtDash() == 0 {
		then = append([]string{"--"}, args...)
	}
	length := turnsTime
	if cmd.Flags().Changed("max-time") {
		length, _ = cmd.Flags().GetDuration("max-time")
	}
	starts := min(max(leastStarts, int(8*length/turnsTime)), mostStarts)
	o := builds.Options{Starts: starts, Time: length, Within: turnsWithin}
	for i, folder := range [2]string{f.base, "."} {
		name, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		o.Programs[i] = builds.Program{Name: name, Path: self, Folder: folder, Arguments: arguments, Then: then}
	}
	if f.keepsMemory(cmd) {
		fmt.Fprintln(cli.Notes(cmd), "prismtop: both programs are started with --keep-memory, so that they "+
			"differ less from start to start: glibc's malloc keeps the memory that they free (--"+keepMemoryFlag+
			"=false leaves it alone)")
	}
	fmt.Fprintf(cli.Notes(cmd), "prismtop: both programs are started %d times, and run by turns for %s in all; "+
		"how long that takes is said after the first start\n", starts, length)
	c, err := cli.CompareByTurns(cmd, o)
	if c == nil {
		return err
	}
	f.against.limit.JSON = f.json
	if err != nil {
		return errors.Join(f.against.write(c), f.against.limit.Print(cmd.OutOrStdout(), c), err)
	}
	return errors.Join(f.against.write(c), f.against.limit.Write(cmd.OutOrStdout(), "python", c))
}

// keepsMemory reports whether malloc keeps the memory that both programs free, which it does unless told otherwise.
func (f *pythonFlags) keepsMemory(cmd *cobra.Command) bool {
	return f.keepMemory || !cmd.Flags().Changed(keepMemoryFlag)
}

// turnsFlags checks the flags and the program, and returns the arguments of both prismtops before the program.
func (f *pythonFlags) turnsFlags(cmd *cobra.Command, args []string) (arguments []string, err error) {
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(withBase, flag.Name) && !slices.Contains(passedOn, flag.Name) {
			err = fmt.Errorf("flag --%s: cannot be joined with --base, which keeps nothing but the comparison",
				flag.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	if _, _, err := f.commandLine(cmd, args); err != nil {
		return nil, err
	}
	if !machine.SeesDescendants {
		return nil, errors.New("flag --base: what a program has started cannot be stopped with it on this system: " +
			"must be Linux")
	}
	script := ""
	if cmd.ArgsLenAtDash() != 0 && !f.module {
		script = args[0]
	}
	switch at, err := os.Stat(filepath.Join(f.base, script)); {
	case filepath.IsAbs(script):
		return nil, fmt.Errorf("python: %s: with --base, the script must be named as it is from both folders, such as "+
			"%s", script, filepath.Base(script))
	case err != nil:
		return nil, fmt.Errorf("flag --base: %w", err)
	case script == "" && !at.IsDir():
		return nil, fmt.Errorf("flag --base: %s: must be a folder", f.base)
	}
	_, err = f.soundSettings(cmd)
	if err = errors.Join(f.against.sound(), err); err != nil {
		return nil, err
	}
	arguments = []string{"python", "--" + tiedFlag}
	if f.module {
		arguments = append(arguments, "--module")
	}
	if f.nvtx {
		arguments = append(arguments, "--nvtx")
	}
	if f.keepsMemory(cmd) {
		arguments = append(arguments, "--"+keepMemoryFlag)
	}
	if python := f.python; python != "" {
		if strings.ContainsRune(python, filepath.Separator) { // of this folder, for both
			if python, err = filepath.Abs(python); err != nil {
				return nil, err
			}
		}
		arguments = append(arguments, "--python", python)
	}
	for _, set := range f.Sources.Sets {
		arguments = append(arguments, "--set", set)
	}
	return arguments, nil
}
