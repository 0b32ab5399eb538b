// Package npytest writes and reads NPY arrays and NPZ archives for tests, in the form NumPy
// writes. It shares no code with package npy.
package npytest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Array is an array in NPY format, version 1.0, as NumPy stores it. shape is the
// inside of a tuple, such as "2, 3" or "3,".
func Array(kind, shape string, data []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, shape)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(b, header...), data...)
}

// Float32s returns values as the data of an array of type "<f4".
func Float32s(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Float64s returns values as the data of an array of type "<f8".
func Float64s(values ...float64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// File is an array of an archive.
type File struct {
	Name string // without .npy
	Data []byte // in NPY format
}

// Archive writes files as NumPy's savez does: stored, no time stamps, a zip64 field
// in each local header.
func Archive(files ...File) []byte {
	var out, directory []byte
	le := binary.LittleEndian
	for _, f := range files {
		offset, name := len(out), f.Name+".npy"
		crc, size := crc32.ChecksumIEEE(f.Data), uint32(len(f.Data))
		common := le.AppendUint16(nil, 20) // version, flags, method, time, date
		common = append(common, 0, 0, 0, 0, 0, 0, 0x21, 0)
		common = le.AppendUint32(common, crc)
		common = le.AppendUint32(common, size)
		common = le.AppendUint32(common, size)
		common = le.AppendUint16(common, uint16(len(name)))

		out = le.AppendUint32(out, 0x04034b50)
		out = append(out, common...)
		out = le.AppendUint16(out, 20)
		out = append(out, name...)
		out = le.AppendUint16(out, 1)
		out = le.AppendUint16(out, 16)
		out = le.AppendUint64(out, uint64(size))
		out = le.AppendUint64(out, uint64(size))
		out = append(out, f.Data...)

		directory = le.AppendUint32(directory, 0x02014b50)
		directory = append(directory, 20, 3)
		directory = append(directory, common...)
		directory = append(directory, 0, 0, 0, 0, 0, 0, 0, 0) // extra, comment, disk, internal
		directory = le.AppendUint32(directory, 0o600<<16)
		directory = le.AppendUint32(directory, uint32(offset))
		directory = append(directory, name...)
	}
	start := len(out)
	out = append(out, directory...)
	out = le.AppendUint32(out, 0x06054b50)
	out = append(out, 0, 0, 0, 0)
	out = le.AppendUint16(out, uint16(len(files)))
	out = le.AppendUint16(out, uint16(len(files)))
	out = le.AppendUint32(out, uint32(len(directory)))
	out = le.AppendUint32(out, uint32(start))
	return append(out, 0, 0)
}
