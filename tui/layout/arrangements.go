package layout

// This file is the arrangements that a key goes through: which panes each has,
// and where. A name that no pane has is left out.

// declaration is an arrangement by the names of panes.
type declaration struct {
	name string
	// panes are in the order in which they are kept: where there is no room, the last ones
	// go first.
	panes []string
	// core is how many of the panes come as soon as they fit, where that is not all; those after
	// them come only where every pane can use its room well.
	core  int
	plans []declaredPlan
}

// declaredPlan is where panes may stand on a screen of a width or more.
type declaredPlan struct {
	from int
	place
	whole bool // only where every pane that is wanted has room
}

// place is a pane by its name, or parts that share a rectangle.
type place struct {
	axis  axis
	name  string
	roomy bool
	parts []place
}

func one(name string) place        { return place{name: name} }
func roomy(name string) place      { return place{name: name, roomy: true} }
func beside(parts ...place) place  { return place{axis: across, parts: parts} }
func stacked(parts ...place) place { return place{axis: down, parts: parts} }
func row(names ...string) place    { return beside(places(names)...) }
func column(names ...string) place { return stacked(places(names)...) }
func places(names []string) []place {
	parts := make([]place, len(names))
	for i, name := range names {
		parts[i] = one(name)
	}
	return parts
}

// Widths from which three panes stand side by side, and from which all panes do without
// rows beneath.
const (
	wide     = 104
	veryWide = 180
)

// arranged are the arrangements, as they are declared.
var arranged = []declaration{
	{
		name: "everything",
		panes: []string{"phases", "reconstruction", "caches", "effects", "loss", "iteration time", "k-space", "memory",
			"quality", "samples", "log"},
		core: 8,
		plans: []declaredPlan{
			{from: veryWide, place: stacked(row("phases", "reconstruction", "k-space"), row("iteration time", "loss", "quality"), row("caches", "memory", "samples"),
				beside(roomy("effects"), one("log"))), whole: true},
			{from: wide, place: stacked(row("phases", "reconstruction", "k-space"), row("iteration time", "loss", "quality"), row("caches", "memory", "effects"))},
			{from: wide, place: stacked(row("phases", "reconstruction", "k-space"), row("iteration time", "loss"), row("caches", "memory", "effects"))},
			{from: 0, place: stacked(
				beside(column("phases", "loss", "iteration time"), column("reconstruction", "k-space", "memory")),
				row("caches", "effects"))},
			{from: 0, place: stacked(
				beside(column("phases", "loss", "iteration time"), column("reconstruction", "k-space", "memory")),
				one("caches"), one("effects"))},
			{from: wide, place: stacked(row("phases", "reconstruction", "k-space", "loss"), row("caches", "effects", "iteration time", "memory"))},
		},
	},
	{
		name:  "timing",
		panes: []string{"phases", "effects", "iteration time", "caches"},
		plans: []declaredPlan{
			{from: veryWide, place: stacked(beside(roomy("phases"), one("iteration time")), beside(one("caches"), roomy("effects")))},
			{from: wide, place: stacked(beside(roomy("phases"), one("iteration time")), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("phases"), one("iteration time"), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("phases"), one("iteration time"), one("effects"), one("caches"))},
		},
	},
	{
		name:  "quality",
		panes: []string{"reconstruction", "quality", "loss", "k-space", "samples"},
		plans: []declaredPlan{
			{from: wide, place: stacked(row("reconstruction", "k-space", "samples"), row("quality", "loss"))},
			{from: 0, place: beside(column("quality", "loss", "samples"), column("reconstruction", "k-space"))},
			{from: 0, place: stacked(row("reconstruction", "k-space"), one("quality"), one("loss"), one("samples"))},
		},
	},
	{
		name:  "memory",
		panes: []string{"memory", "caches", "effects", "iteration time"},
		plans: []declaredPlan{
			{from: veryWide, place: stacked(beside(roomy("memory"), one("iteration time")), beside(one("caches"), roomy("effects")))},
			{from: wide, place: stacked(beside(roomy("memory"), one("iteration time")), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("memory"), one("iteration time"), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("memory"), one("iteration time"), one("caches"), one("effects"))},
		},
	},
}
