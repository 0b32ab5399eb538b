package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export"
	"prismtop/profiles/history"
	"prismtop/profiles/recording"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/cpu/features"
	"prismtop/tui/chart"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
)

// historyFlags are the flags of commands that append to the history.
type historyFlags struct {
	path string
	none bool
	note string
}

func (f *historyFlags) register(flags *pflag.FlagSet) {
	f.registerPath(flags)
	flags.BoolVar(&f.none, "no-history", false, "do not append the result to the history")
	flags.StringVar(&f.note, "note", "", "a few words that the history has beside the result")
}

func (f *historyFlags) registerPath(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "history", "",
		"file of the history, one JSON object a line (default $XDG_STATE_HOME/prismtop/benchmarks.jsonl)")
}

// check checks the flags. The file must be none of those in claims.
func (f *historyFlags) check(claims cli.Claims) error {
	switch {
	case f.none && f.path != "":
		return errors.New("flag --no-history: cannot be joined with --history")
	case f.none && f.note != "":
		return errors.New("flag --note: is of the history, which --no-history leaves out")
	case f.path != "":
		if err := cli.WritableFiles("history", f.path, f.path, f.path); err != nil {
			return err
		}
		if err := claims.Append("flag --history", f.path); err != nil {
			return err
		}
		if err := atomicfile.Replaceable(history.Is, f.path); err != nil {
			return fmt.Errorf("flag --history: %w", err)
		}
	}
	return nil
}

// file returns the path of the history.
func (f *historyFlags) file() (string, error) {
	if f.path != "" {
		return f.path, nil
	}
	folder, err := recording.Folder()
	if err != nil {
		return "", fmt.Errorf("no folder for the history: set XDG_STATE_HOME, or name a file with --history")
	}
	return filepath.Join(filepath.Dir(folder), "benchmarks.jsonl"), nil
}

// keep appends entries to the history. That the usual one cannot be written is reported and no error: the
// result was printed.
func (f *historyFlags) keep(stderr io.Writer, entries []history.Entry) error {
	if f.none || len(entries) == 0 {
		return nil
	}
	for i := range entries {
		entries[i].Note = f.note
	}
	path, err := f.file()
	if err == nil {
		err = history.Append(path, entries...)
	}
	if err != nil && f.path == "" {
		fmt.Fprintln(stderr, "prismtop: not kept in the history: "+cli.ErrorLine(err))
		return nil
	}
	return err
}

// readHistory reads a history and reports its damaged lines.
func readHistory(cmd *cobra.Command, path string) (entries []history.Entry, damaged []history.Damaged, err error) {
	entries, damaged, err = history.Read(cmd.Context(), path)
	for _, d := range damaged {
		fmt.Fprintf(cmd.ErrOrStderr(), "prismtop: history %s: line %d is left out: %s\n", visible.Text(path), d.Line,
			visible.Text(d.Reason))
	}
	return entries, damaged, err
}

// thisMachine returns the machine of this process.
func thisMachine() history.Machine {
	cpu := features.Detect()
	if cpu.Model == "" {
		return history.MachineOf(cpu.Reason)
	}
	return history.MachineOf(cpu.Model)
}

// pastFlags are the flags of bench history.
type pastFlags struct {
	historyFlags
	machine, preset, work string
	json                  bool
}

