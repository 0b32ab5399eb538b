package layout

// This file declares the arrangements of panes. Names without a pane are ignored.

// declaration declares an arrangement by the names of its panes.
type declaration struct {
	name string
	// panes are in order of priority: if space is short, the last ones are dropped first.
	panes []string
	// core is the number of panes shown as soon as they fit; 0 means all. The panes after them
	// are shown only if every pane gets its Good size.
	core  int
	plans []declaredPlan
}

// declaredPlan places panes on a screen of at least a certain width.
type declaredPlan struct {
	from int
	place
	whole bool // applies only if all wanted panes fit
}

// place is a pane's name, or parts that share a rectangle.
type place struct {
	axis  axis
	name  string
	roomy bool
	shape *Shape // replaces the pane's shape; nil keeps it
	parts []place
}

func one(name string) place   { return place{name: name} }
func roomy(name string) place { return place{name: name, roomy: true} }
func sized(name string, s Shape) place {
	return place{name: name, shape: &s}
}
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

// Minimum widths for three panes side by side, and for all panes without additional rows below.
const (
	wide     = 104
	veryWide = 180
)

// Sizes in the overview, whose panes are brief.
var (
	pictureAndTruth = Shape{Width: Extent{Least: 22, Good: 42, Most: 150, Weight: 4}, Height: Extent{Least: 8, Good: 19, Most: 50, Weight: 4}, Square: true, Twins: true}
	phasesInBrief   = Shape{Width: Extent{Least: 38, Good: 38, Most: 76, Weight: 1}, Height: Extent{Least: 8, Good: 8, Most: 8}, Listing: true}
	effectsInBrief  = Shape{Width: Extent{Least: 34, Good: 38, Most: 100, Weight: 4}, Height: Extent{Least: 3, Good: 8, Most: 18, Weight: 3}}
	chartInBrief    = Shape{Width: Extent{Least: 36, Good: 42, Most: 140, Weight: 4}, Height: Extent{Least: 6, Good: 9, Most: 18, Weight: 3}}
	cachesInBrief   = Shape{Width: Extent{Least: 34, Good: 38, Most: 100, Weight: 1}, Height: Extent{Least: 5, Good: 5, Most: 5}}
	memoryInBrief   = Shape{Width: Extent{Least: 34, Good: 38, Most: 100, Weight: 1}, Height: Extent{Least: 5, Good: 5, Most: 5}}
)

