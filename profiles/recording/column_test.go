package recording

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

func TestColumnsKeepEveryNumber(t *testing.T) {
	for _, values := range [][]int64{
		{0}, {7}, {-7, -7, -7}, {0, 0, 0}, {1, 2, 3}, {math.MinInt64, math.MaxInt64, 0}, {-1, 255, 256, 1 << 40},
		{math.MaxInt64 - 1, math.MaxInt64}, {1e6, 1e6 + 255}, {1e6, 1e6 + 256},
	} {
		data := putColumn([]byte{9}, values)
		got := make([]int64, len(values))
		rest, err := takeColumn(append(data[1:], 5, 6), got)
		if err != nil || !slices.Equal(got, values) || !bytes.Equal(rest, []byte{5, 6}) {
			t.Errorf("%d became %d, with %v left (%v)", values, got, rest, err)
		}
		for cut := range data[1:] {
			if _, err := takeColumn(data[1:1+cut], got); err == nil {
				t.Errorf("%d: %d of %d bytes are taken for a column", values, cut, len(data)-1)
			}
		}
	}
}

// random returns iterations in which every number takes any value.
func random(n int, noise *rand.Rand) []profiles.Iteration {
	all := make([]profiles.Iteration, n)
	for i := range all {
		it := &all[i]
		it.Index, it.Kind, it.Flags = noise.Int64(), profiles.Kind(noise.IntN(3)), profiles.Flags(noise.IntN(256))
		it.Unit, it.InUnit, it.Changes = noise.Int32(), noise.Int32(), noise.Uint32()
		it.Start, it.Total, it.Retimed = noise.Int64(), noise.Int64(), noise.Int64()
		for p := range it.Phases {
			it.Phases[p] = noise.Int64()
		}
		for s := range it.Series {
			it.Series[s] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 0.5, noise.NormFloat64(), float64(noise.Float32())}[noise.IntN(8)]
		}
		for c := range it.Caches {
			counters := reflect.ValueOf(&it.Caches[c]).Elem()
			for f := range counters.NumField() {
				switch field := counters.Field(f); field.Kind() {
				case reflect.Bool:
					field.SetBool(noise.IntN(2) == 0)
				case reflect.Int64:
					field.SetInt(noise.Int64() >> noise.IntN(60))
				case reflect.Float64:
					field.SetFloat(noise.ExpFloat64() * 1e9)
				}
			}
		}
	}
	return all
}

// identical compares iterations bit by bit.
func identical(a, b *profiles.Iteration) bool {
	x, y := *a, *b
	for s := range x.Series {
		if math.Float64bits(x.Series[s]) != math.Float64bits(y.Series[s]) {
			return false
		}
	}
	x.Series, y.Series = profiles.Values{}, profiles.Values{}
	return x == y
}

// Iterations are stored without loss, whatever their numbers are.
func TestIterationsKeepEveryBit(t *testing.T) {
	noise := rand.New(rand.NewPCG(3, 4))
	for n := range 30 {
		for _, narrow := range []bool{false, true} {
			all := random(n, noise)
			if narrow {
				narrowed(all)
			}
			var p packer
			data, err := p.pack(&block{iterations: all})
			if err != nil {
				t.Fatal(err)
			}
			got, err := unpackBlock(data)
			if err != nil || len(got.iterations) != n {
				t.Fatalf("%d iterations became %d: %v", n, len(got.iterations), err)
			}
			for i := range all {
				if !identical(&all[i], &got.iterations[i]) {
					t.Fatalf("iteration %d of %d:\n%+v\nbecame\n%+v", i, n, all[i], got.iterations[i])
				}
			}
		}
	}
}

// narrowed clears what most schemas do not have.
func narrowed(all []profiles.Iteration) {
	for i := range all {
		clear(all[i].Phases[profiles.SlotPhases:])
		clear(all[i].Series[profiles.SlotSeries:])
		clear(all[i].Caches[profiles.SlotCaches:])
	}
}

// Iterations whose schema fits into a slot are stored as they were when there was room for no larger one.
func TestMostBlocksAreNarrow(t *testing.T) {
	all := random(10, rand.New(rand.NewPCG(3, 4)))
	if layoutOf(all) != &wideLayout {
		t.Error("a block with everything is narrow")
	}
	narrowed(all)
	if layoutOf(all) != &narrowLayout {
		t.Error("a block with what fits into slots is wide")
	}
	for name, beyond := range map[string]func(*profiles.Iteration){
		"phase": func(it *profiles.Iteration) { it.Phases[profiles.SlotPhases] = 1 }, "series": func(it *profiles.Iteration) { it.Series[profiles.MaxSeries-1] = math.NaN() },
		"cache": func(it *profiles.Iteration) { it.Caches[profiles.SlotCaches].Enabled = true },
	} {
		more := slices.Clone(all)
		if beyond(&more[9]); layoutOf(more) != &wideLayout {
			t.Errorf("a block with one more %s is narrow", name)
		}
	}
}

