package effect

import (
	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// remembered is how many iterations the history holds: those that the drift of the longest
// windows rests on, and those of the windows after a change.
const remembered = stats.DriftWindows*Window + reach

// history keeps the newest undisturbed iterations of one kind: their whole times and their
// phases. Stretches in which nothing was changed are numbered.
type history struct {
	columns [1 + profiles.MaxPhases][]int64 // whole times, then the phases; circles of the same length
	stretch []int32                         // of each entry
	next    int                             // where the circles go on, once they are full
	phases  int                             // that the schema has
}

// add takes in an iteration.
func (h *history) add(t *timed, stretch int32) {
	if len(h.stretch) < remembered {
		h.stretch = append(h.stretch, stretch)
		h.columns[0] = append(h.columns[0], t.ns)
		for p := range h.phases {
			h.columns[1+p] = append(h.columns[1+p], t.phases[p])
		}
		return
	}
	h.stretch[h.next], h.columns[0][h.next] = stretch, t.ns
	for p := range h.phases {
		h.columns[1+p][h.next] = t.phases[p]
	}
	h.next = (h.next + 1) % remembered
}

// clear forgets everything: other iterations come.
func (h *history) clear() {
	h.stretch, h.next = h.stretch[:0], 0
	for i := range h.columns {
		h.columns[i] = h.columns[i][:0]
	}
}

// place is where the i-th entry lies, from the oldest.
func (h *history) place(i int) int { return (h.next + i) % len(h.stretch) }

// until lists the stretches up to one of them, the newest first: of the whole times where
// column is 0, else of the phase before it. Their room is that of into, which is returned too.
func (h *history) until(stretch int32, column int, into []int64) (stretches [][]int64, room []int64) {
	room = into[:0]
	for i := range h.count(stretch) {
		room = append(room, h.columns[column][h.place(i)])
	}
	last := len(room)
	for _, n := range h.lengths(stretch) {
		stretches = append(stretches, room[last-n:last])
		last -= n
	}
	return stretches, room
}

// lengths lists how long the stretches are up to one of them, the newest first.
func (h *history) lengths(stretch int32) (all []int) {
	for last := h.count(stretch); last > 0; {
		first := last - 1
		for first > 0 && h.stretch[h.place(first-1)] == h.stretch[h.place(last-1)] {
			first--
		}
		all = append(all, last-first)
		last = first
	}
	return all
}

// window is how many iterations a window takes at the end of a stretch: as many as leave ten
// windows up to the change, by which the drift of windows of that length is known. Longer ones have
// less noise, more of them a surer drift.
func (h *history) window(stretch int32) int {
	lengths := h.lengths(stretch)
	for n := Window; n > profiles.EffectEnough; n -= max(1, n/8) {
		if stats.DriftMoves(lengths, n) >= stats.DriftMovesOf(10) {
			return n
		}
	}
	return profiles.EffectEnough
}

// count is how many entries there are up to a stretch.
func (h *history) count(stretch int32) int {
	n := len(h.stretch)
	for n > 0 && h.stretch[h.place(n-1)] > stretch {
		n--
	}
	return n
}

// first is the first n entries of a stretch, fewer where it has fewer, in the room of into.
func (h *history) first(stretch int32, column, n int, into []int64) []int64 {
	into = into[:0]
	for i := h.count(stretch - 1); i < len(h.stretch) && len(into) < n && h.stretch[h.place(i)] == stretch; i++ {
		into = append(into, h.columns[column][h.place(i)])
	}
	return into
}
