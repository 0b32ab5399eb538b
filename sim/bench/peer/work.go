// Package peer compares prismtop with PyTorch on the same machine: for each kind
// of work both run one after the other, for several rounds, and the ratio within a
// round counts.
//
// PyTorch's side is a script that prints one JSON document with the options of the
// works below; prismtop's is this program's own commands.
package peer

import (
	"encoding/json"
	"fmt"
	"strconv"

	"prismtop/profiles/unit"
)

// Work is one row of the table.
type Work struct {
	Name string
	Unit string // of the two figures: ms, s or MB

	Ours []string // arguments of prismtop
	Peer []string // arguments of the script

	ours func([]byte) (Figure, error)
	peer func([]byte) (Figure, error)
}

// Figure is one measurement of one side.
type Figure struct {
	Median, P10, P90 float64 // in the work's unit; the last two equal Median if the side has no spread
	Resident         float64 // MB at the peak; 0 if unknown
	Operations       int64   // of an iteration's plan; 0 if unknown
	Foreign          float64 // share of the processors used by other programs; −1 if unknown
	Note             string  // the variant, if there are several
}

// Options are the same for all works.
type Options struct {
	Threads int
	Seconds float64  // of each measurement
	Sets    []string // settings of prismtop, key=value
}

// Works lists the works to compare.
func Works(o Options) []Work {
	var works []Work
	add := func(w Work) { works = append(works, w) }
	step := func(name string, size, object, threads int, ours, peer []string) {
		add(Work{
			Name: name, Unit: "ms",
			Ours: o.model(size, object, threads, ours...), Peer: o.script("step", size, object, threads, peer...),
			ours: iteration, peer: part("step", "total"),
		})
	}
	l1 := func(more ...string) []string { return append([]string{"--loss", "l1"}, more...) }
	step("iteration 512/128, L1, as PRISM writes it", 512, 128, o.Threads, nil, l1())
	step("iteration 512/128, L1, PyTorch with fused Adam", 512, 128, o.Threads, nil, l1("--adam", "fused"))
	step("iteration 512/128, L1, PyTorch with a shared spectrum", 512, 128, o.Threads, nil,
		l1("--telescope-impl", "shared"))
	step("iteration 512/128, L1, PyTorch with both", 512, 128, o.Threads, nil,
		l1("--telescope-impl", "shared", "--adam", "fused"))
	step("iteration 512/128, L1, bf16", 512, 128, o.Threads, []string{"--amp", "bf16"}, l1("--dtype", "bf16"))
	step("iteration 512/128, L1+SSIM", 512, 128, o.Threads, []string{"--loss", "l1+ssim"},
		[]string{"--loss", "l1+ssim"})
	step("iteration 1024/512, L1", 1024, 512, o.Threads, nil, l1())
	step("iteration 1024/1024, L1", 1024, 1024, o.Threads, nil, l1())
	add(Work{
		Name: "forward only 512/128, PyTorch's best way", Unit: "ms",
		Ours: o.model(512, 128, o.Threads, "--forward"), Peer: o.script("infer", 512, 128, o.Threads),
		ours: iteration, peer: fastestInference,
	})
	step("iteration 512/128, L1, one thread", 512, 128, 1, nil, l1())
	step("iteration 512/128, L1, AVX2 kernels", 512, 128, o.Threads, []string{"--kernels", "avx2"}, l1())
	for _, kept := range []bool{true, false} {
		add(o.remeasure(kept))
	}
	add(Work{
		Name: "peak of resident memory, 512/128", Unit: "MB",
		Ours: o.model(512, 128, o.Threads), Peer: o.script("step", 512, 128, o.Threads, l1()...),
		ours: resident, peer: residentPeer,
	})
	return works
}

// Iteration is a training iteration of the eleventh of some samples, which prismtop and the script train alike. Of
// large fields few repetitions are measured.
func (o Options) Iteration(size, object, threads int) Work {
	few := []string{}
	if size >= 2048 {
		few = []string{"--reps", "3", "--warmup", "1"}
	}
	return Work{
		Name: fmt.Sprintf("iteration %d/%d, L1, %s", size, object, unit.Plural(threads, "thread", "threads")),
		Unit: "ms", Ours: o.model(size, object, threads, "--layers", "--no-history", "--set", "samples=20",
			"--warmup", "3"),
		Peer: o.script("step", size, object, threads, append(few, "--loss", "l1")...), ours: iteration,
		peer: part("step", "total"),
	}
}

