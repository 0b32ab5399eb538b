package tiff

import (
	"fmt"
	"math"
)

// Values of TIFF's tags.
const (
	compressionNone       = 1
	compressionGroup3     = 3
	compressionGroup4     = 4
	compressionLZW        = 5
	compressionDeflate    = 8
	compressionPackBits   = 32773
	compressionOldDeflate = 32946
	compressionZstandard  = 50000

	predictorNone       = 1
	predictorHorizontal = 2
	predictorFloat      = 3

	Unsigned = 1
	Signed   = 2
	Float    = 3

	planarChunky   = 1
	planarSeparate = 2
)

// maxRow bounds the bytes of a block's row, which is the unit of decoding.
const maxRow = 1 << 26

// compressionNames are of compressions that are not read.
var compressionNames = map[uint64]string{
	2: "CCITT modified Huffman", 6: "old JPEG", 7: "JPEG", 9: "JBIG", 10: "JBIG", 32766: "NeXT",
	32771: "CCITT modified Huffman in words",
	32809: "ThunderScan", 33003: "JPEG 2000", 33005: "JPEG 2000", 34661: "JBIG", 34676: "SGI logarithmic",
	34677: "SGI logarithmic",
	34712: "JPEG 2000", 34887: "LERC", 34892: "lossy JPEG", 34925: "LZMA", 50001: "WebP", 50002: "JPEG XL",
	52546: "JPEG XL",
}

// Page is how one page's numbers are stored: in blocks, which are strips or tiles, from
// left to right and top to bottom, for all samples of a pixel together or one after the
// other.
type Page struct {
	*Directory
	Width, Height           int
	Samples, Bits           int    // of a pixel; of each of them: 1, 2, 4, 8, 16, 32 or 64
	Format                  uint64 // Unsigned, Signed or Float
	compression, predictor  uint64
	lowBitsFirst            bool // in each byte
	separate                bool // samples in planes of their own
	tiled                   bool
	blockWidth, blockHeight int
}

