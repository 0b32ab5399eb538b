package stack

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/sim/npy"
	"prismtop/sim/tiff"
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
		write = func(w io.Writer) error { return p.writeTIFF(w, p.omeXML(), p.planesByZ()) }
	case strings.HasSuffix(lower, ".tif"), strings.HasSuffix(lower, ".tiff"):
		write = func(w io.Writer) error { return p.writeTIFF(w, p.imageJ(), p.planesByChannel()) }
	case strings.HasSuffix(lower, ".npy"):
		write = func(w io.Writer) error { return npy.Write(w, p.Sides[:], p.Values) }
	default:
		return fmt.Errorf("%s: must end in %s", path, Endings)
	}
	return atomicfile.WriteFrom(path, 0o666, func(w io.Writer) error { return write(writer{ctx, w}) })
}

func (p Pixels[T]) writeTIFF(w io.Writer, description string, planes [][]T) error {
	return tiff.Write(w, tiff.Pages[T]{Width: p.Sides[3], Height: p.Sides[2], Description: description,
		PixelWidth: p.Voxel[2], PixelHeight: p.Voxel[1], Planes: planes})
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

// name returns a channel's name.
func (p Pixels[T]) name(c int) string {
	if c < len(p.Channels) {
		return p.Channels[c]
	}
	return ""
}

// Mark is what the description of a file says of the program that wrote it.
const Mark = `Creator="prismtop"`

// omeXML describes the file in the schema of 2016-06.
func (p Pixels[T]) omeXML() string {
	var b bytes.Buffer
	kind := "uint8"
	if _, ok := any(p.Values).([]float32); ok {
		kind = "float"
	}
	b.WriteString(xml.Header)
	b.WriteString(`<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` +
		`xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd" ` + Mark + `>`)
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
	text := fmt.Sprintf("ImageJ=1.53t\nimages=%d\nchannels=%d\nslices=%d\nhyperstack=true\nmode=grayscale\n",
		p.Sides[0]*p.Sides[1], p.Sides[0], p.Sides[1])
	if p.Voxel[0] > 0 && tiff.Resolutions(p.Voxel[2], p.Voxel[1]) != nil {
		text += fmt.Sprintf("unit=micron\nspacing=%g\n", p.Voxel[0])
	}
	return text
}
