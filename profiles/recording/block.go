package recording

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"prismtop/profiles"
)

// A block is what an aggregator consumed in a few of its ticks. Its data, deflated, are
//
//	varint    the number of iterations, plus 1<<20 where their columns are those of a wide block
//	          their columns (column.go, iterations.go)
//	varint    the number of steps, and for each
//	  varint    iterations since the step before
//	  byte      0 for an event, 1 for a tick, 2 for events consumed without one
//	  event     varint: its time; two texts, each after a varint with its length: its name and its body
//	  others    varint: time since the one before; of a tick, a text: the cost of watching, if it changed
//
// Times are nanoseconds since the recording began.
type block struct {
	iterations []profiles.Iteration
	steps      []step
	// settings, which are not in the data, are those in force at its beginning that differ from the
	// start's, as JSON; nil for none.
	settings any
}

// step is an event, a tick of the aggregator or a drain, at its place among the iterations.
type step struct {
	after int           // iterations of the block before it
	at    time.Duration // since the recording began
	early time.Duration // as of an entry; 0 in a block that was read, where at is when the event was
	kind  byte
	event string // the name of an event's kind
	body  []byte // of an event; of a tick, its profiles.OwnCost if it differs from that of the tick before
}

// ticks returns the number of ticks and drains.
func (b *block) ticks() (n int64) {
	for i := range b.steps {
		if b.steps[i].kind != eventStep {
			n++
		}
	}
	return n
}

// whole reports whether it ends with a tick or a drain.
func (b *block) whole() bool {
	return len(b.steps) > 0 && b.steps[len(b.steps)-1].kind != eventStep
}

// length returns the time from the first step to the last.
func (b *block) length() time.Duration {
	if len(b.steps) == 0 {
		return 0
	}
	return b.steps[len(b.steps)-1].at - b.steps[0].at
}

const (
	eventStep = 0
	tickStep  = 1
	drainStep = 2
)

// wideMark is added to the number of iterations of a wide block.
const wideMark = 1 << 20

// counted splits the number at the beginning of a block.
func counted(n uint64) (iterations uint64, l *layout) {
	if n >= wideMark {
		return n - wideMark, &wideLayout
	}
	return n, &narrowLayout
}

// Limits of a block that is read, against files that are damaged or made to harm. What a recorder or a
// Piece writes is far below them.
const (
	mostIterations = 1 << 15
	mostEntries    = 1 << 17 // of the steps
	largestBody    = 4 << 20 // bytes of an event's body
	largestBodies  = 16 << 20
)

// largestBlock returns the most bytes that a block of n iterations may inflate to: those of its columns
// at their widest, and those of its steps.
func largestBlock(n int, l *layout) int64 {
	columns := int64(len(l.fields) + l.series)
	return columns*(widestColumn+8*int64(n)) + largestBodies
}

// inflate returns the data of a block without compression.
func inflate(data []byte) ([]byte, error) {
	from := flate.NewReader(bytes.NewReader(data))
	raw, err := io.ReadAll(io.LimitReader(from, binary.MaxVarintLen64))
	if err != nil {
		return nil, err
	}
	n, _ := binary.Uvarint(raw) // 0 where it makes no sense
	n, l := counted(n)
	if n > mostIterations {
		return nil, fmt.Errorf("%d iterations: must be at most %d", n, mostIterations)
	}
	most := largestBlock(int(n), l)
	rest, err := io.ReadAll(io.LimitReader(from, most-int64(len(raw))+1))
	if err != nil {
		return nil, err
	}
	if raw = append(raw, rest...); int64(len(raw)) > most {
		return nil, fmt.Errorf("it inflates to more than the %d bytes that %d iterations and their events may take",
			most, n)
	}
	return raw, nil
}

// packer deflates blocks.
type packer struct {
	raw     []byte
	out     bytes.Buffer
	deflate *flate.Writer
}

