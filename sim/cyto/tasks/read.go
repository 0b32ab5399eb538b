package tasks

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/unit"
)

// The columns of the documents, and commandColumn, which is ours.
const (
	branchColumn     = "branch"
	experimentColumn = "experiment"
	checkpointColumn = "checkpoint_path"
	dataColumn       = "data_path"
	trainerColumn    = "trainer"
	epochsColumn     = "max_epochs"
	batchColumn      = "batch_size"
	overridesColumn  = "overrides"
	commandColumn    = "command"
)

// Columns returns the columns of a kind of tasks in the documents' order, the optional
// "command" last.
func Columns(k Kind) []string {
	if k == Training {
		return []string{branchColumn, experimentColumn, trainerColumn, epochsColumn, batchColumn, overridesColumn,
			commandColumn}
	}
	return []string{branchColumn, experimentColumn, checkpointColumn, dataColumn, trainerColumn, batchColumn,
		overridesColumn, commandColumn}
}

// Defaults of cells that are empty or have no column, those of CytoDL's scripts.
const (
	DefaultTrainer = GPU
	DefaultEpochs  = 5
	DefaultBatch   = 8
)

// Bounds of a list.
const (
	// MaxFile is the largest list in bytes.
	MaxFile  = 1 << 20
	maxTasks = 1000
	maxBatch = 1 << 16
	// halfMessage bounds the beginning and the end of a mistake's message, in bytes.
	halfMessage = 400
	maxEpoch    = 1 << 20
)

// ReadOptions are how a list is read.
type ReadOptions struct {
	// Repository makes branches those of git: experiments, trainers and overrides are then the
	// repository's, and are passed on as they are. A branch that begins with "variant:" is a
	// variant still.
	Repository bool
	// Check checks the value of a setting against who runs the tasks, for variants; nil accepts
	// what this package does.
	Check func(key, value string) error
	// CheckCommand checks a cell of the column command; nil accepts any.
	CheckCommand func(text string) error
}

// VariantPrefix makes a branch a variant in a list whose branches are those of git.
const VariantPrefix = "variant:"

// ReadTraining reads a list of training tasks. name is the file's, for errors, which are
// Faults: all mistakes of the list.
func ReadTraining(r io.Reader, name string, o ReadOptions) ([]Task, error) {
	return read(r, name, Training, o)
}

// ReadInference reads a list of inference tasks, as ReadTraining does.
func ReadInference(r io.Reader, name string, o ReadOptions) ([]Task, error) {
	return read(r, name, Inference, o)
}

// list is a list of tasks that is read.
type list struct {
	ReadOptions
	name    string
	kind    Kind
	lines   []string // of the file
	columns []string // of the header
	faults  Faults
	tasks   []Task
}

func read(r io.Reader, name string, kind Kind, o ReadOptions) ([]Task, error) {
	l := &list{ReadOptions: o, name: name, kind: kind}
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > MaxFile:
		return nil, fmt.Errorf("%s: is larger than %s: must be a list of tasks", name, unit.Limit(MaxFile))
	}
	text, err := inputfile.Text(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.lines = strings.Split(string(text), "\n")
	for i, line := range l.lines {
		if at := strings.IndexFunc(line, func(r rune) bool { return r == utf8.RuneError || r == 0 }); at >= 0 {
			l.fault(i+1, at+1, "", "a character that is no text: must be UTF-8")
		}
	}
	if len(l.faults) > 0 {
		return nil, l.faults.sorted()
	}
	l.parse(text)
	if err := l.faults.sorted(); err != nil {
		return nil, err
	}
	return l.tasks, nil
}

// fault adds a mistake.
func (l *list) fault(line, column int, name, format string, values ...any) {
	message := fmt.Sprintf(format, values...)
	if len(message) > 2*halfMessage { // it quotes a very long cell
		message = strings.ToValidUTF8(message[:halfMessage], "") + " … " +
			strings.ToValidUTF8(message[len(message)-halfMessage:], "")
	}
	l.faults = append(l.faults, Fault{l.name, line, column, name, message})
}

