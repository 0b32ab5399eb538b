package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim"
	"prismtop/sim/checkpoint"
	"prismtop/sim/ptycho"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// keepFlags are the flags of what a run starts from and leaves, beside its settings.
type keepFlags struct {
	path    string // of the checkpoint to leave
	every   time.Duration
	keep    string // which checkpoints stay, as given
	resume  string
	weights string
	none    bool // the workload has no state that can be written

	resumed *sim.Resumed // the checkpoint of resume
	kept    sim.Keep     // what keep says
}

func (k *keepFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&k.weights, "weights", "",
		"weights to start from instead of drawn ones, a file in NPZ or safetensors format or of torch.save")
	if k.none {
		return
	}
	flags.StringVar(&k.path, "checkpoint", "", "file to which the state of the run is written at intervals and at its "+
		"end, for --resume (prismtop docs checkpoints)")
	flags.DurationVar(&k.every, "checkpoint-every", time.Minute,
		"time between two checkpoints; 0 writes one at the end only")
	flags.StringVar(&k.keep, "checkpoint-keep", "1",
		"checkpoints that stay: the number of the newest, best for that of the best quality, or both, as in 3,best")
	flags.StringVar(&k.resume, "resume", "",
		"checkpoint to go on from, with its settings; live ones can be set by flags")
}

// resolve returns the settings: those of the checkpoint and of flags with --resume, else those of
// preset, file, environment and flags.
func (k *keepFlags) resolve(ctx context.Context, flags *pflag.FlagSet, f *cli.SettingFlags) (v settings.Values,
	origins settings.Origins, err error) {
	if err := k.check(flags); err != nil {
		return v, nil, err
	}
	if k.resume == "" {
		if v, origins, err = f.Resolve(ctx, flags); err == nil {
			err = k.fits(v)
		}
		return v, origins, err
	}
	if k.resumed, err = sim.OpenCheckpoint(ctx, k.resume, checkpointKinds()); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("flag --resume: %w", err)
		}
		return v, nil, err
	}
	if err := f.Fits(k.resumed.Settings); err != nil {
		return v, nil, fmt.Errorf("flag --resume: the checkpoint %s is %w", k.resume, err)
	}
	f.ReadFlags(flags)
	v, origins, err = f.Sources.ResolveOver(k.resumed.Settings, k.source())
	if err == nil {
		var wrong *settings.ValueError
		if err = k.resumed.Check(v); err != nil && !errors.As(err, &wrong) {
			err = fmt.Errorf("flag --resume: %w", err)
		}
		err = preset.From(origins, err)
	}
	if err == nil {
		err = k.fits(v)
	}
	return v, origins, err
}

// fits returns an error if runs of the settings have no state, weights or quality that the flags ask for.
func (k *keepFlags) fits(v settings.Values) error {
	w := workloads.Of(v)
	schema := w.Schema()
	if k.path != "" && w.Stateless != nil {
		if name := w.Stateless(v); name != "" {
			return fmt.Errorf("flag --checkpoint: %s has no state that can be written", name)
		}
	}
	switch {
	case k.weights != "" && w.Unweighted:
		return fmt.Errorf("flag --weights: %s has no weights to start from", schema.Workload)
	case k.kept.Best && schema.QualityInfo().Name == "":
		return fmt.Errorf("flag --checkpoint-keep: best: %s measures no quality: must be a number", schema.Workload)
	}
	return nil
}

// mostKept bounds the number of checkpoints that stay.
const mostKept = 1000

// parseKeep reads the value of --checkpoint-keep.
func parseKeep(text string) (k sim.Keep, err error) {
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		n, wrong := strconv.Atoi(part)
		switch {
		case part == "best" && !k.Best:
			k.Best = true
		case wrong == nil && k.Last == 0 && n >= 1 && n <= mostKept:
			k.Last = n
		default:
			return k, fmt.Errorf("flag --checkpoint-keep: %q: must be a number from 1 to %d, best, or both with a "+
				"comma between", text, mostKept)
		}
	}
	return k, nil
}

// checkpointKinds lists the workloads that a checkpoint may be of.
func checkpointKinds() (all []sim.Kind) {
	for _, w := range workloads.All {
		all = append(all, sim.Kind{Table: w.Presets.Table, Schema: w.Schema()})
	}
	return all
}

// check returns an error for flags that are wrong or exclude one another.
func (k *keepFlags) check(flags *pflag.FlagSet) (err error) {
	for _, name := range []string{"checkpoint", "resume", "weights"} {
		if flags.Changed(name) && flags.Lookup(name).Value.String() == "" {
			return fmt.Errorf(`flag --%s: "": must be the path of a file`, name)
		}
	}
	for _, other := range []string{"preset", "config", "weights"} {
		if k.resume != "" && flags.Changed(other) {
			return fmt.Errorf("flag --resume: cannot be joined with --%s: settings and weights are the checkpoint's",
				other)
		}
	}
	switch {
	case flags.Changed("checkpoint-every") && k.path == "":
		return errors.New("flag --checkpoint-every: needs --checkpoint, the file to write")
	case k.every < 0 || k.every > 0 && k.every < time.Second:
		return fmt.Errorf("flag --checkpoint-every: %v: must be 1s or more, or 0", k.every)
	case flags.Changed("checkpoint-keep") && k.path == "":
		return errors.New("flag --checkpoint-keep: needs --checkpoint, the file to write")
	case k.path != "":
		if k.kept, err = parseKeep(k.keep); err != nil {
			return err
		}
		return cli.WritableFiles("checkpoint", k.path, k.path, k.path)
	}
	return nil
}

