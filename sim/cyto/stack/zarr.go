package stack

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles/unit"
	"prismtop/sim/npy"
	"prismtop/sim/tiff"
)

// Bounds of what a Zarr folder may hold, in bytes.
const (
	maxZarrMetadata = 1 << 24
	maxZarrChunk    = 1 << 30
)

// IsFolder reports whether a path is a folder that is an image, not one of images: one with
// the metadata of a Zarr group or array.
func IsFolder(path string) bool {
	for _, name := range []string{".zattrs", ".zgroup", ".zarray", "zarr.json"} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// omeZarr is the part of OME-Zarr's metadata (versions 0.4 and 0.5) that describes an image.
type omeZarr struct {
	Multiscales []struct {
		Axes     []struct{ Name, Unit string }
		Datasets []struct {
			Path      string
			Transform []zarrTransform `json:"coordinateTransformations"`
		}
		Transform []zarrTransform `json:"coordinateTransformations"`
	}
	Omero struct {
		Channels []struct{ Label string }
	}
	Plate struct {
		Wells []zarrPart
	}
	Well struct {
		Images []zarrPart
	}
	Layout int `json:"bioformats2raw.layout"` // 3 of a series of images, named 0, 1, …
}

// zarrPart is a well of a plate, or an image of a well.
type zarrPart struct{ Path string }

type zarrTransform struct {
	Type  string
	Scale []float64
}

// zarrCodec is a codec of Zarr 3, or a compressor of Zarr 2 by its ID.
type zarrCodec struct {
	Name          string
	ID            string
	Configuration struct {
		Endian string

		Chunks   []int       `json:"chunk_shape"` // of sharding
		Codecs   []zarrCodec // of a chunk in a shard
		Index    []zarrCodec `json:"index_codecs"`
		Location string      `json:"index_location"`
	}
}

// zarrMetadata is .zarray of Zarr 2 and zarr.json of Zarr 3.
type zarrMetadata struct {
	NodeType   string `json:"node_type"`
	Attributes struct{ OME omeZarr }
	Shape      []int
	Fill       any `json:"fill_value"`

	Chunks     []int // Zarr 2
	Type       any   `json:"dtype"`
	Order      string
	Filters    []any
	Compressor *zarrCodec
	Separator  string `json:"dimension_separator"`

	DataType  any `json:"data_type"` // Zarr 3
	ChunkGrid struct {
		Name          string
		Configuration struct {
			Shape []int `json:"chunk_shape"`
		}
	} `json:"chunk_grid"`
	ChunkKeys struct {
		Name          string
		Configuration struct{ Separator string }
	} `json:"chunk_key_encoding"`
	Codecs []zarrCodec

	shards []int // sides of a shard; nil without shards
}

// zarrArray is an open array, with the axes T, C, Z, Y and X.
type zarrArray struct {
	files         fs.FS
	folder        string
	shape, chunks [5]int
	axes          []int // of the array among the five
	element       npy.Element
	kind          string // as NumPy names it
	fill          float32
	codec         string // "", blosc, zlib, gzip or zstd
	prefix        string // of the names of chunks or shards
	separator     string
	read          int64

	shards [5]int // chunks of a shard along each axis; zero without shards
	summed bool   // the index of a shard ends in its CRC-32C
	first  bool   // the index comes before the chunks
	open   shard  // that was read last
}

// shard is the index of a file with several chunks.
type shard struct {
	name  string
	index []byte // the place and the length of each chunk, uint64 each
}

// zarrVolume reads a volume from a folder.
func zarrVolume(ctx context.Context, path string, o ReadOptions) (*Volume, error) {
	if o.MaxVoxels == 0 {
		o.MaxVoxels = DefaultMaxVoxels
	}
	v, err := decodeZarr(ctx, filepath.Base(path), os.DirFS(path), o)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("OME-Zarr: %w", err)
	}
	return v, err
}

