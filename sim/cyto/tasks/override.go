package tasks

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Setting by setting: the names that set it, and how its values are written.
var rules = []rule{
	{setting: BatchSetting, names: []string{"datamodule.batch_size", "data.batch_size", "batch_size"}, read: whole(1, maxBatch)},
	{setting: EpochsSetting, names: []string{"trainer.max_epochs", "max_epochs"}, read: whole(1, maxEpoch), only: []Kind{Training}},
	{setting: LimitTrainSetting, names: []string{"trainer.limit_train_batches"}, read: limit, only: []Kind{Training}},
	{setting: LimitValSetting, names: []string{"trainer.limit_val_batches"}, read: limit, only: []Kind{Training}},
	{setting: LimitPredictSetting, names: []string{"trainer.limit_predict_batches"}, read: limit, only: []Kind{Inference}},
	{setting: TrainerSetting, read: word},
	{setting: WorkersSetting, names: []string{"datamodule.num_workers", "data.num_workers", "num_workers"}, read: whole(0, 64)},
	{setting: PrefetchSetting, names: []string{"datamodule.prefetch_factor", "data.prefetch_factor", "prefetch_factor"}, read: whole(1, 64)},
	{setting: PersistentSetting, names: []string{"datamodule.persistent_workers", "data.persistent_workers"}, read: truth},
	{setting: AMPSetting, names: []string{"trainer.precision", "precision"}, read: precision},
	{setting: ProfileSetting, read: truth},
	{setting: AugmentSetting, read: truth, only: []Kind{Training}},
	{setting: LearningRateSetting, names: []string{"model.optimizer.lr", "model.optimizer.generator.lr"}, read: number(func(x float64) bool { return x > 0 && x <= 1 }, "a number above 0, up to 1"), only: []Kind{Training}},
	{setting: SeedSetting, read: whole(0, 1<<53)},
	{setting: AxesSetting, names: []string{"spatial_dims", "model._aux.spatial_dims"}, read: whole(2, 3)},
	{setting: PatchSetting, names: []string{"data._aux.patch_shape", "datamodule._aux.patch_shape", "patch_shape"}, read: patch},
	{setting: OverlapSetting, names: []string{"model.inference_args.overlap"}, read: number(func(x float64) bool { return x >= 0 && x < 1 }, "a number from 0 to below 1")},
	{setting: WindowBatchSetting, names: []string{"model.inference_args.sw_batch_size"}, read: whole(1, 1<<12)},
}

// refused are names with a place elsewhere, or without a meaning here, and why.
var refused = []struct {
	names  []string
	reason string
}{
	{[]string{"experiment"}, "must be in the column experiment"},
	{[]string{"trainer.accelerator", "trainer.devices", "trainer.strategy"}, "must be in the column trainer, as gpu, cpu, ddp or ddp_sim"},
	{[]string{"data.path", "datamodule.path"}, "must be in the column data_path"},
	{[]string{"ckpt_path", "checkpoint.ckpt_path"}, "must be in the column checkpoint_path"},
	{[]string{"data.pin_memory", "datamodule.pin_memory"}, "pinned memory is for copies to CUDA devices: leave it out"},
}

// rule is how overrides set a setting.
type rule struct {
	setting string
	names   []string // besides the setting's key
	read    func(value string) (string, error)
	only    []Kind // nil for both
}

// ruleOf returns the rule of a name; nil for none.
func ruleOf(name string) *rule {
	for i := range rules {
		if r := &rules[i]; r.setting == name || slices.Contains(r.names, name) {
			return r
		}
	}
	return nil
}

