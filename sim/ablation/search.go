package ablation

import "slices"

// Finding is the result of comparing a size with the best one.
type Finding uint8

// The findings.
const (
	unknown Finding = iota
	Equal
	Ahead // faster, perhaps by no more than counts as equal
	Faster
	Slower
)

// Ladder returns the batch sizes that a search tries, up to most: powers of two, and what lies between them.
func Ladder(most int) (all []int) {
	for n := 1; n <= most; n *= 2 {
		if all = append(all, n); n >= 2 && n+n/2 <= most {
			all = append(all, n+n/2)
		}
	}
	return all
}

// Search goes along a ladder of sizes to the best one. A size found slower than one that was the
// best is slower than all later ones.
type Search struct {
	sizes []int
	at    int       // index of the best
	found []Finding // of each size against the best; slower for good
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

// NewSearch begins at a size, or at the largest one below it.
func NewSearch(sizes []int, from int) Search {
	at, ok := slices.BinarySearch(sizes, from)
	if !ok {
		at = max(at-1, 0)
	}
	return Search{sizes: sizes, at: at, rung: at, found: make([]Finding, len(sizes))}
}

// Best returns the best size so far.
func (s *Search) Best() int { return s.sizes[s.at] }

// Next returns the size to compare with the best; ok is false at the end of the search.
func (s *Search) Next() (size int, ok bool) {
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
func (s *Search) candidate() (i int, ok bool) {
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
func (s *Search) enter(next stage) { s.stage, s.rung, s.flats = next, s.at, 0 }

// Learn takes the result of comparing the size of the newest next.
func (s *Search) Learn(f Finding) {
	s.found[s.rung] = f
	s.apply(f)
}

// apply goes on from a finding about the size at rung.
func (s *Search) apply(f Finding) {
	switch {
	case f == Faster || f == Ahead:
		for i := range s.found { // equal to a slower one
			if s.found[i] != Slower {
				s.found[i] = unknown
			}
		}
		if f == Faster {
			s.found[s.at] = Slower
		} else {
			s.found[s.at] = unknown
		}
		s.at, s.moved, s.flats = s.rung, s.moved || s.stage == goingUp, 0
	case s.stage == nearBelow && f == Equal: // goes on below it
	case s.stage == goingUp && f == Equal:
		s.flats++
	case s.stage == goingUp:
		s.flats = mostFlats
	default:
		s.flats++
	}
}

// flat returns the sizes around the best that are as fast as far as is known.
func (s *Search) flat() (low, high int) {
	from, to := s.at, s.at
	for i := s.at - 1; i >= 0 && s.found[i] != Slower; i-- {
		if s.found[i] == Equal {
			from = i
		}
	}
	for i := s.at + 1; i < len(s.found) && s.found[i] != Slower; i++ {
		if s.found[i] == Equal {
			to = i
		}
	}
	return s.sizes[from], s.sizes[to]
}

// choice returns the smallest size that is as fast as the best.
func (s *Search) choice() int {
	low, _ := s.flat()
	return low
}

// Near returns the sizes around the best, as many rungs away at most.
func (s *Search) Near(rungs int) []int {
	return s.sizes[max(s.at-rungs, 0):min(s.at+rungs+1, len(s.sizes))]
}
