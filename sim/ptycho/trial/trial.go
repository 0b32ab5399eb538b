// Package trial is one trial of a sweep over batch sizes: PtychoPINN's inference from file
// to reconstruction at one batch size, each stage timed apart (spec/ptycho-cyto.md §A2). A
// trial is a process of its own, so that its memory is its own and its death is one trial's.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
	"prismtop/sim/weights"
)

// Job is what a trial does, as it is handed to the process.
type Job struct {
	Size         int  `json:"size"`
	GridSize     int  `json:"gridsize"`
	FiltersScale int  `json:"filters_scale"`
	ProbeBig     bool `json:"probe_big"`

	AmpActivation string `json:"amp_activation,omitempty"` // empty for the default
	Heads         string `json:"heads,omitempty"`          // empty for the default

	Weights string  `json:"weights"`               // path; empty for seeded weights
	Data    string  `json:"data"`                  // path of an NPZ file
	DataAs  string  `json:"data_as,omitempty"`     // how its patterns are read; empty for the default
	Factor  float64 `json:"data_factor,omitempty"` // of its amplitudes; 0 for PtychoPINN's rule
	Keep    string  `json:"keep,omitempty"`        // path, without Suffixes, to which the reconstruction is written; empty for none
	Images  int     `json:"images"`                // patterns of a run; more than the file has are an error
	Seed    uint64  `json:"seed"`                  // of the groups and of the patterns that are drawn

	Device  string   `json:"device,omitempty"` // cuda:N; empty for the processor
	Others  []string `json:"others,omitempty"` // further GPUs, which divide each batch with it
	Kernels string   `json:"kernels"`
	Threads int      `json:"threads"`
	Energy  bool     `json:"energy,omitempty"` // counts that of the GPUs

	AMP      string `json:"amp"`      // mixed precision: off, bf16 or bf16x3
	Winograd bool   `json:"winograd"` // convolutions by Winograd's method

	Batch      int `json:"batch"`      // groups that are predicted at a time
	Microbatch int `json:"microbatch"` // most groups whose activations are in memory at a time; 0 for the network's choice
	Preprocess int `json:"preprocess"` // groups that are normalised at a time; 0 for Batch
	Reassemble int `json:"reassemble"` // groups that are put on the canvas at a time; 0 for Batch

	Warmup int   `json:"warmup"` // batches that are predicted before the first run
	Runs   int   `json:"runs"`
	Limit  int64 `json:"limit"` // bytes of memory that the process may use, on a GPU of its memory; 0 for no limit
}

// Seconds are the stages of a run.
type Seconds struct {
	Load       float64 `json:"load"`       // the file, and the patterns drawn from it
	Group      float64 `json:"group"`      // neighbouring positions
	Normalise  float64 `json:"normalise"`  // the network's input, Preprocess groups at a time
	Predict    float64 `json:"predict"`    // input to output, Batch groups at a time
	Reassemble float64 `json:"reassemble"` // patches on the canvas, Reassemble groups at a time
}

// Total returns the sum of the stages.
func (s Seconds) Total() float64 { return s.Load + s.Group + s.Normalise + s.Predict + s.Reassemble }

// Run is one pass from file to reconstruction.
type Run struct {
	Seconds Seconds   `json:"seconds"`
	Batches []float64 `json:"batches"` // seconds of each batch of Predict
	Images  int       `json:"images"`  // patterns that were predicted: whole batches, which begin again at the first group
	Groups  int       `json:"groups"`  // of the reconstruction
	Joules  float64   `json:"joules"`  // of the processors during Predict; 0 if unknown, or on a GPU

	// Measuring is what reading clocks, energy and memory took between the batches, in seconds.
	Measuring float64 `json:"measuring"`

	// Checksum is that of every bit of the groups' objects. Samples has SamplesPerObject numbers of
	// each: the real and the imaginary part of the pixels of a regular grid, and the mean modulus.
	Checksum string    `json:"checksum"`
	Samples  []float32 `json:"samples"`
}

// Result is what a trial measured.
type Result struct {
	Runs []Run `json:"runs"`

	Device     string           `json:"device"`
	Kernels    string           `json:"kernels"`
	Threads    int              `json:"threads"`
	Parameters int              `json:"parameters"`
	Memory     map[string]int64 `json:"memory"`     // bytes of the plan by category
	Microbatch int              `json:"microbatch"` // groups whose activations are in memory at a time

	Card    string `json:"card,omitempty"` // the GPU's name
	Cards   int    `json:"cards"`          // devices that divided each batch
	GPU     int64  `json:"gpu"`            // bytes of its memory that the trial holds, as its backend counts them, of several the most; 0 without a GPU
	PeakGPU int64  `json:"peak_gpu"`       // the most that it held
	Energy  Energy `json:"energy"`         // of the GPUs

	PeakRSS       int64   `json:"peak_rss"` // of the process; 0 if unknown
	RSSReason     string  `json:"rss_reason,omitempty"`
	EnergyReason  string  `json:"energy_reason,omitempty"`
	LoadedSeconds float64 `json:"loaded_seconds"` // until the network was ready
}