// override reads the overrides in a cell.
func (l *list) override(t *Task, c cell) {
	parts, err := split(c.value)
	if err != nil {
		line, column := c.at(err.at)
		l.fault(line, column, overridesColumn, "%s", err.message)
		return
	}
	for _, p := range parts {
		line, column := c.at(p.at)
		complain := func(format string, values ...any) { l.fault(line, column, overridesColumn, format, values...) }
		key, value, found := strings.Cut(p.text, "=")
		key = strings.TrimSpace(key)
		bare := strings.TrimLeft(key, "+")
		switch {
		case !found:
			complain("%q: must be key=value", p.text)
			continue
		case strings.HasPrefix(bare, "~"):
			complain("%q: settings cannot be removed: must be key=value", p.text)
			continue
		case !path(bare):
			complain("%q: the key must be a name, with dots between its parts", p.text)
			continue
		}
		o := Override{Key: key, Value: unquote(strings.TrimSpace(value)), Raw: p.text, Line: line, Column: column}
		if t.Variant != "" || !l.Repository {
			o.Key = bare
			if err := l.apply(t, &o); err != nil {
				complain("%s: %v", bare, err)
				continue
			}
		}
		t.Overrides = append(t.Overrides, o)
	}
}

// apply gives an override its setting, and a task what is set by columns, too.
func (l *list) apply(t *Task, o *Override) error {
	for _, r := range refused {
		if slices.Contains(r.names, o.Key) {
			return errors.New(r.reason)
		}
	}
	r := ruleOf(o.Key)
	switch {
	case r == nil && l.Check != nil && !strings.Contains(o.Key, "."):
		o.Setting = o.Key
	case r == nil:
		var known []string
		for _, r := range rules {
			known = append(known, r.setting)
		}
		return fmt.Errorf("has no counterpart in this engine: must be one of %s, or a name of CytoDL for one of these",
			strings.Join(known, ", "))
	case r.only != nil && !slices.Contains(r.only, t.Kind):
		return fmt.Errorf("is of %s tasks: leave it out", r.only[0])
	default:
		value, err := r.read(o.Value)
		if err != nil {
			return err
		}
		o.Setting, o.Value = r.setting, value
	}
	n, _ := strconv.Atoi(o.Value)
	switch o.Setting {
	case BatchSetting:
		t.Batch = n
	case EpochsSetting:
		t.Epochs = n
	case LimitTrainSetting:
		t.Limits.Train = n
	case LimitValSetting:
		t.Limits.Validation = n
	case LimitPredictSetting:
		t.Limits.Predict = n
	case TrainerSetting:
		if all := Trainers(t.Kind); !slices.Contains(all, o.Value) {
			return fmt.Errorf("%q: must be %s", o.Value, oneOf(all))
		}
		t.Trainer = o.Value
	}
	if l.Check == nil {
		return nil
	}
	return l.Check(o.Setting, o.Value)
}

// ofColumn reports whether a setting is a field of a task, which overrides change.
func ofColumn(setting string) bool {
	return slices.Contains([]string{ExperimentSetting, TrainerSetting, EpochsSetting, BatchSetting, LimitTrainSetting,
		LimitValSetting, LimitPredictSetting}, setting)
}

func word(value string) (string, error) { return value, nil }

// whole reads a whole number.
func whole(least, most int64) func(string) (string, error) {
	return func(value string) (string, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least || n > most {
			return "", fmt.Errorf("%q: must be a whole number from %d to %d", value, least, most)
		}
		return strconv.FormatInt(n, 10), nil
	}
}

// number reads a number that is right.
func number(right func(float64) bool, must string) func(string) (string, error) {
	return func(value string) (string, error) {
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || !right(x) {
			return "", fmt.Errorf("%q: must be %s", value, must)
		}
		return strconv.FormatFloat(x, 'g', -1, 64), nil
	}
}

// truth reads Python's and YAML's booleans.
func truth(value string) (string, error) {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return "true", nil
	case "false", "no", "off":
		return "false", nil
	}
	return "", fmt.Errorf("%q: must be true or false", value)
}

// limit reads Lightning's limit of batches. 1.0 is all of them.
func limit(value string) (string, error) {
	if value == "1.0" {
		return "0", nil
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return "", fmt.Errorf("%q: must be a number of batches from 1, or 1.0 for all", value)
	}
	return value, nil
}

// precision reads Lightning's precisions and ours. Lightning, too, computes in bfloat16 on a
// CPU that is asked for 16 bits.
func precision(value string) (string, error) {
	switch value {
	case "32", "32-true", "off":
		return "off", nil
	case "16", "16-mixed", "bf16", "bf16-mixed":
		return "bf16", nil
	}
	return "", fmt.Errorf("%q: must be 32, bf16-mixed or 16-mixed", value)
}

