package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"prismtop/sim/npy"
)

// decodeNPY reads an array of 2 to 5 axes: [Y, X], [Z, Y, X], [C, Z, Y, X] or
// [T, C, Z, Y, X].
func decodeNPY(ctx context.Context, r io.ReaderAt, size int64, o ReadOptions) (*Volume, error) {
	h, start, err := npy.ReadHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	element, known := npy.ElementOf(h.Type)
	switch {
	case !known || element.Complex:
		return nil, fmt.Errorf("NPY of %s: must hold real numbers of up to 64 bits", h.Type)
	case h.Fortran:
		return nil, errors.New("NPY stored by columns: must be stored by rows, as numpy.ascontiguousarray does")
	case len(h.Shape) < 2 || len(h.Shape) > 5:
		return nil, fmt.Errorf("NPY of shape (%s): must have the axes YX, ZYX, CZYX or TCZYX", npy.JoinShape(h.Shape))
	}
	axes := [5]int{1, 1, 1, 1, 1} // T, C, Z, Y, X
	room := max(size-start, 0) / int64(element.Size)
	total := int64(1)
	for i, n := range h.Shape {
		if n < 1 || total > room/n {
			return nil, fmt.Errorf("NPY of shape (%s) in a file of %d bytes: is it truncated?",
				npy.JoinShape(h.Shape), size)
		}
		total *= n
		axes[len(axes)-len(h.Shape)+i] = int(n)
	}
	e := extent{channels: axes[1], planes: axes[2], times: axes[0], height: axes[3], width: axes[4], room: room}
	v, channels, planes, err := e.volume(o)
	if err != nil {
		return nil, err
	}
	v.Type, v.Bytes = h.Type, start
	rest := v.Values
	row := make([]byte, e.width*element.Size)
	buffered := bufio.NewReaderSize(nil, 1<<16)
	for _, c := range channels {
		for _, z := range planes {
			plane := int64((o.Time*e.channels+c)*e.planes + z)
			planeBytes := int64(e.height) * int64(len(row))
			buffered.Reset(io.NewSectionReader(r, start+plane*planeBytes, planeBytes))
			for range e.height {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if _, err := io.ReadFull(buffered, row); err != nil {
					return nil, err
				}
				for i := range e.width {
					rest[i] = float32(element.Read(row[i*element.Size:]))
				}
				rest = rest[e.width:]
			}
			v.Bytes += planeBytes
		}
	}
	return v, nil
}
