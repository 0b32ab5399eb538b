package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/sweep"
	"prismtop/profiles/unit"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/features"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/ptycho/throughput"
	"prismtop/tui/command/cli"
)

// ptychoFlags are the flags of bench ptycho.
type ptychoFlags struct {
	options  throughput.Options
	engine   cpu.Options
	scenario string
	device   string
	matrix   string // file of a test matrix; empty for one sweep
	plots    bool   // pictures are among the formats, whatever --formats says
	sizes    string
	limit    string
	photons  float64
	data     string
	output   sweepOutput
	json     bool
	goText   bool

	card      *machine.GPUDevice // that is used; nil on the processor
	driver    *machine.GPU       // of the card
	gpuReason string             // why no GPU is used
}

// scenario is a set of flags for a purpose of the document.
type scenario struct {
	name, what string
	flags      [][2]string
}

// scenarios are the document's data sets, models and purposes.
var scenarios = []scenario{
	{"small", "quick validation: 100 images, s=1, 9 sizes", [][2]string{{"images", "100"}, {"filters-scale", "1"}, {"batch-sizes", "1,2,4,8,16,32,64,128,256"}, {"warmup", "1"}}},
	{"medium", "standard benchmark: 1000 images", [][2]string{{"images", "1000"}, {"batch-sizes", "1,2,4,8,16,32,64,128,256"}, {"warmup", "3"}}},
	{"large", "stress test: 5000 images, 10 runs, adaptive", [][2]string{{"images", "5000"}, {"batch-sizes", "1,2,4,8,16,32,64,128,256"}, {"runs", "10"}, {"warmup", "5"}, {"adaptive", "true"}}},
	{"standard", "the model N=64, gridsize 1", [][2]string{{"size", "64"}, {"gridsize", "1"}}},
	{"memory_intensive", "the model N=128, gridsize 2", [][2]string{{"size", "128"}, {"gridsize", "2"}, {"batch-sizes", "1,2,4,8,16"}}},
	{"memory", "the largest batch size: memory_test, with the edge", [][2]string{{"batch-sizes", "memory_test"}, {"runs", "2"}, {"edge", "true"}}},
	{"latency", "the shortest wait: 1 to 16 at a time", [][2]string{{"batch-sizes", "1,2,3,4,6,8,12,16"}}},
	{"throughput", "the most images a second: searched", [][2]string{{"batch-sizes", "quick"}, {"adaptive", "true"}}},
	{"energy", "the most images a joule, where a counter can be read", [][2]string{{"batch-sizes", "quick"}, {"images", "400"}, {"energy", "true"}}},
	{"defaults", "the defaults of the plan's BenchmarkConfig",
		[][2]string{{"images", "1000"}, {"runs", "5"}, {"warmup", "3"}, {"batch-sizes", "1,4,8,16,32,64,128"},
			{"output", "benchmark_results"}, {"formats", "json,csv"}}},
}

