package loop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Greeting is what a loop says of itself. Its entries keep their indices in later greetings, which only add some.
type Greeting struct {
	Format int

	Script, Directory string
	Argv              []string
	Python, Torch     string
	Device, Card      string
	UUID              string // of the card, as its driver gives it, "GPU-…"; empty if PyTorch does not say
	Threads, Workers  int

	Models     []Model
	Parameters int
	Optimizers []string
	Scaler     bool
	Clock      string // "device" or "host": whose times are to be shown
	Attached   bool   // the module came into the program while it ran
	Kept       bool   // malloc keeps what the program frees, from its start

	Unit struct {
		One, Many string
		Total     int // 0 if unknown
	}
	Item struct{ One, Many string } // empty if unknown

	Kinds    []Kind
	Phases   []Phase
	Series   []Series
	Quality  string // the name of a series; empty for none
	Caches   []Cache
	Memory   []MemoryPart
	Pictures []PictureInfo
	Able     map[string]string // "" or why not, by ability
	Knobs    []Knob
}

// Model is a model that a loop trains.
type Model struct {
	Class      string
	Parameters int
	Compiled   bool
}

// Kind is a kind of step. Aside is true for kinds that are not what the loop mostly does.
type Kind struct {
	Name  string
	Aside bool
}

// Phase is a phase of a step, found by patches or declared by the program.
type Phase struct{ Name, What, Tier string }

// Series is a number that a loop logs.
type Series struct {
	Name, Title, Unit string
	Better            string // "less", "more" or ""
	Group             string // "losses", "metrics" or ""
	Each              bool
}

// Cache is a cache that a loop declares, with the knob that switches it.
type Cache struct{ Name, Title, What, Setting string }

// MemoryPart is a category of memory; Model is true if it is the model's.
type MemoryPart struct {
	Name  string
	Model bool
}

// PictureInfo is a picture that a loop draws.
type PictureInfo struct {
	Name string
	Live bool
}

// The types of knobs.
const (
	Choice = "choice"
	Bool   = "bool" // off or on
	Number = "number"
)

// The prices of knobs.
const (
	Cheap   = "cheap" // compared by blocks of steps
	Dear    = "dear"  // by longer ones
	ByEpoch = "epoch" // not within an epoch
)

// Knob is something that can be switched while a loop trains.
type Knob struct {
	Key, Type string
	Values    []string // of a Choice or a Bool
	Low, High float64  // of a Number
	Integer   bool     // likewise
	Value     string   // in force

	Help     string
	Touches  []string
	Price    string
	Compared []string          // two values; empty for none
	Exact    bool              // the result keeps its bits
	Why      string            // it cannot be switched; empty if it can
	Refused  map[string]string // why, by value
	Declared bool              // by the program
}

// Under changes the values in force to those that settings asked for: a reader that comes later finds them so. refused
// values are not among them, as far as the greeting says.
func (g *Greeting) Under(s *Settings) {
	for i := range g.Knobs {
		k := &g.Knobs[i]
		for _, sets := range []map[string]string{s.Set, s.After} {
			value, has := sets[k.Key]
			if !has || k.Refused[value] != "" || k.Type != Number && !slices.Contains(k.Values, value) {
				continue
			}
			k.Value = value
		}
	}
}

// Bounds of a greeting.
const (
	maxKinds    = 8
	maxPictures = 5
	maxKnobs    = 64
	maxName     = 32  // bytes
	maxText     = 200 // bytes
)

// Check returns why a greeting makes no sense. What it says of a loop is not trusted: it comes from another process.
func (g *Greeting) Check() error {
	if g.Format != format {
		return fmt.Errorf("format %d: this prismtop reads format %d", g.Format, format)
	}
	for _, part := range []struct {
		name    string
		n, most int
	}{
		{"phases", len(g.Phases), MaxPhases}, {"series", len(g.Series), MaxSeries},
		{"caches", len(g.Caches), MaxCaches}, {"categories of memory", len(g.Memory), MaxMemory},
		{"pictures", len(g.Pictures), maxPictures}, {"knobs", len(g.Knobs), maxKnobs},
		{"kinds of steps", len(g.Kinds), maxKinds}, {"models", len(g.Models), 64},
		{"optimizers", len(g.Optimizers), 64},
	} {
		if part.n > part.most {
			return fmt.Errorf("%d %s: must be at most %d", part.n, part.name, part.most)
		}
	}
	if len(g.Phases) == 0 || len(g.Kinds) == 0 {
		return errors.New("it has no phase or no kind of steps")
	}
	if g.Threads < 0 || g.Workers < 0 || g.Parameters < 0 || g.Unit.Total < 0 {
		return errors.New("it has negative numbers")
	}
	c := checker{}
	for _, p := range g.Phases {
		c.name("phase", p.Name)
		c.text(p.What)
	}
	for _, k := range g.Kinds {
		c.name("kind", k.Name)
	}
	for _, s := range g.Series {
		c.name("series", s.Name)
		c.text(s.Title, s.Unit, s.Group)
	}
	for _, part := range g.Caches {
		c.name("cache", part.Name)
		c.text(part.Title, part.What, part.Setting)
	}
	for _, m := range g.Memory {
		c.name("memory", m.Name)
	}
	for _, p := range g.Pictures {
		c.name("picture", p.Name)
	}
	c.text(g.Quality, g.Unit.One, g.Unit.Many, g.Item.One, g.Item.Many)
	for i := range g.Knobs {
		c.name("knob", g.Knobs[i].Key)
		c.knob(&g.Knobs[i])
	}
	return c.err
}

// checker keeps the first error.
type checker struct {
	err  error
	seen map[string]bool
}

func (c *checker) fail(format string, of ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, of...)
	}
}

// name checks the name of a thing, which no other thing of its kind has.
func (c *checker) name(kind, name string) {
	switch {
	case name == "" || len(name) > maxName || !utf8.ValidString(name):
		c.fail("%s %q: its name must have 1 to %d bytes", kind, name, maxName)
	case c.seen[kind+" "+name]:
		c.fail("%s %q: is there twice", kind, name)
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[kind+" "+name] = true
}

func (c *checker) text(texts ...string) {
	for _, t := range texts {
		if len(t) > maxText || !utf8.ValidString(t) {
			c.fail("%.40q…: must be text of at most %d bytes", t, maxText)
		}
	}
}

// knob checks that a knob is one: its value, and those that are compared, are among its values.
func (c *checker) knob(k *Knob) {
	c.text(k.Help, k.Why)
	c.text(k.Values...)
	switch k.Type {
	case Choice, Bool:
		if len(k.Values) == 0 || len(k.Values) > 16 || !slices.Contains(k.Values, k.Value) {
			c.fail("knob %q = %q: must be one of %d values, 1 to 16", k.Key, k.Value, len(k.Values))
		}
		for _, v := range k.Compared {
			if !slices.Contains(k.Values, v) {
				c.fail("knob %q: %q is compared and is none of its values", k.Key, v)
			}
		}
	case Number:
		if !(k.Low < k.High) || len(k.Compared) > 0 && k.Price != Cheap {
			c.fail("knob %q: from %g to %g", k.Key, k.Low, k.High)
		}
	default:
		c.fail("knob %q: its type is %q", k.Key, k.Type)
	}
	if len(k.Compared) != 0 && (len(k.Compared) != 2 || k.Compared[0] == k.Compared[1]) {
		c.fail("knob %q: %s: must be two values", k.Key, strings.Join(k.Compared, ", "))
	}
	for _, value := range slices.Sorted(maps.Keys(k.Refused)) {
		c.text(value, k.Refused[value])
	}
}
