package sim

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/workloads"
)

// converging is a run whose samples would end at their first iteration under l2 if the
// threshold held there too: l2 is about the square of l1.
var converging = slices.Concat(small, []string{"samples=60", "threshold=0.5", "iterations=6", "init_iterations=0"})

// A threshold belongs to the loss that it was given for: samples under another one end at
// their limits until it is given anew, and under the first it is in force again.
func TestAThresholdBelongsToItsLoss(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, converging...), Linger: true})
	do(t, r, profiles.PauseCommand)
	s := until(t, a, "pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	if s.Settings.InForce("threshold") != 0.5 {
		t.Fatalf("threshold %g in force at the start", s.Settings.InForce("threshold"))
	}
	set(t, r, "loss", "l2")
	until(t, a, "the loss", func(s *profiles.Snapshot) bool { return s.Settings.Text("loss") == "l2" })
	do(t, r, profiles.ResumeCommand)
	from := len(s.Results) + 1 // the sample under way began under l1
	s = until(t, a, "samples", func(s *profiles.Snapshot) bool { return len(s.Results) >= from+4 })
	for _, res := range s.Results[from:] {
		if res.Converged || res.Iterations != 6 {
			t.Errorf("sample %d under a suspended threshold: %+v", res.Unit, res)
		}
	}
	if loss, _, suspended := s.Settings.Suspended("threshold"); !suspended || loss != "normalised l1" || s.Settings.Get("threshold") != "0.5 for normalised l1" {
		t.Errorf("suspended %v for %q: %s", suspended, loss, s.Settings.Get("threshold"))
	}
	const line = "threshold 0.5 was given for normalised l1 and is suspended under normalised l2"
	s = until(t, a, line, func(s *profiles.Snapshot) bool { return told(s, line) })
	if len(s.Changes) != 1 {
		t.Errorf("changes %v", s.Changes)
	}
	set(t, r, "threshold", "0.5") // now it is l2's
	n := len(s.Results) + 1
	s = until(t, a, "samples that converge", func(s *profiles.Snapshot) bool { return len(s.Results) >= n+3 })
	if last := s.Results[len(s.Results)-1]; !last.Converged {
		t.Errorf("a sample below the threshold of its loss: %+v", last)
	}
	if last := s.Changes[len(s.Changes)-1]; last.Key != "threshold" || last.Before != "0.5 for normalised l1" || last.After != "0.5" {
		t.Errorf("the change is %+v", last)
	}
}

// told reports whether the log has a line that begins so.
func told(s *profiles.Snapshot, text string) bool {
	return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool { return strings.HasPrefix(l.Text, text) })
}

func TestASuspendedThresholdComesBack(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, endless...), Linger: true})
	set(t, r, "threshold", "1e-9")
	steps := []struct {
		sets []settings.Assignment
		want string
	}{
		{[]settings.Assignment{{Key: "loss", Value: "l2"}}, "1e-09 for normalised l1"},
		{[]settings.Assignment{{Key: "loss", Value: "l1"}}, "1e-09"},
		{[]settings.Assignment{{Key: "normalize_loss", Value: "false"}}, "1e-09 for normalised l1"},
		{[]settings.Assignment{{Key: "normalize_loss", Value: "true"}}, "1e-09"},
		{[]settings.Assignment{{Key: "loss", Value: "composite"}, {Key: "threshold", Value: "2e-9"}}, "2e-09"}, // together: of the new loss
		{[]settings.Assignment{{Key: "composite_l1", Value: "0.8"}, {Key: "composite_ssim", Value: "0.2"}}, "2e-09 for composite 0.7/0/0.3"},
		{[]settings.Assignment{{Key: "composite_l1", Value: "0.7"}, {Key: "composite_ssim", Value: "0.3"}}, "2e-09"},
		{[]settings.Assignment{{Key: "threshold", Value: "3e-9"}, {Key: "loss", Value: "ssim"}}, "3e-09"}, // in any order
		{[]settings.Assignment{{Key: "loss", Value: "l2"}}, "3e-09 for ssim"},
		{[]settings.Assignment{{Key: "threshold", Value: "1e-9 for normalised l1"}}, "1e-09 for normalised l1"}, // as requested by undo
		{[]settings.Assignment{{Key: "threshold", Value: "0"}, {Key: "loss", Value: "l1"}}, "0"},                // never is never
	}
	for _, step := range steps {
		if err := ask(r, profiles.SetCommand, step.sets...); err != nil {
			t.Fatal(err)
		}
		until(t, a, step.want, func(s *profiles.Snapshot) bool {
			return s.Settings.Get("threshold") == step.want && !slices.ContainsFunc(step.sets, func(a settings.Assignment) bool {
				return a.Key != "threshold" && s.Settings.Get(a.Key) != a.Value
			})
		})
	}
	if err := r.Set("threshold", "1e-9 for l3"); err == nil {
		t.Error("a threshold was given for a loss that there is not")
	}
}

// A restart after the loss was changed has the threshold suspended still.
func TestARestartKeepsAThresholdSuspended(t *testing.T) {
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(converging, "max_iterations=2")...), Linger: true})
	until(t, a, "the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
	set(t, r, "loss", "l2")
	set(t, r, "max_iterations", "20")
	restart(t, r)
	s := until(t, a, "the end of the next", func(s *profiles.Snapshot) bool {
		return s.Run.PriorStarts == 1 && s.State == profiles.Finished
	})
	if len(s.Results) == 0 || slices.ContainsFunc(s.Results, func(r profiles.UnitResult) bool { return r.Converged }) {
		t.Errorf("samples under a suspended threshold: %+v", s.Results)
	}
}
