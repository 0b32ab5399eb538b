package stack

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bloscFolder has containers that numcodecs wrote (testdata/README.md).
const bloscFolder = "testdata/blosc"

// contained is what a container of testdata holds.
func contained(name string) (data []byte) {
	switch {
	case name == "far":
		var noise []byte
		for x := uint32(1); len(noise) < 2000; {
			x = x*1664525 + 1013904223
			noise = append(noise, byte(x>>24))
		}
		return bytes.Repeat(append(noise, make([]byte, 7000)...), 4)
	case strings.HasSuffix(name, "-large"):
		for i := range 70_000 {
			data = binary.LittleEndian.AppendUint16(data, uint16(i/50))
		}
		return data
	}
	for i := range uint32(4000) {
		v := i * i
		if i%100 < 60 {
			v = i / 7
		}
		data = binary.LittleEndian.AppendUint32(data, v)
	}
	if n, shorter := map[string]int{"stored": 4 * 50, "odd-elements": 4 * 1003, "odd-bytes": 4099}[name]; shorter {
		return data[:n]
	}
	return data
}

// Every codec with every order of bytes is decompressed, in one block and in several, of streams and whole.
func TestBloscIsDecompressed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(bloscFolder, "*"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := contained(filepath.Base(file))
		if got, err := unblosc(packed, len(want)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// What a container claims falsely is an error.
func TestDamagedBloscIsRefused(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join(bloscFolder, "lz4-large"))
	if err != nil {
		t.Fatal(err)
	}
	const n = 140_000
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	for want, change := range map[string]func([]byte) []byte{
		"must have a header of 16":                         func(b []byte) []byte { return b[:15] },
		"version 5 of the format: must be 2 at most":       func(b []byte) []byte { b[0] = 5; return b },
		"codec snappy: must be blosclz":                    func(b []byte) []byte { b[2] = b[2]&0x1f | 2<<5; return b },
		"codec 7: must be blosclz":                         func(b []byte) []byte { b[2] |= 7 << 5; return b },
		"4294967295 bytes: must be 140000":                 put(4, 1<<32-1),
		"blocks of 0 bytes: must be from 1 to 140000":      put(8, 0),
		"blocks of 140001 bytes: must be from 1 to 140000": put(8, 140_001),
		"has no room for the places of its blocks":         put(8, 1),
		"block 0 is outside the":                           put(16, 1<<31),
		"block 1: ":                                        put(20, uint32(len(whole)-2)),
		"is it truncated?":                                 func(b []byte) []byte { return b[:len(b)-9] },
		"ends after 10 of 140000 bytes":                    func(b []byte) []byte { b[2] = bloscCopied; return b[:26] },
	} {
		if _, err := unblosc(change(bytes.Clone(whole)), n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Whatever a container holds, it is decompressed to what it says, or is an error.
func FuzzBlosc(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(bloscFolder, "*"))
	for _, file := range files {
		packed, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(packed) < 1<<13 {
			f.Add(packed)
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		n := 16_000
		if len(packed) >= bloscHeader {
			n = min(int(binary.LittleEndian.Uint32(packed[4:])), 1<<17)
		}
		got, err := unblosc(packed, n)
		if err == nil && len(got) != n {
			t.Fatalf("%d bytes of %d", len(got), n)
		}
	})
}