// parse reads the records of a list.
func (l *list) parse(text []byte) {
	records := csv.NewReader(bytes.NewReader(text))
	records.Comment, records.FieldsPerRecord, records.TrimLeadingSpace = '#', -1, true
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			l.fault(broken.Line, broken.Column, "",
				"%s: a cell with quotes must stand in double quotes, and those inside be doubled",
				strings.TrimPrefix(broken.Err.Error(), "parse error: "))
			if l.columns == nil {
				return
			}
			continue
		}
		if err != nil {
			l.fault(1, 0, "", "%v", err)
			return
		}
		cells := make([]cell, len(record))
		for i, value := range record {
			line, column := records.FieldPos(i)
			cells[i] = cell{strings.TrimRightFunc(value, unicode.IsSpace), line, column, l.quoted(line, column)}
		}
		switch {
		case empty(cells) || strings.HasPrefix(cells[0].value, "#") || strings.HasPrefix(l.branchOf(cells), "#"):
		case l.columns == nil:
			if !l.header(cells) {
				return
			}
		case len(l.tasks) == maxTasks:
			l.fault(cells[0].line, 0, "", "more than %d tasks: split the list", maxTasks)
			return
		default:
			l.task(cells)
		}
	}
	switch {
	case l.columns == nil:
		l.fault(1, 0, "", "no header: must be %s", strings.Join(l.documented(), ","))
	case len(l.tasks) == 0 && len(l.faults) == 0:
		l.fault(len(l.lines), 0, "", "no tasks: must have a row below the header")
	}
}

// cell is a cell of the file, where it begins.
type cell struct {
	value        string
	line, column int
	quoted       bool
}

// quoted reports whether a cell stands in double quotes.
func (l *list) quoted(line, column int) bool {
	text := ""
	if line <= len(l.lines) {
		text = l.lines[line-1]
	}
	return column <= len(text) && text[column-1] == '"'
}

// at returns the place of a byte of the cell in the file.
func (c cell) at(i int) (line, column int) {
	if !c.quoted {
		return c.line, c.column + i
	}
	before := c.value[:i]
	if n := strings.LastIndexByte(before, '\n'); n >= 0 {
		after := before[n+1:]
		return c.line + strings.Count(before, "\n"), 1 + len(after) + strings.Count(after, `"`)
	}
	return c.line, c.column + 1 + i + strings.Count(before, `"`)
}

func empty(cells []cell) bool {
	return !slices.ContainsFunc(cells, func(c cell) bool { return c.value != "" })
}

// branchOf returns a row's branch; empty before the header.
func (l *list) branchOf(cells []cell) string {
	if i := slices.Index(l.columns, branchColumn); i >= 0 && i < len(cells) {
		return cells[i].value
	}
	return ""
}

// documented are the columns of the documents' header.
func (l *list) documented() []string {
	all := Columns(l.kind)
	return all[:len(all)-1]
}

// header reads the names of the columns. It returns false if no row can be read by them.
func (l *list) header(cells []cell) bool {
	known := Columns(l.kind)
	l.columns = make([]string, len(cells))
	before := len(l.faults)
	for i, c := range cells {
		name := strings.ToLower(c.value)
		switch {
		case name == "" && i == len(cells)-1: // a comma at the end
		case !slices.Contains(known, name):
			l.fault(c.line, c.column, "", "%s: must be one of %s", l.unknown(name), strings.Join(known, ", "))
		case slices.Contains(l.columns[:i], name):
			l.fault(c.line, c.column, "", "column %s twice: must be there once", name)
		}
		l.columns[i] = name
	}
	for _, name := range []string{branchColumn, experimentColumn} {
		if !slices.Contains(l.columns, name) && len(l.faults) == before {
			l.fault(cells[0].line, cells[0].column, "", "no column %s: the header must be %s", name,
				strings.Join(l.documented(), ","))
		}
	}
	return len(l.faults) == before
}

