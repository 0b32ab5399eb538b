package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"prismtop/gpu/monitor"
	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/stream"
	"prismtop/profiles/unit"
	"prismtop/sim"
	"prismtop/sim/bench"
	"prismtop/sim/workload"
	"prismtop/tui/command/cli"
	"prismtop/tui/screen"
)

// benchWatchingCommand returns the command bench watching.
func benchWatchingCommand() *cobra.Command {
	var f cli.SettingFlags
	var asJSON bool
	o := watchingBench{}
	cmd := &cobra.Command{
		Use: "watching", Short: "Measure what the live screen costs the run", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := resolve(cmd, &f, "the measurement ends with its last round; see --rounds and --block", o.check)
			if err != nil {
				return err
			}
			shown := newProgress(cmd)
			defer shown.end()
			o.Maker, o.Settings = m.maker, m.settings
			o.Progress = func(done int) { shown.report("%d of %d rounds", done, o.Rounds) }
			cli.ThriftyCollector()
			r, err := o.run(cmd.Context())
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return failed(&f, err)
			case !asJSON:
				return r.write(cmd.OutOrStdout())
			}
			return export.WriteObject(cmd.OutOrStdout(), r.summary(m.preset))
		},
	}
	register(cmd, &f)
	flags := cmd.Flags()
	flags.IntVar(&o.Rounds, "rounds", 8, "groups of four blocks; below 6 there is no interval")
	flags.DurationVar(&o.Block, "block", 4*time.Second, "measured time of a block, more until it has 3 iterations")
	flags.BoolVar(&asJSON, "json", false, "the result as one JSON object (prismtop docs json)")
	return cmd
}

// check checks the flags.
func (w *watchingBench) check(settings.Values) error {
	switch {
	case w.Rounds < 1 || w.Rounds > 1000:
		return fmt.Errorf("flag --rounds: %d: must be from 1 to 1000", w.Rounds)
	case w.Block < time.Second:
		return fmt.Errorf("flag --block: %v: must be at least 1s", w.Block)
	}
	return nil
}

// watchingBench measures the cost of the live screen within one run.
type watchingBench struct {
	Maker    workload.Maker
	Settings settings.Values
	Rounds   int
	Block    time.Duration  // measured, of each block
	Progress func(done int) // called after every round; nil for nothing

	// Output, Input and Environ are a terminal; nil for one of 120x40 that draws nothing.
	Output  io.Writer
	Input   io.Reader
	Environ []string

	// attach shows the run on screens in other processes instead; nil for one in this process.
	attach func(ctx context.Context) (end func() error, err error)

	show    cli.Live
	records *stream.Reader // of all iterations
	result  watchingResult
}

// watchingResult is what watchingBench measures.
type watchingResult struct {
	Settings settings.Values
	Run      profiles.RunInfo
	Threads  int
	Rounds   int
	Block    time.Duration
	// Ratio is the speed watched over the speed alone.
	Ratio stats.Centre
	// Watched and Alone are the times of an iteration in the blocks, in nanoseconds.
	Watched, Alone []float64
	Footer         profiles.WatchingCost // as last shown
	Foreign        float64               // share of the processors that other programs took
	ForeignReason  string
}

// Times around the measured part of a block.
const (
	opening = 2500 * time.Millisecond // until the screen stands and its first dark block may come
	closing = 300 * time.Millisecond  // after the screen is closed
)

// run measures until all rounds are done or ctx ends.
func (w *watchingBench) run(ctx context.Context) (*watchingResult, error) {
	events := stream.New(stream.Room)
	run, err := bench.Middle(ctx, sim.Options{
		Maker: w.Maker, Settings: w.Settings, Stream: events, Metrics: cli.MetricsInterval, Roofs: cli.JudgeRoofs,
	})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	sensors := monitor.New()
	defer sensors.Close()
	w.show = cli.Live{Run: run, Aggregator: aggregate.New(events.Follow(), cli.OnScreen(0, sensors))}
	w.records = events.Follow()
	w.result = watchingResult{Settings: w.Settings, Run: run.Info(), Threads: run.Threads(), Rounds: w.Rounds,
		Block: w.Block}
	aggregating, stop := context.WithCancel(context.Background())
	defer stop()
	go w.show.Aggregator.Run(aggregating, 0)
	run.Start(ctx)
	load := machine.ReadLoad()
	err = w.rounds(ctx)
	load = machine.ReadLoad().Since(load)
	w.result.Foreign, w.result.ForeignReason = load.Foreign(), load.Reason
	run.Stop()
	return &w.result, errors.Join(err, run.Wait())
}

