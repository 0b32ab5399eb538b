package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// trained reads a list of trainings, and fails the test on an error.
func trained(t *testing.T, text string, o ReadOptions) []Task {
	t.Helper()
	all, err := ReadTraining(strings.NewReader(text), "tasks.csv", o)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// values are a task's settings by key.
func values(t *Task) map[string]string {
	all := map[string]string{}
	for _, s := range t.Settings() {
		all[s.Key] = s.Value
	}
	return all
}

const header = "branch,experiment,trainer,max_epochs,batch_size,overrides\n"

func TestTheDocumentsListsAreRead(t *testing.T) {
	variants := []string{"main", "phase1", "phase2", "phase3", "phase4", "combined"}
	for _, c := range []struct {
		folder, file string
		read         func(*os.File, string) ([]Task, error)
		want         string // of every task
	}{
		{"testdata", "train_tasks.csv", func(f *os.File, n string) ([]Task, error) { return ReadTraining(f, n, ReadOptions{}) }, "training im2im/segmentation gpu 5 8  "},
		{"testdata", "inference_tasks.csv", func(f *os.File, n string) ([]Task, error) { return ReadInference(f, n, ReadOptions{}) }, "inference im2im/segmentation gpu 0 16 path/to/checkpoint.ckpt path/to/data"},
		{"../../../docs/cyto", "train_tasks.csv", func(f *os.File, n string) ([]Task, error) { return ReadTraining(f, n, ReadOptions{}) }, "training im2im/segmentation cpu 5 8  "},
		{"../../../docs/cyto", "inference_tasks.csv", func(f *os.File, n string) ([]Task, error) { return ReadInference(f, n, ReadOptions{}) }, "inference im2im/segmentation cpu 0 16  "},
	} {
		f, err := os.Open(filepath.Join(c.folder, c.file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all, err := c.read(f, c.file)
		if err != nil || len(all) != len(variants) {
			t.Fatalf("%s: %d tasks, %v", c.file, len(all), err)
		}
		for i, task := range all {
			got := fmt.Sprint(task.Kind, " ", task.Experiment, " ", task.Trainer, " ", task.Epochs, " ", task.Batch, " ", task.Checkpoint, " ", task.Data)
			if got != c.want || task.Variant != variants[i] || task.Line != i+3 || task.Limits != (Limits{10, 5, 10}) {
				t.Errorf("%s: %q, variant %q, line %d, %+v", c.file, got, task.Variant, task.Line, task.Limits)
			}
		}
	}
}

func TestMissingCellsAndColumnsHaveDefaults(t *testing.T) {
	for _, text := range []string{
		"branch,experiment\nmain,segmentation\n",
		"experiment,branch\nsegmentation,main\n",
		header + "main,im2im/segmentation,,,,\n",
		header + "main,im2im/segmentation\n",
		"\xef\xbb\xbf# a comment\r\n\r\n" + strings.ReplaceAll(header, "\n", "\r\n") + ",,,,,\r\n# one, \"more\r\n#main,x\r\n main , segmentation \r\n",
		"Branch, Experiment ,\nmain,segmentation,\n",
	} {
		all := trained(t, text, ReadOptions{})
		if len(all) != 1 {
			t.Fatalf("%q: %d tasks", text, len(all))
		}
		got := all[0]
		if got.Branch != "main" || got.Experiment != Segmentation || got.Trainer != GPU || got.Epochs != 5 || got.Batch != 8 || got.Limits != DefaultLimits() || len(got.Overrides) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestBothNamesOfTheExperimentsAreRead(t *testing.T) {
	for name, want := range map[string]string{
		"im2im/segmentation": Segmentation, "segmentation": Segmentation,
		"im2im/labelfree": LabelFree, "im2im/label_free": LabelFree, "labelfree": LabelFree, "label_free": LabelFree,
	} {
		if got := trained(t, header+"main,"+name+",cpu,1,1,\n", ReadOptions{})[0]; got.Experiment != want || values(&got)[ExperimentSetting] != want[len("im2im/"):] {
			t.Errorf("%s: %s", name, got.Experiment)
		}
	}
}

// Three of the faults that stop CytoDL's scripts are in what they pass on of a row
// (spec/ptycho-cyto.md §B1.6): the name of the experiment with its group, the group
// "datamodule", which does not exist, and limits without "+". A fourth is the sections _aux,
// which overrides name. Here each reaches its setting. The adapter's tests have them, too, and
// the other two.
func TestTheFaultsOfTheScriptsRows(t *testing.T) {
	task := trained(t, header+"main,im2im/segmentation,cpu,5,8,\"datamodule.batch_size=2,trainer.limit_train_batches=4,trainer.limit_val_batches=3,data._aux.patch_shape=[8,16,16]\"\n", ReadOptions{})[0]
	got := values(&task)
	for key, want := range map[string]string{ExperimentSetting: "segmentation", BatchSetting: "2", LimitTrainSetting: "4", LimitValSetting: "3", PatchSetting: "8x16x16", EpochsSetting: "5"} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
}

// Overrides are split at commas outside quotes and brackets, in one cell or over the rest of
// the row; each sets a setting.
func TestOverridesSetSettings(t *testing.T) {
	for cell, want := range map[string]string{
		``:                                "",
		`datamodule.batch_size=4`:         "batch=4",
		`"data.batch_size=4"`:             "batch=4",
		`++trainer.limit_train_batches=3`: "limit_train_batches=3",
		`trainer.limit_train_batches=1.0`: "limit_train_batches=0",
		`"trainer.limit_val_batches=2,workers=3"`:     "limit_val_batches=2 workers=3",
		`trainer.limit_val_batches=2,workers=3,`:      "limit_val_batches=2 workers=3",
		`"data._aux.patch_shape=[8,16,16],seed=7"`:    "patch=8x16x16 seed=7",
		`"data._aux.patch_shape=[8, 16, 16], seed=7"`: "patch=8x16x16 seed=7",
		`patch=[8,16,16],seed=7`:                      "patch=8x16x16 seed=7",
		`patch=[8, 16, 16] , seed=7`:                  "patch=8x16x16 seed=7",
		`seed=7,"patch=[8,16,16]"`:                    "patch=8x16x16 seed=7",
		`patch=medium`:                                "patch=16x64x64",
		`patch=64x64`:                                 "patch=64x64",
		`trainer.precision=16`:                        "amp=bf16",
		`trainer.precision=32-true`:                   "amp=off",
		`"trainer.precision=""bf16-mixed"""`:          "amp=bf16",
		`trainer.precision='bf16-mixed'`:              "amp=bf16",
		`data.persistent_workers=True`:                "persistent_workers=true",
		`model.optimizer.generator.lr=1e-3`:           "learning_rate=0.001",
		`model.inference_args.overlap=0.50`:           "overlap=0.5",
		`model.inference_args.sw_batch_size=4`:        "window_batch=4",
		`spatial_dims=2`:                              "axes=2",
		`trainer.max_epochs=2,trainer=cpu`:            "epochs=2 trainer=cpu",
		`augment=no`:                                  "augment=false",
	} {
		task := trained(t, header+"main,segmentation,ddp,5,8,"+cell+"\n", ReadOptions{})[0]
		got := values(&task)
		for _, w := range strings.Fields(want) {
			key, value, _ := strings.Cut(w, "=")
			if got[key] != value {
				t.Errorf("%s: %s is %q, want %q", cell, key, got[key], value)
			}
		}
		if n := len(strings.Fields(want)); len(task.Overrides) != n {
			t.Errorf("%s: %d overrides, want %d: %+v", cell, len(task.Overrides), n, task.Overrides)
		}
	}
}

// The overrides of the documents' columns are fields of the task, too: the last one wins, as
// on CytoDL's command line.
func TestOverridesOfColumnsWin(t *testing.T) {
	task := trained(t, header+"phase3,segmentation,ddp,5,8,\"batch=2,epochs=3,trainer=ddp_sim,workers=1,workers=2\"\n", ReadOptions{})[0]
	if task.Batch != 2 || task.Epochs != 3 || task.Trainer != DDPSim || values(&task)[WorkersSetting] != "2" || values(&task)[BatchSetting] != "2" {
		t.Errorf("%+v", task)
	}
	seen := map[string]bool{}
	for _, s := range task.Settings() {
		if seen[s.Key] {
			t.Errorf("%s twice", s.Key)
		}
		seen[s.Key] = true
	}
}

// The row is kept as it was, in the order of its columns.
func TestRowsAreKept(t *testing.T) {
	text := "experiment,branch,overrides,batch_size\n"
	task := trained(t, "experiment,overrides,branch,batch_size\n\"im2im/label_free\",\"seed=1,x=\"\"2\"\"\",main,4\n", ReadOptions{Check: func(string, string) error { return nil }, Repository: true})[0]
	got, err := json.Marshal(task.Row)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"experiment":"im2im/label_free","overrides":"seed=1,x=\"2\"","branch":"main","batch_size":"4"}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var back Row
	if err := json.Unmarshal(got, &back); err != nil || !slices.Equal(back, task.Row) {
		t.Errorf("%v, %v", back, err)
	}
	many := trained(t, text+"segmentation,main,,2\n", ReadOptions{})[0]
	if len(many.Row) != 4 {
		t.Errorf("%v", many.Row)
	}
	spilled := trained(t, header+"main,segmentation,cpu,1,1,seed=1,workers=2\n", ReadOptions{})[0]
	if got := spilled.Row[5].Value; got != "seed=1,workers=2" {
		t.Errorf("overrides are %q", got)
	}
}

// Every mistake has its file, line, column and what would be right.
func TestMistakesSayWhereAndWhatIsRight(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "tasks.csv:1: no header: must be branch,experiment,trainer,max_epochs,batch_size,overrides"},
		{"# nothing\n", "tasks.csv:1: no header"},
		{header, "tasks.csv:2: no tasks"},
		{"branch,trainer\nmain,cpu\n", "tasks.csv:1:1: no column experiment"},
		{"experiment\nx\n", "tasks.csv:1:1: no column branch"},
		{"branch,experiment,batchsize\n", `tasks.csv:1:19: unknown column "batchsize": must be one of branch`},
		{"branch,experiment,branch\n", "tasks.csv:1:19: column branch twice"},
		{"branch,experiment,checkpoint_path\n", `tasks.csv:1:19: column "checkpoint_path" is of inference tasks`},
		{"branch,model,data_config\n", `column "model" is of an older form`},
		{header + "main,segmentation,tpu,1,1,\n", `tasks.csv:2:19: column trainer: "tpu": must be gpu, cpu, ddp or ddp_sim`},
		{header + "main,segmentation,cpu,0,1,\n", `tasks.csv:2:23: column max_epochs: "0": must be a whole number from 1`},
		{header + "main,segmentation,cpu,1,eight,\n", `tasks.csv:2:25: column batch_size: "eight": must be a whole number`},
		{header + "main,segmentation,cpu,1,1.5,\n", `column batch_size: "1.5"`},
		{header + "main,gan,cpu,1,1,\n", `tasks.csv:2:6: column experiment: "gan" is an experiment of CytoDL that this engine does not have`},
		{header + "main,segment,cpu,1,1,\n", `"segment": must be im2im/segmentation or im2im/labelfree`},
		{header + "main,,cpu,1,1,\n", "column experiment: empty"},
		{header + ",segmentation,cpu,1,1,\n", "tasks.csv:2:1: column branch: empty: must name a variant or branch, or the whole row be empty"},
		{header + "phase-branch-name,segmentation,gpu,5,8,\n", `variant "phase-branch-name": must be main, phase1, phase2, phase3, phase4 or combined`},
		{header + "main,segmentation,cpu,1,1,custom_override=value\n", `tasks.csv:2:27: column overrides: custom_override: has no counterpart in this engine`},
		{header + "main,segmentation,cpu,1,1,\"seed=1, batch=x\"\n", `tasks.csv:2:36: column overrides: batch: "x": must be a whole number`},
		{header + "main,segmentation,cpu,1,1,patch=[1,2,seed=1\n", "tasks.csv:2:33: column overrides: '[' is not closed"},
		{header + "main,segmentation,cpu,1,1, patch=[8,16] , batch=x\n", `tasks.csv:2:43: column overrides: batch: "x"`},
		{header + "main,segmentation,cpu,1,1,seed=1,batch=x\n", `tasks.csv:2:34: column overrides: batch: "x"`},
		{header + "main,segmentation,cpu,1,1,\"seed=1,\nbatch=x\"\n", `tasks.csv:3:1: column overrides: batch: "x"`},
		{header + "main,segmentation,cpu,1,1,seed\n", `"seed": must be key=value`},
		{header + "main,segmentation,cpu,1,1,=1\n", `"=1": the key must be a name`},
		{header + "main,segmentation,cpu,1,1,~seed=1\n", "settings cannot be removed"},
		{header + "main,segmentation,cpu,1,1,\"seed=1,,batch=2\"\n", "nothing between two commas"},
		{header + "main,segmentation,cpu,1,1,\"patch=[1,2\"\n", `tasks.csv:2:34: column overrides: '[' is not closed`},
		{header + "main,segmentation,cpu,1,1,\"patch=1)\"\n", `')' closes no bracket`},
		{header + "main,segmentation,cpu,1,1,\"patch='1\"\n", "the quote ' is not closed"},
		{header + "main,segmentation,cpu,1,1,patch=[1]\n", "must be the sides of a patch"},
		{header + "main,segmentation,cpu,1,1,trainer.devices=2\n", "must be in the column trainer"},
		{header + "main,segmentation,cpu,1,1,data.path=x\n", "must be in the column data_path"},
		{header + "main,segmentation,cpu,1,1,data.pin_memory=true\n", "pinned memory"},
		{header + "main,segmentation,cpu,1,1,trainer.limit_train_batches=0.5\n", "must be a number of batches from 1, or 1.0 for all"},
		{header + "main,segmentation,cpu,1,1,limit_predict_batches=3\n", "is of inference tasks"},
		{header + "main,segmentation,cpu,1,1,trainer=mps\n", `"mps": must be gpu, cpu, ddp or ddp_sim`},
		{header + "main,seg\"mentation,cpu,1,1,\n", "tasks.csv:2:9: bare \" in non-quoted-field"},
		{header + "main,segmentation,cpu,1,1,\"seed=1\n", "must stand in double quotes"},
		{"branch,experiment\nmain,segmentation,cpu\n", "tasks.csv:2:19: 3 cells, the header has 2"},
		{header + "main,\xff,cpu,1,1,\n", "tasks.csv:2:6: a character that is no text: must be UTF-8"},
		{"\xff\xfeb", "is in UTF-16: must be in UTF-8"},
		{strings.Repeat("#", MaxFile+1), "is larger than"},
		{"branch,experiment,command\nmain,segmentation,make\n", "column command: a variant runs in this program"},
	} {
		all, err := ReadTraining(strings.NewReader(c.text), "tasks.csv", ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || len(all) > 0 {
			t.Errorf("%.80q: %v, want %q", c.text, err, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"branch,experiment,max_epochs\n", `column "max_epochs" is of training tasks`},
		{"branch,experiment,trainer\nmain,segmentation,ddp\n", `"ddp": must be gpu or cpu`},
		{"branch,experiment,overrides\nmain,segmentation,epochs=3\n", "is of training tasks"},
		{"branch,experiment,data_path\nmain,segmentation,\"a\nb\"\n", "must be a path on one line"},
	} {
		if _, err := ReadInference(strings.NewReader(c.text), "tasks.csv", ReadOptions{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	_, err := ReadTraining(strings.NewReader(header+"none,gan,tpu,0,0,x=1\nmain,segmentation,cpu,1,1,\nmain,se\"g,cpu,1,1,\nmain,segmentation,cpu,1,-1,\n"), "tasks.csv", ReadOptions{})
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 8 {
		t.Fatalf("%v", err)
	}
	for i, at := range []string{"2:1:", "2:6:", "2:10:", "2:14:", "2:16:", "2:18:", "4:8:", "5:25:"} {
		if !strings.HasPrefix(faults[i].Error(), "tasks.csv:"+at) {
			t.Errorf("%v, want at %s", faults[i], at)
		}
	}
	_, err = ReadTraining(strings.NewReader(header+"main,segmentation,"+strings.Repeat("é", 1<<16)+",1,1,\n"), "tasks.csv", ReadOptions{})
	if text := fmt.Sprint(err); len(text) > 1000 || !strings.HasPrefix(text, `tasks.csv:2:19: column trainer: "éé`) || !strings.HasSuffix(text, "must be gpu, cpu, ddp or ddp_sim") {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
	_, err = ReadTraining(strings.NewReader(header+strings.Repeat("none,segmentation,cpu,1,1,\n", 30)), "tasks.csv", ReadOptions{})
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != mostFaults+1 || lines[mostFaults] != "tasks.csv:22 and below: 10 more mistakes" {
		t.Errorf("%v", err)
	}
}

// A caller's check sees the settings, and knows names of its own.
func TestSettingsAreChecked(t *testing.T) {
	check := func(key, value string) error {
		if key == "winograd" && value == "on" || key == BatchSetting {
			return nil
		}
		return fmt.Errorf("%s=%s: must be known", key, value)
	}
	all := trained(t, header+"main,segmentation,cpu,1,1,\"winograd=on,batch=3\"\n", ReadOptions{Check: check})
	if got := values(&all[0]); got["winograd"] != "on" || got[BatchSetting] != "3" {
		t.Errorf("%v", got)
	}
	for _, cell := range []string{"winograd=perhaps", "seed=2", "other.name=1"} {
		if _, err := ReadTraining(strings.NewReader(header+"main,segmentation,cpu,1,1,"+cell+"\n"), "tasks.csv", ReadOptions{Check: check}); err == nil {
			t.Errorf("%s is accepted", cell)
		}
	}
}

// With a repository, branches are git's, and what they know is theirs.
func TestBranchesOfARepositoryAreOpaque(t *testing.T) {
	o := ReadOptions{Repository: true}
	text := "branch,experiment,trainer,overrides,command\nfeature/x,im2im/gan,mps,\"++model.x=[1,2],~callbacks=1\",make bench\nvariant:phase1,segmentation,cpu,seed=3,\n"
	text = strings.Replace(text, ",~callbacks=1", "", 1)
	all := trained(t, text, o)
	if b := all[0]; b.Variant != "" || b.Experiment != "im2im/gan" || b.Trainer != "mps" || b.Command != "make bench" || len(b.Overrides) != 1 || b.Overrides[0].Raw != "++model.x=[1,2]" || b.Overrides[0].Setting != "" {
		t.Errorf("%+v", b)
	}
	if v := all[1]; v.Variant != "phase1" || values(&v)[AMPSetting] != "bf16" || values(&v)[SeedSetting] != "3" {
		t.Errorf("%+v", v)
	}
	for _, row := range []string{"-x,segmentation,cpu,,", "a..b,segmentation,cpu,,", "a b,segmentation,cpu,,", "x,--help,cpu,,", "x,segmentation,../cpu,,", "variant:none,segmentation,cpu,,", "a@{1},segmentation,cpu,,"} {
		if _, err := ReadTraining(strings.NewReader("branch,experiment,trainer,overrides,command\n"+row+"\n"), "tasks.csv", o); err == nil {
			t.Errorf("%s is accepted", row)
		}
	}
}

func TestFilesOfTasksAreChecked(t *testing.T) {
	there := filepath.Join(t.TempDir(), "weights.npz")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ checkpoint, data, want string }{
		{"", "", ""},
		{there, filepath.Dir(there), ""},
		{"path/to/checkpoint.ckpt", "", `checkpoint "path/to/checkpoint.ckpt" (column checkpoint_path): file does not exist: must be the weights of a training`},
		{there, "path/to/data", `data "path/to/data" (column data_path): file does not exist`},
	} {
		task := Task{Checkpoint: c.checkpoint, Data: c.data}
		if err := task.CheckFiles(); fmt.Sprint(err) == c.want || err == nil && c.want == "" {
			continue
		} else if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func FuzzTraining(f *testing.F) {
	f.Add(header + "main,im2im/segmentation,gpu,5,8,\n")
	f.Add(header + "phase3,labelfree,cpu,1,1,\"patch=[8,16,16],\nx='a,\"\"b'\"\n#c\n,,\n")
	f.Add("branch,experiment\n\"main\" ,\"se\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range []ReadOptions{{}, {Repository: true}} {
			all, err := ReadTraining(strings.NewReader(text), "tasks.csv", o)
			var faults Faults
			if errors.As(err, &faults) {
				lines := strings.Count(text, "\n") + 1
				for _, fault := range faults {
					if fault.Line < 1 || fault.Line > lines || fault.Message == "" {
						t.Fatalf("%+v of %d lines", fault, lines)
					}
				}
			}
			if err == nil && len(all) == 0 || err != nil && len(all) > 0 {
				t.Fatalf("%d tasks, %v", len(all), err)
			}
			lines := strings.Split(strings.TrimPrefix(text, "\xef\xbb\xbf"), "\n")
			for _, task := range all {
				if task.Batch < 1 || task.Epochs < 1 || task.Trainer == "" {
					t.Fatalf("%+v", task)
				}
				for _, p := range task.Overrides {
					// The place is that of the override, as far as it has no quotes that are doubled.
					if first := strings.SplitN(p.Raw, "\n", 2)[0]; !strings.Contains(first, `"`) && !strings.HasPrefix(lines[p.Line-1][p.Column-1:], strings.TrimRight(first, "\r")) {
						t.Fatalf("%q is not at %d:%d of %q", p.Raw, p.Line, p.Column, text)
					}
				}
				if _, err := json.Marshal(task.Row); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// A command that cannot be run is a mistake of the list, with its place.
func TestCommandsAreCheckedWithTheList(t *testing.T) {
	text := "branch,experiment,trainer,max_epochs,batch_size,overrides,command\nfast,im2im/segmentation,cpu,1,1,,make 'x\n"
	_, err := ReadTraining(strings.NewReader(text), "t.csv", ReadOptions{Repository: true, CheckCommand: func(text string) error { return fmt.Errorf("%s: a quote has no end", text) }})
	if err == nil || !strings.Contains(err.Error(), "t.csv:2:") || !strings.Contains(err.Error(), "make 'x: a quote has no end") {
		t.Errorf("%v", err)
	}
}
