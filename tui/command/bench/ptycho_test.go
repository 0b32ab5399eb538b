package bench

import (
	"strings"
	"testing"

	"prismtop/profiles/machine"
)

// Without a flag trials may use most of the memory that there is; where that is not known, the edge is
// refused before anything is measured.
func TestTheMemoryOfTrialsIsBounded(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory machine.Memory
		limit  int64
		source string
	}{
		{"a control group", machine.Memory{Total: 4000, Available: 3000, Limit: 1000}, 900, "90 % of the control group's limit"},
		{"what is available", machine.Memory{Total: 4000, Available: 3000}, 2700, "90 % of the available memory"},
		{"nothing known", machine.Memory{Total: 4000, Reason: "not read"}, 0, "unknown: not read"},
	} {
		for _, edge := range []bool{false, true} {
			f := ptychoFlags{}
			f.options.Edge = edge
			source, err := f.bound(c.memory)
			if refused := edge && c.limit == 0; refused != (err != nil) || source != c.source || f.options.Limit != c.limit {
				t.Errorf("%s, edge %v: %d bytes by %q, %v", c.name, edge, f.options.Limit, source, err)
			}
			if err != nil && !strings.Contains(err.Error(), "flag --edge: the memory that a trial may use is unknown: not read: must come with --memory-limit") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	f := ptychoFlags{}
	f.options.Limit, f.options.Edge = 700, true
	if source, err := f.bound(machine.Memory{Reason: "not read"}); err != nil || source != "flag" || f.options.Limit != 700 {
		t.Errorf("%d bytes by %q, %v", f.options.Limit, source, err)
	}
}
