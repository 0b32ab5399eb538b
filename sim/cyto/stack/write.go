package stack

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/sim/npy"
)

// Pixels are a volume to be written, [C, Z, Y, X]: bytes, or the numbers of a Volume.
type Pixels[T uint8 | float32] struct {
	Sides    [4]int
	Channels []string   // names, may be empty
	Voxel    [3]float64 // micrometres along Z, Y and X, 0 if unknown
	Note     string     // the image's description in OME-XML, which Note reads again
	Values   []T
}

// Endings lists what the names of written files may end in.
const Endings = ".ome.tif, .ome.tiff, .tif, .tiff or .npy"

// Write writes a volume, the whole file or none. The ending of path decides the format:
// OME-TIFF, TIFF with ImageJ's description, or NPY. The folder must exist. If ctx ends
// first, its error is returned.
func Write[T uint8 | float32](ctx context.Context, path string, p Pixels[T]) error {
	n := 1
	for _, side := range p.Sides {
		if side < 1 || n > math.MaxInt32/side {
			return fmt.Errorf("%s: sides of %v: must be positive, and %d voxels at most", path, p.Sides, math.MaxInt32)
		}
		n *= side
	}
	if n != len(p.Values) {
		return fmt.Errorf("%s: %d values for sides of %v", path, len(p.Values), p.Sides)
	}
	var write func(io.Writer) error
	switch lower := strings.ToLower(path); {
	case strings.HasSuffix(lower, ".ome.tif"), strings.HasSuffix(lower, ".ome.tiff"):
		write = func(w io.Writer) error { return writeTIFF(w, p, p.omeXML(), p.planesByZ()) }
	case strings.HasSuffix(lower, ".tif"), strings.HasSuffix(lower, ".tiff"):
		write = func(w io.Writer) error { return writeTIFF(w, p, p.imageJ(), p.planesByChannel()) }
	case strings.HasSuffix(lower, ".npy"):
		write = func(w io.Writer) error { return npy.Write(w, p.Sides[:], p.Values) }
	default:
		return fmt.Errorf("%s: must end in %s", path, Endings)
	}
	return atomicfile.WriteFrom(path, 0o666, func(w io.Writer) error { return write(writer{ctx, w}) })
}

// writer writes until its context ends.
type writer struct {
	ctx    context.Context
	target io.Writer
}

// Write writes, or returns the context's error.
func (w writer) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.target.Write(b)
}

// planesByZ and planesByChannel return the planes in the order of pages, which have Z or
// the channel as their fastest axis.
func (p Pixels[T]) planesByZ() [][]T {
	size := p.Sides[2] * p.Sides[3]
	planes := make([][]T, p.Sides[0]*p.Sides[1])
	for i := range planes {
		planes[i] = p.Values[i*size:][:size]
	}
	return planes
}

func (p Pixels[T]) planesByChannel() [][]T {
	byZ := p.planesByZ()
	planes := make([][]T, 0, len(byZ))
	for z := range p.Sides[1] {
		for c := range p.Sides[0] {
			planes = append(planes, byZ[c*p.Sides[1]+z])
		}
	}
	return planes
}

// bits and format are the tags of the type of numbers.
func (p Pixels[T]) bits() (bits, format uint32) {
	if _, ok := any(p.Values).([]float32); ok {
		return 32, formatFloat
	}
	return 8, formatUnsigned
}

// name returns a channel's name.
func (p Pixels[T]) name(c int) string {
	if c < len(p.Channels) {
		return p.Channels[c]
	}
	return ""
}

// omeXML describes the file in the schema of 2016-06.
func (p Pixels[T]) omeXML() string {
	var b bytes.Buffer
	kind := "uint8"
	if bits, _ := p.bits(); bits == 32 {
		kind = "float"
	}
	b.WriteString(xml.Header)
	b.WriteString(`<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` +
		`xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd" Creator="prismtop">`)
	b.WriteString(`<Image ID="Image:0">`)
	if p.Note != "" {
		b.WriteString("<Description>")
		_ = xml.EscapeText(&b, []byte(p.Note)) // a bytes.Buffer takes everything
		b.WriteString("</Description>")
	}
	fmt.Fprintf(&b, `<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="%s" BigEndian="false" SizeX="%d" SizeY="%d" SizeZ="%d" SizeC="%d" SizeT="1"`,
		kind, p.Sides[3], p.Sides[2], p.Sides[1], p.Sides[0])
	for i, axis := range "ZYX" {
		if v := p.Voxel[i]; v > 0 {
			fmt.Fprintf(&b, ` PhysicalSize%c="%g" PhysicalSize%cUnit="µm"`, axis, v, axis)
		}
	}
	b.WriteString(">")
	for c := range p.Sides[0] {
		fmt.Fprintf(&b, `<Channel ID="Channel:0:%d"`, c)
		if name := p.name(c); name != "" {
			b.WriteString(` Name="`)
			_ = xml.EscapeText(&b, []byte(name)) // a bytes.Buffer takes everything
			b.WriteString(`"`)
		}
		b.WriteString(` SamplesPerPixel="1"/>`)
	}
	fmt.Fprintf(&b, `<TiffData IFD="0" PlaneCount="%d"/></Pixels></Image></OME>`, p.Sides[0]*p.Sides[1])
	return b.String()
}

