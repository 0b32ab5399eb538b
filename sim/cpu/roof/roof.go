// Package roof measures this machine's peak rates: additions and multiplications on
// registers, and bytes to and from caches and memory, on a given number of threads.
// A step of a plan is judged by the share of these roofs it reaches.
package roof

import (
	"context"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
)

// Roofs are a machine's peak rates with one set of kernels on a number of
// threads.
type Roofs struct {
	Kernels  string    `json:"kernels"`
	Threads  int       `json:"threads"`
	GFLOPS   float64   `json:"gflops"`                // 10⁹ additions and multiplications per second, fused
	BF16     float64   `json:"bf16_gflops,omitempty"` // the same of dot products of bfloat16; 0 without such an instruction
	Levels   []Level   `json:"levels"`                // smallest array first
	Measured time.Time `json:"measured"`
}

// Level is the bandwidth for an array of a certain size, shared by the threads,
// in 10⁹ bytes per second.
type Level struct {
	Bytes  int64   `json:"bytes"`
	Read   float64 `json:"read_gb_s"`
	Update float64 `json:"update_gb_s"` // read and written back; both directions count
}

// sizes are the arrays' sizes in bytes: within the cores' own caches, within the
// last-level cache of any server, and beyond it.
var sizes = [...]int64{256 << 10, 2 << 20, 16 << 20, 128 << 20}

// Options of Measure.
type Options struct {
	Set     vec.Set
	Threads int
	// Each is the time spent measuring each limit.
	Each time.Duration
	// Load reads the processor time used by programs; nil means from the operating
	// system.
	Load func() machine.Load
}

// rounds per call of MultiplyAdds: tens of microseconds.
const rounds = 1 << 14

// Measure measures the roofs. The best of many repetitions counts, since other
// programs can only slow it down. The only error is that of ctx if it ends first.
func Measure(ctx context.Context, o Options) (*Roofs, error) {
	p := pool.New(o.Threads)
	defer p.Close()
	defer p.Attach(p.Attach(ctx))
	r := &Roofs{Kernels: o.Set.String(), Threads: p.Threads(), Measured: time.Now()}
	chunks := 4 * p.Threads()
	r.GFLOPS = best(ctx, o.Each, func() int64 {
		p.For(chunks, 1, func(lo, hi int) {
			for range hi - lo {
				o.Set.MultiplyAdds(rounds)
			}
		})
		return int64(chunks) * rounds * o.Set.MultiplyAdds(1)
	})
	if one := o.Set.DotProducts(1); one > 0 {
		r.BF16 = best(ctx, o.Each, func() int64 {
			p.For(chunks, 1, func(lo, hi int) {
				for range hi - lo {
					o.Set.DotProducts(rounds)
				}
			})
			return int64(chunks) * rounds * one
		})
	}
	memory := make([]float32, sizes[len(sizes)-1]/4)
	for i := range memory {
		memory[i] = 1 // so that every page is mapped
	}
	for _, size := range sizes {
		r.Levels = append(r.Levels, measureLevel(ctx, p, o, memory[:size/4]))
	}
	return r, ctx.Err()
}

// piece is the number of floats read per call: few calls, but many pieces.
const piece = 16 << 10

func measureLevel(ctx context.Context, p *pool.Pool, o Options, x []float32) Level {
	pieces := len(x) / piece
	over := func(body func(part []float32)) func() int64 {
		return func() int64 {
			p.For(pieces, 1, func(lo, hi int) { body(x[lo*piece : hi*piece]) })
			return 4 * int64(pieces*piece)
		}
	}
	l := Level{Bytes: 4 * int64(len(x))}
	l.Read = best(ctx, o.Each, over(func(part []float32) { o.Set.ReadAll(part) }))
	l.Update = 2 * best(ctx, o.Each, over(func(part []float32) { o.Set.Scale(part, part, 1) }))
	return l
}

// best returns the largest amount per nanosecond over repetitions within a time,
// at least four unless ctx ends.
func best(ctx context.Context, each time.Duration, once func() int64) float64 {
	most := 0.0
	start := time.Now()
	for i := 0; ctx.Err() == nil && (i < 4 || time.Since(start) < each); i++ {
		began := time.Now()
		amount := once()
		most = max(most, float64(amount)/float64(time.Since(began)))
	}
	return most
}

// Judgement is how close a step comes to the roofs.
type Judgement struct {
	GFLOPS, GBs     float64 // 10⁹ operations and bytes per second
	Compute, Memory float64 // shares of the roofs; above 1 if data stayed in a faster cache than Level assumes
	Bound           string  // "compute" or "memory", the nearer roof
}

// Judge compares a step's operations and bytes in a time with the roofs. The
// bandwidth is that of the smallest measured array that holds all the bytes, read
// or updated, whichever is higher.
func (r *Roofs) Judge(flops, bytes int64, took time.Duration) Judgement {
	ns := float64(max(took, 1))
	j := Judgement{GFLOPS: float64(flops) / ns, GBs: float64(bytes) / ns, Bound: "memory"}
	if r.GFLOPS > 0 {
		j.Compute = j.GFLOPS / r.GFLOPS
	}
	if top := r.bandwidth(bytes); top > 0 {
		j.Memory = j.GBs / top
	}
	if j.Compute > j.Memory {
		j.Bound = "compute"
	}
	return j
}

// bandwidth returns the roof of a step that moves the given number of bytes.
func (r *Roofs) bandwidth(bytes int64) float64 {
	top := 0.0
	for _, l := range r.Levels {
		top = max(l.Read, l.Update)
		if l.Bytes >= bytes {
			break
		}
	}
	return top
}
