package trial

import (
	"context"
	"fmt"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
)

// This file has the network on the devices of a trial, which divide each batch, and the energy that GPUs take for it.

// card is the network on one device, with its share of a batch.
type card struct {
	*ptycho.Predictor
	backend nn.Backend
	state   nn.State
	holder  workload.DeviceHolder // of a GPU; else nil
	from    int                   // group of the batch
	groups  int
}

// load compiles the plan of the card's share of a batch and loads it, within the limit.
func (d *card) load(ctx context.Context, j *Job, n *ptycho.Network, all []weights.Tensor) error {
	d.holder, _ = d.backend.(workload.DeviceHolder)
	o := ptycho.PlanOptions{Batch: d.groups, Microbatch: j.Microbatch, Large: d.holder != nil}
	plan, err := n.BatchPlan(ctx, o.With(j.Precision()))
	if err != nil {
		return err
	}
	need := plan.Usage().Total()
	resident, _, _ := machine.ReadResident()
	if d.holder != nil {
		need, resident = plan.Arena().Total(), d.held()
	}
	if j.Limit > 0 && resident+need > j.Limit {
		return fmt.Errorf("%s: %.0f MB are used and the plan needs %.0f MB, the limit is %.0f MB",
			Exceeded, float64(resident)/1e6, float64(need)/1e6, float64(j.Limit)/1e6)
	}
	if d.state, err = d.backend.NewState(ctx, n.Model().Variables()); err != nil {
		d.state = nil
		return err
	}
	if err := n.SetWeights(d.state, all); err != nil {
		return err
	}
	d.Predictor, err = plan.Load(ctx, d.backend, d.state)
	return err
}

// held returns the bytes that are held on a GPU.
func (d *card) held() int64 {
	m := d.holder.DeviceMemory()
	return m.Total()
}

// close frees everything.
func (d *card) close() {
	if d.Predictor != nil {
		d.Predictor.Close()
	}
	if d.state != nil {
		d.state.Close()
	}
	d.backend.Close()
}

// cards predict a batch together. One card does so in its own memory.
type cards struct {
	all                        []*card
	patterns, offsets, objects []float32 // of the batch; nil for one card
	failed                     chan error
}

// openCards opens the devices of a trial. Each gets as many groups of a batch as the others, or one more; those for
// which none are left are not opened.
func openCards(j Job, open func(Job) (nn.Backend, error)) (*cards, error) {
	devices := append([]string{j.Device}, j.Others...)
	c, count := &cards{}, max(min(len(devices), j.Batch), 1)
	for i, device := range devices[:count] {
		j.Device = device
		b, err := open(j)
		if err != nil {
			c.close()
			return nil, err
		}
		from, to := i*j.Batch/count, (i+1)*j.Batch/count
		c.all = append(c.all, &card{backend: b, from: from, groups: to - from})
	}
	c.failed = make(chan error, len(c.all))
	return c, nil
}

// load loads the network on every card.
func (c *cards) load(ctx context.Context, j *Job, n *ptycho.Network, all []weights.Tensor) error {
	for _, d := range c.all {
		if err := d.load(ctx, j, n, all); err != nil {
			return err
		}
	}
	if len(c.all) > 1 {
		plane := j.Size * j.Size
		c.patterns = make([]float32, j.Batch*n.Config().Channels()*plane)
		c.offsets = make([]float32, j.Batch*2*n.Config().Channels())
		c.objects = make([]float32, j.Batch*2*plane)
	}
	return nil
}

func (c *cards) close() {
	for _, d := range c.all {
		d.close()
	}
}

// buffers are the patterns, offsets and objects of a batch: what Run reads, and what it writes.
func (c *cards) buffers() (patterns, offsets, objects []float32) {
	if d := c.all[0]; c.patterns == nil {
		return d.Patterns(), d.Offsets(), d.Objects()
	}
	return c.patterns, c.offsets, c.objects
}

// Run predicts a batch, all cards at the same time.
func (c *cards) Run(ctx context.Context) error {
	if c.patterns == nil {
		return c.all[0].Run(ctx)
	}
	for _, d := range c.all {
		go func() { c.failed <- c.share(ctx, d) }()
	}
	var failed error
	for range c.all {
		if err := <-c.failed; err != nil {
			failed = err
		}
	}
	return failed
}

// share predicts a card's share of the batch.
func (c *cards) share(ctx context.Context, d *card) error {
	part := func(all, own []float32) []float32 { return all[d.from*(len(own)/d.groups):][:len(own)] }
	copy(d.Patterns(), part(c.patterns, d.Patterns()))
	copy(d.Offsets(), part(c.offsets, d.Offsets()))
	if err := d.Run(ctx); err != nil {
		return err
	}
	copy(part(c.objects, d.Objects()), d.Objects())
	return nil
}

// held returns the bytes that are held on the card that holds most; 0 on the processor.
func (c *cards) held() (most int64) {
	for _, d := range c.all {
		if d.holder != nil {
			most = max(most, d.held())
		}
	}
	return most
}

// memory returns the bytes of the plans by category, and those that the backends add.
func (c *cards) memory(n *ptycho.Network) map[string]int64 {
	all := map[string]int64{}
	for _, d := range c.all {
		usage, batch := d.Variables(n), d.Usage()
		for of := range nn.NumCategories {
			if bytes := usage[of] + batch[of]; bytes > 0 {
				all[of.String()] += bytes
			}
		}
		all[nn.Scratch.String()] += d.ScratchBytes()
	}
	return all
}

// Energy is what GPUs took for batches that were predicted one after the other.
type Energy struct {
	Joules float64 `json:"joules"`
	Images int     `json:"images"` // 0 if it was not counted
}

// counting is for how long a batch is predicted again and again, because drivers count
// energy in steps of up to a tenth of a second.
const counting = time.Second

// energy predicts the newest batch for a second and counts the energy of the cards, by
// their identifiers; reason says why it does not.
func (p *pipeline) energy(ctx context.Context, read func(card string) machine.Gauge) (e Energy, reason string,
	err error) {
	if !p.Energy {
		return e, "it was not asked for: --energy", nil
	}
	joules := func() (sum float64, reason string) {
		for _, d := range p.cards.all {
			g := read(d.holder.DeviceMemory().Device)
			if !g.Known {
				return 0, g.Reason
			}
			sum += g.Value
		}
		return sum, ""
	}
	before, reason := joules()
	if reason != "" {
		return e, reason, nil
	}
	for began := time.Now(); time.Since(began) < counting; e.Images += p.Batch * p.Config().Channels() {
		if err := p.cards.Run(ctx); err != nil {
			return e, "", err
		}
	}
	after, reason := joules()
	if e.Joules = after - before; reason == "" && !(e.Joules > 0) {
		reason = "the counter of the GPU's energy did not move"
	}
	if reason != "" {
		e = Energy{}
	}
	return e, reason, nil
}
