package executor

import (
	"slices"
	"testing"

	"prismtop/profiles/sweep"
)

func TestElementsAreWordedForSbatch(t *testing.T) {
	for want, all := range map[string][]int{"0-3,7": {0, 1, 2, 3, 7}, "5": {5}, "1,3,5-6": {1, 3, 5, 6}, "": nil} {
		if got := ranges(all); got != want {
			t.Errorf("%v is %q, want %q", all, got, want)
		}
	}
}

// What is done is left out; what failed, unless it is to be repeated; and runs by turns that have not been compared.
func TestTasksThatAreLeft(t *testing.T) {
	f := &sweep.Folder{Path: t.TempDir(), Frozen: &sweep.Frozen{Arms: make([]sweep.FrozenArm, 3), Replicates: 2}}
	for _, c := range f.Cells()[:4] {
		f.Tasks = append(f.Tasks, sweep.Task{Cells: []sweep.Cell{c}})
	}
	f.Tasks = append(f.Tasks, sweep.Task{Cells: f.Cells()[4:], Turns: true})
	var states []sweep.Status
	for _, s := range []sweep.State{sweep.Done, sweep.Failed, sweep.Interrupted, sweep.Running, sweep.Done, sweep.Done} {
		states = append(states, sweep.Status{State: s})
	}
	if got := Left(f, states, false); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("left are %v", got)
	}
	if got := Left(f, states, true); !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("left are %v with failures", got)
	}
}

func TestChangesAreWordedWithTheirEffects(t *testing.T) {
	got := changes([]byte(`{"changes":[{"key":"amp","before":"off","after":"bf16","iteration":212,"effect":{"shift":-0.31,"low":-0.33,"high":-0.29}},
		{"key":"threads","before":"1","after":"2","iteration":300,"effect":null},
		{"key":"fused","before":"false","after":"true","iteration":400,"effect":null,"replicated":{"shift":0.5,"interval":[0.25,0.75]}}]}`))
	want := []string{"amp off → bf16 at iteration 212, time of an iteration −31 % [−33, −29]", "threads 1 → 2 at iteration 300",
		"fused false → true at iteration 400, time of an iteration 50 % [25, 75]"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := changes([]byte("no JSON")); got != nil {
		t.Errorf("%q", got)
	}
}

func TestProgramsShareTheProcessors(t *testing.T) {
	if got := processors(0, 1); got != nil {
		t.Errorf("one program gets %v, want all", got)
	}
	seen := map[int]int{}
	for place := range 2 {
		for _, cpu := range processors(place, 2) {
			seen[cpu]++
		}
	}
	for cpu, n := range seen {
		if n > 1 && len(seen) > 1 {
			t.Errorf("processor %d has %d programs", cpu, n)
		}
	}
}