// rounds runs groups of four blocks, alternately alone watched watched alone and the reverse.
func (w *watchingBench) rounds(ctx context.Context) error {
	if _, err := w.block(ctx, false); err != nil { // warms up
		return err
	}
	w.result.Watched, w.result.Alone = nil, nil
	var ratios []float64
	for round := range w.Rounds {
		contrast := 0.0
		for _, outer := range []bool{true, false, false, true} {
			watched := outer == (round%2 == 1)
			speed, err := w.block(ctx, watched)
			if err != nil {
				return err
			}
			if watched {
				contrast += speed / 2
			} else {
				contrast -= speed / 2
			}
		}
		ratios = append(ratios, contrast)
		if w.Progress != nil {
			w.Progress(round + 1)
		}
	}
	c := stats.SignedRank(ratios)
	w.result.Ratio = stats.Centre{Value: math.Exp(c.Value), Low: math.Exp(c.Low), High: math.Exp(c.High)}
	return nil
}

// block runs one block and returns the logarithm of its speed.
func (w *watchingBench) block(ctx context.Context, watched bool) (log float64, err error) {
	to, wait := &w.result.Alone, closing
	if watched {
		to, wait = &w.result.Watched, opening
		end, err := w.open(ctx)
		if err != nil {
			return 0, err
		}
		defer func() {
			if c := w.show.Aggregator.Last().Own.Watching; c.Known || !w.result.Footer.Known {
				w.result.Footer = c
			}
			err = errors.Join(err, end())
		}()
	} else if w.attach == nil { // a session's aggregator goes on without a screen
		w.show.Aggregator.Hold(true)
		defer w.show.Aggregator.Hold(false)
	}
	if err := w.sleep(ctx, wait); err != nil {
		return 0, err
	}
	w.records.Drain(func(*profiles.Event) {})
	var first, last profiles.Iteration
	for n := 0; n < 3; { // a slow run's block is longer
		if err := w.sleep(ctx, w.Block); err != nil {
			return 0, err
		}
		w.records.Drain(func(e *profiles.Event) {
			if it, ok := e.Body.(*profiles.Iteration); ok {
				if n == 0 {
					first = *it
				}
				last = *it
				n++
			}
		})
	}
	per := float64(last.Start-first.Start) / float64(last.Index-first.Index)
	*to = append(*to, per)
	return -math.Log(per), nil
}

// sleep waits, unless the run or ctx ends.
func (w *watchingBench) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.show.Done():
		return errors.New("bench watching: the run ended before the measurement")
	}
}

// open opens the screen; end closes it and returns its error.
func (w *watchingBench) open(ctx context.Context) (end func() error, err error) {
	if w.attach != nil {
		return w.attach(ctx)
	}
	o := screen.Options{Settings: w.Settings, Output: w.Output, Input: w.Input, Environ: w.Environ}
	hangUp := func() {}
	if o.Output == nil {
		keys, press := io.Pipe()
		hangUp = func() { _ = press.Close() }
		go func() { _, _ = io.WriteString(press, terminalClass+terminalClass) }()
		o.Output, o.Input, o.Size, o.Environ = io.Discard, keys, [2]int{120, 40}, []string{"TERM=xterm-256color"}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan error, 1)
	go func() { over <- screen.Run(ctx, unstoppable{w.show}, o) }()
	return func() error {
		cancel()
		err := <-over
		hangUp()
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}, nil
}

// terminalClass is a terminal's answer to the question for its class. The screen asks twice, the
// second time after the question for graphics, which this terminal does not answer.
const terminalClass = "\x1b[?62c"