// readOME reads the metadata of a group, none if it has none.
func readOME(files fs.FS, folder string) (o omeZarr, err error) {
	var root zarrMetadata
	if err = readZarrJSON(files, path.Join(folder, "zarr.json"), &root); err == nil {
		return root.Attributes.OME, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = readZarrJSON(files, path.Join(folder, ".zattrs"), &o)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return o, err
}

// parts returns the paths of the images in a plate, a well or a series, and what it is; none of an image.
func (o *omeZarr) parts(files fs.FS, folder string) (images []string, what string, err error) {
	switch {
	case len(o.Plate.Wells) > 0:
		for _, w := range o.Plate.Wells {
			at := path.Join(folder, w.Path)
			if !fs.ValidPath(w.Path) {
				return nil, "", fmt.Errorf("well %q: must be a path in the folder", w.Path)
			}
			well, err := readOME(files, at)
			if err != nil {
				return nil, "", err
			}
			well.Plate.Wells = nil
			inside, _, err := well.parts(files, at)
			if err != nil {
				return nil, "", err
			}
			images = append(images, inside...)
		}
		return images, "plate", nil
	case len(o.Well.Images) > 0:
		for _, i := range o.Well.Images {
			if !fs.ValidPath(i.Path) {
				return nil, "", fmt.Errorf("image %q: must be a path in the folder", i.Path)
			}
			images = append(images, path.Join(folder, i.Path))
		}
		return images, "well", nil
	case o.Layout > 0:
		for {
			at := path.Join(folder, strconv.Itoa(len(images)))
			if info, err := fs.Stat(files, at); err != nil || !info.IsDir() {
				return images, "series", nil
			}
			images = append(images, at)
		}
	}
	return nil, "", nil
}

// Images returns the paths of the images in a folder of OME-Zarr: those of a plate, of a well or of a series, or else
// the folder itself.
func Images(folder string) ([]string, error) {
	files := os.DirFS(folder)
	o, err := readOME(files, ".")
	if err != nil {
		return nil, fmt.Errorf("%s: OME-Zarr: %w", folder, err)
	}
	images, what, err := o.parts(files, ".")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: OME-Zarr: %w", folder, err)
	case what == "" || len(o.Multiscales) > 0:
		return []string{folder}, nil
	case len(images) == 0:
		return nil, fmt.Errorf("%s: OME-Zarr: a %s without images", folder, what)
	}
	for i, at := range images {
		images[i] = filepath.Join(folder, filepath.FromSlash(at))
	}
	return images, nil
}

// decodeZarr reads the full resolution of an OME-Zarr image, or an array alone. name is the folder's.
func decodeZarr(ctx context.Context, name string, files fs.FS, o ReadOptions) (*Volume, error) {
	folder := "."
	image, err := readOME(files, folder)
	if err != nil {
		return nil, err
	}
	names := []string{"t", "c", "z", "y", "x"}
	a := &zarrArray{files: files}
	v := Volume{}
	if len(image.Multiscales) > 0 {
		m := image.Multiscales[0]
		if len(m.Datasets) == 0 || !fs.ValidPath(m.Datasets[0].Path) {
			return nil, errors.New("multiscales: must have a dataset with a path in the folder")
		}
		folder = m.Datasets[0].Path
		last := -1
		for i, axis := range m.Axes {
			at := slices.Index(names, axis.Name)
			if at <= last {
				return nil, fmt.Errorf("axis %q: must be t, c, z, y and x, in this order", axis.Name)
			}
			last = at
			a.axes = append(a.axes, at)
			if at < 2 {
				continue
			}
			size := zarrUnits[axis.Unit]
			for _, t := range append(slices.Clone(m.Transform), m.Datasets[0].Transform...) {
				if t.Type == "scale" && i < len(t.Scale) {
					size *= t.Scale[i]
				}
			}
			v.Voxel[at-2] = inMicrometres(size, "")
		}
	}
	if err := a.describe(folder); err != nil {
		if errors.Is(err, fs.ErrNotExist) && len(image.Multiscales) == 0 {
			images, what, err := image.parts(files, ".")
			switch {
			case err != nil:
				return nil, err
			case len(images) > 0:
				return nil, fmt.Errorf("a %s of %s: must be one of them, such as %s", what,
					unit.Plural(len(images), "image", "images"), path.Join(name, images[0]))
			}
			return nil, errors.New("no multiscales: must be an image")
		}
		return nil, err
	}
	e := extent{channels: a.shape[1], planes: a.shape[2], times: a.shape[0], height: a.shape[3], width: a.shape[4],
		room: math.MaxInt64}
	for _, c := range image.Omero.Channels {
		e.names = append(e.names, c.Label)
	}
	read, channels, planes, err := e.volume(o)
	if err != nil {
		return nil, err
	}
	read.Voxel, read.Type = v.Voxel, a.kind
	err = a.fillVolume(ctx, read, channels, planes, o.Time)
	read.Bytes = a.read
	return read, err
}

// zarrUnits are the units of OME-Zarr's axes, in micrometres.
var zarrUnits = map[string]float64{"micrometer": 1, "nanometer": 1e-3, "millimeter": 1e3, "centimeter": 1e4,
	"meter": 1e6, "angstrom": 1e-4, "picometer": 1e-6}

