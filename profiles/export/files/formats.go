package files

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export"
	"prismtop/profiles/export/figure"
	"prismtop/profiles/export/runreport"
	"prismtop/profiles/export/steps"
	"prismtop/profiles/export/table"
	"prismtop/profiles/export/tensorboard"
	"prismtop/profiles/export/trace"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// The table of formats, each with its writer.

// writer writes a run in one format. Errors of its destination are returned by Close, with the
// number of events that it missed as lost.
type writer interface {
	Take(*profiles.Event)
	Close(lost int64) error
}

// format is a format of files.
type format struct {
	name string
	// paths are the files at a path; by default the path itself.
	paths func(path string) []string
	// pictured is true for a format that shows pictures of the run.
	pictured bool
	// live is true for a format whose files others read while they are appended; its writer flushes.
	live bool
	// mark tells a file of the format that prismtop wrote, second the second of its files.
	mark, second atomicfile.Mark
	// start makes a writer to the files.
	start func(to []io.Writer, from export.Source) writer
}

// formats are all formats, as listed in messages.
var formats = []format{
	{name: "chrome", mark: atomicfile.Begins(trace.Begins).And(atomicfile.Holds(`"prismtop `)), start: startTrace},
	{name: "csv", paths: tables, mark: atomicfile.Begins(table.Begins[0]), second: atomicfile.Begins(table.Begins[1]), start: func(to []io.Writer, from export.Source) writer { return table.New(to[0], to[1], from.Schema) }},
	{name: "tensorboard", paths: inFolder, pictured: true, live: true, mark: atomicfile.Holds(), start: func(to []io.Writer, _ export.Source) writer { return tensorboard.New(to[0]) }},
	{name: "pprof", mark: atomicfile.Holds("prismtop "), start: func(to []io.Writer, from export.Source) writer { return steps.New(to[0], from.Version) }},
	{name: "png", mark: atomicfile.Holds(figure.MarkPNG), start: func(to []io.Writer, from export.Source) writer { return figure.NewPNG(to[0], from) }},
	{name: "svg", mark: atomicfile.Holds(atomicfile.Generated), start: func(to []io.Writer, from export.Source) writer { return figure.NewSVG(to[0], from) }},
	{name: "md", mark: atomicfile.Begins(atomicfile.Generated), start: func(to []io.Writer, from export.Source) writer { return runreport.NewMarkdown(to[0], from) }},
	{name: "html", pictured: true, mark: atomicfile.Holds(atomicfile.Generated), start: func(to []io.Writer, from export.Source) writer { return runreport.NewHTML(to[0], from) }},
	{name: "sqlite", pictured: true, mark: recording.IsDatabase, start: startDatabase},
}

// Names lists the formats: "chrome, csv, tensorboard or pprof".
func Names() string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// tables are the paths of the iterations and of the changes: run.csv and run.changes.csv.
func tables(path string) []string {
	extension := filepath.Ext(path)
	return []string{path, strings.TrimSuffix(path, extension) + ".changes" + extension}
}

// inFolder is the path of a file of events in a folder: TensorBoard looks for the name.
func inFolder(folder string) []string {
	return []string{filepath.Join(folder, fmt.Sprintf("events.out.tfevents.%d.prismtop.%d", time.Now().Unix(),
		os.Getpid()))}
}

// startTrace makes a writer of a trace.
func startTrace(to []io.Writer, from export.Source) writer { return trace.New(to[0], from.Version) }

// startDatabase makes a writer of a database for queries.
func startDatabase(to []io.Writer, from export.Source) writer {
	k := recording.Known{Began: from.Began, Facts: from.Facts, Whole: from.Cut == ""}
	if k.Facts == nil {
		made := recording.Fingerprint{Version: from.Version, Preset: from.Preset, CPU: from.CPU,
			Threads: from.Processors}
		k.Facts = func() map[string]any { return made.Facts("") }
	}
	k.Origins = func(start int) settings.Origins {
		switch {
		case start < len(from.Starts) && from.Starts[start] != nil:
			return from.Starts[start]
		case start > 0:
			return nil
		case from.Origins != nil:
			return from.Origins
		}
		return settings.Origins{}
	}
	return recording.NewDatabase(to[0], k)
}

// zipped reports whether a trace at a path is compressed, which its viewers read too.
func zipped(format, path string) bool { return format == "chrome" && strings.HasSuffix(path, ".gz") }

// zipWriter compresses what a writer writes.
type zipWriter struct {
	writer
	zip *gzip.Writer
}

// Close ends the writer, then the compressed stream.
func (z zipWriter) Close(lost int64) error {
	err := z.writer.Close(lost)
	if end := z.zip.Close(); err == nil {
		err = end
	}
	return err
}
