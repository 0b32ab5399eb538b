package cli

import (
	"io"
	"os"
	"testing"
)

// Text for a terminal without UTF-8 is 7-bit, however characters fall on writes; what writes it learns of no difference.
func TestAnOutletWritesPlainCharacters(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := NewOutlet(nil, w)
	if o.ascii {
		t.Error("a pipe is taken for a terminal without UTF-8")
	}
	o.ascii = true
	const text = "−31 % · 5.9 → 4.1 ms ≈ “AMP” 😀\n"
	for i := range len(text) { // a byte at a time
		if n, err := o.Write([]byte(text[i : i+1])); n != 1 || err != nil {
			t.Fatalf("byte %d: %d, %v", i, n, err)
		}
	}
	if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
		t.Errorf("wrote %d of %d: %v", n, len(text), err)
	}
	w.Close()
	got, err := io.ReadAll(r)
	const want = "-31 % . 5.9 > 4.1 ms ~ \"AMP\" ?\n"
	if string(got) != want+want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