// patches are CytoDL's names of sizes.
var patches = map[string]string{"small": "16x32x32", "medium": "16x64x64", "large": "16x128x128"}

// patch reads the sides of a patch, as a list or with "x" between them.
func patch(value string) (string, error) {
	if sides, named := patches[value]; named {
		return sides, nil
	}
	text, separator := value, "x"
	if list, isList := strings.CutPrefix(value, "["); isList {
		text, separator = strings.TrimSuffix(list, "]"), ","
	}
	sides := strings.Split(text, separator)
	for i := range sides {
		sides[i] = strings.TrimSpace(sides[i])
		if n, err := strconv.Atoi(sides[i]); err != nil || n < 1 || n > 1<<12 {
			sides = nil
			break
		}
	}
	if len(sides) != 2 && len(sides) != 3 {
		return "", fmt.Errorf("%q: must be the sides of a patch, such as [16,32,32]", value)
	}
	return strings.Join(sides, "x"), nil
}

// path reports whether a key is names with dots, or a group and a package of Hydra, between
// them.
func path(key string) bool {
	for _, part := range strings.FieldsFunc(key+" ", func(r rune) bool { return r == '.' || r == '/' || r == '@' }) {
		if part = strings.TrimSuffix(part, " "); !name(part) {
			return false
		}
	}
	return key != "" && !strings.Contains(key, "..") && !strings.HasPrefix(key, ".") && !strings.HasSuffix(key, ".")
}

// part is an override, and where it begins in its cell.
type part struct {
	text string
	at   int
}

// splitFault is where a cell of overrides is broken.
type splitFault struct {
	at      int
	message string
}

// closing are the brackets.
var closing = map[byte]byte{'[': ']', '{': '}', '(': ')'}

// split splits overrides at the commas outside quotes and brackets.
func split(text string) (parts []part, broken *splitFault) {
	var open []int // brackets
	quote, start := -1, 0
	end := func(i int) {
		one := text[start:i]
		trimmed := strings.TrimSpace(one)
		if trimmed != "" {
			parts = append(parts, part{trimmed, start + strings.Index(one, trimmed)})
		} else if i < len(text) {
			broken = &splitFault{start, "nothing between two commas: must be key=value"}
		}
		start = i + 1
	}
	for i := 0; i < len(text) && broken == nil; i++ {
		c := text[i]
		switch {
		case quote >= 0:
			if c == '\\' {
				i++
			} else if c == text[quote] {
				quote = -1
			}
		case c == '"' || c == '\'':
			quote = i
		case closing[c] != 0:
			open = append(open, i)
		case c == ']' || c == '}' || c == ')':
			if n := len(open); n == 0 || closing[text[open[n-1]]] != c {
				return nil, &splitFault{i, fmt.Sprintf("%q closes no bracket: must have its opening one", c)}
			}
			open = open[:len(open)-1]
		case c == ',' && len(open) == 0:
			end(i)
		}
	}
	switch {
	case broken != nil:
		return nil, broken
	case quote >= 0:
		return nil, &splitFault{quote, fmt.Sprintf("the quote %c is not closed: must have a second one", text[quote])}
	case len(open) > 0:
		at := open[len(open)-1]
		return nil, &splitFault{at, fmt.Sprintf("%q is not closed: must have its %q", text[at], closing[text[at]])}
	}
	end(len(text))
	return parts, nil
}

// unquote removes a pair of quotes around a value.
func unquote(value string) string {
	n := len(value)
	if n < 2 || value[0] != value[n-1] || value[0] != '"' && value[0] != '\'' {
		return value
	}
	inside := value[1 : n-1]
	if strings.IndexByte(inside, value[0]) >= 0 && !strings.Contains(inside, `\`) {
		return value // two quoted strings
	}
	return strings.NewReplacer(`\\`, `\`, `\`+value[:1], value[:1]).Replace(inside)
}