// Devices are those of trials.
type Devices struct {
	// Open opens the backend of a job's device.
	Open func(Job) (nn.Backend, error)

	// Energy reads the joules that a GPU has taken, by its identifier, since its driver was loaded.
	Energy func(card string) machine.Gauge
}

// Run runs a trial. Too little memory of a GPU is an error that begins with Exceeded.
func (j Job) Run(ctx context.Context, on Devices) (r *Result, err error) {
	defer func() {
		if nn.Short(err) {
			err = fmt.Errorf("%s: %w", Exceeded, err)
		}
	}()
	began := time.Now()
	cards, err := openCards(j, on.Open)
	if err != nil {
		return nil, err
	}
	defer cards.close()
	p := &pipeline{Job: j, cards: cards}
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	first := cards.all[0]
	backend := first.backend
	r = &Result{
		Device: backend.Device(), Kernels: backend.Kernels(), Threads: backend.Threads(), Cards: len(cards.all),
		Parameters: p.network.Parameters(), Memory: cards.memory(p.network), Microbatch: first.Microbatch(),
	}
	r.LoadedSeconds = time.Since(began).Seconds()
	if c, ok := backend.(interface{ Card() string }); ok {
		r.Card = c.Card()
	}
	for range j.Warmup {
		if err := cards.Run(ctx); err != nil {
			return nil, err
		}
		if err := p.within(); err != nil {
			return nil, err
		}
	}
	for range j.Runs {
		run, err := p.run(ctx)
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, *run)
	}
	if first.holder == nil {
		r.EnergyReason = machine.ReadEnergy().Reason
	} else if r.Energy, r.EnergyReason, err = p.energy(ctx, on.Energy); err != nil {
		return nil, err
	}
	r.GPU = p.readGPU()
	r.PeakGPU = p.peakGPU
	_, r.PeakRSS, r.RSSReason = machine.ReadResident()
	return r, nil
}

// Exceeded begins the error of a trial that used more memory than it may.
const Exceeded = "out of memory"

// readGPU returns the bytes that are held on a GPU, and keeps the most.
func (p *pipeline) readGPU() int64 {
	held := p.cards.held()
	p.peakGPU = max(p.peakGPU, held)
	return held
}

// within returns an error if the process has used more memory than it may.
func (p *pipeline) within() error {
	_, peak, _ := machine.ReadResident()
	if p.readGPU() > 0 {
		peak = p.peakGPU
	}
	j := p.Job
	if j.Limit > 0 && peak > j.Limit {
		return fmt.Errorf("%s: used %.0f MB, the limit is %.0f MB", Exceeded, float64(peak)/1e6, float64(j.Limit)/1e6)
	}
	return nil
}

// Config returns the configuration of the network.
func (j Job) Config() ptycho.Config {
	return ptycho.Config{Size: j.Size, GridSize: j.GridSize, FiltersScale: j.FiltersScale, ProbeBig: j.ProbeBig,
		AmpActivation: j.AmpActivation, Heads: j.Heads}
}

// Precision returns how the network multiplies.
func (j Job) Precision() ptycho.Precision {
	return ptycho.PrecisionOf(cmp.Or(j.AMP, string(ptycho.Float32)), j.Winograd)
}

// seed is that of the weights without a file, of spec/ptycho-cyto.md §A1.8.
const seed = 12345

// pipeline is a network ready to predict.
type pipeline struct {
	Job
	network *ptycho.Network
	cards   *cards
	scale   float64 // of the normalised amplitudes
	peakGPU int64
}

// prepare loads the weights and the network.
func (p *pipeline) prepare(ctx context.Context) (err error) {
	if p.network, err = ptycho.New(p.Config()); err != nil {
		return err
	}
	var all []weights.Tensor
	if p.Weights == "" {
		all = p.network.Seeded(seed)
	} else if all, _, err = p.network.ReadWeights(ctx, p.Weights); err != nil {
		return err
	}
	p.scale = ptycho.ScaleOf(all)
	if err := p.cards.load(ctx, &p.Job, p.network, all); err != nil {
		return err
	}
	return p.within()
}

