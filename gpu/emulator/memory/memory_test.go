package memory

import (
	"errors"
	"strings"
	"testing"
)

func TestSpace(t *testing.T) {
	s := NewSpace(1000)
	if s.Find(1<<35) != nil || s.Describe(1<<35) != "there is no allocation" {
		t.Errorf("an empty space: %s", s.Describe(1<<35))
	}
	a, err := s.Alloc(100, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Alloc(200, "weights")
	if err != nil {
		t.Fatal(err)
	}
	if b.Base-a.Base < gap || a.Base%256 != 0 || a.Base%1024 == 0 {
		t.Errorf("bases %#x and %#x", a.Base, b.Base)
	}
	if _, err := s.Alloc(701, ""); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("701 of 700 free bytes: %v", err)
	}
	host := s.Map(make([]byte, 5000)) // does not count
	if s.Used() != 300 || len(s.Live()) != 3 {
		t.Errorf("%d bytes in %d allocations", s.Used(), len(s.Live()))
	}
	for _, test := range []struct {
		address uint64
		found   *Allocation
		says    string
	}{
		{a.Base, a, "0 bytes into allocation"},
		{a.Base + 99, a, "99 bytes into"},
		{a.Base + 100, nil, "0 bytes after the end of allocation"},
		{a.Base - 4, nil, "4 bytes before allocation"},
		{b.Base + 205, nil, "5 bytes after the end of variable weights"},
		{b.Base - 8, nil, "8 bytes before variable weights"},
		{host.Base + 4999, host, "4999 bytes into host memory"},
		{0, nil, "before allocation"},
		{^uint64(0), nil, "after the end of host memory"},
	} {
		if got := s.Find(test.address); got != test.found {
			t.Errorf("%#x lies in %v, want %v", test.address, got, test.found)
		}
		if got := s.Describe(test.address); !strings.Contains(got, test.says) {
			t.Errorf("%#x: %q, want %q", test.address, got, test.says)
		}
	}
	if _, _, err := s.Range(a.Base+50, 51); err == nil {
		t.Error("a range beyond the end")
	}
	if x, at, err := s.Range(a.Base+50, 50); x != a || at != 50 || err != nil {
		t.Errorf("range: %v, %d, %v", x, at, err)
	}
	a.Mark(10, 3)
	if a.Written[9] != 0 || a.Written[10] != 1 || a.Written[12] != 1 || a.Written[13] != 0 {
		t.Errorf("marked %v", a.Written[8:15])
	}
	if err := s.Free(a.Base); err != nil {
		t.Fatal(err)
	}
	if err := s.Free(a.Base); err == nil || !strings.Contains(err.Error(), "0 bytes into the freed allocation") {
		t.Errorf("freed twice: %v", err)
	}
	if s.Find(a.Base) != nil || s.Used() != 200 {
		t.Errorf("after freeing %d bytes are used", s.Used())
	}
	if c, err := s.Alloc(800, ""); err != nil || c.Base <= host.Base {
		t.Errorf("an address is used again: %v", err)
	}
}
