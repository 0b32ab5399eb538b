package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Kind is what a task does.
type Kind uint8

// The kinds of tasks, one for each of CytoDL's two scripts.
const (
	Training Kind = iota
	Inference
)

var kindNames = [...]string{Training: "training", Inference: "inference"}

// String returns "training" or "inference".
func (k Kind) String() string { return kindNames[k] }

// The trainers of the documents, and DDPSim, CytoDL's simulation of two devices on a CPU.
const (
	GPU    = "gpu"
	CPU    = "cpu"
	DDP    = "ddp"
	DDPSim = "ddp_sim"
)

// The experiments that this engine has, by the names of CytoDL's configurations.
const (
	Segmentation = "im2im/segmentation"
	LabelFree    = "im2im/labelfree"
)

// Task is a row of a list of tasks, checked.
type Task struct {
	Kind       Kind
	Line       int    // of the file, where the row begins, from 1
	Branch     string // as written
	Variant    string // name of the variant; empty if Branch is a git branch
	Experiment string // Segmentation or LabelFree; as written for a git branch
	Trainer    string
	Epochs     int // of a training
	Batch      int
	Checkpoint string // of an inference; may be empty
	Data       string // of an inference; empty for the experiment's own
	Command    string // that runs the task on a git branch; empty for that of the flag
	Limits     Limits
	Overrides  []Override
	Row        Row
}

// Limits bound the batches of a task. 0 is all.
type Limits struct {
	Train      int // a training's batches of an epoch
	Validation int // a training's batches of a validation
	Predict    int // an inference's batches
}

// DefaultLimits are those that CytoDL's scripts set without a word in their documents. They
// decide every number.
func DefaultLimits() Limits { return Limits{Train: 10, Validation: 5, Predict: 10} }

// Override is an entry of the column overrides.
type Override struct {
	Key          string // for a variant without Hydra's +
	Value        string // without quotes around it; for a variant as Setting has it
	Raw          string // as written, key=value
	Setting      string // key of the setting that it sets; empty for a git branch
	Line, Column int    // of the file, in bytes, from 1
}

// Setting is a value of a setting, by the keys of this package.
type Setting struct{ Key, Value string }

// Keys of the settings that tasks set. Their values are as in a preset.
const (
	ExperimentSetting   = "experiment"          // "segmentation" or "labelfree"
	TrainerSetting      = "trainer"             // "cpu", "ddp_sim", "gpu" or "ddp"
	EpochsSetting       = "epochs"              // number
	BatchSetting        = "batch"               // number
	LimitTrainSetting   = "limit_train_batches" // number, 0 is all, as are the two below
	LimitValSetting     = "limit_val_batches"
	LimitPredictSetting = "limit_predict_batches"
	WorkersSetting      = "workers"            // number of loading workers, 0 is the loop itself
	PrefetchSetting     = "prefetch"           // number of batches loaded ahead, of a worker
	PersistentSetting   = "persistent_workers" // "true": workers outlive an epoch
	AMPSetting          = "amp"                // "off" or "bf16"
	ProfileSetting      = "layer_profile"      // "true": time every layer
	AugmentSetting      = "augment"            // "true" or "false"
	LearningRateSetting = "learning_rate"      // number
	SeedSetting         = "seed"               // number
	AxesSetting         = "axes"               // "3" for volumes, "2" for planes
	PatchSetting        = "patch"              // "16x32x32"
	OverlapSetting      = "overlap"            // of windows, 0 to below 1
	WindowBatchSetting  = "window_batch"       // windows computed at a time
)

// Name identifies a task to people: branch and experiment.
func (t *Task) Name() string { return t.Branch + " " + t.Experiment }

// Settings returns what a task sets, each key once: the variant's settings, the columns, the
// limits, and the overrides, which win. Data and Checkpoint are paths for who runs the task.
func (t *Task) Settings() []Setting {
	var all []Setting
	set := func(key, value string) {
		for i := range all {
			if all[i].Key == key {
				all[i].Value = value
				return
			}
		}
		all = append(all, Setting{key, value})
	}
	if v, err := VariantOf(t.Variant); err == nil {
		for _, s := range v.Settings {
			set(s.Key, s.Value)
		}
	}
	set(ExperimentSetting, strings.TrimPrefix(t.Experiment, group))
	set(TrainerSetting, t.Trainer)
	set(BatchSetting, strconv.Itoa(t.Batch))
	if t.Kind == Training {
		set(EpochsSetting, strconv.Itoa(t.Epochs))
		set(LimitTrainSetting, strconv.Itoa(t.Limits.Train))
		set(LimitValSetting, strconv.Itoa(t.Limits.Validation))
	} else {
		set(LimitPredictSetting, strconv.Itoa(t.Limits.Predict))
	}
	for i := range t.Overrides {
		if o := &t.Overrides[i]; o.Setting != "" && !ofColumn(o.Setting) {
			set(o.Setting, o.Value)
		}
	}
	return all
}

// CheckFiles checks that the files of a task exist. The error names the column.
func (t *Task) CheckFiles() error {
	for _, f := range []struct{ column, path, right string }{
		{checkpointColumn, t.Checkpoint, "must be the weights of a training"},
		{dataColumn, t.Data, "must be a file or folder of images, or empty for the experiment's own data"},
	} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			what := err.Error()
			if os.IsNotExist(err) {
				what = fs.ErrNotExist.Error()
			}
			return fmt.Errorf("%s %q (column %s): %s: %s", title(f.column), f.path, f.column, what, f.right)
		}
	}
	return nil
}

// title names a column of paths in a sentence.
func title(column string) string {
	if column == checkpointColumn {
		return "checkpoint"
	}
	return "data"
}

// Row is a row as written, in the order of its columns.
type Row []Cell

// Cell is a value of a row.
type Cell struct{ Column, Value string }

// MarshalJSON writes an object with the columns in order.
func (r Row) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, c := range r {
		if i > 0 {
			b = append(b, ',')
		}
		for j, text := range []string{c.Column, c.Value} {
			quoted, err := json.Marshal(text)
			if err != nil {
				return nil, err
			}
			if j == 1 {
				b = append(b, ':')
			}
			b = append(b, quoted...)
		}
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads an object of strings, in its order. Other values are kept as their JSON.
func (r *Row) UnmarshalJSON(data []byte) error {
	*r = nil
	if string(data) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("task_config: must be an object of columns and cells")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		c := Cell{Column: fmt.Sprint(name), Value: string(value)}
		var text string
		if json.Unmarshal(value, &text) == nil {
			c.Value = text
		}
		*r = append(*r, c)
	}
	return nil
}
