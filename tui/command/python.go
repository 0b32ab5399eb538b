package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/loop"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/outside"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/terminal"
)

// pythonFlags are the flags of the command python.
type pythonFlags struct {
	runFlags
	python       string
	module       bool
	leave, stdin bool
	nvtx         bool
	keepMemory   bool // malloc keeps what the program frees
	demo         bool
	pid          int
	nodes        []string
	forward      string
	base         string // the folder of the program that it is compared with by turns
	tied         bool   // the program is killed with this process
	against      againstFlags
}

// pythonCommand returns the command python.
func pythonCommand() *cobra.Command {
	var f pythonFlags
	f.keep.none = true
	cmd := &cobra.Command{
		Use:   "python [FLAG]… SCRIPT [ARGUMENT]… | -m MODULE [ARGUMENT]… | -- COMMAND [ARGUMENT]…",
		Short: "Watch, switch and measure the training loop of an unchanged PyTorch program",
		Args:  cobra.ArbitraryArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return f.execute(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	f.SettingFlags.RegisterOutside(flags)
	flags.StringVar(&f.python, "python", "", "Python to run the script with; without it, python3 of the PATH")
	flags.BoolVarP(&f.module, "module", "m", false, "what follows is the name of a module, which is run as a script")
	flags.BoolVar(&f.leave, "leave", false,
		"at --max-iterations or --max-time, leave the program running instead of ending it")
	flags.BoolVar(&f.stdin, "stdin", false,
		"the program reads standard input, which must be a file or a pipe; without it, it has none")
	flags.BoolVar(&f.nvtx, "nvtx", false,
		"write steps and phases as NVTX ranges, for Nsight Systems; needs a model on CUDA")
	flags.BoolVar(&f.keepMemory, keepMemoryFlag, false, "have glibc's malloc keep the memory that the program frees: "+
		"on the CPU, a step then takes about the same in every process, and often less; on with --base, unless it is "+
		"--keep-memory=false")
	flags.IntVar(&f.pid, "pid", 0, "run nothing: show the loop of this process, which runs already, as prismtop "+
		"attach --pid does; needs CPython 3.14 if prismtop python did not start it")
	flags.StringArrayVar(&f.nodes, "node", nil, "command that runs another command on a machine with other ranks, "+
		"such as 'ssh gpu2'; may be given again. In a job of Slurm its other nodes are known")
	flags.StringVar(&f.forward, "forward", "",
		"run nothing: write what the ranks of this machine record to standard output, for --node: WORLD:RANK,RANK")
	flags.BoolVar(&f.demo, "demo", false,
		"write a small training to prismtop-demo.py, which needs PyTorch alone, and run that")
	flags.StringVar(&f.base, "base", "", "run the program of this folder, too, another checkout, by turns with that "+
		"of the current one, and compare them (prismtop docs ci); --max-time is the length of all turns, 1m "+
		"without it, to which the starts of both come")
	flags.BoolVar(&f.tied, tiedFlag, false, "")
	_ = flags.MarkHidden(tiedFlag)
	f.registerWatching(flags)
	f.against.register(flags)
	return cmd
}

// keepMemoryFlag is the flag by which malloc keeps what the program frees.
const keepMemoryFlag = "keep-memory"

// demoName is the file that --demo writes.
const demoName = "prismtop-demo.py"

// commandLine returns the command line of the program and its name.
func (f *pythonFlags) commandLine(cmd *cobra.Command, args []string) (name string, argv []string, err error) {
	direct := cmd.ArgsLenAtDash() == 0
	switch {
	case f.demo && len(args) > 0:
		return "", nil, errors.New("flag --demo: cannot be joined with a program")
	case f.demo:
		args = []string{demoName}
	case len(args) == 0:
		return "", nil, errors.New("python: what to run is missing: must be a script, -m and a module, or -- " +
			"and a command")
	case direct && (f.module || f.python != ""):
		return "", nil, errors.New("flags --python and -m: cannot be joined with a command after --")
	}
	name = filepath.Base(args[0])
	if direct {
		return name, args, nil
	}
	python := f.python
	if python == "" {
		if python, err = exec.LookPath("python3"); err != nil {
			return "", nil, errors.New("python: there is no python3 in PATH; --python names another")
		}
	}
	argv = []string{python}
	if f.module {
		argv = append(argv, "-m")
	} else if _, err := os.Stat(args[0]); err != nil && !f.demo {
		return "", nil, fmt.Errorf("python: %s: %w", args[0], cli.Bare(err))
	}
	return name, append(argv, args...), nil
}

// execute runs the program, first with its output on the terminal, and from its greeting on as a run.
func (f *pythonFlags) execute(cmd *cobra.Command, args []string) error {
	f.child = sessions.IsChild()
	if cmd.Flags().Changed("forward") {
		return forwardRanks(cmd, f.forward)
	}
	if cmd.Flags().Changed("pid") {
		return f.adopt(cmd, args)
	}
	name, argv, err := f.commandLine(cmd, args)
	if err != nil {
		return cli.BadUsage(err)
	}
	if cmd.Flags().Changed("base") {
		return f.byTurns(cmd, args)
	}
	if err := f.sound(cmd); err != nil {
		return err
	}
	if f.detach && f.child == nil {
		return f.begin(cmd)
	}
	var stdin *os.File
	if f.stdin {
		if term.IsTerminal(os.Stdin.Fd()) {
			return cli.BadUsage(errors.New("flag --stdin: standard input is the terminal, whose keys are prismtop's: " +
				"must be a file or a pipe"))
		}
		stdin = os.Stdin
	}
	if f.demo {
		if err := writeDemo(); err != nil {
			return err
		}
	}
	var also []string
	if f.nvtx {
		also = append(also, loop.EnvNVTX+"=1")
	}
	if f.keepMemory {
		also = append(also, loop.EnvKeepMemory+"=1")
	}
	p, err := startProgram(name, argv, also, stdin, os.Stderr, f.tied)
	if err != nil {
		return err
	}
	p.leave, p.nodes.commands = f.leave, f.nodes
	defer p.close()
	restore := func() {}
	if f.onScreen() {
		restore = terminal.Hush(os.Stdin) // keys are for the screen
	}
	found, err := p.greeted(cmd.Context(), cli.Notes(cmd))
	restore()
	switch {
	case cmd.Context().Err() != nil:
		p.end()
		return f.neverBegan(cmd, cli.ErrInterrupted)
	case err != nil:
		p.end()
		return f.neverBegan(cmd, err)
	case !found:
		<-p.drained
		if f.json || f.headless {
			return f.neverBegan(cmd,
				cmp.Or(p.failure, p.unshown, errors.New("no training loop was found in "+p.name)))
		}
		return p.failure
	}
	return f.watchProgram(cmd, p)
}

// neverBegan returns why no loop was found, after the JSON summary that --json asks for.
func (f *pythonFlags) neverBegan(cmd *cobra.Command, why error) error {
	if !f.json {
		return why
	}
	return errors.Join(why, writeNotBegun(cmd.Context(), cmd.OutOrStdout(), stream.New(1),
		outside.Schema(&loop.Greeting{}), outside.Name, why))
}

// sound returns an error for flags that make no sense for any program, or name files that cannot be written, before
// one is started.
func (f *pythonFlags) sound(cmd *cobra.Command) error {
	if err := errors.Join(f.record.check(cmd.Context(), cmd.Flags(), nil),
		f.against.check(cmd.Context(), &f.record)); err != nil {
		return cli.BadUsage(err)
	}
	v, err := f.soundSettings(cmd)
	if err == nil {
		err = f.claim(cmd.Context(), v)
	}
	if err != nil {
		return cli.BadUsage(err)
	}
	if _, err = f.look(cmd.Flags(), v); err != nil {
		return err
	}
	handed, err := f.handOn(cmd.Context(), export.Source{}, cmd.Flags().Changed("metrics"))
	if err != nil {
		return cli.BadUsage(err)
	}
	handed.discard() // each is opened again once the loop is known
	return nil
}

// soundSettings returns the settings that flags give to any program. Of those of --set, which are known once it trains,
// it checks the form.
func (f *pythonFlags) soundSettings(cmd *cobra.Command) (v settings.Values, err error) {
	shelf, err := outside.Table(&loop.Greeting{})
	if err != nil {
		return v, err
	}
	if _, err = f.Sources.Assignments(); err != nil {
		return v, err
	}
	f.ReadFlags(cmd.Flags())
	v, _, err = preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}, Flags: f.Sources.Flags})
	return v, err
}

