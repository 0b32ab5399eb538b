package tui

// This file is what the panes of times and losses say about themselves.

// Explain says what the phases are and how they are timed.
func (p *phases) Explain() []string {
	return []string{
		"An iteration is cut into phases: forward (the decoder), telescope (measuring its output, and the object where the " +
			"pattern asks; masks and targets, prepared before the decoder runs, count here too), loss (both losses and the " +
			"stop rule), backward (all gradients), optimizer (Adam), metrics (PSNR, SSIM, RMSE and the picture on screen).",
		"Every step of the plan is timed by a clock reading before and after it, and a phase is the sum of its steps. Where " +
			"one kernel does two phases' work, it reads the clock in between; where its threads do both side by side, the " +
			"time is divided as their readings add up.",
		"Median, p95 (19 of 20 iterations were faster) and share are of the recent window: at most 512 iterations since the last " +
			"change of a setting or stage. The first iteration after a change is warm-up and left out. Median and p95 are of " +
			"iterations that ran the phase; share is its summed time over the summed time of all iterations. The bar is the " +
			"median, the whisker goes to p95. Iterations that end a sample stop before the backward pass: where all recent ones do, it was “not run in the last 512”.",
		"The small line is the recent past, from 0: each column the mean of two seconds, warm-up left out, at most 48 s, also " +
			"across changes of settings. The arrow compares the newest 8 s with the 8 s before; → is less than 3 % either way.",
		"v goes to the layers: each step of the plan with its mean time over about the last five seconds, while the setting " +
			"layer_profile is on. Share is of the summed steps. GFLOP/s and GB/s are the operations and bytes that the step " +
			"must do at least, counted from its shapes, over its time. The roof is what this processor did at most when it was " +
			"calibrated (prismtop doctor --calibrate), with these kernels and threads: fused multiply-adds on " +
			"registers (FMA), or the bandwidth of an array that holds the step's bytes (mem), whichever it is nearer to. Above " +
			"100 % of mem the data lay in a nearer cache. Rows are in the order of the times that they show.",
		"In the roofline a step at the left of where the roofs meet can at best be as fast as memory, at the right as " +
			"the multipliers. The slanting roofs are bandwidths by size of the data; steps without operations have no place in it. The picked step " +
			"is exactly where it is drawn, others where it or a longer one stands in their place up to two columns beside it.",
		"The waterfall is one iteration: bars are as long as its phases took, in the order in which they run, laid end to end, " +
			"because only durations are recorded. Rest is the iteration's time that no phase accounts for. Steps beneath it " +
			"are the means of the layers' profile in the plan's order, not of this very iteration. Left and right choose " +
			"among the newest 512 iterations, end follows the newest again.",
	}
}

// timelineTerms explains the axis that charts over the run share.
const timelineTerms = "Left and right move a cursor, whose reading is in the lower edge; up and down zoom, pgup and pgdown go " +
	"back and forth, home shows the whole run, end follows the newest again. A chart that was scrolled back stands still and " +
	"says so. The axis is filled from the left and then jumps, so that little has to be sent. v changes between iterations and " +
	"wall time, in which pauses are gaps; x between a linear and a logarithmic axis."

// bucketTerms explains the points of a curve.
const bucketTerms = "A curve has at most 2000 points. In a long run each stands for several iterations, whose range the " +
	"cursor reads: the line is their mean."

// Explain says what is drawn and how it is measured.
func (p *iterationTime) Explain() []string {
	return []string{
		"The wall time of each iteration in ms, from before its first step to after its metrics and picture, warm-up included. " +
			bucketTerms + " The band reaches from their 10th to their 90th percentile, right to 1 %; a dot above and below are the slowest and the fastest, so that no spike is lost.",
		"▴ at the top is a spike beyond a linear axis, which ends above 19 of 20 points; one mark stands for all within four columns. A dashed " +
			"line is a change of a setting, named by its key; * stands for several that are too near for letters of their own. Median and last in the upper edge are of the recent window: at most 512 iterations since the last change, " +
			"warm-up left out.",
		timelineTerms,
	}
}

// Explain says what is drawn and how it is measured.
func (p *losses) Explain() []string {
	return []string{
		"New is the loss on the measurement of the present sub-aperture, old that on everything measured before it, both as the " +
			"optimiser sees them, of every iteration; while initialising there is one loss, against a disc. A sample ends as converged when both are " +
			"below the threshold, the dashed line; a threshold that was given for another loss is suspended and has none. Losses that are not finite are left out and counted below.",
		bucketTerms + " The logarithmic axis leaves out the rare low: values a decade below nine tenths of all lie on its bottom.",
		timelineTerms,
	}
}
