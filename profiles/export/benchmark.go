package export

// Benchmark is the data of an engine measurement in addition to the summary of
// its iterations.
type Benchmark struct {
	Measured string `json:"measured"` // iterations, or forward: the decoder's forward pass alone
	Sample   int    `json:"sample"`   // trained sample, counted from 0; −1 for the forward pass
	Warmup   int    `json:"warmup"`   // runs before the first measured one
	Started  string `json:"started"`  // RFC 3339
	Go       string `json:"go"`       // version of the compiler

	MinMS map[string]float64 `json:"min_ms"` // smallest times, of "iteration" and of each phase that ran

	ForeignCPU       *float64 `json:"foreign_cpu"` // share of all processors used by other programs, 0 to 1
	ForeignCPUReason string   `json:"foreign_cpu_reason,omitempty"`
	DroppedBatches   int      `json:"dropped_batches"` // half seconds disturbed by other programs
	Clean            bool     `json:"clean"`           // the numbers are from undisturbed batches only

	Roofs  *Roofs  `json:"roofs,omitempty"`  // with --layers
	Layers []Layer `json:"layers,omitempty"` // steps of the plan, longest first, with --layers
}

// Roofs are the machine's peak rates, measured with the kernels and the threads
// of the benchmark.
type Roofs struct {
	GFLOPS   float64     `json:"gflops"` // fused multiply-adds on registers, 10⁹ operations per second
	Levels   []Bandwidth `json:"levels"`
	Measured string      `json:"measured"` // RFC 3339
}

// Bandwidth is that of an array of a certain size, in 10⁹ bytes per second.
type Bandwidth struct {
	Bytes  int64   `json:"array_bytes"`
	Read   float64 `json:"read_gb_s"`
	Update float64 `json:"update_gb_s"` // read and written back, both counted
}

// Layer is one step of the plan.
type Layer struct {
	Name         string  `json:"name"`
	Kernel       string  `json:"kernel,omitempty"` // that computes it, if the device chose among several; else ""
	Phase        string  `json:"phase"`
	MedianMS     float64 `json:"median_ms"`
	P10MS        float64 `json:"p10_ms"`
	P90MS        float64 `json:"p90_ms"`
	FLOPs        int64   `json:"flops"` // additions and multiplications
	Bytes        int64   `json:"bytes"` // read and written at least once
	GFLOPS       float64 `json:"gflop_s"`
	GBs          float64 `json:"gb_s"`
	ComputeShare float64 `json:"compute_share"` // of the roofs, 0 to 1
	MemoryShare  float64 `json:"memory_share"`
	Bound        string  `json:"bound"` // compute or memory, the nearer roof
}
