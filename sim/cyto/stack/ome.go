package stack

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strings"

	"prismtop/sim/tiff"
)

// omeXML is the part of OME-XML (schema 2016-06 and before) that says where planes are.
type omeXML struct {
	XMLName    xml.Name
	UUID       string    `xml:"UUID,attr"`
	BinaryOnly *struct{} `xml:"BinaryOnly"`
	Images     []struct {
		Note   string     `xml:"Description"`
		Pixels *omePixels `xml:"Pixels"`
	} `xml:"Image"`
}

type omePixels struct {
	DimensionOrder string  `xml:"DimensionOrder,attr"`
	SizeX          int     `xml:"SizeX,attr"`
	SizeY          int     `xml:"SizeY,attr"`
	SizeZ          int     `xml:"SizeZ,attr"`
	SizeC          int     `xml:"SizeC,attr"`
	SizeT          int     `xml:"SizeT,attr"`
	VoxelX         float64 `xml:"PhysicalSizeX,attr"`
	VoxelY         float64 `xml:"PhysicalSizeY,attr"`
	VoxelZ         float64 `xml:"PhysicalSizeZ,attr"`
	UnitX          string  `xml:"PhysicalSizeXUnit,attr"`
	UnitY          string  `xml:"PhysicalSizeYUnit,attr"`
	UnitZ          string  `xml:"PhysicalSizeZUnit,attr"`
	Channels       []struct {
		Name string `xml:"Name,attr"`
	} `xml:"Channel"`
	Data []omeData `xml:"TiffData"`
}

// omeData places consecutive planes on consecutive pages of a file.
type omeData struct {
	IFD        *int `xml:"IFD,attr"`
	FirstZ     int  `xml:"FirstZ,attr"`
	FirstC     int  `xml:"FirstC,attr"`
	FirstT     int  `xml:"FirstT,attr"`
	PlaneCount *int `xml:"PlaneCount,attr"`
	UUID       *struct {
		FileName string `xml:"FileName,attr"`
		Value    string `xml:",chardata"`
	} `xml:"UUID"`
}

// micrometres are the units of OME-XML; others, such as pixels, give no size.
var micrometres = map[string]float64{"": 1, "µm": 1, "μm": 1, "um": 1, "nm": 1e-3, "mm": 1e3, "cm": 1e4, "m": 1e6,
	"Å": 1e-4, "pm": 1e-6}

// inMicrometres converts a length, 0 if it is not a positive one.
func inMicrometres(v float64, unit string) float64 {
	if v *= micrometres[unit]; v > 0 && !math.IsInf(v, 0) {
		return v
	}
	return 0
}

// Places of planes that are on no page of this file.
const (
	nowhere   = -1
	elsewhere = -2 // and lower: in one of the other files that are named
)

// arrangeOME reads where OME-XML says that planes are. Of several images, it is the first.
func arrangeOME(text, name string, first *tiff.Page) (*arrangement, error) {
	var doc omeXML
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	switch {
	case doc.XMLName.Local != "OME":
		return nil, fmt.Errorf("the root is %q: must be OME", doc.XMLName.Local)
	case len(doc.Images) == 0 && doc.BinaryOnly != nil:
		return nil, errors.New("BinaryOnly: the metadata are in another file of the set, open that one")
	case len(doc.Images) == 0 || doc.Images[0].Pixels == nil:
		return nil, errors.New("no Image with Pixels")
	}
	px := doc.Images[0].Pixels
	if px.SizeX != first.Width || px.SizeY != first.Height {
		return nil, fmt.Errorf("SizeX %d and SizeY %d: the page has %d and %d", px.SizeX, px.SizeY, first.Width,
			first.Height)
	}
	for _, n := range []int{px.SizeZ, px.SizeC, px.SizeT} {
		if n < 1 || n > tiff.MaxPages {
			return nil, fmt.Errorf("SizeZ %d, SizeC %d, SizeT %d: must be 1 to %d", px.SizeZ, px.SizeC, px.SizeT,
				tiff.MaxPages)
		}
	}
	if px.SizeC%first.Samples != 0 {
		return nil, fmt.Errorf("SizeC %d: pages with %d samples per pixel do not divide it", px.SizeC, first.Samples)
	}
	order, err := px.order()
	if err != nil {
		return nil, err
	}
	o := omePlanes{order: order, sizes: map[byte]int{'Z': px.SizeZ, 'C': px.SizeC / first.Samples, 'T': px.SizeT}}
	if o.sizes['Z']*o.sizes['C'] > tiff.MaxPages || o.sizes['Z']*o.sizes['C']*o.sizes['T'] > tiff.MaxPages {
		return nil, fmt.Errorf("%d planes: must be %d at most", o.sizes['Z']*o.sizes['C']*o.sizes['T'], tiff.MaxPages)
	}
	if err := o.place(px.Data, &doc, name); err != nil {
		return nil, err
	}
	a := &arrangement{extent: extent{channels: px.SizeC, planes: px.SizeZ, times: px.SizeT}}
	a.voxel = [3]float64{inMicrometres(px.VoxelZ, px.UnitZ), inMicrometres(px.VoxelY, px.UnitY),
		inMicrometres(px.VoxelX, px.UnitX)}
	a.names = make([]string, px.SizeC)
	for i, c := range px.Channels {
		if i*first.Samples < px.SizeC && len(px.Channels) <= px.SizeC/first.Samples {
			a.names[i*first.Samples] = c.Name
		}
	}
	a.page = func(channel, plane, time int) (int, int, error) {
		group := channel / first.Samples
		at := o.at[o.index(map[byte]int{'Z': plane, 'C': group, 'T': time})]
		switch {
		case at == nowhere:
			return 0, 0, fmt.Errorf("TiffData: no page for channel %d, plane %d, time %d", channel, plane, time)
		case at <= elsewhere:
			return 0, 0, fmt.Errorf("TiffData: channel %d, plane %d, time %d are in the file %s: only stacks in one "+
				"file are read", channel, plane, time, o.others[elsewhere-at])
		}
		return at, group * first.Samples, nil
	}
	return a, nil
}

