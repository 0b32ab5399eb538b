package verify

import (
	"maps"
	"slices"
	"strings"
)

// group is the arrays of one case, "conv_a.x" and its siblings.
type group struct {
	*checker
	name    string
	members map[string]bool // "x", "y_64"
}

// member returns the full name of a member.
func (g group) member(name string) string { return g.name + "." + name }

// holds reports whether the case has all the members.
func (g group) holds(members ...string) bool {
	for _, m := range members {
		if !g.members[m] {
			return false
		}
	}
	return true
}

// groupKinds recognise a case by its members; the first match counts.
var groupKinds = []struct {
	kind  string
	fits  func(group) bool
	check func(group) error
}{
	{"convolution", func(g group) bool { return g.holds("geom", "x", "w") }, convolution},
	{"batch norm", func(g group) bool { return g.holds("x", "gamma", "beta", "rm0", "rv0") }, batchNorm},
	{"activation", func(g group) bool { return g.holds("x", "gy") && len(g.activations()) > 0 }, activation},
	{"FFT of a real field", func(g group) bool { return g.holds("x", "g", "fft2_ortho_64") }, realFFT},
	{"FFT", func(g group) bool { return g.holds("x") && len(g.transforms()) > 0 }, complexFFT},
	{"loss", func(g group) bool { return g.holds("a", "b") }, loss},
	{"padding", func(g group) bool { return g.holds("x", "y") && len(g.members) == 2 }, padding},
}

// groups checks the cases whose arrays share a name up to a dot. Arrays that
// another layout has claimed are left alone.
func groups(c *checker) error {
	found := map[string]map[string]bool{}
	for name := range c.arrays {
		prefix, member, dotted := strings.Cut(name, ".")
		if !dotted || c.used[name] {
			continue
		}
		if found[prefix] == nil {
			found[prefix] = map[string]bool{}
		}
		found[prefix][member] = true
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		g := group{c, name, found[name]}
		for _, k := range groupKinds {
			if k.fits(g) {
				c.run(k.kind, name, func() error { return k.check(g) })
				break
			}
		}
	}
	return nil
}
