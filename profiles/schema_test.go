package profiles_test

import (
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

func TestASchemaFindsItsEntriesByName(t *testing.T) {
	s := prism.Schema()
	for name, want := range map[string]int{"loss_old": prism.SeriesLossOld, "psnr_db": prism.SeriesPSNR, profiles.GradientScale: prism.SeriesGradientScale, "PSNR": -1, "": -1} {
		if got := s.SeriesNamed(name); got != want {
			t.Errorf("series %q has index %d, want %d", name, got, want)
		}
	}
	for setting, want := range map[string]profiles.CacheID{"measurement_cache": prism.CacheMeasurement, "fft_cache": prism.CacheFFTPlans, "mask_cache": prism.CacheMasks} {
		if got := s.CacheOf(setting); got != int(want) {
			t.Errorf("%s switches cache %d, want %d", setting, got, want)
		}
		if _, known := prism.Table.Lookup(setting); !known {
			t.Errorf("%s is no setting", setting)
		}
	}
	for name, want := range map[string]int{"reconstruction": prism.PictureReconstruction, "truth": prism.PictureTruth, "moon": -1} {
		if got := s.PictureNamed(name); got != want {
			t.Errorf("picture %q has index %d, want %d", name, got, want)
		}
	}
	if got := s.Looking(); got != int(prism.PhaseMetrics) {
		t.Errorf("comparing counts to phase %d, want %d", got, prism.PhaseMetrics)
	}
	if got := s.CacheOf("masks"); got != -1 {
		t.Errorf("no setting switches cache %d", got)
	}
}

func TestASchemaGroupsItsSeries(t *testing.T) {
	s := prism.Schema()
	if got := s.Group(profiles.Losses); !slices.Equal(got, []int{prism.SeriesLossOld, prism.SeriesLossNew}) {
		t.Errorf("losses %v", got)
	}
	if got := s.Group(profiles.Metrics); !slices.Equal(got, []int{prism.SeriesPSNR, prism.SeriesSSIM, prism.SeriesRMSE}) {
		t.Errorf("metrics %v", got)
	}
	if got := s.Group("pictures"); got != nil {
		t.Errorf("no series share %v", got)
	}
	for i, want := range []bool{true, true, false, false, false, false, true, true, false, false} {
		if got := s.Each(i); got != want {
			t.Errorf("every iteration has series %d: %v", i, got)
		}
	}
}

func TestASchemaKnowsTheStagesOfItsKinds(t *testing.T) {
	s := prism.Schema()
	const unknown = profiles.Kind(9)
	for _, c := range []struct {
		kind  profiles.Kind
		stage string
		units bool
	}{{prism.KindInitialisation, "initialising", false}, {prism.KindFirstSample, "progressive", true}, {prism.KindLaterSample, "progressive", true}, {unknown, "", false}} {
		if got, in := s.Stage(c.kind), s.InUnits(c.kind); got != c.stage || in != c.units {
			t.Errorf("kind %d is of %q, in units %v", c.kind, got, in)
		}
	}
	for _, c := range []struct {
		a, b profiles.Kind
		same bool
	}{
		{prism.KindFirstSample, prism.KindLaterSample, true}, {prism.KindInitialisation, prism.KindFirstSample, false}, {prism.KindLaterSample, prism.KindLaterSample, true},
		{unknown, unknown, true}, {unknown, prism.KindLaterSample, false}, {prism.KindLaterSample, unknown, false},
	} {
		if got := s.SameStage(c.a, c.b); got != c.same {
			t.Errorf("kinds %d and %d are of one stage: %v", c.a, c.b, got)
		}
	}
}

// A run that did not begin has a schema without entries: asking for one is no fault.
func TestAnEmptySchemaHasNothing(t *testing.T) {
	var s profiles.Schema
	if s.SeriesNamed("psnr_db") != -1 || s.CacheOf("mask_cache") != -1 || s.PictureNamed("truth") != -1 || s.Looking() != -1 ||
		s.Group(profiles.Losses) != nil || s.Each(0) || s.Stage(0) != "" || s.InUnits(0) || !s.SameStage(0, 0) || s.SameStage(0, 1) {
		t.Errorf("%+v", s)
	}
	snap := &profiles.Snapshot{}
	if v := snap.Of("psnr_db"); v.Has || v.Latest == v.Latest || v.Curve != nil {
		t.Errorf("PSNR %+v, want no value", v)
	}
	if snap.Cache("mask_cache") != (profiles.CacheView{}) || snap.Picture("truth") != nil || snap.Stage() != "" || snap.InUnits() {
		t.Errorf("%+v", snap)
	}
}

// What a schema declares has room in the records.
func TestTheTestsSchemaFits(t *testing.T) {
	s := prism.Schema()
	for what, n := range map[string][2]int{
		"phases": {len(s.Phases), profiles.MaxPhases}, "series": {len(s.Series), profiles.MaxSeries}, "caches": {len(s.Caches), profiles.MaxCaches},
		"memory": {len(s.Memory), profiles.MaxMemory}, "pictures": {len(s.Pictures), profiles.MaxPictures},
	} {
		if n[0] > n[1] {
			t.Errorf("%d %s and room for %d", n[0], what, n[1])
		}
	}
}

// Memory is summed by the categories of the schema.
func TestMemoryIsSummedByTheSchema(t *testing.T) {
	s := prism.Schema()
	var m profiles.Memory
	for i := range s.Memory {
		m.Parts[i] = 1 << i
	}
	m.Caches = 1 << 20
	if parameters, buffers := m.Sums(&s); parameters != 7 || buffers != 56 || m.Total() != 63+1<<20 {
		t.Errorf("parameters %d, buffers %d, in all %d", parameters, buffers, m.Total())
	}
}
