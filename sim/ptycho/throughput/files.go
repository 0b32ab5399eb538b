package throughput

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles/export"
	"prismtop/profiles/export/figure"
)

// Formats are the formats of files, in the order of the document and then ours.
var Formats = []string{"json", "csv", "md", "html", "svg", "png"}

// file is a file of a report.
type file struct {
	name  string
	write func(io.Writer, *Report) error
}

// format returns the format of a file.
func (f file) format() string { return f.name[strings.LastIndexByte(f.name, '.')+1:] }

// files returns all files, by the names of PtychoPINN's plan and of its tests where they name
// them.
func files() []file {
	all := []file{
		{"benchmark_results.json", func(w io.Writer, r *Report) error { return export.WriteObject(w, r) }},
		{"benchmark_results.csv", WriteCSV},
		{"benchmark_report.md", WriteMarkdown},
		{"benchmark_report.html", WriteHTML},
		{"batch_sizes.json", WriteBatchSizes},
	}
	add := func(name string, draw func(*Report) *figure.Drawing) {
		all = append(all,
			file{name + ".svg", func(w io.Writer, r *Report) error { return draw(r).WriteSVG(w) }},
			file{name + ".png", func(w io.Writer, r *Report) error { return draw(r).WritePNG(w) }})
	}
	add("performance_analysis", Analysis)
	for i, name := range graphNames {
		add(name, func(r *Report) *figure.Drawing {
			g := graphs(r)[i]
			return g.Draw(about(r), 560, 400)
		})
	}
	return all
}

// FileNames lists the files of some formats.
func FileNames(formats []string) (names []string) {
	for _, f := range files() {
		if slices.Contains(formats, f.format()) {
			names = append(names, f.name)
		}
	}
	return names
}

// Files returns the files of some formats.
func Files(r *Report, formats []string) (names []string, data [][]byte, err error) {
	for _, f := range files() {
		if !slices.Contains(formats, f.format()) {
			continue
		}
		var b bytes.Buffer
		if err := f.write(&b, r); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.name, err)
		}
		names, data = append(names, f.name), append(data, b.Bytes())
	}
	return names, data, nil
}

// WriteCSV writes a row for each batch size. What was not measured is empty.
func WriteCSV(w io.Writer, r *Report) error {
	c := csv.NewWriter(w)
	head := []string{"batch_size", "status", "runs", "images", "images_per_s_median", "images_per_s_p10",
		"images_per_s_p90", "images_per_s_mean", "images_per_s_std",
		"pipeline_images_per_s_median", "latency_ms_median", "latency_ms_p10", "latency_ms_p90", "batch_ms_median",
	}
	for _, stage := range allStages {
		head = append(head, stage.name+"_ms")
	}
	// Error returns the first error
	_ = c.Write(append(head, "plan_bytes", "peak_bytes", "gpu_bytes", "gpu_peak_bytes", "efficiency", "scaling",
		"images_per_joule"))
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return number(*v)
	}
	whole := func(v *int64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatInt(*v, 10)
	}
	of := func(s *Spread, get func(*Spread) float64) string {
		if s == nil {
			return ""
		}
		return number(get(s))
	}
	median, p10, p90 := func(s *Spread) float64 { return s.Median },
		func(s *Spread) float64 { return s.P10 }, func(s *Spread) float64 { return s.P90 }
	for _, size := range r.Sizes() {
		b := r.Of(size)
		runs, plan := "0", ""
		if b.ImagesPerS != nil {
			runs = strconv.Itoa(b.ImagesPerS.N)
		}
		if len(b.PlanBytes) > 0 {
			plan = strconv.FormatInt(planBytes(b), 10)
		}
		row := []string{strconv.Itoa(size), string(b.Status), runs, strconv.Itoa(b.Images), of(b.ImagesPerS, median),
			of(b.ImagesPerS, p10), of(b.ImagesPerS, p90),
			of(b.ImagesPerS, func(s *Spread) float64 { return s.Mean }),
			of(b.ImagesPerS, func(s *Spread) float64 { return s.Std }),
			of(b.PipelineImagesPerS, median), of(b.LatencyMS, median), of(b.LatencyMS, p10), of(b.LatencyMS, p90),
			of(b.BatchMS, median)}
		for _, stage := range allStages {
			s, ok := b.StagesMS[stage.name]
			if !ok {
				row = append(row, "")
				continue
			}
			row = append(row, number(s.Median))
		}
		_ = c.Write(append(row, plan, whole(b.PeakBytes), whole(b.GPUBytes), whole(b.GPUPeakBytes),
			optional(b.Efficiency), optional(b.Scaling), optional(b.ImagesPerJoule)))
	}
	c.Flush()
	return c.Error()
}

// planBytes returns the memory of a plan.
func planBytes(b *Batch) (sum int64) {
	for _, v := range b.PlanBytes {
		sum += v
	}
	return sum
}

// BatchSizes is the configuration that the recommendations come to: batch sizes by preset and
// stage.
type BatchSizes struct {
	Schema  int                       `json:"schema"`
	Model   Model                     `json:"model"`
	Machine string                    `json:"machine"`
	Presets map[string]map[string]int `json:"presets"`
}

// WriteBatchSizes writes the recommended batch sizes, for the configuration of other programs.
func WriteBatchSizes(w io.Writer, r *Report) error {
	v := BatchSizes{Schema, r.Model, r.Machine.CPU, map[string]map[string]int{}}
	for _, p := range r.Recommendations {
		v.Presets[p.Preset] = p.BatchSize
	}
	return export.WriteObject(w, v)
}
