package tensorboard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/machine"
)

// scalar is a value as a reader finds it.
type scalar struct {
	tag   string
	value float32
}

// readEvent is an event as a reader finds it.
type readEvent struct {
	time    float64
	step    int64
	version string
	scalars []scalar
	others  []other
}

// other is a value that is no scalar.
type other struct {
	tag, plugin string
	content     []byte // for the plugin
	text        string
	file        []byte
	size        [2]int
}

// fields calls take with the number, the wire type and the contents of each field of a message of
// protocol buffers: 8 or 4 bytes, those of a string or a message, or a varint in 8 bytes.
func fields(t *testing.T, p []byte, take func(field int, wire byte, content []byte)) {
	t.Helper()
	need := func(n uint64) []byte {
		if n > uint64(len(p)) {
			t.Fatalf("a field of %d bytes in a message that has %d left", n, len(p))
		}
		content := p[:n]
		p = p[n:]
		return content
	}
	number := func() uint64 {
		v, n := binary.Uvarint(p)
		if n <= 0 {
			t.Fatalf("not a varint: % x", p)
		}
		p = p[n:]
		return v
	}
	for len(p) > 0 {
		key := number()
		wire := byte(key & 7)
		var content []byte
		switch wire {
		case 0:
			content = binary.LittleEndian.AppendUint64(nil, number())
		case 1:
			content = need(8)
		case 2:
			content = need(number())
		case 5:
			content = need(4)
		default:
			t.Fatalf("wire type %d", wire)
		}
		take(int(key>>3), wire, content)
	}
}

// read reads a file as the definitions of TFRecord and event.proto say.
func read(t *testing.T, file []byte) (all []readEvent) {
	t.Helper()
	table := crc32.MakeTable(crc32.Castagnoli)
	check := func(p []byte, want uint32) {
		sum := uint64(crc32.Checksum(p, table))
		if got := uint32((sum>>15|sum<<17&0xffffffff)+0xa282ead8) & 0xffffffff; got != want {
			t.Fatalf("record %d: checksum %08x, want %08x", len(all), want, got)
		}
	}
	for len(file) > 0 {
		if len(file) < 16 {
			t.Fatalf("%d bytes after the last record", len(file))
		}
		length := binary.LittleEndian.Uint64(file)
		check(file[:8], binary.LittleEndian.Uint32(file[8:]))
		data := file[12 : 12+length]
		check(data, binary.LittleEndian.Uint32(file[12+length:]))
		file = file[16+length:]
		var e readEvent
		fields(t, data, func(field int, wire byte, p []byte) {
			switch {
			case field == 1 && wire == 1:
				e.time = math.Float64frombits(binary.LittleEndian.Uint64(p))
			case field == 2 && wire == 0:
				e.step = int64(binary.LittleEndian.Uint64(p))
			case field == 3 && wire == 2:
				e.version = string(p)
			case field == 5 && wire == 2:
				fields(t, p, func(field int, wire byte, p []byte) {
					if field != 1 || wire != 2 {
						t.Fatalf("field %d of a summary has wire type %d", field, wire)
					}
					var s scalar
					var o other
					scalar := false
					fields(t, p, func(field int, wire byte, p []byte) {
						switch {
						case field == 1 && wire == 2:
							s.tag = string(p)
						case field == 2 && wire == 5:
							s.value, scalar = math.Float32frombits(binary.LittleEndian.Uint32(p)), true
						case field == 4 && wire == 2:
							fields(t, p, func(field int, _ byte, p []byte) {
								switch field {
								case 1, 2:
									o.size[field-1] = int(binary.LittleEndian.Uint64(p))
								case 4:
									o.file = p
								}
							})
						case field == 8 && wire == 2:
							fields(t, p, func(field int, _ byte, p []byte) {
								if field == 8 {
									o.text = string(p)
								}
							})
						case field == 9 && wire == 2:
							fields(t, p, func(_ int, _ byte, p []byte) {
								fields(t, p, func(field int, _ byte, p []byte) {
									if field == 1 {
										o.plugin = string(p)
									} else {
										o.content = p
									}
								})
							})
						default:
							t.Fatalf("field %d of a value has wire type %d", field, wire)
						}
					})
					if o.tag = s.tag; scalar {
						e.scalars = append(e.scalars, s)
					} else {
						e.others = append(e.others, o)
					}
				})
			default:
				t.Fatalf("field %d of an event has wire type %d", field, wire)
			}
		})
		all = append(all, e)
	}
	return all
}

