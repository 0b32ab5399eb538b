package stack

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"

	"prismtop/sim/tiff"
)

// Blosc 1, the default compression of zarr-python 2: blocks of one compressed stream, or one for each byte of an
// element, whose bytes or bits are shuffled (README_CHUNK_FORMAT.rst of c-blosc). BloscLZ, which nothing else uses,
// is decompressed here.

// The header: versions of the format and of the codec, flags, the size of an element, then the sizes of the data, of
// a block and of the whole as uint32.
const (
	bloscHeader  = 16
	bloscVersion = 2
)

// The flags. The codec is in the bits from bloscCodec on.
const (
	bloscShuffled    = 1 << 0 // first bytes of all elements, then second ones
	bloscCopied      = 1 << 1 // neither compressed nor shuffled
	bloscBitShuffled = 1 << 2 // first bits of all elements, then second ones
	bloscWhole       = 1 << 4 // a block is one stream
	bloscCodec       = 5
)

// Blocks of elements of mostStreams bytes at most and of leastElements at least are divided into streams.
const (
	mostStreams   = 16
	leastElements = 128
)

// bloscCodecs are the codecs by their number; those without a function are not read.
var bloscCodecs = []struct {
	name   string
	decode func(b *blosc, dst, src []byte) error
}{
	{"blosclz", func(_ *blosc, dst, src []byte) error { return bloscLZ(dst, src) }},
	{"lz4", (*blosc).lz4},
	{"snappy", nil},
	{"zlib", (*blosc).zlib},
	{"zstd", (*blosc).zstd},
}

// blosc decompresses a container.
type blosc struct {
	flags   byte
	element int // bytes
	decode  func(b *blosc, dst, src []byte) error
	mixed   []byte      // a block before its bytes are put into order
	frames  interface { // Zstandard's decoder
		io.Reader
		Reset(io.Reader) error
		Close()
	}
}

// unblosc decompresses a container of n bytes.
func unblosc(packed []byte, n int) ([]byte, error) {
	if len(packed) < bloscHeader {
		return nil, fmt.Errorf("%d bytes: must have a header of %d", len(packed), bloscHeader)
	}
	b := blosc{flags: packed[2], element: max(int(packed[3]), 1)}
	codec := int(b.flags >> bloscCodec)
	// of the data and of a block
	size, side := binary.LittleEndian.Uint32(packed[4:]), int64(binary.LittleEndian.Uint32(packed[8:]))
	switch {
	case packed[0] > bloscVersion:
		return nil, fmt.Errorf("version %d of the format: must be %d at most, of Blosc 1", packed[0], bloscVersion)
	case int64(size) != int64(n):
		return nil, fmt.Errorf("%d bytes: must be %d", size, n)
	case b.flags&bloscCopied != 0 && len(packed)-bloscHeader < n:
		return nil, fmt.Errorf("ends after %d of %d bytes: is it truncated?", len(packed)-bloscHeader, n)
	case b.flags&bloscCopied != 0:
		return packed[bloscHeader:][:n:n], nil
	case codec >= len(bloscCodecs) || bloscCodecs[codec].decode == nil:
		name := fmt.Sprint(codec)
		if codec < len(bloscCodecs) {
			name = bloscCodecs[codec].name
		}
		return nil, fmt.Errorf("codec %s: must be blosclz, lz4, lz4hc, zlib or zstd", name)
	case side < 1 || side > int64(n):
		return nil, fmt.Errorf("blocks of %d bytes: must be from 1 to %d", side, n)
	case (int64(n)+side-1)/side > int64(len(packed)-bloscHeader)/4:
		return nil, errors.New("has no room for the places of its blocks: the file is damaged")
	}
	b.decode = bloscCodecs[codec].decode
	defer func() {
		if b.frames != nil {
			b.frames.Close()
		}
	}()
	data := make([]byte, n)
	for i := 0; i*int(side) < n; i++ {
		block := data[i*int(side):]
		block = block[:min(int(side), len(block))]
		at := int64(binary.LittleEndian.Uint32(packed[bloscHeader+4*i:]))
		if at > int64(len(packed)) {
			return nil, fmt.Errorf("block %d is outside the %d bytes: the file is damaged", i, len(packed))
		}
		if err := b.block(block, packed[at:], len(block) == int(side)); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
	}
	return data, nil
}

