package suite

// This file is the registry of the figures that PRISM's documents claim: the one place from which the
// claims of reports and docs/benchmarks.md are made.

// The documents.
const (
	docBaseline = "baseline-v0.2.0.md"
	docSummary  = "phase5_implementation_summary.md"
	docGuide    = "PERFORMANCE_OPTIMIZATION_GUIDE.md"
	docResults  = "phase5-benchmark-results.md"
	docWeek3    = "phase1_week3_performance_report.md"
	lineUnknown = 0
)

// Figure is one figure of a document.
type Figure struct {
	ID       string `json:"id"`
	Document string `json:"document"`
	Line     int    `json:"line,omitempty"` // 0 if unknown
	Text     string `json:"text"`           // the claim as the document writes it
	Of       string `json:"of"`             // what it refers to

	// Low and High are the claim in its unit; equal for one number. High is null for "at least".
	Low  float64  `json:"low"`
	High *float64 `json:"high"`
	Unit string   `json:"unit"`

	// Measure is the quantity of a report that stands beside the claim; empty if none can, for the
	// reason in Absent.
	Measure string `json:"measure,omitempty"`
	Absent  string `json:"absent,omitempty"`
	// Note is what a reader must know to compare the two.
	Note string `json:"note,omitempty"`
}

// figure returns a figure with a range.
func figure(id, document string, line int, text, of string, low, high float64, unit, measure, note string) Figure {
	return Figure{ID: id, Document: document, Line: line, Text: text, Of: of, Low: low, High: &high, Unit: unit, Measure: measure, Note: note}
}

// atLeast returns a figure without an upper end.
func atLeast(id, document string, line int, text, of string, low float64, unit, measure, note string) Figure {
	return Figure{ID: id, Document: document, Line: line, Text: text, Of: of, Low: low, Unit: unit, Measure: measure, Note: note}
}

// absent returns a figure beside which nothing can stand here.
func absent(id, document string, line int, text, of string, low, high float64, unit, why string) Figure {
	return Figure{ID: id, Document: document, Line: line, Text: text, Of: of, Low: low, High: &high, Unit: unit, Absent: why}
}

// Sentences that several figures share.
const (
	noteCUDA       = "The document's is of an unnamed CUDA GPU."
	noteHeap       = "The document's is what Python's own allocator held: 2,797,431 float32 parameters take 11.2 MB."
	noteIdentical  = "16x is the ratio of identical measurements, answered from the cache or not; it is no speed-up of training."
	noteOnePass    = "Where every sample is measured once, at its own centre, nothing can hit."
	notePercent    = "16.04x is 1504 % faster; 1553 % would be 16.53x."
	noteAMP        = "The document's is of CUDA GPUs with tensor cores; bf16 is emulated where a processor has neither AMX nor fast products of bf16."
	noteThirds     = "The document's last two thirds are the rest of the iteration divided by two, not measured."
	absentGPU      = "it takes this GPU; none was used"
	absentSSIM     = "metrics run on the processor, in a run on a GPU, too"
	absentExternal = "it is of another program"
	absentVersion  = "version 0.1.0 was never measured, as the same document says"
)

// Figures returns every figure of the documents, in their order.
func Figures() []Figure {
	return append(append(baselineFigures(), summaryFigures()...), guideFigures()...)
}

