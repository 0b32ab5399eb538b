package preset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"prismtop/profiles/settings"
)

// The settings of a run from all sources in their order: preset, files, environment, assignments and flags.

// EnvPrefix is the prefix of every environment variable that sets a key:
// PRISMTOP_LEARNING_RATE sets learning_rate.
const EnvPrefix = "PRISMTOP_"

// EnvPreset is the environment variable that names the preset.
const EnvPreset = EnvPrefix + "PRESET"

// Sources are the sources of settings; later ones take precedence: preset, the user's own file, file,
// environment, flags.
type Sources struct {
	Shelves Shelves
	Preset  string // --preset; empty means EnvPreset, then the files, then the default
	// Own is the path of the user's own TOML file for all runs, which need not be there; empty for none. It may
	// contain preset = "…", settings of any workload, and a table of settings for each workload: [cyto].
	Own  string
	Only string // the only workload whose preset Own may choose; empty for any
	File string // path of a TOML file, which may contain preset = "…"; empty for none
	// Env is the environment in the form of os.Environ. Unknown names with
	// EnvPrefix are errors unless EnvOthers lists them.
	Env       []string
	EnvOthers []string // names with EnvPrefix that the program reads for other purposes
	Sets      []string // "key=value" of --set, in order
	Flags     []Flag   // flags that are settings; they override Sets

	text []byte // of File, once Read has read it
	read bool
	own  []byte // of Own, once Read has read it
}

// Read reads the file, if there is one, so that Resolve and Chosen need not: a pipe,
// such as the shell makes for <(…), can be read only once. It waits for the pipe's
// end, or that of ctx, whose error it returns.
func (src *Sources) Read(ctx context.Context) error {
	if src.Own != "" && src.own == nil {
		text, err := readFile(ctx, src.Own)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			src.Own = ""
		case err != nil:
			return fmt.Errorf("file %s: %w", src.Own, err)
		default:
			src.own = append([]byte{}, text...)
		}
	}
	if src.File == "" || src.read {
		return nil
	}
	text, err := readFile(ctx, src.File)
	if err == nil {
		src.text, src.read = text, true
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("file %s: %w", src.File, err)
}

// Flag is a setting with its own flag.
type Flag struct {
	Name  string // without dashes: "max-time"
	Key   string // "max_seconds"
	Value string // as Set reads it
}

// Resolve combines the sources into valid settings and reports the origin of each value.
// Errors are one line that names the source, the key and the remedy.
func Resolve(src Sources) (settings.Values, settings.Origins, error) {
	p, file, err := src.choose()
	if err != nil {
		return settings.Values{}, nil, err
	}
	v, origins := p.Settings, p.origins
	layers := []func(settings.Values, settings.Origins) (settings.Values, error){
		src.applyOwn,
		func(v settings.Values, o settings.Origins) (settings.Values, error) { return src.applyFile(file, v, o) },
		src.applyEnv, src.applySets, src.applyFlags,
	}
	for _, layer := range layers {
		if v, err = layer(v, origins); err != nil {
			return settings.Values{}, nil, err
		}
	}
	if err := v.Unsuspended(); err != nil { // only a run in progress can have suspended one
		return settings.Values{}, nil, From(origins, err)
	}
	if err := v.Validate(); err != nil {
		return settings.Values{}, nil, From(origins, err)
	}
	return v, origins, nil
}

// ResolveOver applies --set and flags to settings that come from elsewhere, and reports the origin
// of each value: of is that of those that no flag changes. Rules about several settings are checked.
func (src Sources) ResolveOver(v settings.Values, of string) (settings.Values, settings.Origins, error) {
	origins := settings.Origins{}
	for _, key := range v.Table().Names() {
		origins[key] = of
	}
	for _, layer := range []func(settings.Values, settings.Origins) (settings.Values, error){src.applySets,
		src.applyFlags} {
		var err error
		if v, err = layer(v, origins); err != nil {
			return settings.Values{}, nil, err
		}
	}
	v = v.Settled()
	if err := v.Validate(); err != nil {
		return settings.Values{}, nil, From(origins, err)
	}
	return v, origins, nil
}

