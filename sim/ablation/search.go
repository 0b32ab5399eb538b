package ablation

import "slices"

// finding is the result of comparing a size with the best one.
type finding uint8

const (
	unknown finding = iota
	equal
	ahead // faster, perhaps by no more than counts as equal
	faster
	slower
)

// search goes along a ladder of sizes to the best one. A size found slower than one that was the
// best is slower than all later ones.
type search struct {
	sizes []int
	at    int       // index of the best
	found []finding // of each size against the best; slower for good
	stage stage
	rung  int  // index of the size that was compared last in this stage
	flats int  // sizes in a row that were no faster and no slower
	moved bool // the best is not the first any more
}

// stage is a part of the search.
type stage uint8

const (
	goingUp stage = iota
	goingDown
	nearAbove
	nearBelow
	over
)

// mostFlats is how many sizes in a row may be as fast as the best before the search upwards ends.
const mostFlats = 2

// newSearch begins at a size, or at the largest one below it.
func newSearch(sizes []int, from int) search {
	at, ok := slices.BinarySearch(sizes, from)
	if !ok {
		at = max(at-1, 0)
	}
	return search{sizes: sizes, at: at, rung: at, found: make([]finding, len(sizes))}
}

// best returns the best size so far.
func (s *search) best() int { return s.sizes[s.at] }

// next returns the size to compare with the best; ok is false at the end of the search.
func (s *search) next() (size int, ok bool) {
	for s.stage != over {
		if i, ok := s.candidate(); ok {
			s.rung = i
			if s.found[i] == unknown {
				return s.sizes[i], true
			}
			s.apply(s.found[i])
			continue
		}
		s.enter(s.stage + 1)
	}
	return 0, false
}

// candidate returns the next index of the stage; ok is false at its end.
func (s *search) candidate() (i int, ok bool) {
	last := len(s.sizes) - 1
	switch s.stage {
	case goingUp:
		if s.flats >= mostFlats || s.rung == last {
			return 0, false
		}
		return min(s.rung+2, last), true
	case goingDown:
		if s.moved || s.flats > 0 || s.rung == 0 {
			return 0, false
		}
		return max(s.rung-2, 0), true
	case nearAbove:
		if s.rung != s.at || s.at == last {
			return 0, false
		}
		return s.at + 1, true
	case nearBelow:
		if s.flats > 0 || s.rung == 0 {
			return 0, false
		}
		return s.rung - 1, true
	}
	return 0, false
}

// enter begins a stage at the best size.
func (s *search) enter(next stage) { s.stage, s.rung, s.flats = next, s.at, 0 }

// learn takes the result of comparing the size of the newest next.
func (s *search) learn(f finding) {
	s.found[s.rung] = f
	s.apply(f)
}

// apply goes on from a finding about the size at rung.
func (s *search) apply(f finding) {
	switch {
	case f == faster || f == ahead:
		for i := range s.found { // equal to a slower one
			if s.found[i] != slower {
				s.found[i] = unknown
			}
		}
		if f == faster {
			s.found[s.at] = slower
		} else {
			s.found[s.at] = unknown
		}
		s.at, s.moved, s.flats = s.rung, s.moved || s.stage == goingUp, 0
	case s.stage == nearBelow && f == equal: // goes on below it
	case s.stage == goingUp && f == equal:
		s.flats++
	case s.stage == goingUp:
		s.flats = mostFlats
	default:
		s.flats++
	}
}

// flat returns the sizes around the best that are as fast as far as is known.
func (s *search) flat() (low, high int) {
	from, to := s.at, s.at
	for i := s.at - 1; i >= 0 && s.found[i] != slower; i-- {
		if s.found[i] == equal {
			from = i
		}
	}
	for i := s.at + 1; i < len(s.found) && s.found[i] != slower; i++ {
		if s.found[i] == equal {
			to = i
		}
	}
	return s.sizes[from], s.sizes[to]
}

// choice returns the smallest size that is as fast as the best.
func (s *search) choice() int {
	low, _ := s.flat()
	return low
}
