package loop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// largestPicture is the number of pixels of the largest picture that is read.
const largestPicture = 1 << 24

// ReadPicture reads the newest picture of an index that the loop of a ring has written, row by row.
func ReadPicture(ring string, index int) (width, height int, pixels []float32, err error) {
	f, err := os.Open(fmt.Sprintf("%s.picture%d", ring, index))
	if err != nil {
		return 0, 0, nil, err
	}
	defer f.Close()
	const head = 32
	b, err := io.ReadAll(io.LimitReader(f, head+4*largestPicture+1))
	if err != nil {
		return 0, 0, nil, err
	}
	if len(b) < head || !bytes.Equal(b[:8], []byte("PRSMPICT")) {
		return 0, 0, nil, errors.New("it is no picture of a loop")
	}
	width, height = int(binary.LittleEndian.Uint32(b[16:])), int(binary.LittleEndian.Uint32(b[20:]))
	data := b[head:]
	if width < 1 || height < 1 || width > largestPicture || height > largestPicture || width*height > largestPicture ||
		len(data) != 4*width*height {
		return 0, 0, nil, fmt.Errorf("a picture of %d × %d pixels in %d bytes", width, height, len(data))
	}
	if crc32.ChecksumIEEE(data) != binary.LittleEndian.Uint32(b[28:]) {
		return 0, 0, nil, errors.New("it is not whole")
	}
	pixels = make([]float32, width*height)
	for i := range pixels {
		pixels[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return width, height, pixels, nil
}
