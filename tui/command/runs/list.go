package runs

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"prismtop/profiles/recording"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/workloads"
	"prismtop/tui/chart"
	"prismtop/tui/terminal"
)

// This file writes the list of recorded runs as text.

// widestName and widestPicture are the widths of names and pictures on a terminal; longer ones are cut
// there, so that the columns hold. Where the list goes into a pipe or a file, nothing is cut.
const (
	widestName    = 36
	widestPicture = 16
)

// writeRuns writes the list as text, with lines no longer than those of a terminal.
func writeRuns(w io.Writer, folder string, all []recording.Listed) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(w, "no run was recorded in %s\n", visible.Text(folder))
		return err
	}
	columns := terminal.Columns(w)
	cut := func(text string, n int) string {
		if columns > 0 {
			return chart.Cut(text, n)
		}
		return text
	}
	total := int64(0)
	table := [][]string{{"run", "preset", "picture", "length", "iterations", "ms", "quality", "size", "state"}}
	for i := range all {
		l := &all[i]
		total += l.Bytes
		name := cut(visible.Text(fileName(l.Path)), widestName)
		size := strings.TrimSpace(unit.Bytes(l.Bytes))
		if l.Err != nil {
			table = append(table, []string{name, "–", "–", "–", "–", "–", "–", size, visible.Text(withoutPath(l.Err, l.Path))})
			continue
		}
		state := l.State.String()
		if l.State == recording.Ended && l.RunState != "" {
			state = l.RunState
		}
		if more := strings.TrimSpace(l.Name + " " + l.Note); more != "" {
			state += ": " + more
		}
		table = append(table, []string{name, cut(visible.Text(presetOf(l)), widestPicture), cut(visible.Text(l.Object), widestPicture), unit.Clock(l.Length),
			fmt.Sprint(l.Iterations), short(l.MedianMS), visible.Text(qualityOf(l)), size, visible.Text(state)})
	}
	var text strings.Builder
	for _, line := range aligned(table) {
		if columns > 0 {
			line = chart.Cut(line, columns)
		}
		text.WriteString(line + "\n")
	}
	fmt.Fprintf(&text, "%s in %s\n", strings.TrimSpace(unit.Bytes(total)), visible.Text(folder))
	_, err := io.WriteString(w, text.String())
	return err
}

// aligned returns the rows of a table as lines with columns of equal width, in cells.
func aligned(table [][]string) []string {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, text := range row {
			widths[i] = max(widths[i], chart.Width(text))
		}
	}
	lines := make([]string, len(table))
	for n, row := range table {
		var line strings.Builder
		for i, text := range row {
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-chart.Width(text)+2))
			}
		}
		lines[n] = line.String()
	}
	return lines
}

// qualityOf returns the quality at the end with its name and unit: "PSNR 24.3 dB".
func qualityOf(l *recording.Listed) string {
	metric, measured := measuredBy(l)
	return cmp.Or(strings.TrimSpace(metric+" "+measured), "–")
}

// measuredBy returns the name of the quality, and its value with its unit; nothing if it was not measured.
func measuredBy(l *recording.Listed) (metric, measured string) {
	value := short(l.Quality)
	if value == "–" {
		return "", ""
	}
	for _, w := range workloads.All {
		if schema := w.Schema(); schema.Workload == l.Workload {
			if i := schema.SeriesNamed(l.QualityIs); i >= 0 {
				return schema.Series[i].Title, strings.TrimSpace(value + " " + schema.Series[i].Unit)
			}
		}
	}
	return l.QualityIs, value
}

// short formats a number for the list; a dash if there is none.
func short(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.4g", v)
}
