package effect

import (
	"math"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// What a change does to memory is known once the run has reported it after the change, and what is held long after it
// is not its work.
func TestAnEffectHasItsMemory(t *testing.T) {
	tr := newTrial(4)
	tr.holds(100, true)
	tr.iterate(60)
	tr.holds(110, false)
	tr.change("amp")
	tr.iterate(10)
	tr.holds(115, false)
	if e := tr.last(); e.HasMemory {
		t.Errorf("before the report: %+v", e)
	}
	tr.holds(70, true)
	if e := tr.last(); !e.HasMemory || e.MemoryChange != -40 {
		t.Errorf("after the report: %v %d, want −40", e.HasMemory, e.MemoryChange)
	}
	tr.iterate(10)
	tr.holds(80, false)
	if e := tr.last(); e.MemoryChange != -30 {
		t.Errorf("within the window: %d, want −30", e.MemoryChange)
	}
	tr.iterate(Warmup + Window)
	tr.holds(500, false)
	if e := tr.last(); e.MemoryChange != -30 {
		t.Errorf("after the window: %d, want −30", e.MemoryChange)
	}
	tr.change("fft_cache")
	tr.holds(510, true) // belongs to the second change
	tr.iterate(30)
	tr.holds(520, false)
	all := tr.view()
	if all[0].MemoryChange != -30 || all[1].MemoryChange != 20 {
		t.Errorf("%d and %d, want −30 and 20", all[0].MemoryChange, all[1].MemoryChange)
	}
}

// The effect of a change has what it frees of a cache that it switches, and not what other caches gained meanwhile.
func TestAnEffectHasTheMemoryOfItsOwnCaches(t *testing.T) {
	schema := prism.Schema()
	own, other := schema.CacheOf("measurement_cache"), schema.CacheOf("fft_cache")
	for _, decided := range []bool{false, true} {
		tr := newTrial(9)
		tr.it.Caches[own].Bytes, tr.it.Caches[other].Bytes = 57, 7
		tr.holds(100, true)
		tr.iterate(60)
		tr.holds(100, false)
		tr.change("measurement_cache")
		tr.it.Caches[own].Bytes, tr.it.Caches[other].Bytes = 0, 20
		if decided {
			tr.cut()
		}
		tr.holds(100, true)
		tr.iterate(Warmup)
		if decided {
			a := &profiles.Ablation{Running: true, Replication: true, Within: time.Second, Of: tr.last().Iteration,
				Rows: []profiles.AblationRow{{OffBytes: 101, OnBytes: 100, HasMemory: true}}}
			tr.effects.Replicate(a)
			tr.it.Caches[own].Bytes = 1 // a block with the cache
			tr.holds(100, false)
			if e := tr.last(); e.HasMemory {
				t.Errorf("while blocks alternate: %d", e.MemoryChange)
			}
			tr.cut()
			over := *a
			over.Running, over.Ended, over.Rows = false, profiles.EndedDecided, slices.Clone(a.Rows)
			tr.effects.Replicate(&over)
			tr.it.Caches[own].Bytes = 0
		}
		tr.holds(100, false)
		tr.it.Caches[other].Bytes = 50
		tr.holds(100, false)
		if e := tr.last(); !e.HasMemory || e.MemoryChange != -57 {
			t.Errorf("decided %v: %v %d, want −57", decided, e.HasMemory, e.MemoryChange)
		}
	}
}

// A run whose memory was never reported, such as that of an old recording, has none.
func TestAnEffectWithoutReportsHasNoMemory(t *testing.T) {
	tr := newTrial(5)
	tr.holds(100, false)
	tr.iterate(30)
	tr.change("amp")
	tr.iterate(30)
	tr.holds(200, false)
	if e := tr.last(); e.HasMemory {
		t.Errorf("%+v", e)
	}
}

// Where an ablation switched at the boundary of a change, what is held there belongs to either value: only the blocks
// tell them apart.
func TestAnEffectThatIsSwitchedHasTheMemoryOfItsBlocks(t *testing.T) {
	tr := newTrial(6)
	tr.holds(100, true)
	tr.iterate(60)
	tr.change("checkpointing")
	tr.cut() // the first block has the old value
	tr.holds(100, true)
	tr.iterate(Warmup)
	tr.holds(100, true)
	if e := tr.last(); e.HasMemory {
		t.Errorf("in a block of the old value: %+v", e)
	}
	replication := func(row profiles.AblationRow) *profiles.Ablation {
		return &profiles.Ablation{Running: true, Replication: true, Of: tr.last().Iteration, Rows: []profiles.AblationRow{row}}
	}
	tr.effects.Replicate(replication(profiles.AblationRow{OffBytes: 100, OnBytes: 60}))
	if e := tr.last(); e.HasMemory {
		t.Errorf("before both values had a block: %+v", e)
	}
	tr.effects.Replicate(replication(profiles.AblationRow{OffBytes: 100, OnBytes: 60, HasMemory: true}))
	if e := tr.last(); !e.HasMemory || e.MemoryChange != -40 {
		t.Errorf("%v %d, want −40", e.HasMemory, e.MemoryChange)
	}
	tr.cut()
	tr.change("learning_rate") // ends the blocks
	tr.holds(60, true)
	tr.iterate(Warmup)
	tr.holds(60, false)
	if all := tr.view(); all[0].MemoryChange != -40 || all[1].HasMemory {
		t.Errorf("%+v and %+v: the learning rate changes no memory", all[0], all[1])
	}
}

// A second replication that is stopped before it has a result leaves that of the first.
func TestAStoppedReplicationLeavesTheResultOfOneBefore(t *testing.T) {
	tr := newTrial(7)
	tr.iterate(60)
	tr.change("amp")
	tr.iterate(60)
	of := tr.last().Iteration
	first := profiles.AblationRow{Groups: 9, Effect: -0.2, Low: -0.3, High: -0.1, Final: true}
	second := profiles.AblationRow{Groups: 1, Effect: 0.5, Low: math.Inf(-1), High: math.Inf(1)}
	for _, a := range []profiles.Ablation{
		{Rows: []profiles.AblationRow{first}, Ended: profiles.EndedDecided},
		{Rows: []profiles.AblationRow{second}, Running: true},
		{Rows: []profiles.AblationRow{second}, Ended: "it was stopped"},
	} {
		a.Replication, a.Of = true, of
		tr.effects.Replicate(&a)
	}
	if e := tr.last(); e.Replica.Groups != 9 || e.Replica.Judge() != profiles.Saves || e.Stopped != "" {
		t.Errorf("%+v, stopped %q", e.Replica, e.Stopped)
	}
}
