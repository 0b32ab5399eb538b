package stack

import (
	"fmt"
	"math"
)

// Values of TIFF's tags.
const (
	compressionNone       = 1
	compressionLZW        = 5
	compressionDeflate    = 8
	compressionPackBits   = 32773
	compressionOldDeflate = 32946
	compressionZstandard  = 50000

	predictorNone       = 1
	predictorHorizontal = 2
	predictorFloat      = 3

	formatUnsigned = 1
	formatSigned   = 2
	formatFloat    = 3

	planarChunky   = 1
	planarSeparate = 2
)

// maxRow bounds the bytes of a block's row, which is the unit of decoding.
const maxRow = 1 << 26

// compressionNames are of compressions that are not read.
var compressionNames = map[uint64]string{
	2: "CCITT modified Huffman", 3: "CCITT Group 3", 4: "CCITT Group 4", 6: "old JPEG", 7: "JPEG", 33003: "JPEG 2000", 33005: "JPEG 2000",
	34712: "JPEG 2000", 34887: "LERC", 34925: "LZMA", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL",
}

// page is how one page's numbers are stored: in blocks, which are strips or tiles, from
// left to right and top to bottom, for all samples of a pixel together or one after the
// other.
type page struct {
	*directory
	width, height           int
	samples, bits           int
	format                  uint64
	compression, predictor  uint64
	separate                bool // samples in planes of their own
	tiled                   bool
	blockWidth, blockHeight int
}

