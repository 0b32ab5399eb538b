package profiles

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
)

// A described schema is read from JSON instead of being declared in Go: see docs/data-model.md. This file reads and
// checks it, and checks what a recording has of one.

// largestSchema bounds the JSON of a schema in bytes.
const largestSchema = 1 << 18

// mostOf bounds the lists of a schema that no record has room for.
const mostOf = 64

// The words of directions and scales in JSON.
var (
	directionWords = []string{NoBetter: "", LessIsBetter: "less", MoreIsBetter: "more"}
	scaleWords     = []string{Linear: "linear", Logarithmic: "logarithmic"}
)

// MarshalText returns the direction's word.
func (d Direction) MarshalText() ([]byte, error) { return []byte(directionWords[d]), nil }

// UnmarshalText reads the direction's word.
func (d *Direction) UnmarshalText(text []byte) error {
	i := slices.Index(directionWords, string(text))
	if i < 0 {
		return fmt.Errorf("better %q: must be less, more or nothing", text)
	}
	*d = Direction(i)
	return nil
}

// MarshalText returns the scale's word.
func (s Scale) MarshalText() ([]byte, error) { return []byte(scaleWords[s]), nil }

// UnmarshalText reads the scale's word.
func (s *Scale) UnmarshalText(text []byte) error {
	i := slices.Index(scaleWords, string(text))
	if i < 0 {
		return fmt.Errorf("scale %q: must be linear or logarithmic", text)
	}
	*s = Scale(i)
	return nil
}

// ReadSchema reads a schema from JSON. Titles that it lacks are the names. An error names the entry and says what
// would be right.
func ReadSchema(data []byte) (s Schema, err error) {
	if len(data) > largestSchema {
		return s, fmt.Errorf("a schema of %d bytes: must be at most %d", len(data), largestSchema)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Schema{}, fmt.Errorf("a schema: %s", visible.Text(err.Error()))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Schema{}, errors.New("a schema: something follows its JSON")
	}
	for i := range s.Caches {
		c := &s.Caches[i]
		c.Title = cmp.Or(c.Title, c.Name)
		c.Long = cmp.Or(c.Long, c.Title+" cache")
	}
	for i := range s.Series {
		s.Series[i].Title = cmp.Or(s.Series[i].Title, s.Series[i].Name)
	}
	if len(s.Kinds) == 0 || len(s.Stages) == 0 {
		return Schema{},
			errors.New("the schema has no kinds of iterations, or no stages: must have one of each or more")
	}
	if s.Unit.One == "" || s.Unit.Many == "" {
		return Schema{}, errors.New("the schema does not name its unit of work: must be as one epoch, many epochs")
	}
	if err := settings.CheckName(s.Workload); err != nil {
		return Schema{}, fmt.Errorf("the schema's workload: %w", err)
	}
	if err := s.Check(); err != nil {
		return Schema{}, err
	}
	if err := s.checkNames(); err != nil {
		return Schema{}, err
	}
	return s, s.checkTexts()
}

// Check returns why a schema, as a file has it, cannot be used: it has more entries than records have
// room for, or entries that refer to others that it lacks.
func (s *Schema) Check() error {
	for _, part := range []struct {
		name    string
		n, most int
	}{
		{"phases", len(s.Phases), MaxPhases}, {"series", len(s.Series), MaxSeries},
		{"caches", len(s.Caches), MaxCaches}, {"categories of memory", len(s.Memory), MaxMemory},
		{"pictures", len(s.Pictures), MaxPictures}, {"kinds of iterations", len(s.Kinds), math.MaxUint8 + 1},
		{"stages", len(s.Stages), math.MaxUint8 + 1}, {"tips", len(s.Tips), math.MaxUint8 + 1},
	} {
		if part.n > part.most {
			return fmt.Errorf("the schema has %d %s: must be at most %d", part.n, part.name, part.most)
		}
	}
	for _, p := range s.Phases {
		if p.Colour < 0 || p.Colour > MaxPhases {
			return fmt.Errorf("the schema's phase %q has the colour %d: must be from 1 to %d, or 0", p.Name, p.Colour,
				MaxPhases)
		}
	}
	for _, k := range s.Kinds {
		if k.Stage < 0 || k.Stage >= len(s.Stages) {
			return fmt.Errorf("the schema's kind %q belongs to stage %d of %d", k.Name, k.Stage, len(s.Stages))
		}
	}
	if !(s.Layout >= 0 && s.Layout <= 1) {
		return fmt.Errorf("the schema's layout is %g: must be a share, from 0 to 1", s.Layout)
	}
	return s.checkAcceptance()
}

