package tensorboard

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

// A file of events is a list of TFRecords, each with an Event in protocol buffers. The few
// fields in use, by their numbers:
//
//	Event          1 wall_time double, 2 step int64, 3 file_version string, 5 summary Summary
//	Summary        1 value Value, repeated
//	Summary.Value  1 tag string, 2 simple_value float
const (
	eventWallTime, eventStep, eventVersion, eventSummary = 1, 2, 3, 5
	summaryValue                                         = 1
	valueTag, valueSimple                                = 1, 2
)

// The wire types of protocol buffers.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// fileVersion is in the first event of a file.
const fileVersion = "brain.Event:2"

// event is an Event under construction.
type event struct {
	head    []byte // everything before the summary
	summary []byte
	value   []byte
	whole   []byte
	any     bool // it has a value
}

// begin begins an event with scalars.
func (e *event) begin(at time.Time, step int64) {
	e.head, e.summary, e.any = e.head[:0], e.summary[:0], false
	e.head = appendTag(e.head, eventWallTime, wireFixed64)
	e.head = binary.LittleEndian.AppendUint64(e.head, math.Float64bits(float64(at.UnixNano())/1e9))
	e.head = appendTag(e.head, eventStep, wireVarint)
	e.head = binary.AppendUvarint(e.head, uint64(step))
}

// version makes the first event of a file.
func (e *event) version(at time.Time) {
	e.begin(at, 0)
	e.head = appendString(appendTag(e.head, eventVersion, wireBytes), fileVersion)
	e.any = true
}

// scalar adds a value unless it is NaN.
func (e *event) scalar(tag string, v float64) {
	if math.IsNaN(v) {
		return
	}
	e.any = true
	e.value = appendString(appendTag(e.value[:0], valueTag, wireBytes), tag)
	e.value = appendTag(e.value, valueSimple, wireFixed32)
	e.value = binary.LittleEndian.AppendUint32(e.value, math.Float32bits(float32(v)))
	e.summary = appendBytes(appendTag(e.summary, summaryValue, wireBytes), e.value)
}

// encoded returns the event, valid until the next one.
func (e *event) encoded() []byte {
	e.whole = append(e.whole[:0], e.head...)
	if len(e.summary) > 0 {
		e.whole = appendBytes(appendTag(e.whole, eventSummary, wireBytes), e.summary)
	}
	return e.whole
}

func appendTag(to []byte, field, wire uint64) []byte { return binary.AppendUvarint(to, field<<3|wire) }

func appendBytes(to, p []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(p))), p...)
}

func appendString(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the checksum of a TFRecord: CRC-32C, rotated and shifted, since a checksum of
// data that contain their own checksum would be weak.
func masked(p []byte) uint32 {
	sum := crc32.Checksum(p, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

// appendRecord appends a TFRecord: the length of the data, its checksum, the data and their
// checksum, all in little endian.
func appendRecord(to, data []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, uint64(len(data)))
	to = binary.LittleEndian.AppendUint32(to, masked(to[at:]))
	to = append(to, data...)
	return binary.LittleEndian.AppendUint32(to, masked(data))
}
