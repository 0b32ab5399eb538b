// Package command implements the command line of prismtop: the commands with their flags, help,
// errors and exit statuses. It is the only package that knows all parts of the program, and it
// connects runs, their records and the screen.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"prismtop/profiles/machine"
	"prismtop/tui/command/page"
)

// version is the program's version, set in released builds by
//
//	go build -ldflags '-X prismtop/tui/command.version=1.2.3'
var version = "0.1.0-dev"

// Main runs the command line of the process and returns its exit status.
func Main() int {
	machine.ShareProcessors()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := rootCommand()
	addCompletion(root)
	root.SetArgs(os.Args[1:])
	root.SetOut(newOutlet(ctx.Done(), os.Stdout))
	root.SetErr(newOutlet(ctx.Done(), os.Stderr))
	begun := false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	err := root.ExecuteContext(ctx)
	if err != nil && !begun {
		err = badUsage(err)
	}
	if errors.Is(err, errGivenUp) && ctx.Err() != nil {
		err = errInterrupted
	}
	if line := errorLine(err); line != "" {
		fmt.Fprintln(newOutlet(ending(), os.Stderr), "prismtop: "+line)
	}
	return exitStatus(err)
}

// addCompletion adds Cobra's command for shell completions, and makes it reject unknown shells.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args = noArguments
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// rootCommand returns the command prismtop with all subcommands.
func rootCommand() *cobra.Command {
	root := runCommand()
	root.Use = "prismtop"
	root.Short = "Watch and tune PRISM's progressive reconstruction while it runs"
	root.Long = "prismtop reconstructs an image from a simulated telescope, measures every phase of\n" +
		"every iteration, and switches caches and mixed precision while the run goes on.\n" +
		"Without a command it opens the live screen on the default preset; where standard\n" +
		"output is no terminal it runs without one."
	root.Example = "prismtop\nprismtop run --preset baseline --image europa.jpg\nprismtop run --headless --json --set amp=bf16 --max-iterations 500"
	root.AddCommand(runCommand(), presetsCommand(), verifyCommand(), doctorCommand(), benchCommand(), manualCommand(), replayCommand(), exportCommand(), runsCommand(), weightsCommand())
	root.Version = version
	root.SetHelpFunc(page.Help)
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(flagError)
	root.SilenceUsage, root.SilenceErrors = true, true
	return root
}
