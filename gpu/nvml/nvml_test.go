package nvml

import (
	"errors"
	"slices"
	"testing"
	"unsafe"
)

func TestStructsHaveTheirPublishedSizes(t *testing.T) {
	for name, size := range map[string][2]uintptr{
		"nvmlMemory_t": {unsafe.Sizeof(Memory{}), 24}, "nvmlMemory_v2_t": {unsafe.Sizeof(MemoryV2{}), 40},
		"nvmlUtilization_t": {unsafe.Sizeof(utilisation{}), 8}, "nvmlProcessInfo_t": {unsafe.Sizeof(Process{}), 24},
		"used of nvmlProcessInfo_t": {unsafe.Offsetof(Process{}.Bytes), 8}, "reserved of nvmlMemory_v2_t": {unsafe.Offsetof(MemoryV2{}.Reserved), 16},
	} {
		if size[0] != size[1] {
			t.Errorf("%s: %d bytes, want %d", name, size[0], size[1])
		}
	}
	if memoryV2Version != 2<<24|unsafe.Sizeof(MemoryV2{}) {
		t.Errorf("version %#x", memoryV2Version)
	}
}

func TestReasonsForClocksInWords(t *testing.T) {
	for mask, want := range map[uint64][]string{
		0: nil, 1: {"idle"}, 0x4 | 0x20: {"power limit", "temperature"}, 0x80: {"power brake"}, 1 << 40: {"reason 0x10000000000"},
	} {
		if got := throttleWords(mask); !slices.Equal(got, want) {
			t.Errorf("%#x: %q, want %q", mask, got, want)
		}
	}
}

func TestALibraryIsOpenedOnceItCanBe(t *testing.T) {
	var s shared
	absent := errors.New("libnvidia-ml.so.1 not found")
	if _, err := s.get(func() (*Library, error) { return nil, absent }); err != absent {
		t.Errorf("error %v, want %v", err, absent)
	}
	first, err := s.get(func() (*Library, error) { return &Library{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.get(func() (*Library, error) { t.Error("opened again"); return nil, absent })
	if again != first || err != nil {
		t.Errorf("%p, %v; want %p", again, err, first)
	}
}