// batchSets are the document's sets of batch sizes.
var batchSets = map[string][]int{
	"comprehensive": {1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
	"quick":         {8, 16, 32, 64, 128},
	"memory_test":   {1, 256, 512, 1024},
}

// benchPtychoCommand returns the command bench ptycho.
func benchPtychoCommand() *cobra.Command {
	f := ptychoFlags{options: throughput.Options{Tolerance: sweep.DefaultTolerance}}
	cmd := &cobra.Command{
		Use: "ptycho", Short: "Sweep its inference over batch sizes for throughput, latency and memory",
		Args: cli.NoArguments, RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags, j := cmd.Flags(), &f.options.Job
	c := ptycho.DefaultConfig()
	flags.StringVar(&f.scenario, "scenario", "", "flags for a purpose, which other flags override: "+scenarioNames())
	flags.IntVar(&j.Size, "size", c.Size, "side N of a pattern in pixels: 64, 128 or 256")
	flags.IntVar(&j.GridSize, "gridsize", c.GridSize, "groups are of gridsize² neighbouring patterns")
	flags.IntVar(&j.FiltersScale, "filters-scale", c.FiltersScale, "factor of the numbers of filters")
	flags.BoolVar(&j.ProbeBig, "probe-big", c.ProbeBig, "the network also draws the border of a patch")
	flags.StringVar(&j.AMP, "amp", string(ptycho.Float32), "mixed precision of the convolutions: "+modeNames())
	flags.BoolVar(&j.Winograd, "winograd", false, "3×3 convolutions by Winograd's F(4×4, 3×3): a quarter of the "+
		"multiplications, ten times the rounding error of float32")
	flags.StringVar(&j.AmpActivation, "amp-activation", "",
		"activation of the amplitude's centre, "+anyOf(ptycho.AmpActivations())+"; without it sigmoid")
	flags.StringVar(&j.Heads, "heads", "", "whose heads the network has, "+anyOf(ptycho.HeadKinds())+
		", which differ in how the border is drawn; without it keras")
	flags.StringVar(&j.Weights, "weights", "",
		"file of weights, NPZ, safetensors or of torch.save; without it those that training left, or else seeded ones")
	flags.StringVar(&j.DataAs, "data-as", scan.AsAmplitude, "how the numbers of --data are read: amplitude, as "+
		"PtychoPINN's loader does, or intensity, whose square roots are taken")
	flags.Float64Var(&j.Factor, "data-factor", 0, "factor of the amplitudes of --data; 0 is PtychoPINN's rule, by "+
		"which the mean sum of a pattern's squares becomes (N/2)²")
	flags.StringVar(&f.data, "data", "", "NPZ file of patterns by PtychoPINN's schema; without it they are simulated")
	flags.Float64Var(&f.photons, "photons", 1e9, "mean number of photons of a simulated pattern")
	flags.IntVar(&j.Images, "images", 100, "patterns of a run")
	flags.StringVar(&f.sizes, "batch-sizes", "1,4,8,16,32,64,128",
		"batch sizes in groups, or comprehensive, quick or memory_test")
	flags.IntVar(&j.Microbatch, "microbatch", 0,
		"most groups of a batch whose activations are in memory at a time; 0 for the network's choice, 32 of 64×64")
	flags.IntVar(&j.Preprocess, "preprocessing-batch", 0,
		"groups that are normalised at a time; 0 for the batch size of the trial, which finds the best")
	flags.IntVar(&j.Reassemble, "reassembly-batch", 0,
		"groups that are reassembled at a time; 0 for the batch size of the trial, which finds the best")
	flags.IntVar(&f.options.Runs, "runs", 5, "runs of each batch size, each in a process of its own")
	flags.IntVar(&j.Warmup, "warmup", 1, "batches that are predicted before a run, and not counted")
	flags.StringVar(&f.limit, "memory-limit", "",
		"memory that a trial may use, as 600MB or 2GiB; the edge is searched, too")
	flags.Float64Var(&f.options.Margin, "margin", sweep.DefaultMargin,
		"share of the memory limit that the size recommended by it leaves free")
	flags.BoolVar(&f.options.Edge, "edge", false,
		"search the largest batch size for the memory that is available, without a limit")
	flags.BoolVar(&f.options.Adaptive, "adaptive", false,
		"search the fastest batch size up to 256, and measure those around it, too")
	flags.Float64Var(&f.options.Tolerance, "tolerance", sweep.DefaultTolerance,
		"share of throughput that a smaller batch may cost")
	flags.Uint64Var(&j.Seed, "seed", 42, "seed of the simulated patterns, of groups, and of the order of trials")
	flags.StringVar(&f.matrix, "matrix", "", "file of a test matrix in JSON: every combination of its data sets, "+
		"models and batch sizes is measured, in one report (prismtop docs ptycho)")
	flags.StringVar(&f.device, "device", "auto", "what computes: auto, which is the GPU if there is one, cpu, cuda, "+
		"cuda:1 for the second GPU, or cuda:all, which divides each batch among all; gpu:0 of PtychoPINN's "+
		"plan is cuda:0")
	flags.BoolVar(&j.Energy, "energy", false, "count the energy of the GPU, over a second of batches of each size")
	flags.BoolVar(&f.plots, "plot-results", false, "draw the figure whatever --formats says")
	flags.Bool("profile-memory", true, "memory is always measured")
	_ = flags.MarkHidden("profile-memory") // it exists
	flags.SetNormalizeFunc(ofThePlan)
	cli.EngineFlags(flags, &f.engine)
	f.output.register(flags)
	flags.BoolVar(&f.json, "json", false, "the result as one JSON object (docs/schema/ptycho.json)")
	flags.BoolVar(&f.goText, "benchfmt", false,
		"the runs in the format of Go's benchmarks, which benchstat compares (prismtop docs performance)")
	return cmd
}

// planFlags are the names of flags in PtychoPINN's plan of a throughput benchmark.
var planFlags = map[string]string{
	"model-path": "weights", "test-data": "data", "n-images": "images", "num-runs": "runs", "warmup-runs": "warmup",
	"output-dir": "output", "adaptive-sizing": "adaptive", "export-format": "formats",
}

// ofThePlan gives a flag of the plan the name that it has here.
func ofThePlan(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(cmp.Or(planFlags[name], name))
}

func scenarioNames() string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return anyOf(names)
}

func modeNames() string { return anyOf(ptycho.Modes()) }

// anyOf joins two or more alternatives.
func anyOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// apply sets the flags of a scenario that were not given.
func (f *ptychoFlags) apply(cmd *cobra.Command) error {
	if f.scenario == "" {
		return nil
	}
	at := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == f.scenario })
	if at < 0 {
		return fmt.Errorf("flag --scenario: %q: must be %s", f.scenario, scenarioNames())
	}
	for _, flag := range scenarios[at].flags {
		if !cmd.Flags().Changed(flag[0]) {
			if err := cmd.Flags().Lookup(flag[0]).Value.Set(flag[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// check checks the flags.
func (f *ptychoFlags) check() (err error) {
	o, j := &f.options, &f.options.Job
	if o.Sizes, err = batchSizes(f.sizes); err != nil {
		return fmt.Errorf("flag --batch-sizes: %w", err)
	}
	if _, err := ptycho.New(j.Config()); err != nil {
		return fmt.Errorf("flags --size, --gridsize, --filters-scale, --amp-activation and --heads: %w", err)
	}
	channels := j.Config().Channels()
	if f.json && f.goText {
		return errJoinedJSON
	}
	if j.DataAs != scan.AsAmplitude && j.DataAs != scan.AsIntensity {
		return fmt.Errorf("flag --data-as: %q: must be %s or %s", j.DataAs, scan.AsAmplitude, scan.AsIntensity)
	}
	within := func(flag string, v, low, high float64) {
		if err == nil && !(v >= low && v <= high) {
			err = fmt.Errorf("flag --%s: %g: must be from %g to %g", flag, v, low, high)
		}
	}
	within("images", float64(j.Images), float64(channels), 1e5)
	within("runs", float64(o.Runs), 1, mostRounds)
	within("microbatch", float64(j.Microbatch), 0, throughput.MaxBatch)
	within("preprocessing-batch", float64(j.Preprocess), 0, throughput.MaxBatch)
	within("reassembly-batch", float64(j.Reassemble), 0, throughput.MaxBatch)
	within("warmup", float64(j.Warmup), 0, mostRounds)
	within("margin", o.Margin, 0, 0.5)
	within("tolerance", o.Tolerance, 0, 0.5)
	within("data-factor", j.Factor, 0, 1e12)
	within("photons", f.photons, 1, 1e15)
	within("threads", float64(f.engine.Threads), 0, 1024)
	if f.plots && !slices.Contains(f.output.formats, "png") {
		f.output.formats = append(f.output.formats, "png")
	}
	if err == nil && !deviceName.MatchString(f.device) {
		err = fmt.Errorf("flag --device: %q: must be auto, cpu, cuda, cuda:N, the GPU of that number, or cuda:all",
			f.device)
	}
	if err == nil && !slices.Contains(ptycho.Modes(), j.AMP) {
		err = fmt.Errorf("flag --amp: %q: must be %s", j.AMP, modeNames())
	}
	if err == nil && j.Winograd && j.AMP != string(ptycho.Float32) {
		err = fmt.Errorf("flag --winograd: mixed precision computes the convolutions in its own way: must be "+
			"without --amp %s", j.AMP)
	}
	if err == nil {
		err = cpu.CheckKernels(f.engine.Kernels)
	}
	if err == nil && f.limit != "" {
		if o.Limit, err = unit.ParseBytes(f.limit); err != nil {
			err = fmt.Errorf("flag --memory-limit: %w", err)
		} else if o.Limit < sweep.LeastMemory {
			err = fmt.Errorf("flag --memory-limit: %s: must be at least %s", f.limit, unit.Limit(sweep.LeastMemory))
		}
		o.Edge = true
	}
	return err
}

// deviceName is a value of the flag --device; gpu is the plan's word for cuda.
var deviceName = regexp.MustCompile(`^(auto|cpu|(cuda|gpu)(:([0-9]+|all))?)$`)

// choose finds the GPU of the flag --device, and leaves the trials on the processor where
// that is auto and there is none.
func (f *ptychoFlags) choose(found machine.GPU) error {
	j := &f.options.Job
	f.card, f.gpuReason, j.Device, j.Others = nil, "", "", nil
	asked := strings.Replace(f.device, "gpu", "cuda", 1)
	if asked == "cpu" {
		f.gpuReason = "--device cpu"
		return nil
	}
	devices, all := cli.Devices(found), asked == allCards
	if all {
		asked = "cuda"
	}
	if reason := devices.GPUReason(asked); reason != "" {
		if f.gpuReason = reason; asked == "auto" {
			return nil
		}
		return fmt.Errorf("flag --device: %s: %s; use auto or cpu", f.device, reason)
	}
	ordinal := devices.Ordinal(asked)
	j.Device, f.card, f.driver = fmt.Sprintf("cuda:%d", ordinal), &found.Devices[ordinal], &found
	if !all {
		return nil
	}
	for i := range found.Devices {
		if i != ordinal && found.Devices[i].Reason == "" {
			j.Others = append(j.Others, fmt.Sprintf("cuda:%d", i))
		}
	}
	if len(j.Others) == 0 {
		f.gpuReason = "there is no second GPU to divide batches with: " + f.card.Name + " is the only one"
		return fmt.Errorf("flag --device: %s: %s", f.device, f.gpuReason)
	}
	return nil
}

// allCards is the value of the flag --device for all GPUs.
const allCards = "cuda:all"

// batchSizes returns the sizes of a list or of a set by name.
func batchSizes(text string) (sizes []int, err error) {
	if set, ok := batchSets[text]; ok {
		return set, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		b, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || b < 1 || b > throughput.MaxBatch {
			return nil, fmt.Errorf("%q: must be whole numbers from 1 to %d with commas between them, or "+
				"comprehensive, quick or memory_test", part, throughput.MaxBatch)
		}
		sizes = append(sizes, b)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), nil
}

// run sweeps and reports.
func (f *ptychoFlags) run(cmd *cobra.Command) error {
	if err := f.apply(cmd); err != nil {
		return cli.BadUsage(err)
	}
	if f.matrix != "" {
		return f.runMatrix(cmd)
	}
	if err := f.check(); err != nil {
		return cli.BadUsage(err)
	}
	r, err := f.measure(cmd)
	if r == nil || len(r.Trials) == 0 {
		return err
	}
	print := throughput.WriteText
	switch {
	case f.goText:
		print = throughput.WriteGo
	case f.json:
		print = func(w io.Writer, r *throughput.Report) error { return export.WriteObject(w, r) }
	}
	return errors.Join(print(cmd.OutOrStdout(), r), err)
}

// measure sweeps and writes the files of --output. The report is nil if the trials could not begin.
func (f *ptychoFlags) measure(cmd *cobra.Command) (*throughput.Report, error) {
	claims := cli.Claims{}
	for _, read := range [][2]string{{"--data", f.data}, {"--weights", f.options.Job.Weights}} {
		if read[1] != "" {
			_ = claims.Read(read[0], read[1]) // reading it says why it cannot be read
		}
	}
	if err := f.output.open(cmd, claims); err != nil {
		return nil, cli.BadUsage(err)
	}
	defer f.output.close()
	r, limit, err := f.sweep(cmd)
	if r == nil {
		return nil, err
	}
	f.describe(r, limit)
	if cmd.Context().Err() != nil {
		err = cli.ErrInterrupted
	}
	if len(r.Trials) > 0 {
		err = errors.Join(f.output.write(r), err)
	}
	return r, err
}

// sweep runs the trials. The report is nil if they could not begin.
func (f *ptychoFlags) sweep(cmd *cobra.Command) (r *throughput.Report, limit string, err error) {
	ctx, o := cmd.Context(), &f.options
	found, err := cli.Probe(ctx)
	if err != nil {
		return nil, "", cli.ErrInterrupted
	}
	if err := f.choose(found); err != nil {
		return nil, "", err
	}
	if limit, err = f.bound(machine.ReadMemory()); err != nil {
		return nil, "", err
	}
	folder, err := os.MkdirTemp("", "prismtop-ptycho-*")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(folder)
	shown := newProgress(cmd)
	defer shown.end()
	if err := f.prepare(ctx, folder, shown); err != nil {
		if ctx.Err() != nil {
			return nil, "", cli.ErrInterrupted
		}
		return nil, "", err
	}
	o.Job.Kernels, o.Job.Threads = f.engine.Kernels, f.engine.Threads
	if f.output.path != "" {
		o.Job.Keep = filepath.Join(folder, reconstruction)
	}
	r, err = f.measureTrials(cmd, folder, shown)
	if o.Job.Keep != "" {
		f.output.take(o.Job.Keep)
		o.Job.Keep = ""
	}
	return r, limit, err
}

// prepare finds weights and data, and simulates what is missing to a file in a folder.
func (f *ptychoFlags) prepare(ctx context.Context, folder string, shown *progress) error {
	j := &f.options.Job
	network, err := ptycho.New(j.Config())
	if err != nil {
		return err
	}
	given := j.Weights != ""
	if !given {
		if path, err := ptycho.TrainedPath(j.Config()); err == nil {
			if _, err := os.Stat(path); err == nil {
				j.Weights = path
			}
		}
	}
	if j.Weights != "" {
		switch _, said, err := network.ReadWeights(ctx, j.Weights); {
		case err != nil && !given:
			return fmt.Errorf("trained weights: %w; remove the file, or name another with --weights", err)
		case err != nil:
			return cli.BadUsage(fmt.Errorf("flag --weights: %w", err))
		default:
			for _, line := range said {
				shown.note(line)
			}
		}
	}
	if j.Data = f.data; j.Data != "" {
		s, err := scan.Read(ctx, j.Data, scan.ReadOptions{As: j.DataAs, Factor: j.Factor})
		switch {
		case err != nil:
			return cli.BadUsage(fmt.Errorf("flag --data: %w", err))
		case s.Size != j.Size:
			return cli.BadUsage(fmt.Errorf("flag --data: %s has patterns of %d×%d: must be of --size, %d×%d", j.Data,
				s.Size, s.Size, j.Size, j.Size))
		case len(s.X) < j.Images:
			return cli.BadUsage(fmt.Errorf("flag --images: %d: must be at most the %d patterns of %s", j.Images,
				len(s.X), j.Data))
		}
		if s, err = s.Sample(j.Images, j.Seed); err == nil {
			err = s.NoteFactor()
		}
		if err != nil {
			return cli.BadUsage(fmt.Errorf("flag --data: %w", err))
		}
		for _, line := range s.Notes {
			shown.note(line)
		}
		_, err = s.Groups(ctx, j.Config().Channels(), j.Images/j.Config().Channels(), j.Seed)
		return cli.BadUsage(err)
	}
	shown.report("simulating %d patterns      ", j.Images)
	backend, err := cpu.New(f.engine)
	if err != nil {
		return err
	}
	defer backend.Close()
	o := scan.Options{Size: j.Size, ObjectSize: max(256, 5*j.Size/2), Positions: j.Images, Photons: f.photons,
		Phase: true, Curvature: scan.Defocus, Seed: j.Seed}
	s, err := scan.Simulate(ctx, o, backend)
	if err != nil {
		return err
	}
	j.Data = filepath.Join(folder, "simulated.npz")
	return scan.Write(j.Data, s)
}

// bound sets the memory limit of the trials, unless a flag does, and returns where it comes from.
func (f *ptychoFlags) bound(m machine.Memory) (source string, err error) {
	if f.options.Limit > 0 {
		return "flag", nil
	}
	f.options.Limit, source = available(m)
	if f.card != nil {
		f.options.Limit, source = availableOn(f.card)
	}
	if f.options.Edge && f.options.Limit == 0 {
		err = cli.BadUsage(fmt.Errorf("flag --edge: the memory that a trial may use is %s: must come with "+
			"--memory-limit", source))
	}
	return source, err
}

// available returns the memory that a trial may use without a limit, and where that comes
// from: most of what is available, so that no other program is killed for it.
func available(m machine.Memory) (bytes int64, source string) {
	switch {
	case m.Limit > 0 && (m.Available == 0 || m.Limit < m.Available):
		return m.Limit / 10 * 9, "90 % of the control group's limit"
	case m.Available > 0:
		return m.Available / 10 * 9, "90 % of the available memory"
	}
	return 0, "unknown: " + m.Reason
}

// availableOn is available for the memory of a GPU.
func availableOn(card *machine.GPUDevice) (bytes int64, source string) {
	switch {
	case card.FreeBytes > 0:
		return card.FreeBytes / 10 * 9, "90 % of the GPU's free memory"
	case card.TotalBytes > 0:
		return card.TotalBytes / 10 * 9, "90 % of the GPU's memory, of which it is unknown how much is free: " +
			card.FreeReason
	}
	return 0, "unknown: the driver does not say how much memory the GPU has"
}

// describe adds what only the command knows.
func (f *ptychoFlags) describe(r *throughput.Report, limit string) {
	processor := features.Detect()
	r.Version, r.Machine.CPU = cli.Version, processor.Model
	if processor.Model == "" {
		r.Machine.CPU = processor.Reason
	}
	r.Machine.GPUReason, r.Configuration.LimitSource = f.gpuReason, limit
	if f.card != nil {
		r.Machine.GPU, r.Machine.GPUAbout = &f.card.Name, f.driver.About(f.card)
	}
	if f.data == "" {
		r.Data.Source = "simulated"
	}
}