// imageJ describes the file as ImageJ does; a plane of one channel needs nothing. The
// resolutions of the page go with the unit.
func (p Pixels[T]) imageJ() string {
	if p.Sides[0]*p.Sides[1] == 1 {
		return ""
	}
	text := fmt.Sprintf("ImageJ=1.53t\nimages=%d\nchannels=%d\nslices=%d\nhyperstack=true\nmode=grayscale\n", p.Sides[0]*p.Sides[1], p.Sides[0], p.Sides[1])
	if p.Voxel[0] > 0 && p.resolutions() != nil {
		text += fmt.Sprintf("unit=micron\nspacing=%g\n", p.Voxel[0])
	}
	return text
}

// resolutions are the values of XResolution and YResolution, pixels per micrometre as
// fractions, nil if unknown.
func (p Pixels[T]) resolutions() []byte {
	var b []byte
	for _, v := range []float64{p.Voxel[2], p.Voxel[1]} {
		below := math.Round(v * 1e6)
		if !(below >= 1 && below <= math.MaxUint32) {
			return nil
		}
		b = binary.LittleEndian.AppendUint32(b, 1e6)
		b = binary.LittleEndian.AppendUint32(b, uint32(below))
	}
	return b
}

// entry is a tag of a page: a number, or the offset of values elsewhere.
type entry struct {
	tag, kind    uint16
	count, value uint32
}

// Field types of TIFF.
const (
	kindText  = 2
	kindShort = 3
	kindLong  = 4
)

// writeTIFF writes a classic TIFF file in little-endian order, uncompressed, a strip per
// page: the header, the description and resolutions of the first page, the directories,
// and the planes.
func writeTIFF[T uint8 | float32](w io.Writer, p Pixels[T], description string, planes [][]T) error {
	if description != "" {
		description += "\x00"
	}
	resolutions := p.resolutions()
	extra := append([]byte(description), resolutions...)
	if len(extra)%2 == 1 {
		extra = append(extra, 0) // directories begin at even offsets
	}
	bits, format := p.bits()
	planeBytes := int64(len(planes[0])) * int64(bits/8)
	entries := func(page int, data int64) []entry {
		height := uint32(p.Sides[2])
		list := []entry{{tagWidth, kindLong, 1, uint32(p.Sides[3])}, {tagLength, kindLong, 1, height}, {tagBits, kindShort, 1, bits},
			{tagCompression, kindShort, 1, compressionNone}, {tagPhotometric, kindShort, 1, 1}}
		if page == 0 && description != "" {
			list = append(list, entry{tagDescription, kindText, uint32(len(description)), 8})
		}
		list = append(list, entry{tagStripOffsets, kindLong, 1, uint32(data)}, entry{tagSamples, kindShort, 1, 1},
			entry{tagRowsPerStrip, kindLong, 1, height}, entry{tagStripCounts, kindLong, 1, uint32(planeBytes)})
		if page == 0 && resolutions != nil {
			at := 8 + uint32(len(description))
			list = append(list, entry{tagXResolution, kindRational, 1, at}, entry{tagYResolution, kindRational, 1, at + 8}, entry{tagResolutionUnit, kindShort, 1, 1})
		}
		return append(list, entry{tagSampleFormat, kindShort, 1, format})
	}
	data := 8 + int64(len(extra))
	for i := range planes {
		data += directoryBytes(entries(i, 0))
	}
	if total := data + planeBytes*int64(len(planes)); total > math.MaxUint32 {
		return fmt.Errorf("%d bytes: must be %d at most in TIFF, write .npy instead", total, math.MaxUint32)
	}
	head := binary.LittleEndian.AppendUint32([]byte("II*\x00"), 8+uint32(len(extra)))
	head = append(head, extra...)
	for i := range planes {
		list := entries(i, data+int64(i)*planeBytes)
		next := uint32(int64(len(head)) + directoryBytes(list))
		if i == len(planes)-1 {
			next = 0
		}
		head = appendDirectory(head, list, next)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return writePlanes(w, planes)
}

// directoryBytes is the size of a directory.
func directoryBytes(list []entry) int64 { return 2 + 12*int64(len(list)) + 4 }

// appendDirectory appends a directory, and the offset of the next one.
func appendDirectory(head []byte, list []entry, next uint32) []byte {
	head = binary.LittleEndian.AppendUint16(head, uint16(len(list)))
	for _, e := range list {
		head = binary.LittleEndian.AppendUint16(head, e.tag)
		head = binary.LittleEndian.AppendUint16(head, e.kind)
		head = binary.LittleEndian.AppendUint32(head, e.count)
		head = binary.LittleEndian.AppendUint32(head, e.value)
	}
	return binary.LittleEndian.AppendUint32(head, next)
}

// writePlanes writes planes one after another in little-endian order.
func writePlanes[T uint8 | float32](w io.Writer, planes [][]T) error {
	var buffer []byte
	for _, plane := range planes {
		data := buffer[:0]
		switch plane := any(plane).(type) {
		case []uint8:
			data = plane
		case []float32:
			for _, v := range plane {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
			}
			buffer = data
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}
