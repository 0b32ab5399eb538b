package digest_test

import (
	"math"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export/digest"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/machine"
)

// However long a run is, it is summed up in a bounded number of bins, and nothing is counted twice or
// lost.
func TestBinsAreBoundedAndComplete(t *testing.T) {
	for _, n := range []int64{3, digest.Most, digest.Most + 1, 40_000} {
		var d digest.Digest
		exporttest.Story{Iterations: n}.Tell(d.Take)
		if len(d.Bins) > digest.Most || n >= digest.Most && len(d.Bins) < digest.Most/4 {
			t.Errorf("%d iterations: %d bins", n, len(d.Bins))
		}
		var count, timed, hits, next int64
		for i := range d.Bins {
			b := &d.Bins[i]
			if b.First != next || b.Last-b.First+1 != b.N {
				t.Fatalf("%d iterations: bin %d is from %d to %d and has %d", n, i, b.First, b.Last, b.N)
			}
			next = b.Last + 1
			count, timed, hits = count+b.N, timed+b.Timed, hits+b.Hits[1]
			if b.Timed > 0 && (b.Min > b.Max || b.Total < b.Min*b.Timed || b.Total > b.Max*b.Timed) {
				t.Errorf("%d iterations: bin %d: from %d to %d, in all %d of %d", n, i, b.Min, b.Max, b.Total, b.Timed)
			}
		}
		if count != n || timed != n-3 || hits != n-1 {
			t.Errorf("%d iterations: %d counted, %d timed, %d hits", n, count, timed, hits)
		}
		if m := d.Median(); n > 100 && (m < 0.65*exporttest.StoryRegular || m > 0.8*exporttest.StoryRegular) {
			t.Errorf("%d iterations: the median is %g", n, m)
		}
	}
}

func TestMeasurementsBelongToTheirBin(t *testing.T) {
	var d digest.Digest
	exporttest.Story{Iterations: 30_000}.Tell(d.Take)
	measured := int64(0)
	for i := range d.Bins {
		v := &d.Bins[i].Series[2]
		measured += v.N
		done := float64(d.Bins[i].First) / 30_000
		if want := 12 + 14*(1-math.Exp(-4*done)); v.N > 0 && math.Abs(v.Mean()-want) > 0.2 {
			t.Errorf("bin %d: %g dB, want about %g", i, v.Mean(), want)
		}
	}
	if measured != 3000 {
		t.Errorf("%d values were kept", measured)
	}
	if got := d.Latest("psnr_db"); math.Abs(got-25.7) > 0.1 {
		t.Errorf("the newest value is %g", got)
	}
	if got := d.Latest("absent"); !math.IsNaN(got) {
		t.Errorf("an unknown series has the value %g", got)
	}
}

func TestEarlierStartsAndAlertsAreKept(t *testing.T) {
	var d digest.Digest
	exporttest.Story{Iterations: 4000, Restarted: true}.Follow(&d)
	if len(d.Starts) != 1 || d.Starts[0].Iterations != 40 || d.Starts[0].State != profiles.Finished || math.IsNaN(d.Starts[0].MedianNS) {
		t.Errorf("starts: %+v", d.Starts)
	}
	if s := d.Snapshot(); s.Index != 4000 || s.State != profiles.Finished {
		t.Errorf("the newest snapshot is %s at %d", s.State, s.Index)
	}
	told := 0
	for _, a := range d.Alerts {
		if a.ID == "told" {
			told++
			if a.Standing {
				t.Error("an alert that was cleared stands")
			}
		}
	}
	if told != 1 {
		t.Errorf("an alert is there %d times", told)
	}
	// A snapshot of another start is none of this one.
	d.See(&profiles.Snapshot{Index: 1})
	if s := d.Snapshot(); s.Index != 4000 {
		t.Errorf("the snapshot of an earlier start was taken, at %d", s.Index)
	}
}

func TestADigestWithoutSnapshotsHasWhatEventsSay(t *testing.T) {
	var d digest.Digest
	if s := d.Snapshot(); s.Index != 0 || d.Begun() {
		t.Error("a run that did not begin has iterations")
	}
	exporttest.Story{Iterations: 50}.Tell(d.Take)
	if s := d.Snapshot(); s.Index != 50 || s.State != profiles.Finished || s.Series[2].Latest < 20 {
		t.Errorf("%s at %d with %g dB", s.State, s.Index, s.Series[2].Latest)
	}
}

// Of several GPUs the digest keeps the memory of the run's.
func TestTheMemoryOfTheRunsGPUIsKept(t *testing.T) {
	var d digest.Digest
	events := exporttest.Events()
	d.Take(&events[0])
	sensors := &profiles.Event{Body: &profiles.Sensors{Sensors: machine.Sensors{GPUs: []machine.GPUSensors{
		{UUID: "GPU-a", MemoryUsed: machine.Reading(10)}, {UUID: "GPU-b", MemoryUsed: machine.Reading(300), MemoryReserved: machine.Reading(20)}}}}}
	it := &profiles.Event{Body: &profiles.Iteration{Total: 1}}
	d.Take(sensors)
	d.Take(it)
	if d.Bins[0].GPU != 0 {
		t.Errorf("a run on the processor has %d bytes on a GPU", d.Bins[0].GPU)
	}
	d.Take(&profiles.Event{Body: &profiles.Memory{Device: profiles.DeviceMemory{Device: "GPU-b"}}})
	d.Take(sensors)
	if d.Bins[0].GPU != 320 {
		t.Errorf("%d bytes, want 320", d.Bins[0].GPU)
	}
}