// Layout validates the tags that say how the page is stored.
func (d *Directory) Layout() (*Page, error) {
	d.file.read += d.size
	p := &Page{Directory: d}
	for _, read := range []func() error{p.readSides, p.readSamples, p.readCoding, p.readBlocks} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// side reads a tag that counts pixels.
func (p *Page) side(tag uint16) (int, error) {
	v, err := p.Number(tag, 0)
	if err == nil && (v < 1 || v > math.MaxInt32) {
		err = p.Fault(tag, "%d: must be 1 to %d", v, math.MaxInt32)
	}
	return int(v), err
}

func (p *Page) readSides() (err error) {
	if p.Width, err = p.side(tagWidth); err != nil {
		return err
	}
	p.Height, err = p.side(tagLength)
	return err
}

func (p *Page) readSamples() error {
	samples, err := p.Number(tagSamples, 1)
	if err != nil {
		return err
	}
	if samples < 1 || samples > 1<<10 {
		return p.Fault(tagSamples, "%d: must be 1 to %d", samples, 1<<10)
	}
	p.Samples = int(samples)
	bits, err := p.same(tagBits, 1)
	if err != nil {
		return err
	}
	if p.Format, err = p.same(tagSampleFormat, Unsigned); err != nil {
		return err
	}
	p.Bits = int(min(bits, 1<<10))
	switch {
	case p.Format == Float && (bits == 32 || bits == 64):
	case (p.Format == Unsigned || p.Format == Signed) && (bits == 8 || bits == 16 || bits == 32):
	case p.Format == Unsigned && (bits == 1 || bits == 2 || bits == 4):
	case p.Format > Float:
		return p.unread(tagSampleFormat, "1 (unsigned), 2 (signed) or 3 (floating point)", "%d", p.Format)
	case p.Format == Float:
		return p.unread(tagBits, "32 or 64 for floating point", "%d", bits)
	default:
		return p.unread(tagBits, "1, 2, 4, 8, 16 or 32 for integers", "%d", bits)
	}
	planar, err := p.Number(tagPlanar, planarChunky)
	if err == nil && planar != planarChunky && planar != planarSeparate {
		err = p.unread(tagPlanar, "1 or 2", "%d", planar)
	}
	p.separate = planar == planarSeparate && p.Samples > 1
	return err
}

// same reads a tag that has a value for every sample, all of which must be equal.
func (p *Page) same(tag uint16, missing uint64) (uint64, error) {
	values, err := p.Numbers(tag)
	if err != nil || len(values) == 0 {
		return missing, err
	}
	for _, v := range values {
		if v != values[0] {
			return 0, p.unread(tag, "equal", "samples of %d and %d", values[0], v)
		}
	}
	return values[0], nil
}

func (p *Page) readCoding() (err error) {
	if p.compression, err = p.Number(tagCompression, compressionNone); err != nil {
		return err
	}
	switch p.compression {
	case compressionNone, compressionGroup3, compressionGroup4, compressionLZW, compressionDeflate,
		compressionOldDeflate, compressionPackBits, compressionZstandard:
	default:
		name := ""
		if n := compressionNames[p.compression]; n != "" {
			name = " (" + n + ")"
		}
		return p.unread(tagCompression, "none, LZW, Deflate, Zstandard, PackBits or CCITT Group 3 or 4", "%d%s",
			p.compression, name)
	}
	if err := p.readFax(); err != nil {
		return err
	}
	order, err := p.Number(tagFillOrder, 1)
	if err == nil && (order < 1 || order > 2) {
		err = p.unread(tagFillOrder, "1 or 2", "%d", order)
	}
	if err != nil {
		return err
	}
	p.lowBitsFirst = order == 2
	if p.predictor, err = p.Number(tagPredictor, predictorNone); err != nil {
		return err
	}
	switch {
	case p.compression == compressionNone || p.compression == compressionPackBits || p.fax():
		p.predictor = predictorNone // has no meaning there, as in libtiff
	case p.predictor < predictorNone || p.predictor > predictorFloat:
		return p.unread(tagPredictor, "1 to 3", "%d", p.predictor)
	case p.predictor == predictorFloat && p.Format != Float:
		return p.unread(tagPredictor, "1 or 2", "3 for integers")
	case p.predictor == predictorHorizontal && p.Bits == 64:
		return p.unread(tagPredictor, "1 or 3", "2 for numbers of 64 bits")
	case p.predictor == predictorHorizontal && p.Bits < 8:
		return p.unread(tagPredictor, "1", "2 for numbers of %d bits", p.Bits)
	}
	return nil
}

// fax reports whether the page is compressed by CCITT's Group 3 or 4, of ITU-T T.4 and T.6.
func (p *Page) fax() bool {
	return p.compression == compressionGroup3 || p.compression == compressionGroup4
}

// readFax refuses what golang.org/x/image/ccitt does not decode: lines that are coded in relation to another or end
// at a byte in Group 3, uncompressed stretches, and more than a bit a pixel.
func (p *Page) readFax() error {
	tag, harmless := uint16(tagT4Options), uint64(0)
	if p.compression == compressionGroup4 {
		tag, harmless = tagT6Options, 1|4
	}
	options, err := p.Number(tag, 0)
	switch {
	case !p.fax() || err != nil:
		return err
	case p.Bits != 1 || p.Samples != 1:
		return p.unread(tagCompression, "another", "%d for %d samples of %d bits", p.compression, p.Samples, p.Bits)
	case options&^harmless != 0:
		return p.unread(tag, "0", "%d", options)
	}
	return nil
}

func (p *Page) readBlocks() (err error) {
	widthTag := uint16(tagWidth)
	if _, p.tiled = p.fields[tagTileWidth]; p.tiled {
		widthTag = tagTileWidth
		if p.blockWidth, err = p.side(tagTileWidth); err != nil {
			return err
		}
		if p.blockHeight, err = p.side(tagTileLength); err != nil {
			return err
		}
	} else {
		rows, err := p.Number(tagRowsPerStrip, uint64(p.Height))
		if err == nil && rows < 1 {
			err = p.Fault(tagRowsPerStrip, "0: must be positive")
		}
		if err != nil {
			return err
		}
		p.blockWidth, p.blockHeight = p.Width, int(min(rows, uint64(p.Height)))
	}
	if p.blockWidth > maxRow*8/p.pixelBits() {
		return p.Fault(widthTag, "rows of %d pixels with %d bits each: must have %d bytes at most", p.blockWidth,
			p.pixelBits(), maxRow)
	}
	return nil
}

// together is the number of samples that are stored side by side.
func (p *Page) together() int {
	if p.separate {
		return 1
	}
	return p.Samples
}

// pixelBits is the size of the samples that are stored side by side, and rowBytes that of a block's row.
func (p *Page) pixelBits() int { return p.together() * p.Bits }
func (p *Page) rowBytes() int  { return (p.blockWidth*p.pixelBits() + 7) / 8 }

// Room is the number of samples that a file of this length can hold.
func (p *Page) Room() int64 { return p.file.size * MostExpansion * 8 / int64(p.Bits) }

// across and down are the numbers of blocks along a page's sides.
func (p *Page) across() int { return (p.Width + p.blockWidth - 1) / p.blockWidth }
func (p *Page) down() int   { return (p.Height + p.blockHeight - 1) / p.blockHeight }

// blocks returns where the page's blocks are, and their lengths.
func (p *Page) blocks() (offsets, counts []uint64, err error) {
	offsetTag, countTag := uint16(tagStripOffsets), uint16(tagStripCounts)
	if p.tiled {
		offsetTag, countTag = tagTileOffsets, tagTileCounts
	}
	if offsets, err = p.Numbers(offsetTag); err != nil {
		return nil, nil, err
	}
	if counts, err = p.Numbers(countTag); err != nil {
		return nil, nil, err
	}
	want := p.across() * p.down() // each below 2^31
	if p.separate {
		want *= p.Samples
	}
	if len(offsets) != want {
		return nil, nil, p.Fault(offsetTag, "%d blocks: must be %d", len(offsets), want)
	}
	if len(counts) == 0 && p.compression == compressionNone { // as old writers leave them out
		counts = make([]uint64, want)
		for i := range counts {
			rows := p.blockHeight
			if top := i / p.across() % p.down() * p.blockHeight; !p.tiled {
				rows = min(rows, p.Height-top)
			}
			counts[i] = uint64(rows) * uint64(p.rowBytes())
		}
	}
	if len(counts) == 0 {
		return nil, nil, p.unread(countTag, "given", "none")
	}
	if len(counts) != want {
		return nil, nil, p.Fault(countTag, "%d blocks: must be %d", len(counts), want)
	}
	return offsets, counts, nil
}

// Whole returns an error if the page's data reach beyond the end of the file.
func (p *Page) Whole() error {
	offsets, counts, err := p.blocks()
	if err != nil {
		return err
	}
	for i, at := range offsets {
		if size := uint64(p.file.size); at > size || counts[i] > size-at {
			return fmt.Errorf("page %d is not whole: is the file truncated?", p.page)
		}
	}
	return nil
}

// Kind names the type of the page's numbers as NumPy does.
func (p *Page) Kind() string {
	return fmt.Sprintf("%s%d", [...]string{Unsigned: "uint", Signed: "int", Float: "float"}[p.Format], p.Bits)
}

// Matches returns an error if another page of a stack differs from the first one.
func (p *Page) Matches(first *Page) error {
	if p.Width == first.Width && p.Height == first.Height && p.Samples == first.Samples && p.Bits == first.Bits &&
		p.Format == first.Format {
		return nil
	}
	return fmt.Errorf("page %d has %dx%d pixels of %d %s, page %d %dx%d of %d %s: pages of a stack must be alike",
		p.page, p.Height, p.Width, p.Samples, p.Kind(), first.page, first.Height, first.Width, first.Samples,
		first.Kind())
}