// checkNames returns why a name cannot be used: it is empty, too long, does not print, or is there twice.
func (s *Schema) checkNames() error {
	each := func(what string, n int, name func(i int) string) error {
		seen := map[string]bool{}
		for i := range n {
			v := name(i)
			err := settings.CheckText("its name", v, settings.LongestName)
			switch {
			case err != nil:
			case v == "" || strings.TrimSpace(v) != v || strings.ContainsAny(v, "\"\\"):
				err = errors.New("must be text without quotes, and without blanks at its ends")
			case seen[v]:
				err = errors.New("is there twice")
			}
			if err != nil {
				return fmt.Errorf("the schema's %s %d, %q: %w", what, i+1, v, err)
			}
			seen[v] = true
		}
		return nil
	}
	return cmp.Or(
		each("stage", len(s.Stages), func(i int) string { return s.Stages[i] }),
		each("kind", len(s.Kinds), func(i int) string { return s.Kinds[i].Name }),
		each("phase", len(s.Phases), func(i int) string { return s.Phases[i].Name }),
		each("cache", len(s.Caches), func(i int) string { return s.Caches[i].Name }),
		each("series", len(s.Series), func(i int) string { return s.Series[i].Name }),
		each("category of memory", len(s.Memory), func(i int) string { return s.Memory[i].Name }),
		each("picture", len(s.Pictures), func(i int) string { return s.Pictures[i].Name }),
	)
}

// checkTexts returns why a text that is shown cannot be used, or what it names is not there.
func (s *Schema) checkTexts() (err error) {
	text := func(what string, most int, texts ...string) {
		for _, t := range texts {
			if err == nil {
				err = settings.CheckText("the schema's "+what, t, most)
			}
		}
	}
	text("unit", settings.LongestName, s.Unit.One, s.Unit.Many, s.Item.One, s.Item.Many)
	for i := range s.Phases {
		text("phase "+s.Phases[i].Name, settings.LongestText, s.Phases[i].What)
	}
	for i := range s.Caches {
		c := &s.Caches[i]
		text("cache "+c.Name, settings.LongestName, c.Title, c.Long, c.Setting, c.Limit)
		text("cache "+c.Name, settings.LongestText, c.What, c.Note)
		if len(c.Uses) > mostOf {
			return fmt.Errorf("the schema's cache %s has %d uses: must be at most %d", c.Name, len(c.Uses), mostOf)
		}
		for _, u := range c.Uses {
			text("cache "+c.Name, settings.LongestText, u.Why, u.Seldom, u.Brief, u.Reason, string(u.Instead),
				string(u.Hint))
		}
	}
	for i := range s.Series {
		x := &s.Series[i]
		text("series "+x.Name, settings.LongestName, x.Title, x.Unit, x.Group)
		text("series "+x.Name, settings.LongestText, x.What, x.Absent, x.Infinite)
	}
	for _, t := range s.Tips {
		text("tips", settings.LongestText, t.Alert, string(t.Try))
	}
	if err == nil && s.Quality != "" && s.SeriesNamed(s.Quality) < 0 {
		err = fmt.Errorf("the schema's quality is the series %q, which it lacks", visible.Text(s.Quality))
	}
	return cmp.Or(err, s.acceptanceTexts())
}

// CheckSettings returns why a schema does not fit a table of settings: one refers to what the other lacks.
func (s *Schema) CheckSettings(t *settings.Table) error {
	if s.Workload != t.Workload {
		return fmt.Errorf("the schema is of the workload %s, and the settings of %s", s.Workload, t.Workload)
	}
	refers := func(what, setting string) error {
		if _, known := t.Lookup(setting); setting != "" && !known {
			return fmt.Errorf("%s refers to the setting %q, which is not there", what, visible.Text(setting))
		}
		return nil
	}
	if err := refers("the schema's threshold", s.Threshold); err != nil {
		return err
	}
	for i := range s.Caches {
		c := &s.Caches[i]
		if err := errors.Join(refers("the cache "+c.Name, c.Setting),
			refers("the limit of the cache "+c.Name, c.Limit)); err != nil {
			return err
		}
		for _, u := range c.Uses {
			if err := refers("a use of the cache "+c.Name, u.Setting); err != nil {
				return err
			}
		}
	}
	for _, tip := range s.Tips {
		if err := refers("a tip", tip.Setting); err != nil {
			return err
		}
	}
	for _, k := range t.Keys() {
		for _, phase := range k.Touches {
			if !slices.ContainsFunc(s.Phases, func(p PhaseInfo) bool { return p.Name == phase }) {
				return fmt.Errorf("the setting %s touches the phase %q, which the schema lacks", k.Name,
					visible.Text(phase))
			}
		}
	}
	return nil
}