// Whole is a run of some samples, an iteration each, with the measurement cache that either program has.
func (o Options) Whole(samples, size, object, threads int) Work {
	n := strconv.Itoa(samples)
	return Work{
		Name: fmt.Sprintf("%s samples %d/%d, %s", n, size, object, unit.Plural(threads, "thread", "threads")),
		Unit: "s", Ours: o.sets([]string{"run", "--headless", "--json", "--no-record", "--preset", "standard",
			"--threads", strconv.Itoa(threads), "--set", "samples=" + n,
			"--set", fmt.Sprintf("size=%d", size), "--set", fmt.Sprintf("object_size=%d", object), "--set",
			fmt.Sprintf("roi_diameter=%d", size)}),
		Peer: o.script("standard", size, object, threads, "--loss", "l1", "--samples", n, "--epochs", "1", "--cache",
			"prism"), ours: wall, peer: wallPeer,
	}
}

// model returns the arguments for a measurement by prismtop.
func (o Options) model(size, object, threads int, more ...string) []string {
	args := []string{"bench", "model", "--json", "--size", strconv.Itoa(size), "--object", strconv.Itoa(object),
		"--threads", strconv.Itoa(threads), "--max-time", fmt.Sprintf("%gs", o.Seconds)}
	return append(o.sets(args), more...)
}

func (o Options) sets(args []string) []string {
	for _, s := range o.Sets {
		args = append(args, "--set", s)
	}
	return args
}

// script returns the arguments for a measurement by PyTorch.
func (o Options) script(what string, size, object, threads int, more ...string) []string {
	args := []string{"--what", what, "--size", strconv.Itoa(size), "--out", strconv.Itoa(object),
		"--threads", strconv.Itoa(threads), "--budget", fmt.Sprint(o.Seconds), "--max-wait", fmt.Sprint(4 * o.Seconds)}
	return append(args, more...)
}

// remeasure is PRISM's published benchmark: 20 centres, 50 iterations each, with the object
// measured every time, with or without cached measurements. Without, PyTorch's side clears its
// cache after every measurement, as PRISM's baseline does, and prismtop's is off.
func (o Options) remeasure(kept bool) Work {
	name, cache := "remeasure pattern, 20 × 50, cache off", "clear"
	if kept {
		name, cache = "remeasure pattern, 20 × 50, cache kept", "prism"
	}
	args := []string{"run", "--headless", "--json", "--preset", "phase5", "--threads", strconv.Itoa(o.Threads),
		"--set", fmt.Sprintf("measurement_cache=%v", kept)}
	return Work{
		Name: name, Unit: "s", Ours: o.sets(args),
		Peer: o.script("standard", 512, 128, o.Threads, "--loss", "l1", "--samples", "20", "--epochs", "50",
			"--measure-in-epoch", "--cache", cache),
		ours: wall, peer: wallPeer,
	}
}

// summary is the part of prismtop's JSON that is read.
type summary struct {
	WallSeconds float64 `json:"wall_seconds"`
	IterationMS *struct {
		Median, P10, P90 float64
	} `json:"iteration_ms"`
	Memory struct {
		RSSPeak *float64 `json:"rss_peak"`
	} `json:"memory_bytes"`
	Benchmark *struct {
		Foreign *float64 `json:"foreign_cpu"`
		Layers  []struct {
			FLOPs int64 `json:"flops"`
		}
	}
}

// measured returns a figure with what else was measured of its process.
func (s *summary) measured(f Figure) Figure {
	if s.Memory.RSSPeak != nil {
		f.Resident = *s.Memory.RSSPeak / 1e6
	}
	if s.Benchmark != nil {
		for _, l := range s.Benchmark.Layers {
			f.Operations += l.FLOPs
		}
	}
	return f
}

func readSummary(text []byte) (s summary, foreign float64, err error) {
	err = json.Unmarshal(text, &s)
	foreign = -1
	if s.Benchmark != nil && s.Benchmark.Foreign != nil {
		foreign = *s.Benchmark.Foreign
	}
	return s, foreign, err
}

