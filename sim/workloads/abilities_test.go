package workloads

import (
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim/workload"
)

// What is refused before a run is what its task cannot do, and a phase has the same colour in every workload.
func TestTheAbilitiesAreTheTasks(t *testing.T) {
	everywhere := map[string]int{}
	for _, name := range []string{"quick", "curve", "ptycho-small", "ptycho-train-small", "cyto-2d", "cyto-predict", "cyto-tasks"} {
		v, _, err := preset.Resolve(preset.Sources{Shelves: Presets(), Preset: name})
		if err != nil {
			t.Fatal(err)
		}
		w := Of(v)
		maker := w.Maker(NoGPU("none"))
		in, err := maker.Load(t.Context(), v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		task, err := maker.New(t.Context(), v, in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, saves := task.(workload.Saver)
		_, keeps := task.(workload.Checkpointer)
		_, starts := task.(workload.Starter)
		stateless := w.Stateless != nil && w.Stateless(v) != ""
		if saves != (w.Saves != nil) || keeps == stateless || starts == w.Unweighted {
			t.Errorf("%s: saves %t, keeps a state %t, starts from weights %t; declared %v, %t, %t", name, saves, keeps, starts, w.Saves, !stateless, !w.Unweighted)
		}
		schema, colours := task.Info().Schema, map[int]string{}
		for i, p := range schema.Phases {
			colour := schema.PhaseColour(profiles.Phase(i))
			if other := colours[colour]; other != "" {
				t.Errorf("%s: %s and %s have colour %d", name, other, p.Name, colour)
			}
			colours[colour] = p.Name
			if before, seen := everywhere[p.Name]; seen && before != colour {
				t.Errorf("%s: %s has colour %d, and elsewhere %d", name, p.Name, colour, before)
			}
			everywhere[p.Name] = colour
		}
		task.Close()
	}
}
