package suite

import "strconv"

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
	Line     int    `json:"line,omitempty"`  // 0 if unknown
	Again    []int  `json:"again,omitempty"` // lines that repeat it
	Text     string `json:"text"`            // the claim as the document writes it
	Of       string `json:"of"`              // what it refers to

	// Low and High are the claim in its unit; equal for one number. High is null for "at least", and with Word for a claim that
	// no number can meet or miss, such as "moderate".
	Low  float64  `json:"low"`
	High *float64 `json:"high"`
	Unit string   `json:"unit"`
	Word bool     `json:"word,omitempty"`

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

// word returns a claim that is no number, beside one.
func word(id, document string, line int, text, of, unit, measure, note string) Figure {
	return Figure{ID: id, Document: document, Line: line, Text: text, Of: of, Unit: unit, Measure: measure, Note: note, Word: true}
}

// lines lists the lines of the document that have the figure; empty if they are not known.
func (f *Figure) lines() string {
	if f.Line == lineUnknown {
		return ""
	}
	text := strconv.Itoa(f.Line)
	for _, line := range f.Again {
		text += ", " + strconv.Itoa(line)
	}
	return text
}

// again returns the figure with the lines of its document that repeat it.
func (f Figure) again(lines ...int) Figure {
	f.Again = lines
	return f
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
	noteBetter     = "Better than float32 is within it."
	noteCreation   = "Held after the creation: weights, activations and work space of the forward pass, without the optimizer's moments."
	noteThirds     = "The document's last two thirds are the rest of the iteration divided by two, not measured."
	absentGPU      = "it takes this model of GPU"
	absentCUDA     = "it takes a GPU, which this benchmark's comparison does not use"
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
		figure("create.time", d, 23, "0.027 seconds", "creation of the model", 0.027, 0.027, "s", "create_s", noteCUDA).again(63, 180),
		figure("create.memory.peak", d, 24, "0.13 MB", "creation of the model, peak of memory", 0.13, 0.13, "MB", "create_peak_mb", noteHeap),
		figure("create.memory.current", d, 25, "0.12 MB", "creation of the model, memory after it", 0.12, 0.12, "MB", "create_mb", noteCreation+" "+noteHeap),
		figure("parameters", d, 26, "2,797,431", "parameters of the decoder, 512/128", 2797431, 2797431, "", "parameters", ""),
		figure("weights", d, 26, "11.2 MB", "what the 2,797,431 parameters of the document need as float32", 11.19, 11.19, "MB", "weights_mb", "Follows from the document's number of parameters; its own figure is 0.13 MB."),
		figure("forward.time", d, 32, "1.32 ms", "forward pass", 1.32, 1.32, "ms", "forward_ms", noteCUDA).again(69, 131, 141),
		figure("forward.fps", d, 33, "760.0 frames per second", "forward pass", 760, 760, "/s", "forward_fps", noteCUDA).again(35, 62, 181),
		figure("iteration.time", d, 39, "3.93 ms", "training iteration", 3.93, 3.93, "ms", "iteration_ms", noteCUDA+" Its telescope is negligible (line 72), the one here is whole.").again(131),
		figure("iteration.rate", d, 40, "254.5", "training iterations per second", 254.5, 254.5, "/s", "iterations_s", noteCUDA).again(42, 62, 181),
		figure("iteration.ratio", d, 42, "~3x", "training iteration, times the forward pass", 3, 3, "x", "iteration_over_forward", "Of the medians. The document's own 3.93 and 1.32 ms are 2.98x."),
		figure("experiment.time", d, 46, "0.31 seconds", "experiment of 10 samples", 0.31, 0.31, "s", "experiment_s", "The document states no iterations: at its own 3.93 ms, 31 ms a sample would be 8; here it is one."),
		figure("experiment.memory", d, 47, "0.14 MB", "experiment of 10 samples, peak of memory", 0.14, 0.14, "MB", "experiment_mb", noteHeap).again(131),
		figure("experiment.sample", d, 48, "0.031 seconds", "experiment, time per sample", 0.031, 0.031, "s", "experiment_sample_s", "The document states no iterations: at its own 3.93 ms, 31 ms a sample would be 8; here it is one."),
		figure("footprint", d, 61, "< 1 MB", "memory of the whole, peak", 0, 1, "MB", "experiment_mb", noteHeap).again(182),
		absent("target.memory", d, 55, "-30%", "memory against version 0.1.0", 30, 30, "%", absentVersion),
		absent("target.speed", d, 56, "+20%", "speed against version 0.1.0", 20, 20, "%", absentVersion),
		figure("share.forward", d, 69, "33%", "forward pass, share of an iteration", 33, 33, "%", "share_forward", noteThirds),
		figure("share.backward", d, 70, "33%", "backward pass, share of an iteration", 33, 33, "%", "share_backward", noteThirds),
		figure("share.optimizer", d, 71, "33%", "optimiser, share of an iteration", 33, 33, "%", "share_optimizer", noteThirds),
		figure("backward.time", d, 70, "~1.3 ms", "backward pass", 1.3, 1.3, "ms", "backward_ms", noteThirds),
		figure("optimizer.time", d, 71, "~1.3 ms", "optimiser step", 1.3, 1.3, "ms", "optimizer_ms", noteThirds),
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
		figure("speedup.target", d, 11, "3-5x", "overall speed-up, standard workload", 3, 5, "x", "speedup_standard", "PRISM's optimisations alone, as the documents switch them.").again(31, 333),
		figure("duration.baseline", d, 70, "~2-3 minutes", "baseline benchmark on a CPU", 120, 180, "s", "standard_baseline_s", "At 50-100 ms a sample (line 117), 100 samples take 5-10 s, not minutes."),
		figure("duration.optimized", d, 71, "~20-30 seconds", "optimised benchmark on a CPU", 20, 30, "s", "standard_optimized_s", "At 5-10 ms a sample (line 124), 100 samples take 0.5-1 s."),
		absent("duration.baseline.cuda", d, 70, "~1 minute", "baseline benchmark on CUDA", 60, 60, "s", absentCUDA),
		absent("duration.optimized.cuda", d, 71, "~10-15 seconds", "optimised benchmark on CUDA", 10, 15, "s", absentCUDA),
		figure("baseline.sample", d, 117, "~50-100ms", "baseline, time per sample", 50, 100, "ms", "standard_baseline_ms", ""),
		figure("baseline.rate", d, 118, "~10-20 samples/sec", "baseline, throughput", 10, 20, "/s", "standard_baseline_rate", ""),
		figure("baseline.hits", d, 119, "0%", "baseline, hits of the measurement cache", 0, 0, "%", "standard_baseline_hits", "").again(255),
		word("baseline.memory", d, 120, "Moderate", "baseline, memory", "MB", "standard_baseline_mb", "A word, which no number meets or misses."),
		figure("optimized.sample", d, 124, "~5-10ms", "optimised, time per sample", 5, 10, "ms", "standard_optimized_ms", noteIdentical),
		figure("optimized.rate", d, 125, "~100-200 samples/sec", "optimised, throughput", 100, 200, "/s", "standard_optimized_rate", ""),
		figure("optimized.hits", d, 126, "80-90%", "optimised, hits of the measurement cache", 80, 90, "%", "standard_optimized_hits", noteOnePass).again(271, 286),
		figure("optimized.memory", d, 127, "Similar or lower", "optimised, memory against the baseline's", -100, 10, "%", "standard_memory", "Similar is taken as 10 % more at most. Each entry of the measurement cache is 1.05 MB, and the baseline clears it."),
		figure("grid", d, 135, "1.05-1.1x (5-10%)", "grid caching", 1.05, 1.1, "x", "effect_mask_cache", "An estimate in the document. Here grids and aperture masks are one cache."),
		figure("fft", d, 136, "1.0-1.2x (0-20%)", "FFT caching", 1, 1.2, "x", "effect_fft_cache", "PRISM's phase1_week3_performance_report.md measured 0.61x to 1.00x."),
		figure("cache.measurement", d, 137, "16x (1553%)", "measurement caching, of one measurement", 16, 16.53, "x", "one_measurement", notePercent+" "+noteIdentical).again(22, 124, 287, 374, 395),
		figure("cache.training", d, 142, "16x", "measurement caching, said to exceed the whole project's target", 16, 16, "x", "effect_measurement_cache", "Of an iteration that measures the object each time (phase5), where 98 % hit. "+noteIdentical),
		absent("gpu.metrics", d, 138, "1.05-1.1x (5-10%)", "metrics on the GPU", 1.05, 1.1, "x", absentSSIM),
		figure("amp", d, 139, "1.2-1.3x (20-30%)", "mixed precision, 512/128", 1.2, 1.3, "x", "effect_amp", noteAMP+" The guide itself gives 0.90-0.95x at 512."),
		atLeast("combined", d, 140, ">>5x overall", "all together, standard workload", 5, "x", "speedup_standard", "PRISM's optimisations alone, as the documents switch them.").again(395),
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
		figure("guide.target", d, 4, "3-5x", "overall training speed-up", 3, 5, "x", "speedup_phase5", "On 20 x 50 measurements, where the cache hits. PRISM's optimisations alone.").again(73, 618),
		figure("guide.target.own", d, 4, "3-5x", "overall training speed-up, of the guide's own quick start, 1024/512", 3, 5, "x", "speedup_guide", "PRISM's optimisations alone; mixed precision is off on both sides, as the guide has it without CUDA.").again(73, 618),
		figure("guide.grid", d, 81, "5-10%", "grid caching, time saved", 1.05, 1.1, "x", "effect_mask_cache", "An estimate in the document. Here grids and aperture masks are one cache.").again(14, 93, 626),
		figure("guide.grid.memory", d, 81, "Negligible", "grid caching, memory", 0, 1, "MB", "masks_mb", "Negligible is taken as 1 MB at most. Here grids and aperture masks are one cache.").again(95),
		figure("guide.cache", d, 82, "16x (1553%!)", "measurement caching, of one measurement", 16, 16.53, "x", "one_measurement", notePercent+" "+noteIdentical).again(15, 40, 127, 627),
		figure("guide.cache.memory", d, 82, "+100-500 MB", "measurement caching, memory", 100, 500, "MB", "cache_mb", "100-500 entries; the standard workload has 100.").again(129, 169),
		figure("guide.cache.entries", d, 169, "100-500", "entries of the measurement cache", 100, 500, "", "cache_entries", ""),
		absent("guide.metrics", d, 83, "5-10%", "metrics on the GPU", 5, 10, "%", absentSSIM).again(16, 179, 628),
		figure("guide.amp", d, 84, "20-30%", "mixed precision, faster", 1.2, 1.3, "x", "effect_amp", noteAMP).again(17, 46, 211, 500, 629),
		figure("guide.amp.memory", d, 84, "-40-50%", "mixed precision, memory of the run", -50, -40, "%", "effect_amp_memory", "With one picture at a time there are more weights than activations, and they need 16-bit copies too.").again(213, 323, 551),
		figure("guide.inference", d, 85, "10-20%", "model optimisation after training: normalisations folded into convolutions", 1.1, 1.2, "x", "inference", "PRISM's own code never fuses a pair: its normalisations are wrapped. There is no inference in a reconstruction; it is one pass at the end.").again(18, 67, 378, 630),
		atLeast("guide.total", d, 87, ">>3-5x", "all together", 3, "x", "speedup_standard", "PRISM's optimisations alone, as the documents switch them.").again(632),
		figure("guide.hits", d, 147, "80-90%", "hits after warm-up", 80, 90, "%", "standard_optimized_hits", noteOnePass).again(158, 523),
		figure("guide.entry", d, 168, "~1-5 MB", "one cached measurement", 1, 5, "MB", "entry_mb", ""),
		absent("guide.volta", d, 266, "supported", "mixed precision on NVIDIA Volta (V100)", 0, 0, "", absentGPU).again(336),
		absent("guide.turing", d, 267, "supported", "mixed precision on NVIDIA Turing (RTX 20xx, T4)", 0, 0, "", absentGPU).again(336),
		absent("guide.ampere", d, 268, "supported", "mixed precision on NVIDIA Ampere (A100, RTX 30xx)", 0, 0, "", absentGPU).again(336),
		absent("guide.ada", d, 269, "supported", "mixed precision on NVIDIA Ada (RTX 40xx)", 0, 0, "", absentGPU).again(336),
		absent("guide.pascal", d, 270, "limited", "mixed precision on Pascal (GTX 10xx)", 0, 0, "", absentGPU+"; prismtop has no kernels below compute capability 7.5"),
		figure("guide.cpu", d, 271, "no benefit", "mixed precision on a CPU", 0, 1, "x", "effect_amp", "Of an iteration; a benefit is more than 1x.").again(510),
		absent("guide.a100", d, 277, "100s to 65s, 35%", "mixed precision on an A100", 1.54, 1.54, "x", absentGPU+"; 35 % of the time saved is 1.54x"),
		absent("guide.a100.memory", d, 277, "45%", "mixed precision on an A100, memory saved", -45, -45, "%", absentGPU),
		absent("guide.v100", d, 278, "150s to 105s, 30%", "mixed precision on a V100", 1.43, 1.43, "x", absentGPU),
		absent("guide.v100.memory", d, 278, "42%", "mixed precision on a V100, memory saved", -42, -42, "%", absentGPU),
		absent("guide.3090", d, 279, "120s to 85s, 29%", "mixed precision on an RTX 3090", 1.41, 1.41, "x", absentGPU),
		absent("guide.3090.memory", d, 279, "40%", "mixed precision on an RTX 3090, memory saved", -40, -40, "%", absentGPU),
		absent("guide.t4", d, 280, "250s to 190s, 24%", "mixed precision on a T4", 1.32, 1.32, "x", absentGPU),
		absent("guide.t4.memory", d, 280, "38%", "mixed precision on a T4, memory saved", -38, -38, "%", absentGPU),
		figure("guide.amp.512", d, 308, "0.90-0.95x", "mixed precision at 512x512", 0.9, 0.95, "x", "amp_512", noteAMP),
		figure("guide.amp.512.memory", d, 308, "+5%", "mixed precision at 512x512, memory", 5, 5, "%", "amp_memory_512", "By the plans."),
		word("guide.amp.512.advice", d, 308, "not recommended", "mixed precision at 512x512, advice", "x", "amp_512", "prismtop bench amp gives the advice of this machine.").again(317),
		figure("guide.amp.1024", d, 309, "1.20-1.25x", "mixed precision at 1024x1024", 1.2, 1.25, "x", "amp_1024", noteAMP+" prismtop bench amp --sizes 1024/256 measures it.").again(321),
		figure("guide.amp.1024.memory", d, 309, "38-42%", "mixed precision at 1024x1024, memory saved", -42, -38, "%", "amp_memory_1024", "By the plans. prismtop bench amp --sizes 1024/256 measures it."),
		word("guide.amp.1024.advice", d, 309, "recommended", "mixed precision at 1024x1024, advice", "x", "amp_1024", "prismtop bench amp --sizes 1024/256 gives the advice of this machine."),
		figure("guide.amp.2048", d, 310, "1.25-1.30x", "mixed precision at 2048x2048, extrapolated", 1.25, 1.3, "x", "amp_2048", noteAMP+" prismtop bench amp --sizes 2048/512 measures it.").again(322),
		figure("guide.amp.2048.memory", d, 310, "43-47%", "mixed precision at 2048x2048, memory saved", -47, -43, "%", "amp_memory_2048", "By the plans. prismtop bench amp --sizes 2048/512 measures it."),
		word("guide.amp.2048.advice", d, 310, "recommended", "mixed precision at 2048x2048, advice", "x", "amp_2048", "prismtop bench amp --sizes 2048/512 gives the advice of this machine."),
		atLeast("guide.amp.ssim", d, 289, "1-2% SSIM", "mixed precision, convergence: difference of SSIM", -2, "%", "amp_ssim", "Of SSIM's largest value, 1. "+noteBetter),
		atLeast("guide.amp.converge", d, 326, "within 20%", "mixed precision, rate of convergence over 100 iterations", -20, "%", "amp_rate", "Rate: by how much the logarithm of the loss falls in an iteration. "+noteBetter),
		figure("guide.amp.loss", d, 327, "within 15%", "mixed precision, final loss", -100, 15, "%", "amp_loss", "Mean of the last tenth of the iterations. "+noteBetter),
		absent("guide.modern", d, 500, "40%", "mixed precision on a modern GPU (A100, RTX 30xx, 40xx), memory saved", -40, -40, "%", absentGPU).again(629),
		absent("guide.older", d, 505, "20-25%", "mixed precision on an older GPU (V100, RTX 20xx), faster", 1.2, 1.25, "x", absentGPU),
	}
}