// arranged lists the arrangements.
var arranged = []declaration{
	{
		name: "overview",
		panes: []string{"reconstruction", "slices", "phases", "effects", "quality and loss", "caches", "memory",
			"k-space", "phase", "raw", "output", "ranks"},
		plans: []declaredPlan{
			{from: wide, place: stacked(
				beside(sized("reconstruction", pictureAndTruth), sized("slices", pictureAndTruth), one("phase"),
					one("k-space"), one("raw")),
				beside(stacked(sized("phases", phasesInBrief), one("ranks"), one("quality and loss"), one("output")),
					stacked(sized("effects", effectsInBrief), sized("caches", cachesInBrief),
						sized("memory", memoryInBrief))))},
			{from: wide, place: beside(
				stacked(sized("reconstruction", pictureAndTruth), sized("slices", pictureAndTruth), sized("quality and loss", chartInBrief), one("output")),
				stacked(sized("phases", phasesInBrief), one("ranks"), sized("effects", effectsInBrief)),
				stacked(one("k-space"), one("phase"), one("raw"), sized("caches", cachesInBrief), sized("memory", memoryInBrief)))},
			{from: 0, place: beside(
				stacked(sized("reconstruction", pictureAndTruth), sized("slices", pictureAndTruth),
					sized("quality and loss", chartInBrief), one("output")),
				stacked(sized("phases", phasesInBrief), one("ranks"), sized("effects", effectsInBrief),
					sized("caches", cachesInBrief), sized("memory", memoryInBrief),
					one("k-space"), one("phase"), one("raw")))},
		},
	},
	{
		name: "everything",
		panes: []string{"phases", "reconstruction", "slices", "caches", "effects", "loss", "iteration time", "k-space",
			"phase", "raw", "memory", "gpu", "quality", "samples", "log"},
		core: 11,
		plans: []declaredPlan{
			{from: veryWide, place: stacked(row("phases", "reconstruction", "slices", "k-space", "phase", "raw"),
				row("iteration time", "loss", "quality"), row("caches", "memory", "gpu", "samples"),
				beside(roomy("effects"), one("log"))), whole: true},
			{from: wide, place: stacked(row("phases", "reconstruction", "slices", "k-space", "phase", "raw"), row("iteration time", "loss", "quality"), row("caches", "memory", "effects"))},
			{from: wide, place: stacked(row("phases", "reconstruction", "slices", "k-space", "phase", "raw"), row("iteration time", "loss"), row("caches", "memory", "effects"))},
			{from: 0, place: stacked(
				beside(column("phases", "loss", "iteration time"),
					column("reconstruction", "slices", "k-space", "phase", "raw", "memory")),
				row("caches", "effects"))},
			{from: 0, place: stacked(
				beside(column("phases", "loss", "iteration time"),
					column("reconstruction", "slices", "k-space", "phase", "raw", "memory")),
				one("caches"), one("effects"))},
			{from: wide, place: stacked(row("phases", "reconstruction", "slices", "k-space", "phase", "raw", "loss"), row("caches", "effects", "iteration time", "memory"))},
		},
	},
	{
		name:  "timing",
		panes: []string{"phases", "effects", "iteration time", "caches", "gpu"},
		plans: []declaredPlan{
			{from: veryWide, place: stacked(beside(roomy("phases"), one("iteration time")), beside(one("caches"), roomy("effects")))},
			{from: wide, place: stacked(beside(roomy("phases"), one("iteration time")), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("phases"), one("iteration time"), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("phases"), one("iteration time"), one("effects"), one("caches"))},
		},
	},
	{
		name:  "quality",
		panes: []string{"reconstruction", "slices", "quality", "loss", "k-space", "phase", "raw", "samples"},
		plans: []declaredPlan{
			{from: wide, place: stacked(row("reconstruction", "slices", "k-space", "phase", "raw", "samples"), row("quality", "loss"))},
			{from: 0, place: beside(column("quality", "loss", "samples"), column("reconstruction", "slices", "k-space", "phase", "raw"))},
			{from: 0, place: stacked(row("reconstruction", "slices", "k-space", "phase", "raw"), one("quality"), one("loss"), one("samples"))},
		},
	},
	{
		name:  "memory",
		panes: []string{"memory", "gpu", "caches", "effects", "iteration time"},
		plans: []declaredPlan{
			{from: veryWide, place: stacked(beside(roomy("memory"), column("gpu", "iteration time")), beside(one("caches"), roomy("effects")))},
			{from: wide, place: stacked(beside(roomy("memory"), column("gpu", "iteration time")), row("caches", "effects"))},
			{from: 0, place: stacked(beside(roomy("memory"), one("gpu")), one("iteration time"), row("caches", "effects"))},
			{from: 0, place: stacked(roomy("memory"), one("gpu"), one("iteration time"), one("caches"), one("effects"))},
		},
	},
	{
		name:  "task list",
		panes: []string{"task list", "phases", "task losses", "slices", "iteration time", "raw", "memory", "gpu"},
		plans: []declaredPlan{
			{from: wide, place: stacked(row("task list", "task losses"), row("phases", "slices", "raw"),
				row("iteration time", "memory"))},
			{from: 0, place: stacked(one("task list"), beside(column("phases", "task losses", "iteration time"),
				column("slices", "raw", "memory")))},
		},
	},
	{
		name: "throughput",
		panes: []string{"throughput", "reconstruction", "phases", "effects", "footprint", "quality", "phase",
			"diffraction", "gpu"},
		plans: []declaredPlan{
			{from: wide, place: stacked(beside(column("throughput", "footprint"), one("reconstruction"),
				column("phase", "diffraction")), row("phases", "effects", "quality"))},
			{from: 0, place: beside(column("throughput", "phases", "quality"),
				column("reconstruction", "effects", "footprint", "phase", "diffraction"))},
		},
	},
}
