package sim

import (
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

func TestLayersAreShownWhileTheSettingIsOn(t *testing.T) {
	asked := make(chan int, 8)
	roofs := func(kernels string, threads int) workload.Judge {
		asked <- threads
		return workloads.Judge(&roof.Roofs{Kernels: kernels, Threads: threads, GFLOPS: 100, Levels: []roof.Level{{Bytes: 1 << 20, Read: 10, Update: 10}}})
	}
	s := configured(t, append(small, "iterations=1000000", "threshold=0", "threads=1", "layer_profile=true")...)
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Roofs: roofs})
	shown := until(t, a, "layers", func(s *profiles.Snapshot) bool { return len(s.Layers) > 0 })
	if r := shown.Roofs; r == nil || r.GFLOPS != 100 || len(r.Levels) != 1 || r.Levels[0].GBs != 10 {
		t.Errorf("the roofs are %+v", r)
	}
	var sum float64
	for _, l := range shown.Layers {
		sum += l.Nanos
		if !l.Judged || l.Nanos < 0 || l.FLOPs == 0 && l.Bytes == 0 {
			t.Errorf("%+v", l)
		}
	}
	if total := shown.Whole.Total.Mean; sum <= 0 || sum > 10*max(total, shown.Total.P95) {
		t.Errorf("the layers take %g ns, an iteration %g", sum, total)
	}
	if n := <-asked; n != 1 {
		t.Errorf("asked for the roofs of %d threads", n)
	}
	if err := r.Set("layer_profile", "false"); err != nil {
		t.Fatal(err)
	}
	until(t, a, "no layers", func(s *profiles.Snapshot) bool { return len(s.Changes) == 1 && len(s.Layers) == 0 })
}

func TestAddingToTheProfileAllocatesNothing(t *testing.T) {
	steps := []profiles.Layer{{Name: "a", FLOPs: 8}, {Name: "a's loss"}, {Name: "b", Bytes: 4}}
	nanos := []int64{1, 2, 4}
	var p layerProfile
	now := time.Now()
	p.add(steps, nanos, now)
	if n := testing.AllocsPerRun(100, func() { p.add(steps, nanos, now) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if p.due(now, 1) || !p.due(now.Add(layersEvery), 1) {
		t.Error("published at the wrong time")
	}
	layers := p.take()
	if len(layers) != 2 || layers[0].Nanos != 3 || layers[1].Nanos != 4 || layers[0].Judged {
		t.Errorf("%+v", layers)
	}
	if p.due(now.Add(time.Hour), 1) {
		t.Error("nothing would be published")
	}
	other := []profiles.Layer{{Name: "c", FLOPs: 1}}
	p.add(other, nanos, now)
	if got := p.take(); len(got) != 1 || got[0].Name != "c" || got[0].Nanos != 1 {
		t.Errorf("after another plan: %+v", got)
	}
}

// A run that is shorter than the interval has its layers at the end.
func TestAShortRunHasItsLayers(t *testing.T) {
	s := configured(t, append(small, "iterations=4", "max_iterations=6", "layer_profile=true")...)
	_, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s})
	shown := until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	if len(shown.Layers) == 0 {
		t.Error("there are none")
	}
}
