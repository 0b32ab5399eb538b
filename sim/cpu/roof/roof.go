// Package roof measures this machine's peak rates: additions and multiplications on
// registers, and bytes to and from caches and memory, on a given number of threads.
// A step of a plan is judged by the share of these roofs it reaches.
package roof

import (
	"context"
	"math"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/elements"
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

	// Share is the part of their processors' time, 0 to 1, that the threads had while the limit was
	// measured that had least of it; 0 if it is not known. Below enoughTime the limit is doubtful.
	Share float64 `json:"-"`
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
	// Load reads the processor time used by programs, this one among them; nil means from the
	// operating system.
	Load func() machine.Load
}

// load reads the processor time.
func (o *Options) load() machine.Load {
	if o.Load == nil {
		return machine.ReadLoad()
	}
	return o.Load()
}

// enoughTime is the share of their processors' time that threads have when nothing takes it. What is
// missing to 1 is the error of the system's count, a tick of some milliseconds a thread.
const enoughTime = 0.9

// rounds per call of MultiplyAdds: tens of microseconds.
const rounds = 1 << 14

// Measure measures the roofs. The best of many repetitions counts, since other
// programs can only slow it down. A limit is measured again, a few times, where the threads did
// not have their processors. The only error is that of ctx if it ends first.
func Measure(ctx context.Context, o Options) (*Roofs, error) {
	p := pool.New(o.Threads)
	defer p.Close()
	defer p.Attach(p.Attach(ctx))
	m := measurement{ctx: ctx, o: o, pool: p, share: math.Inf(1)}
	r := &Roofs{Kernels: o.Set.String(), Threads: p.Threads(), Measured: time.Now()}
	chunks := 4 * p.Threads()
	r.GFLOPS = m.limit(func() int64 {
		p.For(chunks, 1, func(lo, hi int) {
			for range hi - lo {
				o.Set.MultiplyAdds(rounds)
			}
		})
		return int64(chunks) * rounds * o.Set.MultiplyAdds(1)
	})
	if one := o.Set.DotProducts(1); one > 0 {
		r.BF16 = m.limit(func() int64 {
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
		r.Levels = append(r.Levels, m.level(memory[:size/4]))
	}
	if !math.IsInf(m.share, 1) {
		r.Share = min(m.share, 1)
	}
	return r, ctx.Err()
}

// measurement is a measurement of roofs under way.
type measurement struct {
	ctx   context.Context
	o     Options
	pool  *pool.Pool
	share float64 // Roofs.Share so far; infinite before the first that is known
}

// piece is the number of floats read per call: few calls, but many pieces.
const piece = 16 << 10

// level measures the bandwidth for an array.
func (m *measurement) level(x []float32) Level {
	pieces := len(x) / piece
	over := func(body func(part []float32)) func() int64 {
		return func() int64 {
			m.pool.For(pieces, 1, func(lo, hi int) { body(x[lo*piece : hi*piece]) })
			return 4 * int64(pieces*piece)
		}
	}
	l := Level{Bytes: 4 * int64(len(x))}
	l.Read = m.limit(over(func(part []float32) { m.o.Set.ReadAll(part) }))
	l.Update = 2 * m.limit(over(func(part []float32) { elements.Scale(m.o.Set, part, part, 1) }))
	return l
}

// A limit is measured at most attempts times. Where the threads do not have their processors, they
// may have them a moment later; once one limit is doubtful, the others are measured once.
const attempts = 5

// limit returns the largest amount per nanosecond of once, and notes the threads' share of their processors.
func (m *measurement) limit(once func() int64) (most float64) {
	had := 0.0
	for i := 0; i < attempts && (i == 0 || m.share >= enoughTime) && m.ctx.Err() == nil; i++ {
		before, began := m.o.load(), time.Now()
		most = max(most, best(m.ctx, m.o.Each, once))
		share, known := shareOf(m.o.load().Since(before), time.Since(began), m.pool.Threads())
		if !known {
			return most
		}
		if had = max(had, share); had >= enoughTime {
			break
		}
	}
	m.share = min(m.share, had)
	return most
}

// countable is the time below which the system's count of processor time is too coarse.
const countable = 20 * time.Millisecond

// shareOf returns the part of their processors' time that threads had in a period; known is false if it is
// too short, or if the system does not count.
func shareOf(used machine.Load, passed time.Duration, threads int) (share float64, known bool) {
	if used.Reason != "" || passed < countable {
		return 0, false
	}
	return used.Own / (passed.Seconds() * float64(min(threads, machine.Processors()))), true
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
