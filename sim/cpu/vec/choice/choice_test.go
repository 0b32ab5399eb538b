package choice

import (
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu/vec"
)

func TestSetsAreChosenByName(t *testing.T) {
	sets := vec.Available()
	if got, err := Set("auto"); err != nil || got != sets[0] {
		t.Errorf("auto is %v, %v", got, err)
	}
	for s := vec.Go; s <= vec.AVX512; s++ {
		got, err := Set(s.String())
		if want := slices.Contains(sets, s); want != (err == nil) || want && got != s {
			t.Errorf("%v: %v, %v; available are %v", s, got, err, sets)
		}
	}
	if _, err := Set("mmx"); err == nil {
		t.Error("mmx was accepted")
	}
	if !vec.AVX512.Built() {
		return
	}
	_, err := among("avx512", []vec.Set{vec.AVX2, vec.Go})
	if err == nil || !strings.Contains(err.Error(), "this machine runs auto, avx2, go") {
		t.Errorf("avx512 where the processor has AVX2: %v", err)
	}
}
