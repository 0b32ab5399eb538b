package tiff

import (
	"bufio"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"
)

// MostExpansion is as much as any of the compressions shrinks: Zstandard has blocks of
// 128 KiB in 4 bytes, LZW's longest string has 4096 bytes for 12 bits, Deflate reaches 1032.
const MostExpansion = 1 << 15

// mostZstandard bounds the memory of Zstandard's window, in bytes.
const mostZstandard = 1 << 26

// little is the order in which rows are decoded. Its methods are inlined, those of a file's
// order are not.
var little = binary.LittleEndian

// decoder is what decoding a file's pages takes, used again for each block.
type decoder struct {
	packed *bufio.Reader
	zlib   io.ReadCloser
	zstd   *zstd.Decoder
	row    []byte
	spare  []byte // of a row whose bytes are put into another order, or whose samples get a byte each
}

// Decode writes the samples of a page to dst, one plane of Height rows each; those whose plane is nil are
// skipped. If ctx ends, its error is returned.
func (p *Page) Decode(ctx context.Context, dst [][]float32) error {
	offsets, counts, err := p.blocks()
	if err != nil {
		return err
	}
	planes := 1
	if p.separate {
		planes = p.Samples
	}
	across, down := p.across(), p.down()
	for plane := range planes {
		wanted := dst
		if p.separate {
			wanted = dst[plane : plane+1]
			if wanted[0] == nil {
				continue
			}
		}
		for i := range across * down {
			if err := ctx.Err(); err != nil {
				return err
			}
			at := plane*across*down + i
			if err := p.block(offsets[at], counts[at], i%across, i/across, wanted); err != nil {
				if ended := ctx.Err(); ended != nil {
					return ended
				}
				return fmt.Errorf("page %d, %s %d: %w", p.page, p.blockName(), at+1, err)
			}
		}
	}
	return nil
}

func (p *Page) blockName() string {
	if p.tiled {
		return "tile"
	}
	return "strip"
}

// block decodes a strip or tile, column x and row y of the page's blocks.
func (p *Page) block(at, count uint64, x, y int, dst [][]float32) error {
	size, d := uint64(p.file.size), &p.file.decoder
	if at > size || count > size-at {
		return fmt.Errorf("%d bytes at %d are outside the file of %d bytes: is it truncated?", count, at, size)
	}
	top, left := y*p.blockHeight, x*p.blockWidth
	rows, columns := min(p.blockHeight, p.Height-top), min(p.blockWidth, p.Width-left)
	rowBytes := p.rowBytes()
	if cap(d.row) < rowBytes {
		d.row = make([]byte, rowBytes)
	}
	if n := max(rowBytes, p.blockWidth*p.together()); cap(d.spare) < n {
		d.spare = make([]byte, n)
	}
	row := d.row[:rowBytes]
	if p.compression == compressionNone {
		count = min(count, uint64(rows)*uint64(rowBytes))
	}
	p.file.read += int64(count)
	source, err := d.unpacked(p, rows, io.NewSectionReader(p.file.r, int64(at), int64(count)))
	if err != nil {
		return err
	}
	for r := range rows {
		if _, err := io.ReadFull(source, row); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return fmt.Errorf("ends after %d of %d rows: the file is damaged", r, rows)
			}
			return err
		}
		d.undo(p, row)
		samples, width := row, p.Bits
		if width < 8 {
			samples, width = d.spread(row, p.blockWidth*p.together(), p.Bits), 8
		}
		for s, plane := range dst {
			if plane != nil {
				convert(plane[(top+r)*p.Width+left:][:columns], samples[s*width/8:], p.together()*width/8, p.Format,
					width)
			}
		}
	}
	return nil
}

// unpacked returns a reader of the decompressed bytes of a block of rows.
func (d *decoder) unpacked(p *Page, rows int, r io.Reader) (io.Reader, error) {
	if p.lowBitsFirst {
		r = turned{r}
	}
	if d.packed == nil {
		d.packed = bufio.NewReaderSize(r, 1<<16)
	} else {
		d.packed.Reset(r)
	}
	switch p.compression {
	case compressionGroup3: // a one is black, which the page's photometric interpretation turns as it does other bits
		return ccitt.NewReader(d.packed, ccitt.MSB, ccitt.Group3, p.blockWidth, rows, &ccitt.Options{Invert: true}), nil
	case compressionGroup4:
		return ccitt.NewReader(d.packed, ccitt.MSB, ccitt.Group4, p.blockWidth, rows, &ccitt.Options{Invert: true}), nil
	case compressionLZW:
		if start, _ := d.packed.Peek(2); len(start) == 2 && start[0] == 0 && start[1]&1 == 1 {
			return nil, p.unread(tagCompression, "LZW as of TIFF 6.0", "%d (LZW with the low bits first)",
				p.compression)
		}
		return lzw.NewReader(d.packed, lzw.MSB, 8), nil
	case compressionPackBits:
		return &packBits{source: d.packed}, nil
	case compressionDeflate, compressionOldDeflate:
		if d.zlib == nil {
			z, err := zlib.NewReader(d.packed)
			d.zlib = z
			return z, err
		}
		return d.zlib, d.zlib.(zlib.Resetter).Reset(d.packed, nil)
	case compressionZstandard:
		if d.zstd == nil {
			z, err := NewZstandard(d.packed)
			d.zstd = z
			return z, err
		}
		return d.zstd, d.zstd.Reset(d.packed)
	}
	return d.packed, nil
}