// From adds to an error about a value the source that an error refers to.
func From(origins settings.Origins, err error) error {
	var wrong *settings.ValueError
	var unusable *settings.KeyError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%w (%s)", err, origins[wrong.Key])
	case errors.As(err, &unusable) && origins[unusable.Key] != "":
		return fmt.Errorf("%s: %w", origins[unusable.Key], err)
	}
	return err
}

// Chosen returns the preset named by the sources.
func (src Sources) Chosen() (Preset, error) {
	p, _, err := src.choose()
	return p, err
}

func (src Sources) choose() (Preset, document, error) {
	var file, own document
	for _, from := range []struct {
		path string
		text *[]byte
		to   *document
	}{{src.File, &src.text, &file}, {src.Own, &src.own, &own}} {
		if from.path == "" {
			continue
		}
		err := src.Read(context.Background())
		if err != nil {
			return Preset{}, file, err
		}
		if *from.to, err = decode(*from.text); err == nil {
			err = from.to.text("preset")
		}
		if err != nil {
			return Preset{}, file, fmt.Errorf("file %s: %w", from.path, err)
		}
	}
	p, err := src.lookup(own, file)
	if err == nil && src.File != "" {
		if err = file.bind(p.Settings.Table(), "preset"); err != nil {
			err = fmt.Errorf("file %s: %w", src.File, src.Shelves.explained(p.Settings.Table(), err))
		}
	}
	return p, file, err
}

// lookup returns the preset of the last source that names one. The others must be
// valid too, like every other value.
func (src Sources) lookup(own, file document) (Preset, error) {
	p, err := src.Shelves.Lookup(src.Shelves.Default())
	if err != nil {
		return p, err
	}
	fromOwn, inOwn := own.meta["preset"]
	if inOwn && src.Only != "" {
		if named, err := src.Shelves.Lookup(fromOwn); err == nil && named.Workload() != src.Only {
			inOwn = false
		}
	}
	fromFile, inFile := file.meta["preset"]
	fromEnv := src.env()[EnvPreset]
	for _, named := range []struct {
		given       bool
		name, where string
	}{
		{inOwn, fromOwn, "file " + src.Own + ": "},
		{inFile, fromFile, "file " + src.File + ": "},
		{fromEnv != "", fromEnv, "environment " + EnvPreset + ": "},
		{src.Preset != "", src.Preset, ""},
	} {
		if !named.given {
			continue
		}
		if p, err = src.Shelves.Lookup(named.name); err != nil {
			return p, fmt.Errorf("%s%w", named.where, err)
		}
	}
	return p, nil
}

// env returns the program's part of the environment; the last of several
// duplicates wins.
func (src Sources) env() map[string]string {
	ours := map[string]string{}
	for _, line := range src.Env {
		name, value, ok := strings.Cut(line, "=")
		if ok && strings.HasPrefix(name, EnvPrefix) {
			ours[name] = value
		}
	}
	return ours
}

// applyOwn applies the user's own file: its settings that the workload has, then its table for the workload. Settings
// of other workloads are ignored, as one file serves all runs.
func (src Sources) applyOwn(v settings.Values, origins settings.Origins) (settings.Values, error) {
	if src.Own == "" {
		return v, nil
	}
	wrong := func(err error) (settings.Values, error) { return v, fmt.Errorf("file %s: %w", src.Own, err) }
	d, err := decode(src.own)
	if err != nil {
		return wrong(err)
	}
	table, mine := v.Table(), map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(d.values)) {
		value := d.values[name]
		of := slices.IndexFunc(src.Shelves, func(s Shelf) bool { return s.Table.Workload == name })
		if inner, isTable := value.(map[string]any); isTable {
			if of < 0 {
				return wrong(fmt.Errorf("[%s]: must be the name of a workload: %s", name,
					strings.Join(src.Shelves.workloads(), ", ")))
			}
			for key := range inner {
				if _, known := src.Shelves[of].Table.Lookup(key); !known {
					return wrong(fmt.Errorf("[%s]: %w", name,
						&settings.UnknownKeyError{Key: key, Near: settings.Closest(key,
							src.Shelves[of].Table.Names())}))
				}
			}
			if src.Shelves[of].Table == table {
				mine = inner
			}
			delete(d.values, name)
			continue
		}
		if _, known := table.Lookup(name); known || name == "preset" {
			continue
		}
		if !slices.ContainsFunc(src.Shelves, func(s Shelf) bool { _, known := s.Table.Lookup(name); return known }) {
			return wrong(&settings.UnknownKeyError{Key: name,
				Near: settings.Closest(name, append(table.Names(), "preset"))})
		}
		delete(d.values, name)
	}
	delete(d.values, "preset")
	maps.Copy(d.values, mine)
	d.table = table
	if v, err = d.apply(v, origins, "file "+src.Own); err != nil {
		return wrong(err)
	}
	return v, nil
}