// A measurement is stored as it was when there was room for no larger schema, and one of a larger schema whole.
func TestSeriesThatWereNotMeasuredTakeNoRoom(t *testing.T) {
	few, many := profiles.NoValues(), profiles.NoValues()
	few[1], many[profiles.MaxSeries-1] = 2, 3
	for want, v := range map[int]profiles.Values{profiles.SlotSeries: few, profiles.MaxSeries: many} {
		m := &profiles.Measurement{Values: v}
		if n := len(packed(reflect.ValueOf(m), settings.Values{}).(map[string]any)["Values"].([]any)); n != want {
			t.Errorf("%d values are stored, want %d", n, want)
		}
		data, err := pack(m, settings.Values{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := (&unpacker{}).unpack("measurement", data)
		if err != nil {
			t.Fatal(err)
		}
		got := b.(*profiles.Measurement).Values
		for i := range v {
			if math.Float64bits(got[i]) != math.Float64bits(v[i]) && !(math.IsNaN(got[i]) && math.IsNaN(v[i])) {
				t.Errorf("series %d: %v became %v", i, v[i], got[i])
			}
		}
	}
}

// Every field of an iteration is stored: one that is added later must be, too.
func TestNoFieldOfAnIterationIsForgotten(t *testing.T) {
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(1.25)
		default:
			if v.CanUint() {
				v.SetUint(3)
			} else {
				v.SetInt(3)
			}
		}
	}
	one := make([]profiles.Iteration, 1)
	fill(reflect.ValueOf(&one[0]).Elem())
	got := make([]profiles.Iteration, 1)
	if _, err := takeIterations(putIterations(nil, one, &wideLayout), got, &wideLayout); err != nil || one[0] != got[0] {
		t.Errorf("%+v\nbecame\n%+v (%v)", one[0], got[0], err)
	}
}

// Bodies keep every number, also those that JSON lacks, and settings.
func TestBodiesAreKept(t *testing.T) {
	base := (&prism.Settings{Loss: "l1", Threshold: 3e-3, AMP: "off", Channels: []int{8, 1}}).Values().Settled()
	changed, err := base.With(settings.Assignment{Key: "amp", Value: "bf16"}, settings.Assignment{Key: "loss", Value: "l2"})
	if err != nil {
		t.Fatal(err)
	}
	info := prismtest.Info(3)
	info.Seed, info.Sampling, info.Notes = math.MaxUint64, &profiles.Sampling{Size: 64, Centres: [][2]float64{{1, -0.25}}}, []string{"padded"}
	values := profiles.NoValues()
	values[0], values[1] = math.Inf(1), 0.1
	all := []profiles.Body{
		&profiles.Begin{Info: info, Settings: base},
		&profiles.Grown{Schema: info.Schema},
		&profiles.Changed{Change: profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: 7, At: 5, Asked: 4, Controls: 3}, Settings: changed},
		&profiles.Moved{Device: "cuda", Kernels: "sm_80", Card: "Test GPU", Cautions: []profiles.Caution{{When: profiles.When{Setting: "amp", Value: "bf16"}, Text: "slower"}}, Failed: "lost"},
		&profiles.Next{Settings: base},
		&profiles.StateChange{State: profiles.Failed, Why: "it \"diverged\"\n", Ran: 3},
		&profiles.Measurement{Iteration: 1 << 60, Unit: -1, Values: values},
		&profiles.UnitResult{Unit: 3, Values: values, Reached: math.NaN(), Loss: "l1"},
		&profiles.Ended{Units: 5, Converged: 3, Iterations: 1 << 40, Failed: []int32{1, 4}},
		&profiles.Answer{Kind: profiles.SetCommand, N: 3, By: "pts/1", Refused: "no such kernels", Iteration: 7},
		&profiles.LogEntry{Text: "a\x00b", Refused: true},
		&profiles.Note{Author: "pts/1 from 10.0.0.7", Text: "flat\x00", Iteration: 7, Written: 5},
		&profiles.Memory{Parts: [profiles.MaxMemory]int64{1, 2}, Caches: 3, Device: profiles.DeviceMemory{Device: "GPU-1", Weights: 4, Caches: [profiles.MaxCaches]int64{1: 5}}},
		&profiles.Ablation{Running: true, Base: base, Rows: []profiles.AblationRow{{Key: "amp", Effect: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}}},
		&profiles.Ranks{World: 2, Slow: 1, Phase: "backward", Excess: 6e6, Low: 5e6, High: 7e6, Steps: 320, List: []profiles.Rank{
			{PID: 41, State: "training", Step: 99, Time: 3e7, Local: 2e7, Exchange: 1e7, Wait: 6e6}, {Rank: 1, PID: 42, State: "was killed", Gone: true, Behind: 3}}, Locked: "rank 1 was killed"},
		&profiles.Tasks{List: []profiles.Task{{Name: "main", State: profiles.TaskFailed, Why: "no memory", Loss: math.NaN(), SpeedUp: 1.5}, {Name: "phase1"}}, Order: []int{1, 0}, Rounds: 1},
		&profiles.Fork{Of: 4, Rows: []profiles.ForkRow{{Low: math.Inf(-1), Difference: 1e-300}}},
		&profiles.Resident{RSS: 1, Peak: 2, Reason: "none", Collectable: 4},
		&profiles.Sensors{Age: 5, Sensors: machine.Sensors{Process: 7, Processors: machine.Missing("no permission"), GPUs: []machine.GPUSensors{{
			UUID: "GPU-1", Temperature: machine.Reading(0), Throttle: []string{"idle"}, Processes: []machine.GPUProcess{{ID: 9, Bytes: machine.Reading(1 << 50)}}}}}},
		&profiles.Load{},
		&profiles.RecordingState{Path: "x", Err: "full", Dropped: 3},
		&profiles.Output{Printed: 7, Lines: []string{"epoch 1", "epoch 2"}, Path: "x.log"},
	}
	u := unpacker{table: func(string) *settings.Table { return prism.Table }}
	inForce := settings.Values{}
	seen := map[string]bool{"picture": true, "layers": true} // which have tables
	for _, b := range all {
		name := nameOf(b)
		seen[name] = true
		data, err := pack(b, inForce)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := u.unpack(name, data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := profilestest.Differ(b, got); d != "" {
			t.Errorf("%s: %s\n%s", name, d, data)
		}
		if begin, ok := b.(*profiles.Begin); ok {
			inForce = begin.Settings
		}
		if c, ok := b.(*profiles.Changed); ok {
			inForce = c.Settings
		}
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("%s is not tested", name)
		}
	}
}

