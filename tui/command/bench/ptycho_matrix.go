package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/report"
	"prismtop/profiles/unit"
	"prismtop/sim/ptycho/throughput"
	"prismtop/tui/command/cli"
)

// This file sweeps a test matrix as in PtychoPINN's plan: every combination of data sets,
// models and sets of batch sizes, in one report.

// testMatrix is the plan's test_configurations, as JSON.
type testMatrix struct {
	Datasets   map[string]matrixData  `json:"datasets"`
	Models     map[string]matrixModel `json:"models"`
	Hardware   []string               `json:"hardware"` // gpu_single, gpu_multi and cpu_baseline; empty for the last
	BatchSizes map[string][]int       `json:"batch_sizes"`
}

type matrixData struct {
	Images      int    `json:"n_images"`
	Description string `json:"description"`
}

type matrixModel struct {
	GridSize     int `json:"gridsize"`
	Size         int `json:"N"`
	FiltersScale int `json:"filters_scale"` // 0 for that of --filters-scale
}

// combination is one sweep of a matrix.
type combination struct {
	Dataset  string `json:"dataset"`
	Model    string `json:"model"`
	Sizes    string `json:"batch_sizes"`
	Hardware string `json:"hardware"`

	Folder string             `json:"folder"` // with its own report, below that of --output; empty without one
	Error  string             `json:"error,omitempty"`
	Report *throughput.Report `json:"report"` // null if it was not measured

	flags ptychoFlags
}

// matrixReport is the report of a matrix.
type matrixReport struct {
	Schema       int           `json:"schema"`
	Version      string        `json:"version"`
	Combinations []combination `json:"combinations"`
}

// largestMatrix bounds a file of a matrix, in bytes.
const largestMatrix = 1 << 20

// Names of the files of a matrix.
const (
	matrixJSON     = "benchmark_matrix.json"
	matrixMarkdown = "benchmark_matrix.md"
)

// combinations reads a matrix, and checks every combination before anything is measured.
func (f *ptychoFlags) combinations(cmd *cobra.Command) ([]combination, error) {
	text, err := inputfile.ReadNamed(cmd.Context(), f.matrix, largestMatrix)
	if err != nil {
		return nil, err
	}
	var m testMatrix
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w: must be a matrix in JSON (prismtop docs ptycho)", f.matrix, err)
	}
	if len(m.Datasets) == 0 || len(m.Models) == 0 || len(m.BatchSizes) == 0 {
		return nil, fmt.Errorf("%s: must have datasets, models and batch_sizes", f.matrix)
	}
	if len(m.Hardware) == 0 {
		m.Hardware = []string{"cpu_baseline"}
	}
	var all []combination
	for _, hardware := range m.Hardware {
		for _, data := range slices.Sorted(maps.Keys(m.Datasets)) {
			for _, model := range slices.Sorted(maps.Keys(m.Models)) {
				for _, sizes := range slices.Sorted(maps.Keys(m.BatchSizes)) {
					c := combination{Dataset: data, Model: model, Sizes: sizes, Hardware: hardware, flags: *f}
					if err := c.check(&m); err != nil {
						return nil, fmt.Errorf("%s: %s, %s, %s, %s: %w", f.matrix, hardware, data, model, sizes, err)
					}
					all = append(all, c)
				}
			}
		}
	}
	return all, nil
}

// check gives a combination its flags, and checks them.
func (c *combination) check(m *testMatrix) error {
	of, j := m.Models[c.Model], &c.flags.options.Job
	j.Images, j.Size, j.GridSize = m.Datasets[c.Dataset].Images, of.Size, of.GridSize
	j.FiltersScale = cmp.Or(of.FiltersScale, j.FiltersScale)
	var sizes []string
	for _, b := range m.BatchSizes[c.Sizes] {
		sizes = append(sizes, fmt.Sprint(b))
	}
	c.flags.sizes = strings.Join(sizes, ",")
	name := strings.Join([]string{c.Hardware, c.Dataset, c.Model, c.Sizes}, "-")
	switch c.Hardware {
	case "cpu_baseline":
		c.flags.device = "cpu"
	case "gpu_single":
		c.flags.device = "cuda"
	case "gpu_multi":
		c.flags.device = allCards
	default:
		return errors.New("hardware must be cpu_baseline, gpu_single or gpu_multi")
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%q: names are those of folders", name)
	}
	if c.flags.output.path != "" {
		c.Folder = name
		c.flags.output.path = filepath.Join(c.flags.output.path, name)
	}
	return c.flags.check()
}

