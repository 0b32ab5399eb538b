// Package sweep is a sweep as data: its plan, the folder in which it is kept, the state of each run, and the table that
// its results make. What runs it is sim/bench/executor; docs/sweep.md describes the plan and the folder.
package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// The plan: arms, replicates, pairing and budget, and what makes it valid.

// Plan is a sweep as its user describes it.
type Plan struct {
	Folder     string // shared by all machines that run it
	Replicates int    // runs of each arm
	Pairing    Pairing
	Turn       time.Duration // of runs by turns
	Reference  string        // the arm that others are compared with; the first unless given
	Budget     time.Duration // of running time of all runs together, a share of which ends each; 0 for none
	Checkpoint time.Duration // between two checkpoints of a run
	SameSeed   bool          // of all replicates; otherwise replicate N of every arm has the arm's seed plus N − 1
	Base       Arm           // settings of every arm, without a name
	Arms       []Arm
	Slurm      []settings.Assignment // options of sbatch, without dashes
	Files      map[string]string     // that commands read, by their names in {folder}/files

	// MemoryLimit is the bytes of memory that a run may use; 0 for no limit.
	MemoryLimit int64   `json:",omitempty"`
	Search      *Search `json:",omitempty"` // chooses the values that the arm runs with

	Name  string // of the file, for errors; empty for a plan of flags
	lines map[string]int
}

// Pairing is how runs of different arms share a task.
type Pairing string

// The pairings.
const (
	Apart Pairing = "none" // every run is a task
	// Turns: the arms of a replicate, or those of a pair, run by turns in one task. Where one is a Python program,
	// whole runs take turns: A B of a replicate and B A of the next.
	Turns Pairing = "turns"
)

// Arm is a way to run. One of Program, Python and Command may be given.
type Arm struct {
	Name    string
	Preset  string
	Set     []settings.Assignment
	Program string   // another build of prismtop that runs the settings
	Python  []string // arguments of prismtop python: the script and its own
	Command []string // arguments of prismtop for anything else that ends by itself
	Pair    string   // arms of the same pair run by turns
	// Continues: the Python program goes on from a checkpoint of its own. Otherwise an interrupted one begins again.
	Continues bool `json:",omitempty"`

	path string // in the file: "arm[2]"
}

// The bounds of a plan.
const (
	MostReplicates = 1000
	MostArms       = 10_000
	MostByTurns    = 8        // arms that run at once, of which all but one are stopped
	LeastMemory    = 32 << 20 // bytes, without which no run starts
	leastTurn      = 20 * time.Millisecond
	mostTurn       = time.Minute
)

// The defaults of a plan.
const (
	defaultTurn       = 250 * time.Millisecond
	defaultCheckpoint = time.Minute
)

