package picture

import (
	"fmt"
	"image"
	"io"
	"slices"
	"strings"
)

// Tags of TIFF 6.0.
const (
	tagImageWidth, tagImageLength      = 256, 257
	tagBitsPerSample                   = 258
	tagCompression                     = 259
	tagPhotometric                     = 262
	tagFillOrder                       = 266
	tagStripOffsets                    = 273
	tagSamplesPerPixel                 = 277
	tagStripByteCounts                 = 279
	tagPlanarConfiguration             = 284
	tagT4Options, tagT6Options         = 292, 293
	tagPredictor                       = 317
	tagColorMap                        = 320
	tagTileWidth, tagTileLength        = 322, 323
	tagTileOffsets, tagTileByteCounts  = 324, 325
	tagExtraSamples, tagSampleFormat   = 338, 339
	tagDNGVersion                      = 50706
	whiteIsZero, blackIsZero           = 0, 1
	photometricRGB, photometricPalette = 2, 3
	fax3, fax4, tiffLZW                = 3, 4, 5
)

// Compressions that golang.org/x/image/tiff decodes, and names of others.
var (
	tiffCompressions = map[uint32]string{
		1: "none", fax3: "CCITT Group 3", fax4: "CCITT Group 4", tiffLZW: "LZW", 8: "Deflate", 32773: "PackBits", 32946: "Deflate",
	}
	otherCompressions = map[uint32]string{
		2: "CCITT modified Huffman", 6: "old JPEG", 7: "JPEG", 9: "JBIG", 10: "JBIG", 32766: "NeXT", 32771: "CCITT modified Huffman in words",
		32809: "ThunderScan", 33003: "JPEG 2000", 33005: "JPEG 2000", 34661: "JBIG", 34676: "SGI logarithmic", 34677: "SGI logarithmic",
		34712: "JPEG 2000", 34887: "LERC", 34892: "lossy JPEG", 34925: "LZMA", 50000: "Zstandard", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL",
	}
	otherPhotometrics = map[uint32]string{
		4: "transparency mask", 5: "CMYK", 6: "YCbCr", 8: "CIE L*a*b*", 9: "ICC L*a*b*", 10: "ITU L*a*b*",
		32803: "colour filter array", 32844: "logarithmic luminance", 32845: "logarithmic luminance and chroma", 34892: "linear raw",
	}
	sampleFormats = map[uint32]string{2: "signed integers", 3: "floating point", 4: "undefined", 5: "complex integers", 6: "complex numbers"}
)

// inspectTIFF rejects variants that golang.org/x/image/tiff does not decode, or
// decodes while ignoring a tag that matters.
func inspectTIFF(r *io.SectionReader) (inspection, error) {
	d, ok := readDirectory(r)
	if !ok {
		return inspection{}, nil // the decoder reports the damage
	}
	for _, look := range []func(*directory) string{
		unreadStructure, unreadCompression, unreadSamples, unreadColour, unreadFax, unreadPredictor,
	} {
		if fault := look(&d); fault != "" {
			return inspection{}, unsupported("TIFF", fault)
		}
	}
	in := inspection{orientation: d.orientation()}
	if d.more {
		in.notes = append(in.notes, "several pages: taking the first")
	}
	if c := d.number(tagCompression, 1); (c == fax3 || c == fax4) && d.number(tagPhotometric, 0) == blackIsZero {
		in.correct = inverted
	}
	return in, nil
}

// inverted corrects CCITT compressions where 0 is black: these code zeros and
// ones as white and black, whatever zero means, and the decoder takes white and
// black literally.
func inverted(img image.Image) image.Image {
	if grey, ok := img.(*image.Gray); ok {
		for i, v := range grey.Pix {
			grey.Pix[i] = 255 - v
		}
	}
	return img
}

func unreadStructure(d *directory) string {
	counts := uint16(tagStripByteCounts)
	if d.has(tagTileWidth) {
		counts = tagTileByteCounts
	}
	switch {
	case d.has(tagDNGVersion):
		return "a camera's raw data (DNG)"
	case !d.sorted:
		return "tags that are not in ascending order"
	case !d.has(tagPhotometric):
		return "no PhotometricInterpretation"
	case !d.has(counts):
		return "no StripByteCounts or TileByteCounts"
	}
	w, h := int64(d.number(tagTileWidth, 0)), int64(d.number(tagTileLength, 0))
	beyondW, beyondH := w-int64(d.number(tagImageWidth, 0)), h-int64(d.number(tagImageLength, 0))
	if max(w, h) > 1024 && max(beyondW, beyondH) > 16 {
		return fmt.Sprintf("tiles of %d x %d pixels, larger than the picture", w, h)
	}
	return ""
}