// workloads lists the names of the workloads.
func (all Shelves) workloads() (names []string) {
	for _, shelf := range all {
		names = append(names, shelf.Table.Workload)
	}
	return names
}

func (src Sources) applyFile(file document, v settings.Values, origins settings.Origins) (settings.Values, error) {
	if src.File == "" {
		return v, nil
	}
	v, err := file.apply(v, origins, "file "+src.File)
	if err != nil {
		return v, fmt.Errorf("file %s: %w", src.File, err)
	}
	return v, nil
}

// applyEnv applies the variables of the workload's keys. Those of other workloads' keys
// are ignored: one environment serves all runs.
func (src Sources) applyEnv(v settings.Values, origins settings.Origins) (settings.Values, error) {
	ours := src.env()
	delete(ours, EnvPreset)
	for _, name := range src.EnvOthers {
		delete(ours, name)
	}
	for _, key := range v.Table().Names() {
		name := variable(key)
		value, ok := ours[name]
		if !ok {
			continue
		}
		delete(ours, name)
		var err error
		if v, err = v.Set(key, value); err != nil {
			return v, fmt.Errorf("environment %s: %w", name, err)
		}
		origins[key] = "environment " + name
	}
	for _, shelf := range src.Shelves {
		for _, key := range shelf.Table.Names() {
			delete(ours, variable(key))
		}
	}
	if len(ours) == 0 {
		return v, nil
	}
	return v, unknownEnvironment(slices.Sorted(maps.Keys(ours)), v.Table())
}

// variable returns the environment variable of a key.
func variable(key string) string { return EnvPrefix + strings.ToUpper(key) }

func unknownEnvironment(names []string, table *settings.Table) error {
	key := strings.ToLower(strings.TrimPrefix(names[0], EnvPrefix))
	hint := ""
	if near := settings.Closest(key, table.Names()); len(names) == 1 && len(near) > 0 {
		hint = ", did you mean " + variable(near[0]) + "?"
	}
	return fmt.Errorf("environment %s: no such setting%s", strings.Join(names, ", "), hint)
}

// Assignments returns what Sets assign.
func (src Sources) Assignments() (all []settings.Assignment, err error) {
	for _, set := range src.Sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return nil, fmt.Errorf("flag --set %q: must be key=value", set)
		}
		all = append(all, settings.Assignment{Key: strings.TrimSpace(key), Value: value})
	}
	return all, nil
}

func (src Sources) applySets(v settings.Values, origins settings.Origins) (settings.Values, error) {
	all, err := src.Assignments()
	if err != nil {
		return v, err
	}
	for _, a := range all {
		if v, err = v.Set(a.Key, a.Value); err != nil {
			return v, fmt.Errorf("flag --set: %w", src.Shelves.explained(v.Table(), err))
		}
		origins[a.Key] = "flag --set"
	}
	return v, nil
}

func (src Sources) applyFlags(v settings.Values, origins settings.Origins) (settings.Values, error) {
	for _, flag := range src.Flags {
		origin := "flag --" + flag.Name
		var err error
		if v, err = v.Set(flag.Key, flag.Value); err != nil {
			return v, fmt.Errorf("%s: %w", origin, src.Shelves.explained(v.Table(), err))
		}
		origins[flag.Key] = origin
	}
	return v, nil
}
