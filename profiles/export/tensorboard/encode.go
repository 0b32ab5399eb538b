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
//	Summary.Value  1 tag string, 2 simple_value float, 4 image Image, 8 tensor Tensor, 9 metadata Metadata
//	Image          1 height int32, 2 width int32, 3 colorspace int32 (1 is grey), 4 encoded_image_string bytes
//	Tensor         1 dtype enum (7 is text), 2 tensor_shape Shape, 8 string_val bytes, repeated
//	Shape          2 dim Dim, repeated; Dim has 1 size int64
//	Metadata       1 plugin_data Plugin, which has 1 plugin_name string, 2 content bytes
//
// The content for the plugin hparams is a HParamsPluginData: 3 session_start_info Start, 4 session_end_info End.
//
//	Start          1 hparams map of string to Value, 5 start_time_secs double
//	Value          2 number_value double, 3 string_value string, 4 bool_value bool
//	End            1 status enum, 2 end_time_secs double
const (
	eventWallTime, eventStep, eventVersion, eventSummary          = 1, 2, 3, 5
	summaryValue                                                  = 1
	valueTag, valueSimple, valueImage, valueTensor, valueMetadata = 1, 2, 4, 8, 9
	imageHeight, imageWidth, imageColours, imageFile              = 1, 2, 3, 4
	tensorType, tensorShape, tensorTexts                          = 1, 2, 8
	shapeDimension, dimensionSize                                 = 2, 1
	metadataPlugin, pluginName, pluginContent                     = 1, 1, 2
	hparamsStart, hparamsEnd                                      = 3, 4
	startSettings, startTime, mapKey, mapValue                    = 1, 5, 1, 2
	settingNumber, settingText, settingSwitch                     = 2, 3, 4
	endStatus, endTime                                            = 1, 2
	grey, text                                                    = 1, 7
)

// The statuses of the end of a session.
const (
	sessionSuccess = 1
	sessionFailure = 2
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

// seconds returns a time as TensorBoard has it, in seconds since 1970.
func seconds(at time.Time) float64 { return float64(at.UnixNano()) / 1e9 }

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
	e.head = appendDouble(e.head, eventWallTime, seconds(at))
	e.head = appendNumber(e.head, eventStep, uint64(max(step, 0)))
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

// picture adds a picture, as a file of greys.
func (e *event) picture(tag string, width, height int, png []byte) {
	image := appendNumber(nil, imageHeight, uint64(height))
	image = appendNumber(image, imageWidth, uint64(width))
	image = appendNumber(image, imageColours, grey)
	image = appendBytes(appendTag(image, imageFile, wireBytes), png)
	e.add(tag, valueImage, image)
}

// remark adds a text, which TensorBoard reads as Markdown.
func (e *event) remark(tag, words string) {
	dimension := appendMessage(nil, shapeDimension, appendNumber(nil, dimensionSize, 1))
	tensor := appendNumber(nil, tensorType, text)
	tensor = appendMessage(tensor, tensorShape, dimension)
	tensor = appendString(appendTag(tensor, tensorTexts, wireBytes), words)
	e.add(tag, valueTensor, tensor)
	e.plugin("text", nil)
}

// session adds the settings at the start of a run, or its end, for the plugin hparams.
func (e *event) session(tag string, field uint64, message []byte) {
	e.add(tag, 0, nil)
	e.plugin("hparams", appendMessage(nil, field, message))
}

// add adds a value with a tag and, unless field is 0, a message.
func (e *event) add(tag string, field uint64, message []byte) {
	e.any = true
	e.value = appendString(appendTag(e.value[:0], valueTag, wireBytes), tag)
	if field != 0 {
		e.value = appendMessage(e.value, field, message)
	}
	e.summary = appendMessage(e.summary[:0], summaryValue, e.value)
}

// plugin names the plugin of the event's only value, with what it needs.
func (e *event) plugin(name string, content []byte) {
	plugin := appendString(appendTag(nil, pluginName, wireBytes), name)
	if content != nil {
		plugin = appendMessage(plugin, pluginContent, content)
	}
	e.value = appendMessage(e.value, valueMetadata, appendMessage(nil, metadataPlugin, plugin))
	e.summary = appendMessage(e.summary[:0], summaryValue, e.value)
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

func appendMessage(to []byte, field uint64, message []byte) []byte {
	return appendBytes(appendTag(to, field, wireBytes), message)
}

func appendNumber(to []byte, field, n uint64) []byte {
	return binary.AppendUvarint(appendTag(to, field, wireVarint), n)
}

func appendDouble(to []byte, field uint64, v float64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(to, field, wireFixed64), math.Float64bits(v))
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