// pack returns the data of a block, valid until the next call.
func (p *packer) pack(b *block) ([]byte, error) {
	l, n := layoutOf(b.iterations), uint64(len(b.iterations))
	if l == &wideLayout {
		n += wideMark
	}
	raw := binary.AppendUvarint(p.raw[:0], n)
	raw = putIterations(raw, b.iterations, l)
	raw = binary.AppendUvarint(raw, uint64(len(b.steps)))
	after, ticked := 0, time.Duration(0)
	for i := range b.steps {
		s := &b.steps[i]
		raw = binary.AppendUvarint(raw, uint64(s.after-after))
		after = s.after
		if s.kind != eventStep {
			raw = binary.AppendVarint(append(raw, s.kind), int64(s.at-ticked))
			if ticked = s.at; s.kind == tickStep {
				raw = append(binary.AppendUvarint(raw, uint64(len(s.body))), s.body...)
			}
			continue
		}
		raw = binary.AppendVarint(append(raw, eventStep), int64(s.at-s.early))
		raw = append(binary.AppendUvarint(raw, uint64(len(s.event))), s.event...)
		raw = append(binary.AppendUvarint(raw, uint64(len(s.body))), s.body...)
	}
	p.raw = raw
	p.out.Reset()
	if p.deflate == nil {
		var err error
		if p.deflate, err = flate.NewWriter(&p.out, flate.DefaultCompression); err != nil {
			return nil, err
		}
	} else {
		p.deflate.Reset(&p.out)
	}
	if _, err := p.deflate.Write(raw); err != nil {
		return nil, err
	}
	if err := p.deflate.Close(); err != nil {
		return nil, err
	}
	return p.out.Bytes(), nil
}

// unpackBlock decodes the data of a block.
func unpackBlock(data []byte) (b *block, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("a block is damaged: %w", err)
		}
	}()
	raw, err := inflate(data)
	if err != nil {
		return nil, err
	}
	r := blockReader{raw: raw}
	b = &block{}
	if n, l := counted(r.uvarint()); n > 0 {
		b.iterations = make([]profiles.Iteration, n)
		if r.raw, err = takeIterations(r.raw, b.iterations, l); err != nil {
			return nil, err
		}
	}
	steps := r.count(2)
	if steps > mostEntries {
		return nil, fmt.Errorf("%d events and ticks: must be at most %d", steps, mostEntries)
	}
	b.steps = make([]step, steps)
	after, ticked := 0, time.Duration(0)
	for i := range b.steps {
		s := &b.steps[i]
		after += int(r.uvarint())
		if s.after = after; after > len(b.iterations) {
			return nil, fmt.Errorf("an event after iteration %d of %d", after, len(b.iterations))
		}
		switch kind := r.bytes(1); {
		case r.short:
		case kind[0] == tickStep || kind[0] == drainStep:
			ticked += time.Duration(r.varint())
			s.kind, s.at = kind[0], ticked
			if s.kind == tickStep {
				s.body = r.bytes(r.count(1))
			}
		case kind[0] == eventStep:
			s.at = time.Duration(r.varint())
			s.event = string(r.bytes(r.count(1)))
			s.body = r.bytes(r.count(1))
		default:
			return nil, fmt.Errorf("an unknown step %d", kind[0])
		}
		if r.short {
			return nil, errShort
		}
		if len(s.body) > largestBody {
			return nil, fmt.Errorf("an event of %d bytes: must be at most %d", len(s.body), largestBody)
		}
	}
	if r.short {
		return nil, errShort
	}
	return b, nil
}

// blockReader reads the data of a block; short is set once they are too few.
type blockReader struct {
	raw   []byte
	short bool
}

func (r *blockReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.raw)
	if n <= 0 {
		r.short, r.raw = true, nil
		return 0
	}
	r.raw = r.raw[n:]
	return v
}

func (r *blockReader) varint() int64 {
	v, n := binary.Varint(r.raw)
	if n <= 0 {
		r.short, r.raw = true, nil
		return 0
	}
	r.raw = r.raw[n:]
	return v
}

// count reads the number of entries that take least bytes each or more.
func (r *blockReader) count(least int) int {
	n := r.uvarint()
	if n > uint64(len(r.raw)/least) {
		r.short, r.raw = true, nil
		return 0
	}
	return int(n)
}

func (r *blockReader) bytes(n int) []byte {
	if n > len(r.raw) {
		r.short, r.raw = true, nil
		return nil
	}
	b := r.raw[:n:n]
	r.raw = r.raw[n:]
	return b
}