func written(t *testing.T, events []profiles.Event) []readEvent {
	t.Helper()
	var out bytes.Buffer
	w := New(&out)
	for i := range events {
		w.Take(&events[i])
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	return read(t, out.Bytes())
}

// point is a value at its step.
type point struct {
	step  int64
	value float32
}

func points(all []readEvent, tag string) (found []point) {
	for _, e := range all {
		for _, s := range e.scalars {
			if s.tag == tag {
				found = append(found, point{e.step, s.value})
			}
		}
	}
	return found
}

func TestScalarsHaveThePRISMTags(t *testing.T) {
	all := written(t, exporttest.Events())
	if all[0].version != "brain.Event:2" || len(all[0].scalars) != 0 {
		t.Errorf("the first event is %+v", all[0])
	}
	sample := func(n int) float32 { return float32(float64(int64(n)*exporttest.Period) / 1e9) }
	for tag, want := range map[string][]point{
		// by sample, which a restart goes on counting
		"Loss":            {{0, 0.5 + 1./9}, {1, 0.5 + 1./12}, {2, 0.5 + 1./9}, {3, 0.5 + 1./12}},
		"Loss/old":        {{0, 0.5}, {1, 0.5}, {2, 0.5}, {3, 0.5}},
		"Loss/new":        {{0, 1. / 9}, {1, 1. / 12}, {2, 1. / 9}, {3, 1. / 12}},
		"PSNR":            {{0, 28}, {1, 31}, {2, 28}, {3, 31}},
		"LearningRate":    {{0, 0.001}, {1, 0.001}, {2, 0.001}, {3, 0.001}},
		"Time/per_sample": {{0, sample(5)}, {1, sample(3)}, {2, sample(5)}, {3, sample(3)}},
		// by iteration
		"Iteration/PSNR":        {{2, 22}, {5, 25}, {8, 28}, {11, 31}, {14, 22}, {17, 25}, {20, 28}, {23, 31}},
		"Performance/EpochTime": {{0, 0.004000123}, {12, 0.004000123}},
		"Memory/RSS_GB":         {{3, 4. / 1024}, {7, 8. / 1024}, {11, 12. / 1024}, {15, 4. / 1024}, {19, 8. / 1024}, {23, 12. / 1024}},
	} {
		if got := points(all, tag); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tag, got, want)
		}
	}
	last := 0.0
	for i, e := range all {
		if e.time < last {
			t.Errorf("event %d is earlier than the one before it", i)
		}
		last = e.time
	}
	if want := float64(exporttest.Began.Unix()); all[0].time != want {
		t.Errorf("the first event is at %f, want %f", all[0].time, want)
	}
}

