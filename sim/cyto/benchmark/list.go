package benchmark

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto/experiment"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/cyto/tasks/branches"
	"prismtop/sim/workload"
)

// lists are the lists of tasks that run without a file of the user's.
//
//go:embed lists/*.csv
var lists embed.FS

// mostTasks is the number of tasks that have kinds of iterations of their own in a record,
// beside the preparation.
const mostTasks = 255

// Inputs are the tasks of a list.
type Inputs struct {
	name     string
	list     []tasks.Task
	external bool // some are of git branches
}

// Name returns what the list is named after.
func (i Inputs) Name() string { return i.name }

// readList reads and checks the list of the settings.
func (m Maker) readList(ctx context.Context, v settings.Values) (Inputs, error) {
	path := v.Text(listKey)
	in := Inputs{name: "variants"}
	var from io.Reader
	if path == "" {
		path = "lists/" + v.Text(kindKey) + ".csv"
		f, err := lists.Open(path)
		if err != nil {
			return in, err
		}
		defer f.Close()
		from = f
	} else {
		in.name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		data, err := inputfile.Read(ctx, path, tasks.MaxFile)
		if err != nil {
			return in, &settings.KeyError{Key: listKey, Err: fmt.Errorf("%s: %w: must be a list of tasks", path, err)}
		}
		from = strings.NewReader(string(data))
	}
	read := tasks.ReadTraining
	if kindOf(v) == tasks.Inference {
		read = tasks.ReadInference
	}
	base, err := experiments(v)
	if err != nil {
		return in, err
	}
	in.list, err = read(from, path, tasks.ReadOptions{Repository: v.Text(repoKey) != "",
		CheckCommand: branches.CheckCommand, Check: func(key, value string) error {
			if key == tasks.TrainerSetting {
				return nil
			}
			_, err := base.Set(key, value)
			return err
		}})
	if err != nil {
		return in, err
	}
	if len(in.list) > mostTasks {
		return in, fmt.Errorf("%s: %d tasks: must be at most %d", path, len(in.list), mostTasks)
	}
	for i := range in.list {
		t := &in.list[i]
		if t.Variant == "" {
			in.external = true
			continue
		}
		if _, err := of(base, t, ""); err != nil {
			return in, fmt.Errorf("%s:%d: %s: %w", path, t.Line, t.Name(), err)
		}
	}
	return in, nil
}

// The settings of tasks that their lists do not name, besides those of a preset: CytoDL's.
var (
	ofTraining  = []settings.Assignment{{Key: "learning_rate", Value: "0.0001"}, {Key: "window_batch", Value: "1"}}
	ofInference = []settings.Assignment{
		{Key: "window_batch", Value: "1"}, {Key: "passes", Value: "1"}, {Key: "weights", Value: "seeded"},
		{Key: "held_out", Value: "64"}, {Key: "depth", Value: "16"}, {Key: "side", Value: "64"},
	}
)

// experiments returns the settings of an experiment before those of its task.
func experiments(v settings.Values) (settings.Values, error) {
	name, more := "cyto-train", ofTraining
	if kindOf(v) == tasks.Inference {
		name, more = "cyto-predict", ofInference
	}
	p, err := preset.Shelves{experiment.Presets()}.Lookup(name)
	if err != nil {
		return settings.Values{}, err
	}
	more = append(more[:len(more):len(more)], settings.Assignment{Key: settings.Threads,
		Value: v.Get(settings.Threads)}, settings.Assignment{Key: "kernels", Value: v.Get("kernels")})
	return p.Settings.With(more...)
}

// of returns the settings of a task, whose predictions go to a folder unless that is empty; those of its trainer come
// from onProcessor.
func of(base settings.Values, t *tasks.Task, folder string) (settings.Values, error) {
	v := base
	for _, s := range t.Settings() {
		if s.Key == tasks.TrainerSetting {
			continue
		}
		var err error
		if v, err = v.Set(s.Key, s.Value); err != nil {
			return v, err
		}
	}
	if t.Data != "" {
		var err error
		if v, err = v.Set("data", t.Data); err != nil {
			return v, err
		}
	}
	if folder != "" {
		var err error
		if v, err = v.With(settings.Assignment{Key: filesKey, Value: folder},
			settings.Assignment{Key: tasks.LimitPredictSetting, Value: "0"}); err != nil {
			return v, err
		}
	}
	return v, v.Validate()
}

// filesOf returns the folder for the predictions of a task, empty for none.
func (b *benchmark) filesOf(index int) string {
	folder, t := b.values.Text(filesKey), &b.list[index]
	if folder == "" || t.Kind != tasks.Inference {
		return ""
	}
	return filepath.Join(folder, fmt.Sprintf("%d-%s-%s", index+1, t.Variant, filepath.Base(t.Experiment)))
}

// unavailableError reports that this machine lacks what a task needs.
type unavailableError struct{ reason string }

func (e unavailableError) Error() string { return e.reason }

// simulated is the number of replicas of the trainer ddp_sim, and of ddp without GPUs.
const simulated = "2"

// onProcessor returns the settings of a task on the processor, and a warning if its trainer names a GPU.
func onProcessor(v settings.Values, trainer string, fallback bool) (on settings.Values, warning string, err error) {
	replicas := "1"
	switch trainer {
	case tasks.DDPSim:
		replicas = simulated
	case tasks.GPU, tasks.DDP:
		if !fallback {
			return v, "", unavailableError{fmt.Sprintf("trainer %s is not available: %s; its time would not be that of a processor: trainer cpu, or --cpu-fallback, which is labelled", trainer, workload.NoKernels)}
		}
		warning = fmt.Sprintf("trainer %s is not available: %s; computed on the processor", trainer, workload.NoKernels)
		if trainer == tasks.DDP {
			replicas = simulated
		}
	}
	on, err = v.With(settings.Assignment{Key: settings.Device, Value: "cpu"},
		settings.Assignment{Key: "replicas", Value: replicas})
	if err == nil {
		err = on.Validate()
	}
	return on, warning, err
}

// errCancelled ends a round of a task that the user cancelled, and errInterrupted one that
// the end of the run cut short.
var (
	errCancelled   = errors.New("cancelled")
	errInterrupted = errors.New("interrupted")
)