// unused returns an error if the run would replace a checkpoint of another one.
func (k *keepFlags) unused(ctx context.Context) error {
	if k.path == "" {
		return nil
	}
	foreign, further, err := k.kept.Foreign(ctx, k.path, k.resumed)
	if err != nil || foreign == "" {
		return err
	}
	flag := "checkpoint"
	if foreign != k.path {
		flag = "checkpoint-keep"
	}
	held, next, whose := "a checkpoint", "", "of another run"
	if further {
		whose = "to which this run went on from " + k.resume
	}
	if c, err := checkpoint.Read(ctx, foreign); err == nil {
		held = fmt.Sprintf("iteration %d", c.Iteration)
		if c.Object != "" {
			held += " of " + c.Object
		}
		if !c.Finished {
			next = "continue it with --resume " + shellWord(foreign) + ", or "
		}
	}
	return fmt.Errorf("flag --%s: %s holds %s, %s: %schoose another name, or delete the file", flag,
		foreign, held, whose, next)
}

// preset returns the preset of the run; of that of a resumed one the checkpoint has the name.
func (k *keepFlags) preset(sources preset.Sources) (preset.Preset, error) {
	if k.resumed != nil {
		return preset.Preset{Name: k.resumed.Preset}, nil
	}
	return sources.Chosen()
}

// origins returns the origins of settings, those of a resumed run as far as its checkpoint knows them.
func (k *keepFlags) origins(of settings.Origins) settings.Origins {
	if k.resumed == nil {
		return of
	}
	known := maps.Clone(of)
	for key, origin := range k.resumed.Origins {
		if known[key] == k.source() {
			known[key] = origin
		}
	}
	return known
}

// source names the checkpoint of resume as the origin of settings.
func (k *keepFlags) source() string { return "checkpoint " + k.resume }

// reportCheckpoint prints where the last checkpoint of a run is and the command that resumes it, and returns why its
// last state was not written. runErr is the run's own error.
func (k *keepFlags) reportCheckpoint(cmd *cobra.Command, r *sim.Run, runErr error) error {
	if lost := r.LostCheckpoint(); lost != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: warning: "+cli.ErrorLine(lost))
	}
	written, err := r.LastCheckpoint()
	if written.Path != "" {
		fmt.Fprintln(cli.Notes(cmd), k.writtenLine(cmd.CommandPath(), carried(cmd.Flags()), written))
	}
	if err != nil && cli.Interrupted(runErr) { // not reported anywhere else
		fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: "+cli.ErrorLine(err))
	}
	return err
}

// writtenLine says which checkpoint a run has left, and what command with what flags besides goes on from it.
func (k *keepFlags) writtenLine(command, flags string, w sim.Written) string {
	path := visible.Text(w.Path)
	if w.Earlier {
		return fmt.Sprintf("the checkpoint of iteration %d in %s is of the run before the restart; this run has none",
			w.Iteration, path)
	}
	next := "the run is complete"
	if !w.Finished {
		next = "to continue: " + k.resumeCommand(command, flags, w)
	}
	return fmt.Sprintf("checkpoint of iteration %d in %s; %s", w.Iteration, path, next)
}

// continues says of each flag of a run that sets no setting whether the command that continues the run repeats it. Of
// the others that command has its own value, or the checkpoint has what they gave, as it has the settings.
var continues = map[string]bool{
	"checkpoint-every": true, "checkpoint-keep": true, "record-limit": true, "no-record": true,
	"save": true, "export": true, "metrics": true,
	"headless": true, "json": true, "lines": true, "quiet": true, "detach": true, "on-hangup": true, "notify": true,
	"ascii": true, "theme": true, "bandwidth": true, "watch-budget": true,

	"resume": false, "checkpoint": false, "record": false, "session": false, "dry-run": false, "help": false,
	"preset": false, "config": false, "weights": false, "set": false,
}

// carried returns the flags that the command repeats which continues a run.
func carried(flags *pflag.FlagSet) (line string) {
	flags.Visit(func(f *pflag.Flag) {
		if !continues[f.Name] {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case f.Value.Type() != "bool":
				line += " --" + f.Name + " " + shellWord(visible.Text(value))
			case value == "true":
				line += " --" + f.Name
			default:
				line += " --" + f.Name + "=" + value
			}
		}
	})
	return line
}