// describe reads the metadata of an array.
func (a *zarrArray) describe(folder string) error {
	a.folder = folder
	var m zarrMetadata
	name := path.Join(folder, "zarr.json")
	err := readZarrJSON(a.files, name, &m)
	second := errors.Is(err, fs.ErrNotExist)
	if second {
		name = path.Join(folder, ".zarray")
		err = readZarrJSON(a.files, name, &m)
	}
	if err != nil {
		return err
	}
	if second {
		err = a.second(&m)
	} else {
		err = a.third(&m)
	}
	if err == nil {
		err = a.sides(&m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// second takes the encoding from the metadata of Zarr 2.
func (a *zarrArray) second(m *zarrMetadata) error {
	kind, _ := m.Type.(string)
	a.separator = "."
	if m.Separator != "" {
		a.separator = m.Separator
	}
	if m.Order != "C" {
		return fmt.Errorf("order %q: must be C", m.Order)
	}
	if len(m.Filters) > 0 {
		return fmt.Errorf("filters %v: must be none", m.Filters)
	}
	if m.Compressor != nil {
		if err := a.compressed(m.Compressor.ID); err != nil {
			return err
		}
	}
	return a.typed(kind)
}

// third takes the encoding from the metadata of Zarr 3.
func (a *zarrArray) third(m *zarrMetadata) error {
	if m.NodeType != "array" {
		return fs.ErrNotExist
	}
	if m.ChunkGrid.Name != "regular" {
		return fmt.Errorf("chunk_grid %q: must be regular", m.ChunkGrid.Name)
	}
	m.Chunks = m.ChunkGrid.Configuration.Shape
	a.separator = m.ChunkKeys.Configuration.Separator
	switch m.ChunkKeys.Name {
	case "default":
		if a.separator == "" {
			a.separator = "/"
		}
		a.prefix = "c" + a.separator
	case "v2":
		if a.separator == "" {
			a.separator = "."
		}
	default:
		return fmt.Errorf("chunk_key_encoding %q: must be default or v2", m.ChunkKeys.Name)
	}
	codecs := m.Codecs
	if len(codecs) == 1 && codecs[0].Name == "sharding_indexed" {
		of := &codecs[0].Configuration
		m.shards, m.Chunks, codecs = m.Chunks, of.Chunks, of.Codecs
		index := of.Index
		if len(index) == 2 && index[1].Name == "crc32c" {
			a.summed, index = true, index[:1]
		}
		if len(index) != 1 || index[0].Name != "bytes" || index[0].Configuration.Endian != "little" {
			return errors.New("index_codecs: must be bytes, little, and then none or crc32c")
		}
		if a.first = of.Location == "start"; !a.first && of.Location != "end" && of.Location != "" {
			return fmt.Errorf("index_location %q: must be start or end", of.Location)
		}
	}
	order := ""
	for i, c := range codecs {
		switch {
		case i == 0 && c.Name == "bytes":
			order = "<"
			if c.Configuration.Endian == "big" {
				order = ">"
			}
		case i == 0:
			return fmt.Errorf("codec %q: must be bytes, and then none, blosc, gzip or zstd", c.Name)
		case i > 1:
			return fmt.Errorf("codec %q after %q: must be bytes, and then none, blosc, gzip or zstd", c.Name,
				codecs[i-1].Name)
		default:
			if err := a.compressed(c.Name); err != nil {
				return err
			}
		}
	}
	if order == "" {
		return errors.New("codecs: must begin with bytes")
	}
	text, _ := m.DataType.(string)
	kind := zarrTypes[text]
	if kind == "" {
		return a.typed(text)
	}
	return a.typed(order + kind)
}

// zarrTypes are NumPy's names of Zarr 3's types.
var zarrTypes = map[string]string{
	"uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8", "int8": "i1", "int16": "i2", "int32": "i4",
	"int64": "i8", "float32": "f4", "float64": "f8",
}

func (a *zarrArray) typed(kind string) error {
	element, known := npy.ElementOf(kind)
	if !known || element.Complex {
		return fmt.Errorf("type %q: must be real numbers of 8 to 64 bits", kind)
	}
	a.element, a.kind = element, kind
	return nil
}

func (a *zarrArray) compressed(codec string) error {
	switch codec {
	case "blosc", "zlib", "gzip", "zstd":
		a.codec = codec
		return nil
	}
	return fmt.Errorf("compression %q: must be none, blosc, zlib, gzip or zstd", codec)
}

// sides takes the sides of the array and of its chunks, and the value of missing chunks.
func (a *zarrArray) sides(m *zarrMetadata) error {
	if a.axes == nil {
		if len(m.Shape) < 2 || len(m.Shape) > 5 {
			return fmt.Errorf("shape %v: must have the axes YX, ZYX, CZYX or TCZYX", m.Shape)
		}
		for i := range m.Shape {
			a.axes = append(a.axes, 5-len(m.Shape)+i)
		}
	}
	n := len(a.axes)
	if n < 2 || len(m.Shape) != n || len(m.Chunks) != n || a.axes[n-2] != 3 || a.axes[n-1] != 4 {
		return fmt.Errorf("shape %v in chunks of %v with %d axes: must have as many, the last two y and x", m.Shape,
			m.Chunks, n)
	}
	a.shape, a.chunks = [5]int{1, 1, 1, 1, 1}, [5]int{1, 1, 1, 1, 1}
	bytes := a.element.Size
	for i, at := range a.axes {
		if m.Shape[i] < 1 || m.Shape[i] > math.MaxInt32 || m.Chunks[i] < 1 || m.Chunks[i] > maxZarrChunk/bytes {
			return fmt.Errorf("shape %v in chunks of %v: must be positive, and chunks of %d bytes at most", m.Shape,
				m.Chunks, maxZarrChunk)
		}
		bytes *= m.Chunks[i]
		a.shape[at], a.chunks[at] = m.Shape[i], m.Chunks[i]
	}
	if m.shards != nil {
		if len(m.shards) != n {
			return fmt.Errorf("shards of %v: must have %d sides", m.shards, n)
		}
		a.shards = [5]int{1, 1, 1, 1, 1}
		for i, at := range a.axes {
			if m.shards[i] < 1 || m.shards[i]%m.Chunks[i] != 0 {
				return fmt.Errorf("shards of %v of chunks of %v: must be whole chunks", m.shards, m.Chunks)
			}
			a.shards[at] = m.shards[i] / m.Chunks[i]
		}
	}
	switch fill := m.Fill.(type) {
	case nil:
	case float64:
		a.fill = float32(fill)
	case string:
		v, err := strconv.ParseFloat(fill, 32)
		if err != nil {
			return fmt.Errorf("fill_value %q: must be a number", fill)
		}
		a.fill = float32(v)
	default:
		return fmt.Errorf("fill_value %v: must be a number", fill)
	}
	return nil
}

// fillVolume decodes the chunks that have any of the channels and planes, each once.
func (a *zarrArray) fillVolume(ctx context.Context, v *Volume, channels, planes []int, time int) error {
	in := func(chosen []int, chunk, size int) (at []int) { // places of chosen indices in a chunk
		for i, c := range chosen {
			if c/size == chunk {
				at = append(at, i)
			}
		}
		return at
	}
	blocks := func(axis int) int { return (a.shape[axis] + a.chunks[axis] - 1) / a.chunks[axis] }
	holding := func(chosen []int, size int) (chunks []int) { // those with any of the chosen
		for _, c := range chosen {
			chunks = append(chunks, c/size)
		}
		slices.Sort(chunks)
		return slices.Compact(chunks)
	}
	for _, c := range holding(channels, a.chunks[1]) {
		cs := in(channels, c, a.chunks[1])
		for _, z := range holding(planes, a.chunks[2]) {
			zs := in(planes, z, a.chunks[2])
			for y := range blocks(3) {
				for x := range blocks(4) {
					if err := ctx.Err(); err != nil {
						return err
					}
					data, err := a.chunk([5]int{time / a.chunks[0], c, z, y, x})
					if err != nil {
						return err
					}
					for _, ci := range cs {
						for _, zi := range zs {
							plane := v.Values[(ci*len(planes)+zi)*a.shape[3]*a.shape[4]:]
							a.place(plane, data, [3]int{time % a.chunks[0], channels[ci] % a.chunks[1],
								planes[zi] % a.chunks[2]}, y, x)
						}
					}
				}
			}
		}
	}
	return nil
}

// place copies a plane of a chunk to its place; data are nil for a missing chunk.
func (a *zarrArray) place(plane []float32, data []byte, at [3]int, y, x int) {
	top, left := y*a.chunks[3], x*a.chunks[4]
	rows, columns := min(a.chunks[3], a.shape[3]-top), min(a.chunks[4], a.shape[4]-left)
	first := ((at[0]*a.chunks[1]+at[1])*a.chunks[2] + at[2]) * a.chunks[3] * a.chunks[4]
	size := a.element.Size
	for r := range rows {
		dst := plane[(top+r)*a.shape[4]+left:][:columns]
		for i := range dst {
			dst[i] = a.fill
			if data != nil {
				dst[i] = float32(a.element.Read(data[(first+r*a.chunks[4]+i)*size:]))
			}
		}
	}
}

// fileName returns the path of a chunk or a shard.
func (a *zarrArray) fileName(at [5]int) string {
	var parts []string
	for _, axis := range a.axes {
		parts = append(parts, strconv.Itoa(at[axis]))
	}
	return path.Join(a.folder, a.prefix+strings.Join(parts, a.separator))
}

// chunk reads and decompresses a chunk, nil if there is none.
func (a *zarrArray) chunk(at [5]int) (data []byte, err error) {
	var packed []byte
	what, name := "chunk", ""
	if a.shards == [5]int{} {
		name = a.fileName(at)
		packed, err = readZarrFile(a.files, name, maxZarrChunk)
	} else {
		in, place := at, 0 // the shard, and the number of the chunk in it
		for i, n := range a.shards {
			in[i], place = at[i]/n, place*n+at[i]%n
		}
		what, name = "shard", a.fileName(in)
		packed, err = a.ofShard(name, place)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		a.read += int64(len(packed))
		data, err = a.unpack(packed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return data, nil
}

// ofShard reads a chunk of a shard. One that is not there is fs.ErrNotExist.
func (a *zarrArray) ofShard(name string, place int) ([]byte, error) {
	f, err := a.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, ok := f.(io.ReaderAt)
	if !ok || !info.Mode().IsRegular() {
		return nil, errors.New("must be a file")
	}
	size := info.Size()
	if a.open.name != name {
		length := int64(16)
		for _, n := range a.shards {
			if length *= min(int64(n), size/length+1); length > size { // without overflow
				return nil, fmt.Errorf("%d bytes have no room for the index: is it truncated?", size)
			}
		}
		sum := int64(0)
		if a.summed {
			sum = crc32.Size
		}
		at := size - length - sum
		if a.first {
			at = 0
		}
		if at < 0 || length > maxZarrMetadata {
			return nil, fmt.Errorf("an index of %d bytes in %d: must be %d at most", length, size, maxZarrMetadata)
		}
		index := make([]byte, length+sum)
		if _, err := r.ReadAt(index, at); err != nil {
			return nil, err
		}
		if a.summed &&
			crc32.Checksum(index[:length],
				crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(index[length:]) {
			return nil, errors.New("the index has another checksum: the file is damaged")
		}
		a.open = shard{name, index[:length]}
	}
	at, length := binary.LittleEndian.Uint64(a.open.index[16*place:]),
		binary.LittleEndian.Uint64(a.open.index[16*place+8:])
	switch {
	case at == math.MaxUint64 && length == math.MaxUint64:
		return nil, fs.ErrNotExist
	case at > uint64(size) || length > uint64(size)-at || length > maxZarrChunk:
		return nil, fmt.Errorf("%d bytes at %d are outside the file of %d bytes: is it truncated?", length, at, size)
	}
	packed := make([]byte, length)
	_, err = r.ReadAt(packed, int64(at))
	return packed, err
}

// unpack decompresses a chunk.
func (a *zarrArray) unpack(packed []byte) (_ []byte, err error) {
	n := a.element.Size
	for _, c := range a.chunks {
		n *= c
	}
	if n > len(packed)*tiff.MostExpansion {
		return nil, fmt.Errorf("%d bytes cannot hold %d: the file is damaged", len(packed), n)
	}
	var r io.Reader = bytes.NewReader(packed)
	switch a.codec {
	case "blosc":
		data, err := unblosc(packed, n)
		if err != nil {
			return nil, fmt.Errorf("blosc: %w", err)
		}
		return data, nil
	case "zlib":
		r, err = zlib.NewReader(r)
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		z, fault := tiff.NewZstandard(r)
		if err = fault; err == nil {
			defer z.Close()
			r = z
		}
	}
	if err != nil {
		return nil, err
	}
	data := make([]byte, n)
	return data, filled(data, r)
}

// readZarrJSON reads a file of metadata.
func readZarrJSON(files fs.FS, name string, to any) error {
	data, err := readZarrFile(files, name, maxZarrMetadata)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return nil
}

// readZarrFile reads a regular file of a bounded size.
func readZarrFile(files fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: must be a file", name)
	case info.Size() > most:
		return nil, fmt.Errorf("%s: %d bytes: must be %d at most", name, info.Size(), most)
	}
	return fs.ReadFile(files, name)
}