// run passes once from the file to the reconstruction.
func (p *pipeline) run(ctx context.Context) (*Run, error) {
	r := &Run{}
	clock := time.Now()
	lap := func(of *float64) {
		now := time.Now()
		*of += now.Sub(clock).Seconds()
		clock = now
	}
	s, err := p.load(ctx)
	if err != nil {
		return nil, err
	}
	lap(&r.Seconds.Load)
	channels := p.Config().Channels()
	groups, err := s.Groups(ctx, channels, p.Images/channels, p.Seed)
	if err != nil {
		return nil, err
	}
	centres := make([][2]float64, len(groups))
	for i, g := range groups {
		centres[i] = [2]float64{g.X, g.Y}
	}
	lap(&r.Seconds.Group)
	n := container{scan: s, groups: groups, channels: channels}
	if err := n.normalise(cmp.Or(p.Preprocess, p.Batch), p.scale); err != nil {
		return nil, err
	}
	lap(&r.Seconds.Normalise)
	assembly, err := ptycho.NewAssembly(centres)
	if err != nil {
		return nil, err
	}
	lap(&r.Seconds.Reassemble)
	if err := p.predict(ctx, r, &n, assembly); err != nil {
		return nil, err
	}
	clock = time.Now()
	canvas := assembly.Canvas()
	lap(&r.Seconds.Reassemble)
	if p.Keep != "" { // every run and every batch size has the same
		err = keep(ctx, p.Keep, canvas)
	}
	return r, err
}

// load reads the file, and draws the patterns of a run.
func (p *pipeline) load(ctx context.Context) (*scan.Scan, error) {
	s, err := scan.Read(ctx, p.Data, scan.ReadOptions{As: cmp.Or(p.DataAs, scan.AsAmplitude), Factor: p.Factor})
	if err != nil {
		return nil, err
	}
	if s.Size != p.Size {
		return nil, fmt.Errorf("data %s: has patterns of %d×%d: must be of the network's size, %d×%d", p.Data, s.Size,
			s.Size, p.Size, p.Size)
	}
	if s, err = s.Sample(p.Images, p.Seed); err != nil {
		return nil, fmt.Errorf("data %s: %w", p.Data, err)
	}
	return s, nil
}

// predict predicts every group in whole batches, and assembles each batch. The last batch
// begins again at the first group, which is assembled once.
func (p *pipeline) predict(ctx context.Context, r *Run, c *container, assembly *ptycho.Assembly) error {
	plane := p.Size * p.Size
	patterns, offsets, output := p.cards.buffers()
	object := make([]complex64, plane)
	const patch = ptycho.PatchSide * ptycho.PatchSide
	patches := make([]complex64, 0, cmp.Or(p.Reassemble, p.Batch)*patch)
	assemble := func() error {
		began := time.Now()
		err := assembly.Add(patches, ptycho.PatchSide)
		patches = patches[:0]
		r.Seconds.Reassemble += time.Since(began).Seconds()
		return err
	}
	proof := newProof()
	for from := 0; from < len(c.groups); from += p.Batch {
		measuring := time.Now()
		var before machine.Energy
		if p.peakGPU == 0 {
			before = machine.ReadEnergy()
		}
		began := time.Now()
		r.Measuring += began.Sub(measuring).Seconds()
		c.batch(patterns, offsets, from, p.Batch)
		if err := p.cards.Run(ctx); err != nil {
			return err
		}
		measuring = time.Now()
		seconds := measuring.Sub(began).Seconds()
		r.Seconds.Predict += seconds
		r.Batches = append(r.Batches, seconds)
		r.Images += p.Batch * c.channels
		if p.peakGPU == 0 {
			r.Joules += machine.ReadEnergy().Since(before).Joules
		}
		if from == 0 {
			if err := p.within(); err != nil {
				return err
			}
		}
		r.Measuring += time.Since(measuring).Seconds()

		kept := min(p.Batch, len(c.groups)-from)
		for i := range kept {
			for k := range object {
				object[k] = complex(output[2*(i*plane+k)], output[2*(i*plane+k)+1])
			}
			proof.add(object, p.Size)
			began := time.Now()
			patches = patches[:len(patches)+patch]
			ptycho.CentralPatch(patches[len(patches)-patch:], output[2*i*plane:][:2*plane], p.Size)
			r.Seconds.Reassemble += time.Since(began).Seconds()
			if len(patches) == cap(patches) {
				if err := assemble(); err != nil {
					return err
				}
			}
		}
		r.Groups += kept
	}
	if err := assemble(); err != nil {
		return err
	}
	if r.Groups != len(c.groups) {
		return errors.New("predict: groups were left out")
	}
	r.Checksum, r.Samples = proof.checksum(), proof.samples
	return nil
}
