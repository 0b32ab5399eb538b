package loop

import (
	"encoding/binary"
	"math"
)

// Bounds of a record.
const (
	MaxPhases = 16
	MaxSeries = 24
	MaxCaches = 8
	MaxMemory = 16
	MaxTimed  = 15 // computations of a cache
)

// RecordKind says what a record is.
type RecordKind uint8

// The kinds of records.
const (
	Step     RecordKind = iota + 1
	Caches              // counters of the caches
	Memory              //
	Line                // for the log
	Answer              // to settings
	EpochEnd            //
	_
	LayerTimes // of one module
	Picture    // was written beside the ring
	Costs      // of what a cache computed
	Steps      // several, which Next gives one by one as records of kind Step
)

// Flags of a step.
type Flags uint16

// The flags.
const (
	Skipped    Flags = 1 << iota // the gradient scaler found an overflow
	Settling                     // one of the first steps after a change
	Evaluated                    // it has a forward pass without gradients
	FirstOfAll                   // the first step of an epoch
	Boundaries                   // only the step's boundaries were watched, and its loss at most
	NoDevice                     // the device's times are not known: it was not timed in this step, or they were given up
	Compiled                     // something was compiled in it
	NonFinite                    // its loss
	Forked                       // it is part of an arm of a fork
	Measured                     // layers or activations were measured in it, which makes it slower
)

// Outcome is how a loop answered settings.
type Outcome uint32

// The outcomes.
const (
	Done Outcome = iota
	Partly
	NotUnderstood
	LeaseOver
	ScheduleOver
	Kept
	Returned
	Dropped
	Ready     // of several ranks: it is in force from its step on if all are
	Cancelled // they were not
)

// NoBlock is the block of a step outside a schedule.
const NoBlock = math.MaxUint32

// CacheCounters are the counters of a cache since the loop began. Times are nanoseconds.
type CacheCounters struct {
	Enabled                                      bool
	Hits, Misses, Entries, Bytes, Saved, Lookups int64
}

// DeviceMemory is the state of a device's allocator, in bytes; −1 where it was not measured.
type DeviceMemory struct{ Allocated, Reserved, PeakAllocated, PeakReserved, Free, Total, Retries int64 }

// Record is a record of any kind: fields that its kind does not have keep what they had.
// Times are nanoseconds, those of clocks since monotonic 0.
type Record struct {
	Kind  RecordKind
	Step  int64
	Start int64

	// Of a Step.
	StepKind          uint8
	Flags             Flags
	Forward, Backward int // passes
	Total             int64
	Block             uint32
	Items             float64 // 0 if unknown; also of an EpochEnd
	Host, Device      [MaxPhases]int64
	Series            [MaxSeries]float64 // also of an EpochEnd: logged since its last step
	Spent             int64              // by the module, at the boundary before

	Generation     uint32 // of settings; also of an Answer
	Unit, InUnit   int32  // also of an EpochEnd, whose InUnit is the number of its steps
	Took           int64  // of an Answer
	Outcome        Outcome
	CacheCounters  [MaxCaches]CacheCounters
	Squares        float64          // of Costs: the sum over lookups of the square of the time of each
	Costs          [MaxTimed]int64  // of the latest Count computations of the cache of that Index
	Memory         [MaxMemory]int64 // −1 where it was not measured
	DeviceMemory   DeviceMemory
	Severity       int    // of a Line: 0 a remark, 1 a warning, 2 a refusal, 3 the module stopped watching
	Text           string // of a Line, an Answer or LayerTimes
	LayerForward   int64  // without layers inside it; −1: none
	LayerBackward  int64
	Index, Count   int // of a layer, and layers; the index of a picture or a cache
	Calls          int
	Width, Height  int // of a picture
	FileGeneration uint32
}

// mostSteps is how many steps a record has at most.
const mostSteps = 6

// parts returns how many records Next gives of one.
func parts(b []byte) int {
	if RecordKind(b[8]) == Steps {
		return min(max(int(b[9]), 1), mostSteps)
	}
	return 1
}

