package export

// Benchmark is what a measurement of the engine tells beside the summary of its
// iterations.
type Benchmark struct {
	Measured string `json:"measured"` // iterations, or forward: the decoder's forward pass alone
	Sample   int    `json:"sample"`   // that was trained, counted from 0; −1 for the forward pass
	Warmup   int    `json:"warmup"`   // runs of it before the first that was measured
	Started  string `json:"started"`  // RFC 3339
	Go       string `json:"go"`       // version of the compiler

	MinMS map[string]float64 `json:"min_ms"` // smallest times, of "iteration" and of each phase that ran

	ForeignCPU       *float64 `json:"foreign_cpu"` // share of all processors that other programs took, 0 to 1
	ForeignCPUReason string   `json:"foreign_cpu_reason,omitempty"`
	DroppedBatches   int      `json:"dropped_batches"` // half seconds that other programs disturbed
	Clean            bool     `json:"clean"`           // the numbers are from undisturbed batches only
}