// NewZstandard returns a decompressor that works on its caller's goroutine, in bounded memory.
func NewZstandard(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(mostZstandard))
}

// turned reads bytes whose lowest bit comes first (FillOrder 2).
type turned struct{ io.Reader }

// Read reads bytes with the highest bit first.
func (t turned) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	for i, b := range p[:n] {
		p[i] = bits.Reverse8(b)
	}
	return n, err
}

// packBits reads runs of bytes (TIFF 6.0, section 9).
type packBits struct {
	source *bufio.Reader
	left   int  // bytes of the run
	repeat bool // of one byte
	value  byte
}

// Read reads decompressed bytes.
func (b *packBits) Read(p []byte) (int, error) {
	for b.left == 0 {
		head, err := b.source.ReadByte()
		if err != nil {
			return 0, err
		}
		switch n := int(int8(head)); {
		case n >= 0:
			b.left, b.repeat = n+1, false
		case n != -128: // which stands for nothing
			b.left, b.repeat = 1-n, true
			if b.value, err = b.source.ReadByte(); err != nil {
				return 0, err
			}
		}
	}
	n := min(b.left, len(p))
	if !b.repeat {
		n, err := b.source.Read(p[:n])
		b.left -= n
		return n, err
	}
	for i := range p[:n] {
		p[i] = b.value
	}
	b.left -= n
	return n, nil
}

// undo puts a row's numbers into little-endian order and reverses its predictor.
func (d *decoder) undo(p *Page, row []byte) {
	n, size := p.together(), p.Bits/8
	if p.predictor == predictorFloat {
		for i := n; i < len(row); i++ {
			row[i] += row[i-n]
		}
		d.gather(row, size)
		return
	}
	if p.file.order == binary.ByteOrder(binary.BigEndian) {
		swap(row, size)
	}
	switch {
	case p.predictor != predictorHorizontal:
	case p.Bits == 8:
		for i := n; i < len(row); i++ {
			row[i] += row[i-n]
		}
	case p.Bits == 16:
		for i := 2 * n; i < len(row); i += 2 {
			little.PutUint16(row[i:], little.Uint16(row[i:])+little.Uint16(row[i-2*n:]))
		}
	default:
		for i := 4 * n; i < len(row); i += 4 {
			little.PutUint32(row[i:], little.Uint32(row[i:])+little.Uint32(row[i-4*n:]))
		}
	}
}

// swap changes the order of the bytes of numbers.
func swap(row []byte, size int) {
	switch size {
	case 2:
		for i := 0; i < len(row); i += 2 {
			little.PutUint16(row[i:], bits.ReverseBytes16(little.Uint16(row[i:])))
		}
	case 4:
		for i := 0; i < len(row); i += 4 {
			little.PutUint32(row[i:], bits.ReverseBytes32(little.Uint32(row[i:])))
		}
	case 8:
		for i := 0; i < len(row); i += 8 {
			little.PutUint64(row[i:], bits.ReverseBytes64(little.Uint64(row[i:])))
		}
	}
}

// gather puts the bytes of a row of floating point numbers together again. Whatever the
// order of the file, the predictor keeps all first bytes, the most significant ones,
// before all second ones (Adobe Photoshop TIFF Technical Note 3).
func (d *decoder) gather(row []byte, size int) {
	n := len(row) / size
	spare := d.spare[:len(row)]
	copy(spare, row)
	for b := range size {
		for i, v := range spare[b*n:][:n] {
			row[i*size+size-1-b] = v
		}
	}
}

// spread gives each of a row's samples of less than 8 bits a byte of its own; the highest bits of a byte come first.
func (d *decoder) spread(row []byte, samples, width int) []byte {
	spare := d.spare[:samples]
	for i := range spare {
		at := i * width
		spare[i] = row[at/8] >> (8 - width - at%8) & (1<<width - 1)
	}
	return spare
}

// convert converts numbers in little-endian order that are step bytes apart.
func convert(dst []float32, from []byte, step int, format uint64, width int) {
	switch {
	case format == Float && width == 64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(little.Uint64(from[i*step:])))
		}
	case format == Float:
		for i := range dst {
			dst[i] = math.Float32frombits(little.Uint32(from[i*step:]))
		}
	case format == Signed && width == 8:
		for i := range dst {
			dst[i] = float32(int8(from[i*step]))
		}
	case format == Signed && width == 16:
		for i := range dst {
			dst[i] = float32(int16(little.Uint16(from[i*step:])))
		}
	case format == Signed:
		for i := range dst {
			dst[i] = float32(int32(little.Uint32(from[i*step:])))
		}
	case width == 8:
		for i := range dst {
			dst[i] = float32(from[i*step])
		}
	case width == 16:
		for i := range dst {
			dst[i] = float32(little.Uint16(from[i*step:]))
		}
	default:
		for i := range dst {
			dst[i] = float32(little.Uint32(from[i*step:]))
		}
	}
}