// decode reads a part of a record, counted from 0, and reports whether its kind is known.
func (r *Record) decode(b []byte, part int) bool {
	le := binary.LittleEndian
	i64 := func(at int) int64 { return int64(le.Uint64(b[at:])) }
	u32 := func(at int) uint32 { return le.Uint32(b[at:]) }
	f64 := func(at int) float64 { return math.Float64frombits(le.Uint64(b[at:])) }
	text := func(at int) string {
		const from, most = 64, 504
		return string(b[from : from+min(int(u32(at)), most)])
	}
	r.Kind, r.Step, r.Start = RecordKind(b[8]), i64(16), i64(24)
	switch r.Kind {
	case Step:
		r.StepKind, r.Flags, r.Forward, r.Backward = b[9], Flags(le.Uint16(b[10:])), int(le.Uint16(b[12:])),
			int(le.Uint16(b[14:]))
		r.Total, r.Generation, r.Block, r.Unit, r.InUnit = i64(32), u32(40), u32(44), int32(u32(48)), int32(u32(52))
		r.Items, r.Spent = f64(56), i64(512)
		for i := range MaxPhases {
			r.Host[i], r.Device[i] = i64(64+8*i), i64(192+8*i)
		}
		for i := range MaxSeries {
			r.Series[i] = f64(320 + 8*i)
		}
	case Steps:
		r.oneOf(b, part)
	case Caches:
		for i := range MaxCaches {
			at := 64 + 56*i
			r.CacheCounters[i] = CacheCounters{i64(at) != 0, i64(at + 8), i64(at + 16), i64(at + 24), i64(at + 32),
				i64(at + 40), i64(at + 48)}
		}
	case Costs:
		r.Index, r.Count, r.Squares = int(u32(48)), int(min(u32(52), MaxTimed)), f64(56)
		for i := range r.Count {
			r.Costs[i] = i64(64 + 8*i)
		}
	case Memory:
		for i := range MaxMemory {
			r.Memory[i] = i64(64 + 8*i)
		}
		r.DeviceMemory = DeviceMemory{i64(192), i64(200), i64(208), i64(216), i64(224), i64(232), i64(240)}
	case Line:
		r.Severity, r.Text = int(i64(32)), text(48)
	case Answer:
		r.Took, r.Generation, r.Block, r.Outcome, r.Text = i64(32), u32(40), u32(44), Outcome(u32(48)), text(52)
	case EpochEnd:
		r.Unit, r.InUnit, r.Items = int32(u32(48)), int32(u32(52)), f64(56)
		for i := range MaxSeries {
			r.Series[i] = f64(320 + 8*i)
		}
	case LayerTimes:
		r.LayerForward, r.LayerBackward, r.Index, r.Count = i64(32), i64(40), int(u32(48)), int(u32(52))
		r.Calls, r.Text = int(u32(56)), text(60)
	case Picture:
		r.Index, r.Width, r.Height, r.FileGeneration = int(u32(48)), int(u32(52)), int(u32(56)), u32(60)
	default:
		return false
	}
	return true
}

// oneOf reads a step of a record that has several, counted from 0: it has no flags, and no series but the loss.
func (r *Record) oneOf(b []byte, part int) {
	const first, length, moments = 64, 80, 8
	le := binary.LittleEndian
	i64 := func(at int) int64 { return int64(le.Uint64(b[at:])) }
	at := first + part*length
	if r.Spent = 0; part > 0 {
		r.Start = i64(at - length + 8*(moments-1)) // where the step before ended
	} else {
		r.Spent = i64(32)
	}
	r.Kind, r.Step, r.StepKind, r.Flags, r.Forward, r.Backward = Step, r.Step+int64(part), 0, 0, 1, 1
	r.Generation, r.Block = le.Uint32(b[40:]), le.Uint32(b[44:])
	r.Unit, r.InUnit = int32(le.Uint32(b[48:])), int32(le.Uint32(b[52:]))+int32(part)
	r.Items = math.Float64frombits(le.Uint64(b[at+8*moments+8:]))
	for i := range r.Series {
		r.Series[i] = math.NaN()
	}
	r.Series[0] = math.Float64frombits(le.Uint64(b[at+8*moments:]))
	r.Host, r.Device = [MaxPhases]int64{}, unmeasured
	for i := range moments - 1 { // data, prepare, forward, loss, backward, clip, optimizer
		r.Host[i] = i64(at+8*i+8) - i64(at+8*i)
	}
	r.Host[moments-1] = i64(at) - r.Start // other
	r.Total = i64(at+8*(moments-1)) - r.Start
}

// unmeasured are the times of a device that was not timed.
var unmeasured = func() (none [MaxPhases]int64) {
	for i := range none {
		none[i] = -1
	}
	return none
}()