// baselineFigures are those of document 000.
func baselineFigures() []Figure {
	d := docBaseline
	return []Figure{
		figure("create.time", d, 23, "0.027 seconds", "creation of the model", 0.027, 0.027, "s", "create_s", noteCUDA),
		figure("create.memory.peak", d, 24, "0.13 MB", "creation of the model, peak of memory", 0.13, 0.13, "MB", "create_mb", noteHeap),
		figure("create.memory.current", d, 25, "0.12 MB", "creation of the model, memory after it", 0.12, 0.12, "MB", "create_mb", noteHeap),
		figure("parameters", d, 26, "2,797,431", "parameters of the decoder, 512/128", 2797431, 2797431, "", "parameters", ""),
		figure("weights", d, 26, "11.2 MB", "what the 2,797,431 parameters of the document need as float32", 11.19, 11.19, "MB", "weights_mb", "Follows from the document's number of parameters; its own figure is 0.13 MB."),
		figure("forward.time", d, 32, "1.32 ms", "forward pass", 1.32, 1.32, "ms", "forward_ms", noteCUDA),
		figure("forward.fps", d, 33, "760.0 frames per second", "forward pass", 760, 760, "/s", "forward_fps", noteCUDA),
		figure("iteration.time", d, 39, "3.93 ms", "training iteration", 3.93, 3.93, "ms", "iteration_ms", noteCUDA+" Its telescope is negligible (line 72), the one here is whole."),
		figure("iteration.rate", d, 40, "254.5", "training iterations per second", 254.5, 254.5, "/s", "iterations_s", noteCUDA),
		figure("experiment.time", d, 46, "0.31 seconds", "experiment of 10 samples", 0.31, 0.31, "s", "experiment_s", "The document states no iterations: at its own 3.93 ms, 31 ms a sample would be 8; here it is one."),
		figure("experiment.memory", d, 47, "0.14 MB", "experiment of 10 samples, peak of memory", 0.14, 0.14, "MB", "experiment_mb", noteHeap),
		figure("experiment.sample", d, 48, "0.031 seconds", "experiment, time per sample", 0.031, 0.031, "s", "experiment_sample_s", "The document states no iterations: at its own 3.93 ms, 31 ms a sample would be 8; here it is one."),
		absent("target.memory", d, 55, "-30%", "memory against version 0.1.0", 30, 30, "%", absentVersion),
		absent("target.speed", d, 56, "+20%", "speed against version 0.1.0", 20, 20, "%", absentVersion),
		figure("share.forward", d, 69, "33%", "forward pass, share of an iteration", 33, 33, "%", "share_forward", noteThirds),
		figure("share.backward", d, 70, "33%", "backward pass, share of an iteration", 33, 33, "%", "share_backward", noteThirds),
		figure("share.optimizer", d, 71, "33%", "optimiser, share of an iteration", 33, 33, "%", "share_optimizer", noteThirds),
		figure("share.telescope", d, 72, "Negligible", "telescope, share of an iteration", 0, 1, "%", "share_telescope", `The document: "negligible in this simplified test".`),
		figure("amp.suggested", d, 85, "2-4x", "mixed precision, suggested", 2, 4, "x", "effect_amp", noteAMP),
		absent("epie", d, 139, "~100 ms", "iteration of ePIE on a CPU", 100, 100, "ms", absentExternal),
		absent("typical.forward", d, 140, "1-10 ms", "forward pass of other networks", 1, 10, "ms", absentExternal),
	}
}