// A workload that this program does not have keeps its settings.
func TestSettingsOfAnUnknownWorkloadAreRead(t *testing.T) {
	v := (&prism.Settings{AMP: "bf16", Threads: 3, MaskCache: true, LearningRate: 0.25}).Values()
	data, err := pack(&profiles.Begin{Info: prismtest.Info(1), Settings: v}, settings.Values{})
	if err != nil {
		t.Fatal(err)
	}
	u := unpacker{table: func(string) *settings.Table { return nil }}
	b, err := u.unpack("begin", data)
	if err != nil {
		t.Fatal(err)
	}
	got := b.(*profiles.Begin).Settings
	if got.Text("amp") != "bf16" || got.Int("threads") != 3 || !got.On("mask_cache") || got.Number("learning_rate") != 0.25 {
		t.Errorf("they are %v", got)
	}
}

// A picture keeps half of 1/255 of its range, and its size up to the limit.
func TestPicturesAreKept(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {5, 3}, {128, 128}, {300, 129}} {
		p := &profiles.Picture{Width: size[0], Height: size[1], Pixels: make([]float32, size[0]*size[1])}
		for i := range p.Pixels {
			p.Pixels[i] = float32(math.Sin(float64(i)/50)) - 3
		}
		p.Pixels[0] = float32(math.NaN())
		s, err := putPicture(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.picture()
		if err != nil {
			t.Fatal(err)
		}
		if max(size[0], size[1]) > longestSide {
			if max(got.Width, got.Height) > longestSide || got.Width*size[1]/got.Height-size[0] > 4 {
				t.Errorf("%v became %d×%d", size, got.Width, got.Height)
			}
			continue
		}
		for i := 1; i < len(p.Pixels); i++ {
			if d := math.Abs(float64(p.Pixels[i] - got.Pixels[i])); d > 1.001/255 || got.Width != p.Width || got.Height != p.Height {
				t.Fatalf("%v: pixel %d is %g, not %g", size, i, got.Pixels[i], p.Pixels[i])
			}
		}
	}
}

// FuzzBlock decodes anything without a panic; what it takes is a block again.
func FuzzBlock(f *testing.F) {
	var p packer
	all := random(3, rand.New(rand.NewPCG(1, 1)))
	whole, err := p.pack(&block{iterations: all, steps: []step{{after: 1, at: 5, kind: eventStep, event: "log", body: []byte(`{"Text":"x"}`)}, {after: 3, at: 9, kind: tickStep, body: []byte(`{"Dropped":2}`)}, {after: 3, at: 12, kind: drainStep}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(whole))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := unpackBlock(data)
		if err != nil {
			return
		}
		var p packer
		again, err := p.pack(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpackBlock(again)
		if err != nil || len(got.iterations) != len(b.iterations) || len(got.steps) != len(b.steps) {
			t.Fatalf("a block became another: %v", err)
		}
	})
}
