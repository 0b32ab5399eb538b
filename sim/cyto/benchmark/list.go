package benchmark

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/cyto/tasks/branches"
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

// Tasks reads and checks the list of the settings.
func Tasks(ctx context.Context, v settings.Values) ([]tasks.Task, error) {
	in, err := readList(ctx, v)
	return in.list, err
}

// readList reads and checks the list of the settings.
func readList(ctx context.Context, v settings.Values) (Inputs, error) {
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
	if v.Text(listKey) == "" && strings.HasPrefix(v.Text(settings.Device), "cuda") {
		for i := range in.list {
			in.list[i].Trainer = tasks.GPU
		}
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
	p, err := preset.Shelves{im2im.Presets()}.Lookup(name)
	if err != nil {
		return settings.Values{}, err
	}
	more = append(more[:len(more):len(more)], settings.Assignment{Key: settings.Threads,
		Value: v.Get(settings.Threads)}, settings.Assignment{Key: "kernels", Value: v.Get("kernels")})
	return p.Settings.With(more...)
}

// of returns the settings of a task, whose predictions go to a folder unless that is empty; those of its trainer come
// from onTrainer.
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
func (b *benchmark) filesOf(index int) string { return b.kept(index, filesKey, tasks.Inference, "") }

// weightsOf returns the file for the weights of a training, empty for none.
func (b *benchmark) weightsOf(index int) string {
	return b.kept(index, weightsKey, tasks.Training, ".npz")
}

// kept returns the path of what a task of a kind leaves in the folder of a setting, empty for none.
func (b *benchmark) kept(index int, key string, of tasks.Kind, suffix string) string {
	folder, t := b.values.Text(key), &b.list[index]
	if folder == "" || t.Kind != of || t.Variant == "" {
		return ""
	}
	return filepath.Join(folder, fmt.Sprintf("%d-%s-%s%s", index+1, t.Variant, filepath.Base(t.Experiment), suffix))
}

// unavailableError reports that this machine lacks what a task needs.
type unavailableError struct{ reason string }

func (e unavailableError) Error() string { return e.reason }

// simulated is the number of replicas of the trainer ddp_sim, and of ddp without GPUs.
const simulated = 2

// onTrainer returns the settings of a task on the device of its trainer, and a warning if that is the processor in
// place of a GPU. wanted is the setting device of the list.
func (m Maker) onTrainer(v settings.Values, trainer, wanted string, fallback bool) (
	on settings.Values, warning string, err error,
) {
	device, replicas := "cpu", 1
	switch trainer {
	case tasks.DDPSim:
		replicas = simulated
	case tasks.GPU, tasks.DDP:
		first, count, reason := m.cards(wanted)
		if reason == "" && trainer == tasks.DDP {
			count, reason = divided(v.Int("batch"), first, count, m.Experiments.GPUReason)
		}
		switch {
		case reason == "":
			if device = card(first); trainer == tasks.DDP {
				replicas = count
			}
		case !fallback:
			return v, "", unavailableError{
				fmt.Sprintf("trainer %s is not available: %s; its time would not be that of a "+
					"processor: trainer cpu, or --cpu-fallback, which is labelled", trainer, reason)}
		default:
			warning = fmt.Sprintf("trainer %s is not available: %s; computed on the processor", trainer, reason)
			if trainer == tasks.DDP {
				replicas = simulated
			}
		}
	}
	on, err = v.With(settings.Assignment{Key: settings.Device, Value: device},
		settings.Assignment{Key: "replicas", Value: strconv.Itoa(replicas)})
	if err == nil {
		err = on.Validate()
	}
	return on, warning, err
}

// mostCards is the number of GPUs that the setting device can name.
const mostCards = 8

// card is the value of the setting device for a GPU that can be used.
func card(n int) string {
	if n == 0 {
		return "cuda"
	}
	return numbered(n)
}

// numbered is the name of a GPU.
func numbered(n int) string { return fmt.Sprintf("cuda:%d", n) }

// cards returns the GPU that the setting device of a list names, and the number of usable ones from it on; or the
// reason why it cannot be used.
func (m Maker) cards(wanted string) (first, count int, reason string) {
	if wanted == "cpu" {
		return 0, 0, "device = cpu"
	}
	if _, number, named := strings.Cut(wanted, ":"); named {
		first, _ = strconv.Atoi(number) // one of those that the setting allows
	} else if reason = m.Experiments.GPUReason("cuda"); reason != "" {
		return 0, 0, reason
	} else {
		for first < mostCards-1 && m.Experiments.GPUReason(numbered(first)) != "" {
			first++
		}
	}
	for first+count < mostCards {
		if reason = m.Experiments.GPUReason(numbered(first + count)); reason != "" {
			break
		}
		count++
	}
	if count > 0 {
		reason = ""
	}
	return first, count, reason
}

// divided returns the largest number of GPUs from the first on that can share a batch, or the reason why no two can.
func divided(batch, first, count int, gpuReason func(string) string) (replicas int, reason string) {
	if count < 2 {
		return 0, "it needs a second GPU: " + numbered(first+1) + ": " + gpuReason(numbered(first+1))
	}
	for replicas = count; replicas > 1; replicas-- {
		if batch%replicas == 0 {
			return replicas, ""
		}
	}
	return 0, fmt.Sprintf("a batch of %d cannot be divided among 2 to %d GPUs", batch, count)
}

// errCancelled ends a round of a task that the user cancelled, and errInterrupted one that
// the end of the run cut short.
var (
	errCancelled   = errors.New("cancelled")
	errInterrupted = errors.New("interrupted")
)
