package settings

import (
	"fmt"
	"slices"
	"strings"
)

// A factorial ablation runs every combination of its factors, so their number is bounded.
const (
	LeastFactors = 2
	MostFactors  = 5
)

// DefaultFactors is the name of the factors that a table marks as the default.
const DefaultFactors = "default"

// Factor is something that a factorial ablation switches as a whole: a setting between two of its
// compared values, or several settings together.
type Factor struct {
	Name    string       // "fft_cache", "amp=bf16", or the name shared by several settings: "caches"
	Off, On []Assignment // of the same keys in the same order
	Default bool         // in the default choice
}

// Overlaps reports whether two factors switch the same setting.
func (f *Factor) Overlaps(g *Factor) bool {
	return slices.ContainsFunc(f.On, func(a Assignment) bool {
		return slices.ContainsFunc(g.On, func(b Assignment) bool { return a.Key == b.Key })
	})
}

// Text names the settings and values between which the factor switches: "amp off → bf16".
func (f *Factor) Text() string {
	parts := make([]string, len(f.On))
	for i, on := range f.On {
		parts[i] = on.Key
		if on.Value != "true" {
			parts[i] += " " + f.Off[i].Value + " → " + on.Value
		}
	}
	return strings.Join(parts, ", ")
}

// Factors lists the factors that the table offers, in the order of an ablation's table: each
// compared pair of values, preceded by the factors that join several settings.
func (t *Table) Factors() []Factor {
	var single, all []Factor
	joined := map[string]*Factor{}
	keys := t.Compares()
	for _, k := range keys {
		if c := k.Compared; c.Factor != "" {
			j := joined[c.Factor]
			if j == nil {
				j = &Factor{Name: c.Factor, Default: true}
				joined[c.Factor] = j
			}
			j.Off = append(j.Off, Assignment{k.Name, c.Pairs[0].Off})
			j.On = append(j.On, Assignment{k.Name, c.FactorOn})
		}
	}
	for _, k := range keys {
		j := joined[k.Compared.Factor]
		alone := j != nil && len(j.On) == 1
		if j != nil && !alone && j.On[0].Key == k.Name {
			all = append(all, *j)
		}
		for _, p := range k.Compared.Pairs {
			f := Factor{Name: k.Name, Off: []Assignment{{k.Name, p.Off}}, On: []Assignment{{k.Name, p.On}}}
			if p.On != "true" {
				f.Name += "=" + p.On
			}
			f.Default = alone && p.On == k.Compared.FactorOn
			single = append(single, f)
		}
		all, single = append(all, single...), single[:0]
	}
	return all
}

// ParseFactors returns the named factors of the table in its order: each name is that of a factor,
// or of a setting with several values, which stands for its default or first one. DefaultFactors
// alone stands for the default choice. An error says what would be right.
func (t *Table) ParseFactors(names []string) ([]Factor, error) {
	offered := t.Factors()
	chosen := make([]bool, len(offered))
	if len(names) == 1 && names[0] == DefaultFactors {
		for i, f := range offered {
			chosen[i] = f.Default
		}
		names = nil
	}
	for _, name := range names {
		i := factorNamed(offered, name)
		if i < 0 {
			why := "unknown"
			switch {
			case name == DefaultFactors:
				why = "names all by itself"
			case t.at(name) >= 0:
				why = "an ablation does not switch it"
			}
			return nil, fmt.Errorf("%q: %s: must be some of %s", name, why, factorNames(offered))
		}
		for j := range offered {
			switch {
			case !chosen[j] || !offered[j].Overlaps(&offered[i]):
			case i == j:
				return nil, fmt.Errorf("%q: named twice", name)
			default:
				return nil, fmt.Errorf("%q: %s switches the same setting: must be one of the two", name,
					offered[j].Name)
			}
		}
		chosen[i] = true
	}
	var factors []Factor
	for i, f := range offered {
		if chosen[i] {
			factors = append(factors, f)
		}
	}
	if n := len(factors); n < LeastFactors || n > MostFactors {
		return nil, fmt.Errorf("%d named: must be %d to %d of %s", n, LeastFactors, MostFactors, factorNames(offered))
	}
	return factors, nil
}

// factorNamed returns the index of a factor by its name, or by its setting's name; −1 for none.
func factorNamed(offered []Factor, name string) int {
	at := -1
	for i, f := range offered {
		switch {
		case f.Name == name:
			return i
		case len(f.On) == 1 && f.On[0].Key == name && (at < 0 || f.Default):
			at = i
		}
	}
	return at
}

func factorNames(factors []Factor) string {
	names := make([]string, len(factors))
	for i, f := range factors {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}