// unstoppable is a run that goes on when its screen is closed.
type unstoppable struct{ cli.Live }

// Do asks for a command, but for the end of the run.
func (u unstoppable) Do(c profiles.Command) error {
	if c.Kind == profiles.StopCommand {
		return nil
	}
	return u.Live.Do(c)
}

// write prints the result.
func (r *watchingResult) write(out io.Writer) error {
	text := fmt.Sprintf("%s, %s of four blocks of %v, screen of 120x40\n", r.Run.Object,
		unit.Plural(r.Rounds, "round", "rounds"), r.Block)
	text += fmt.Sprintf("iteration          %s ms alone, %s ms watched (medians of the blocks)\n",
		unit.Milliseconds(stats.Median(r.Alone)), unit.Milliseconds(stats.Median(r.Watched)))
	text += fmt.Sprintf("watched over alone %.3f %s\n", r.Ratio.Value, interval(r.Ratio.Low, r.Ratio.High))
	text += "cost in the footer " + footerText(r.Footer) + "\n"
	if r.ForeignReason == "" {
		text += "other programs     " + unit.Share(r.Foreign) + " of the processors\n"
	} else {
		text += "other programs     unknown: " + r.ForeignReason + "\n"
	}
	_, err := io.WriteString(out, text)
	return err
}

func interval(low, high float64) string {
	if math.IsInf(high, 0) {
		return "(fewer than 6 rounds have no interval)"
	}
	return fmt.Sprintf("[%.3f, %.3f]", low, high)
}

func footerText(c profiles.WatchingCost) string {
	if c.Known {
		return unit.ShareWithin(c.Value, c.Low, c.High)
	}
	return "not known: " + footerReason(c)
}

func footerReason(c profiles.WatchingCost) string {
	if c.Reason != "" {
		return c.Reason
	}
	return "the run was watched for too short a time"
}

// watchingSummary is the JSON form of the result.
type watchingSummary struct {
	Schema           int             `json:"schema"`
	Version          string          `json:"version"`
	Preset           string          `json:"preset"`
	Settings         settings.Values `json:"settings"`
	Kernels          string          `json:"kernels"`
	Threads          int             `json:"threads"`
	Rounds           int             `json:"rounds"`
	Blocks           int             `json:"blocks"`
	BlockSeconds     float64         `json:"block_seconds"`
	WatchedOverAlone *centreJSON     `json:"watched_over_alone"`
	IterationMS      struct {
		Alone   float64 `json:"alone"`
		Watched float64 `json:"watched"`
	} `json:"iteration_ms"` // medians of the blocks' means
	FooterCost       *centreJSON `json:"footer_cost"` // share of the speed
	FooterCostReason string      `json:"footer_cost_reason,omitempty"`
	ForeignCPU       *float64    `json:"foreign_cpu"`
	ForeignCPUReason string      `json:"foreign_cpu_reason,omitempty"`
}

// centreJSON is an estimate with its interval, null if there is none.
type centreJSON struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

func (r *watchingResult) summary(preset string) *watchingSummary {
	s := &watchingSummary{
		Schema: export.Schema, Version: cli.Version, Preset: preset, Settings: r.Settings, Kernels: r.Run.Kernels,
		Threads: r.Threads, Rounds: r.Rounds, Blocks: 4 * r.Rounds, BlockSeconds: r.Block.Seconds(),
		WatchedOverAlone: &centreJSON{Value: r.Ratio.Value}, ForeignCPUReason: r.ForeignReason,
	}
	if !math.IsInf(r.Ratio.High, 0) {
		s.WatchedOverAlone.Low, s.WatchedOverAlone.High = &r.Ratio.Low, &r.Ratio.High
	}
	s.IterationMS.Alone, s.IterationMS.Watched = stats.Median(r.Alone)/1e6, stats.Median(r.Watched)/1e6
	if c := &r.Footer; c.Known {
		s.FooterCost = &centreJSON{c.Value, &c.Low, &c.High}
	} else {
		s.FooterCostReason = footerReason(*c)
	}
	if r.ForeignReason == "" {
		s.ForeignCPU = &r.Foreign
	}
	return s
}