// unknown describes a column that a list of this kind does not have.
func (l *list) unknown(name string) string {
	other := Inference
	if l.kind == Inference {
		other = Training
	}
	switch {
	case slices.Contains(Columns(other), name):
		return fmt.Sprintf("column %q is of %s tasks", name, other)
	case name == "model" || name == "data_config":
		return fmt.Sprintf("column %q is of an older form, whose place experiment took", name)
	}
	return fmt.Sprintf("unknown column %q", name)
}

// task reads a row.
func (l *list) task(cells []cell) {
	before := len(l.faults)
	t := Task{Kind: l.kind, Line: cells[0].line, Limits: DefaultLimits()}
	at := func(name string) (cell, bool) {
		if i := slices.Index(l.columns, name); i >= 0 && i < len(cells) {
			return cells[i], true
		}
		return cell{line: t.Line}, false
	}
	t.Row = make(Row, len(l.columns))
	for i, name := range l.columns {
		t.Row[i].Column = name
		if i < len(cells) {
			t.Row[i].Value = cells[i].value
		}
	}
	t.Row = slices.DeleteFunc(t.Row, func(c Cell) bool { return c.Column == "" })
	l.branch(&t, at)
	l.experiment(&t, at)
	l.trainer(&t, at)
	t.Batch = l.number(at, batchColumn, DefaultBatch, maxBatch)
	if l.kind == Training {
		t.Epochs = l.number(at, epochsColumn, DefaultEpochs, maxEpoch)
	}
	for _, path := range []struct {
		column string
		to     *string
	}{{checkpointColumn, &t.Checkpoint}, {dataColumn, &t.Data}} {
		c, _ := at(path.column)
		if *path.to = c.value; strings.ContainsFunc(c.value, unicode.IsControl) {
			l.fault(c.line, c.column, path.column, "%q: must be a path on one line", c.value)
		}
	}
	if c, _ := at(commandColumn); c.value != "" {
		if t.Command = c.value; t.Variant != "" {
			l.fault(c.line, c.column, commandColumn,
				"a variant runs in this program: must be empty, or the branch one of git, with --repo")
		} else if l.CheckCommand != nil {
			if err := l.CheckCommand(c.value); err != nil {
				l.fault(c.line, c.column, commandColumn, "%v", err)
			}
		}
	}
	l.overrides(&t, cells, at)
	if len(l.faults) == before {
		l.tasks = append(l.tasks, t)
	}
}

// finder returns the cell of a column.
type finder func(name string) (cell, bool)

func (l *list) branch(t *Task, at finder) {
	c, _ := at(branchColumn)
	t.Branch = c.value
	name, forced := strings.CutPrefix(c.value, VariantPrefix)
	switch {
	case c.value == "":
		l.fault(c.line, c.column, branchColumn, "empty: must name a variant or branch, or the whole row be empty")
	case l.Repository && !forced:
		if err := CheckBranch(c.value); err != nil {
			l.fault(c.line, c.column, branchColumn, "%v", err)
		}
	default:
		v, err := VariantOf(name)
		if err != nil {
			l.fault(c.line, c.column, branchColumn, "%v", err)
		}
		t.Variant = v.Name
	}
}

// CheckBranch checks that a name can be a git branch, tag or commit, and cannot be taken for
// an option or a range of commits.
func CheckBranch(name string) error {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }
	if name == "" || name[0] == '-' || name[0] == '/' || strings.Contains(name, "..") ||
		strings.Contains(name, "@{") || strings.HasSuffix(name, ".lock") || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("branch %q: must be the name of a git branch", name)
	}
	return nil
}

// group is in front of the experiments' names.
const group = "im2im/"

// otherExperiments are those of CytoDL that this engine does not have.
var otherExperiments = []string{"gan", "instance_seg", "segmentation_array", "segmentation_plugin"}