// runMatrix sweeps every combination. One that fails does not end the others.
func (f *ptychoFlags) runMatrix(cmd *cobra.Command) error {
	all, err := f.combinations(cmd)
	if err != nil {
		return cli.BadUsage(fmt.Errorf("flag --matrix: %w", err))
	}
	out := outputFolder{path: f.output.path, claims: cli.Claims{}}
	if out.path != "" {
		if err := out.prepare([]string{matrixJSON, matrixMarkdown}, f.output.force); err != nil {
			return cli.BadUsage(err)
		}
		defer out.close()
	}
	found, err := cli.Probe(cmd.Context())
	if err != nil {
		return cli.ErrInterrupted
	}
	failed := 0
	for i := range all {
		c := &all[i]
		if wrong := c.flags.choose(found); wrong != nil {
			c.Error, c.Folder = c.flags.gpuReason, ""
			continue
		}
		fmt.Fprintf(cli.Notes(cmd), "%d of %d: %s, %s, %s\n", i+1, len(all), c.Dataset, c.Model, c.Sizes)
		c.Report, err = c.flags.measure(cmd)
		switch {
		case cmd.Context().Err() != nil:
			c.Error = "interrupted"
		case err != nil:
			c.Error, failed = err.Error(), failed+1
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	r := &matrixReport{throughput.Schema, cli.Version, all}
	var text bytes.Buffer
	if err := r.document().WriteMarkdown(&text); err != nil {
		return err
	}
	if out.path != "" {
		var b bytes.Buffer
		if err := export.WriteObject(&b, r); err != nil {
			return err
		}
		if err := out.write([]string{matrixJSON, matrixMarkdown}, [][]byte{b.Bytes(), text.Bytes()}); err != nil {
			return fmt.Errorf("flag --output: %w", err)
		}
	}
	if f.json {
		err = export.WriteObject(cmd.OutOrStdout(), r)
	} else {
		_, err = cmd.OutOrStdout().Write(text.Bytes())
	}
	switch {
	case cmd.Context().Err() != nil:
		err = errors.Join(err, cli.ErrInterrupted)
	case failed > 0:
		err = errors.Join(err, fmt.Errorf("%d of %s could not be measured", failed,
			unit.Plural(len(all), "combination", "combinations")))
	}
	return err
}

// document is the table of a matrix.
func (r *matrixReport) document() *report.Document {
	d := &report.Document{Title: "PtychoPINN Inference Throughput Benchmark Matrix"}
	for _, c := range r.Combinations {
		if c.Report != nil {
			d.Paragraph("prismtop %s on %s, %s", c.Report.Version, c.Report.Machine.CPU, c.Report.Started)
			break
		}
	}
	t := d.Table("Hardware", "Data set", "Model", "Batch sizes", "Optimal", "Throughput (img/s)", "Memory (MB)",
		"Over the smallest", "Report")
	for _, c := range r.Combinations {
		cells := []string{c.Hardware, c.Dataset, c.Model, c.Sizes, "–", "–", "–", "–", c.Error}
		if v := c.Report; v != nil && v.Optimum != nil {
			at := v.Of(v.Optimum.BatchSize)
			cells[4], cells[5] = fmt.Sprint(v.Optimum.BatchSize), fmt.Sprintf("%.2f [%.2f, %.2f]", at.ImagesPerS.Median,
				at.ImagesPerS.P10, at.ImagesPerS.P90)
			if at.Held() != nil {
				cells[6] = fmt.Sprintf("%.1f", float64(*at.Held())/1e6)
			}
			cells[7] = report.Optional(at.Scaling, 2, "x")
		}
		if c.Folder != "" && c.Error == "" {
			cells[8] = report.Link(c.Folder, c.Folder+"/benchmark_report.md")
		}
		t.Add(cells...)
	}
	return d
}
