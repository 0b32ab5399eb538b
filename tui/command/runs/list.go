package runs

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
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
		size := unit.Size(l.Bytes)
		if l.Err != nil {
			table = append(table, []string{name, "–", "–", "–", "–", "–", "–", size,
				visible.Text(withoutPath(l.Err, l.Path))})
			continue
		}
		state := l.State.String()
		if l.RunState != "" && (l.State == recording.Ended || l.State == recording.Growing && l.Over()) {
			state = l.RunState
		}
		if l.Stopped != "" {
			state += ": " + l.Stopped
		}
		for _, more := range []string{l.Name, l.Note} {
			if more != "" {
				state += " · " + more
			}
		}
		table = append(table, []string{name, cut(visible.Text(presetOf(l)), widestPicture),
			cut(visible.Text(l.Object), widestPicture), unit.Clock(l.Length),
			fmt.Sprint(l.Iterations), short(l.MedianMS), visible.Text(qualityOf(l)), size, visible.Text(state)})
	}
	if columns > 0 {
		table = narrowed(table, columns)
	}
	var text strings.Builder
	for _, line := range aligned(table) {
		if columns > 0 {
			line = chart.Cut(line, columns)
		}
		text.WriteString(line + "\n")
	}
	fmt.Fprintf(&text, "%s in %s\n", unit.Size(total), visible.Text(folder))
	_, err := io.WriteString(w, text.String())
	return err
}

// dropped are the columns that a narrow terminal does without, the first ones first, and leastState is
// what it leaves for the state.
var dropped = []string{"picture", "iterations", "size", "preset", "length", "quality", "ms"}

const leastState = 10

// narrowed returns a table without columns for which a terminal has no room.
func narrowed(table [][]string, columns int) [][]string {
	for _, title := range dropped {
		used := 0
		for i := range len(table[0]) - 1 {
			used += widest(table, i) + listGap
		}
		i := slices.Index(table[0], title)
		if used+leastState <= columns {
			break
		}
		rows := make([][]string, len(table))
		for n, row := range table {
			rows[n] = slices.Concat(row[:i], row[i+1:])
		}
		table = rows
	}
	return table
}

// listGap is the space between two columns.
const listGap = 2

// widest returns the width of a column in cells.
func widest(table [][]string, column int) (w int) {
	for _, row := range table {
		w = max(w, chart.Width(row[column]))
	}
	return w
}

// aligned returns the rows of a table as lines with columns of equal width, in cells.
func aligned(table [][]string) []string {
	widths := make([]int, len(table[0]))
	for i := range widths {
		widths[i] = widest(table, i)
	}
	lines := make([]string, len(table))
	for n, row := range table {
		var line strings.Builder
		for i, text := range row {
			line.WriteString(text)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-chart.Width(text)+listGap))
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
	if math.IsNaN(l.Quality) || math.IsInf(l.Quality, 0) {
		return "", ""
	}
	for _, w := range workloads.All {
		if schema := w.Schema(); schema.Workload == l.Workload {
			if i := schema.SeriesNamed(l.QualityIs); i >= 0 {
				return schema.Series[i].Title, decimals(l.Quality, schema.Series[i].Unit)
			}
		}
	}
	if name, ok := strings.CutSuffix(l.QualityIs, "_db"); ok { // as a loop names it
		return strings.ToUpper(name), decimals(l.Quality, "dB")
	}
	return l.QualityIs, decimals(l.Quality, "")
}

// decimals formats a quality with as many decimals as others of its unit, so that a column of them can be compared.
func decimals(v float64, of string) string {
	switch {
	case of == "dB":
		return fmt.Sprintf("%.1f dB", v)
	case of == "" && math.Abs(v) <= 1:
		return fmt.Sprintf("%.4f", v)
	}
	return strings.TrimSpace(short(v) + " " + of)
}

// short formats a number for the list; a dash if there is none.
func short(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.4g", v)
}
