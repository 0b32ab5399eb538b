package preset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Origins tells where each key's value came from: "preset moon", "preset prism" where
// moon leaves it as in the preset that it is based on, "file x.toml", "environment PRISMTOP_RADIUS", "flag --set", "flag --image".
type Origins map[string]string

// EnvPrefix begins the name of every environment variable that sets a key:
// PRISMTOP_LEARNING_RATE sets learning_rate.
const EnvPrefix = "PRISMTOP_"

// EnvPreset is the environment variable that names the preset.
const EnvPreset = EnvPrefix + "PRESET"

// Sources is where settings come from, the later ones winning: preset, file,
// environment, flags.
type Sources struct {
	Preset string // --preset; empty asks EnvPreset, then the file, then takes Default
	File   string // path of a TOML file, which may hold preset = "…"; empty for none
	// Env is the environment as os.Environ gives it. Unknown names with
	// EnvPrefix are errors unless EnvOthers lists them.
	Env       []string
	EnvOthers []string // names with EnvPrefix that the program reads for other purposes
	Sets      []string // "key=value" of --set, in order
	Flags     []Flag   // flags that are settings; they win over Sets

	text []byte // of File, once Read has read it
	read bool
}

// Read reads the file, if there is one, so that Resolve and Chosen need not: a pipe,
// such as the shell makes of <(…), can be read once only. It waits for the pipe's end,
// or that of ctx, whose error it returns.
func (src *Sources) Read(ctx context.Context) error {
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

// Flag is a setting that has a flag of its own.
type Flag struct {
	Name  string // without dashes: "max-time"
	Key   string // "max_seconds"
	Value string // as Set reads it
}

// Resolve joins the sources into settings that Validate accepts, and tells
// where each value came from. Errors are one line that names the source, the
// key and what would be right.
func Resolve(src Sources) (Settings, Origins, error) {
	p, file, err := src.choose()
	if err != nil {
		return Settings{}, nil, err
	}
	s, origins := p.Settings, p.origins
	layers := []func(*Settings, Origins) error{
		func(s *Settings, o Origins) error { return src.applyFile(file, s, o) },
		src.applyEnv, src.applySets, src.applyFlags,
	}
	for _, layer := range layers {
		if err := layer(&s, origins); err != nil {
			return Settings{}, nil, err
		}
	}
	if _, other := s.ThresholdSuspended(); other { // only a run that goes on has had another loss
		return Settings{}, nil, fmt.Errorf("%w (%s)", find(thresholdKey).wrong(strconv.Quote(s.Get(thresholdKey))), origins[thresholdKey])
	}
	if err := s.Validate(); err != nil {
		var wrong *ValueError
		if errors.As(err, &wrong) {
			err = fmt.Errorf("%w (%s)", err, origins[wrong.Key])
		}
		return Settings{}, nil, err
	}
	return s, origins, nil
}

// Chosen is the preset that the sources name.
func (src Sources) Chosen() (Preset, error) {
	p, _, err := src.choose()
	return p, err
}

func (src Sources) choose() (Preset, document, error) {
	var file document
	if src.File != "" {
		if err := src.Read(context.Background()); err != nil {
			return Preset{}, file, err
		}
		var err error
		if file, err = decode(src.text, "preset"); err != nil {
			return Preset{}, file, fmt.Errorf("file %s: %w", src.File, err)
		}
	}
	p, err := src.lookup(file)
	return p, file, err
}

// lookup is the preset of the last source that names one. The others must be
// right too, as every other value must.
func (src Sources) lookup(file document) (Preset, error) {
	p, err := Lookup(Default)
	if err != nil {
		return p, err
	}
	fromFile, inFile := file.meta["preset"]
	fromEnv := src.env()[EnvPreset]
	for _, named := range []struct {
		given       bool
		name, where string
	}{
		{inFile, fromFile, "file " + src.File + ": "},
		{fromEnv != "", fromEnv, "environment " + EnvPreset + ": "},
		{src.Preset != "", src.Preset, ""},
	} {
		if !named.given {
			continue
		}
		if p, err = Lookup(named.name); err != nil {
			return p, fmt.Errorf("%s%w", named.where, err)
		}
	}
	return p, nil
}

// env is the part of the environment that is ours; the last of several wins.
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

func (src Sources) applyFile(file document, s *Settings, origins Origins) error {
	if src.File == "" {
		return nil
	}
	if err := file.apply(s, origins, "file "+src.File); err != nil {
		return fmt.Errorf("file %s: %w", src.File, err)
	}
	return nil
}

func (src Sources) applyEnv(s *Settings, origins Origins) error {
	ours := src.env()
	delete(ours, EnvPreset)
	for _, name := range src.EnvOthers {
		delete(ours, name)
	}
	for i := range table {
		name := EnvPrefix + strings.ToUpper(table[i].Name)
		value, ok := ours[name]
		if !ok {
			continue
		}
		delete(ours, name)
		if err := s.Set(table[i].Name, value); err != nil {
			return fmt.Errorf("environment %s: %w", name, err)
		}
		origins[table[i].Name] = "environment " + name
	}
	if len(ours) == 0 {
		return nil
	}
	unknown := make([]string, 0, len(ours))
	for name := range ours {
		unknown = append(unknown, name)
	}
	slices.Sort(unknown)
	return unknownEnvironment(unknown)
}

func unknownEnvironment(names []string) error {
	key := strings.ToLower(strings.TrimPrefix(names[0], EnvPrefix))
	hint := ""
	if near := nearest(key); len(names) == 1 && len(near) > 0 {
		hint = ", did you mean " + EnvPrefix + strings.ToUpper(near[0]) + "?"
	}
	return fmt.Errorf("environment %s: no such setting%s", strings.Join(names, ", "), hint)
}

func (src Sources) applySets(s *Settings, origins Origins) error {
	for _, set := range src.Sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return fmt.Errorf("flag --set %q: must be key=value", set)
		}
		key = strings.TrimSpace(key)
		if err := s.Set(key, value); err != nil {
			return fmt.Errorf("flag --set: %w", err)
		}
		origins[key] = "flag --set"
	}
	return nil
}

func (src Sources) applyFlags(s *Settings, origins Origins) error {
	for _, flag := range src.Flags {
		origin := "flag --" + flag.Name
		if err := s.Set(flag.Key, flag.Value); err != nil {
			return fmt.Errorf("%s: %w", origin, err)
		}
		origins[flag.Key] = origin
	}
	return nil
}
