package sweep

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
)

// shelves are those of a workload of three settings.
var shelves = func() preset.Shelves {
	table := settings.NewTable("test", nil,
		settings.Switch("How", "fused", ""), settings.Integer("How", "latent", "", "", 1, 512), settings.Integer("How", "seed", "", "", 0, 1000),
		settings.IterationLimit("How"), settings.TimeLimit("How"))
	return preset.Shelves{{Table: table, Default: "plain", Files: fstest.MapFS{
		"plain.toml": {Data: []byte("description = \"\"\nfused = false\nlatent = 8\nseed = 3\nmax_iterations = 0\nmax_seconds = 0\n")},
		"quick.toml": {Data: []byte("description = \"\"\nbase = \"plain\"\nmax_iterations = 10\n")},
	}}}
}()

const good = `
folder = "sw"            # shared
replicates = 2
turn = "1s"
reference = "fused"
[base]
preset = "quick"
max_iterations = 200
[[arm]]
name = "plain"
[[arm]]
name = "fused"
set = { fused = true, latent = 16 }
[[arm]]
name = "other"
program = "./old"
[[arm]]
name = "torch"
python = "train.py --lr '0.1 2'"
[[arm]]
name = "suite"
command = ["bench", "all"]
[slurm]
time = "1:00:00"
cpus_per_task = 2
`

func TestAPlanIsRead(t *testing.T) {
	p, err := Parse("sw.toml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(shelves); err != nil {
		t.Fatal(err)
	}
	if p.Folder != "sw" || p.Replicates != 2 || p.Pairing != Apart || p.Reference != "fused" || p.Turn != time.Second || len(p.Arms) != 5 {
		t.Errorf("%+v", p)
	}
	v, err := p.Settings(&p.Arms[1], shelves)
	if err != nil || v.Int("max_iterations") != 200 || !v.On("fused") || v.Int("latent") != 16 {
		t.Errorf("%v, %v", v, err)
	}
	if got := p.Arms[3].Python; !slices.Equal(got, []string{"train.py", "--lr", "0.1 2"}) {
		t.Errorf("%q", got)
	}
	if want := []settings.Assignment{{Key: "cpus-per-task", Value: "2"}, {Key: "time", Value: "1:00:00"}}; !slices.Equal(p.Slurm, want) {
		t.Errorf("%v, want %v", p.Slurm, want)
	}
	for i, want := range []string{"settings", "settings", "program", "python", "command"} {
		if got := p.Arms[i].Kind(); got != want {
			t.Errorf("arm %d is of %s, want %s", i+1, got, want)
		}
	}
}

// Every error names the line and the key.
func TestWhatIsWrongWithAPlanHasItsPlace(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"replicates = 2", "replicates = \"2\"", "plan sw.toml, line 3: replicates: "},
		{"replicates = 2", "replicates = 1001", "line 3: replicates: 1001: must be from 1 to 1000"},
		{"replicates = 2", "replicate = 2", "line 3: replicate: no such key, did you mean replicates?"},
		{"folder = \"sw\"", "", "folder: is missing"},
		{"turn = \"1s\"", "budget = \"1 hour\"", "line 4: budget: \"1 hour\": must be a time"},
		{"reference = \"fused\"", "reference = \"none\"", "line 5: reference: \"none\": must be the name of an arm"},
		{"preset = \"quick\"", "preset = \"quik\"", "line 7: base.preset: preset \"quik\": unknown, did you mean quick?"},
		{"max_iterations = 200", "max_iteration = 200", "line 8: base.max_iteration: "},
		{"max_iterations = 200", "max_iterations = -1", "line 8: base.max_iterations: "},
		{"name = \"plain\"", "nam = \"plain\"", "line 10: arm[1].nam: no such key, did you mean name?"},
		{"name = \"plain\"", "name = \"fused\"", "arm[2].name: \"fused\": another arm has it"},
		{"name = \"plain\"", "name = \"a/b\"", "line 10: arm[1].name: \"a/b\": must be letters"},
		{"fused = true, latent", "fuse = true, latent", "line 13: arm[2].set.fuse: "},
		{"fused = true, latent = 16", "fused = true, latent = 1024", "line 13: arm[2].set.latent: "},
		{"fused = true, latent = 16", "fused = [[1]], latent = 16", "line 13: arm[2].set.fused: must be a value"},
		{"program = \"./old\"", "program = \"./old\"\npython = \"a.py\"", "line 17: arm[3].python: cannot be joined with program"},
		{"python = \"train.py", "python = \"train.py '", "arm[4].python: a quote is open"},
		{"cpus_per_task = 2", "array = 2", "slurm.array: the sweep gives it itself"},
		{"[[arm]]\nname = \"plain\"", "[[arm]\nname = \"plain\"", "plan sw.toml, line 9: "},
		{"turn = \"1s\"", "pairing = \"yes\"", "line 4: pairing: \"yes\": must be none or turns"},
		{"turn = \"1s\"", "pairing = \"turns\"", "cannot run by turns"},
		{"turn = \"1s\"", "budget = \"1h\"", "line 4: budget: arm \"suite\" is a command"},
		{"set = { fused", "continues = true\nset = { fused", "line 13: arm[2].continues: needs python"},
		{"python = \"train.py", "continues = true\npython = \"train.py", "arm[4].continues: cannot be joined with max_iterations"},
		{"python = \"train.py", "continues = 1\npython = \"train.py", "arm[4].continues: 1: must be true or false"},
		{"name = \"plain\"\n[[arm]]\nname = \"fused\"", "name = \"plain\"\npair = \"x\"\n[[arm]]\nname = \"fused\"\npair = \"x\"\npython = \"a.py\"", "line 4: turn: cannot be joined with Python programs"},
	} {
		if !strings.Contains(good, c.from) {
			t.Fatalf("the plan has no %q", c.from)
		}
		text := strings.Replace(good, c.from, c.to, 1)
		if strings.Contains(c.to, "pair =") {
			text = strings.Replace(text, "set = { fused = true, latent = 16 }\n", "", 1)
		}
		p, err := Parse("sw.toml", []byte(text))
		if err == nil {
			err = p.Check(shelves)
		}
		var placed *Error
		if !errors.As(err, &placed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

func TestAGridIsEveryCombination(t *testing.T) {
	p, err := Parse("", []byte("folder = \"sw\"\n[grid]\nlatent = [8, 16]\nfused = [true, false]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(shelves); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range p.Arms {
		names = append(names, a.Name)
	}
	if want := []string{"latent=8,fused=true", "latent=8,fused=false", "latent=16,fused=true", "latent=16,fused=false"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	p, err = Parse("sw.toml", []byte("folder = \"sw\"\n[grid]\nlatent = [8, 0]\n"))
	if err == nil {
		err = p.Check(shelves)
	}
	if err == nil || !strings.Contains(err.Error(), "line 3: grid") {
		t.Errorf("%v, want the line of the list", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte("[[a.b]]\n[a.b.c]\nd = {e = 1, f = {g = 2}}\n[[a.b]]\n"))
	f.Add([]byte("arm = [1]\n[grid]\nx = [[1]]"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if p, err := Parse("plan", text); err == nil {
			_ = p.Check(shelves)
		}
	})
}