// historyCommand returns the command bench history.
func historyCommand() *cobra.Command {
	var f pastFlags
	cmd := &cobra.Command{
		Use: "history", Short: "Show earlier measurements as a table and a plot", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	f.registerPath(flags)
	flags.StringVar(&f.machine, "machine", "this", "this, all, or a machine's ID in the list of --machine all")
	flags.StringVar(&f.preset, "preset", "", "only measurements of this preset")
	flags.StringVar(&f.work, "work", "", "only this work, as performance or \"compare prism\"")
	flags.BoolVar(&f.json, "json", false, "the entries as one JSON object (prismtop docs benchmarks)")
	return cmd
}

// pastJSON is bench history --json.
type pastJSON struct {
	Schema  int               `json:"schema"`
	File    string            `json:"file"`
	Machine history.Machine   `json:"machine"` // this one
	Entries []history.Entry   `json:"entries"`
	Hidden  int               `json:"hidden"` // entries that the flags leave out
	Damaged []history.Damaged `json:"damaged"`
}

func (f *pastFlags) run(cmd *cobra.Command) error {
	path, err := f.file()
	if err != nil {
		return cli.BadUsage(err)
	}
	if _, err := os.Stat(path); err != nil && f.path != "" { // a usual one comes with the first benchmark
		return cli.BadUsage(fmt.Errorf("flag --history: %s: %w", path, cli.Bare(err)))
	}
	all, damaged, err := readHistory(cmd, path)
	if err != nil {
		return err
	}
	this := thisMachine()
	var ids, presets, works []string
	note := func(known *[]string, name string) {
		if !slices.Contains(*known, name) {
			*known = append(*known, name)
		}
	}
	for i := range all {
		note(&ids, all[i].Machine.ID())
		note(&presets, all[i].Preset)
		note(&works, all[i].Work)
	}
	switch {
	case f.machine != "this" && f.machine != "all" && !slices.Contains(ids, f.machine):
		return cli.BadUsage(fmt.Errorf("flag --machine: %q: must be one of %s", f.machine,
			strings.Join(append([]string{"this", "all"}, ids...), ", ")))
	case f.preset != "" && len(all) > 0 && !slices.Contains(presets, f.preset):
		return cli.BadUsage(fmt.Errorf("flag --preset: %q: must be one that is in the history: %s", f.preset,
			strings.Join(presets, ", ")))
	case f.work != "" && len(all) > 0 && !slices.Contains(works, f.work):
		return cli.BadUsage(fmt.Errorf("flag --work: %q: must be one that is in the history: %s", f.work,
			strings.Join(works, ", ")))
	}
	shown := slices.DeleteFunc(slices.Clone(all), func(e history.Entry) bool {
		switch {
		case f.machine == "this" && !e.Machine.Host().Same(this), f.machine != "this" && f.machine != "all" &&
			f.machine != e.Machine.ID():
			return true
		}
		return f.preset != "" && f.preset != e.Preset || f.work != "" && f.work != e.Work
	})
	if f.json {
		if shown == nil {
			shown = []history.Entry{}
		}
		if damaged == nil {
			damaged = []history.Damaged{}
		}
		return export.WriteObject(cmd.OutOrStdout(),
			&pastJSON{history.Schema, path, this, shown, len(all) - len(shown), damaged})
	}
	return writePast(cmd.OutOrStdout(), shown, len(all)-len(shown), f.machine != "this", path)
}

// writePast writes entries as a table and a plot.
func writePast(w io.Writer, entries []history.Entry, hidden int, machines bool, path string) error {
	var b strings.Builder
	if len(entries) == 0 {
		fmt.Fprintf(&b, "No measurement is in the history %s", visible.Text(path))
		if hidden > 0 {
			fmt.Fprintf(&b, "; --machine (this, unless it is given), --preset and --work leave out %s",
				unit.Plural(hidden, "entry", "entries"))
		}
		b.WriteString(".\n")
		if hidden == 0 {
			b.WriteString("prismtop bench performance makes the first.\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	if err := history.TableOf(entries, machines).WriteText(&b); err != nil {
		return err
	}
	if machines {
		b.WriteByte('\n')
		var seen []string
		for i := range entries {
			if m := entries[i].Machine; !slices.Contains(seen, m.ID()) {
				seen = append(seen, m.ID())
				fmt.Fprintf(&b, "machine %s: %s\n", m.ID(), visible.Text(m.String()))
			}
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\n%s more: --machine (this, unless it is given), --preset and --work leave them out\n",
			unit.Plural(hidden, "entry", "entries"))
	}
	b.WriteString(plotted(entries, terminal.Columns(w)))
	_, err := io.WriteString(w, b.String())
	return err
}

// plotRows is the height of the plot.
const plotRows = 10

// plotted draws the time of an iteration over the measurements of the work that was measured most on one
// machine; empty with fewer than two.
func plotted(entries []history.Entry, columns int) string {
	series := mostMeasured(entries)
	if len(series) < 2 {
		return ""
	}
	var curve profiles.Curve
	top := 0.0
	for i, e := range series {
		v := e.Find(history.Iteration).Value
		curve = append(curve, profiles.Point{First: int64(i + 1), Last: int64(i + 1), Min: v, Max: v, Mean: v})
		top = max(top, v)
	}
	var c chart.Canvas
	c.Resize(min(100, max(40, columns)), plotRows)
	line := chart.Line{
		Series: []chart.Series{{Curve: curve, Sampled: true}}, Ceiling: chart.RoundUp(1.05 * top),
		Label: unit.AxisLabel, LabelWidth: 6,
		XLabel: func(v int64) string {
			return series[max(0, min(len(series), int(v))-1)].Began().Local().Format(time.DateOnly)
		},
	}
	line.Draw(&c)
	first := series[0]
	text := fmt.Sprintf("\nms of an iteration, %s of %s, preset %s\n",
		unit.Plural(len(series), "measurement", "measurements"), first.Work, first.Preset)
	w, h := c.Size()
	for y := range h {
		var row strings.Builder
		for x := range w {
			if r := c.At(x, y).Rune; r > 0 { // 0 is the right half of a wide character
				row.WriteRune(r)
			}
		}
		text += strings.TrimRight(row.String(), " ") + "\n"
	}
	return visible.Lines(text)
}

// mostMeasured returns the entries with a time of an iteration of the work that has most of them.
func mostMeasured(entries []history.Entry) (most []*history.Entry) {
	var all [][]*history.Entry
	for i := range entries {
		e := &entries[i]
		if e.Find(history.Iteration) == nil {
			continue
		}
		at := slices.IndexFunc(all, func(s []*history.Entry) bool {
			return s[0].SameWork(e) && s[0].Machine.Same(e.Machine)
		})
		if at < 0 {
			all, at = append(all, nil), len(all)
		}
		all[at] = append(all[at], e)
		if len(all[at]) > len(most) {
			most = all[at]
		}
	}
	return most
}