// adopt shows a loop that runs already: one whose prismtop has ended, or one that has had none.
func (f *pythonFlags) adopt(cmd *cobra.Command, args []string) error {
	if len(args) > 0 || f.demo || f.detach && f.child == nil {
		return cli.BadUsage(errors.New("flag --pid: cannot be joined with a program or --detach"))
	}
	if f.keepMemory {
		return cli.BadUsage(errors.New("flag --keep-memory: the program has started already: --set keep_memory=on " +
			"switches it"))
	}
	if err := f.sound(cmd); err != nil {
		return err
	}
	restore := func() {}
	if f.onScreen() {
		restore = terminal.Hush(os.Stdin) // keys are for the screen
	}
	p, err := f.findLoop(cmd)
	restore()
	if err != nil {
		return f.neverBegan(cmd, err)
	}
	p.leave = f.leave
	defer p.close()
	return f.watchProgram(cmd, p)
}

// findLoop takes over the loop of --pid, once it has taken its second step.
func (f *pythonFlags) findLoop(cmd *cobra.Command) (*guest, error) {
	all := loop.List()
	i := slices.IndexFunc(all, func(l loop.Left) bool { return l.PID == f.pid })
	if i < 0 {
		return remote(cmd.Context(), f.pid, cli.Notes(cmd))
	}
	if all[i].Path == "" {
		fmt.Fprintf(cli.Notes(cmd), "prismtop: %s (process %d) is shown after its second step\n",
			all[i].Greeting.Script, f.pid)
		if err := all[i].Await(cmd.Context()); err != nil {
			return nil, err
		}
	}
	return adopt(&all[i])
}