func (l *list) experiment(t *Task, at finder) {
	c, _ := at(experimentColumn)
	t.Experiment = c.value
	if c.value == "" {
		l.fault(c.line, c.column, experimentColumn, "empty: must be %s or %s", Segmentation, LabelFree)
		return
	}
	if t.Variant == "" && l.Repository {
		if strings.HasPrefix(c.value, "-") || strings.ContainsFunc(c.value, func(r rune) bool { return r <= ' ' }) {
			l.fault(c.line, c.column, experimentColumn, "%q: must be a name below configs/experiment", c.value)
		}
		return
	}
	switch name := strings.TrimPrefix(c.value, group); {
	case name == "segmentation":
		t.Experiment = Segmentation
	case name == "labelfree", name == "label_free":
		t.Experiment = LabelFree
	case slices.Contains(otherExperiments, name):
		l.fault(c.line, c.column, experimentColumn,
			"%q is an experiment of CytoDL that this engine does not have: must be %s or %s", c.value, Segmentation,
			LabelFree)
	default:
		l.fault(c.line, c.column, experimentColumn, "%q: must be %s or %s", c.value, Segmentation, LabelFree)
	}
}

// Trainers returns the trainers of a kind of tasks.
func Trainers(k Kind) []string {
	if k == Training {
		return []string{GPU, CPU, DDP, DDPSim}
	}
	return []string{GPU, CPU}
}

func (l *list) trainer(t *Task, at finder) {
	c, _ := at(trainerColumn)
	if t.Trainer = c.value; c.value == "" {
		t.Trainer = DefaultTrainer
	}
	if t.Variant == "" && l.Repository {
		if !name(t.Trainer) {
			l.fault(c.line, c.column, trainerColumn, "%q: must be a name below configs/trainer", c.value)
		}
		return
	}
	if all := Trainers(l.kind); !slices.Contains(all, t.Trainer) {
		l.fault(c.line, c.column, trainerColumn, "%q: must be %s", c.value, oneOf(all))
	}
}

// name reports whether text is a name of letters, digits, "_" and "-".
func name(text string) bool {
	ok := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-')
	}
	return text != "" && text[0] != '-' && strings.IndexFunc(text, func(r rune) bool { return !ok(r) }) < 0
}

// number reads a positive whole number.
func (l *list) number(at finder, column string, missing, most int) int {
	c, _ := at(column)
	if c.value == "" {
		return missing
	}
	n, err := strconv.Atoi(c.value)
	if err != nil || n < 1 || n > most {
		l.fault(c.line, c.column, column, "%q: must be a whole number from 1 to %d", c.value, most)
		return missing
	}
	return n
}

// overrides reads the column overrides, and the cells behind it if it is the last: commas
// without quotes around the cell.
func (l *list) overrides(t *Task, cells []cell, at finder) {
	last := len(l.columns) - 1
	for last > 0 && l.columns[last] == "" {
		last--
	}
	c, has := at(overridesColumn)
	all := []cell{c}
	if more := cells[min(last+1, len(cells)):]; !empty(more) {
		if !has || l.columns[last] != overridesColumn {
			l.fault(more[0].line, more[0].column, "",
				"%d cells, the header has %d: put a cell with commas in double quotes", len(cells), last+1)
			return
		}
		all = append(all, more...)
		if rest, whole := l.unquoted(all); whole {
			all = []cell{rest}
		}
		for i := range t.Row {
			if t.Row[i].Column == overridesColumn {
				t.Row[i].Value = joined(all)
			}
		}
	}
	for _, c := range all {
		l.override(t, c)
	}
}

// unquoted returns neighbouring cells as the one that they are if their commas are part of it,
// with the brackets around them; false if one of them is quoted.
func (l *list) unquoted(cells []cell) (c cell, whole bool) {
	if slices.ContainsFunc(cells, func(c cell) bool { return c.quoted }) {
		return c, false
	}
	c = cells[0]
	c.value = strings.TrimRightFunc(l.lines[c.line-1][c.column-1:], unicode.IsSpace)
	return c, true
}

// joined returns cells with the commas between them.
func joined(cells []cell) string {
	var all []string
	for _, c := range cells {
		all = append(all, c.value)
	}
	return strings.Join(all, ",")
}