func iteration(text []byte) (Figure, error) {
	s, foreign, err := readSummary(text)
	if err == nil && s.IterationMS == nil {
		err = fmt.Errorf("no iteration was measured")
	}
	if err != nil {
		return Figure{}, err
	}
	return s.measured(Figure{Median: s.IterationMS.Median, P10: s.IterationMS.P10, P90: s.IterationMS.P90,
		Foreign: foreign}), nil
}

func resident(text []byte) (Figure, error) {
	s, foreign, err := readSummary(text)
	if err == nil && s.Memory.RSSPeak == nil {
		err = fmt.Errorf("resident memory was not measured")
	}
	if err != nil {
		return Figure{}, err
	}
	return constant(*s.Memory.RSSPeak/1e6, foreign), nil
}

func wall(text []byte) (Figure, error) {
	s, foreign, err := readSummary(text)
	return s.measured(constant(s.WallSeconds, foreign)), err
}

func constant(v, foreign float64) Figure { return Figure{Median: v, P10: v, P90: v, Foreign: foreign} }

// timing is a measurement in the script's JSON.
type timing struct {
	Median, P10, P90 float64
	Error            string
}

// part reads a timing of a part of the script, and the part's foreign_cpu.
func part(what, key string) func([]byte) (Figure, error) {
	return func(text []byte) (Figure, error) {
		var parts map[string]json.RawMessage
		var fields map[string]json.RawMessage
		var t timing
		if err := json.Unmarshal(text, &parts); err != nil {
			return Figure{}, err
		}
		if err := json.Unmarshal(parts[what], &fields); err != nil {
			return Figure{}, fmt.Errorf("%s: %w", what, err)
		}
		if err := json.Unmarshal(fields[key], &t); err != nil {
			return Figure{}, fmt.Errorf("%s.%s: %w", what, key, err)
		}
		foreign := -1.0
		_ = json.Unmarshal(fields["foreign_cpu"], &foreign) // stays −1 if missing
		return peakOf(text, Figure{Median: t.Median, P10: t.P10, P90: t.P90, Foreign: foreign}), nil
	}
}

// fastestInference is the fastest of the variants of the forward pass in float32.
func fastestInference(text []byte) (Figure, error) {
	var doc struct {
		Infer map[string]struct {
			timing
			Foreign float64 `json:"foreign_cpu"`
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return Figure{}, err
	}
	best := Figure{}
	for name, v := range doc.Infer {
		if exact := len(name) < 4 || name[:4] != "bf16"; !exact || v.Error != "" || name == "train_mode_nograd" {
			continue
		}
		if best.Note == "" || v.Median < best.Median {
			best = Figure{Median: v.Median, P10: v.P10, P90: v.P90, Foreign: v.Foreign, Note: name}
		}
	}
	if best.Note == "" {
		return best, fmt.Errorf("infer: no variant was measured")
	}
	return best, nil
}

func wallPeer(text []byte) (Figure, error) {
	var doc struct {
		Standard *struct {
			Total   float64 `json:"total_s"`
			Foreign float64 `json:"foreign_cpu"`
		}
	}
	err := json.Unmarshal(text, &doc)
	if err == nil && doc.Standard == nil {
		err = fmt.Errorf("standard is missing")
	}
	if err != nil {
		return Figure{}, err
	}
	return peakOf(text, constant(doc.Standard.Total, doc.Standard.Foreign)), nil
}

// peakOf returns a figure with the peak of resident memory in the script's JSON, where it has one.
func peakOf(text []byte, f Figure) Figure {
	if peak, err := residentPeer(text); err == nil {
		f.Resident = peak.Median
	}
	return f
}

func residentPeer(text []byte) (Figure, error) {
	var doc struct {
		Memory *struct {
			Peak float64 `json:"peak_rss"` // MiB
		} `json:"memory_mb"`
	}
	err := json.Unmarshal(text, &doc)
	if err == nil && doc.Memory == nil {
		err = fmt.Errorf("memory_mb is missing")
	}
	if err != nil {
		return Figure{}, err
	}
	return constant(doc.Memory.Peak*1.048576, 0), nil
}