// summaryFigures are those of document 001, and of the results and the report that it rests on.
func summaryFigures() []Figure {
	d := docSummary
	return []Figure{
		figure("speedup.target", d, 11, "3-5x", "overall speed-up, standard workload", 3, 5, "x", "speedup_standard", "PRISM's optimisations alone, as the documents switch them."),
		figure("duration.baseline", d, 70, "~2-3 minutes", "baseline benchmark on a CPU", 120, 180, "s", "standard_baseline_s", "At 50-100 ms a sample (line 117), 100 samples take 5-10 s, not minutes."),
		figure("duration.optimized", d, 71, "~20-30 seconds", "optimised benchmark on a CPU", 20, 30, "s", "standard_optimized_s", "At 5-10 ms a sample (line 124), 100 samples take 0.5-1 s."),
		figure("baseline.sample", d, 117, "~50-100ms", "baseline, time per sample", 50, 100, "ms", "standard_baseline_ms", ""),
		figure("baseline.rate", d, 118, "~10-20 samples/sec", "baseline, throughput", 10, 20, "/s", "standard_baseline_rate", ""),
		figure("baseline.hits", d, 119, "0%", "baseline, hits of the measurement cache", 0, 0, "%", "standard_baseline_hits", ""),
		figure("optimized.sample", d, 124, "~5-10ms", "optimised, time per sample", 5, 10, "ms", "standard_optimized_ms", noteIdentical),
		figure("optimized.rate", d, 125, "~100-200 samples/sec", "optimised, throughput", 100, 200, "/s", "standard_optimized_rate", ""),
		figure("optimized.hits", d, 126, "80-90%", "optimised, hits of the measurement cache", 80, 90, "%", "standard_optimized_hits", noteOnePass),
		figure("grid", d, 135, "1.05-1.1x (5-10%)", "grid caching", 1.05, 1.1, "x", "effect_mask_cache", "An estimate in the document. Here grids and aperture masks are one cache."),
		figure("fft", d, 136, "1.0-1.2x (0-20%)", "FFT caching", 1, 1.2, "x", "effect_fft_cache", "PRISM's phase1_week3_performance_report.md measured 0.61x to 1.00x."),
		figure("cache.measurement", d, 137, "16x (1553%)", "measurement caching, of one measurement", 16, 16.53, "x", "one_measurement", notePercent+" "+noteIdentical),
		figure("cache.training", d, 142, "16x", "measurement caching, said to exceed the whole project's target", 16, 16, "x", "effect_measurement_cache", "Of an iteration that measures the object each time (phase5), where 98 % hit. "+noteIdentical),
		absent("gpu.metrics", d, 138, "1.05-1.1x (5-10%)", "metrics on the GPU", 1.05, 1.1, "x", absentSSIM),
		figure("amp", d, 139, "1.2-1.3x (20-30%)", "mixed precision, 512/128", 1.2, 1.3, "x", "effect_amp", noteAMP+" The guide itself gives 0.90-0.95x at 512."),
		atLeast("combined", d, 140, ">>5x overall", "all together, standard workload", 5, "x", "speedup_standard", "PRISM's optimisations alone, as the documents switch them."),
		atLeast("combined.all", d, 140, ">>5x overall", "all together, with this program's own optimisations, standard workload", 5, "x", "speedup_standard_all", "What the documents do not have: shared spectrum, fused and pruned telescope, fused optimizer."),
		figure("duration.config", d, 310, "< 3 minutes", "the standard workload", 0, 180, "s", "standard_baseline_s", ""),
		atLeast("list.speedup", d, 320, ">= 3x", "acceptance list, speed-up", 3, "x", "speedup_standard", ""),
		atLeast("list.hits", d, 321, ">= 80%", "acceptance list, hits", 80, "%", "standard_optimized_hits", noteOnePass),
		figure("list.psnr", d, 322, "< 1dB", "acceptance list, difference of PSNR", -1, 1, "dB", "psnr_standard", ""),
		figure("list.memory", d, 323, "< 2GB", "acceptance list, peak of memory on a CPU", 0, 2000, "MB", "peak_mb", ""),
		figure("week3.computed", docWeek3, lineUnknown, "65.68 ms", "one measurement, computed", 65.68, 65.68, "ms", "one_computed_ms", "The document gives no device."),
		figure("week3.cached", docWeek3, lineUnknown, "4.09 ms", "one measurement, from the cache", 4.09, 4.09, "ms", "one_cached_ms", "The document gives no device."),
		figure("results.baseline", docResults, lineUnknown, "14.93 s", "20 samples x 50 iterations, baseline", 14.93, 14.93, "s", "phase5_baseline_s", noteCUDA),
		figure("results.optimized", docResults, lineUnknown, "15.91 s", "20 samples x 50 iterations, optimised", 15.91, 15.91, "s", "phase5_optimized_s", noteCUDA),
		figure("results.speedup", docResults, lineUnknown, "0.94x", "20 samples x 50 iterations, speed-up", 0.94, 0.94, "x", "speedup_phase5", "PRISM switched caching and mixed precision together; here mixed precision is off on both sides."),
		figure("results.hits", docResults, lineUnknown, "98.0 %", "20 samples x 50 iterations, hits", 98, 98, "%", "phase5_optimized_hits", "985 of 1005: 20 centres, 50 measurements each, and 5 beforehand."),
	}
}