// layout validates the tags of a page.
func (d *directory) layout() (*page, error) {
	p := &page{directory: d}
	for _, read := range []func() error{p.readSides, p.readSamples, p.readCoding, p.readBlocks} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// side reads a tag that counts pixels.
func (p *page) side(tag uint16, missing uint64) (int, error) {
	v, err := p.number(tag, missing)
	if err == nil && (v < 1 || v > math.MaxInt32) {
		err = p.fault(tag, "%d: must be 1 to %d", v, math.MaxInt32)
	}
	return int(v), err
}

func (p *page) readSides() (err error) {
	if p.width, err = p.side(tagWidth, 0); err != nil {
		return err
	}
	p.height, err = p.side(tagLength, 0)
	return err
}

func (p *page) readSamples() error {
	samples, err := p.number(tagSamples, 1)
	if err != nil {
		return err
	}
	if samples < 1 || samples > 1<<10 {
		return p.fault(tagSamples, "%d: must be 1 to %d", samples, 1<<10)
	}
	p.samples = int(samples)
	bits, err := p.same(tagBits, 1)
	if err != nil {
		return err
	}
	if p.format, err = p.same(tagSampleFormat, formatUnsigned); err != nil {
		return err
	}
	p.bits = int(min(bits, 1<<10))
	switch {
	case p.format == formatFloat && (bits == 32 || bits == 64):
	case (p.format == formatUnsigned || p.format == formatSigned) && (bits == 8 || bits == 16 || bits == 32):
	case p.format > formatFloat:
		return p.fault(tagSampleFormat, "%d: must be 1 (unsigned), 2 (signed) or 3 (floating point)", p.format)
	case p.format == formatFloat:
		return p.fault(tagBits, "%d: must be 32 or 64 for floating point", bits)
	default:
		return p.fault(tagBits, "%d: must be 8, 16 or 32 for integers", bits)
	}
	planar, err := p.number(tagPlanar, planarChunky)
	if err == nil && planar != planarChunky && planar != planarSeparate {
		err = p.fault(tagPlanar, "%d: must be 1 or 2", planar)
	}
	p.separate = planar == planarSeparate && p.samples > 1
	return err
}

// same reads a tag that has a value for every sample, all of which must be equal.
func (p *page) same(tag uint16, missing uint64) (uint64, error) {
	values, err := p.numbers(tag)
	if err != nil || len(values) == 0 {
		return missing, err
	}
	for _, v := range values {
		if v != values[0] {
			return 0, p.fault(tag, "samples of %d and %d: must be equal", values[0], v)
		}
	}
	return values[0], nil
}

func (p *page) readCoding() (err error) {
	if p.compression, err = p.number(tagCompression, compressionNone); err != nil {
		return err
	}
	switch p.compression {
	case compressionNone, compressionLZW, compressionDeflate, compressionOldDeflate, compressionPackBits, compressionZstandard:
	default:
		name := ""
		if n := compressionNames[p.compression]; n != "" {
			name = " (" + n + ")"
		}
		return p.fault(tagCompression, "%d%s: must be none, LZW, Deflate, Zstandard or PackBits", p.compression, name)
	}
	if order, err := p.number(tagFillOrder, 1); err != nil || order != 1 {
		if err == nil {
			err = p.fault(tagFillOrder, "%d: must be 1", order)
		}
		return err
	}
	if p.predictor, err = p.number(tagPredictor, predictorNone); err != nil {
		return err
	}
	switch {
	case p.compression == compressionNone || p.compression == compressionPackBits:
		p.predictor = predictorNone // has no meaning there, as in libtiff
	case p.predictor < predictorNone || p.predictor > predictorFloat:
		return p.fault(tagPredictor, "%d: must be 1 to 3", p.predictor)
	case p.predictor == predictorFloat && p.format != formatFloat:
		return p.fault(tagPredictor, "3 for integers: must be 1 or 2")
	case p.predictor == predictorHorizontal && p.bits == 64:
		return p.fault(tagPredictor, "2 for numbers of 64 bits: must be 1 or 3")
	}
	return nil
}

func (p *page) readBlocks() (err error) {
	widthTag := uint16(tagWidth)
	if _, p.tiled = p.fields[tagTileWidth]; p.tiled {
		widthTag = tagTileWidth
		if p.blockWidth, err = p.side(tagTileWidth, 0); err != nil {
			return err
		}
		if p.blockHeight, err = p.side(tagTileLength, 0); err != nil {
			return err
		}
	} else {
		rows, err := p.number(tagRowsPerStrip, uint64(p.height))
		if err == nil && rows < 1 {
			err = p.fault(tagRowsPerStrip, "0: must be positive")
		}
		if err != nil {
			return err
		}
		p.blockWidth, p.blockHeight = p.width, int(min(rows, uint64(p.height)))
	}
	if p.blockWidth > maxRow/p.pixelBytes() {
		return p.fault(widthTag, "rows of %d pixels with %d bytes each: must have %d bytes at most", p.blockWidth, p.pixelBytes(), maxRow)
	}
	return nil
}

// together is the number of samples that are stored side by side.
func (p *page) together() int {
	if p.separate {
		return 1
	}
	return p.samples
}

// pixelBytes is the size of the samples that are stored side by side.
func (p *page) pixelBytes() int { return p.together() * p.bits / 8 }

// across and down are the numbers of blocks along a page's sides.
func (p *page) across() int { return (p.width + p.blockWidth - 1) / p.blockWidth }
func (p *page) down() int   { return (p.height + p.blockHeight - 1) / p.blockHeight }

// blocks returns where the page's blocks are, and their lengths.
func (p *page) blocks() (offsets, counts []uint64, err error) {
	offsetTag, countTag := uint16(tagStripOffsets), uint16(tagStripCounts)
	if p.tiled {
		offsetTag, countTag = tagTileOffsets, tagTileCounts
	}
	if offsets, err = p.numbers(offsetTag); err != nil {
		return nil, nil, err
	}
	if counts, err = p.numbers(countTag); err != nil {
		return nil, nil, err
	}
	want := p.across() * p.down() // each below 2^31
	if p.separate {
		want *= p.samples
	}
	if len(offsets) != want {
		return nil, nil, p.fault(offsetTag, "%d blocks: must be %d", len(offsets), want)
	}
	if len(counts) == 0 && p.compression == compressionNone && want == 1 {
		return offsets, []uint64{uint64(p.width) * uint64(p.height) * uint64(p.pixelBytes())}, nil // as old writers leave it out
	}
	if len(counts) != want {
		return nil, nil, p.fault(countTag, "%d blocks: must be %d", len(counts), want)
	}
	return offsets, counts, nil
}

// kind names the type of the page's numbers as NumPy does.
func (p *page) kind() string {
	return fmt.Sprintf("%s%d", [...]string{formatUnsigned: "uint", formatSigned: "int", formatFloat: "float"}[p.format], p.bits)
}

// matches returns an error if another page of a stack differs from the first one.
func (p *page) matches(first *page) error {
	if p.width == first.width && p.height == first.height && p.samples == first.samples && p.bits == first.bits && p.format == first.format {
		return nil
	}
	return fmt.Errorf("page %d has %dx%d pixels of %d %s, page %d %dx%d of %d %s: pages of a stack must be alike",
		p.page, p.height, p.width, p.samples, p.kind(), first.page, first.height, first.width, first.samples, first.kind())
}
