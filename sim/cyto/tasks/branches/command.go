package branches

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"prismtop/profiles/sweep"
	"prismtop/sim/cyto/tasks"
)

// placeholder matches {name}.
var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// CheckCommand checks a command.
func CheckCommand(text string) error {
	_, err := parse(text)
	return err
}

// parse separates the words of a command: spaces separate them, except in single or double quotes and after a
// backslash.
func parse(text string) ([]string, error) {
	words, err := sweep.Words(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("command %q: %w", text, err)
	case len(words) == 0:
		return nil, fmt.Errorf("command %q: must be a program and its arguments", text)
	}
	var known []string
	for f := range reflect.TypeFor[job]().Fields() {
		known = append(known, "{"+f.Tag.Get("json")+"}")
	}
	for _, p := range placeholder.FindAllString(strings.Join(words, " "), -1) {
		if !slices.Contains(known, p) {
			return nil, fmt.Errorf("command %q: %s: must be one of %s", text, p, strings.Join(known, ", "))
		}
	}
	return words, nil
}

// with returns words with the values of a task in them.
func with(words []string, j *job) (all []string) {
	values := j.values()
	for _, w := range words {
		if w == "{overrides}" {
			all = append(all, j.Overrides...)
			continue
		}
		all = append(all, placeholder.ReplaceAllStringFunc(w, func(p string) string { return values[p[1:len(p)-1]] }))
	}
	return all
}

// job is a task as a program gets it: {name} in a command is the field of that name, which the program also finds in
// its environment, as TASK_NAME, and with all others in the file {job}.
type job struct {
	Kind         string   `json:"kind"`
	Branch       string   `json:"branch"`
	Experiment   string   `json:"experiment"`
	Trainer      string   `json:"trainer"`
	MaxEpochs    int      `json:"max_epochs"`
	BatchSize    int      `json:"batch_size"`
	Checkpoint   string   `json:"checkpoint_path"` // absolute, as is Data
	Data         string   `json:"data_path"`
	Overrides    []string `json:"overrides"`           // a word for each, if {overrides} is a word by itself
	LimitTrain   int      `json:"limit_train_batches"` // 0 is all, as for the next two
	LimitVal     int      `json:"limit_val_batches"`
	LimitPredict int      `json:"limit_predict_batches"`
	Round        int      `json:"round"`  // from 1
	Job          string   `json:"job"`    // file with all of these
	Output       string   `json:"output"` // file to which the program writes its result as JSON
	Folder       string   `json:"folder"` // for other files, removed afterwards
}

// newJob returns the job of a task.
func newJob(t *tasks.Task, round int, p place) (*job, error) {
	j := &job{
		Kind: t.Kind.String(), Branch: t.Branch, Experiment: t.Experiment, Trainer: t.Trainer, MaxEpochs: t.Epochs,
		BatchSize: t.Batch,
		Overrides: []string{}, LimitTrain: t.Limits.Train, LimitVal: t.Limits.Validation,
		LimitPredict: t.Limits.Predict, Round: round,
		Job: filepath.Join(p.folder, "job.json"), Output: filepath.Join(p.folder, "result.json"),
		Folder: filepath.Join(p.folder, "files"),
	}
	for _, path := range []struct {
		of string
		to *string
	}{{t.Checkpoint, &j.Checkpoint}, {t.Data, &j.Data}} {
		if path.of == "" {
			continue
		}
		var err error
		if *path.to, err = filepath.Abs(path.of); err != nil {
			return nil, err
		}
	}
	for _, o := range t.Overrides {
		j.Overrides = append(j.Overrides, o.Raw)
	}
	return j, nil
}

// values are the values of a job by name.
func (j *job) values() map[string]string {
	all := map[string]string{}
	for f, v := range reflect.ValueOf(j).Elem().Fields() {
		all[f.Tag.Get("json")] = fmt.Sprint(v)
	}
	all["overrides"] = strings.Join(j.Overrides, ",")
	return all
}

// environment are the values as variables.
func (j *job) environment() (all []string) {
	for name, value := range j.values() {
		all = append(all, "TASK_"+strings.ToUpper(name)+"="+value)
	}
	slices.Sort(all)
	return all
}

// cytodl runs a task by the cyto-dl of the folder that it is started in.
//
//go:embed cytodl.py
var cytodl []byte

// python is the program that runs cytodl.
const python = "python3"

// adapter leaves cytodl beside a job, and returns the command that runs it.
func adapter(j *job) ([]string, error) {
	if _, err := exec.LookPath(python); err != nil {
		return nil, errors.New(python + " is not in PATH: activate the environment that has cyto-dl, or give the " +
			"command of the branches with --command")
	}
	path := filepath.Join(filepath.Dir(j.Job), "cytodl.py")
	if err := os.WriteFile(path, cytodl, 0o600); err != nil {
		return nil, err
	}
	return []string{python, path, j.Job}, nil
}