// block decompresses a block; the last one may not be full.
func (b *blosc) block(dst, packed []byte, full bool) error {
	shuffled := b.flags&bloscShuffled != 0 && b.element > 1
	bits := b.flags&bloscShuffled == 0 && b.flags&bloscBitShuffled != 0
	to := dst
	if shuffled || bits {
		if b.mixed == nil {
			b.mixed = make([]byte, len(dst)) // the first block is a full one
		}
		to = b.mixed[:len(dst)]
	}
	streams := 1
	if full && b.flags&bloscWhole == 0 && b.element <= mostStreams && len(dst)/b.element >= leastElements {
		streams = b.element
	}
	if len(dst)%streams != 0 {
		return fmt.Errorf("%d bytes in %d streams: the file is damaged", len(dst), streams)
	}
	each := len(dst) / streams
	for s := range streams {
		if len(packed) < 4 {
			return errDamaged
		}
		size := int64(binary.LittleEndian.Uint32(packed))
		packed = packed[4:]
		if size > int64(len(packed)) {
			return fmt.Errorf("%d bytes in %d: is it truncated?", size, len(packed))
		}
		part, stream := to[s*each:][:each], packed[:size]
		packed = packed[size:]
		if len(stream) == each { // stored as it is
			copy(part, stream)
		} else if err := b.decode(b, part, stream); err != nil {
			return err
		}
	}
	switch {
	case shuffled:
		unshuffle(dst, to, b.element)
	case bits:
		unshuffleBits(dst, to, b.element)
	}
	return nil
}

var errDamaged = errors.New("the file is damaged")

func (b *blosc) lz4(dst, src []byte) error {
	switch n, err := lz4.UncompressBlock(src, dst); {
	case err != nil:
		return fmt.Errorf("LZ4: %w", err)
	case n != len(dst):
		return fmt.Errorf("LZ4: %d bytes: must be %d", n, len(dst))
	}
	return nil
}

func (b *blosc) zlib(dst, src []byte) error {
	r, err := zlib.NewReader(bytes.NewReader(src))
	if err != nil {
		return err
	}
	return filled(dst, r)
}

func (b *blosc) zstd(dst, src []byte) (err error) {
	if b.frames == nil {
		b.frames, err = tiff.NewZstandard(bytes.NewReader(src))
	} else {
		err = b.frames.Reset(bytes.NewReader(src))
	}
	if err != nil {
		return err
	}
	return filled(dst, b.frames)
}

// filled reads all of dst.
func filled(dst []byte, r io.Reader) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return fmt.Errorf("must have %d bytes: %w", len(dst), err)
	}
	return nil
}

// bloscLZ decompresses BloscLZ: runs of literals, of up to 32 bytes, and copies of what is 1 to 73727 bytes before.
// The first byte of either has the kind and the length in its upper three bits and, for a copy, the upper bits of the
// distance in the others.
func bloscLZ(dst, src []byte) error {
	const far = 8191 // distances from here on take two bytes more
	at, to := 0, 0
	next := func() int {
		if at >= len(src) {
			at++
			return 0
		}
		at++
		return int(src[at-1])
	}
	for first := next() & 31; at <= len(src); first = next() {
		if first < 32 {
			n := first + 1
			if n > len(src)-at || n > len(dst)-to {
				return errDamaged
			}
			copy(dst[to:], src[at:at+n])
			at, to = at+n, to+n
		} else {
			n, distance := first>>5+2, first&31<<8
			if n == 9 {
				more := 255
				for more == 255 {
					more = next()
					n += more
				}
			}
			low := next()
			if distance += low + 1; low == 255 && first&31 == 31 {
				distance = next() << 8
				distance += next() + far + 1
			}
			if at > len(src) || distance > to || n > len(dst)-to {
				return errDamaged
			}
			for i := range n {
				dst[to+i] = dst[to+i-distance]
			}
			to += n
		}
		if at == len(src) {
			break
		}
	}
	if to != len(dst) {
		return errDamaged
	}
	return nil
}

// unshuffle puts the bytes of elements together. Bytes after the last whole element are as they were.
func unshuffle(dst, src []byte, element int) {
	n := len(dst) / element
	for b := range element {
		for i, v := range src[b*n:][:n] {
			dst[i*element+b] = v
		}
	}
	copy(dst[n*element:], src[n*element:])
}

// unshuffleBits puts the bits of elements together, of which there must be a multiple of eight: others were not
// shuffled.
func unshuffleBits(dst, src []byte, element int) {
	n := len(dst) / element
	if n%8 != 0 {
		copy(dst, src)
		return
	}
	row := n / 8 // bytes that have a bit of every element
	for b := range element {
		for j := range row {
			var x uint64 // a square of bits: byte k has bit k of eight elements
			for k := range 8 {
				x |= uint64(src[(8*b+k)*row+j]) << (8 * k)
			}
			for _, swap := range []struct {
				by   int
				mask uint64
				// squares of 1, 2 and 4 bits beside the diagonal
			}{{7, 0x00aa00aa00aa00aa}, {14, 0x0000cccc0000cccc}, {28, 0x00000000f0f0f0f0}} {
				t := (x ^ x>>swap.by) & swap.mask
				x ^= t ^ t<<swap.by
			}
			for i := range 8 {
				dst[(8*j+i)*element+b] = byte(x >> (8 * i))
			}
		}
	}
	copy(dst[n*element:], src[n*element:])
}
