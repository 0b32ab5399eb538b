package branches

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"prismtop/sim/cyto/tasks"
)

// Placeholders are what {name} in a command stands for, by name. The program finds the same
// values in its environment, as TASK_NAME, and all of them in the file {job}.
var Placeholders = []struct{ Name, Help string }{
	{"kind", "training or inference"},
	{"branch", "as in the list, as are the next six"},
	{"experiment", ""},
	{"trainer", ""},
	{"max_epochs", ""},
	{"batch_size", ""},
	{"checkpoint_path", "absolute"},
	{"data_path", "absolute"},
	{"overrides", "a word for each, if it is a word by itself"},
	{"limit_train_batches", "0 is all, as for the next two"},
	{"limit_val_batches", ""},
	{"limit_predict_batches", ""},
	{"round", "from 1"},
	{"job", "file with all of these as JSON"},
	{"output", "file to which the program writes its result as JSON"},
	{"folder", "folder for other files, which is removed afterwards"},
}

// placeholder matches {name}.
var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// Command is a command whose words have been separated.
type Command []string

// CheckCommand checks a command.
func CheckCommand(text string) error {
	_, err := ParseCommand(text)
	return err
}

// ParseCommand separates the words of a command: spaces separate them, except in single or
// double quotes and after a backslash.
func ParseCommand(text string) (Command, error) {
	words, err := words(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("command %q: %w", text, err)
	case len(words) == 0:
		return nil, fmt.Errorf("command %q: must be a program and its arguments", text)
	}
	for _, w := range words {
		for _, p := range placeholder.FindAllString(w, -1) {
			if !slices.ContainsFunc(Placeholders, func(known struct {
				Name,
				Help string
			}) bool {
				return "{"+known.Name+"}" == p
			}) {
				return nil, fmt.Errorf("command %q: %s: must be one of %s", text, p, placeholderNames())
			}
		}
	}
	return words, nil
}

func placeholderNames() string {
	var names []string
	for _, p := range Placeholders {
		names = append(names, "{"+p.Name+"}")
	}
	return strings.Join(names, ", ")
}

func words(text string) (all []string, err error) {
	var word strings.Builder
	began, quote := false, rune(0)
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '\\' && quote != '\'':
			if i++; i == len(runes) {
				return nil, errors.New("ends with a backslash: must be followed by a character")
			}
			began = true
			word.WriteRune(runes[i])
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			began, quote = true, c
		case quote == 0 && strings.ContainsRune(" \t\r\n", c):
			if began {
				all = append(all, word.String())
			}
			began = false
			word.Reset()
		default:
			began = true
			word.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed: must have a second one", quote)
	}
	if began {
		all = append(all, word.String())
	}
	return all, nil
}

// with returns the words with the values of a task in them.
func (c Command) with(j *job) []string {
	values := j.values()
	var all []string
	for _, w := range c {
		if w == "{overrides}" {
			all = append(all, j.Overrides...)
			continue
		}
		all = append(all, placeholder.ReplaceAllStringFunc(w, func(p string) string { return values[p[1:len(p)-1]] }))
	}
	return all
}

// job is a task as a program gets it.
type job struct {
	Kind         string   `json:"kind"`
	Branch       string   `json:"branch"`
	Experiment   string   `json:"experiment"`
	Trainer      string   `json:"trainer"`
	MaxEpochs    int      `json:"max_epochs"`
	BatchSize    int      `json:"batch_size"`
	Checkpoint   string   `json:"checkpoint_path"`
	Data         string   `json:"data_path"`
	Overrides    []string `json:"overrides"`
	LimitTrain   int      `json:"limit_train_batches"`
	LimitVal     int      `json:"limit_val_batches"`
	LimitPredict int      `json:"limit_predict_batches"`
	Round        int      `json:"round"`
	Job          string   `json:"job"`
	Output       string   `json:"output"`
	Folder       string   `json:"folder"`
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

// values are the values of a job by the names of Placeholders.
func (j *job) values() map[string]string {
	return map[string]string{
		"kind": j.Kind, "branch": j.Branch, "experiment": j.Experiment, "trainer": j.Trainer,
		"max_epochs": strconv.Itoa(j.MaxEpochs), "batch_size": strconv.Itoa(j.BatchSize),
		"checkpoint_path": j.Checkpoint, "data_path": j.Data, "overrides": strings.Join(j.Overrides, ","),
		"limit_train_batches": strconv.Itoa(j.LimitTrain), "limit_val_batches": strconv.Itoa(j.LimitVal),
		"limit_predict_batches": strconv.Itoa(j.LimitPredict), "round": strconv.Itoa(j.Round), "job": j.Job,
		"output": j.Output, "folder": j.Folder,
	}
}

// environment are the values as variables.
func (j *job) environment() (all []string) {
	for name, value := range j.values() {
		all = append(all, "TASK_"+strings.ToUpper(name)+"="+value)
	}
	slices.Sort(all)
	return all
}