// watchProgram is the run of a program that greeted.
func (f *pythonFlags) watchProgram(cmd *cobra.Command, p *guest) error {
	w, err := f.joins(p.loop)
	if err != nil {
		p.refuse()
		return err
	}
	f.Of, f.program = &w, p
	f.maker = w.Maker
	v, err := f.settings(cmd)
	if err != nil {
		p.refuse()
		return cli.BadUsage(err)
	}
	if p.file.Name() != os.DevNull {
		p.loop.Notes = append(p.loop.Notes, "what "+p.name+" prints is in "+p.file.Name())
	}
	p.screen = f.onScreen()
	err = f.run(cmd, v)
	p.passOn(os.Stderr)
	if err = f.conclude(cmd, p, err); err != nil || f.child != nil {
		return err
	}
	return f.against.judge(cmd, f.recorded, f.json)
}

// onScreen reports whether the run will have the screen.
func (f *pythonFlags) onScreen() bool {
	return f.child == nil && !f.lines && !f.headless && !f.json && term.IsTerminal(os.Stdout.Fd()) &&
		term.IsTerminal(os.Stdin.Fd()) && os.Getenv("TERM") != "dumb"
}

// joins makes the workload of a loop known to this process.
func (f *pythonFlags) joins(l *outside.Loop) (w workloads.Workload, err error) {
	shelf, err := outside.Table(l.Greeting)
	if err != nil {
		return w, err
	}
	device := "the program trains on the CPU"
	if d := l.Greeting.Device; d != "" && d != "cpu" {
		device = "the program chooses its device itself"
	}
	w = workloads.Workload{
		Presets: shelf, Schema: func() profiles.Schema { return outside.Schema(l.Greeting) },
		Maker:      func(workloads.Devices) workload.Maker { return outside.Maker{Loop: l} },
		Stateless:  func(settings.Values) string { return "a program" },
		Unweighted: true, NoGPU: device,
	}
	workloads.Add(w)
	return w, nil
}

// conclude ends the program after its run, if it is not to go on, and returns how both ended.
func (f *pythonFlags) conclude(cmd *cobra.Command, p *guest, err error) error {
	switch {
	case p.hasEnded():
	case p.goesOn:
		if !p.leaveIt() {
			return errors.Join(err, fmt.Errorf("%s ends no step: its hooks stay until it does (process %d)",
				p.name, p.pid))
		}
		fmt.Fprintf(cli.Notes(cmd), "prismtop: %s goes on as process %d, as it was before\n", p.name, p.pid)
		return err
	case p.limited && f.leave:
		fmt.Fprintf(cli.Notes(cmd), "prismtop: %s goes on as process %d; prismtop attach %d shows it again\n", p.name,
			p.pid, p.pid)
		return err
	case p.finished && cmd.Context().Err() == nil, // what it trains is over, or not watched any more
		p.lost && cmd.Context().Err() == nil && !errors.Is(err, cli.ErrInterrupted):
		if p.lost && !p.endsWithin(crashes) {
			fmt.Fprintf(cli.Notes(cmd),
				"prismtop: %s is not watched any more and goes on as process %d; ctrl+c ends it\n", p.name, p.pid)
		}
		select {
		case <-p.over:
		case <-cmd.Context().Done():
			p.end()
			return cli.ErrInterrupted
		}
	default:
		if !p.end() {
			return errors.Join(err, fmt.Errorf("%s does not end: process %d", p.name, p.pid))
		}
	}
	<-p.drained
	if p.failure != nil && p.screen {
		o := p.output()
		for _, line := range o.Lines[max(0, len(o.Lines)-traceback):] {
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
	}
	if err == nil {
		err = p.failure
	}
	if err == nil && !p.limited {
		err = p.farewellStatus()
	}
	return err
}

// crashes is how long a program takes to end after its loop could not be watched any more because it fails itself.
const crashes = time.Second

// traceback is the number of lines of a program's output that are printed after its failure.
const traceback = 30

// writeDemo writes the demo program, unless a file of its name has other contents.
func writeDemo() error {
	if there, err := os.ReadFile(demoName); err == nil && string(there) != string(loop.Demo()) {
		return fmt.Errorf("flag --demo: %s exists already and is another program", demoName)
	}
	return os.WriteFile(demoName, loop.Demo(), 0o644)
}