// order returns the letters of the axes of planes, the fastest first.
func (px *omePixels) order() (string, error) {
	switch px.DimensionOrder {
	case "XYZCT", "XYZTC", "XYCTZ", "XYCZT", "XYTCZ", "XYTZC":
		return px.DimensionOrder[2:], nil
	}
	return "", fmt.Errorf("DimensionOrder %q: must be XY and then Z, C and T in any order", px.DimensionOrder)
}

// omePlanes are the pages of planes, in the order of the file's axes.
type omePlanes struct {
	order  string
	sizes  map[byte]int
	at     []int
	others []string // other files
}

// index returns a plane's place in the order.
func (o *omePlanes) index(place map[byte]int) int {
	index := 0
	for i := len(o.order) - 1; i >= 0; i-- {
		index = index*o.sizes[o.order[i]] + place[o.order[i]]
	}
	return index
}

// place fills in the pages. Without any TiffData, planes are on the pages in order.
func (o *omePlanes) place(data []omeData, doc *omeXML, name string) error {
	planes := o.sizes['Z'] * o.sizes['C'] * o.sizes['T']
	o.at = make([]int, planes)
	for i := range o.at {
		o.at[i] = nowhere
	}
	if len(data) == 0 {
		data = []omeData{{}}
	}
	alone, placed := oneFile(data), 0
	for _, d := range data {
		for what, v := range map[byte]int{'Z': d.FirstZ, 'C': d.FirstC, 'T': d.FirstT} {
			if v < 0 || v >= o.sizes[what] {
				return fmt.Errorf("TiffData: First%c %d: must be 0 to %d", what, v, o.sizes[what]-1)
			}
		}
		start, page, count := o.index(map[byte]int{'Z': d.FirstZ, 'C': d.FirstC, 'T': d.FirstT}), 0, planes
		if d.IFD != nil {
			page, count = *d.IFD, 1
		}
		if d.PlaneCount != nil {
			count = *d.PlaneCount
		}
		if page < 0 || page > tiff.MaxPages || count < 0 {
			return fmt.Errorf("TiffData: IFD %d with PlaneCount %d: must be 0 or more", page, count)
		}
		other := 0
		if u := d.UUID; u != nil && !alone && u.FileName != "" && u.FileName != name &&
			(doc.UUID == "" || strings.TrimSpace(u.Value) != doc.UUID) {
			other = elsewhere - len(o.others)
			o.others = append(o.others, u.FileName)
		}
		count = min(count, planes-start)
		if placed += count; placed > planes {
			return fmt.Errorf("TiffData: %d planes and more: must be at most the image's %d", placed, planes)
		}
		for i := range count {
			o.at[start+i] = page + i
			if other != 0 {
				o.at[start+i] = other
			}
		}
	}
	return nil
}

// oneFile reports whether all planes are in one file, which is this one then, even if it
// was renamed.
func oneFile(data []omeData) bool {
	for _, d := range data {
		if d.UUID == nil || data[0].UUID == nil || d.UUID.FileName != data[0].UUID.FileName {
			return false
		}
	}
	return true
}
