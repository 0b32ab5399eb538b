package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/bench"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
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
func needs(ctx context.Context, maker workload.Maker, v settings.Values) (f bench.Foresight, ok bool) {
	s, ok := maker.(workload.Foreseer)
	if !ok {
		return f, false
	}
	ctx, cancel := context.WithTimeout(ctx, needsWithin)
	defer cancel()
	memory, err := s.Needs(ctx, v)
	return bench.Foresight{Memory: memory, Known: true, Free: machine.ReadMemory()}, err == nil
}

// needsOf returns the function for sim.Options.Needs.
func needsOf(maker workload.Maker) func(context.Context, settings.Values) (needed, available int64) {
	return func(ctx context.Context, v settings.Values) (needed, available int64) {
		f, ok := needs(ctx, maker, v)
		if !ok {
			return 0, 0
		}
		available, _ = f.Free.Usable()
		return f.Memory.Total(), available
	}
}

// memoryText says what memory a run needs, and what there is.
func memoryText(f *bench.Foresight) string {
	size := func(bytes int64) string { return strings.TrimSpace(unit.Bytes(bytes)) }
	available, known := f.Free.Usable()
	text := "about " + size(f.Memory.Total()) + " of memory"
	switch {
	case !known:
		return text
	case !f.Fits():
		return text + fmt.Sprintf(", but %s are available: the system may end it; %s", size(available), smaller)
	}
	return text + fmt.Sprintf("; %s are available", size(available))
}

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
	seen, err := bench.Foresee(cmd.Context(), workloads.Of(v).Maker(cli.Devices(device)), v, measuredFor)
	switch {
	case cmd.Context().Err() != nil:
		return cli.ErrInterrupted
	case err != nil:
		return cli.BadUsage(f.sourced(err))
	}
	d := describeForesight(seen, chosen.Name)
	if f.json {
		err = export.WriteObject(cmd.OutOrStdout(), d)
	} else {
		err = writeForesight(cmd.OutOrStdout(), d, seen)
	}
	if err == nil && !seen.Fits() {
		err = errors.New("run --dry-run: the run does not fit into memory: it needs " + memoryText(seen))
	}
	return err
}

// foresightJSON is run --dry-run --json.
type foresightJSON struct {
	Schema    int             `json:"schema"`
	Version   string          `json:"version"`
	Preset    string          `json:"preset"`
	Settings  settings.Values `json:"settings"`
	Fits      bool            `json:"fits"`
	Bytes     *int64          `json:"memory_bytes"` // of the plan with full caches; null if the workload does not foresee it
	Available *int64          `json:"available_bytes"`
	Most      *int64          `json:"iterations_at_most"`
	Sooner    bool            `json:"may_end_sooner"`
	Iteration *foreseenPace   `json:"iteration_ms"` // after the first samples; null if it does not fit or is too short
	Seconds   *float64        `json:"seconds_at_most"`
	Warnings  []string        `json:"warnings"`
}

type foreseenPace struct {
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	N      int     `json:"n"`
}

// describeForesight returns a foresight as it is printed.
func describeForesight(f *bench.Foresight, preset string) *foresightJSON {
	d := &foresightJSON{Schema: export.Schema, Version: cli.Version, Preset: preset, Settings: f.Settings, Fits: f.Fits(), Sooner: f.Sooner, Warnings: []string{}}
	if f.Known {
		bytes := f.Memory.Total()
		d.Bytes = &bytes
	}
	if available, known := f.Free.Usable(); known {
		d.Available = &available
	}
	if f.Most > 0 {
		d.Most = &f.Most
	}
	if median, low, high, ok := f.Pace(); ok {
		ms := func(t time.Duration) float64 { return t.Seconds() * 1e3 }
		d.Iteration = &foreseenPace{ms(median), ms(low), ms(high), len(f.Times)}
		if length, ok := f.Length(median); ok {
			seconds := length.Seconds()
			if d.Seconds = &seconds; length > long {
				d.Warnings = append(d.Warnings, "takes up to "+unit.Estimate(length)+": --max-time bounds it, and fewer samples or iterations are sooner done")
			}
		}
	}
	if !d.Fits {
		d.Warnings = append(d.Warnings, "needs "+memoryText(f))
	}
	return d
}

// writeForesight prints a foresight.
func writeForesight(w io.Writer, d *foresightJSON, f *bench.Foresight) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "run\tpreset %s", visible.Text(d.Preset))
	if d.Most != nil {
		fmt.Fprintf(t, ", at most %d iterations", *d.Most)
	}
	fmt.Fprintln(t)
	if d.Bytes != nil {
		fmt.Fprintf(t, "memory\t%s\n", memoryText(f))
		fmt.Fprintf(t, "\t%s\n", categories(f))
	}
	median, low, high, measured := f.Pace()
	switch length, known := f.Length(median); {
	case !measured && !f.Fits():
		fmt.Fprintf(t, "time\tnot measured: the run does not fit\n")
	case !measured:
		fmt.Fprintf(t, "time\tnot measured: the run is too short for it\n")
	case !known:
		fmt.Fprintf(t, "time\t%s ms an iteration\n", inMilliseconds(median))
	default:
		sooner := ""
		if d.Sooner {
			sooner = "; sooner where samples converge before their limit"
		}
		if limit := f.Settings.Number(settings.MaxSeconds); limit > 0 && length.Seconds() >= limit {
			sooner += ", and --max-time ends it then"
		}
		fmt.Fprintf(t, "time\tat most %s, at %s ms an iteration [%s, %s] after the first samples%s\n", unit.Estimate(length), inMilliseconds(median), inMilliseconds(low), inMilliseconds(high), sooner)
	}
	_ = t.Flush() // writes to memory do not fail
	for _, warning := range d.Warnings {
		fmt.Fprintln(&b, "warning: "+visible.Text(warning))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// categories lists the parts of the memory.
func categories(f *bench.Foresight) string {
	parts := []string{}
	add := func(name string, bytes int64) {
		if bytes > 0 {
			parts = append(parts, name+" "+strings.TrimSpace(unit.Bytes(bytes)))
		}
	}
	schema := workloads.Of(f.Settings).Schema()
	for i := range schema.Memory {
		add(schema.Memory[i].Name, f.Memory.Parts[i])
	}
	add("caches when full", f.Memory.Caches)
	return strings.Join(parts, ", ")
}

func inMilliseconds(d time.Duration) string {
	return strings.TrimSpace(unit.Milliseconds(float64(d)))
}
