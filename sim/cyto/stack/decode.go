package stack

import (
	"bufio"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/image/tiff/lzw"
)

// mostExpansion is more than any of the compressions shrinks: LZW's longest string has
// fewer bytes for 12 bits, Deflate reaches 1032.
const mostExpansion = 4096

// decoder decodes pages into float32, row by row.
type decoder struct {
	file   *tiff
	packed *bufio.Reader
	zlib   io.ReadCloser
	row    []byte
	spare  []byte // of a row whose bytes are put into another order
}

// decode writes the samples of a page to dst, one plane each; those whose plane is nil are
// skipped. If ctx ends, its error is returned.
func (d *decoder) decode(ctx context.Context, p *page, dst [][]float32) error {
	offsets, counts, err := p.blocks()
	if err != nil {
		return err
	}
	planes := 1
	if p.separate {
		planes = p.samples
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
			if err := d.block(p, offsets[at], counts[at], i%across, i/across, wanted); err != nil {
				if ended := ctx.Err(); ended != nil {
					return ended
				}
				return fmt.Errorf("page %d, %s %d: %w", p.page, p.blockName(), at+1, err)
			}
		}
	}
	return nil
}

func (p *page) blockName() string {
	if p.tiled {
		return "tile"
	}
	return "strip"
}

// block decodes a strip or tile, column x and row y of the page's blocks.
func (d *decoder) block(p *page, at, count uint64, x, y int, dst [][]float32) error {
	size := uint64(d.file.size)
	if at > size || count > size-at {
		return fmt.Errorf("%d bytes at %d are outside the file of %d bytes: is it truncated?", count, at, size)
	}
	top, left := y*p.blockHeight, x*p.blockWidth
	rows, columns := min(p.blockHeight, p.height-top), min(p.blockWidth, p.width-left)
	rowBytes := p.blockWidth * p.pixelBytes()
	if uint64(cap(d.row)) < uint64(rowBytes) {
		d.row, d.spare = make([]byte, rowBytes), make([]byte, rowBytes)
	}
	row := d.row[:rowBytes]
	if p.compression == compressionNone {
		count = min(count, uint64(rows)*uint64(rowBytes))
	}
	d.file.read += int64(count)
	source, err := d.unpacked(p.compression, io.NewSectionReader(d.file.r, int64(at), int64(count)))
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
		for s, plane := range dst {
			if plane != nil {
				convert(plane[(top+r)*p.width+left:][:columns], row[s*p.bits/8:], p.pixelBytes(), p.format, p.bits, d.file.order)
			}
		}
	}
	return nil
}

// unpacked returns a reader of a block's decompressed bytes.
func (d *decoder) unpacked(compression uint64, r io.Reader) (io.Reader, error) {
	if d.packed == nil {
		d.packed = bufio.NewReaderSize(r, 1<<16)
	} else {
		d.packed.Reset(r)
	}
	switch compression {
	case compressionLZW:
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
	}
	return d.packed, nil
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

// undo reverses a row's predictor.
func (d *decoder) undo(p *page, row []byte) {
	order, n := d.file.order, p.together()
	switch {
	case p.predictor == predictorFloat:
		for i := n; i < len(row); i++ {
			row[i] += row[i-n]
		}
		d.gather(row, p.bits/8)
	case p.predictor != predictorHorizontal:
	case p.bits == 8:
		for i := n; i < len(row); i++ {
			row[i] += row[i-n]
		}
	case p.bits == 16:
		for i := 2 * n; i < len(row); i += 2 {
			order.PutUint16(row[i:], order.Uint16(row[i:])+order.Uint16(row[i-2*n:]))
		}
	default:
		for i := 4 * n; i < len(row); i += 4 {
			order.PutUint32(row[i:], order.Uint32(row[i:])+order.Uint32(row[i-4*n:]))
		}
	}
}

// gather puts the bytes of a row of floating point numbers together again. The predictor
// keeps all first bytes, the most significant ones, before all second ones (Adobe
// Photoshop TIFF Technical Note 3).
func (d *decoder) gather(row []byte, size int) {
	n := len(row) / size
	spare := d.spare[:len(row)]
	copy(spare, row)
	big := d.file.order == binary.ByteOrder(binary.BigEndian)
	for i := range n {
		for b := range size {
			to := i*size + size - 1 - b
			if big {
				to = i*size + b
			}
			row[to] = spare[b*n+i]
		}
	}
}

// convert converts numbers that are step bytes apart.
func convert(dst []float32, from []byte, step int, format uint64, bits int, order binary.ByteOrder) {
	switch {
	case format == formatFloat && bits == 64:
		for i := range dst {
			dst[i] = float32(math.Float64frombits(order.Uint64(from[i*step:])))
		}
	case format == formatFloat:
		for i := range dst {
			dst[i] = math.Float32frombits(order.Uint32(from[i*step:]))
		}
	case format == formatSigned && bits == 8:
		for i := range dst {
			dst[i] = float32(int8(from[i*step]))
		}
	case format == formatSigned && bits == 16:
		for i := range dst {
			dst[i] = float32(int16(order.Uint16(from[i*step:])))
		}
	case format == formatSigned:
		for i := range dst {
			dst[i] = float32(int32(order.Uint32(from[i*step:])))
		}
	case bits == 8:
		for i := range dst {
			dst[i] = float32(from[i*step])
		}
	case bits == 16:
		for i := range dst {
			dst[i] = float32(order.Uint16(from[i*step:]))
		}
	default:
		for i := range dst {
			dst[i] = float32(order.Uint32(from[i*step:]))
		}
	}
}
