package effect

import (
	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// remembered is the number of iterations in the history: enough for the drift of the longest
// windows and for the windows after a change.
const remembered = stats.DriftWindows*Window + reach

// history keeps the newest undisturbed iterations of one kind, with their total and phase times.
// Stretches without a change are numbered.
type history struct {
	columns [1 + profiles.MaxPhases][]int64 // total times, then phase times; circular buffers of equal length
	stretch []int32                         // number of each entry's stretch
	next    int                             // index of the next write once the buffers are full
	phases  int                             // number of phases in the schema
}

// add appends an iteration.
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

// clear drops all entries, because a different kind of iteration follows.
func (h *history) clear() {
	h.stretch, h.next = h.stretch[:0], 0
	for i := range h.columns {
		h.columns[i] = h.columns[i][:0]
	}
}

// place returns the buffer index of the i-th oldest entry.
func (h *history) place(i int) int { return (h.next + i) % len(h.stretch) }

// until returns the stretches up to the given one, newest first: total times for column 0, phase
// column−1 otherwise. They are stored in into, which is returned, possibly reallocated, as room.
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

// lengths returns the lengths of the stretches up to the given one, newest first.
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

// window returns the number of iterations in a window at the end of a stretch: the largest that
// leaves ten windows before the change to estimate the drift from. Longer windows are less noisy;
// more windows give a more reliable drift.
func (h *history) window(stretch int32) int {
	lengths := h.lengths(stretch)
	for n := Window; n > profiles.EffectEnough; n -= max(1, n/8) {
		if stats.DriftMoves(lengths, n) >= stats.DriftMovesOf(10) {
			return n
		}
	}
	return profiles.EffectEnough
}

// count returns the number of entries up to a stretch.
func (h *history) count(stretch int32) int {
	n := len(h.stretch)
	for n > 0 && h.stretch[h.place(n-1)] > stretch {
		n--
	}
	return n
}

// first returns up to n of the first entries of a stretch, stored in into.
func (h *history) first(stretch int32, column, n int, into []int64) []int64 {
	into = into[:0]
	for i := h.count(stretch - 1); i < len(h.stretch) && len(into) < n && h.stretch[h.place(i)] == stretch; i++ {
		into = append(into, h.columns[column][h.place(i)])
	}
	return into
}

// last returns the last n entries of a stretch, fewer if it has fewer.
func (h *history) last(stretch int32, column, n int) (all []int64) {
	end := h.count(stretch)
	for i := max(h.count(stretch-1), end-n); i < end; i++ {
		all = append(all, h.columns[column][h.place(i)])
	}
	return all
}
