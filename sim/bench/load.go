package bench

// load is processor time in seconds, summed over all processors.
type load struct {
	busy   float64 // of every program on the machine, and taken by its host
	own    float64 // of this one
	passed float64 // there was
}

// since is the load between two readings.
func (l load) since(before load) load {
	return load{l.busy - before.busy, l.own - before.own, l.passed - before.passed}
}

func (l *load) add(m load) {
	l.busy += m.busy
	l.own += m.own
	l.passed += m.passed
}

// foreign is the share of the processors' time that was not idle and not ours.
func (l load) foreign() float64 {
	if l.passed <= 0 {
		return 0
	}
	return max(0, l.busy-l.own) / l.passed
}