// resumeCommand returns the command line that continues a run from a checkpoint, and its checkpoints, with the flags of
// the run that apply and without the limits that it has reached.
func (k *keepFlags) resumeCommand(command, flags string, from sim.Written) string {
	path := shellWord(visible.Text(from.Path))
	line := command + " --resume " + path
	if k.path != "" {
		line += " --checkpoint " + path
	}
	line += flags
	for _, key := range from.Reached {
		if key == settings.MaxIterations {
			line += " --max-iterations 0"
		} else {
			line += " --set " + key + "=0"
		}
	}
	return line
}

// shellWord quotes a word for a POSIX shell, if it needs quotes.
func shellWord(word string) string {
	if strings.HasPrefix(word, "-") {
		word = "./" + word
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("%+,-./:=@_", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// weightsCommand returns the command weights.
func weightsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "weights", Short: "Hand a network's weights to other programs", Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return cli.BadUsage(errors.New("weights: what to do is missing: must be export or keras"))
		},
	}
	var from, to, fold, names string
	export := &cobra.Command{
		Use: "export", Short: "Write the weights of a checkpoint as a state_dict in NPZ or safetensors format",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from == "":
				return cli.BadUsage(errors.New("weights export: flag --from is missing: must be a checkpoint"))
			case to == "":
				return cli.BadUsage(errors.New("weights export: flag --to is missing: must be a file in .npz or " +
					".safetensors"))
			}
			if err := weights.CheckPath(to); err != nil {
				return cli.BadUsage(fmt.Errorf("flag --to: %w", err))
			}
			if fold != "" && fold != foldBatch && fold != foldRunning {
				return cli.BadUsage(fmt.Errorf("flag --fold: %q: must be %s, for the output of the run, or %s, for "+
					"PyTorch's eval()", fold, foldBatch, foldRunning))
			}
			c := cli.Claims{}
			if err := c.Read("--from", from); err == nil {
				if err := c.Replace("flag --to", weights.Own, to); err != nil {
					return cli.BadUsage(err)
				}
			}
			defer c.Release()
			if err := c.Hold(); err != nil {
				return err
			}
			return exportWeights(cmd.Context(), cmd.OutOrStdout(), c, from, to, fold, names)
		},
	}
	export.Flags().StringVar(&from, "from", "", "checkpoint to take the weights from")
	export.Flags().StringVar(&to, "to", "", "file to write; its extension, .npz or .safetensors, is its format")
	export.Flags().StringVar(&names, "names", "", "names of the arrays: those of another program, monai for a network "+
		"of cyto, keras or ptycho_torch for one of ptycho; without it those of docs/checkpoints.md")
	export.Flags().StringVar(&fold, "fold", "", "fold the batch normalisations into the convolutions, with the "+
		"statistics of the batch (the output is the run's) or the running ones (the output is that of "+
		"PyTorch's eval())")
	keras := &cobra.Command{
		Use: "keras", Short: "Print the Python script that converts PtychoPINN's Keras models", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), ptycho.KerasScript)
			return err
		},
	}
	cmd.AddCommand(export, keras)
	return cmd
}

// The values of --fold.
const (
	foldBatch   = "batch"
	foldRunning = "running"
)

// exportWeights writes the weights of a checkpoint to a file, folded unless fold is empty, and under another
// program's names unless names is. named has the file.
func exportWeights(ctx context.Context, w io.Writer, named cli.Claims, from, to, fold, names string) error {
	c, err := sim.OpenCheckpoint(ctx, from, checkpointKinds())
	if err != nil {
		return err
	}
	maker, ok := workloads.Of(c.Settings).Maker(workloads.Devices{}).(workload.Exporter)
	if !ok {
		return fmt.Errorf("checkpoint %s: %s has no weights", from, c.Workload)
	}
	tensors, err := maker.Weights(c.Settings, c.Checkpoint)
	if folder, can := maker.(workload.Folder); fold != "" && !can {
		err = errors.New("it has no normalisations to fold")
	} else if fold != "" && err == nil {
		tensors, err = folder.FoldedWeights(ctx, c.Settings, c.Checkpoint, fold == foldRunning)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", from, err)
	}
	if names != "" {
		if tensors, err = renamed(maker, c.Settings, tensors, names); err != nil {
			return cli.BadUsage(fmt.Errorf("flag --names: %w", err))
		}
	}
	if err := weights.Write(to, tensors); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s of iteration %d in %s\n", unit.Plural(len(tensors), "array", "arrays"), c.Iteration,
		visible.Text(named.Marked(to)[0]))
	return err
}

// renamed returns weights under the names that another program has for them.
func renamed(maker workload.Exporter, v settings.Values, all []weights.Tensor, key string) ([]weights.Tensor, error) {
	var keys []string
	if namer, ok := maker.(workload.Namer); ok {
		others, err := namer.Names(v)
		if err != nil {
			return nil, err
		}
		for _, n := range others {
			if n.Key == key {
				return n.Rename(all), nil
			}
			keys = append(keys, n.Key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%q: this network has no names but its own", key)
	}
	return nil, fmt.Errorf("%q: must be %s", key, strings.Join(keys, " or "))
}
