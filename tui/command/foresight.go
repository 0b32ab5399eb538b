package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/bench"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// measuredFor is how long iterations are measured before a run; long is what is warned about. The note on memory
// must not delay the screen: it takes 2 ms, but longer with hundreds of apertures a sample.
const (
	needsWithin = 250 * time.Millisecond
	measuredFor = time.Second
	long        = 2 * time.Hour
)

// needs foresees a run's memory before it begins; ok is false if that takes too long or is not known, or if the
// settings cannot be used, of which the run itself says why.
func needs(ctx context.Context, maker workload.Maker, v settings.Values, gpu *cli.GPU) (f bench.Foresight, ok bool) {
	s, ok := maker.(workload.Foreseer)
	if !ok {
		return f, false
	}
	ctx, cancel := context.WithTimeout(ctx, needsWithin)
	defer cancel()
	memory, err := s.Needs(ctx, v)
	f = bench.Foresight{Memory: memory, Known: true, Free: machine.ReadMemory()}
	if found, known := gpu.Known(); known {
		f.Card = cli.CardOf(found, v)
	} else if strings.HasPrefix(v.Text(settings.Device), "cuda") {
		f.Free = machine.Memory{} // that of the machine says nothing, and the driver has not answered yet
	}
	return f, err == nil
}

// needsOf returns the function for sim.Options.Needs.
func needsOf(maker workload.Maker, gpu *cli.GPU) func(context.Context, settings.Values) (needed, available int64) {
	return func(ctx context.Context, v settings.Values) (needed, available int64) {
		f, ok := needs(ctx, maker, v, gpu)
		if !ok {
			return 0, 0
		}
		available, _ = f.Available()
		return f.Memory.Total(), available
	}
}

// memoryText says what memory a run needs beside what the program has, and what there is.
func memoryText(f *bench.Foresight) string {
	held := ""
	if f.Held {
		held = ", held after the first iterations"
	}
	text := "about " + size(f.Memory.Total()) + " of memory" + held
	if f.Card != nil {
		text = "about " + size(f.Memory.Total()) + " of the memory of " + f.Card.Name + held
	} else if own, _, _ := machine.ReadResident(); own > 0 {
		text += ", beside " + size(own) + " that the program has now"
	}
	available, known := f.Available()
	switch {
	case !known:
		return text
	case f.Card != nil && !f.Fits():
		return text + fmt.Sprintf(", but %s are free: a run on it is refused, and device = auto is on the CPU; %s",
			size(available), smaller)
	case f.Card != nil:
		return text + fmt.Sprintf("; %s are free", size(available))
	case !f.Fits():
		return text + fmt.Sprintf(", but %s are available: the system may end it; %s", size(available), smaller)
	}
	return text + fmt.Sprintf("; %s are available", size(available))
}

func size(bytes int64) string { return unit.Size(bytes) }

// smaller advises on what needs less memory.
const smaller = "a smaller size or measurement_cache_mb, or checkpointing, needs less"

// foresee is run --dry-run.
func (f *runFlags) foresee(cmd *cobra.Command, v settings.Values) error {
	device, err := cli.Probe(cmd.Context())
	if err != nil {
		return err
	}
	chosen, err := f.keep.preset(f.Sources)
	if err != nil {
		return cli.BadUsage(err)
	}
	cli.ThriftyCollector()
	maker, out := workloads.Of(v).Maker(cli.Devices(device)), cmd.OutOrStdout()
	seen, err := bench.Foresee(cmd.Context(), maker, v)
	if err == nil {
		seen.Card = cli.CardOf(device, v)
	}
	if err == nil && !f.json { // what is known at once, before the measurement takes seconds
		err = writePlanned(out, chosen.Name, seen)
	}
	if err == nil {
		err = seen.Measure(cmd.Context(), maker, measuredFor, f.watched)
	}
	switch {
	case cmd.Context().Err() != nil:
		return cli.ErrInterrupted
	case err != nil:
		return cli.BadUsage(f.sourced(err))
	}
	d := describeForesight(seen, chosen.Name)
	if f.json {
		err = export.WriteObject(out, d)
	} else {
		err = writeMeasured(out, d, seen)
	}
	if err == nil && !seen.Fits() {
		err = errors.New("run --dry-run: the run does not fit into memory: it needs " + memoryText(seen))
	}
	return err
}

// watched watches and records a run that is only measured, into a file that is deleted.
func (f *runFlags) watched(events *stream.Stream) (end func()) {
	o := cli.Observing(nil)
	folder, err := os.MkdirTemp("", "prismtop-")
	var recorder *recording.Recorder
	if err == nil && !f.record.off {
		recorder = recording.New(recording.Options{Path: filepath.Join(folder, "dry-run.sqlite")})
		o.Tape = recorder
	}
	aggregating := cli.Live{Aggregator: aggregate.New(events.Follow(), o)}.Aggregate()
	return func() {
		aggregating()
		if recorder != nil {
			ctx, cancel := context.WithTimeout(context.Background(), recordedWithin)
			defer cancel()
			_ = recorder.Close(ctx) // nobody reads it
		}
		if err == nil {
			_ = os.RemoveAll(folder) // what is left of it is in the folder for temporary files
		}
	}
}