// Values that every iteration has are thinned; a cache's rate covers everything since the
// previous value.
func TestCachesAreSampled(t *testing.T) {
	events := exporttest.Events()
	w := New(io.Discard)
	w.Take(&events[0])
	var out bytes.Buffer
	w.out.Reset(&out)
	it := *events[3].Body.(*profiles.Iteration)
	for i := range int64(11) {
		it.Index, it.Start = i, i*interval/5
		it.Caches[0] = profiles.CacheCounters{Enabled: true, Hits: i, Misses: 1, Entries: i}
		w.Take(&profiles.Event{Body: &it})
	}
	for unit, hits := range []int64{13, 16} {
		it.Start, it.Caches[0].Hits, it.Caches[0].Misses = it.Start+1, hits, int64(unit)+3 // too soon to be sampled
		w.Take(&profiles.Event{Body: &it})
		w.Take(&profiles.Event{At: exporttest.Began, Body: &profiles.UnitResult{Unit: int32(unit)}})
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	all := read(t, out.Bytes())
	if got, want := points(all, "Cache/HitRate/per_sample"), []point{{0, 13. / 16}, {1, 0.75}}; !slices.Equal(got, want) {
		t.Errorf("rates of units %v, want %v", got, want)
	}
	if got, want := points(all, "Cache/HitRate"), []point{{0, 0}, {5, 1}, {10, 1}}; !slices.Equal(got, want) {
		t.Errorf("rates %v, want %v", got, want)
	}
	if got, want := points(all, "Cache/Size"), []point{{0, 0}, {5, 5}, {10, 10}}; !slices.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
	if got := points(all, "Cache/HitRate/masks"); got != nil {
		t.Errorf("a cache that was not asked has rates %v", got)
	}
}

// Known records: the checksum of no bytes and that of the digits, from the definition of
// CRC-32C (RFC 3720, B.4), masked.
func TestChecksumsAreMasked(t *testing.T) {
	for text, sum := range map[string]uint32{"": 0, "123456789": 0xe3069283} {
		if got, want := masked([]byte(text)), (sum>>15|sum<<17)+0xa282ead8; got != want {
			t.Errorf("%q: %08x, want %08x", text, got, want)
		}
	}
}

type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestTheErrorOfTheDiskIsReturned(t *testing.T) {
	if err := New(full{}).Close(0); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

func TestEventsAllocateNothing(t *testing.T) {
	w := New(io.Discard)
	events := exporttest.Events()
	w.Take(&events[0])
	it := *events[3].Body.(*profiles.Iteration)
	e := profiles.Event{Body: &it}
	w.Take(&e)
	if n := testing.AllocsPerRun(1000, func() {
		it.Index++
		it.Start += interval
		w.Take(&e)
	}); n != 0 {
		t.Errorf("%g allocations for an iteration", n)
	}
}

// The peak of a GPU's memory is that of the readings within a unit of work.
func TestThePeakOfAGPUBeginsAgainWithEachUnit(t *testing.T) {
	events := exporttest.Events()[:4:4]
	for unit, used := range [][]float64{{3, 7, 5}, {2}, nil} {
		for _, v := range used {
			events = append(events, profiles.Event{At: exporttest.Began, Body: &profiles.Sensors{Sensors: machine.Sensors{GPUs: []machine.GPUSensors{{MemoryUsed: machine.Reading(v * gigabyte)}}}}})
		}
		events = append(events, profiles.Event{At: exporttest.Began, Body: &profiles.UnitResult{Unit: int32(unit)}})
	}
	if got, want := points(written(t, events), "Memory/GPU0_peak_GB/per_sample"), []point{{0, 7}, {1, 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSensorsOfGPUsAreScalars(t *testing.T) {
	events := append(exporttest.Events()[:4:4], profiles.Event{At: exporttest.Began, Body: &profiles.Sensors{Sensors: machine.Sensors{GPUs: []machine.GPUSensors{
		{MemoryUsed: machine.Reading(3 << 30), MemoryReserved: machine.Reading(1 << 30), Utilisation: machine.Reading(0.5)}, {Power: machine.Reading(73.25)},
	}}}})
	all := written(t, events)
	for tag, want := range map[string]float32{"Memory/GPU0_GB": 4, "GPU0/Utilization": 0.5, "GPU1/Power_W": 73.25} {
		if got := points(all, tag); len(got) != 1 || got[0].value != want {
			t.Errorf("%s: %v, want %g", tag, got, want)
		}
	}
	if got := points(all, "GPU0/Power_W"); len(got) > 0 {
		t.Errorf("a sensor that is missing: %v", got)
	}
}

// docs/export.md names the tags that every workload has.
func TestTheTagsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{tagLoss, tagTime + "sample", tagIterationTime, tagIterationLoss, tagHitRate, tagSize, tagResident, tagGPUMemory + "0_GB", tagHitRate + tagOfUnit + "sample", tagGPUMemory + "0" + tagPeak + "_GB" + tagOfUnit + "sample"} {
		if !bytes.Contains(page, []byte("`"+tag+"`")) {
			t.Errorf("docs/export.md does not name %s", tag)
		}
	}
}

// Settings are hyperparameters of the plugin hparams, with how the run ended; a note is text, and a picture a file of greys.
func TestSettingsNotesAndPicturesAreWritten(t *testing.T) {
	events := exporttest.Events()
	info := events[0].Body.(*profiles.Begin)
	drawn := *info
	drawn.Info.Schema.Pictures = []profiles.PictureInfo{{Name: "the reconstruction", Live: true}}
	events[0].Body = &drawn
	for i := range 3 { // the second is too early
		events = slices.Insert(events, 4+i, profiles.Event{At: exporttest.Began.Add(time.Duration(i) * pictureInterval * 2 / 3), Body: &profiles.Picture{
			Iteration: int64(i), Width: 3, Height: 2, Pixels: []float32{0, 1, 2, 3, 4, 5}}})
	}
	found := map[string][]other{}
	for _, e := range written(t, events) {
		for _, o := range e.others {
			found[o.tag] = append(found[o.tag], o)
		}
		if e.step < 0 {
			t.Errorf("a value at step %d", e.step)
		}
	}
	if notes := found["Notes/text_summary"]; len(notes) != 2 || notes[0].plugin != "text" || notes[0].text != "pts/1: a \"sharp\" drop" {
		t.Errorf("notes %+v", notes)
	}
	pictures := found["Pictures/the_reconstruction"]
	if len(pictures) != 2 || pictures[0].size != [2]int{2, 3} {
		t.Fatalf("pictures %+v", pictures)
	}
	if img, err := png.Decode(bytes.NewReader(pictures[0].file)); err != nil || img.Bounds().Dx() != 3 || img.Bounds().Dy() != 2 {
		t.Errorf("a picture of %v (%v)", img, err)
	}
	begun, ended := found["_hparams_/session_start_info"], found["_hparams_/session_end_info"]
	if len(begun) != 1 || begun[0].plugin != "hparams" || len(ended) != 1 || ended[0].plugin != "hparams" {
		t.Fatalf("begun %+v, ended %+v", begun, ended)
	}
	settings := map[string]string{}
	fields(t, begun[0].content, func(field int, _ byte, p []byte) {
		if field != 3 {
			t.Errorf("field %d at the start", field)
		}
		fields(t, p, func(field int, _ byte, p []byte) {
			if field != 1 {
				return
			}
			var key string
			fields(t, p, func(field int, _ byte, p []byte) {
				if field == 1 {
					key = string(p)
					return
				}
				fields(t, p, func(field int, _ byte, p []byte) { settings[key] = fmt.Sprintf("%d %q", field, p) })
			})
		})
	})
	if len(settings) != 3 || settings["image"] != `3 "a \"quoted\", name\n.png"` || settings["cache"] != `4 "\x00\x00\x00\x00\x00\x00\x00\x00"` || settings["rate"][:2] != "2 " {
		t.Errorf("settings %q", settings)
	}
	fields(t, ended[0].content, func(field int, _ byte, p []byte) {
		status := uint64(0)
		fields(t, p, func(at int, _ byte, p []byte) {
			if at == 1 {
				status = binary.LittleEndian.Uint64(p)
			}
		})
		if field != 4 || status != sessionSuccess {
			t.Errorf("field %d, status %d at the end", field, status)
		}
	})
}

// What comes before the first iteration is at step 0; losses of a validation are no part of the loss.
func TestTheLossIsThatOfTheTraining(t *testing.T) {
	events := exporttest.Events()[:4]
	begin := *events[0].Body.(*profiles.Begin)
	begin.Info.Schema.Series = []profiles.SeriesInfo{{Name: "train", Title: "train", Group: profiles.Losses, Each: true}, {Name: "val", Title: "RMS error", Group: profiles.Losses}}
	events[0].Body = &begin
	it := *events[3].Body.(*profiles.Iteration)
	it.Series[0], it.Series[1] = 0.5, 0.25
	resident := profiles.Event{At: exporttest.Began, Body: &profiles.Resident{RSS: 1 << 30}}
	values := it.Series
	all := written(t, []profiles.Event{events[0], resident, {Body: &it},
		{At: exporttest.Began, Body: &profiles.Measurement{Values: values}}, {At: exporttest.Began, Body: &profiles.UnitResult{Values: values}}})
	for tag, want := range map[string]point{"Loss": {0, 0.5}, "Performance/EpochLoss": {0, 0.5}, "Memory/RSS_GB": {0, 1}, "Loss/RMS_error": {0, 0.25}, "Iteration/Loss/RMS_error": {0, 0.25}} {
		if got := points(all, tag); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, want %v", tag, got, want)
		}
	}
}

// Only whole records reach the file, whenever they do.
func TestWhatIsFlushedIsWhole(t *testing.T) {
	var out writes
	w := New(&out)
	events := exporttest.Events()
	for range 400 {
		for i := range events {
			w.Take(&events[i])
		}
	}
	if len(out) < 2 {
		t.Fatalf("%d writes", len(out))
	}
	for _, p := range out {
		read(t, p)
	}
}

// writes keeps what is written at once.
type writes [][]byte

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, bytes.Clone(p))
	return len(p), nil
}
