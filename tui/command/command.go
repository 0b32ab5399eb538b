// Package command implements the command line of prismtop: the commands with their flags, help,
// errors and exit statuses. It is the only package that knows all parts of the program, and it
// connects runs, their records and the screen.
package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"prismtop/profiles/machine"
	"prismtop/tui/command/bench"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/runs"
	"prismtop/tui/command/sessions"
)

// Main runs the command line of the process and returns its exit status. pages has the program's documentation and
// licences, at their paths in the repository.
func Main(pages fs.FS) int {
	if err := checkLimits(); err != nil {
		fmt.Fprintln(os.Stderr, "prismtop: "+cli.ErrorLine(err))
		return cli.StatusFailed
	}
	machine.ShareProcessors()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A reader of standard output that goes away ends no run: writing to it is an error like any other. The signal is
	// caught and not ignored, which programs that are started would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root := rootCommand(pages)
	addCompletion(root)
	root.SetArgs(os.Args[1:])
	out, errs := cli.NewOutlet(ctx.Done(), os.Stdout), cli.NewOutlet(ctx.Done(), os.Stderr)
	root.SetOut(out)
	root.SetErr(errs)
	begun := false
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		begun = true
		out.Obey(cmd.Flags())
		errs.Obey(cmd.Flags())
		out.Document(cmd.Flags())
	}
	var helped error
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { helped = help(cmd) })
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		err = helped
	case !begun:
		err = cli.BadUsage(err)
	}
	err = fromDocuments(os.Args[1:], err)
	if errors.Is(err, cli.ErrGivenUp) && ctx.Err() != nil {
		err = cli.ErrInterrupted
	}
	if line := cli.ErrorLine(err); line != "" {
		fmt.Fprintln(cli.NewOutlet(cli.Ending(), os.Stderr), "prismtop: "+line)
	}
	return cli.ExitStatus(err)
}

// addCompletion adds Cobra's command for shell completions, and makes it reject unknown shells.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args = cli.NoArguments
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// rootCommand returns the command prismtop with all subcommands.
func rootCommand(pages fs.FS) *cobra.Command {
	root := runCommand()
	root.Use = "prismtop"
	root.Short = "Watch and tune PRISM's progressive reconstruction while it runs"
	root.AddCommand(manualCommand(), sessions.WakeCommand())
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Run", []*cobra.Command{runCommand(), pythonCommand(), ptychoCommand(), cytoCommand(), presetsCommand(), settingsCommand()}},
		{"Sessions, which outlive their terminal", []*cobra.Command{sessions.Command(), attachCommand(), sessions.StopCommand(), serveCommand()}},
		{"Recordings", []*cobra.Command{runs.Command(runs.Actions{Replay: replayOnScreen, Export: exportTo}), replayCommand(), runs.CompareCommand(), exportCommand(), weightsCommand()}},
		{"Measurements", []*cobra.Command{bench.Command(sweepOfSuite), sweepCommand(), verifyCommand(), doctorCommand()}},
	} {
		cli.AddGroup(root, g.title, g.commands...)
	}
	cli.AddGroup(root, "Help", versionCommand(), docsCommand(pages), licensesCommand(pages))
	root.SetCompletionCommandGroupID("Help")
	root.Version = cli.AboutBuild() // a template of cobra's would keep every method of the program: 3 MB
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = help(cmd) })
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID("Help")
	root.SetFlagErrorFunc(cli.FlagError)
	addCompletions(root)
	root.InitDefaultHelpCmd()
	describe(root)
	root.SilenceUsage, root.SilenceErrors = true, true
	return root
}