func unreadSamples(d *directory) string {
	bits := d.bits()
	for _, f := range d.numbers(tagSampleFormat) {
		if f != 1 {
			return named("sample format", f, sampleFormats)
		}
	}
	samples := d.number(tagSamplesPerPixel, 1)
	switch {
	case int(samples) != len(bits):
		return fmt.Sprintf("%d samples per pixel, but BitsPerSample %s", samples, joined(bits))
	case samples > 1 && d.number(tagPlanarConfiguration, 1) != 1:
		return fmt.Sprintf("planar configuration %d, samples in separate planes", d.number(tagPlanarConfiguration, 1))
	}
	least := uint32(8)
	if samples == 1 {
		least = 1
	}
	for _, b := range bits {
		if b != bits[0] || b != 1 && b != 8 && b != 16 || b < least {
			return "BitsPerSample " + joined(bits)
		}
	}
	return ""
}

// bits are the depths of a pixel's samples.
func (d *directory) bits() []uint32 {
	if bits := d.numbers(tagBitsPerSample); len(bits) > 0 {
		return bits
	}
	return []uint32{1}
}

func unreadColour(d *directory) string {
	photometric, bits := d.number(tagPhotometric, 0), d.bits()
	extra := d.numbers(tagExtraSamples)
	alpha := len(extra) == 1 && (extra[0] == 1 || extra[0] == 2)
	switch photometric {
	case photometricRGB:
		if len(bits) == 3 || len(bits) == 4 && alpha {
			return ""
		}
		return fmt.Sprintf("RGB of %d samples per pixel, with ExtraSamples %s", len(bits), joined(extra))
	case whiteIsZero, blackIsZero, photometricPalette:
		switch {
		case len(bits) != 1:
			return fmt.Sprintf("grey or palette of %d samples per pixel, such as with alpha", len(bits))
		case photometric == photometricPalette && bits[0] == 16:
			return "a palette of 65536 colours"
		case photometric == photometricPalette && d.darkPalette():
			return "a palette of 8-bit values"
		}
		return ""
	}
	return named("PhotometricInterpretation", photometric, otherPhotometrics)
}

// darkPalette reports whether no colour of the palette has more than 8 bits of 16,
// as written by some programs: readers disagree on its meaning.
func (d *directory) darkPalette() bool {
	palette := d.values(tagColorMap, 3*256)
	return len(palette) > 0 && slices.Max(palette) > 0 && slices.Max(palette) < 256
}

func unreadCompression(d *directory) string {
	compression := d.number(tagCompression, 1)
	if tiffCompressions[compression] == "" {
		return named("compression", compression, otherCompressions)
	}
	if order := d.number(tagFillOrder, 1); order != 1 && compression != fax3 && compression != fax4 {
		return fmt.Sprintf("FillOrder %d with compression %d (%s)", order, compression, tiffCompressions[compression])
	}
	if compression == tiffLZW && d.oldLZW() {
		return "LZW with the low bits first, as before TIFF 6.0"
	}
	return ""
}

// oldLZW reports whether the data begin with the code that clears the table, low
// bits of each byte first.
func (d *directory) oldLZW() bool {
	offsets := d.numbers(tagStripOffsets)
	if d.has(tagTileOffsets) {
		offsets = d.numbers(tagTileOffsets)
	}
	var start [2]byte
	if len(offsets) == 0 {
		return false
	}
	n, _ := d.r.ReadAt(start[:], int64(offsets[0]))
	return n == 2 && start[0] == 0 && start[1]&1 == 1
}

func unreadFax(d *directory) string {
	compression := d.number(tagCompression, 1)
	if compression != fax3 && compression != fax4 {
		return ""
	}
	if photometric, bits := d.number(tagPhotometric, 0), d.bits(); photometric > blackIsZero || bits[0] != 1 {
		return fmt.Sprintf("%s of colour or more than 1 bit per sample", tiffCompressions[compression])
	}
	var kinds []string
	options := d.number(tagT4Options, 0)
	if compression == fax4 {
		options = d.number(tagT6Options, 0) &^ 5
	}
	for i, kind := range []string{"two-dimensional coding", "uncompressed mode", "lines that end at a byte"} {
		if options>>i&1 == 1 {
			kinds = append(kinds, kind)
		}
	}
	if options>>3 != 0 {
		kinds = append(kinds, fmt.Sprintf("options %#x", options))
	}
	if len(kinds) == 0 {
		return ""
	}
	return tiffCompressions[compression] + " with " + strings.Join(kinds, " and ")
}

func unreadPredictor(d *directory) string {
	predictor := d.number(tagPredictor, 1)
	compression := d.number(tagCompression, 1)
	switch {
	case predictor == 1:
		return ""
	case predictor != 2:
		return fmt.Sprintf("predictor %d", predictor)
	case compression != tiffLZW && compression != 8 && compression != 32946:
		return fmt.Sprintf("predictor %d with compression %d (%s)", predictor, compression, tiffCompressions[compression])
	case d.bits()[0] == 1:
		return "predictor 2 with 1 bit per sample"
	}
	return ""
}

// named returns a tag's value with its name, if it has one.
func named(tag string, value uint32, names map[uint32]string) string {
	if name := names[value]; name != "" {
		return fmt.Sprintf("%s %d (%s)", tag, value, name)
	}
	return fmt.Sprintf("%s %d", tag, value)
}

func joined(values []uint32) string {
	if len(values) == 0 {
		return "none"
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, ", ")
}