// Error is what is wrong with a plan, with its place.
type Error struct {
	File string // empty for flags
	Line int    // 0 if unknown
	Key  string
	Err  error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("plan")
	if e.File != "" {
		b.WriteString(" " + e.File)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ", line %d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	return b.String() + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// wrong places an error at a key of the file, or at the nearest key around it.
func (p *Plan) wrong(key string, err error) error {
	e := &Error{File: p.Name, Key: key, Err: err}
	for at := key; at != ""; {
		if line, ok := p.lines[at]; ok {
			e.Line = line
			break
		}
		i := max(strings.LastIndexByte(at, '.'), strings.LastIndexByte(at, '['))
		if i < 0 {
			break
		}
		at = at[:i]
	}
	return e
}

// named is what an arm may be called: its name is that of files.
var named = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._,=+-]{0,99}$`)

// Check checks everything of a plan that needs no file, and fills in what is left to default. The presets are those of
// this program.
func (p *Plan) Check(presets preset.Shelves) error {
	p.Replicates, p.Pairing = cmp.Or(p.Replicates, 1), cmp.Or(p.Pairing, Apart)
	given := p.Turn != 0
	p.Turn, p.Checkpoint = cmp.Or(p.Turn, defaultTurn), cmp.Or(p.Checkpoint, defaultCheckpoint)
	switch {
	case p.Folder == "":
		return p.wrong("folder", errors.New("is missing: must be the path of a folder that all machines share"))
	case p.Replicates < 1 || p.Replicates > MostReplicates:
		return p.wrong("replicates", fmt.Errorf("%d: must be from 1 to %d", p.Replicates, MostReplicates))
	case p.Pairing != Apart && p.Pairing != Turns:
		return p.wrong("pairing", fmt.Errorf("%q: must be %s or %s", string(p.Pairing), Apart, Turns))
	case p.Turn < leastTurn || p.Turn > mostTurn:
		return p.wrong("turn", fmt.Errorf("%s: must be from %s to %s", p.Turn, leastTurn, mostTurn))
	case p.Checkpoint < time.Second:
		return p.wrong("checkpoint_every", fmt.Errorf("%s: must be 1s or more", p.Checkpoint))
	case p.Budget != 0 && p.Budget < time.Duration(max(1, len(p.Arms)*p.Replicates))*time.Second:
		return p.wrong("budget", fmt.Errorf("%s: must be a second or more for each of the %d runs", p.Budget,
			len(p.Arms)*p.Replicates))
	case p.MemoryLimit != 0 && p.MemoryLimit < LeastMemory:
		return p.wrong("memory_limit", fmt.Errorf("%s: must be at least %s", unit.Limit(p.MemoryLimit),
			unit.Limit(LeastMemory)))
	case len(p.Arms) == 0 && p.Search != nil:
		p.Arms = []Arm{{Name: fileName(p.Search.Key)}}
	case len(p.Arms) == 0:
		return p.wrong("arm", errors.New("is missing: must be at least one [[arm]], a [grid] or a [search]"))
	case len(p.Arms) > MostArms:
		return p.wrong("arm", fmt.Errorf("%d arms: must be at most %d", len(p.Arms), MostArms))
	}
	seen := map[string]bool{}
	for i := range p.Arms {
		a := &p.Arms[i]
		if a.path == "" {
			a.path = fmt.Sprintf("arm[%d]", i+1)
		}
		switch {
		case a.Name == "":
			return p.wrong(a.path+".name", errors.New("is missing"))
		case !named.MatchString(a.Name):
			return p.wrong(a.path+".name",
				fmt.Errorf("%q: must be letters, digits and . _ , = + - only, at most 100", a.Name))
		case seen[strings.ToLower(a.Name)]:
			return p.wrong(a.path+".name", fmt.Errorf("%q: another arm has it", a.Name))
		}
		seen[strings.ToLower(a.Name)] = true
		if err := p.checkArm(a, presets); err != nil {
			return err
		}
	}
	if p.Search != nil {
		return p.checkSearch(presets)
	}
	p.Reference = cmp.Or(p.Reference, p.Arms[0].Name)
	if p.Arm(p.Reference) < 0 {
		return p.wrong("reference", fmt.Errorf("%q: must be the name of an arm", p.Reference))
	}
	return p.checkPairs(given)
}

// checkPairs checks which arms run by turns, whose length may have been given.
func (p *Plan) checkPairs(given bool) error {
	pairs := p.pairs()
	sliced := slices.ContainsFunc(sortedKeys(pairs), func(name string) bool { return !p.whole(pairs[name]) })
	if given && len(pairs) > 0 && !sliced {
		return p.wrong("turn", errors.New("cannot be joined with Python programs, of which whole runs take turns: "+
			"nothing stops one within its steps"))
	}
	for name, arms := range pairs {
		switch first := &p.Arms[arms[0]]; {
		case len(arms) > MostByTurns:
			return p.wrong("pairing", fmt.Errorf("%d arms run by turns: must be at most %d, or divided by pair",
				len(arms), MostByTurns))
		case len(arms) == 1 && name != "":
			return p.wrong(first.path+".pair", fmt.Errorf("%q: no other arm has it", name))
		}
		for _, i := range arms {
			if a := &p.Arms[i]; !a.Recorded() {
				return p.wrong(a.path+".command", errors.New("cannot run by turns: its iterations are not recorded"))
			}
		}
	}
	return nil
}

// pairs returns the arms that run by turns, by the name of their pair: empty for those of the plan's pairing.
func (p *Plan) pairs() map[string][]int {
	all := map[string][]int{}
	for i := range p.Arms {
		if a := &p.Arms[i]; a.Pair != "" || p.Pairing == Turns {
			all[a.Pair] = append(all[a.Pair], i)
		}
	}
	return all
}

// whole reports whether whole runs of some arms take turns, because one of them is a
// program that cannot be stopped within its steps.
func (p *Plan) whole(arms []int) bool {
	return slices.ContainsFunc(arms, func(i int) bool { return len(p.Arms[i].Python) > 0 })
}

// Arm returns the index of the arm of a name, −1 for none.
func (p *Plan) Arm(name string) int {
	return slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Name == name })
}

// Kind says how an arm runs.
func (a *Arm) Kind() string {
	switch {
	case len(a.Python) > 0:
		return "python"
	case len(a.Command) > 0:
		return "command"
	case a.Program != "":
		return "program"
	}
	return "settings"
}

// Recorded reports whether an arm's iterations are recorded: all but those of commands that are no runs.
func (a *Arm) Recorded() bool {
	return len(a.Command) == 0 || slices.Contains([]string{"run", "cyto", "ptycho"}, a.Command[0])
}

// checkArm checks an arm.
func (p *Plan) checkArm(a *Arm, presets preset.Shelves) error {
	var given []string
	for _, way := range []struct {
		name  string
		given bool
	}{{"program", a.Program != ""}, {"python", len(a.Python) > 0}, {"command", len(a.Command) > 0}} {
		if way.given {
			given = append(given, way.name)
		}
	}
	if len(given) > 1 {
		return p.wrong(a.path+"."+given[1], fmt.Errorf("cannot be joined with %s", given[0]))
	}
	if a.Continues {
		switch {
		case a.Kind() != "python":
			return p.wrong(a.path+".continues",
				errors.New("needs python: prismtop's own runs have checkpoints, and commands none"))
		case slices.ContainsFunc(p.All(a), func(s settings.Assignment) bool { return s.Key == settings.MaxIterations }):
			return p.wrong(a.path+".continues", errors.New("cannot be joined with max_iterations: the steps before "+
				"the program's own checkpoint cannot be counted; let it end by itself, or set max_seconds"))
		}
	}
	switch a.Kind() {
	case "command":
		if len(a.Set) > 0 || a.Preset != "" {
			return p.wrong(a.path+".command",
				errors.New("cannot be joined with preset or set: write flags into the command"))
		}
		if p.Budget > 0 && !a.Recorded() {
			return p.wrong("budget", fmt.Errorf("arm %q is a command, whose time it cannot limit", a.Name))
		}
		return nil
	case "python":
		if a.Preset != "" {
			return p.wrong(a.path+".python", errors.New("cannot be joined with preset: a program has none"))
		}
		return nil // its knobs are known once it runs
	case "program":
		return nil // which checks them itself
	}
	_, err := p.Settings(a, presets)
	return err
}

// Settings returns the settings of an arm: those of its preset, of the base, and its own. Errors name line and key.
func (p *Plan) Settings(a *Arm, presets preset.Shelves) (settings.Values, error) {
	name, at := cmp.Or(a.Preset, p.Base.Preset, presets.Default()), "base.preset"
	if a.Preset != "" {
		at = a.path + ".preset"
	}
	own := a.path + ".set"
	if a.path == "grid" || a.path == "search" {
		own = a.path // its lists
	}
	chosen, err := presets.Lookup(name)
	if err != nil {
		return settings.Values{}, p.wrong(at, err)
	}
	v, places := chosen.Settings, map[string]string{}
	for _, from := range []struct {
		path string
		set  []settings.Assignment
	}{{"base", p.Base.Set}, {own, a.Set}} {
		for _, s := range from.set {
			key := from.path + "." + s.Key
			if _, known := v.Lookup(s.Key); !known {
				return v, p.wrong(key, &settings.UnknownKeyError{Key: s.Key,
					Near: settings.Closest(s.Key, v.Table().Names())})
			}
			if v, err = v.Set(s.Key, s.Value); err != nil {
				return v, p.wrong(key, err)
			}
			places[s.Key] = key
		}
	}
	v = v.Settled()
	if err := v.Validate(); err != nil {
		var of *settings.ValueError
		if errors.As(err, &of) && places[of.Key] != "" {
			return v, p.wrong(places[of.Key], err)
		}
		return v, p.wrong(a.path, err)
	}
	return v, nil
}

// All returns the settings of an arm that the plan itself gives: of the base, and its own over them.
func (p *Plan) All(a *Arm) []settings.Assignment {
	all := slices.Clone(p.Base.Set)
	for _, s := range a.Set {
		if i := slices.IndexFunc(all, func(b settings.Assignment) bool { return b.Key == s.Key }); i >= 0 {
			all[i] = s
		} else {
			all = append(all, s)
		}
	}
	return all
}

// Grid returns an arm for each combination of values, the last key's changing first.
func Grid(keys []string, values map[string][]string) (arms []Arm) {
	arms = []Arm{{path: "grid"}}
	for _, key := range keys {
		var next []Arm
		for _, a := range arms {
			for _, value := range values[key] {
				b := a
				b.Set = append(slices.Clone(a.Set), settings.Assignment{Key: key, Value: value})
				b.Name = strings.TrimPrefix(a.Name+","+key+"="+fileName(value), ",")
				next = append(next, b)
			}
		}
		if arms = next; len(arms) > MostArms {
			return arms
		}
	}
	return arms
}

// fileName makes a value part of a name.
func fileName(value string) string {
	return strings.Map(func(r rune) rune {
		if named.MatchString(string(r)) || strings.ContainsRune("._+-", r) {
			return r
		}
		return '-'
	}, value)
}

// Words splits a command line at spaces, as a shell does with quotes and backslashes.
func Words(text string) (all []string, err error) {
	var b strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				all = append(all, b.String())
			}
			b.Reset()
			begun = false
		default:
			b.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote is open at its end")
	}
	if begun {
		all = append(all, b.String())
	}
	return all, nil
}

// sorted returns the assignments of a table, by key.
func sorted(of map[string]string) (all []settings.Assignment) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, settings.Assignment{Key: key, Value: of[key]})
	}
	return all
}

// text formats a value of TOML as a setting's text.
func text(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			if _, nested := v[i].([]any); nested {
				return "", errors.New("must be a value or a list of values")
			}
			part, err := text(v[i])
			if err != nil {
				return "", err
			}
			parts[i] = part
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("must be a text, a number, true or false, or a list of them")
}