// guideFigures are those of document 002.
func guideFigures() []Figure {
	d := docGuide
	return []Figure{
		figure("guide.target", d, 4, "3-5x", "overall training speed-up", 3, 5, "x", "speedup_phase5", "On 20 x 50 measurements, where the cache hits. PRISM's optimisations alone."),
		figure("guide.grid", d, 81, "5-10%", "grid caching, time saved", 1.05, 1.1, "x", "effect_mask_cache", "An estimate in the document. Here grids and aperture masks are one cache."),
		figure("guide.cache", d, 82, "16x (1553%!)", "measurement caching, of one measurement", 16, 16.53, "x", "one_measurement", notePercent+" "+noteIdentical),
		figure("guide.cache.memory", d, 82, "+100-500 MB", "measurement caching, memory", 100, 500, "MB", "cache_mb", "100-500 entries; the standard workload has 100."),
		absent("guide.metrics", d, 83, "5-10%", "metrics on the GPU", 5, 10, "%", absentSSIM),
		figure("guide.amp", d, 84, "20-30%", "mixed precision, faster", 1.2, 1.3, "x", "effect_amp", noteAMP),
		figure("guide.amp.memory", d, 84, "-40-50%", "mixed precision, memory of the run", -50, -40, "%", "effect_amp_memory", "With one picture at a time there are more weights than activations, and they need 16-bit copies too."),
		figure("guide.inference", d, 85, "10-20%", "model optimisation after training: normalisations folded into convolutions", 1.1, 1.2, "x", "inference", "PRISM's own code never fuses a pair: its normalisations are wrapped. There is no inference in a reconstruction; it is one pass at the end."),
		atLeast("guide.total", d, 87, ">>3-5x", "all together", 3, "x", "speedup_standard", "PRISM's optimisations alone, as the documents switch them."),
		figure("guide.hits", d, 147, "80-90%", "hits after warm-up", 80, 90, "%", "standard_optimized_hits", noteOnePass),
		figure("guide.entry", d, 168, "~1-5 MB", "one cached measurement", 1, 5, "MB", "entry_mb", ""),
		absent("guide.a100", d, 277, "100s to 65s, 35%", "mixed precision on an A100", 1.54, 1.54, "x", absentGPU+"; 35 % of the time saved is 1.54x"),
		absent("guide.v100", d, 278, "150s to 105s, 30%", "mixed precision on a V100", 1.43, 1.43, "x", absentGPU),
		absent("guide.3090", d, 279, "120s to 85s, 29%", "mixed precision on an RTX 3090", 1.41, 1.41, "x", absentGPU),
		absent("guide.t4", d, 280, "250s to 190s, 24%", "mixed precision on a T4", 1.32, 1.32, "x", absentGPU),
		figure("guide.amp.512", d, 308, "0.90-0.95x", "mixed precision at 512x512", 0.9, 0.95, "x", "amp_512", noteAMP),
		figure("guide.amp.1024", d, 309, "1.20-1.25x", "mixed precision at 1024x1024", 1.2, 1.25, "x", "amp_1024", noteAMP+" prismtop bench amp --sizes 1024/256 measures it."),
		figure("guide.amp.2048", d, 310, "1.25-1.30x", "mixed precision at 2048x2048, extrapolated", 1.25, 1.3, "x", "amp_2048", noteAMP+" prismtop bench amp --sizes 2048/512 measures it."),
		figure("guide.amp.ssim", d, 289, "1-2% SSIM", "mixed precision, convergence: difference of SSIM", -2, 2, "%", "amp_ssim", "Of SSIM's largest value, 1."),
		figure("guide.amp.converge", d, 326, "within 20%", "mixed precision, rate of convergence over 100 iterations", -20, 20, "%", "amp_rate", "Rate: by how much the logarithm of the loss falls in an iteration."),
		figure("guide.amp.loss", d, 327, "within 15%", "mixed precision, final loss", -15, 15, "%", "amp_loss", "Mean of the last tenth of the iterations."),
	}
}