// foresightJSON is run --dry-run --json.
type foresightJSON struct {
	Schema    int             `json:"schema"`
	Version   string          `json:"version"`
	Preset    string          `json:"preset"`
	Fits      bool            `json:"fits"`
	Bytes     *int64          `json:"memory_bytes"`        // of the plan with full caches; held after the measured iterations if the workload does not foresee it
	Peak      *int64          `json:"resident_peak_bytes"` // of the process, by the measured iterations and full caches; null if they were not measured
	Available *int64          `json:"available_bytes"`
	Seconds   *float64        `json:"seconds_at_most"`
	Most      *int64          `json:"iterations_at_most"`
	Sooner    bool            `json:"may_end_sooner"`
	Iteration *foreseenPace   `json:"iteration_ms"` // after the first samples; null if it does not fit or is too short
	Warnings  []string        `json:"warnings"`
	Settings  settings.Values `json:"settings"`
}

type foreseenPace struct {
	Mean   float64 `json:"mean"` // seconds_at_most is computed from it
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	N      int     `json:"n"`
}

// describeForesight returns a foresight as it is printed.
func describeForesight(f *bench.Foresight, preset string) *foresightJSON {
	d := &foresightJSON{Schema: export.Schema, Version: cli.Version, Preset: preset, Settings: f.Settings,
		Fits: f.Fits(), Sooner: f.Sooner, Warnings: []string{}}
	if f.Known || f.Held {
		bytes := f.Memory.Total()
		d.Bytes = &bytes
	}
	if f.Peak > 0 {
		d.Peak = &f.Peak
	}
	if available, known := f.Available(); known {
		d.Available = &available
	}
	if f.Most > 0 {
		d.Most = &f.Most
	}
	if median, low, high, ok := f.Pace(); ok {
		ms := func(t time.Duration) float64 { return t.Seconds() * 1e3 }
		d.Iteration = &foreseenPace{ms(f.Mean()), ms(median), ms(low), ms(high), len(f.Times)}
		if length, ok := f.Length(f.Mean()); ok {
			seconds := length.Seconds()
			if d.Seconds = &seconds; length > long {
				d.Warnings = append(d.Warnings, "takes up to "+unit.Estimate(length)+
					": --max-time bounds it, and fewer samples or iterations finish sooner")
			}
		}
	}
	if !d.Fits {
		d.Warnings = append(d.Warnings, "needs "+memoryText(f))
	}
	return d
}

// writePlanned prints what a foresight knows before the measurement.
func writePlanned(w io.Writer, preset string, f *bench.Foresight) error {
	run := "preset " + visible.Text(preset)
	if f.Most > 0 {
		run += fmt.Sprintf(", at most %d iterations", f.Most)
	}
	rows := [][2]string{{"run", run}}
	if f.Known {
		rows = append(rows, memoryRows(f)...)
	}
	return writeRows(w, rows)
}

// memoryRows are the memory and its parts.
func memoryRows(f *bench.Foresight) [][2]string {
	return [][2]string{{"memory", memoryText(f)}, {"", categories(f)}}
}

// writeMeasured prints the rest of a foresight.
func writeMeasured(w io.Writer, d *foresightJSON, f *bench.Foresight) error {
	var rows [][2]string
	if f.Held {
		rows = memoryRows(f)
	}
	if f.Peak > 0 {
		rows = append(rows, [2]string{"resident",
			"about " + size(f.Peak) + " at its peak, with the program itself: measured, and caches filled"})
	}
	rows = append(rows, [2]string{"time", timeText(d, f)})
	for _, warning := range d.Warnings {
		rows = append(rows, [2]string{"warning", visible.Text(warning)})
	}
	return writeRows(w, rows)
}

// timeText says what time a run takes.
func timeText(d *foresightJSON, f *bench.Foresight) string {
	median, low, high, measured := f.Pace()
	length, known := f.Length(f.Mean())
	pace := fmt.Sprintf("%s ms an iteration (median %s, p10 %s, p90 %s)", inMilliseconds(f.Mean()),
		inMilliseconds(median), inMilliseconds(low), inMilliseconds(high))
	switch {
	case !measured && !f.Fits():
		return "not measured: the run does not fit"
	case !measured:
		return "not measured: the run is too short for it"
	case !known:
		return pace
	}
	sooner := ""
	if d.Sooner {
		sooner = "; less where it converges before its limits"
	}
	if limit := f.Settings.Number(settings.MaxSeconds); limit > 0 && length.Seconds() >= limit {
		sooner += ", and --max-time ends it then"
	}
	return fmt.Sprintf("at most %s, at %s after the first ones%s", unit.Estimate(length), pace, sooner)
}

// rowLabel is the width of the labels of rows.
const rowLabel = 9

// writeRows prints labels with texts beside them, wrapped at the width of a terminal.
func writeRows(w io.Writer, rows [][2]string) error {
	var b strings.Builder
	columns := terminal.Columns(w)
	for _, r := range rows {
		wrapped := []string{r[1]}
		if columns > 2*rowLabel {
			wrapped = words.Wrap(r[1], columns-rowLabel)
		}
		for i, text := range wrapped {
			if i > 0 {
				r[0] = ""
			}
			fmt.Fprintf(&b, "%-*s%s\n", rowLabel, r[0], text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// categories lists the parts of the memory.
func categories(f *bench.Foresight) string {
	parts := []string{}
	add := func(name string, bytes int64) {
		if bytes > 0 {
			parts = append(parts, name+" "+size(bytes))
		}
	}
	schema := workloads.Of(f.Settings).Schema()
	for i := range schema.Memory {
		add(schema.Memory[i].Name, f.Memory.Parts[i])
	}
	if f.Held {
		add("caches", f.Memory.Caches)
		return strings.Join(parts, ", ")
	}
	add("caches when full", f.Memory.Caches)
	return strings.Join(parts, ", ") + "; not counted: FFT plans and the kernels' work space, a few MB"
}

func inMilliseconds(d time.Duration) string {
	return strings.TrimSpace(unit.Milliseconds(float64(d)))
}
